#!/usr/bin/env python3
"""run.py FOLDER TARGET [SECONDS]: one target reads each file of its corpus and of its seeds, whole
and once. With SECONDS it fuzzes from them, always from the same seed, for so long; 0 = until
something is found. What it finds stays in the working directory."""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORDS = ROOT / "tests/data/records"
SEEDS = {
    "topology": [ROOT / "topologies"],
    "scenario": [ROOT / "scenarios"],
    "nccl_xml": [ROOT / "tests/data/nccl-xml", ROOT / "tests/cli/files"],
    "environment": [],
    "import": [ROOT / "tests/data/logs"],
    "algorithm": [ROOT / "scenarios/algorithms"],
    "tuner": [],
    "formula": [],
    "prices": [ROOT / "workloads"],
    "experts": [ROOT / "workloads", ROOT / "tests/cli/files"],
    "sweep": [ROOT / "scenarios/sweeps"],
    "flight": [RECORDS / "flight-missing", RECORDS / "flight-misfit", RECORDS / "flight-order"],
    "ras": [RECORDS / "ras"],
    "inspector": [RECORDS / "inspector", RECORDS / "metrics"],
    "hosts": [ROOT / "tests/data/hosts"],
    "trace": [ROOT / "tests/data/traces"],
    "serving": [ROOT / "workloads", ROOT / "scenarios/serve", ROOT / "tests/cli/files"],
    "engines": [ROOT / "workloads", ROOT / "tests/cli/files"],
    "kernels": [ROOT / "workloads", ROOT / "tests/cli/files"],
}


def replay(program, folders):
    files = []
    for folder in folders:
        found = sorted(file for file in folder.rglob("*") if file.is_file())
        if not found:
            print(f"{folder} holds no file")
            return 1
        files += found
    ran = subprocess.run([program, "-timeout=60", *files], check=False, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    executed = ran.stdout.count("\nExecuted ")
    if ran.returncode != 0 or executed != len(files) or not files:
        print(ran.stdout)
        print(f"exit {ran.returncode}; {executed} files of {len(files)} were read to their end")
        return ran.returncode or 1
    print(f"{executed} files")
    return 0


def fuzz(program, folders, seconds):
    with tempfile.TemporaryDirectory() as found:
        return subprocess.run(
            [program, "-seed=1", f"-max_total_time={seconds}", "-timeout=20", "-max_len=16384",
             "-print_final_stats=1", "-verbosity=0", found, *folders], check=False).returncode


def main():
    program, target = Path(sys.argv[1]) / f"fuzz_{sys.argv[2]}", sys.argv[2]
    folders = [HERE / "corpus" / target, *SEEDS[target]]
    return fuzz(program, folders, sys.argv[3]) if len(sys.argv) > 3 else replay(program, folders)


if __name__ == "__main__":
    sys.exit(main())
