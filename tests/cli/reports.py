#!/usr/bin/env python3
"""reports.py PROGRAM: every command that has --format json answers with the one of docs/reports.md.

CSV is the first table of it, cell by cell, and both say the same twice. The page names every table
and column that any of these runs has."""

import csv
import io
import json
import re
import sys

from program import GOOD, ROOT, STEPS, arguments_of, help_of, main, run

KEYS = ["schema_version", "study", "answer", "job", "program", "data", "seed", "digest", "notes",
        "tables", "facts"]
TYPES = {"string": str, "boolean": bool, "integer": int, "number": (int, float)}
# Runs that have tables which the first run of a command has not.
MORE = {
    "bench": ["--topology dgx-h100 --nodes 2 --sizes 1MiB --explain --env NCCL_ALGO=Ring",
              "--topology dgx-h100 --nodes 2 --sizes 1MiB --split %8",
              "--topology dgx-h100 --nodes 2 --sizes 1MiB --fault 'nic node0:mlx5_0 rate 50%'",
              "--topology dgx-h100 --nodes 2 --sizes 1MiB --fault 'nic node0:mlx5_0 down'"
              " --env NCCL_ALGO=Ring",
              "--topology dgx-h100 --nodes 136 --sizes 1GiB --budget 3s --env NCCL_ALGO=Ring"],
    "decide": ["--topology dgx-a100 --collective all_gather --sizes 1MiB --env NCCL_ALGO=Tree",
               "--releases"],
    "cutover": ["--topology dgx-h100 --nodes 2 --sizes 1MiB --sensitivity"],
    "memory": [f"--layout {STEPS}/llama-3-70b.yaml",
               "--topology pcie-2gpu --nccl 2.21.5,2.27.7"],
    "whatif": ["--topology dgx-h100 --sizes 1MiB --to-nccl 2.21.5 --to-nccl 2.27.7"],
    "step": ["step-small.yaml --vary nodes=1,2",
             "--calls ../../data/logs/chakra-json-small.json --topology dgx-a100",
             "--calls ../../data/traces/ranks-4 --topology dgx-h100"],
    "placement": ["topology.conf --hosts node[01-03,06-08] --topology dgx-h100 --sizes 1MiB"
                  " --neighbour neighbour.yaml"],
    "import": ["../../data/logs/chakra-json-small.json",
               "../../data/logs/2.29.7-tuning-table-and-decisions.txt --topology pcie-2gpu"],
    # More than the longest text that one cell of another table has.
    "gate": ["dgx-h100 --check ../../data/logs/coreweave-h100-64.txt"],
    "judge": ["../../data/logs/coreweave-h100-64.txt --topology dgx-h100"],
}
NO_REPORT = {"topo"}  # its JSON is the topology


def formats_of(command):
    words = re.search(r"--format \S+:\{([^}]*)\}", help_of(command))
    return words[1].split(",") if words else []


def checked(report, asked):
    assert list(report) == KEYS, (asked, list(report))
    assert report["schema_version"] == 1 and isinstance(report["job"], dict), asked
    assert re.fullmatch(r"\d+\.\d+\.\d+", report["program"]), report["program"]
    assert re.fullmatch(r"[0-9a-f]{16}", report["data"]), report["data"]
    for note in report["notes"]:
        assert set(note) == {"level", "text"} and note["text"], (asked, note)
    names = [table["name"] for table in report["tables"]]
    assert names and len(set(names)) == len(names), (asked, names)
    for table in report["tables"]:
        columns = table["columns"]
        words = [column["name"] for column in columns]
        assert len(set(words)) == len(words), (asked, table["name"], words)
        for row in table["rows"]:
            assert len(row) == len(columns), (asked, table["name"], row)
            for cell, column in zip(row, columns):
                kind = TYPES[column["type"]]
                fits = isinstance(cell, kind) and (kind is bool or not isinstance(cell, bool))
                assert cell is None or fits, (asked, table["name"], column, cell)


def same(cell, text, column):
    """A cell of CSV shows what JSON has: numbers to the digits that it has."""
    if cell is None:
        return text == ""
    if isinstance(cell, bool):
        return text in (("1", "yes") if cell else ("0", "no"))
    if isinstance(cell, float) or column["type"] == "number":
        if "e" in text or "." not in text:
            return abs(float(text) - cell) <= 1e-6 * abs(cell) + 0.5
        half = 0.5 * 10.0 ** -len(text.split(".")[1])
        return abs(float(text) - cell) <= half * 1.001 + 1e-5 * abs(cell)
    return text == str(cell)


def compare(table, rows, asked):
    assert rows[0] == [column["name"] for column in table["columns"]], (asked, rows[0])
    assert len(rows) - 1 == len(table["rows"]), asked
    for row, cells in zip(rows[1:], table["rows"]):
        for text, cell, column in zip(row, cells, table["columns"]):
            assert same(cell, text, column), (asked, column, cell, text)


def answer(words, form):
    ran = run([*words, "--format", form])
    assert ran.returncode in (0, 1), ran
    return ran.stdout.decode()


def one_envelope(_):
    page = (ROOT / "docs/reports.md").read_text()
    documented = set(re.findall(r"`([a-z_A-Z0-9]+)`", page))
    seen = 0
    for command in GOOD:
        formats = formats_of(command)
        if command in NO_REPORT or "json" not in formats:
            continue
        for text in [GOOD[command], *MORE.get(command, [])]:
            words = arguments_of(command, text)
            report = json.loads(answer(words, "json"))
            checked(report, words)
            for table in report["tables"]:
                used = {table["name"], *(column["name"] for column in table["columns"])}
                assert used <= documented, (words, sorted(used - documented))
            if "csv" in formats:
                rows = list(csv.reader(io.StringIO(answer(words, "csv"))))
                compare(report["tables"][0], rows, words)
            seen += 1
    assert seen >= 25, seen
    return f"{seen} answers"


def own_parts(_):
    """Whose parts were taken stands in the job of whatever has a site."""
    seen = 0
    for command in ("bench", "step", "plan", "serve", "judge", "compare"):
        words = [*arguments_of(command, GOOD[command]), "--parts", "own-parts.yaml"]
        site = json.loads(answer(words, "json"))["job"].get("site")
        if site is None:
            continue
        assert site["parts"] == "own-parts.yaml", (command, site)
        seen += 1
    assert seen >= 5, seen
    return f"{seen} answers"


if __name__ == "__main__":
    sys.exit(main([one_envelope, own_parts]))
