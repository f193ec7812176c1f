#!/usr/bin/env python3
"""pairs.py PROGRAM: options of bench go together, or say why not.

Each pair of options runs, or is refused with the sentence that stands for it in the table "What
goes together" of docs/bench.md; and each row of that table is true."""

import itertools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASE = "bench --topology dgx-h100 --nodes 2 --gpus-per-node 4 --sizes 256KiB --nccl 2.27.7"
OPTIONS = {
    "--explain": "--explain",
    "--trace": "--trace out.json",
    "--fault rate": "--fault 'nic node1:mlx5_0 rate 50%'",
    "--fault speed": "--fault 'gpu node0:gpu1 speed 80%'",
    "--fault down": "--fault 'nic node1:mlx5_0 down 1ms at 20us'",
    "--network flow": "--network flow",
    "--network packet": "--network packet",
    "--routing ecmp": "--routing ecmp",
    "--background": "--background 'leaf0.0 -> node1: mlx5_0 30%'",
    "-m": "-m 3",
    "--split": "--split %2",
    "--algorithm-file": f"--algorithm-file '{ROOT}/scenarios/algorithms/all-pairs-8.yaml'",
    "--sharp": "--sharp --env NCCL_COLLNET_ENABLE=1 --env NCCL_ALGO=CollnetDirect",
    "fused NICs": "--env NCCL_NET_MERGE_LEVEL=LOC --env NCCL_NET_FORCE_MERGE='mlx5_0,mlx5_3'",
    "NVLS": "--env NCCL_ALGO=NVLSTree",
    "--no-fold": "--no-fold",
    "--budget": "--budget 1us",
    "--explain-fold": "--explain-fold",
    "-t": "-t 2",
    "--one-shot": "--one-shot",
    "-d": "-d half",
    "alltoall": "--collective alltoall",
    "sendrecv": "--collective sendrecv",
    "broadcast": "--collective broadcast -r 3",
    "--tuner": "--tuner tuner.conf",
}
# What both set.
SAME = [{"--network flow", "--network packet"}, {"--fault rate", "--fault down"},
        {"alltoall", "sendrecv", "broadcast"}, {"--sharp", "NVLS"}]
TUNER = "allreduce,0,262144,tree,simple,-1,-1,-1\n"


def documented():
    """Rows of the table: (options, options beside, sentence)."""
    text = (ROOT / "docs" / "bench.md").read_text()
    section = text.split("## What goes together", 1)[1].split("\n## ", 1)[0]
    rows = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if len(cells) != 3 or not cells[0].startswith("`"):
            continue
        first, second = (set(re.findall(r"`([^`]+)`", cell)) for cell in cells[:2])
        if cells[1].startswith("any but"):
            second = set(OPTIONS) - second - first
        assert first | second <= set(OPTIONS), line
        rows.append((first, second, cells[2]))
    assert len(rows) >= 5, "docs/bench.md has no table of what goes together"
    return rows


def run(program, folder, *options):
    text = " ".join([BASE, *(OPTIONS[option] for option in options)])
    ran = subprocess.run([program, *shlex.split(text)], cwd=folder, text=True, capture_output=True)
    refusal = [line for line in ran.stderr.splitlines() if line.startswith("fabricast: ")]
    if not refusal and ran.returncode == 2:  # a place in a file
        refusal = ran.stderr.splitlines()[:1]
    return ran.returncode, refusal[0] if refusal else ""


def main():
    program = os.path.abspath(sys.argv[1])
    rows = documented()
    problems, pairs = [], 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tuner.conf").write_text(TUNER)
        alone = {option: run(program, folder, option)[0] for option in OPTIONS}
        for option, code in alone.items():
            if code != 0 and option != "--background":
                problems.append(f"{option} alone ends with {code}")
        for a, b in itertools.combinations(OPTIONS, 2):
            if any({a, b} <= same for same in SAME):
                continue
            pairs += 1
            code, refusal = run(program, folder, a, b)
            sentences = [sentence for first, second, sentence in rows
                         if (a in first and b in second) or (b in first and a in second)]
            if code == 0 and sentences:
                problems.append(f"{a} goes with {b}, docs/bench.md says: {sentences[0]}")
            elif code not in (0, 2):
                problems.append(f"{a} with {b} ends with {code}: {refusal}")
            elif code == 2 and not any(sentence in refusal for sentence in sentences):
                problems.append(f"{a} with {b}: docs/bench.md does not know of: {refusal}")
    for problem in problems:
        print(problem)
    print(f"{pairs} pairs of {len(OPTIONS)} options, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
