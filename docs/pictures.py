#!/usr/bin/env python3
"""pictures.py FABRICAST [NAME ...]: draws docs/*.png, pages as chromium shows them
(tests/browser/README.md says what to install): report-* of two questions, sweep-* of the sweeps
that come along. With names only these."""

import base64
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "tests" / "browser"))
from browser import open_browser  # noqa: E402

# File, words, figures from the top that are shown.
PICTURES = [
    (
        "report-cutover.png",
        "cutover --topology dgx-h100 --nodes 1,2,4,8,16 --sizes 64KiB..1GiB:x4",
        3,
    ),
    ("report-bench.png", "bench --topology dgx-h100 --nodes 1,2,8 --explain", 4),
]
# File, sweep in scenarios/sweeps, what `query` is asked of its store, figures from the top.
SWEEPS = [
    (
        "sweep-purchase.png",
        "purchase-64-nodes",
        "--columns topology,fabric,sharp,busbw_GBps",
        2,
    ),
    (
        "sweep-releases.png",
        "releases",
        '--where "axis_nodes = 16 and sizes = 1GiB" --columns topology,nccl,busbw_GBps',
        1,
    ),
    (
        "sweep-oversubscription.png",
        "oversubscription",
        '--where "topology = hgx-b200" --columns nodes,oversubscription,mfu,usd_per_step',
        2,
    ),
]


def fabricast(*words):
    subprocess.run([sys.argv[1], *words], check=True, stdout=subprocess.DEVNULL)


def shoot(browser, page, figures, whole):
    """The page down to its last figure, or its figures alone."""
    browser.get(page.as_uri())
    for number in range(figures + 1):
        browser.execute_script(
            "document.querySelectorAll('figure')[arguments[0]]?.scrollIntoView()", number
        )
        time.sleep(0.5)
    begin, end = browser.execute_script(
        "window.scrollTo(0, 0); const all = document.querySelectorAll('figure');"
        "return [all[0].getBoundingClientRect().top, "
        "all[arguments[0]].getBoundingClientRect().bottom]",
        figures - 1,
    )
    time.sleep(0.5)
    top = 0 if whole else begin - 10
    clip = {
        "x": 0,
        "y": top,
        "width": 1000,
        "height": end + 10 - top,
        "scale": 0.85 if whole else 0.75,
    }
    shot = browser.execute_cdp_cmd(
        "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip}
    )
    return base64.b64decode(shot["data"])


def main():
    names = sys.argv[2:]
    browser = open_browser(1000, 900)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        for name, words, figures in PICTURES:
            if names and name not in names:
                continue
            fabricast(*words.split(), "--html", page)
            (DOCS / name).write_bytes(shoot(browser, page, figures, True))
        for name, sweep, words, figures in SWEEPS:
            if names and name not in names:
                continue
            store = Path(folder) / f"{sweep}.sqlite"
            # Points that are refused stay in the store: exit code 1.
            subprocess.run(
                [sys.argv[1], "sweep", DOCS.parent / f"scenarios/sweeps/{sweep}.yaml"]
                + ["--store", store],
                check=False,
                stdout=subprocess.DEVNULL,
            )
            fabricast("query", store, *shlex.split(words), "--html", page)
            (DOCS / name).write_bytes(shoot(browser, page, figures, False))
    browser.quit()


if __name__ == "__main__":
    main()
