#!/usr/bin/env python3
"""completions.py PROGRAM [SHELL]: what completes where somebody types.

Without SHELL: `fabricast __complete` itself, over every command and option of --help. With bash,
zsh or fish: the shell's own engine, with the script that `fabricast completion SHELL` prints; it
has to offer what the program says. Exits with 77 where that shell is not installed."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from program import GOOD, ROOT, commands, fresh, main, options, program, run  # noqa: E402

SKIPPED = 77
SCRATCH = ("a.yaml", "b.csv", "with blank.yaml", "note.txt", "sub/c.yaml")
# What is typed, and what has to be among what fits; "!word": must not be.
LINES = [
    ("ben", ["bench"]),
    ("sweep sta", ["status"]),
    ("validate ", ["nccl-tests", "steps"]),
    ("bench --topol", ["--topology"]),
    ("bench --topology dgx-h", ["dgx-h100", "dgx-h200"]),
    ("bench --topology=dgx-h", ["--topology=dgx-h100"]),
    ("bench --topology dgx-h100 --format ", ["text", "csv", "json"]),
    ("bench --format csv --for", ["!--format"]),
    ("bench --env A=1 --env", ["--env", "--env-file"]),
    ("bench --env NCCL_ALG", ["NCCL_ALGO="]),
    ("bench --env NCCL_ALGO=Ri", ["NCCL_ALGO=Ring"]),
    ("bench --env NCCL_ALGO=Ring,Tr", ["NCCL_ALGO=Ring,Tree"]),
    ("bench --env NCCL_PROTO=^LL", ["NCCL_PROTO=^LL", "NCCL_PROTO=^LL128"]),
    ("bench --env NCCL_P2P_LEVEL=P", ["NCCL_P2P_LEVEL=PHB", "NCCL_P2P_LEVEL=PXB"]),
    ("bench --env NCCL_P2P_DISABLE=", ["NCCL_P2P_DISABLE=0", "NCCL_P2P_DISABLE=1"]),
    ("bench --collective all_reduce,all_g", ["all_reduce,all_gather"]),
    ("bench --collective ep_dispatch,ep_", ["ep_dispatch,ep_combine"]),
    ("decide --collective ", ["all_reduce", "!alltoall", "!ep_dispatch"]),
    ("bench --fabric fabric-dr", ["fabric-dragonfly"]),
    ("bench --gpu H200", ["H200_NVL", "H200_SXM"]),
    ("upgrade --from 2.21", ["2.21.5"]),
    ("whatif --to NCCL_NVLS_EN", ["NCCL_NVLS_ENABLE="]),
    ("plan x.yaml --vary topology=dgx-a100,gb3", ["topology=dgx-a100,gb300-nvl72"]),
    ("plan x.yaml --within tp=", ["tp=node", "tp=rack"]),
    ("lint --explain NCCL_IB_HC", ["NCCL_IB_HCA"]),
    ("step ", ["a.yaml", "sub/", "!b.csv", "!note.txt"]),
    ("step sub/", ["sub/c.yaml"]),
    ("validate steps --cases ", ["b.csv", "!a.yaml"]),
    ("compare --topology dgx-h100,hgx-b2", ["dgx-h100,hgx-b200"]),
    ("compare --topology dgx-h100,a", ["dgx-h100,a.yaml", "!dgx-h100,b.csv"]),
    ("compare --fabric fabric-ndr-rail,fabric-dr", ["fabric-ndr-rail,fabric-dragonfly"]),
    ("memory --nccl 2.18.6,2.21", ["2.18.6,2.21.5"]),
    ("judge --targets ", ["b.csv", "!a.yaml"]),
    ("upgrade --targets ", ["a.yaml", "!b.csv"]),
    ("list mod", ["models"]),
    ("schema ser", ["serve"]),
    ("help exit", ["exit-codes"]),
    ("help sw", ["sweep"]),
    ("completion ", ["bash", "zsh", "fish"]),
    ("topo --pair gpu0 gpu1 dgx-h1", ["dgx-h100"]),
]
NOTHING = ["nonsense x", "bench --nonsense x", "bench --topology nonsense", "bench --nodes 1",
           "bench --topology dgx-h100 stray", "sweep status --nope=", "list topologies x"]
# Options with values that are free: numbers, sizes, conditions, names of the user's.
FREE = {"--budget", "--sizes", "--nodes", "--nics", "--until", "--such-that", "--seed",
        "--background",
        "--fault", "--split", "--trace-ranks", "--engine",
        "--minbytes", "--maxbytes", "--stepbytes", "--explain", "--fail-over", "--headroom",
        "--leave-out", "--timeout", "--node-of", "--share", "--partition", "--time", "--sweep",
        "--hosts", "--free", "--labels", "--oversubscription", "--probability",
        "--tokens", "--hidden", "--ep-mode",
        "--top-k", "--experts", "--groups", "--top-groups", "--sms",
        "--where", "--columns", "--group-by", "--best", "--pareto", "--only", "--pair"}


def lines():
    return [(line, [w for w in words if not w.startswith("!")],
             [w[1:] for w in words if w.startswith("!")]) for line, words in LINES]


def check(line, found, wanted, unwanted):
    missing = [word for word in wanted if word not in found]
    stray = [word for word in unwanted if word in found]
    assert not missing and not stray, f"{line!r}: lacks {missing}, has {stray}: {found[:20]}"


def scratch(folder):
    for name in SCRATCH:
        fresh(folder / Path(name).parent)
        (folder / name).write_text("")
    return folder


def words_of(line):
    """As a shell hands them over: the last one is what is being typed."""
    return shlex.split(line) + ([""] if line.endswith(" ") or not line else [])


def asked(words, folder):
    ran = run(["__complete", "--", *words], cwd=folder, text=True)
    assert ran.returncode == 0 and not ran.stderr, f"{words}: {ran}"
    for line in ran.stdout.splitlines():
        assert line.count("\t") == 1, line
    return [line.split("\t")[0] for line in ran.stdout.splitlines()]


def the_program_itself(folder):
    scratch(folder)
    for line, wanted, unwanted in lines():
        check(line, asked(words_of(line), folder), wanted, unwanted)
    return f"{len(LINES)} lines"


def nonsense_completes_to_nothing(folder):
    scratch(folder)
    for line in NOTHING:
        assert asked(words_of(line), folder) == [], line
    assert asked([], folder) == []
    for words in (["\x01\x1b"], ["--"], ["bench", "--", "-"], ["-", "="], ["bench", "--=", ""]):
        asked(words, folder)
    return f"{len(NOTHING)} lines"


def every_command_and_option(folder):
    """What --help lists completes, and each option that takes a word has words or is free."""
    scratch(folder)
    checked = 0
    for command in commands():
        words = command.split()
        assert words[-1] in asked(words, folder), command
        for option in options(command):
            if not option.name.startswith("--"):
                continue
            assert option.name in asked([*words, option.name], folder), (command, option)
            checked += 1
            typed = run([*words, "--help"], text=True).stdout
            is_text = re.search(rf"{option.name} +(TEXT|FILE|FOLDER)\b", typed)
            if is_text and option.name not in FREE:
                assert asked([*words, option.name, ""], folder), \
                    f"{command} {option.name}: nothing completes: cli/complete/values.cpp"
    assert checked > 200, checked
    return f"{checked} options"


def environment(folder):
    fresh(folder / "bin")
    link = folder / "bin" / "fabricast"
    if not link.exists():
        link.symlink_to(Path(program()).resolve())
    return {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder),
            "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def shell(arguments, folder, text):
    ran = subprocess.run(arguments, cwd=folder / "files", env=environment(folder), input=text,
                         text=True, capture_output=True, check=False, timeout=120)
    assert ran.returncode == 0, f"{arguments[0]}: {ran}"
    return ran.stdout, ran.stderr


BASH = r"""
source <(fabricast completion bash)
while IFS= read -r COMP_LINE; do
  COMP_POINT=${#COMP_LINE}
  # As readline does it: words end at blanks, '=' and ':' are words of their own.
  mapfile -t COMP_WORDS < <(grep -oE '[=:]+|[^=: ]+' <<< "$COMP_LINE")
  [[ $COMP_LINE == *' ' ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  piece=${COMP_WORDS[COMP_CWORD]}
  [[ $piece == [=:]* ]] && piece=
  COMPREPLY=()
  _fabricast fabricast "$piece" ""
  echo "line"
  for word in "${COMPREPLY[@]}"; do echo "${COMP_LINE%"$piece"}$word"; done
done
"""


def blocks(text):
    """Lines below each "line"."""
    out = []
    for line in text.splitlines():
        if line == "line":
            out.append([])
        elif out:
            out[-1].append(line)
    return out


def bash(folder):
    """The function is called as readline calls it; an answer stands for the last piece."""
    scratch(folder / "files")
    typed = [f"fabricast {line}" for line, _, _ in lines()]
    out, errors = shell(["bash", "--norc", "-c", BASH], folder, "\n".join(typed) + "\n")
    assert not errors, errors
    found = blocks(out)
    assert len(found) == len(LINES), out
    for (line, wanted, unwanted), answers in zip(lines(), found):
        check(line, [answer.rsplit(" ", 1)[1] for answer in answers], wanted, unwanted)
    step = found[[line for line, _, _ in lines()].index("step ")]
    assert r"fabricast step with\ blank.yaml" in step, step
    return f"{len(LINES)} lines"


def fish(folder):
    scratch(folder / "files")
    script = "fabricast completion fish | source\n" + "".join(
        f"echo line\ncomplete -C {shlex.quote('fabricast ' + line)}\n" for line, _, _ in lines())
    out, errors = shell(["fish", "--no-config"], folder, script)
    assert not errors, errors
    for (line, wanted, unwanted), answers in zip(lines(), blocks(out)):
        check(line, [answer.split("\t")[0] for answer in answers], wanted, unwanted)
    assert len(blocks(out)) == len(LINES), out
    return f"{len(LINES)} lines"


# A second zsh, on a terminal of its own, has the line editor. What it offers is caught where every
# completion ends, in compadd. The two shells take turns: "end" says that a line is done.
ZSH = r"""
zmodload zsh/zpty
zpty -b inner zsh -f -i
zpty -w inner 'PS1=; autoload -Uz compinit; compinit -u -D; source <(fabricast completion zsh)'
zpty -w inner 'compadd() {
  local -a caught
  [[ " $* " == *" -"[OAD]" "* ]] && { builtin compadd "$@"; return }
  builtin compadd -O caught "$@"; print -rl -- "${(@)caught}" >> found; builtin compadd "$@" }'
zpty -w inner 'ask() { BUFFER=$ASKED; CURSOR=$#BUFFER; print -r line >> found; zle complete-word
  BUFFER=; print -r end >> found }; zle -N ask; bindkey "^G" ask; print ready > found'
wait_for() {
  repeat 600; do [[ $(grep -c "^$1\$" found 2>/dev/null) == $2 ]] && return; sleep 0.05; done
}
wait_for ready 1
done=0
while IFS= read -r line; do
  zpty -w inner "ASKED=${(qq)line}; print set >> found"
  (( ++done ))
  wait_for set $done
  zpty -w -n inner $'\C-g'
  wait_for end $done
done
zpty -d inner
cat found
"""


def zsh(folder):
    scratch(folder / "files")
    typed = [f"fabricast {line}" for line, _, _ in lines()]
    out, _ = shell(["zsh", "-f", "-c", ZSH], folder, "\n".join(typed) + "\n")
    found = blocks(out)
    assert len(found) == len(LINES), out
    for (line, wanted, unwanted), answers in zip(lines(), found):
        check(line, answers, wanted, unwanted)
    return f"{len(LINES)} lines"


if __name__ == "__main__":
    SHELL = sys.argv[2] if len(sys.argv) > 2 else ""
    if SHELL and not shutil.which(SHELL):
        print(f"skipped: {SHELL} is not installed")
        sys.exit(SKIPPED)
    CHECKS = [the_program_itself, nonsense_completes_to_nothing, every_command_and_option]
    sys.exit(main([{"bash": bash, "zsh": zsh, "fish": fish}[SHELL]] if SHELL else CHECKS))
