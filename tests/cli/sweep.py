#!/usr/bin/env python3
"""sweep.py PROGRAM: a sweep loses nothing, whatever is done to it, and answers nothing twice."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from program import fresh, main, program
from sweep_runs import SWEEP, points, reports

POINTS = 72
KILLS = 20
QUESTIONS = Path(__file__).resolve().parent.parent / "data/questions"
LONG_QUEUE = f"""kind: sweep
name: queue
question: {QUESTIONS}/long-queue.yaml
axes:
  prompt: [100]
"""
LACKING = """kind: sweep
name: grid
question:
  kind: scenario
  topology: [1]
axes:
  nodes: [1, 2]
"""


def sweep_file(folder, text=SWEEP):
    path = Path(fresh(folder)) / "grid.yaml"
    path.write_text(text)
    return path


def sweep(path, store, *more, check=True):
    ran = subprocess.run(
        [program(), "sweep", str(path), "--store", str(store), *more],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert not check or ran.returncode == 0, ran
    return ran


def begin(path, store, *more):
    return subprocess.Popen(
        [program(), "sweep", str(path), "--store", str(store), *more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def answers(store):
    """How many there are, of a store that may not be there yet."""
    try:
        return len(reports(store)) if store.exists() else 0
    except sqlite3.OperationalError:
        return 0


def same(folder):
    """The answers of a run that nobody disturbs."""
    path = sweep_file(folder / "whole")
    store = path.parent / "store.sqlite"
    sweep(path, store)
    return path, reports(store), points(store)


def answers_are_those_of_run(folder):
    path, found, rows = same(folder)
    assert len(found) == len(rows) == POINTS, (len(found), len(rows))
    with sqlite3.connect(path.parent / "store.sqlite") as db:
        text, job = db.execute("SELECT text, job_sha256 FROM question LIMIT 1").fetchone()
    question = path.parent / "question.yaml"
    question.write_text(text)
    alone = subprocess.run(
        [program(), "run", str(question), "--format", "json"], capture_output=True, text=True
    ).stdout
    assert json.loads(alone)["tables"] == json.loads(found[job])["tables"]
    assert alone == found[job], "run prints other bytes than the store has"
    again = sweep(path, path.parent / "store.sqlite")
    assert reports(path.parent / "store.sqlite") == found
    assert "a second" not in again.stderr, again.stderr  # nothing was run
    return f"{POINTS} points"


def killed_twenty_times(folder):
    path, wanted, rows = same(folder)
    store = path.parent / "killed.sqlite"
    dice = random.Random(7)
    for number in range(KILLS):
        run = begin(path, store, "--jobs", "2")
        time.sleep(dice.uniform(0.02, 0.3))
        if number % 2:
            os.killpg(run.pid, signal.SIGKILL)  # all of them at once
        else:
            run.kill()
        run.wait()
    sweep(path, store)
    assert reports(store) == wanted, "killed runs left other answers"
    assert points(store) == rows
    with sqlite3.connect(store) as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert db.execute("SELECT count(*) FROM work").fetchone()[0] == 0
    return f"{KILLS} kills"


def two_at_once(folder):
    path, wanted, rows = same(folder)
    store = path.parent / "both.sqlite"
    both = [begin(path, store, "--jobs", "1") for _ in range(2)]
    for run in both:
        assert run.wait(timeout=300) == 0
    assert reports(store) == wanted and points(store) == rows
    return "two runs on one store"


def shares_are_merged(folder):
    path, wanted, rows = same(folder)
    stores = [str(path.parent / f"share-{i}.sqlite") for i in (1, 2, 3)]
    for i, store in enumerate(stores, 1):
        sweep(path, store, "--share", f"{i}/3")
    merged = path.parent / "merged.sqlite"
    subprocess.run(
        [program(), "sweep", "merge", str(merged), *stores], check=True, stdout=subprocess.DEVNULL
    )
    assert reports(merged) == wanted and points(merged) == rows
    return "3 shares"


def interrupted(folder):
    path, wanted, _ = same(folder)
    store = path.parent / "interrupted.sqlite"
    run = begin(path, store, "--jobs", "1")
    while not answers(store) and run.poll() is None:
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    code = run.wait(timeout=60)
    with sqlite3.connect(store) as db:
        states = {state for (state,) in db.execute("SELECT state FROM work")}
    assert code in (0, 1) and states <= {"open"}, (code, states)
    sweep(path, store)
    assert reports(store) == wanted
    return "claims are given back"


def a_queue_is_interrupted(folder):
    path = sweep_file(folder, LONG_QUEUE)
    store = path.parent / "queue.sqlite"
    run = begin(path, store, "--jobs", "1")
    time.sleep(2)
    assert run.poll() is None
    run.send_signal(signal.SIGINT)
    asked = time.time()
    run.wait(timeout=20)
    with sqlite3.connect(store) as db:
        assert db.execute("SELECT state FROM work").fetchall() == [("open",)]
        assert db.execute("SELECT count(*) FROM result").fetchone() == (0,)
    return f"after {time.time() - asked:.1f} s"


def another_folder_is_left_alone(folder):
    """Two sweeps name other machines by the same name: each answers its own."""
    times = {}
    store = folder / "both.sqlite"
    for name, node in [("a", "dgx-a100"), ("b", "hgx-b200")]:
        question = SWEEP.split("axes:")[0].replace("grid", name).replace("dgx-h100", "node.yaml")
        path = sweep_file(folder / name, question + "axes:\n  sizes: [1GiB]\n")
        preset = subprocess.run([program(), "topo", node, "--format", "yaml"], check=True,
                                capture_output=True, text=True).stdout
        (path.parent / "node.yaml").write_text(preset)
        sweep(path, path.parent / "alone.sqlite")
        times[name] = points(path.parent / "alone.sqlite")[0][2]
        if name == "a":  # as if it had been interrupted
            sweep(path, store)
            with sqlite3.connect(store) as db:
                db.execute("INSERT INTO work(question, program, data, tries, state) "
                           "SELECT question, program, data, 0, 'open' FROM result")
                db.executescript("DELETE FROM report; DELETE FROM result")
    sweep(folder / "b" / "grid.yaml", store)
    found = "SELECT sweep, time_us FROM points ORDER BY sweep"
    with sqlite3.connect(store) as db:
        assert dict(db.execute(found)) == {"a": None, "b": times["b"]}, times
    sweep(folder / "a" / "grid.yaml", store)
    with sqlite3.connect(store) as db:
        assert dict(db.execute(found)) == times
    assert times["a"] != times["b"]
    return "2 machines of one name"


def wrong_points_stop_it(folder):
    path = sweep_file(folder, SWEEP.replace("nodes: [1, 2, 4, 16]", "nodes: [1, 0, -3]"))
    store = path.parent / "none.sqlite"
    ran = sweep(path, store, check=False)
    assert ran.returncode == 2, ran
    assert ran.stderr.count("18 points, first: ") == 2, ran.stderr
    assert "grid.yaml:15: nodes: " in ran.stderr, ran.stderr
    assert "36 points of 54 are no questions" in ran.stderr, ran.stderr
    lacking = sweep_file(folder / "lacking", LACKING)
    ran = sweep(lacking, store, check=False)
    assert 'grid.yaml:4: question: missing key "study"' in ran.stderr, ran.stderr
    whole = "  study: bench\n  name: n\n  question: What?\n  topology"
    of_a_list = sweep_file(folder / "list", LACKING.replace("  topology", whole))
    ran = sweep(of_a_list, store, check=False)
    assert "grid.yaml:8: question.topology: " in ran.stderr, ran.stderr
    assert not store.exists()
    return "36 of 54 named"


def printed_commands_work(folder):
    path = sweep_file(folder / "with blank")
    store = path.parent / "all.sqlite"
    lines = sweep(path, store, "--print-commands").stdout.splitlines()
    assert len(lines) == 16, lines
    for option in ["--share=1/2", "--retry-failed"]:
        ran = sweep(path, store, "--print-commands", option, check=False)
        assert ran.returncode == 2 and "is of a run on this host" in ran.stderr, ran
    for option in ["--partition=p", "--time=60", "--array-size=4"]:
        ran = sweep(path, store, option, check=False)
        assert ran.returncode == 2 and option.split("=")[0] + ": is of" in ran.stderr, ran
    empty = sweep(path, store, "--dry-run", "--share", f"{POINTS + 1}/{POINTS + 1}").stdout
    assert empty == "grid: 0 points, 0 of them different questions\n", empty
    few = sweep(path, store, "--print-commands", "--array-size", "2", "--jobs", "2")
    few = few.stdout.splitlines()
    assert all(line.endswith(" --jobs 2") for line in few), few
    for line in few:
        subprocess.run(line, shell=True, check=True, capture_output=True)
    shares = sorted(path.parent.glob("all.sqlite.slurm/share-*.sqlite"))
    subprocess.run([program(), "sweep", "merge", str(store), *map(str, shares)], check=True,
                   capture_output=True)
    assert len(reports(store)) == POINTS and len(shares) == 2, shares
    for options, said in [
        (["--sweep", "nosuch"], 'no sweep is named "nosuch"'),
        (["--diff", str(store), "--best", "time_us"], "--best excludes --diff"),
        (["--diff", str(store), "--columns", "time_us,nodes"], "--columns: --diff compares one"),
    ]:
        ran = subprocess.run([program(), "query", str(store), *options], text=True,
                             capture_output=True)
        assert ran.returncode == 2 and said in ran.stderr, ran
    return f"{len(lines)} commands, 2 of 2 run"


def failures_are_kept(folder):
    # Read, they are questions: what they ask cannot be run.
    path = sweep_file(
        folder, SWEEP.replace("axes:", "axes:\n  environment.NCCL_ALGO: [Ring, NVLS]")
    )
    store = path.parent / "some.sqlite"
    ran = sweep(path, store, check=False)
    failed = [row for row in points(store) if row[3]]
    assert ran.returncode == 1 and 0 < len(failed) < 2 * POINTS, (ran, len(failed))
    assert len(points(store)) == 2 * POINTS and "failed:" in ran.stdout
    assert f"}}: {path}:" in ran.stdout, ran.stdout
    again = sweep(path, store, "--retry-failed", check=False)
    assert len([row for row in points(store) if row[3]]) == len(failed), again
    return f"{len(failed)} of {2 * POINTS} fail, the others are there"


if __name__ == "__main__":
    sys.exit(
        main(
            [
                answers_are_those_of_run,
                killed_twenty_times,
                two_at_once,
                shares_are_merged,
                interrupted,
                a_queue_is_interrupted,
                another_folder_is_left_alone,
                wrong_points_stop_it,
                printed_commands_work,
                failures_are_kept,
            ]
        )
    )
