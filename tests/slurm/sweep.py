#!/usr/bin/env python3
"""sweep.py PROGRAM: a sweep as a job array of a real Slurm, whole, and cancelled in the middle."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from cluster import Cluster, NotHere, is_there
from sweep_runs import SWEEP, points, reports

SKIPPED = 77
TASKS = 3


def main():
    if not is_there():
        print("skipped: slurmctld, slurmd and sbatch are not here, or this is not root")
        return SKIPPED
    program = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        grid = folder / "grid.yaml"
        grid.write_text(SWEEP)
        here = folder / "here.sqlite"
        subprocess.run(
            [program, "sweep", str(grid), "--store", str(here)], check=True, capture_output=True
        )
        wanted, rows = reports(here), points(here)
        with Cluster(folder / "slurm") as cluster:
            submit = [program, "sweep", str(grid), "--slurm", "--array-size", str(TASKS), "--store"]

            whole = folder / "whole.sqlite"
            print(cluster.ask(*submit, str(whole)).stdout.strip())
            cluster.wait()
            assert reports(whole) == wanted and points(whole) == rows, log_of(whole)
            print(f"ok      {len(rows)} points in {TASKS} tasks")

            # The last task is held, so that it cannot have run, however fast the others end.
            cut = folder / "cut.sqlite"
            shares = Path(f"{cut}.slurm")
            cluster.partition("DOWN")
            print(cluster.ask(*submit, str(cut)).stdout.strip())
            array = (shares / "jobs").read_text().split()[0]
            cluster.ask("scontrol", "hold", f"{array}_{TASKS}")
            cluster.partition("UP")
            cluster.wait_for_a_start()
            time.sleep(0.3)  # so that the others have begun, on most machines
            print(cluster.ask(program, "sweep", "cancel", str(cut)).stdout.strip())
            cluster.wait()
            some = len(reports(cut)) if cut.exists() else 0
            print(f"ok      cancelled: {some} of {len(rows)} points are there")
            assert some < len(rows), "the cancelled sweep had ended already"
            cluster.ask(*submit, str(cut))
            cluster.wait()
            assert reports(cut) == wanted and points(cut) == rows, log_of(cut)
            files = len(list(shares.glob("share-*.sqlite")))
            print(f"ok      submitted again: {files} shares, all points")
    return 0


def log_of(store):
    return "\n".join(log.read_text() for log in Path(f"{store}.slurm").glob("*.log"))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NotHere as why:
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
