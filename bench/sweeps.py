#!/usr/bin/env python3
"""sweeps.py PROGRAM [PART ...]: what sweeps cost and what they survive.

    rate   points a second on all cores, and the share of time outside of the simulator
    kill   a sweep killed with -9 at random: every point once, the reports as undisturbed
    disk   the same where the disk is full in between (a tmpfs: needs root)
    rows   a store of a million rows: --best, --group-by, --pareto, and bytes a point

Without a part: all. POINTS=10000 and KILLS=20 in the environment change the size of `kill`.
"""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

POINTS = int(os.environ.get("POINTS", "10000"))
KILLS = int(os.environ.get("KILLS", "20"))

QUESTION = """kind: sweep
name: {name}
question:
  kind: scenario
  study: bench
  name: grid
  question: What?
  topology: dgx-h100
  nodes: 1
  nccl: 2.30.7
  collective: all_reduce
  sizes: 1MiB
axes:
{axes}
"""


def write_sweep(folder, name, axes):
    path = folder / f"{name}.yaml"
    text = "".join(f"  {key}: {values}\n" for key, values in axes.items())
    path.write_text(QUESTION.format(name=name, axes=text))
    return path


def grid(points):
    """Axes of so many points, or a few less: 2 topologies x 2 collectives x 5 releases x sizes."""
    return {
        "topology": "[dgx-h100, dgx-a100]",
        "collective": "[all_reduce, all_gather]",
        "nccl": "[2.21.5, 2.25.1, 2.27.7, 2.28.9, 2.30.7]",
        "sizes": f"64KiB..{64 * (points // 20)}KiB:+64KiB",
    }


def run(*words, **options):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, **options)


def reports(store):
    with sqlite3.connect(store) as db:
        return dict(db.execute("SELECT job_sha256, text FROM reports"))


def points(store):
    with sqlite3.connect(store) as db:
        return db.execute("SELECT count(*), count(DISTINCT place) FROM points").fetchone()


def cpu_of_points(store):
    with sqlite3.connect(store) as db:
        return db.execute("SELECT sum(cpu_s), count(*), avg(cpu_s) FROM points").fetchone()


def measure_rate(program, folder):
    cores = len(os.sched_getaffinity(0))
    print(f"rate ({cores} cores)\n  points  ms each   a second  outside the simulator")
    for name, axes in (
        ("small", grid(2000)),
        ("medium", {**grid(200), "nodes": "[8, 16]"}),
        ("large", {"sizes": "1GiB..4GiB:+64MiB", "nodes": "[32, 33]"}),
    ):
        store = folder / f"{name}.sqlite"
        begin, before = time.monotonic(), os.times()
        done = run(program, "sweep", write_sweep(folder, name, axes), "--store", store)
        took, after = time.monotonic() - begin, os.times()
        assert done.returncode == 0, done.stderr
        cpu, count, each = cpu_of_points(store)
        all_cpu = after[2] + after[3] - before[2] - before[3]
        print(
            f"  {count:6}  {1000 * each:7.2f}  {count / took:9.1f}  "
            f"{100 * (1 - cpu / (cores * took)):5.1f} % of wall x cores, "
            f"{100 * (1 - cpu / all_cpu):5.1f} % of CPU"
        )


def crew_of(program, path, store):
    return subprocess.Popen(
        [program, "sweep", path, "--store", store],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def measure_kill(program, folder):
    path = write_sweep(folder, "kill", grid(POINTS))
    quiet, rough = folder / "quiet.sqlite", folder / "rough.sqlite"
    begin = time.monotonic()
    assert run(program, "sweep", path, "--store", quiet).returncode == 0
    undisturbed = time.monotonic() - begin
    lot = random.Random(26)
    begin = time.monotonic()
    for kill in range(KILLS):
        crews = [crew_of(program, path, rough) for _ in range(1 + kill % 2)]  # two every other time
        time.sleep(lot.uniform(0.2, undisturbed / (KILLS / 2)))
        for crew in crews:
            if lot.random() < 0.5:
                os.killpg(crew.pid, signal.SIGKILL)  # with its workers
            else:
                os.kill(crew.pid, signal.SIGKILL)  # workers go on, or end by themselves
        for crew in crews:
            crew.wait()
    last = run(program, "sweep", path, "--store", rough)
    assert last.returncode == 0, last.stderr + last.stdout
    assert points(quiet) == points(rough), (points(quiet), points(rough))
    a, b = reports(quiet), reports(rough)
    assert a == b, f"{sum(a[k] != b.get(k) for k in a)} reports differ"
    print(
        f"kill: {points(rough)[0]} points, killed {KILLS} times: all there once, "
        f"{len(a)} reports equal byte for byte; undisturbed {undisturbed:.0f} s, "
        f"{time.monotonic() - begin:.0f} s with the kills"
    )


def measure_disk(program, folder):
    disk = folder / "disk"
    disk.mkdir()
    mounted = run("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk)
    if mounted.returncode != 0:
        print("disk: left out:", mounted.stderr.strip())
        return
    try:
        path = write_sweep(folder, "disk-sweep", grid(4000))
        first = run(program, "sweep", path, "--store", disk / "s.sqlite")
        assert first.returncode != 0 and "full" in first.stderr, first.stderr[-400:]
        kept = len(reports(disk / "s.sqlite"))
        run("mount", "-o", "remount,size=200m", disk, check=True)
        again = run(program, "sweep", path, "--store", disk / "s.sqlite")
        assert again.returncode == 0, again.stderr
        quiet = folder / "disk-quiet.sqlite"
        assert run(program, "sweep", path, "--store", quiet).returncode == 0
        assert reports(quiet) == reports(disk / "s.sqlite")
        print(
            f"disk: full after {kept} reports: {first.stderr.strip().splitlines()[-1][:160]}\n"
            f"      with room again: {len(reports(quiet))} reports, equal byte for byte"
        )
    finally:
        run("umount", disk)


def measure_rows(program, folder):
    """Rows as a sweep makes them, written by SQL: a million simulations would take hours."""
    path = write_sweep(folder, "rows", grid(20))
    store = folder / "rows.sqlite"
    assert run(program, "sweep", path, "--store", store).returncode == 0
    size = store.stat().st_size
    with sqlite3.connect(store) as db:
        columns = [c[1] for c in db.execute("PRAGMA table_info(result)") if c[1] != "question"]
        names = ", ".join(columns)
        values = ", ".join(
            f"r.{c} * (0.5 + abs(random() % 1000) / 1000.0)"
            if c in ("time_us", "busbw_GBps")
            else f"r.{c}"
            for c in columns
        )
        db.execute(
            "CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
            "SELECT i + 1 FROM n WHERE i < 999980) SELECT i FROM n"
        )
        db.execute(
            "INSERT INTO question SELECT 20 + i, lower(hex(randomblob(32))), q.study, q.text "
            "FROM n JOIN question q ON q.id = 1 + i % 20"
        )
        db.execute(
            "INSERT INTO point SELECT p.sweep, 20 + i, 20 + i, p.axes FROM n JOIN point p "
            "ON p.place = i % 20"
        )
        db.execute(
            f"INSERT INTO result(question, {names}) SELECT 20 + i, {values} FROM n "
            "JOIN result r ON r.question = 1 + i % 20"
        )
        db.execute(
            "INSERT INTO report SELECT 20 + i, r.program, r.data, r.text FROM n "
            "JOIN report r ON r.question = 1 + i % 20"
        )
    print(f"rows: {points(store)[0]} points, {store.stat().st_size / points(store)[0]:.0f} B each")
    for words in (
        ["--best", "busbw_GBps"],
        ["--best", "time_us", "--group-by", "topology"],
        ["--group-by", "topology,nccl", "--columns", "time_us"],
        ["--pareto", "time_us,busbw_GBps"],
    ):
        begin, before = time.monotonic(), os.times()
        done = run(program, "query", store, *words)
        took, after = time.monotonic() - begin, os.times()
        assert done.returncode == 0, done.stderr
        cpu = after[2] + after[3] - before[2] - before[3]
        print(f"  query {' '.join(words):52} {took:5.2f} s, {cpu:5.2f} s of CPU")


PARTS = {"rate": measure_rate, "kill": measure_kill, "disk": measure_disk, "rows": measure_rows}


def main():
    program = str(Path(sys.argv[1]).resolve())
    for part in sys.argv[2:] or PARTS:
        folder = Path(tempfile.mkdtemp(prefix="fabricast-sweeps-"))
        try:
            PARTS[part](program, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
