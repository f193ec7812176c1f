#!/usr/bin/env python3
"""run.py FOLDER TARGET [SECONDS]: fuzzes one target from its corpus, always from the same seed, for
so long; 0 = until something is found. What it finds stays in the working directory."""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SEEDS = {
    "topology": [ROOT / "topologies"],
    "scenario": [ROOT / "scenarios"],
    "nccl_xml": [ROOT / "tests/data/nccl-xml", ROOT / "tests/cli/files"],
    "environment": [],
    "import": [ROOT / "tests/data/logs"],
    "algorithm": [ROOT / "scenarios/algorithms"],
}


def main():
    folder, target = Path(sys.argv[1]), sys.argv[2]
    seconds = sys.argv[3] if len(sys.argv) > 3 else "20"
    with tempfile.TemporaryDirectory() as found:
        return subprocess.run(
            [folder / f"fuzz_{target}", "-seed=1", f"-max_total_time={seconds}", "-timeout=20",
             "-max_len=16384", "-print_final_stats=1", "-verbosity=0", found,
             HERE / "corpus" / target, *SEEDS[target]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
