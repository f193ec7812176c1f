#!/usr/bin/env python3
"""answers.py FABRICAST: the first sentences of every study's page. Each number in them stands in a
table, a fact or the question of the same report; the JSON in the page is that of --format json; the
same command gives the same bytes; import reads a page back, and report joins several."""

import json
import math
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from stores import make_store
from studies import ANSWERS_NO, STUDIES

ROOT = Path(__file__).resolve().parents[2]
FACTORS = [1, 1e-3, 1e-6, 1e-9, 1e3, 1e6, 100] + [1024.0**-k for k in range(1, 5)]
DATA = re.compile(r'<script type="application/json" id="fabricast-data">(.*?)</script>', re.S)


def numbers_in(value, out):
    if isinstance(value, bool) or value is None:
        return out
    if isinstance(value, (int, float)):
        out.append(float(value))
    elif isinstance(value, str):
        out += [float(n) for n in re.findall(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", value)]
    elif isinstance(value, dict):
        for key, one in value.items():
            numbers_in(key, out)
            numbers_in(one, out)
    else:
        for one in value:
            numbers_in(one, out)
    return out


def stands(text, known):
    """Some known figure, in another unit perhaps, is this number rounded."""
    number = float(text)
    digits = len(re.sub(r"^0+|e.*", "", text.replace(".", "")).rstrip()) or 1
    for value in known:
        for factor in FACTORS:
            tolerance = 0.51 * 10.0 ** (1 - digits)
            if math.isclose(abs(value) * factor, number, rel_tol=tolerance, abs_tol=1e-12):
                return True
    return False


def complaints_of(name, report):
    answer = report["answer"]
    if not answer:
        return [f"{name}: no answer in words"]
    if not answer.endswith("."):
        if not answer[-1].isalnum() and answer[-1] not in "%)'\"":
            return [f"{name}: no sentence: {answer}"]
    without_80 = re.sub(r"80 % (of measured|band)", r"\1", answer)
    known = numbers_in([t["rows"] for t in report["tables"]], [])
    known += numbers_in(report["facts"], []) + numbers_in(report["job"], [])
    out = []
    for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?", without_80):
        if not stands(number, known):
            out.append(f'{name}: {number} of "{answer}" stands in no table')
    return out


def main():
    fabricast = Path(sys.argv[1]).resolve()
    complaints = []

    def run(words, **more):
        return subprocess.run(
            [fabricast, *words], cwd=ROOT, capture_output=True, text=True, check=False, **more
        )

    with tempfile.TemporaryDirectory() as folder:
        pages = []
        store = str(make_store(fabricast, folder))
        for name, words in STUDIES.items():
            words = words.replace("STORE", store)
            page = Path(folder) / f"{name}.html"
            done = run([*words.split(), "--html", page])
            if done.returncode not in ((1,) if name in ANSWERS_NO else (0,)) or not page.exists():
                complaints.append(f"{name}: exit code {done.returncode}: {done.stderr[:300]}")
                continue
            pages.append(page)
            text = page.read_text()
            if len(text) > 2_000_000:
                complaints.append(f"{name}: {len(text)} bytes")
            part = json.loads(DATA.search(text)[1])["parts"][0]
            complaints += complaints_of(name, part["report"])
            if shlex.split(part["command"]) != ["fabricast", *words.split()]:
                complaints.append(f"{name}: the command is {part['command']}")
            if name in ("bench", "cutover", "judge"):
                as_json = json.loads(run([*words.split(), "--format", "json"]).stdout)
                if as_json != part["report"]:
                    complaints.append(f"{name}: the page holds another report than --format json")
                again = Path(folder) / "again.html"
                run([*words.split(), "--html", again])
                if again.read_text() != text:
                    complaints.append(f"{name}: other bytes the second time")
            told = run(["import", page]).stdout
            if "page of reports" not in told or part["report"]["answer"][:40] not in told:
                complaints.append(f"{name}: import says {told[:300]}")
        both = Path(folder) / "both.html"
        done = run(["report", *pages[:3], "--html", both])
        parts = json.loads(DATA.search(both.read_text())[1])["parts"] if both.exists() else []
        if done.returncode != 0 or len(parts) != 3:
            complaints.append(f"report: {done.returncode}, {len(parts)} parts: {done.stderr}")
        check = STUDIES["check"].split()
        done = run([*check, "--baseline", Path(folder) / "check.html"])
        if done.returncode != 0:
            complaints.append(f"check --baseline: {done.returncode}: {done.stdout}{done.stderr}")
        cut = pages[0].read_text().replace("</script>", "")
        (Path(folder) / "cut.html").write_text(cut)
        for words in (
            ["report", Path(folder) / "cut.html", "--html", both],
            ["report", ROOT / "README.md", "--html", both],
        ):
            done = run(words)
            if done.returncode != 2 or "hint:" not in done.stderr:
                complaints.append(f"{words}: exit code {done.returncode}: {done.stderr}")
    print("\n".join(complaints))
    print(f"{len(STUDIES)} studies, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
