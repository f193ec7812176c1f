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
            assert reports(whole) == wanted and points(whole) == rows, log_of(whole, cluster)
            print(f"ok      {len(rows)} points in {TASKS} tasks")

            # The last task is held, so that it cannot have run, however fast the others end.
            cut = folder / "cut.sqlite"
            shares = Path(f"{cut}.slurm")
            cluster.partition("DOWN")
            print(cluster.ask(*submit, str(cut)).stdout.strip())
            array = (shares / "jobs").read_text().split()[0]
            cluster.ask("scontrol", "hold", f"{array}_{TASKS}")
            cluster.partition("UP")
            cluster.wait_for_a_start(array)
            time.sleep(0.3)  # so that the others have done something, on most machines
            print(cluster.ask(program, "sweep", "cancel", str(cut)).stdout.strip())
            cluster.wait()
            some = len(reports(cut)) if cut.exists() else 0
            print(f"ok      cancelled: {some} of {len(rows)} points are there")
            assert some < len(rows), "the cancelled sweep had ended already"
            cluster.ask(*submit, str(cut))
            cluster.wait()
            assert reports(cut) == wanted and points(cut) == rows, log_of(cut, cluster)
            files = len(list(shares.glob("share-*.sqlite")))
            print(f"ok      submitted again: {files} shares, all points")
    return 0


def log_of(store, cluster):
    """What the tasks and the merge have said, what their stores hold, and what Slurm did."""
    folder = Path(f"{store}.slurm")
    logs = [f"{log.name}:\n{log.read_text()}" for log in sorted(folder.glob("*.log"))]
    held = [f"{one.name}: {len(reports(one))}" for one in sorted(folder.glob("share-*.sqlite"))]
    return "\n".join([*logs, *held, cluster.told()])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NotHere as why:
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
