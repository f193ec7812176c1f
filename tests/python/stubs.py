"""The types that editors read, python/fabricast/__init__.pyi, from the tables of options that the
functions themselves are made of."""

from fabricast import _studies

HEAD = """# Written by tests/python/test_stubs.py from the tables of options: do not edit.
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, SupportsIndex, Union

from ._error import Error as Error, Where as Where
from ._estimator import Estimate as Estimate, Estimator as Estimator
from ._report import Column as Column, Report as Report, Table as Table

__version__: str

Text = Union[str, int, float, "PathLike[str]"]
# One value, several, or NAME=value of each.
Value = Union[Text, Iterable[Text], Mapping[str, Text], None]
Said = Union[Callable[[str], Any], None]
Told = Union[Callable[[float], Any], None]

def ask(
    study: str,
    *arguments: Text,
    on_note: Said = ...,
    on_progress: Told = ...,
    **options: Union[Value, bool],
) -> Report: ...
"""


def type_of(option):
    if option["is_flag"]:
        return "bool"
    return {"INT": "Union[SupportsIndex, Value]"}.get(option["type"], "Value")


def stub_of(study, name):
    takes_words = study.arguments or _studies.parts_of(study)
    parts = ["*arguments: Text"] if takes_words else []
    options = [
        f"{name_}: {type_of(option)}" + ("" if option["is_required"] else " = ...")
        for name_, option in study.options.items()
    ]
    if not takes_words:
        parts.append("*")
    parts += options + ["on_note: Said = ...", "on_progress: Told = ..."]
    lines = "".join(f"    {part},\n" for part in parts)
    return f"def {name}(\n{lines}) -> Report: ...\n"


def stubs():
    named = {_studies.python_name(name): study for name, study in _studies.STUDIES.items()}
    functions = [stub_of(named[name], name) for name in _studies.functions()]
    return HEAD + "".join(functions)
