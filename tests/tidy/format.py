#!/usr/bin/env python3
"""format.py CLANG_FORMAT: every source as .clang-format says. Mend with clang-format -i."""

import subprocess
import sys

sys.dont_write_bytecode = True
from tidy import FOLDERS, ROOT  # noqa: E402


def main():
    files = [str(file.relative_to(ROOT)) for folder in FOLDERS
             for file in sorted((ROOT / folder).rglob("*")) if file.suffix in (".cpp", ".hpp")]
    return subprocess.run([sys.argv[1], "--dry-run", "--Werror", *files], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
