#!/usr/bin/env python3
"""manuals.py PROGRAM CMAKE: the manual pages that the build makes.

There is one for the program and one for each command, man and groff have no complaint about them,
and each names every option of --help. Exits with 77 where man or groff is not installed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from program import ROOT, commands, fresh, main, options, program  # noqa: E402

SKIPPED = 77
PLAIN = {**os.environ, "MANWIDTH": "500", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": "",
         "GROFF_NO_SGR": "1"}


def made(folder):
    subprocess.run([sys.argv[2], f"-DPROGRAM={program()}", f"-DFOLDER={fresh(folder)}", "-P",
                    ROOT / "cmake/man_pages.cmake"], check=True, timeout=120)
    return folder


def page_of(command):
    return f"fabricast-{command.replace(' ', '-')}.1" if command else "fabricast.1"


def warnings(path):
    for arguments in (["man", "--warnings=w", "-l", str(path)],
                      ["groff", "-man", "-ww", "-z", str(path)]):
        ran = subprocess.run(arguments, capture_output=True, text=True, check=False, env=PLAIN)
        assert ran.returncode == 0 and not ran.stderr, f"{arguments}: {ran.stderr}"


def no_warnings(folder):
    pages = sorted(made(folder).iterdir())
    for page in pages:
        warnings(page)
    return f"{len(pages)} pages"


def a_page_each(folder):
    there = {page.name for page in made(folder).iterdir()}
    missing = {page_of(command) for command in ["", *commands()]} - there
    assert not missing, missing
    return f"{len(there)} pages"


def every_option_is_named(folder):
    made(folder)
    checked = 0
    for command in commands():
        shown = subprocess.run(["man", "-l", str(folder / page_of(command))], capture_output=True,
                               text=True, check=True, env=PLAIN).stdout
        shown = re.sub(".\b", "", shown)
        assert shown.count("Examples".upper()) == 1, command
        for option in options(command):
            wanted = ",".join(option.names)
            assert re.search(rf"^ +{re.escape(wanted)}( |$)", shown, re.M), (command, wanted)
            checked += 1
    assert checked > 250, checked
    return f"{checked} options"


if __name__ == "__main__":
    if not shutil.which("man") or not shutil.which("groff"):
        print("skipped: man or groff is not installed")
        sys.exit(SKIPPED)
    sys.exit(main([no_warnings, a_page_each, every_option_is_named]))
