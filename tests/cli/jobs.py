#!/usr/bin/env python3
"""jobs.py PROGRAM: what a command says does not depend on the number of threads.

Each command with --jobs prints the same bytes with 1, 2 and 7 of them."""

import os
import sys

sys.dont_write_bytecode = True
from program import GOOD, arguments_of, check_cases, commands, main, options, run  # noqa: E402

JOBS = (1, 2, 7)
# Runs of many pieces, beside those that every command has.
MANY = {
    "bench": "--topology dgx-h100 --nodes 2,4 --sizes 8B..16MiB:x4 --collective all_reduce,alltoall"
             " --fault 'nic node0:mlx5_0 rate 50%' --format csv",
    "cutover": "--topology dgx-h100 --nodes 1,2 --sizes 1KiB..16MiB:x4 --format csv",
    "whatif": "--topology dgx-h100 --nodes 2 --sizes 1MiB,64MiB --to NCCL_ALGO=Ring"
              " --to NCCL_PROTO=Simple",
}
ONE_BY_ONE = {"sweep"}  # processes: tests/cli/sweep.py


def with_jobs(command, text):
    runs = {}
    for jobs in JOBS:
        ran = run([*arguments_of(command, text), "--jobs", str(jobs)])
        assert ran.returncode in (0, 1) and ran.stdout, ran
        runs[jobs] = (ran.returncode, ran.stdout, ran.stderr)
    assert len(set(runs.values())) == 1, f"{command} {text}: differs with --jobs: {runs}"


def threads_change_nothing(_folder):
    having = [command for command in GOOD
              if command not in ONE_BY_ONE and any(o.name == "--jobs" for o in options(command))]
    assert set(MANY) <= set(having) and len(having) > 10, having
    for command in having:
        with_jobs(command, GOOD[command])
    for command, text in MANY.items():
        with_jobs(command, text)
    return f"{len(having)} commands"


def a_number_is_asked_for(_folder):
    for bad in ("0", "-1", "x", "5000"):
        ran = run([*arguments_of("bench", GOOD["bench"]), "--jobs", bad], text=True)
        assert ran.returncode == 2 and "--jobs" in ran.stderr and not ran.stdout, ran
    return "4 runs"


def cpus_of_the_process_count(_folder):
    """Started on one CPU, `sweep` takes one worker."""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    try:
        ran = run(["sweep", "../../../scenarios/sweeps/oversubscription.yaml", "--dry-run"],
                  text=True)
    finally:
        os.sched_setaffinity(0, cpus)
    assert ran.returncode == 0 and "with --jobs 1," in ran.stdout, ran
    return "1 run"


if __name__ == "__main__":
    sys.exit(main([threads_change_nothing, a_number_is_asked_for, cpus_of_the_process_count]))
