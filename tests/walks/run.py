#!/usr/bin/env python3
"""run.py PROGRAM [WALK ...]: walks through the program as one kind of user goes.

A walk is a text file, `<user>.walk`, of ten commands or more, each with what a right answer must
contain. Commands run in this folder, one after another, without a shell; $OUT is a folder that
is there for one walk, and a last `> FILE` keeps what the command prints.

    # Words to the reader.
    $ fabricast bench --topology dgx-h100 --sizes 1GiB
      must: REGEX                    in what it prints, either stream; ^ and $ are those of a line
      not: REGEX                     nowhere in it
      exit: N                        its exit code, 0 without this line
      value NAME: REGEX in LO..HI    the number in the only group of the first match; LO and HI are
                                     numbers, or arithmetic with NAMEs of values before
      must in FILE: REGEX            in a file that the command wrote

A command without a check is an error, and so is a walk of fewer than ten commands."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMANDS_LEAST = 10
SECONDS_MAX = 300
VALUE = re.compile(r"value(?: (?P<name>\w+))?: (?P<regex>.*) in (?P<low>.+)\.\.(?P<high>.+)$")


class Step:
    def __init__(self, line, command):
        self.line, self.command, self.checks = line, command, []


def steps_of(path):
    steps = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if text.startswith("$ fabricast"):
            steps.append(Step(number, text.removeprefix("$ fabricast")))
        elif text and not text.startswith("#"):
            if not steps or not re.match(r"(must|not|exit|value)\b", text):
                sys.exit(f"{path}:{number}: neither a command nor a check: {text}")
            steps[-1].checks.append((number, text))
    for step in steps:
        if not step.checks:
            sys.exit(f"{path}:{step.line}: nothing is asked of this command")
    if len(steps) < COMMANDS_LEAST:
        sys.exit(f"{path}: {len(steps)} commands, a walk has {COMMANDS_LEAST} or more")
    return steps


def bound(text, values):
    names = re.findall(r"[A-Za-z_]\w*", text)
    unknown = [name for name in names if name not in values]
    if unknown or not re.fullmatch(r"[\w.+*/() -]+", text):
        raise ValueError(f"bound {text!r}: unknown {unknown}")
    return float(eval(text, {"__builtins__": {}}, values))  # arithmetic only, by the line above


def value_problem(check, printed, values):
    match = VALUE.match(check)
    if not match:
        return "not of the form value NAME: REGEX in LO..HI"
    found = re.search(match["regex"], printed, re.MULTILINE)
    if not found:
        return "no such text"
    number = float(found.group(1).replace("_", "").replace(",", ""))
    if match["name"]:
        values[match["name"]] = number
    low, high = (bound(match[side].strip(), values) for side in ("low", "high"))
    return None if low <= number <= high else f"{number:g} is outside of {low:g} .. {high:g}"


def problem_of(check, ran, printed, values, out):
    """None where it holds."""
    kind, _, rest = check.partition(":")
    rest = rest.strip()
    if kind.startswith("value"):
        return value_problem(check, printed, values)
    if kind == "exit":
        return None if ran.returncode == int(rest) else f"exit code {ran.returncode}"
    if kind.startswith("must in "):
        path = HERE / kind.removeprefix("must in ").replace("$OUT", out)
        printed = path.read_text() if path.is_file() else ""
    there = re.search(rest, printed, re.MULTILINE) is not None
    if kind == "not":
        return "it is there" if there else None
    return None if there else "no such text"


def run_step(program, step, values, out):
    words = [word.replace("$OUT", out) for word in shlex.split(step.command)]
    kept = None
    if len(words) > 2 and words[-2] == ">":
        kept, words = HERE / words[-1], words[:-2]
    environment = {**os.environ, "COLUMNS": "100"}
    ran = subprocess.run([program, *words], cwd=HERE, text=True, capture_output=True,
                         env=environment, timeout=SECONDS_MAX, stdin=subprocess.DEVNULL)
    if kept:
        kept.write_text(ran.stdout)
    printed = ran.stdout + ran.stderr
    checks = list(step.checks)
    if not any(check.startswith("exit:") for _, check in checks):
        checks.insert(0, (step.line, "exit: 0"))
    problems = []
    for line, check in checks:
        problem = problem_of(check, ran, printed, values, out)
        if problem:
            problems.append(f"  line {line}: {check}\n    {problem}")
    return problems, printed


def walk(program, path):
    values, failed = {}, 0
    with tempfile.TemporaryDirectory() as out:
        for step in steps_of(path):
            problems, printed = run_step(program, step, values, out)
            if problems:
                failed += 1
                print(f"{path.name}:{step.line}: $ fabricast{step.command}")
                print("\n".join(problems))
                print("".join(f"    > {line}\n" for line in printed.splitlines()[:60]))
    return failed


def main():
    program = str(Path(sys.argv[1]).resolve())
    paths = [Path(name) for name in sys.argv[2:]] or sorted(HERE.glob("*.walk"))
    failed = sum(walk(program, path.resolve()) for path in paths)
    sys.exit(f"{failed} commands answer otherwise" if failed else 0)


if __name__ == "__main__":
    main()
