#!/usr/bin/env python3
"""vector_table.py FABRICAST_TESTS: runs the fabric tests, which write down every vector with what
they computed, and compares that with the table in docs/fabrics.md. UPDATE_GOLDEN=1 rewrites it."""

import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs" / "fabrics.md"
BEGIN, END = "<!-- vectors: begin -->\n", "<!-- vectors: end -->\n"
HEAD = "| id | what | rung | computed | expected | tolerance |\n|---|---|---|---|---|---|\n"
FILES = "--source-file=*test_fabric_*,*test_dcqcn*"


def order(row):
    """By vector and rung: files are compiled in any order."""
    kind, number = re.match(r"\| (\w+?)-?(\d+) ", row).groups()
    return kind != "T", int(number), row.split(" | ")[2]


def rows(program):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vectors"
        ran = subprocess.run([program, FILES], env={**os.environ, "FABRICAST_VECTORS": str(file)},
                             text=True, capture_output=True)
        if ran.returncode != 0:
            sys.exit(ran.stdout)
        found = dict.fromkeys(file.read_text().splitlines(keepends=True))
    return "".join(sorted(found, key=order))


def main():
    text = DOCS.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    table = HEAD + rows(sys.argv[1])
    if os.environ.get("UPDATE_GOLDEN"):
        DOCS.write_text(text[:begin] + table + text[end:])
        return 0
    found = list(difflib.unified_diff(text[begin:end].splitlines(True), table.splitlines(True),
                                      "docs/fabrics.md", "computed"))
    sys.stdout.writelines(found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
