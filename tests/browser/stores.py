"""A store of a sweep for the pages of `query` and `sweep`: steps of a small model on two kinds of
node, by two versions of the program, with points that are refused."""

import sqlite3
import subprocess
from pathlib import Path

STEP = Path(__file__).resolve().parents[1] / "cli" / "files" / "step-small.yaml"
SWEEP = f"""kind: sweep
name: small
question: {STEP}
axes:
  topology: [hgx-h100, hgx-b200]
  nodes: [1, 2, 4]
  parallel.tp: [2, 8]
  nccl: [2.23.4, 2.30.7]
"""


def add_older_version(store):
    """The same results by a program that is older, with steps that took 2 % more or 1 % less."""
    with sqlite3.connect(store) as db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(result)")]
        other = {
            "program": "'0.0.1'",
            "finished_at": "'2020-01-01T00:00:00Z'",
            "step_s": "step_s * (CASE question % 3 WHEN 0 THEN 0.99 ELSE 1.02 END)",
        }
        chosen = ", ".join(other.get(name, name) for name in columns)
        db.execute(f"INSERT INTO result({', '.join(columns)}) SELECT {chosen} FROM result")


def make_store(fabricast, folder):
    """Its path, to stand for STORE in the words of studies.py."""
    sweep, store = Path(folder) / "small.yaml", Path(folder) / "small.sqlite"
    sweep.write_text(SWEEP)
    subprocess.run(
        [fabricast, "sweep", sweep, "--store", store, "--jobs", "1"],
        capture_output=True,
        check=False,
    )
    add_older_version(store)
    return store
