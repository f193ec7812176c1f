"""What documents show of Python is what it prints. UPDATE_GOLDEN=1 rewrites it."""

import ast
import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
# A shell block that ends in a call of Python, and the block of what it prints.
CALL = re.compile(r"^PYTHONPATH=\S+ python3 -c '([^']*)'\n```\n\n```\n(.*?)^```$", re.M | re.S)


def documents():
    files = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    return [path for path in files if shown_in(path.read_text())]


def shown_in(text):
    return ">>> " in "".join(BLOCK.findall(text)) or CALL.search(text)


def printed(source, names):
    """As an interactive Python prints it, of an exception its last lines."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            tree = ast.parse(source)
            if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
                value = eval(compile(ast.Expression(tree.body[0].value), "doc", "eval"), names)
                if value is not None:
                    print(repr(value))
            else:
                exec(compile(tree, "doc", "exec"), names)
        except Exception as error:
            print("".join(traceback.format_exception_only(type(error), error)), end="")
    return out.getvalue()


def block_as_it_is(block, names):
    out, at = [], 0
    lines = block.splitlines(keepends=True)
    for example in doctest.DocTestParser().get_examples(block):
        first = example.lineno + example.source.count("\n")
        out += lines[at:first] + [printed(example.source, names)]
        at = first + example.want.count("\n")
    return "".join(out + lines[at:])


def as_it_is(text):
    names = {}
    exec("import numpy", names)  # documents name it where they need it

    def block(found):
        return f"```python\n{block_as_it_is(found[1], names)}```"

    def call(found):
        ran = subprocess.run([sys.executable, "-c", found[1]], text=True, capture_output=True)
        assert ran.returncode == 0, ran.stderr
        return found[0][: -len(found[2]) - 3] + ran.stdout + "```"

    return CALL.sub(call, BLOCK.sub(block, text))


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_documents_show_what_python_prints(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = path.read_text()
    made = as_it_is(text)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(made)
    else:
        assert made == text


def test_a_stale_line_is_found():
    assert as_it_is("```python\n>>> 1 + 1\n3\n```\n") == "```python\n>>> 1 + 1\n2\n```\n"
    assert as_it_is("```python\n>>> {}['x']\n```\n").endswith("\nKeyError: 'x'\n```\n")


def test_the_search_of_the_example_ends_as_the_document_says():
    example = ROOT / "examples/compiler_cost.py"
    ran = subprocess.run([sys.executable, example], text=True, capture_output=True, check=True)
    first = ran.stdout.splitlines()[0]
    assert f"```\n{first}\n" in (ROOT / "docs/python.md").read_text()
