"""The program as its own --help describes it, so that a new command or option is tested at once."""

import functools
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
FILES = HERE / "files"
ROOT = HERE.parents[1]
LOGS = "../../data/logs"
RECORDS = "../../data/records"
STEPS = "../../../scenarios/steps"
TIMEOUT_S = 150

# Of each command one run that answers and one that is refused: of a new command the test says that
# it is missing here.
GOOD = {
    "bench": "--topology dgx-h100 --sizes 1MiB",
    "decide": "--topology dgx-h100 --sizes 1MiB",
    "cutover": "--topology pcie-2gpu --sizes 1MiB",
    "upgrade": "--from 2.27.7 --to 2.28.9 --topology dgx-h100 --nodes 4 --sizes 1MiB,256MiB",
    "whatif": "--topology dgx-h100 --sizes 1MiB --to NCCL_ALGO=Ring",
    "advise": "--topology pcie-2gpu --goal latency --sizes 8B",
    "run": "../../../scenarios/h200-2nic-hcas.yaml",
    "topo": "dgx-h100",
    "lint": "job.sbatch",
    "step": "step-small.yaml",
    "plan": "step-small.yaml --keep 1 --fix tp=8",
    "serve": "../../../scenarios/serve/llama-2-70b-a100.yaml",
    "validate nccl-tests": "--runs measured-runs.csv --points measured-points.csv"
                           " --predictor nccl-model",
    "validate gate": "--runs measured-runs.csv --points measured-points.csv",
    "validate engines": "--file engines.csv",
    "validate registered": "--file registered.csv",
    "validate experts": "--file experts.csv",
    "validate serving": "--file serving.csv",
    "validate kernels": "--file kernels.csv",
    "validate steps": "--cases steps.csv",
    "calibrate": "calibrate.yaml",
    "judge": "no-gdr.log --topology dgx-h100 --collective all_reduce",
    "gate": "pcie-2gpu --sizes 1MiB",
    "check": "rules.yaml --only placement",
    "import": "job.sbatch",
    "hang": "hang-oom.jsonl",
    "memory": "--topology dgx-h100",
    "experts": "--topology dgx-h100 --tokens 16",
    "placement": "topology.conf --hosts node[01-02,06-07] --topology dgx-h100 --sizes 1MiB"
                 " --collective all_reduce",
    "list": "topologies",
    "schema": "step",
    "report": "report.json --html /dev/null",
    "solve": "step-small.yaml --vary nodes=1,2 --until 'step_s <= 1.5 * base.step_s'",
    "compare": "--topology pcie-2gpu --nodes 1 --sizes 1MiB",
    "completion": "bash",
    "help": "sizes",
}
# Commands whose runs need more than a line: tests/browser/live.py, sweep.py.
ELSEWHERE = {"ui", "sweep status", "sweep merge", "sweep cancel", "query"}
BAD = {command: "--no-such-option" for command in GOOD} | {
    "bench": "--topology nope",
    "judge": "no-such.log --topology dgx-h100",
    "import": "no-such-file",
    "run": "bad-size.yaml",
}


# What an option needs beside itself where that is not GOOD's.
CONTEXT = {
    ("step", "--calls"): "--topology dgx-a100",
    ("step", "--topology"): f"--calls {LOGS}/chakra-json-small.json",
    ("step", "--fabric"): f"--calls {LOGS}/chakra-json-small.json --topology dgx-a100",
    ("step", "--env-file"): f"--calls {LOGS}/chakra-json-small.json --topology dgx-a100",
    ("gate", "--check"): "dgx-h100",
    ("gate", "--write-aicr"): "dgx-h100 --sizes 1MiB",
    ("gate", "--write-junit"): "dgx-h100 --check no-gdr.log --collective all_reduce",
    ("judge", "--inspector"): "--topology dgx-h100",
    ("judge", "--write-prometheus"): f"--inspector {RECORDS}/inspector --topology dgx-h100",
    ("hang", "--layout"): "",
    ("hang", "--parts"): f"--layout {STEPS}/claim-fsdp.yaml",
    ("hang", "--write-trace"): f"--layout {STEPS}/claim-fsdp.yaml",
    ("memory", "--layout"): "",
    ("memory", "--fabric"): "--topology dgx-h100 --nodes 2",
    **{("bench", option): "--topology dgx-h100 --collective ep_dispatch"
       for option in ("--tokens", "--hidden", "--top-k", "--experts", "--groups", "--top-groups",
                      "--dtype", "--experts-load", "--ep-mode", "--sms", "--kernels")},
    ("experts", "--fabric"): "--topology dgx-h100 --nodes 2 --tokens 16",
    ("placement", "--layout"): "topology.conf --hosts node[01-10] --sizes 1MiB"
                               " --collective all_reduce",
    ("topo", "--env-file"): "dgx-h100 --graphs",
    ("whatif", "--layout"): "--to NCCL_ALGO=Ring",
    ("whatif", "--to-topology"): "--topology dgx-h100 --sizes 1MiB",
    ("whatif", "--to-fabric"): "--topology dgx-h100 --nodes 2 --sizes 1MiB",
    ("advise", "--layout"): "",
    ("advise", "--fabric"): "--topology dgx-h100 --nodes 2 --sizes 1MiB",
    ("import", "--parts"): f"{LOGS}/hdr-fat-tree-faked.txt --write /dev/null",
    ("import", "--topology"): f"{LOGS}/2.29.7-tuning-table-and-decisions.txt",
    ("import", "--write"): f"{LOGS}/hdr-fat-tree-faked.txt",
    ("lint", "--fabric"): "job.sbatch --topology dgx-h100 --nodes 2",
    ("lint", "--parts"): "job.sbatch --topology dgx-h100",
    ("calibrate", "--predictions"): "calibrate.yaml --cross-validate",
}


class Option(NamedTuple):
    name: str        # the longest of its names; "" = a positional argument
    takes: bool      # a value follows
    names: tuple


def base_of(command, option):
    """The arguments that GOOD or CONTEXT has, without the option itself and its value."""
    text = CONTEXT.get((command, option.name), GOOD[command])
    out, words = [], shlex.split(text)
    flags = {name for known in options(command) if not known.takes for name in known.names}
    positional = option.name == ""
    while words:
        word = words.pop(0)
        if word in option.names:
            words.pop(0)
        elif word.startswith("-"):
            out += [word] if word in flags else [word, words.pop(0)]
        elif positional:
            positional = False  # the first: what the option stands for
        else:
            out.append(word)
    return [*command.split(), *out]


def with_value(command, option, value):
    return base_of(command, option) + ([option.name] if option.name else []) + [value]


def program():
    return sys.argv[1]


def arguments_of(command, text):
    return [*command.split(), *shlex.split(text)]


def run(arguments, **options):
    """A finished run; stands still for TIMEOUT_S: an assertion."""
    asked = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": FILES,
             "stdin": subprocess.DEVNULL, "timeout": TIMEOUT_S, **options}
    try:
        return subprocess.run([program(), *arguments], check=False, **asked)
    except subprocess.TimeoutExpired as expired:
        raise AssertionError(f"{arguments}: still running after {asked['timeout']} s") from expired


@functools.cache
def help_of(command):
    ran = run([*command.split(), "--help"], text=True)
    assert ran.returncode == 0, ran
    return ran.stdout


def sections(text):
    """Headings of a help text with the entries below: name, what follows it."""
    heading = ""
    for line in text.splitlines():
        if re.match(r"\S.*:$", line):
            heading = line.rstrip(":")
        elif entry := re.match(r"  (?! )(\S+)\s*(.*)", line):
            yield heading, entry[1], entry[2]


@functools.cache
def commands():
    """["bench", "validate nccl-tests", ...]"""
    out = []

    def visit(command):
        below = [name for heading, name, _ in sections(help_of(command))
                 if not name.startswith("-")
                 and heading.lower() not in ("positionals", "options", "examples")
                 and re.fullmatch(r"[a-z][a-z-]*", name) and "sage" not in heading]
        if not below:
            out.append(command)
        for name in below:
            visit(f"{command} {name}".strip())

    visit("")
    return out


@functools.cache
def options(command):
    out = []
    for heading, name, rest in sections(help_of(command)):
        takes = re.match(r"[A-Z]{2,}\b|<", rest) is not None
        if name.startswith("-"):
            names = tuple(name.split(","))
            if "--help" not in names:
                out.append(Option(max(names, key=len), takes, names))
        elif heading.lower() == "positionals":
            out.append(Option("", True, (name,)))
    return out


def check_cases():
    """Every command of --help has a run here."""
    known = [command for command in commands() if command not in ELSEWHERE]
    assert set(known) == set(GOOD), f"tests/cli/program.py: GOOD lacks or invents a command: " \
        f"{sorted(set(known) ^ set(GOOD))}"
    assert len(known) > 15, known


def main(checks):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for check in checks:
            try:
                told = check(Path(folder) / check.__name__)
                print(f"ok      {check.__name__}: {told}")
            except (AssertionError, ValueError, LookupError, OSError) as problem:
                failed += 1
                print(f"FAILED  {check.__name__}: {problem}")
    return 1 if failed else 0


def fresh(folder):
    os.makedirs(folder, exist_ok=True)
    return folder
