#!/usr/bin/env python3
"""pictures.py FABRICAST: draws docs/report-*.png, the pages of two questions as chromium shows them
(tests/browser/README.md says what to install)."""

import base64
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


def main():
    browser = open_browser(1000, 900)
    with tempfile.TemporaryDirectory() as folder:
        for name, words, figures in PICTURES:
            page = Path(folder) / "page.html"
            subprocess.run(
                [sys.argv[1], *words.split(), "--html", page], check=True, stdout=subprocess.DEVNULL
            )
            browser.get(page.as_uri())
            for number in range(figures + 1):
                browser.execute_script(
                    "document.querySelectorAll('figure')[arguments[0]]?.scrollIntoView()", number
                )
                time.sleep(0.5)
            end = browser.execute_script(
                "window.scrollTo(0, 0);"
                "return document.querySelectorAll('figure')[arguments[0]]"
                ".getBoundingClientRect().bottom",
                figures - 1,
            )
            time.sleep(0.5)
            shot = browser.execute_cdp_cmd(
                "Page.captureScreenshot",
                {
                    "captureBeyondViewport": True,
                    "clip": {"x": 0, "y": 0, "width": 1000, "height": end + 10, "scale": 0.85},
                },
            )
            (DOCS / name).write_bytes(base64.b64decode(shot["data"]))
    browser.quit()


if __name__ == "__main__":
    main()
