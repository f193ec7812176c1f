#!/usr/bin/env python3
"""quotes.py PROGRAM [DOCUMENT ...]: documents quote what commands print.

Each `$ fabricast ...` of a block in README.md and docs/*.md is run; each line quoted below it must
be printed, in this order (`…` stands for lines left out), and `$ echo $?` must be followed by the
exit code. Commands run in a folder of their own, which holds links to the repository's folders and
to what is in tests/cli/files, tests/data/logs, records and traces. UPDATE_GOLDEN=1 rewrites
quoted lines by the most similar ones, to be reviewed as a diff."""

import difflib
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "tests" / "cli" / "files", ROOT / "tests" / "data" / "logs",
         ROOT / "tests" / "data" / "records", ROOT / "tests" / "data" / "traces"]
FOLDERS = ["calibration", "scenarios", "topologies", "workloads"]
# Begin of a command -> why it is not run here.
NOT_RUN = {
    "calibrate ": "takes minutes and writes topologies/calibrated.yaml",
    "validate gate --runs calibration": "takes minutes",
    "validate nccl-tests --runs measured-": "the runs that were measured are not shipped",
    "bench --topology room3.yaml": "the document shows the file",
    "topo room3.yaml": "the document shows the file",
    "topo hgx-a100-4": "the document shows the file",
    "bench --topology node.xml": "the document shows the file",
    "run half-the-hcas.yaml": "the document shows the file",
}


def furnish(folder):
    files = [file for part in FILES for file in part.iterdir() if file.name != "README.md"]
    for path in files + [ROOT / name for name in FOLDERS]:
        (Path(folder) / path.name).symlink_to(path)


def run(program, arguments, folder):
    ran = subprocess.run([program, *shlex.split(arguments, comments=True)], cwd=folder, text=True,
                         capture_output=True)
    return ran.stderr.splitlines() + ran.stdout.splitlines(), ran.returncode


def similar(line, candidates, next_at):
    """The index of the candidate that stands for an old line: the next one if it is alike."""
    def likeness(other):
        return difflib.SequenceMatcher(None, line, other).ratio()
    if next_at < len(candidates) and likeness(candidates[next_at]) > 0.5:
        return next_at
    start = ",".join(line.split(",")[:3]) + ","
    ratios = [(likeness(other) + ("," in line and other.startswith(start)), -at)
              for at, other in enumerate(candidates) if at >= next_at]
    best = max(ratios, default=(0, 0))
    return -best[1] if best[0] > 0.6 else None


class Document:
    def __init__(self, program, path, folder):
        self.program, self.path, self.folder = program, path, folder
        self.update = os.environ.get("UPDATE_GOLDEN") == "1"
        self.problems, self.commands, self.out = [], 0, []

    def check(self):
        inside = False
        self.left, self.at, self.code, self.expects_code = None, 0, 0, False
        lines = self.path.read_text().splitlines()
        for line, following in zip(lines, lines[1:] + [""]):
            if line.startswith("```"):
                inside = not inside and following.startswith("$ fabricast ")
                self.left = None
            elif inside:
                line = self.quoted(line)
            self.out.append(line)
        if self.update:
            self.path.write_text("\n".join(self.out) + "\n")
        return self

    def quoted(self, line):
        if line.startswith("$ fabricast "):
            arguments = line.removeprefix("$ fabricast ")
            self.command, self.at, self.left = line, 0, None
            if not any(arguments.startswith(start) for start in NOT_RUN):
                self.left, self.code = run(self.program, arguments, self.folder)
                self.commands += 1
        elif line == "$ echo $?":
            self.expects_code = True
        elif line.startswith("$ "):
            self.left = None
        elif self.left is None or line in ("…", ""):
            pass
        elif self.expects_code:
            self.expects_code = False
            if line != str(self.code):
                self.problems.append(f"{self.command} exits with {self.code}, quoted is {line}")
        else:
            return self.found(line)
        return line

    def found(self, line):
        if line in self.left[self.at:]:
            self.at = self.left.index(line, self.at) + 1
            return line
        at = similar(line, self.left, self.at) if self.update else None
        if at is None:
            self.problems.append(f"{self.command} does not print: {line}")
            return line
        self.at = at + 1
        return self.left[at]


def main():
    program = str(Path(sys.argv[1]).resolve())
    paths = [Path(name).resolve() for name in sys.argv[2:]]
    paths = paths or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    failed = commands = 0
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            furnish(folder)
            document = Document(program, path, folder).check()
        commands += document.commands
        failed += len(document.problems)
        for problem in document.problems:
            print(f"{path.relative_to(ROOT)}: {problem}")
    print(f"{commands} commands run, {failed} lines that they do not print")
    return 1 if failed or commands == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
