"""A function for each command of the program, made of the table of its options: what the command
line takes, these take, and a new option is there at once."""

import builtins
import inspect
import keyword
import logging
import operator
import os
from collections.abc import Iterable, Mapping

from . import _fabricast
from ._report import Report

_LOG = logging.getLogger("fabricast")
# Of the terminal: they answer nothing, or not by a report.
_LEFT_OUT = {"ui", "help", "completion", "report", "schema"}


def python_name(name):
    """gpus-per-node is gpus_per_node; a word of Python gets an underscore behind it."""
    out = name.replace("-", "_")
    return out + "_" if keyword.iskeyword(out) or hasattr(builtins, out) else out


class Study:
    """A command and its options by their names in Python, and by nccl-tests' letters."""

    def __init__(self, name, help_, options):
        self.name, self.help = name, help_
        self.arguments = [option for option in options if option["is_argument"]]
        self.options = {
            option_name(option): option for option in options if not option["is_argument"]
        }
        self.letters = {o["letter"]: o for o in self.options.values() if o["letter"]}

    def find(self, name):
        """The table's entry; what is not there is left to the parser, which knows what is near."""
        known = self.options.get(name) or self.letters.get(name)
        return known or {"name": name.rstrip("_").replace("_", "-"), "repeats": False}


def option_name(option):
    """Of an option as a keyword: those of the command line keep their names, but for Python's own
    words."""
    out = option["name"].replace("-", "_")
    return out + "_" if keyword.iskeyword(out) else out


def _text(name, value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{name}: a str, not {type(value).__name__}")
    if value is None:
        raise TypeError(f"{name}: None is no value")
    if name == "sizes" and not isinstance(value, (str, os.PathLike)):
        return f"{operator.index(value)}B"
    return os.fsdecode(value) if isinstance(value, os.PathLike) else str(value)


def _values(option, value):
    """What stands on the command line; None = the option does not, as it is given no value or none
    of several."""
    if getattr(value, "ndim", None) == 0:  # numpy's
        value = value.item()
    if value is None or value is False:
        return None
    if isinstance(value, (set, frozenset)):
        raise TypeError(f"{option['name']}: a list, not {type(value).__name__}, which has no order")
    if isinstance(value, Mapping) and not value:
        return None
    if option["repeats"] and isinstance(value, (list, tuple)) and not value:
        return None
    if value is True:
        return []
    if isinstance(value, Mapping):
        return [f"{name}={_text(option['name'], one)}" for name, one in value.items()]
    is_one = isinstance(value, (str, bytes, bytearray, memoryview, os.PathLike))
    if is_one or not isinstance(value, Iterable):
        return [_text(option["name"], value)]
    texts = [_text(option["name"], one) for one in value]
    return texts if option["repeats"] else [",".join(texts)]


def words(study, options):
    """Keyword arguments as the library takes options: bytes, as names of files need not be text."""
    out = []
    for name, value in options.items():
        option = study.find(name)
        values = _values(option, value)
        if values is not None:
            out.append((option["name"], [os.fsencode(one) for one in values]))
    return out


def all_studies():
    """By name, "validate steps" among them."""
    return {name: Study(name, help_, options) for name, help_, options in _fabricast.studies()}


STUDIES = all_studies()


def ask(study, *arguments, on_note=None, on_progress=None, **options):
    """Asks a command of the program by its name: ask("validate steps", cases="steps.csv").

    arguments: files, which have no option's name; ask("validate", "steps", ...) is the same as
    above. options: those of the command line, with
    underscores. on_note: is told what the program says on standard error; without it, that goes to
    the logger "fabricast". on_progress: is told the share done, 0..1, at the end 1. What these two
    raise comes out of here.
    Returns a Report. Raises Error. Other threads of Python run meanwhile.
    """
    if not isinstance(study, str):
        raise TypeError(f"a study is named by a str, not {type(study).__name__}")
    for name, function in (("on_note", on_note), ("on_progress", on_progress)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} is a function, not {function!r}")
    if arguments and f"{study} {arguments[0]}" in STUDIES:
        study, arguments = f"{study} {arguments[0]}", arguments[1:]
    known = STUDIES.get(study) or Study(study, "", [])
    said = on_note or (lambda line: _LOG.warning("%s", line.rstrip("\n")))
    files = [os.fsencode(_text("a file", one)) for one in arguments]
    return Report(_fabricast.ask(study, words(known, options), files, said, on_progress))


def parts_of(study):
    """The commands that a study consists of: "steps" of "validate"."""
    begin = f"{study.name} "
    return [name.removeprefix(begin) for name in STUDIES if name.startswith(begin)]


def doc_of(study):
    """The docstring of a study's function."""
    lines = [study.help[:1].upper() + study.help[1:] + ".", ""]
    parts = parts_of(study)
    if parts:
        lines.append(f"The first argument is one of {', '.join(map(repr, parts))}.")
    for option in study.arguments:
        lines.append(f"{option['name']}: {option['help']}")
    for name, option in study.options.items():
        default = f" (default: {option['default']})" if option["default"] else ""
        kind = "flag" if option["is_flag"] else option["type"]
        need = ", required" if option["is_required"] else ""
        lines.append(f"{name}: {kind}{need}. {option['help']}{default}")
    lines += [
        "",
        "Lists are joined by commas, or repeat the option where it may be repeated; a dict is",
        "NAME=value, each; True gives a flag; whole numbers in sizes are bytes.",
        "Returns a Report: tables of named columns, whose names end in units, a row per case.",
        "Raises Error, with .where, .message and .hint.",
    ]
    return "\n".join(lines)


def signature_of(study):
    """Arguments, then options by name."""
    kinds = inspect.Parameter
    takes_words = study.arguments or parts_of(study)
    out = [kinds("arguments", kinds.VAR_POSITIONAL)] if takes_words else []
    for name, option in study.options.items():
        default = kinds.empty if option["is_required"] else False if option["is_flag"] else None
        out.append(kinds(name, kinds.KEYWORD_ONLY, default=default))
    for name in ("on_note", "on_progress"):
        out.append(kinds(name, kinds.KEYWORD_ONLY, default=None))
    return inspect.Signature(out, return_annotation=Report)


def _function(study):
    def asked(*arguments, **options):
        return ask(study.name, *arguments, **options)

    asked.__name__ = asked.__qualname__ = python_name(study.name)
    asked.__module__ = "fabricast"
    asked.__doc__ = doc_of(study)
    asked.__signature__ = signature_of(study)
    return asked


def functions():
    """One for each study, by its name in Python."""
    return {
        python_name(name): _function(study)
        for name, study in STUDIES.items()
        if name not in _LEFT_OUT and " " not in name
    }
