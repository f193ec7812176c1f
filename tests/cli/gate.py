#!/usr/bin/env python3
"""gate.py PROGRAM: what `gate` writes for other programs works there.

The shell script runs where nccl-tests are played by `fabricast bench`: it passes on the machine as
described, fails on one with half of its bandwidth and where values are wrong, and says so where
nothing was measured. AICR's constraint and Prometheus' rules are YAML, JUnit's file is XML."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from program import fresh, main, program, run

try:
    import yaml
except ImportError:
    yaml = None

PLAYED = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in -b) least=$2 ;; -e) most=$2 ;; esac
  shift
done
"{program}" bench --topology dgx-h100 --nodes 2 --collective {collective} \\
  -b "$least" -e "$most" -f 2 {more} | sed 's/ N\\/A/ {wrong}/g'
"""


def play(folder, more="", wrong=0):
    """nccl-tests as a folder of programs that print what is simulated."""
    tests = folder / "tests"
    tests.mkdir(exist_ok=True)
    for collective in ("all_reduce", "alltoall"):
        path = tests / f"{collective}_perf"
        path.write_text(PLAYED.format(program=program(), collective=collective, more=more,
                                      wrong=wrong))
        path.chmod(0o755)
    return tests


def script(folder, tests, *arguments, launch="env"):
    return subprocess.run(["sh", "gate.sh", *arguments], cwd=folder, text=True,
                          capture_output=True,
                          env={**os.environ, "NCCL_TESTS": str(tests), "LAUNCH": launch})


def gate_script_judges(folder):
    fresh(folder)
    ran = run(["gate", "dgx-h100", "--nodes", "1,2", "--collective", "all_reduce,alltoall",
               "--sizes", "1MiB,64MiB", "--write-script", str(folder / "gate.sh")], text=True)
    assert ran.returncode == 0, ran
    ran = script(folder, play(folder), "2")
    assert ran.returncode == 0 and "gate: PASS" in ran.stdout, ran
    assert len(re.findall(r"^ok ", ran.stdout, re.M)) == 4, ran.stdout
    ran = script(folder, play(folder, "--env NCCL_IB_DISABLE=1"), "2")
    assert ran.returncode == 1 and "SLOW  all_reduce 67108864 B" in ran.stdout, ran
    ran = script(folder, play(folder, wrong=3), "2")
    assert ran.returncode == 1 and "WRONG values" in ran.stdout, ran
    ran = script(folder, play(folder), "2", launch="false")
    assert ran.returncode == 2 and "not all was measured" in ran.stdout, ran
    ran = script(folder, play(folder), "3")
    assert ran.returncode == 2 and "no floors for 3 nodes" in ran.stderr, ran
    return "passes, fails, wrong values, nothing measured"


def files_are_read(folder):
    fresh(folder)
    ran = run(["gate", "dgx-h100", "--nodes", "2", "--sizes", "1GiB",
               "--write-aicr", str(folder / "aicr.yaml"),
               "--write-alerts", str(folder / "alerts.yaml")], text=True)
    assert ran.returncode == 0, ran
    (folder / "run.log").write_text(
        run(["bench", "--topology", "dgx-h100", "--nodes", "2", "--sizes", "1GiB",
             "--env", "NCCL_IB_DISABLE=1"], text=True).stdout)
    ran = run(["gate", "dgx-h100", "--check", str(folder / "run.log"), "--collective",
               "all_reduce", "--write-junit", str(folder / "junit.xml")], text=True)
    assert ran.returncode == 1 and "FAIL" in ran.stdout and "sockets" in ran.stdout, ran
    suite = ElementTree.parse(folder / "junit.xml").getroot()[0]
    assert suite.get("failures") == str(len(suite.findall("testcase/failure"))) == "2", suite
    if yaml is None:
        return "JUnit's XML; no python3-yaml for the others"
    phase = yaml.safe_load((folder / "aicr.yaml").read_text())["spec"]["validation"]["performance"]
    assert phase["checks"] == ["nccl-all-reduce-bw"], phase
    assert re.fullmatch(r">= \d+", phase["constraints"][0]["value"]), phase
    groups = yaml.safe_load((folder / "alerts.yaml").read_text())["groups"]
    assert groups[0]["rules"][0]["expr"].startswith("nccl_bus_bandwidth_gbs{collective="), groups
    return "AICR's YAML, Prometheus' rules, JUnit's XML"


if __name__ == "__main__":
    sys.exit(main([gate_script_judges, files_are_read]))
