#!/usr/bin/env python3
"""inputs.py PROGRAM: whatever a path leads to, reading it ends, and the message says what it is.

Every option of every command gets a device without an end. Those that take it for a file also get
a pipe that nobody writes to, a folder, and a file above the limit. Pipes of the shell work."""

import json
import os
import subprocess
import sys
import tempfile

from program import GOOD, LOGS, arguments_of, fresh, main, options, program, run, with_value

TEXT_MAX = 16 << 20
LOG_MAX = 1 << 30
READS_LOGS = {("judge", ""), ("judge", "--inspector"), ("gate", "--check"), ("import", ""),
              ("hang", ""), ("step", "--calls")}
# Names of options that are files wherever they stand.
ALWAYS_FILES = {"--parts", "--env-file", "--topology", "--fabric", "--layout", "--calls", "--runs",
                "--points", "--pairs", "--cases", "--file", "--kernels",
                "--targets", "--baseline", "--algorithm-file",
                "--to-env-file", "--to-topology", "--to-fabric", ""}
TAKES_FOLDERS = {("hang", ""), ("judge", "--inspector"), ("step", "--calls")}
TAKES_WORDS = {"list", "schema", "completion", "help"}  # their arguments are no files
# `judge` and others look at another file first, and find it wrong for this.
LEAST_FILES = 50


def large(folder, size):
    path = folder / f"large-{size}"
    with open(path, "wb") as file:
        file.truncate(size)
    return str(path)


def every_option_ends(folder):
    fresh(folder)
    os.mkfifo(folder / "pipe")
    kinds = {"is a named pipe, not a file": str(folder / "pipe"),
             "is a directory": str(folder),
             "larger than 16 MiB": large(folder, TEXT_MAX + 1)}
    files, runs, missed = 0, 0, []
    for command in GOOD:
        for option in options(command):
            if not option.takes:
                continue
            ran = run(with_value(command, option, "/dev/zero"), text=True)
            runs += 1
            assert ran.returncode in (0, 1, 2, 3), ran
            if "/dev/zero: is a device, not a file" not in ran.stderr:
                if option.name in ALWAYS_FILES and command not in TAKES_WORDS:
                    missed.append(f"{command} {option.name}: {ran.stderr.strip()[:200]}")
                continue
            files += 1
            assert ran.returncode == 2 and not ran.stdout, ran
            for said, path in kinds.items():
                if said.startswith("larger") and (command, option.name) in READS_LOGS:
                    continue
                if said.startswith("is a directory") and (command, option.name) in TAKES_FOLDERS:
                    continue
                ran = run(with_value(command, option, path), text=True)
                runs += 1
                assert ran.returncode == 2 and not ran.stdout and f"{path}: {said}" in ran.stderr, \
                    f"{command} {option.name} of {path}: {ran}"
    assert not missed, "not taken for a file: " + "; ".join(missed)
    assert files >= LEAST_FILES, files
    return f"{files} options, {runs} runs"


def logs_have_a_limit(folder):
    path = large(fresh(folder), LOG_MAX + 1)
    for command, name in sorted(READS_LOGS):
        option = next(o for o in options(command) if o.name == name)
        ran = run(with_value(command, option, path), text=True)
        assert ran.returncode == 2 and f"{path}: larger than 1 GiB" in ran.stderr, ran
    return f"{len(READS_LOGS)} runs"


def piped(arguments, data, **more):
    """With the data in a pipe as a descriptor of the child: what `<(...)` does."""
    read, write = os.pipe()
    with subprocess.Popen([program(), *(a.replace("PIPE", f"/dev/fd/{read}") for a in arguments)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[read],
                          **more) as child:
        os.close(read)
        with os.fdopen(write, "wb") as out:
            out.write(data)
        stdout, stderr = child.communicate(timeout=60)
    return subprocess.CompletedProcess(child.args, child.returncode, stdout, stderr)


def pipes_of_the_shell_work(folder):
    here = os.path.dirname(os.path.abspath(__file__))
    bench = arguments_of("bench", GOOD["bench"]) + ["--format", "csv"]
    by_file = run(bench + ["--env-file", "tree-ll.env"])
    with open(f"{here}/files/tree-ll.env", "rb") as file:
        text = file.read()
    assert piped(bench + ["--env-file", "PIPE"], text).stdout == by_file.stdout != b""
    for name in ("/dev/stdin", "-"):
        ran = run(["lint", name, "--format", "json"], stdin=None, input=text)
        assert ran.returncode == 0 and b"files" in ran.stdout or ran.stdout, ran
    log = f"{here}/{LOGS.removeprefix('../')}/coreweave-h100-64.txt"
    with open(log, "rb") as file:
        text = file.read()
    ran = piped(["import", "PIPE"], text)
    assert ran.returncode == 0 and b"nccl-tests" in ran.stdout, ran
    ran = run(["import", "/dev/stdin"], stdin=None, input=text)
    assert ran.returncode == 0 and b"nccl-tests" in ran.stdout, ran
    endless = subprocess.run(f"yes | '{program()}' lint -", shell=True, timeout=60, check=False,
                             capture_output=True)
    assert endless.returncode == 2 and b"<stdin>: larger than 16 MiB" in endless.stderr, endless
    return "6 runs"


def measured(arguments):
    """What a run printed, and the most memory it had, in bytes."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([program(), *arguments], stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return child.returncode, out.read().decode(), usage.ru_maxrss * 1024


def large_logs_are_streamed(folder):
    """A log a hundred times over says the same, and takes no memory: of NCCL, of nccl-tests, a
    trace. Files of 100 MB in less than 64 MiB."""
    fresh(folder)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(f"{here}/../data/logs/2.29.7-tuning-table-and-decisions.txt", encoding="utf-8") as f:
        nccl = f.read()
    noise = "host:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
    with open(f"{here}/../data/logs/coreweave-h100-64.txt", encoding="utf-8") as f:
        tests = f.read()
    with open(f"{here}/../data/logs/kineto-old-rank0-of-128.json", encoding="utf-8") as f:
        trace = json.load(f)
    event = {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 1, "args": {"grid": [1]}}
    bulk = json.dumps(event) + ","
    events = json.dumps(trace["traceEvents"])
    rest = json.dumps({key: trace[key] for key in trace if key != "traceEvents"})[1:-1]
    made = {"nccl.txt": (nccl, noise, ""), "tests.txt": (tests, "a line of the job\n", ""),
            "trace.json": ('{"traceEvents": [', bulk, events[1:] + ("," + rest if rest else "") +
                           "}")}
    for name, (begin, middle, end) in made.items():
        for kind, times in (("small", 10), ("large", 100_000_000 // len(middle))):
            (folder / kind).mkdir(exist_ok=True)
            with open(folder / kind / name, "w", encoding="utf-8") as out:
                out.write(begin)
                for _ in range(times // 1000):  # in pieces: the child's peak begins with ours
                    out.write(middle * 1000)
                out.write(middle * (times % 1000) + end)
        of_small = measured(["import", str(folder / "small" / name)])
        code, said, memory = measured(["import", str(folder / "large" / name)])
        assert (code, said.replace("/large/", "/small/")) == of_small[:2], (said, of_small)
        assert memory < 64 << 20, f"{name}: {memory >> 20} MiB"
    judged = [measured(["judge", str(folder / kind / "tests.txt"), "--topology", "dgx-h100",
                        "--nodes", "12", "--collective", "all_reduce"])
              for kind in ("small", "large")]
    assert judged[0][0] == judged[1][0] == 0, judged
    return f"{len(made)} kinds"


if __name__ == "__main__":
    sys.exit(main([every_option_ends, logs_have_a_limit, pipes_of_the_shell_work,
                   large_logs_are_streamed]))
