#!/usr/bin/env python3
"""reports.py FABRICAST [--shots FOLDER] [NAME ...]: opens every study's page in chromium. It has no
error, asks for nothing, shows the answer and the tables of its JSON, draws what is not blank, and
axe-core finds no serious fault; names of users' files are text. Prints a line for each page."""

import argparse
import base64
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from browser import open_browser
from stores import make_store
from studies import STUDIES, WITHOUT_FIGURES

ROOT = Path(__file__).resolve().parents[2]
AXE = Path(__file__).resolve().parent / "axe-core" / "axe.min.js"
DATA = re.compile(r'<script type="application/json" id="fabricast-data">(.*?)</script>', re.S)
HOSTILE = "</script><img src=x onerror=window.hacked=1>"
SEE_ALL = """
const done = arguments[0];
const all = [...document.querySelectorAll('figure')];
const next = () => {
  const one = all.shift();
  if (!one) { window.scrollTo(0, 0); return done(document.querySelectorAll('figure').length); }
  one.scrollIntoView();
  // a figure is drawn once a frame has shown it near the window: two frames, however long they take
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(next, 30)));
};
next();
"""
OPEN_ALL = "for (const one of document.querySelectorAll('details')) one.open = true;"
DRAWN = """
return [...document.querySelectorAll('figure')].map((figure) => {
  const stage = figure.querySelector('svg, canvas');
  if (figure.querySelector('.drawn')?.children.length > 0) return 'text';  // a list or a grid
  if (!stage) return 'nothing';
  if (stage.tagName === 'CANVAS') {
    const data = stage.getContext('2d').getImageData(0, 0, stage.width, stage.height).data;
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4 * 97) seen.add(data.slice(i, i + 4).join());
    return seen.size > 2 ? 'drawn' : 'blank';
  }
  const marks = stage.querySelectorAll('path, rect, circle, polyline, text').length;
  return marks > 8 ? 'drawn' : 'blank';
});
"""


def requests_of(browser):
    """Addresses that were asked for, beside the page itself."""
    out = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            if not url.startswith(("file:", "data:", "about:", "blob:")):
                out.append(url)
    return out


class Pages:
    def __init__(self, browser, shots):
        self.browser, self.shots, self.complaints, self.lines = browser, shots, [], []

    def say(self, name, what):
        self.complaints.append(f"{name}: {what}")

    def open(self, name, page):
        browser = self.browser
        browser.get_log("performance")
        begin = time.time()
        browser.get(page.as_uri())
        opened = time.time() - begin
        time.sleep(0.3)
        figures = browser.execute_async_script(SEE_ALL)
        end = time.time() + 30  # a machine under load draws late
        drawn = browser.execute_script(DRAWN)
        while time.time() < end and any(one in ("blank", "nothing") for one in drawn):
            time.sleep(0.2)
            browser.execute_async_script(SEE_ALL)
            drawn = browser.execute_script(DRAWN)
        for number, one in enumerate(drawn):
            if one in ("blank", "nothing"):
                self.say(name, f"figure {number + 1} shows {one}")
        for entry in browser.get_log("browser"):
            self.say(name, f"console: {entry['message'][:300]}")
        for url in requests_of(browser):
            self.say(name, f"asks for {url}")
        return opened, figures

    def check_text(self, name, page):
        """The answer, and the cells of the first table, as the page shows them."""
        data = json.loads(DATA.search(page.read_text())[1])
        report = data["parts"][0]["report"]
        shown = self.browser.execute_script("return document.body.textContent")
        if report["answer"] not in shown:
            self.say(name, "the answer is not on the page")
        heading = self.browser.execute_script("return document.querySelector('h2').textContent")
        if not heading.endswith("?"):
            self.say(name, f"its heading is no question: {heading}")
        if "nccl-tests" in heading and report["study"] != "validate nccl-tests":
            self.say(name, f"its heading is another study's: {heading}")
        table = report["tables"][0]
        texts = {cell for row in table["rows"][:20] for cell in row if isinstance(cell, str)} - {""}
        for text in sorted(texts):
            if text not in shown:
                self.say(name, f"\"{text[:80]}\" of table {table['name']} is not on the page")
        copied = self.browser.execute_script(
            "return fabricast.csv(JSON.parse(document.getElementById('fabricast-data').textContent)"
            ".parts[0].report.tables[0])"
        )
        if copied.strip().count("\n") != len(table["rows"]):
            self.say(name, "the table copied as CSV has another number of rows")
        return rows_in(report)

    def check_access(self, name):
        self.browser.execute_script(AXE.read_text())
        found = self.browser.execute_async_script(
            "const done = arguments[0];"
            "const failed = (e) => done([{id: String(e), impact: 'critical', nodes: []}]);"
            # the hundredth row of a table is as the tenth
            "axe.run({exclude: [['tbody tr:nth-child(n+10)']]}, {resultTypes: ['violations']})"
            ".then((r) => done(r.violations), failed);"
        )
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        for one in serious:
            where = one["nodes"][0]["html"][:120] if one["nodes"] else ""
            self.say(name, f"axe: {one['id']}: {where}")
        return len(serious)

    def shot(self, name):
        if not self.shots:
            return
        size = self.browser.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        picture = self.browser.execute_cdp_cmd(
            "Page.captureScreenshot",
            {
                "captureBeyondViewport": True,
                "clip": {
                    "x": 0,
                    "y": 0,
                    "width": size["width"],
                    "height": min(size["height"], 6000),
                    "scale": 0.7,
                },
            },
        )
        (self.shots / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))


def rows_in(report):
    return sum(len(table["rows"]) for table in report["tables"])


def output(words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def hostile_page(fabricast, folder):
    """A topology whose names are markup."""
    text = output([fabricast, "topo", "dgx-h100", "--format", "yaml"])
    title = re.sub(r"^title:.*$", "title: '" + HOSTILE + "'", text, count=1, flags=re.M)
    source = folder / "node.yaml"
    source.write_text(title if HOSTILE in title else f"title: '{HOSTILE}'\n" + text)
    page = folder / "hostile.html"
    report = json.loads(
        output(
            [
                fabricast,
                "bench",
                "--topology",
                source,
                "--nodes",
                "2",
                "--explain",
                "--sizes",
                "1MiB..1GiB:x8",
                "--format",
                "json",
            ]
        )
    )

    def spoil(value):
        if isinstance(value, str):
            return value + HOSTILE
        if isinstance(value, list):
            return [spoil(one) for one in value]
        return value

    for table in report["tables"]:
        table["rows"] = [spoil(row) for row in table["rows"]]
    report["notes"] = [{"level": "note", "text": HOSTILE}]
    spoiled = folder / "spoiled.json"
    spoiled.write_text(json.dumps(report))
    subprocess.run([fabricast, "report", spoiled, "--html", page], check=True, capture_output=True)
    return page


def large_page(fabricast, folder):
    """10,000 rows."""
    report = json.loads(
        output([fabricast, "bench", "--topology", "dgx-h100", "--nodes", "1,2", "--format", "json"])
    )
    rows = report["tables"][0]["rows"]
    columns = [c["name"] for c in report["tables"][0]["columns"]]
    nodes = columns.index("nodes")
    more = []
    for n in range(1, 10_000 // len(rows) + 1):
        for row in rows:
            more.append([*row[:nodes], n * 2, *row[nodes + 1 :]])
    report["tables"][0]["rows"] = more[:10_000]
    source, page = folder / "large.json", folder / "large.html"
    source.write_text(json.dumps(report))
    subprocess.run([fabricast, "report", source, "--html", page], check=True, capture_output=True)
    return page


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fabricast")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--shots", type=Path)
    parser.add_argument("--dark", action="store_true")
    asked = parser.parse_args()
    fabricast = Path(asked.fabricast).resolve()
    browser = open_browser(dark=asked.dark, requests=True)
    browser.set_script_timeout(180)
    pages = Pages(browser, asked.shots)
    if asked.shots:
        asked.shots.mkdir(parents=True, exist_ok=True)
    print(f"{'study':16} {'html':>8} {'opens':>8} {'charts':>6} {'rows':>6} {'serious faults':>14}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            store = str(make_store(fabricast, folder))
            for name, words in STUDIES.items():
                if asked.names and name not in asked.names:
                    continue
                page = folder / f"{name}.html"
                subprocess.run(
                    [fabricast, *words.replace("STORE", store).split(), "--html", page],
                    cwd=ROOT,
                    capture_output=True,
                    check=False,
                )
                opened, figures = pages.open(name, page)
                pages.shot(name)
                browser.execute_script(OPEN_ALL)
                rows = pages.check_text(name, page)
                faults = pages.check_access(name)
                print(
                    f"{name:16} {page.stat().st_size // 1024:>4} KiB {opened * 1000:>5.0f} ms "
                    f"{figures:>6} {rows:>6} {faults:>14}",
                    flush=True,
                )
                if figures == 0 and name not in WITHOUT_FIGURES:
                    pages.say(name, "no figure")
            if not asked.names or "hostile" in asked.names:
                pages.open("hostile", hostile_page(fabricast, folder))
                markup = "return window.hacked === 1 || document.images.length > 0"
                if browser.execute_script(markup):
                    pages.say("hostile", "a name of a file became markup")
                if HOSTILE not in browser.execute_script("return document.body.textContent"):
                    pages.say("hostile", "the name is not shown as it is")
                pages.shot("hostile")
            if not asked.names or "large" in asked.names:
                opened, figures = pages.open("large", large_page(fabricast, folder))
                print(f"{'10,000 rows':16} {'':>8} {opened * 1000:>5.0f} ms {figures:>6}")
    finally:
        browser.quit()
    print("\n".join(pages.complaints))
    print(f"{len(pages.complaints)} complaints")
    return 1 if pages.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
