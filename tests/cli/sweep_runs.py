"""A grid of 72 points, and what a store holds of it."""

import sqlite3

SWEEP = """kind: sweep
name: grid
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
  topology: [dgx-h100, hgx-b200, dgx-a100]
  nodes: [1, 2, 4, 16]
  sizes: [1KiB, 64KiB, 1MiB, 2MiB, 16MiB, 1GiB]
"""


def reports(store):
    with sqlite3.connect(store) as db:
        return dict(db.execute("SELECT job_sha256, text FROM reports"))


def points(store):
    with sqlite3.connect(store) as db:
        return db.execute(
            "SELECT place, axes, time_us, error FROM points ORDER BY place"
        ).fetchall()
