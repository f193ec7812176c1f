#!/usr/bin/env python3
"""compare.py PROGRAM...: runs each build of fabricast_digest; all must print the same bytes."""

import difflib
import subprocess
import sys


def main():
    outputs = []
    for program in sys.argv[1:]:
        ran = subprocess.run([program], text=True, capture_output=True)
        sys.stderr.write(ran.stderr)
        if ran.returncode != 0:
            print(f"{program} exits with {ran.returncode}")
            return 1
        outputs.append(ran.stdout)
    print(outputs[0], end="")
    equal = True
    for program, output in zip(sys.argv[2:], outputs[1:]):
        sys.stdout.writelines(difflib.unified_diff(
            outputs[0].splitlines(keepends=True), output.splitlines(keepends=True), sys.argv[1],
            program))
        equal = equal and output == outputs[0]
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
