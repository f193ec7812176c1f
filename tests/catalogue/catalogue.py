#!/usr/bin/env python3
"""catalogue.py PROGRAM: figures that somebody published for machines of the catalogue, beside what
the program predicts for them, as the table of docs/catalogue.md has them (UPDATE_GOLDEN=1 rewrites
it). No figure may be one that calibrate was given, or that a part of the catalogue was measured by:
these are machines and runs that nobody fitted."""

import csv
import difflib
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "tests" / "catalogue" / "published.csv"
DOCS = ROOT / "docs" / "catalogue.md"
BEGIN, END = "<!-- catalogue: begin -->\n", "<!-- catalogue: end -->\n"
# By the least size, B; docs/catalogue.md says what is off by more, and why.
MEDIAN_ERRORS_MAX = {0: ("all", 0.06), 64 << 20: ("64 MiB and above", 0.05)}
BUS_FACTOR = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "alltoall": lambda n: (n - 1) / n,
}


def rows_of(file):
    with open(file, newline="") as text:
        return list(csv.DictReader(text))


def run(program, *arguments):
    ran = subprocess.run([program, *arguments], text=True, capture_output=True)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: {ran.stderr}")
    return list(csv.DictReader(ran.stdout.splitlines()))


def predicted(program, figure):
    """In the figure's unit."""
    arguments = [
        "--topology",
        figure["entry"],
        "--nodes",
        figure["nodes"],
        "--sizes",
        figure["size"],
        "--collective",
        figure["collective"],
    ]
    if figure["nccl"]:
        arguments += ["--nccl", figure["nccl"]]
    for setting in figure["environment"].split():
        arguments += ["--env", setting]
    (row,) = run(program, "bench", *arguments, "--format", "csv")
    if row["ranks"] != figure["gpus"]:
        sys.exit(f"{figure['entry']}: {figure['gpus']} GPUs were measured, not {row['ranks']}")
    return float(row["time_us" if figure["unit"] == "us" else "busbw_GBps"])


class Fitted:
    """What calibrate was given: its runs by source, and the addresses of sources."""

    def __init__(self):
        folder = ROOT / "calibration"
        self.addresses = {}  # address -> source_key
        for line in (folder / "README.md").read_text().split("\n"):
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) == 5 and "https://" in cells[3]:
                self.addresses.update((url, cells[1]) for url in cells[3].split(", "))
        self.runs = {row["run_id"]: row for row in rows_of(folder / "runs.csv")}
        self.points = rows_of(folder / "points.csv")
        parts = (ROOT / "topologies" / "parts.yaml").read_text()
        measured = re.findall(r"source: (\w+), status: (?:measured|fitted)", parts)
        self.measured = {
            re.search(rf'^  {key}: .*url: "(.*)"', parts, re.M)[1] for key in set(measured)
        }

    def uses(self, figure):
        """Why the figure may not be shown, or None."""
        source = figure["source"]
        if any(source == url or source.startswith(url + "/") for url in self.measured):
            return "a part of topologies/parts.yaml was measured by this source"
        for url, key in self.addresses.items():
            if source != url and not source.startswith(url + "/"):
                continue
            for row in self.runs.values():
                if row["source_key"] == key and self.is_same_set_up(row, figure):
                    return f"calibrate has run {row['run_id']} of this source"
        for point in self.points:
            row = self.runs[point["run_id"]]
            if self.is_same_set_up(row, figure) and self.is_same_value(point, row, figure):
                return f"calibrate has a point of {row['run_id']} with this value"
        return None

    def refuses_its_own(self):
        """Whether uses() finds a point of calibrate again, whoever is said to have published it."""
        point = next(point for point in self.points if point["time_us"])
        row = self.runs[point["run_id"]]
        figure = {
            "source": "https://example.org/blog",
            "gpu": row["gpu_model"],
            "unit": "us",
            "gpus": row["ranks"],
            "nodes": row["nodes"],
            "collective": row["collective"],
            "network": row["net_kind"] if row["nodes"] != "1" else "none",
            "size": point["size_bytes"] + "B",
            "published": point["time_us"],
        }
        elsewhere = {**figure, "published": "1e9"}
        address = next(url for url, key in self.addresses.items() if key == row["source_key"])
        return bool(
            self.uses(figure)
            and not self.uses(elsewhere)
            and self.uses({**elsewhere, "source": address + "/README.md"})
        )

    @staticmethod
    def is_same_set_up(row, figure):
        network = row["net_kind"] if figure["nodes"] != "1" else "none"
        kinds = {"none": {"none", "nvlink"}}.get(network, {network})
        return (
            row["gpu_model"] == figure["gpu"]
            and row["ranks"] == figure["gpus"]
            and row["collective"] == figure["collective"]
            and figure["network"] in kinds
        )

    @staticmethod
    def is_same_value(point, row, figure):
        if point["size_bytes"] != str(bytes_of(figure["size"])):
            return False
        time_us = float(point["time_us"] or 0)
        factor = BUS_FACTOR.get(figure["collective"], lambda ranks: 1)(int(row["ranks"]))
        bus = float(point["busbw_GBps"] or 0)
        if not bus and point["algbw_GBps"]:
            bus = float(point["algbw_GBps"]) * factor
        if not bus and time_us:
            bus = int(point["size_bytes"]) / time_us / 1e3 * factor
        value = time_us if figure["unit"] == "us" else bus
        return abs(value - float(figure["published"])) < 0.001 * float(figure["published"])


def bytes_of(text):
    number, unit = re.fullmatch(r"(\d+)(B|KiB|MiB|GiB)", text).groups()
    return int(number) << {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[unit]


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def case(figure):
    """What was measured: "all_reduce 8 GiB, 16 GPUs, NCCL 2.27.3"."""
    size = re.sub(r"(\d)(\D)", r"\1 \2", figure["size"])
    count = "GPU" if figure["gpus"] == "1" else "GPUs"
    out = f"{figure['collective']} {size}, {figure['gpus']} {count}"
    return out + (f", NCCL {figure['nccl']}" if figure["nccl"] else "")


def place(source):
    """A short name of an address."""
    path = source.removeprefix("https://").removeprefix("github.com/").split("/")
    return "/".join(path[:2]) + (f" #{path[-1]}" if path[-2] in ("issues", "pull") else "")


def table(entries, figures):
    """entries: name -> what it is. Each figure has `predicted` and `error` by now."""
    out = [
        "| entry | it is | measured | published | predicted | error | source, date |\n",
        "|---|---|---|--:|--:|--:|---|\n",
    ]
    for name, what in entries.items():
        mine = [figure for figure in figures if figure["entry"] == name]
        if not mine:
            out.append(f"| `{name}` | {what} | none found | | | | |\n")
        for figure in mine:
            value, unit = float(figure["published"]), figure["unit"]
            note = f"; {figure['note']}" if figure["note"] else ""
            out.append(
                f"| `{name}` | {what} | {case(figure)}{note} | {number(value)} {unit} | "
                f"{number(figure['predicted'])} | {100 * figure['error']:+.0f} % | "
                f"[{place(figure['source'])}]({figure['source']}), {figure['date']} |\n"
            )
            what = ""
    return "".join(out)


def compared(found):
    text = DOCS.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    if os.environ.get("UPDATE_GOLDEN"):
        DOCS.write_text(text[:begin] + found + text[end:])
        return True
    lines = list(
        difflib.unified_diff(
            text[begin:end].splitlines(True), found.splitlines(True), "docs/catalogue.md", "now"
        )
    )
    sys.stdout.writelines(lines)
    return not lines


def main():
    program = sys.argv[1]
    entries = {
        row["name"]: re.sub(r"^is .*?: (?=\S)", "", row["what"])
        for row in run(program, "list", "topologies", "--format", "csv")
        if row["kind"] == "alias"
    }
    figures = rows_of(PUBLISHED)
    fitted = Fitted()
    good = fitted.refuses_its_own()
    for figure in figures:
        if figure["entry"] not in entries:
            sys.exit(f"{PUBLISHED.name}: {figure['entry']} is not in topologies/aliases.yaml")
        if (why := fitted.uses(figure)) is not None:
            print(f"{figure['entry']}, {case(figure)}: {why}")
            good = False
        figure["predicted"] = predicted(program, figure)
        figure["error"] = figure["predicted"] / float(figure["published"]) - 1
        print(
            f"{figure['entry']:15} {case(figure):45} {figure['published']:>7} {figure['unit']:4} "
            f"{figure['predicted']:7.1f} {100 * figure['error']:+6.1f} %"
        )
    for least, (name, most) in MEDIAN_ERRORS_MAX.items():
        errors = [abs(f["error"]) for f in figures if bytes_of(f["size"]) >= least]
        median = statistics.median(errors)
        print(f"{name}: {len(errors)} figures, median error {100 * median:.1f} %")
        good = good and median <= most
    print(f"{len({f['entry'] for f in figures})} of {len(entries)} entries have figures")
    return 0 if compared(table(entries, figures)) and good else 1


if __name__ == "__main__":
    sys.exit(main())
