#!/usr/bin/env python3
"""streams.py PROGRAM: whatever becomes of standard output and error, a run ends by itself.

Each command of --help answers once and is refused once, with each of its streams open, closed, a
full disk, and a pipe whose reader has left. The exit code is one of four, never a signal; what
standard error does changes no answer; an answer that could not be written is code 3."""

import os
import sys

from program import BAD, GOOD, arguments_of, check_cases, main, run

CODES = (0, 1, 2, 3)


class Stream:
    """What a run gets as a stream: a keyword argument, or a number to close in the child."""

    def __init__(self, kind, number):
        self.kind, self.number, self.open_files = kind, number, []

    def __enter__(self):
        if self.kind == "full":
            self.open_files.append(open("/dev/full", "wb"))
            return self.open_files[0]
        if self.kind == "left":
            read, write = os.pipe()
            os.close(read)
            self.open_files.append(os.fdopen(write, "wb", buffering=0))
            return self.open_files[0]
        return None

    def __exit__(self, *_):
        for file in self.open_files:
            file.close()


def run_with(arguments, out, err):
    closed = [number for number, kind in ((1, out), (2, err)) if kind == "closed"]
    with Stream(out, 1) as to_out, Stream(err, 2) as to_err:
        asked = {"preexec_fn": lambda: [os.close(number) for number in closed]}
        if to_out:
            asked["stdout"] = to_out
        if to_err:
            asked["stderr"] = to_err
        return run(arguments, **asked)


def every_command_ends_by_itself(_):
    kinds = ["open", "closed", "full", "left"]
    runs = 0
    for command in GOOD:
        for text in (GOOD[command], BAD[command]):
            arguments = arguments_of(command, text)
            plain = run(arguments)
            assert plain.returncode in (CODES[:2] if text is GOOD[command] else (2,)), plain
            for out, err in [(o, e) for o in kinds for e in kinds if (o, e) != ("open", "open")]:
                if out != "open" and err not in ("open", out):
                    continue  # each alone, and both alike
                ran = run_with(arguments, out, err)
                runs += 1
                what = f"{arguments} with stdout {out}, stderr {err}: {ran}"
                assert ran.returncode in CODES, what
                if out == "open":
                    assert (ran.returncode, ran.stdout) == (plain.returncode, plain.stdout), what
                elif plain.stdout:
                    assert ran.returncode == 3, what
                else:
                    assert ran.returncode == plain.returncode, what
                if err == "open" and ran.returncode == 3 and out in ("closed", "full"):
                    assert ran.stderr.endswith(b"the output could not be written\n"), what
    return f"{runs} runs"


def help_ends_by_itself(_):
    for arguments in (["--help"], ["--version"], ["bench", "--help"]):
        for out in ("closed", "full", "left"):
            ran = run_with(arguments, out, "open")
            assert ran.returncode == 3, f"{arguments} with stdout {out}: {ran}"
    return "9 runs"


def a_closed_stream_is_no_file(folder):
    """A file that is written must not get the number of a closed stream, and the notes with it."""
    os.makedirs(folder)
    path = folder / "trace.json"
    ran = run_with([*arguments_of("bench", GOOD["bench"]), "--env", "NCCL_FOO=1", "--trace",
                    str(path)], "closed", "closed")
    assert ran.returncode == 3, ran
    text = path.read_text() if path.exists() else "{}"
    assert text.startswith("{") and "NCCL_FOO is" not in text and "NCCL_FOO:" not in text, text
    return "1 run"


def commands_are_known(_):
    check_cases()
    return f"{len(GOOD)} commands"


if __name__ == "__main__":
    sys.exit(main([commands_are_known, every_command_ends_by_itself, help_ends_by_itself,
                   a_closed_stream_is_no_file]))
