#!/usr/bin/env python3
"""server.py FABRICAST: the server of `fabricast ui` without a browser. It answers as the command
line does, refuses who has no token, another Host or Origin, reads no file that was not given, and
lives through 100 questions at a time and 10,000 of junk below 1 GiB. Ctrl-C ends it and its
folder."""

import concurrent.futures
import glob
import http.client
import json
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

JUNK = 10_000
PARALLEL = 100
ROOT = Path(__file__).resolve().parents[2]
LONG_QUEUE = (ROOT / "tests/data/questions/long-queue.yaml").read_text()
INSPECTOR = ROOT / "tests/data/records/inspector/v4.0-real-line.log"


class Server:
    def __init__(self, fabricast):
        self.process = subprocess.Popen([fabricast, "ui"], stdout=subprocess.PIPE, text=True)
        url = self.process.stdout.readline().strip()
        self.port = int(url.split(":")[2].split("/")[0])
        self.token = url.split("token=")[1]

    def ask(self, method, path, body=None, **headers):
        """Status and text. A header of None is left out."""
        said = {"X-Fabricast-Token": self.token, "Host": f"127.0.0.1:{self.port}"}
        said |= {name.replace("_", "-"): value for name, value in headers.items()}
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if data is not None:
            said["Content-Length"] = str(len(data))
        for name, value in said.items():
            if value is not None:
                link.putheader(name, value)
        link.endheaders()
        if data is not None:
            link.send(data)
        answer = link.getresponse()
        text = answer.read().decode(errors="replace")
        link.close()
        return answer.status, text

    def study(self, name, **body):
        status, text = self.ask("POST", f"/api/v1/{name}", body)
        return status, json.loads(text)

    def memory(self):
        """The most that it has held, in MiB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmHWM:")[1].split()[0]) / 1024


def answers_as_the_command_line(server, fabricast):
    words = ["bench", "--topology", "dgx-h100", "--nodes", "2", "--sizes", "1MiB,1GiB"]
    told = json.loads(
        subprocess.run(
            [fabricast, *words, "--format", "json"], capture_output=True, text=True, check=True
        ).stdout
    )
    status, part = server.study("bench", topology="dgx-h100", nodes="2", sizes="1MiB,1GiB")
    assert status == 200 and part["report"] == told, (status, part)
    assert part["machine"]["name"] == "dgx-h100"
    assert part["command"] == "fabricast bench --topology=dgx-h100 --nodes=2 --sizes=1MiB,1GiB"
    for body, words in (
        ({"topology": "dgx-h10"}, ["bench", "--topology", "dgx-h10"]),
        (
            {"topology": "dgx-h100", "nodes": "abc"},
            ["bench", "--topology", "dgx-h100", "--nodes", "abc"],
        ),
        (
            {"topology": "dgx-h100", "sizes": "1 GBs"},
            ["bench", "--topology", "dgx-h100", "--sizes", "1 GBs"],
        ),
        (
            {"topology": "dgx-h100", "env": ["NCCL_ALGO=Rong"]},
            ["bench", "--topology", "dgx-h100", "--env", "NCCL_ALGO=Rong"],
        ),
    ):
        said = subprocess.run(
            [fabricast, *words], capture_output=True, text=True, check=False
        ).stderr
        status, error = server.study("bench", **body)
        message = error.get("error", {}).get("message")
        assert status == 422 and message and message in said, (body, error, said)
    status, page = server.ask("GET", "/", X_Fabricast_Token=None)
    assert status == 200 and "Content-Security-Policy" in page and server.token not in page
    status, text = server.ask("GET", "/api/v1/catalogue")
    assert status == 200 and "dgx-h100" in [one["name"] for one in json.loads(text)["topologies"]]
    return "5 questions"


def compresses_nothing(server, _):
    """What a browser takes compressed it gets as it is: the way is short, Brotli takes seconds."""
    asked = [("/", None), ("/api/v1/catalogue", None)]
    asked.append(("/api/v1/bench", json.dumps({"topology": "dgx-h100", "sizes": "1MiB"})))
    for path, body in asked:
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        said = {"X-Fabricast-Token": server.token, "Accept-Encoding": "gzip, deflate, br"}
        link.request("GET" if body is None else "POST", path, body, said)
        answer = link.getresponse()
        data = answer.read()
        assert answer.status == 200 and answer.getheader("Content-Encoding") is None, path
        assert len(data) == int(answer.getheader("Content-Length")), path
        link.close()
    return f"{len(asked)} answers"


def streams(server, _):
    status, text = server.ask(
        "POST", "/api/v1/bench", {"topology": "dgx-h100", "nodes": "64"}, Accept="text/event-stream"
    )
    events = [block.split("\n")[0] for block in text.strip().split("\n\n")]
    assert status == 200 and events[-1] == "event: report", events
    part = json.loads(text.strip().split("\n\n")[-1].split("data: ", 1)[1])
    assert len(part["report"]["tables"][0]["rows"]) == 31
    # Who leaves gives his turn to others.
    body = json.dumps({"topology": "dgx-h100", "nodes": "1..1024", "no-fold": False}).encode()
    for _ in range(20):
        link = socket.create_connection(("127.0.0.1", server.port))
        link.send(
            f"POST /api/v1/bench HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Fabricast-Token: "
            f"{server.token}\r\nAccept: text/event-stream\r\nContent-Length: {len(body)}\r\n"
            "\r\n".encode()
            + body
        )
        time.sleep(0.02)
        link.close()
    begin = time.time()
    status, _ = server.study("bench", topology="dgx-h100", nodes="2", sizes="1MiB")
    assert status == 200 and time.time() - begin < 60
    # A part on the way says no more of where files lie than the answer.
    topology = (ROOT / "topologies/dgx-h100.yaml").read_text()
    body = {"topology": "t.yaml", "nodes": "1..64", "files": {"t.yaml": topology}}
    status, text = server.ask("POST", "/api/v1/bench", body, Accept="text/event-stream")
    assert text.count("event: part") > 0 and "fabricast-ui-" not in text, text[:2000]
    assert text.count('"command":"fabricast bench --topology=t.yaml') > 1, text[:2000]
    return f"{len(events)} events"


def gives_up_what_nobody_waits_for(_, fabricast):
    """A queue of requests knows no pieces that threads take, and is ended all the same: when its
    reader leaves, and with the server."""
    lone = Server(fabricast)
    body = json.dumps({"input": "s.yaml", "files": {"s.yaml": LONG_QUEUE}}).encode()
    links = []
    for _ in range(2):  # as many as are simulated at a time
        link = socket.create_connection(("127.0.0.1", lone.port))
        link.send(
            f"POST /api/v1/serve HTTP/1.1\r\nHost: 127.0.0.1:{lone.port}\r\nX-Fabricast-Token: "
            f"{lone.token}\r\nAccept: text/event-stream\r\nContent-Length: {len(body)}\r\n"
            "\r\n".encode()
            + body
        )
        links.append(link)
    assert links[0].recv(100).startswith(b"HTTP/1.1 200")
    time.sleep(1)
    links[0].close()
    begin = time.time()
    assert lone.study("bench", topology="dgx-h100", sizes="1MiB")[0] == 200
    answered = time.time() - begin
    lone.process.send_signal(signal.SIGINT)
    assert lone.process.wait(timeout=20) == 0
    links[1].close()
    return f"a turn after {answered:.1f} s"


def refuses_a_range(server, _):
    """The library would give what lies in memory behind the answer."""
    for path in "/", "/api/v1/catalogue":
        status, text = server.ask("GET", path, Range="bytes=0-99999999")
        assert status == 416 and "whole" in text, (path, status, text[:200])
    return "2 answers"


def ends_where_nobody_can_read_its_address(_, fabricast):
    with open("/dev/full", "w", encoding="utf-8") as full:
        ended = subprocess.run(
            [fabricast, "ui"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=20
        )
    assert ended.returncode == 3 and ended.stderr, ended
    return ended.stderr.strip()


def is_documented(server, _):
    """docs/ui.md names the studies that can be asked."""
    status, error = server.study("bensh")
    known = error["error"]["hint"].removeprefix("studies: ").split()
    text = (ROOT / "docs/ui.md").read_text(encoding="utf-8")
    assert status == 422 and f"Studies: `{' '.join(known)}`." in text, known
    return f"{len(known)} studies"


def refuses_strangers(server, _):
    question = {"topology": "dgx-h100", "sizes": "1MiB"}
    for headers, wanted in (
        ({"X_Fabricast_Token": None}, 401),
        ({"X_Fabricast_Token": "0" * 32}, 401),
        ({"X_Fabricast_Token": server.token[:-1]}, 401),
        ({"Host": "example.org"}, 403),
        ({"Host": None}, 403),
        ({"Host": f"example.org:{server.port}"}, 403),
        ({"Origin": "http://example.org"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"http://127.0.0.1:{server.port + 1}"}, 403),
        ({"Origin": f"http://127.0.0.1:{server.port}"}, 200),
        ({"Host": f"localhost:{server.port}"}, 200),
    ):
        status, text = server.ask("POST", "/api/v1/bench", question, **headers)
        assert status == wanted, (headers, status, text)
    outside = socket.socket()
    outside.settimeout(2)
    addresses = {a[4][0] for a in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1"}:
        if not address.startswith("127."):
            assert outside.connect_ex((address, server.port)) != 0, address
    return "11 kinds"


def reads_nothing_else(server, _):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as secret:
        secret.write("secret words: 1\n")
        secret.flush()
        layout = f"kind: step\ntopology: {secret.name}\nnodes: 1\nmodel: {secret.name}\n"
        for study, body in (
            ("bench", {"topology": secret.name}),
            ("bench", {"topology": "dgx-h100", "fabric": secret.name, "nodes": "2"}),
            ("bench", {"topology": "dgx-h100", "parts": secret.name}),
            ("bench", {"topology": "dgx-h100", "env-file": secret.name}),
            ("bench", {"topology": "dgx-h100", "algorithm-file": secret.name}),
            ("topo", {"topology": secret.name}),
            ("check", {"input": secret.name}),
            ("judge", {"input": secret.name, "topology": "dgx-h100"}),
            ("step", {"input": "a.yaml", "files": {"a.yaml": layout}}),
            ("plan", {"input": "a.yaml", "files": {"a.yaml": layout}}),
            ("step", {"calls": secret.name, "topology": "dgx-h100"}),
            ("lint", {"env-file": secret.name}),
            ("hang", {"input": secret.name}),
            ("hang", {"input": str(ROOT / "tests/data/records/flight-order")}),
            ("judge", {"inspector": str(INSPECTOR), "topology": "dgx-h100"}),
            ("judge", {"inspector": str(INSPECTOR.parent), "topology": "dgx-h100"}),
            ("step", {"calls": str(ROOT / "tests/data/traces"), "topology": "dgx-h100"}),
        ):
            status, error = server.study(study, **body)
            assert status == 422 and "secret words" not in json.dumps(error), (study, body, error)
    for body in (
        {"topology": "dgx-h100", "html": "/tmp/x.html"},
        {"topology": "dgx-h100", "trace": "/tmp/x"},
        {"topology": "dgx-h100", "tuner": "/tmp/x.so"},
        {"topology": "dgx-h100", "a b": 1},
        {"topology": "dgx-h100", "files": {"../x": "1"}},
        {"topology": "dgx-h100", "files": {".x": "1"}},
        {"topology": "dgx-h100", "files": [1]},
        {"topology": ["--html=/tmp/x"]},
        {"topology": {}},
        {"topology": "dgx-h100", "nodes": "1048576"},
        {"topology": "dgx-h100", "nodes": ["2", "4096"]},
        {"topology": "dgx-h100", "jobs": 1},
        [],
        7,
    ):
        status, text = server.ask("POST", "/api/v1/bench", body)
        assert status == 422 and "message" in text, (body, status, text[:200])
    assert not Path("/tmp/x.html").exists()
    metrics = Path(tempfile.mkdtemp()) / "x.prom"
    files = {"a.log": INSPECTOR.read_text()}
    ask = {"inspector": "a.log", "topology": "dgx-h100", "files": files}
    assert server.study("judge", **ask)[0] == 200
    status, error = server.study("judge", **ask, **{"write-prometheus": str(metrics)})
    assert status == 422 and not metrics.exists(), error
    status, _ = server.ask("POST", "/api/v1/bench", b"x" * (17 << 20))
    assert status == 413, status
    status, text = server.ask("POST", "/api/v1/import", b"\0\1\2", X_File_Name="../../a%00b")
    assert status == 200 and json.loads(text)["topology"] is False, text
    log = (ROOT / "tests/data/logs/coreweave-h100-64.txt").read_text()
    status, part = server.study("judge", topology="dgx-h100", input="a.log", files={"a.log": log})
    assert status == 200 and part["report"]["job"]["ask"]["log"] == "a.log", part["report"]["job"]
    assert "fabricast-ui-" not in json.dumps(part)
    # What takes several files on the command line takes a list of them.
    files = {"a.env": "NCCL_ALGO=Rong\n", "b.env": "NCCL_PROTO=Wrong\n"}
    status, part = server.study("lint", topology="dgx-h100", input=list(files), files=files)
    assert status == 200 and "Rong" in json.dumps(part) and "Wrong" in json.dumps(part), part
    return "35 tries"


def says_what_is_to_be_mended(server, _):
    """The option, or the file and line, stand in fields of their own."""
    layout = (ROOT / "scenarios/steps/llama-3-70b.yaml").read_text()
    machine = {"topology": "dgx-h100", "sizes": "1MiB"}
    cases = [
        ("bench", {"topology": "dgx-h10"}, "--topology", None, None),
        ("bench", {}, "--topology", None, None),
        ("bench", machine | {"nics": "99"}, "--nics", None, None),
        ("bench", machine | {"nodes": "0"}, "--nodes", None, None),
        ("bench", machine | {"collective": "all_redice"}, "--collective", None, None),
        ("bench", machine | {"env": ["NCCL_ALGO=Rong"]}, "--env", None, None),
        ("whatif", machine | {"to-topology": ["dgx-h10"]}, "--to-topology", None, None),
        (
            "bench",
            machine | {"env-file": "e.env", "files": {"e.env": "A=1\nNCCL_ALGO=Rong\n"}},
            None,
            "e.env",
            2,
        ),
        (
            "step",
            {"input": "l.yaml", "files": {"l.yaml": layout.replace("dgx-h100", "dgx-h10")}},
            None,
            "l.yaml",
            6,
        ),
    ]
    for study, body, option, file, line in cases:
        status, answer = server.study(study, **body)
        error = answer.get("error", {})
        assert status == 422, (body, answer)
        assert (error["option"], error["file"], error["line"]) == (option, file, line), error
        assert "hint:" not in error["message"], error
    return f"{len(cases)} mistakes"


def limits_nodes_of_files(server, _):
    """As those of an option."""
    layout = (ROOT / "scenarios/steps/llama-3-70b.yaml").read_text()
    for old, new in (("nodes: 8", "nodes: 2048"), ("batch: 128", "batch: 65536")):
        assert old in layout
        layout = layout.replace(old, new)
    cluster = "kind: cluster\nname: c\nnode: dgx-h100\nnodes: 5000\n"
    for study, body in (
        ("step", {"input": "f.yaml", "files": {"f.yaml": layout}}),
        ("plan", {"input": "f.yaml", "files": {"f.yaml": layout}}),
        ("decide", {"topology": "f.yaml", "sizes": "1MiB", "files": {"f.yaml": cluster}}),
    ):
        status, answer = server.study(study, **body)
        assert status == 422 and "nodes: at most 1024" in str(answer), (study, answer)
    return "3 questions"


def refuses_options_without_a_value(server, _):
    """Not a flag, nor the next option as its value."""
    for value in "", True, [""]:
        body = {"topology": "dgx-h100", "nodes": value, "sizes": "1MiB"}
        status, error = server.study("bench", **body)
        assert status == 422 and error["error"]["message"] == "--nodes: a value is missing", error
        assert error["error"]["option"] == "--nodes", error
    return "3 kinds"


def lives_without_its_folder(server, fabricast):
    """What nobody foresaw is an answer, too, streamed or not; and one length is no length."""
    lone = Server(fabricast)
    question = {"topology": "dgx-h100", "sizes": "1MiB"}
    shutil.rmtree(Path(f"/proc/{lone.process.pid}/cwd").resolve())
    status, text = lone.ask("POST", "/api/v1/bench", question)
    assert status == 500 and "cannot be made: No such file" in text, (status, text)
    status, text = lone.ask("POST", "/api/v1/bench", question, Accept="text/event-stream")
    assert text.startswith("event: error") and "another TMPDIR" in text, (status, text)
    link = socket.create_connection(("127.0.0.1", lone.port), timeout=5)
    link.send(f"POST /api/v1/bench HTTP/1.1\r\nHost: 127.0.0.1:{lone.port}\r\n"
              f"X-Fabricast-Token: {lone.token}\r\nContent-Length: -5\r\n\r\n".encode())
    assert link.recv(100).startswith(b"HTTP/1.1 400"), "waits for so many bytes"
    assert lone.process.poll() is None
    lone.process.kill()
    return "3 questions"


def lives_through_a_crowd(server, _):
    def one(number):
        return server.study(
            "bench", topology="dgx-h100", nodes=str(2 ** (number % 5)), sizes="8B..1GiB:x8"
        )[0]

    with concurrent.futures.ThreadPoolExecutor(PARALLEL) as pool:
        codes = list(pool.map(one, range(PARALLEL)))
    assert codes == [200] * PARALLEL, codes
    return f"{PARALLEL} answered, {server.memory():.0f} MiB"


def has_its_port(server, fabricast):
    second = subprocess.run(
        [fabricast, "ui", "--port", str(server.port)], capture_output=True, text=True, timeout=20
    )
    said = f"{server.port} cannot be had: Address already in use"
    assert second.returncode != 0 and said in second.stderr, second
    return "a second server is refused"


def lets_a_crowd_wait(server, _):
    """Who comes while the server does nothing is answered later, and not sent away."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        links = [
            http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
            for _ in range(PARALLEL)
        ]
        for link in links:
            link.putrequest("POST", "/api/v1/bench")
            link.putheader("X-Fabricast-Token", server.token)
            link.putheader("Content-Length", "2")
            link.endheaders()
            link.send(b"[]")  # a segment of its own
    finally:
        server.process.send_signal(signal.SIGCONT)
    for link in links:
        assert link.getresponse().status == 422
        link.close()
    return f"{PARALLEL} connections"


def lives_through_junk(server, _):
    draw = random.Random(7)

    def one(number):
        kind = number % 4
        try:
            if kind == 0:  # no HTTP at all
                with socket.create_connection(("127.0.0.1", server.port), timeout=5) as link:
                    link.send(draw.randbytes(draw.randrange(1, 300)) + b"\r\n\r\n")
                return
            path = "/" + "".join(draw.choice("abc/.%?&=v1") for _ in range(draw.randrange(30)))
            method = draw.choice(["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
            if kind == 1:
                server.ask(method, path, draw.randbytes(draw.randrange(200)))
            else:  # nearly a question
                study = draw.choice(["bench", "topo", "lint", "judge", "step", "import", "cutover"])
                body = json.dumps(
                    {
                        draw.choice(
                            ["topology", "nodes", "env", "input", "files", "nics"]
                        ): draw.choice(["dgx-h100", "", -1, None, [], {}, "a" * 99, ["x"], True])
                    }
                )
                cut = body[: draw.randrange(len(body) + 1)].encode()
                server.ask("POST", f"/api/v1/{study}", cut)
        except (OSError, http.client.HTTPException):
            pass  # closed without an answer

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(JUNK)))
    status, _ = server.study("bench", topology="dgx-h100", nodes="2", sizes="1MiB")
    assert status == 200 and server.process.poll() is None
    assert server.memory() < 1024, server.memory()
    return f"{JUNK} requests, {server.memory():.0f} MiB at most"


def ends_cleanly(server, _):
    mine = f"{tempfile.gettempdir()}/fabricast-ui-*"
    assert glob.glob(mine)
    before = set(glob.glob(mine))
    idle = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    idle.request("GET", "/")
    idle.getresponse().read()  # as a browser keeps it
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(timeout=20) == 0
    idle.close()
    assert len(before - set(glob.glob(mine))) == 1
    return "its folder is gone"


def main():
    fabricast = Path(sys.argv[1]).resolve()
    server = Server(fabricast)
    failed = 0
    for check in (
        answers_as_the_command_line,
        compresses_nothing,
        streams,
        gives_up_what_nobody_waits_for,
        refuses_strangers,
        refuses_a_range,
        reads_nothing_else,
        says_what_is_to_be_mended,
        limits_nodes_of_files,
        refuses_options_without_a_value,
        lives_without_its_folder,
        has_its_port,
        ends_where_nobody_can_read_its_address,
        is_documented,
        lets_a_crowd_wait,
        lives_through_a_crowd,
        lives_through_junk,
        ends_cleanly,
    ):
        begin = time.time()
        try:
            print(
                f"ok      {check.__name__}: {check(server, fabricast)}, "
                f"{time.time() - begin:.1f} s",
                flush=True,
            )
        except (AssertionError, OSError, ValueError, LookupError) as problem:
            failed += 1
            print(f"FAILED  {check.__name__}: {problem!r}"[:2000], flush=True)
    server.process.kill()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
