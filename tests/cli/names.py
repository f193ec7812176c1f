#!/usr/bin/env python3
"""names.py PROGRAM: what comes from outside is data wherever it is written.

Names, titles, values and paths with what shells, YAML, CSV, nccl.conf and terminals act on, in
every place that a user's file or the command line has for them. Either the run is refused, or what
it writes says the same name: scripts are run in a folder of their own, tables and YAML are parsed
back. Nothing that a terminal acts on is printed, and nothing that was not asked for is run."""

import csv
import io
import json
import os
import re
import subprocess
import sys

from program import FILES, LOGS, fresh, main, run

try:
    import yaml
except ImportError:  # then YAML is only read by the program itself
    yaml = None

PAYLOAD = "touch pwned"
# Printable: these have to come back as they are.
HARMLESS = ["a b", "a,b", 'a"b', "a'b", f"a$({PAYLOAD})", f"a`{PAYLOAD}`", f"a; {PAYLOAD} #",
            f"a\\n{PAYLOAD}", "a#b", "a: b", "- a", "*a", "&a", "{a}", "[a]", "a|b", "%a", "@a",
            "!a", "a\\", "=cmd|'/c calc'!A1", "ä€", "null", "1e3", "--a"]
# A line break or control character: may be refused.
CONTROLS = [f"a\n{PAYLOAD} #", f"a\r\n{PAYLOAD} #", "a\x01b", "a\x1b[31mb", "a\x7fb", "a\u009b31mb",
            "a\tb", "a\u2028b"]
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def quoted(text):
    """In YAML."""
    return json.dumps(text, ensure_ascii=True)


def shown(text):
    """With control characters as they are printed."""
    return RAW.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def said(ran):
    """What a run printed: nothing in it acts on a terminal."""
    out = ran.stdout.decode() + ran.stderr.decode()
    assert not RAW.search(out), f"{ran.args}: {out!r}"
    assert ran.returncode in (0, 1, 2), ran
    return ran.stdout.decode()


def run_scripts(folder, written):
    """Each as its user would, with a mpirun that does nothing."""
    sandbox = fresh(folder / "sandbox")
    (sandbox / "mpirun").write_text("#!/bin/sh\nexit 0\n")
    os.chmod(sandbox / "mpirun", 0o755)
    environment = {"PATH": f"{sandbox}:{os.environ['PATH']}"}
    out = {}
    for name in ("verify.sh", "nccl-env.sh", "slurm-task-prolog.sh"):
        script = str(written / name)
        for flags in (["-n"], []):
            ran = subprocess.run(["sh", *flags, script], cwd=sandbox, env=environment,
                                 capture_output=True, check=False, timeout=60)
            assert ran.returncode == 0 and not ran.stderr, f"{name}: {ran}"
        out[name] = ran.stdout.decode()
    assert os.listdir(sandbox) == ["mpirun"], os.listdir(sandbox)
    shown = subprocess.run(["sh", "-c", f". '{written}/nccl-env.sh'; env -0"], cwd=sandbox,
                           env=environment, capture_output=True, check=True, timeout=60)
    out["environment"] = dict(line.split("=", 1) for line in shown.stdout.decode().split("\0")
                              if line.startswith("NCCL_"))
    assert os.listdir(sandbox) == ["mpirun"], os.listdir(sandbox)
    return out


def check_advice(folder, arguments, variables):
    """All forms of it: the variables as they are, comments and names in front of nothing."""
    written = folder / "advice"
    ran = run(["advise", *arguments, "--write", str(written)], cwd=folder)
    said(ran)
    if ran.returncode == 2:
        return False
    scripts = run_scripts(folder, written)
    assert variables.items() <= scripts["environment"].items(), scripts
    prolog = scripts["slurm-task-prolog.sh"].splitlines()
    wanted = [f"export {name}={value}" for name, value in scripts["environment"].items()]
    assert [line for line in prolog if not line.startswith("unset ")] == wanted, prolog
    conf = [line for line in (written / "nccl.conf").read_text().split("\n")
            if line and not line.startswith("#")]
    assert conf == [line.removeprefix("export ") for line in wanted], conf
    for path in written.iterdir():
        assert not RAW.search(path.read_text()), f"{path}: {path.read_text()!r}"
    if yaml:
        env = yaml.safe_load((written / "kubernetes-env.yaml").read_text())["env"]
        assert {e["name"]: e["value"] for e in env} == scripts["environment"], env
    json.loads((written / "advice.json").read_text())
    return True


def node(name="n", title="t", nic="mlx5_0"):
    return f"""kind: node
name: {quoted(name)}
title: {quoted(title)}
cpus:
  - cpu: AMD_Milan_7543
    numa: 0
    affinity: "00000000,0000ffff"
    pci:
      - {{gpu: RTX_A6000, busid: "0000:25:00.0"}}
      - {{gpu: RTX_A6000, busid: "0000:61:00.0"}}
      - {{nic: ConnectX-4-Lx, name: {quoted(nic)}, busid: "0000:c1:00.0",
         guid: "0x9a3f5e00030000", gdr: false}}
"""


def places(folder, text):
    """Topologies that hold the text somewhere: (what, --topology, the name that is printed)."""
    for what, of in (("name", node(name=text)), ("title", node(title=text)),
                     ("NIC", node(nic=text))):
        path = folder / f"{what}.yaml"
        path.write_text(of)
        yield what, path.name
    if "/" not in text and len(text) < 100:
        path = folder / f"{text}.yaml"
        path.write_text(node())
        yield "path", f"./{text}.yaml"


def rows_of(text):
    rows = list(csv.reader(io.StringIO(text)))
    assert rows and all(len(row) == len(rows[0]) for row in rows), rows
    return rows


def check_topology(folder, what, topology, text):
    """Whether it was accepted."""
    ran = run(["decide", "--topology", topology, "--sizes", "1MiB", "--format", "csv"], cwd=folder)
    out = said(ran)
    if ran.returncode == 2:
        return False
    rows = rows_of(out)
    if what == "path":
        assert rows[1][1] == shown(text), rows
    for arguments in (["decide", "--topology", topology, "--table", "comms"],
                      ["bench", "--topology", topology, "--sizes", "8B", "--format", "csv"],
                      ["whatif", "--topology", topology, "--sizes", "8B", "--format", "csv",
                       "--to-topology", topology, "--to-topology", "pcie-2gpu"]):
        rows = rows_of(said(run(arguments, cwd=folder)))
        if arguments[0] == "whatif":
            assert any(shown(topology) in row[0] for row in rows), rows
    for form in ("text", "json", "dot", "xml", "yaml"):
        out = said(run(["topo", topology, "--format", form], cwd=folder))
        if form == "json":
            json.loads(out)
        if form == "yaml":
            (folder / "again.yaml").write_text(out)
            again = run(["topo", "again.yaml", "--format", "yaml"], cwd=folder)
            assert said(again) == out, again
            if yaml:
                tree = yaml.safe_load(out)
                assert what not in ("name", "title") or tree[what] == text, tree
    if what in ("name", "path"):
        check_advice(folder, ["--topology", topology, "--goal", "latency", "--sizes", "8B", "--env",
                              "NCCL_CROSS_NIC=1"], {"NCCL_CROSS_NIC": "1"})
    return True


def topologies(folder):
    accepted = refused = 0
    for number, text in enumerate(HARMLESS + CONTROLS):
        place = fresh(folder / str(number))
        for what, topology in places(place, text):
            took = check_topology(place, what, topology, text)
            assert took or text not in HARMLESS or what == "path", (what, text)
            accepted, refused = accepted + took, refused + (not took)
    assert accepted > 60, accepted
    return f"{accepted} accepted, {refused} refused"


def values_of_variables(folder):
    accepted = 0
    for number, text in enumerate(HARMLESS + CONTROLS):
        place = fresh(folder / str(number))
        took = check_advice(place, ["--topology", "pcie-2gpu", "--goal", "latency", "--sizes", "8B",
                                    "--env", f"NCCL_SOCKET_IFNAME={text}"],
                            {"NCCL_SOCKET_IFNAME": text})
        assert took or text in CONTROLS, text
        accepted += took
        for arguments in (["decide", "--table", "systems"], ["whatif", "--format", "csv", "--to",
                                                             f"NCCL_SOCKET_IFNAME={text}x"]):
            ran = run([*arguments, "--topology", "pcie-2gpu", "--sizes", "8B", "--env",
                       f"NCCL_SOCKET_IFNAME={text}"])
            out = said(ran)
            assert ran.returncode == 2 or rows_of(out), ran
    # A name is one, in YAML and on the command line.
    for name in (f"NCCL_X;{PAYLOAD}", "NCCL X", "NCCL_X\n", ""):
        assert run(["bench", "--topology", "pcie-2gpu", "--sizes", "8B", "--env",
                    f"{name}=1"]).returncode == 2, name
    return f"{accepted} accepted"


def titles_of_steps(folder):
    layout = (FILES / "step-small.yaml").read_text()
    layout = "\n".join(line for line in layout.splitlines() if not line.startswith("title:"))
    accepted = 0
    for number, text in enumerate(HARMLESS + CONTROLS):
        place = fresh(folder / str(number))
        (place / "layout.yaml").write_text(f"title: {quoted(text)}\n{layout}\n")
        ran = run(["step", "layout.yaml"], cwd=place)
        said(ran)
        took = check_advice(place, ["--layout", "layout.yaml"], {})
        assert took == (ran.returncode != 2), (text, ran)
        accepted += took
        assert ran.returncode != 2 or text in CONTROLS, (text, ran)
    return f"{accepted} accepted"


def imported_fabrics(folder):
    """A path goes into a comment and a source."""
    for number, text in enumerate(HARMLESS + CONTROLS):
        place = fresh(folder / str(number))
        if "/" in text:
            continue
        source = (FILES / LOGS / "hdr-fat-tree-faked.txt").read_text()
        (place / text).write_text(source)
        ran = run(["import", f"./{text}", "--write", "fabric.yaml"], cwd=place)
        said(ran)
        assert ran.returncode == 0, ran
        out = (place / "fabric.yaml").read_text()
        assert not RAW.search(out), out
        said(run(["bench", "--topology", "dgx-h100", "--nodes", "2", "--sizes", "8B", "--fabric",
                  "fabric.yaml"], cwd=place))
        if yaml:
            assert yaml.safe_load(out)["sources"]["cables"]["url"] == f"file:./{text}", out
    return f"{len(HARMLESS + CONTROLS)} files"


def xml_of_others(folder):
    """NCCL's topology with an escape in an attribute is refused, and the message is harmless."""
    text = run(["topo", "pcie-2gpu", "--format", "xml"]).stdout.decode()
    place = fresh(folder)
    for number, bad in enumerate(CONTROLS):
        (place / f"{number}.xml").write_text(text.replace('vendor="', f'vendor="{bad}', 1))
        for command in (["topo"], ["decide", "--sizes", "8B", "--topology"], ["import"]):
            said(run([*command, f"{number}.xml"], cwd=place))
    return f"{3 * len(CONTROLS)} runs"


if __name__ == "__main__":
    sys.exit(main([topologies, values_of_variables, titles_of_steps, imported_fabrics,
                   xml_of_others]))
