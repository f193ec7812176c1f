#!/usr/bin/env python3
"""examples.py PROGRAM: --help and `help TOPIC` teach what works.

Every command has two examples, and every example of every help runs, in a folder with the
scenarios that are shipped and the files that the examples name. Every option that takes words of a
list shows them."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import threading

from program import FILES, ROOT, commands, fresh, help_of, main, options, program, run

TIMEOUT_S = 240
# Names in examples: a copy of which file.
COPIES = {
    "all_reduce.log": FILES / "no-gdr.log",
    "nccl_trace_rank_0": ROOT / "tests/data/records/flight-missing/nccl_trace_rank_0",
    "nccl_trace_rank_1": ROOT / "tests/data/records/flight-missing/nccl_trace_rank_1",
    "inspector.log": ROOT / "tests/data/records/inspector/v4.3-header-once.log",
    "rules.yaml": FILES / "rules.yaml",
    "topology.conf": FILES / "topology.conf",
    "neighbour.yaml": FILES / "neighbour.yaml",
    "recipe.yaml": FILES / "calibrate.yaml",
    "measured-runs.csv": FILES / "measured-runs.csv",
    "measured-points.csv": FILES / "measured-points.csv",
    "runs.csv": FILES / "measured-runs.csv",
    "points.csv": FILES / "measured-points.csv",
    "sick.csv": FILES / "measured-runs.csv",
    "sick-points.csv": FILES / "measured-points.csv",
    "steps.csv": FILES / "steps.csv",
    "engines.csv": FILES / "engines.csv",
    "registered.csv": FILES / "registered.csv",
    "serving.csv": FILES / "serving.csv",
    "kernels.csv": FILES / "kernels.csv",
    "deepep.csv": FILES / "experts.csv",
    "nccl.log": ROOT / "tests/data/logs/2.29.7-tuning-table-and-decisions.txt",
    "ibstat.txt": ROOT / "tests/data/logs/ibv_devinfo-mlx4-dual-port.txt",
    **{f"{name}.json": FILES / "report.json" for name in ("cutover", "whatif", "monday", "friday")},
}
TEXTS = {
    "job.sbatch": "#!/bin/bash\n#SBATCH --nodes=16\nexport NCCL_DEBUG=WARN\n"
                  "srun ./all_reduce_perf\n",
    "machines.yaml": "targets:\n  - {topology: dgx-h100, nodes: 2}\n",
    "sweep.yaml": """kind: sweep
name: steps
question:
  kind: step
  model: llama-3-8b
  topology: dgx-h100
  nodes: 1
  framework: megatron
  sequence: 4096
  micro_batch: 1
  global_batch: 64
  precision: bf16
  parallel: {tp: 2}
  sharding: zero1
axes:
  nodes: [1, 8]
""",
}
# Other names: what a run writes.
RUNS = {
    "node.yaml": "topo dgx-h100 --format yaml",
    **{f"{day}.html": f"bench --topology dgx-h100 --sizes 1MiB --html {day}.html"
       for day in ("monday", "friday")},
    "topo.txt": "topo dgx-h100 --matrix",
    "results.sqlite": "sweep sweep.yaml --store results.sqlite",
    "share-1.sqlite": "sweep sweep.yaml --store share-1.sqlite --share 1/2",
    "share-2.sqlite": "sweep sweep.yaml --store share-2.sqlite --share 2/2",
    "last-week.json": "check rules.yaml --json last-week.json",
}
ANSWERS = {"hang": (0, 1)}  # 1: there is a hang
ELSEWHERE = {"sweep cancel"}  # needs Slurm: tests/slurm
SERVES = {"ui"}  # until it is stopped


def examples(text):
    found = re.search(r"^Examples:\n((?:  fabricast .*\n?)+)", text, re.M)
    return [line.strip().removeprefix("fabricast ") for line in found[1].splitlines()] \
        if found else []


def helps():
    """(what it is called with, its text), of every command and every topic."""
    parents = {command.rsplit(" ", 1)[0] for command in commands() if " " in command}
    for command in ["", *sorted({*commands(), *parents})]:
        yield f"{command} --help".strip(), help_of(command)
    for topic in topics():
        yield f"help {topic}", run(["help", topic], text=True).stdout


def topics():
    described = re.search(r"topics ([^\n]*)", run(["help", "help"], text=True).stdout)
    return described[1].split(", ")


def command_of(arguments):
    words = shlex.split(arguments)
    return " ".join(words[:2]) if " ".join(words[:2]) in commands() else words[0]


def prepare(folder):
    fresh(folder)
    for name in ("scenarios", "topologies", "workloads", "tests", "calibration"):
        os.symlink(ROOT / name, folder / name)
    for name, source in COPIES.items():
        shutil.copy(source, folder / name)
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    for name, arguments in RUNS.items():
        ran = run(shlex.split(arguments), cwd=folder)
        assert ran.returncode in (0, 1) and (name == "last-week.json" or not ran.returncode), ran
        if not (folder / name).exists():
            (folder / name).write_bytes(ran.stdout)


def serves(arguments, folder):
    """It says its address and goes on."""
    with subprocess.Popen([program(), *shlex.split(arguments)], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        late = threading.Timer(60, running.kill)
        late.start()
        said = running.stdout.readline()
        late.cancel()
        running.terminate()
    assert "http://127.0.0.1" in said, f"{arguments}: {said}"


def every_example_runs(folder):
    prepare(folder)
    seen, failed = set(), []
    for source, text in helps():
        for example in examples(text):
            if example in seen or command_of(example) in ELSEWHERE:
                continue
            seen.add(example)
            if command_of(example) in SERVES:
                serves(example, folder)
                continue
            ran = run(shlex.split(example), cwd=folder, timeout=TIMEOUT_S, text=True)
            if ran.returncode not in ANSWERS.get(command_of(example), (0,)):
                failed.append(f"{source}: {example}: exit {ran.returncode}: {ran.stderr}")
    assert not failed, "\n".join(failed)
    assert len(seen) > 50, seen
    return f"{len(seen)} examples"


def every_help_has_examples(_):
    for source, text in helps():
        assert len(examples(text)) == 2, f"{source}: {examples(text)}"
        own = source.removesuffix(" --help")
        if source.endswith(" --help") and source != "--help" and own != "calibrate":
            assert all(f"{example} ".startswith(f"{own} ") for example in examples(text)), source
    return "two each"


def help_of_a_command_is_its_help(_):
    for command in commands():
        ran = run(["help", *command.split()], text=True)
        assert ran.returncode == 0 and ran.stdout == help_of(command), command
    assert run(["help"], text=True).stdout == help_of("")
    wrong = run(["help", "banch"], text=True)
    assert wrong.returncode == 2 and 'did you mean "bench"?' in wrong.stderr, wrong
    wrong = run(["help", "enviroment"], text=True)
    assert wrong.returncode == 2 and 'did you mean "environment"?' in wrong.stderr, wrong
    return f"{len(commands())} commands"


def topics_are_short(_):
    for topic in topics():
        ran = run(["help", topic], text=True)
        assert ran.returncode == 0 and ran.stdout.count("\n") < 60, ran
        assert all(len(line) <= 100 for line in ran.stdout.splitlines()), topic
        for page in re.findall(r"docs/[\w-]+\.md", ran.stdout):
            assert (ROOT / page).is_file(), f"{topic}: {page}"
    return ", ".join(topics())


def enumerations_show_their_values(_):
    """What an unknown word is told to be instead stands in --help."""
    checked = 0
    for command in commands():
        text = " ".join(help_of(command).split())
        for option in options(command):
            if not option.takes or not option.name.startswith("--"):
                continue
            ran = run([*command.split(), option.name, "zzzzzz"], text=True)
            refused = rf'{option.name}.*unknown (\w+) "zzzzzz"\nhint: known: (.*)'
            told = re.search(refused, ran.stderr)
            if told is None or told[1] == "topology":
                continue
            missing = [word for word in told[2].split(", ") if word not in text]
            assert not missing, f"{command} {option.name}: --help does not say {missing}"
            checked += 1
    assert checked > 25, checked
    return f"{checked} options"


if __name__ == "__main__":
    sys.exit(main([every_help_has_examples, help_of_a_command_is_its_help, topics_are_short,
                   enumerations_show_their_values, every_example_runs]))
