#!/usr/bin/env python3
"""outputs.py PROGRAM: a file is written whole or not at all, and never over what is read.

Which options write is found out: every option of every command gets the name of a file that does
not exist. Those that make it are then asked for a folder that is not there, a full disk, the file
that the run reads, a limit on the size of files, and the end of the program at any moment."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

from program import FILES, GOOD, fresh, main, options, program, run, with_value

LEAST = 9
OLD = "what was there before\n"
NAME = "out.txt"


def writing_options(folder):
    """(command, option) of all that made the file, or a folder of files."""
    out = []
    for command in GOOD:
        for option in options(command):
            if not option.takes or not option.name.startswith("--"):
                continue
            path = fresh(folder / f"{command} {option.name}".replace(" ", "")) / NAME
            ran = run(with_value(command, option, str(path)))
            if path.exists():
                assert ran.returncode in (0, 1), ran
                out.append((command, option))
            shutil.rmtree(path.parent)
    assert len(out) >= LEAST, [(command, option.name) for command, option in out]
    return out


def left_in(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def cannot_be_written(folder, command, option):
    path = folder / "no-such-folder" / NAME
    if (command, option.name) == ("advise", "--write"):
        path = folder / "file" / "folder"
        (folder / "file").write_text(OLD)
    ran = run(with_value(command, option, str(path)))
    assert ran.returncode == 3 and not ran.stdout and b"cannot be" in ran.stderr, ran


def full_disk(_, command, option):
    if (command, option.name) == ("advise", "--write"):
        return
    ran = run(with_value(command, option, "/dev/full"))
    assert ran.returncode == 3 and b"/dev/full: cannot be written" in ran.stderr, ran


def limited(folder, command, option):
    """No file may grow above 16 bytes: the old one stays, and nothing beside it."""
    path = folder / NAME
    written = path
    if (command, option.name) == ("advise", "--write"):
        path.mkdir()
        written = path / "nccl-env.sh"
    written.write_text(OLD)
    before = left_in(folder)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
    ran = run(with_value(command, option, str(path)), preexec_fn=limit)
    assert ran.returncode == 3, ran
    assert written.read_text() == OLD and left_in(folder) == before, left_in(folder)


def is_input(folder, command, option):
    """Each file that the run reads, and each that such a file names, as the one to write."""
    shutil.copytree(FILES, folder / "files")
    arguments = with_value(command, option, NAME)
    read = [a for a in arguments if (FILES / a).is_file()]
    for name in read:
        path = folder / "files" / os.path.basename(name)
        shutil.copy(FILES / name, path)
        again = [path.name if a in (name, NAME) else a for a in arguments]
        before = path.read_bytes()
        wanted = b"is an input of this run"
        if (command, option.name) == ("advise", "--write"):
            continue  # a file is no folder
        ran = run(again, cwd=folder / "files")
        assert ran.returncode == 2 and wanted in ran.stderr and not ran.stdout, ran
        assert path.read_bytes() == before
    return len(read)


def killed(folder, command, option):
    """At ten moments: what is there is the old file or the new one, whole."""
    path = folder / NAME
    one_file = (command, option.name) != ("advise", "--write")
    written = path if one_file else path / "advice.json"
    arguments = with_value(command, option, str(path))
    begin = time.monotonic()
    run(arguments)
    took = time.monotonic() - begin
    size = written.stat().st_size
    lots = random.Random(1)
    for _ in range(10):
        written.write_text(OLD)
        with subprocess.Popen([program(), *arguments], cwd=FILES, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as child:
            time.sleep(lots.uniform(0.3, 1.05) * took)
            child.send_signal(signal.SIGKILL)
        text = written.read_text()
        # What takes its time from a clock may differ by some digits.
        assert text == OLD or abs(len(text) - size) < 200 + 0.1 * size, (arguments, text[:200])


def each(check):
    def run_all(folder):
        if not FOUND:
            FOUND.extend(writing_options(folder))
        for command, option in FOUND:
            check(fresh(folder / f"{command}{option.name}".replace(" ", "")), command, option)
        return f"{len(FOUND)} options"
    run_all.__name__ = check.__name__
    return run_all


FOUND = []


def what_an_input_names_is_an_input(folder):
    """A cluster names its node: the trace must not replace it. And no file is written twice."""
    fresh(folder)
    (folder / "node.yaml").write_text((FILES / "dgx-h100-vf.yaml").read_text())
    (folder / "cluster.yaml").write_text("kind: cluster\nname: c\nnode: node.yaml\nnodes: 2\n")
    before = (folder / "node.yaml").read_text()
    ran = run(["bench", "--topology", "cluster.yaml", "--sizes", "1MiB", "--trace", "node.yaml"],
              cwd=folder, text=True)
    assert ran.returncode == 2 and "cluster.yaml names it" in ran.stderr, ran
    assert (folder / "node.yaml").read_text() == before
    rules = str(FILES / "rules.yaml")
    ran = run(["check", rules, "--only", "placement", "--json", "a", "--junit", "./a"], cwd=folder,
              text=True)
    assert ran.returncode == 2 and "is written twice" in ran.stderr, ran
    assert left_in(folder) == ["cluster.yaml", "node.yaml"], left_in(folder)
    return "2 runs"


def line_of_editors_stays(folder):
    """The schema that the file names atop, as the shipped topologies/calibrated.yaml does."""
    file, line = fresh(folder) / "own.yaml", "# yaml-language-server: $schema=calibrated.json\n"
    for before, after in (line + "old\n", line), (OLD, "# Made by "):
        file.write_text(before)
        ran = run(["calibrate", str(FILES / "calibrate.yaml"), "--out", str(file)], text=True)
        text = file.read_text()
        assert ran.returncode == 0 and text.startswith(after) and "old" not in text, (ran, text)
    return "2 runs"


def nothing_is_printed_on_error(_):
    """`import GOOD BAD`: with code 2 standard output is empty."""
    ran = run(["import", "job.sbatch", "no-such-file"], text=True)
    assert ran.returncode == 2 and not ran.stdout and "no-such-file" in ran.stderr, ran
    return "1 run"


if __name__ == "__main__":
    sys.exit(main([each(cannot_be_written), each(full_disk), each(limited), each(is_input),
                   each(killed), what_an_input_names_is_an_input, line_of_editors_stays,
                   nothing_is_printed_on_error]))
