#!/usr/bin/env python3
"""costs.py PROGRAM: how many events twelve runs have, and how many of them are simulated. These are
the same on every machine, so a fold or a jump that is lost fails here, whatever the machine's
speed. tests/golden/costs.txt; UPDATE_GOLDEN=1 rewrites it."""

import json
import os
import subprocess
import sys
from pathlib import Path

GOLDEN = Path(__file__).with_name("costs.txt")
RUNS = """
--topology dgx-h100 --nodes 1 --sizes 1GiB
--topology dgx-h100 --nodes 512 --sizes 1GiB --env NCCL_ALGO=Ring --env NCCL_PROTO=Simple
--topology dgx-h100 --nodes 512 --sizes 1GiB --env NCCL_ALGO=Tree --env NCCL_PROTO=Simple
--topology dgx-h100 --nodes 512 --sizes 1GiB --env NCCL_ALGO=NVLSTree
--topology dgx-h100 --nodes 512 --sizes 64MiB --collective all_gather
--topology dgx-h100 --nodes 512 --sizes 64KiB --env NCCL_ALGO=Ring --env NCCL_PROTO=LL
--topology dgx-h100 --nodes 32 --sizes 64MiB --collective alltoall
--topology dgx-h100 --nodes 32 --gpus-per-node 1 --sizes 1MiB --collective reduce_scatter
--topology dgx-h100 --nodes 16 --sizes 64MiB --sharp --env NCCL_COLLNET_ENABLE=1
--topology dgx-h100 --nodes 8 --sizes 64MiB -m 4
--topology gb200-nvl72 --nodes 36 --sizes 1GiB
--topology dgx-h100 --nodes 4 --sizes 16MiB --no-fold
""".strip().split("\n")


def line(program, run):
    out = subprocess.run([program, "bench", *run.split(), "--format", "json"], check=True,
                         capture_output=True, text=True).stdout
    runs = next(table for table in json.loads(out)["tables"] if table["name"] == "runs")
    row = dict(zip([column["name"] for column in runs["columns"]], runs["rows"][0]))
    events = row["events"]
    return f"{events - row['events_skipped']:>10} of {events:>12} events  {run}"


def main():
    text = "\n".join(line(sys.argv[1], run) for run in RUNS) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    known = GOLDEN.read_text() if GOLDEN.exists() else ""
    for now, before in zip(text.split("\n"), known.split("\n") + [""] * len(RUNS)):
        if now != before:
            print(f"now    {now}\nbefore {before}")
    print(f"{len(RUNS)} runs, {'as' if text == known else 'not as'} tests/golden/costs.txt says")
    return 0 if text == known else 1


if __name__ == "__main__":
    sys.exit(main())
