#!/usr/bin/env python3
"""run.py PROGRAM [--transcript NAME]: the command line as users and scripts meet it.

transcripts/NAME.txt holds calls of the command NAME (general.txt: calls of none), what they say (1>
is stdout, 2> is stderr) and their exit codes, word by word, run in tests/cli/files. UPDATE_GOLDEN=1
rewrites it, to be reviewed as a diff. Without --transcript: checks whose figures may change."""

import csv
import difflib
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CSV_HEADER = ["collective", "size_bytes", "nodes", "ranks", "algorithm", "protocol", "nchannels",
              "nchannels_tuner", "nthreads", "time_us", "algbw_GBps", "busbw_GBps", "lower_us",
              "upper_us", "completes"]
PROGRAM = Path(sys.argv[1]).resolve()
SMALL = "bench --topology dgx-h100 --sizes 1MiB"


def run(arguments, **options):
    return subprocess.run([PROGRAM, *shlex.split(arguments)], cwd=HERE / "files", text=True,
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})


def rendered(arguments):
    ran = run(arguments)
    out = [f"1> {line}" for line in ran.stdout.splitlines()]
    # Digest of the data files: changes with every figure of theirs.
    out = [re.sub(r'^(1>   "data": )"[0-9a-f]{16}"', r'\1"..."', line) for line in out]
    out += [f"2> {line}" for line in ran.stderr.splitlines()]
    if ran.returncode != 0:
        out.append(f"exit {ran.returncode}")
    if ran.returncode > 1 and ran.stdout:
        out.append("(a failing command must print nothing on stdout)")
    return out


def transcript(name):
    """What differs from transcripts/NAME.txt, as a diff."""
    path = HERE / "transcripts" / f"{name}.txt"
    expected = path.read_text().splitlines()
    calls = [line.removeprefix("$ fabricast") for line in expected if line.startswith("$")]
    stray = [call for call in calls if name != "general" and call.split()[:1] != [name]]
    assert calls and not stray, f"{path}: {len(calls)} calls, not of {name}: {stray}"
    actual = []
    for line in expected:
        if line.startswith("$ fabricast"):
            actual += [line, *rendered(line.removeprefix("$ fabricast"))]
        elif line.startswith("#") or not line:
            actual.append(line)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text("\n".join(actual) + "\n")
        return ""
    return "\n".join(difflib.unified_diff(expected, actual, str(path), "now", lineterm=""))


def help_goes_to_stdout():
    for arguments in ["--help", "bench --help", "decide --help", "run --help", "topo --help",
                      "cutover --help", "upgrade --help", "whatif --help", "advise --help",
                      "lint --help",
                      "step --help", "plan --help", "serve --help", "judge --help",
                      "import --help", "hang --help", "check --help", "validate --help",
                      "validate nccl-tests --help", "validate steps --help", "calibrate --help"]:
        ran = run(arguments)
        assert ran.returncode == 0 and "Usage: fabricast" in ran.stdout and not ran.stderr, ran


def csv_is_a_contract():
    ran = run(SMALL + " --nodes 1,2 --collective all_reduce,all_gather --format csv -w 5")
    rows = list(csv.reader(ran.stdout.splitlines()))
    assert ran.returncode == 0 and rows[0] == CSV_HEADER, ran
    assert len(rows) == 5 and all(len(row) == len(CSV_HEADER) for row in rows), rows
    assert [row[:4] for row in rows[1:]] == [
        ["all_reduce", "1048576", "1", "8"], ["all_gather", "1048576", "1", "8"],
        ["all_reduce", "1048576", "2", "16"], ["all_gather", "1048576", "2", "16"]], rows


def rows_of(report, name="rows"):
    table = next(table for table in report["tables"] if table["name"] == name)
    return [dict(zip([c["name"] for c in table["columns"]], row)) for row in table["rows"]]


def json_is_json():
    result = json.loads(run(SMALL + " --format json --explain --env NCCL_ALGO=Ring").stdout)
    row, ran = rows_of(result)[0], rows_of(result, "runs")[0]
    assert result["job"]["site"]["env"] == {"NCCL_ALGO": "Ring"}, result
    assert row["algorithm"] == "Ring", result
    path = rows_of(result, "critical_path")[0]
    parts = sum(path[cause] for cause in ("latency_us", "link_us", "worker_us", "slots_us"))
    assert abs(parts + ran["launch_us"] - row["time_us"]) < 1e-3, row


def xml_is_a_topology():
    """A preset and NCCL's XML of it are the same cluster."""
    xml = run("topo hgx-h200-2nic --format xml").stdout
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "node.xml"
        path.write_text(xml)
        asked = "--nodes 1,2 --sizes 1MiB --format json"
        of_preset = json.loads(run(f"bench --topology hgx-h200-2nic {asked}").stdout)
        of_xml = json.loads(run(f"bench --topology {path} {asked}").stdout)
        assert run(f"topo {path} --format xml").stdout == xml
    assert rows_of(of_preset) == rows_of(of_xml), of_xml


def text_is_read_like_nccl_tests():
    rows = [line for line in run(SMALL).stdout.splitlines() if not line.startswith("#")]
    assert len(rows) == 1 and len(rows[0].split()) == 13, rows


def variables_act():
    asked = SMALL + " --format csv"
    by_option = run(asked + " --env NCCL_ALGO=Tree --env NCCL_PROTO=LL").stdout
    by_file = run(asked + " --env-file tree-ll.env").stdout
    assert by_option == by_file and ",Tree,LL," in by_option, by_option + by_file
    later_wins = run(asked + " --env-file tree-ll.env --env NCCL_ALGO=Ring").stdout
    assert ",Ring,LL," in later_wins, later_wins


def nccl_tests_sizes():
    def sizes(options):
        ran = run(f"bench --topology dgx-h100 --format csv {options}")
        return [int(row[1]) for row in list(csv.reader(ran.stdout.splitlines()))[1:]]
    assert sizes("-b 8 -e 64 -f 2") == [8, 16, 32, 64]
    assert sizes("-b 1K -e 3K -i 1K") == [1024, 2048, 3072]
    assert sizes("-b 1K -e 3K -i 1K -f 1") == [1024, 2048, 3072]
    assert sizes("-b 1M") == [(1 << 20) * i for i in range(1, 33)]  # -e 32M, -i 1M


def trace_is_a_timeline():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.json"
        asked = SMALL + " --nodes 2 --format csv"
        ran = run(f"{asked} --trace {path} --trace-ranks 1-2")
        assert ran.returncode == 0 and ran.stdout == run(asked).stdout, ran
        assert f"{path}: " in ran.stderr and " spans, " in ran.stderr, ran
        events = json.loads(path.read_text())["traceEvents"]
    names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {"call", "rank 1 (node0 gpu1)", "rank 2 (node0 gpu2)", "proxies",
                     "links"}, names


def failed_expectation():
    ran = run("run failed-expectation.yaml")
    assert ran.returncode == 1 and not ran.stderr, ran
    assert "# FAILED  1 MiB all_reduce: busbw" in ran.stdout, ran.stdout


def sarif_is_sarif():
    ran = run("lint job.sbatch --format sarif")
    log = json.loads(ran.stdout)
    results = log["runs"][0]["results"]
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert ran.returncode == 1 and log["version"] == "2.1.0" and results, ran
    for result in results:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"], result
        assert result["level"] in ("error", "warning", "note"), result
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "job.sbatch", place
        assert place["region"]["startLine"] >= 1, place


def lint_reads_stdin():
    ran = run("lint - --format json", input="export NCCL_NTHREADS=100\n")
    finding = rows_of(json.loads(ran.stdout), "findings")[0]
    assert ran.returncode == 0 and finding["file"] == "<stdin>", ran
    assert (finding["rule"], finding["line"], finding["column"]) == ("FL018", 1, 8), finding


def variables_are_listed():
    rows = run("lint --list-variables").stdout.splitlines()
    names, changes = rows[2:rows.index("")], rows[rows.index("") + 5:]
    assert len(names) > 424 and all(row.count(" | ") >= 4 for row in names), names[:5]
    assert len(changes) > 40 and all(row.count(" | ") >= 2 for row in changes), changes[:5]
    documented = (HERE.parents[1] / "docs" / "variables.md").read_text()
    assert documented.endswith("\n".join(rows) + "\n"), "docs/variables.md is old"


def rules_are_documented():
    documented = (HERE.parents[1] / "docs" / "lint.md").read_text()
    rules = [line.split()[0] for line in run("lint --list-rules").stdout.splitlines()]
    assert len(rules) > 30 and not [rule for rule in rules if rule not in documented], rules


def advice_is_written():
    """The files are what --format prints."""
    asked = "advise --topology dgx-h100 --goal latency --sizes 8B --env NCCL_CROSS_NIC=1"
    with tempfile.TemporaryDirectory() as folder:
        ran = run(f"{asked} --write {folder}/new")
        assert ran.returncode == 0 and ran.stdout == run(asked).stdout, ran
        for name, form in [("advice.txt", "text"), ("advice.json", "json"),
                           ("nccl-env.sh", "shell"), ("kubernetes-env.yaml", "kubernetes"),
                           ("slurm-task-prolog.sh", "slurm"), ("nccl.conf", "nccl.conf"),
                           ("verify.sh", "nccl-tests")]:
            text = (Path(folder) / "new" / name).read_text()
            assert text == run(f"{asked} --format {form}").stdout, name
        prolog = subprocess.run(["sh", f"{folder}/new/slurm-task-prolog.sh"],
                                stdout=subprocess.PIPE, text=True)
        assert prolog.stdout == "export NCCL_CROSS_NIC=1\n", prolog


def full_disk():
    with open("/dev/full", "w") as full:
        for arguments in [SMALL, SMALL + " --format csv"]:
            ran = run(arguments, stdout=full)
            assert ran.returncode == 3, ran
            assert ran.stderr.endswith("fabricast: the output could not be written\n"), ran


def threads_that_cannot_be_made():
    """Stacks of threads that do not fit into the address space: one thread does all."""
    def limit():
        resource.setrlimit(resource.RLIMIT_STACK, (2 << 30, 2 << 30))
        resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))

    ask = "bench --topology dgx-h100 --nodes 1,2 --sizes 1MiB,1GiB --jobs 4 --format csv"
    few, many = run(ask, preexec_fn=limit), run(ask)
    assert few.returncode == 0 and few.stdout == many.stdout, few


def main():
    if "--transcript" in sys.argv:
        diff = transcript(sys.argv[-1])
        print(diff or f"{sys.argv[-1]}: as written")
        return 1 if diff else 0
    failed = 0
    for check in [help_goes_to_stdout, csv_is_a_contract, json_is_json,
                  xml_is_a_topology, text_is_read_like_nccl_tests, variables_act,
                  nccl_tests_sizes, trace_is_a_timeline, failed_expectation, sarif_is_sarif,
                  lint_reads_stdin, variables_are_listed, rules_are_documented,
                  advice_is_written, full_disk, threads_that_cannot_be_made]:
        try:
            check()
            print(f"ok      {check.__name__}")
        except (AssertionError, ValueError, LookupError) as problem:
            failed += 1
            print(f"FAILED  {check.__name__}: {problem!r}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
