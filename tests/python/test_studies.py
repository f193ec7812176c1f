"""Functions say what the program says, and refuse what it refuses."""

import inspect
import json
import os
import signal
import threading
import time
from pathlib import Path

import fabricast
import numpy
import pytest
from fabricast import _studies

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
ASKED = "bench decide cutover whatif advise step plan serve memory check judge run sweep".split()


def test_each_command_is_a_function():
    assert set(ASKED) <= set(fabricast.__all__)
    commands = {name for name in _studies.STUDIES if " " not in name}
    there = {name for name in commands if hasattr(fabricast, _studies.python_name(name))}
    assert commands - there == {"ui", "help", "completion", "report", "schema"} & commands
    assert fabricast.topo("dgx-h100").study == "topo"


@pytest.mark.parametrize(
    "study, words, arguments, options",
    [
        (
            "bench",
            ["--topology", "dgx-h100", "--nodes", "1,2", "--sizes", "1KiB,1MiB"],
            [],
            {"topology": "dgx-h100", "nodes": [1, 2], "sizes": [1024, 1 << 20]},
        ),
        (
            "decide",
            ["--topology", "dgx-h100", "--env", "NCCL_ALGO=Ring", "--env", "NCCL_PROTO=LL"],
            [],
            {"topology": "dgx-h100", "env": {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}},
        ),
        (
            "cutover",
            ["--topology", "dgx-h100", "--nodes", "2", "--sizes", "1MiB,16MiB"],
            [],
            {"topology": "dgx-h100", "nodes": 2, "sizes": "1MiB,16MiB"},
        ),
        ("step", ["scenarios/steps/llama-3-70b.yaml"], ["scenarios/steps/llama-3-70b.yaml"], {}),
        (
            "serve",
            ["scenarios/serve/llama-2-70b-a100.yaml"],
            ["scenarios/serve/llama-2-70b-a100.yaml"],
            {},
        ),
        ("run", ["scenarios/h100-2node.yaml"], ["scenarios/h100-2node.yaml"], {}),
    ],
)
def test_json_is_the_programs(program, root, monkeypatch, study, words, arguments, options):
    monkeypatch.chdir(root)
    report = getattr(fabricast, study)(*arguments, **options)
    assert report.json == json.loads(program(study, *words, "--format", "json"))
    assert report.answer == report.json["answer"]
    assert report.csv() == program(study, *words, "--format", "csv")


def test_checks_say_whether_all_holds(root):
    assert fabricast.check(root / "scenarios/rules-releases.yaml", topology="dgx-h100").tables


def test_what_the_parser_refuses_is_an_error():
    with pytest.raises(fabricast.Error) as caught:
        fabricast.bench(topology="dgx-h100", nodes=0)
    assert caught.value.where.path == "--nodes"
    with pytest.raises(fabricast.Error) as caught:
        fabricast.bench(topology="dgx-h100", nods=1)
    assert caught.value.message == 'unknown option "--nods"'
    assert caught.value.hint == 'did you mean "--nodes"?'
    with pytest.raises(fabricast.Error) as caught:
        fabricast.bench(topology="dgx-h10")
    assert "unknown topology" in caught.value.message and "dgx-h100" in caught.value.hint


def test_an_error_in_a_file_names_its_line(tmp_path):
    file = tmp_path / "node.yaml"
    file.write_text("node:\n  gpus: many\n")
    with pytest.raises(fabricast.Error) as caught:
        fabricast.bench(topology=file)
    where = caught.value.where
    assert where.file == str(file) and where.line in (1, 2)
    assert str(caught.value).startswith(f"{file}:{where.line}: ")


def test_what_the_program_says_goes_to_the_caller(capfd):
    said = []
    fabricast.bench(topology="dgx-h100", sizes="1M", env={"NCCL_NO_SUCH": 1}, on_note=said.append)
    assert any("NCCL_NO_SUCH" in line for line in said)
    assert any("powers of 1024" in line for line in said)
    assert capfd.readouterr() == ("", "")


def test_an_option_without_a_value_is_said_or_not_given():
    sizes = {"topology": "dgx-h100", "sizes": "1MiB"}
    plain = fabricast.bench(**sizes).json["tables"]
    for nothing in ({"env": {}}, {"env": []}, {"fault": ()}):
        assert fabricast.bench(**sizes, **nothing).json["tables"] == plain, nothing
    for value in ([], "", True):
        with pytest.raises(fabricast.Error) as raised:
            fabricast.bench(**sizes, nodes=value)
        assert "--nodes" in str(raised.value) and "a value is missing" in str(raised.value), value


def test_progress_is_told_and_what_it_raises_comes_out():
    told = []
    fabricast.bench(topology="dgx-h100", nodes=2, sizes="1MiB,1GiB", on_progress=told.append)
    assert told and told[-1] == pytest.approx(1)

    class Enough(Exception):
        pass

    def stop(share):
        raise Enough

    with pytest.raises(Enough):
        fabricast.bench(topology="dgx-h100", nodes=2, sizes="1MiB,1GiB", on_progress=stop)


@pytest.mark.parametrize(
    "study, arguments, options",
    [
        ("cutover", [], {"topology": "dgx-h100", "nodes": 2, "sizes": "1MiB,16MiB"}),
        ("gate", ["dgx-h100"], {"nodes": 2, "sizes": "1MiB"}),
        ("advise", [], {"topology": "dgx-h100", "nodes": 2, "sizes": "1MiB"}),
        ("decide", [], {"topology": "dgx-h100"}),
    ],
)
def test_the_share_done_never_goes_back_and_ends_at_1(root, monkeypatch, study, arguments, options):
    monkeypatch.chdir(root)
    told = []
    getattr(fabricast, study)(*arguments, **options, on_progress=told.append)
    assert told == sorted(told) and told[-1] == 1


def test_much_of_a_plan_is_done_before_its_end(root):
    told = []
    fabricast.plan(
        root / "scenarios/steps/llama-3-70b-tp8.yaml", keep=2, on_progress=told.append
    )
    assert told == sorted(told) and told[-1] == 1
    assert sum(0.3 < share < 1 for share in told) > 2


def test_what_a_function_for_notes_raises_comes_out():
    def refuse(line):
        raise LookupError(line)

    with pytest.raises(LookupError, match="NCCL_NO_SUCH"):
        fabricast.bench(topology="dgx-h100", sizes="1MiB", env={"NCCL_NO_SUCH": 1}, on_note=refuse)


@pytest.mark.parametrize("name", ["on_note", "on_progress"])
def test_what_is_no_function_is_refused(name):
    with pytest.raises(TypeError, match=f"{name} is a function, not 3"):
        fabricast.bench(topology="dgx-h100", sizes="1MiB", **{name: 3})


@pytest.mark.parametrize(
    "ask",
    [
        lambda: fabricast.bench(topology="dgx-h100", nodes=256, collective="alltoall", exact=True),
        lambda: fabricast.Estimator("dgx-h100", nodes=64, no_fold=True).estimate(
            "all_reduce", 8 << 30
        ),
        lambda: fabricast.serve(SCENARIOS / "serve-llama-3-70b.yaml", requests=1_000_000),
        lambda: fabricast.experts(topology="dgx-h100", nodes=8, tokens=range(1, 4000)),
    ],
    ids=["bench", "estimator", "serve", "experts"],
)
def test_ctrl_c_ends_what_takes_long(ask):
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(1, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ask()
    assert time.monotonic() - sent[0] < 5  # a second on a machine of one's own


def test_sizes_are_whole_numbers():
    with pytest.raises(TypeError):
        fabricast.bench(topology="dgx-h100", sizes=1.5)
    with pytest.raises(TypeError, match="sizes: a str, not bytes"):
        fabricast.bench(topology="dgx-h100", sizes=b"1MiB")
    with pytest.raises(TypeError, match="topology: a str, not bytes"):
        fabricast.bench(topology=b"dgx-h100")
    with pytest.raises(TypeError, match="a study is named by a str"):
        fabricast.ask(None)


def test_what_has_no_order_or_no_value_is_refused():
    for sizes in ({"1MiB", "2MiB"}, frozenset([1024])):
        with pytest.raises(TypeError, match="sizes: a list, not (frozen)?set, which has no order"):
            fabricast.bench(topology="dgx-h100", sizes=sizes)
    for words in ({"env": {"NCCL_ALGO": None}}, {"nodes": [1, None]}):
        with pytest.raises(TypeError, match="None is no value"):
            fabricast.bench(topology="dgx-h100", sizes="1MiB", **words)


def test_an_array_of_no_dimension_is_its_value():
    asked = {"topology": "dgx-h100", "nodes": 2, "sizes": 1024, "no_fold": True}
    arrays = {name: numpy.array(one) for name, one in asked.items() if name != "topology"}
    assert fabricast.bench(topology="dgx-h100", **arrays).json == fabricast.bench(**asked).json


def test_bytes_that_are_no_utf_8(tmp_path):
    """Latin-1 in a log, and in the name of a file: shown as U+FFFD, and the file is found."""
    file = tmp_path / "gr\udcfcn.yaml"
    file.write_bytes(b"kind: cluster\nname: gr\xfcn\n")
    with pytest.raises(fabricast.Error, match="byte 0xfc does not belong in a text file") as caught:
        fabricast.bench(topology=file)
    assert caught.value.where.file.endswith("gr\ufffdn.yaml")
    with pytest.raises(fabricast.Error, match="unknown topology \"gr\ufffdn\""):
        fabricast.bench(topology="gr\udcfcn")


def test_nothing_simulated_has_no_digest():
    report = fabricast.bench(topology="dgx-h100", sizes=1)
    assert report.json["digest"] is None and len(report.table()) == 0
    assert report.answer.startswith("Nothing was simulated")


def test_parts_of_a_command_are_first_arguments(root, tmp_path):
    store = tmp_path / "results.sqlite"
    fabricast.sweep(
        sorted((root / "scenarios/sweeps").glob("*.yaml"))[0], store=store, share="1/64", jobs=1
    )
    status = fabricast.sweep("status", store)
    assert status.study == "sweep" and len(status.table()) == 1
    assert "The first argument is one of 'nccl-tests', " in fabricast.validate.__doc__
    with pytest.raises(fabricast.Error, match="--html is required"):
        fabricast.ask("report", "r.json")


def test_threads_of_python_run_while_an_answer_is_made():
    steps = []
    done = threading.Event()

    def count():
        while not done.wait(0.001):
            steps.append(1)

    counter = threading.Thread(target=count)
    counter.start()
    fabricast.bench(topology="dgx-h100", nodes=[2, 4, 8], sizes="1MiB..8GiB")
    done.set()
    counter.join()
    assert len(steps) > 10


def test_docstrings_and_signatures_name_every_option():
    for name in ASKED:
        function = getattr(fabricast, name)
        study = _studies.STUDIES[name]
        names = inspect.signature(function).parameters
        for option, entry in study.options.items():
            assert option in names
            assert f"{option}: " in function.__doc__ and entry["help"] in function.__doc__


def test_a_name_that_python_has_taken_has_an_underscore_behind_it():
    assert "from_" in inspect.signature(fabricast.upgrade).parameters
    assert not hasattr(fabricast, "list") and fabricast.list_("topologies").tables


def test_sweep_writes_its_store(root, tmp_path):
    store = tmp_path / "results.sqlite"
    shipped = sorted((root / "scenarios/sweeps").glob("*.yaml"))[0]
    fabricast.sweep(shipped, store=store, share="1/64", jobs=1)
    assert store.exists()
    assert len(fabricast.query(store, columns="topology,step_s").table()) == 1
