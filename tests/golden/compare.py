#!/usr/bin/env python3
"""compare.py PROGRAM FILE.yaml: answers the question of a file, of any kind, and compares what that
prints with tests/golden/NAME.txt. UPDATE_GOLDEN=1 rewrites that file, to be reviewed as a diff."""

import difflib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main():
    program, scenario = sys.argv[1], Path(sys.argv[2]).resolve().relative_to(ROOT)
    golden = ROOT / "tests" / "golden" / f"{scenario.stem}.txt"
    ran = subprocess.run([program, "run", scenario.as_posix()], cwd=ROOT, text=True,
                         capture_output=True)
    sys.stderr.write(ran.stderr)
    if ran.returncode > 1:
        return ran.returncode
    if os.environ.get("UPDATE_GOLDEN") == "1":
        golden.write_text(ran.stdout)
    expected = golden.read_text() if golden.exists() else ""
    diff = difflib.unified_diff(expected.splitlines(keepends=True),
                                ran.stdout.splitlines(keepends=True), str(golden),
                                f"fabricast run {scenario}")
    sys.stdout.writelines(diff)
    if expected != ran.stdout:
        print("differs; if this is meant, run ctest with UPDATE_GOLDEN=1 and review the diff")
    elif ran.returncode != 0:
        print("".join(line for line in ran.stdout.splitlines(keepends=True)
                      if "FAILED" in line or line.startswith("differs")))
    return 1 if expected != ran.stdout else ran.returncode


if __name__ == "__main__":
    sys.exit(main())
