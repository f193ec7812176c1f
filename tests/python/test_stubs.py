"""Types for editors are those of the functions. UPDATE_GOLDEN=1 rewrites them."""

import ast
import os

import fabricast
import stubs


def test_stubs_are_as_written(root):
    file = root / "python/fabricast/__init__.pyi"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(stubs.stubs())
    assert file.read_text() == stubs.stubs()


def test_stubs_are_python_and_name_all_there_is(root):
    tree = ast.parse((root / "python/fabricast/__init__.pyi").read_text())
    named = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    imported = {
        name.asname
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if name.asname
    }
    assert named | imported | {"__version__"} == set(fabricast.__all__)
