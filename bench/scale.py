#!/usr/bin/env python3
"""Time and memory against GPUs, folded and not: the table in docs/scale.md.

    python3 bench/scale.py build/fabricast            prints it
    python3 bench/scale.py build/fabricast --write    and puts it into docs/scale.md
    python3 bench/scale.py build/fabricast --most 64  of so many GPUs at most

Of a lone call. Times are CPU time of the whole command, so that what else runs on the machine
counts little.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

DOC = Path(__file__).parent.parent / "docs" / "scale.md"
BEGIN, END = "<!-- scale.py: begin -->\n", "<!-- scale.py: end -->\n"
NCCL = "2.27.7"  # rounds chunks such that those of all ranks are equal at these sizes
GPUS = [8, 64, 256, 512, 1 << 11, 1 << 12, 1 << 14, 1 << 17, 1 << 20]
UNFOLDED_MAX = 2 * 10**7  # events: a few seconds
# Name, arguments, GPUs at least and at most: of those whose nodes are all unlike, no more than some
# seconds.
CASES = [
    ("all_reduce, Ring", ["--env", "NCCL_ALGO=Ring"], 8, 1 << 20),
    ("all_gather, Ring", ["--collective", "all_gather", "--env", "NCCL_ALGO=Ring"], 8, 1 << 20),
    ("all_reduce, Tree", ["--env", "NCCL_ALGO=Tree"], 8, 1 << 17),
    ("all_reduce, NVLS or NVLSTree", ["--env", "NCCL_ALGO=NVLS,NVLSTree"], 8, 1 << 17),
    ("all_reduce, NVLS over SHARP",
     ["--sharp", "--env", "NCCL_COLLNET_ENABLE=1", "--env", "NCCL_ALGO=NVLS"], 64, 1 << 17),
    ("alltoall", ["--collective", "alltoall"], 8, 1 << 12),
]


def run(binary, arguments):
    """The row, CPU seconds and MiB at most; the row is None when the command refuses."""
    command = [binary, "bench", "--topology", "dgx-h100", "--nccl", NCCL, "--one-shot",
               "--format", "json", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        out = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    row = None
    if status == 0:
        tables = {table["name"]: table for table in json.loads(out)["tables"]}
        row = {}
        for name in ("rows", "runs"):
            columns = [column["name"] for column in tables[name]["columns"]]
            row.update(zip(columns, tables[name]["rows"][0]))
    return row, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def cost(seconds, mebibytes):
    return f"{seconds:.2f} s, {mebibytes:.0f} MiB"


def table(binary, gpus_most):
    lines = ["| 1 GiB | GPUs | time | nodes simulated | events | simulated | folded "
             "| every event |",
             "|---|---|---|---|---|---|---|---|"]
    for name, case, least, most in CASES:
        for gpus in GPUS:
            arguments = [*case, "--sizes", "1GiB", "--nodes", str(gpus // 8)]
            if not least <= gpus <= min(most, gpus_most):
                continue
            row, seconds, mebibytes = run(binary, arguments)
            if row is None:
                lines.append(f"| {name} | {gpus:,} | refused: not alike, too large | | | | | |")
                continue
            full = ""
            if row["events"] <= UNFOLDED_MAX:
                every, full_seconds, full_mebibytes = run(binary, [*arguments, "--no-fold"])
                if every["time_us"] != row["time_us"]:
                    sys.exit(f"{name}, {gpus} GPUs: {row['time_us']} us folded, "
                             f"{every['time_us']} us in full")
                full = cost(full_seconds, full_mebibytes)
            lines.append(f"| {name} | {gpus:,} | {row['time_us'] / 1000:,.3f} ms "
                         f"| {row['nodes_simulated']:,} | {row['events']:.3g} "
                         f"| {row['events'] - row['events_skipped']:.3g} "
                         f"| {cost(seconds, mebibytes)} | {full} |")
    return "\n".join(lines) + "\n"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--write", action="store_true", help="put it into docs/scale.md")
    arguments.add_argument("--most", type=int, default=GPUS[-1], help="GPUs")
    asked = arguments.parse_args()
    text = table(asked.program, asked.most)
    print(text, end="")
    if asked.write:
        doc = DOC.read_text()
        before, rest = doc.split(BEGIN)
        DOC.write_text(before + BEGIN + "\n" + text + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
