"""The answer of a study: sentences, tables, a page, a picture."""

import html as _html
import json as _json
from pathlib import Path
from typing import NamedTuple

from . import _fabricast
from ._error import Error

_PANDAS_TYPES = {"text": "object", "flag": "boolean", "whole": "Int64", "number": "float64"}
_ROWS_SHOWN = 60
# What a picture shows, if a table has it: the first of each.
_ACROSS = ["size_bytes", "nodes", "ranks", "gpus", "batch", "layout"]
_UP = ["busbw_GBps", "tokens_per_s", "step_s", "time_us", "time_s", "predicted_us"]
_APART = ["topology", "setup", "collective", "nodes", "changed", "what", "case"]


class Column(NamedTuple):
    """name: ends in the unit, if any. type: text, flag, whole or number. unit: "" = none."""

    name: str
    type: str
    unit: str


class Table:
    """A table of a report: .name, .columns, .rows; table["time_us"] is a column as a list, None
    where there is no figure."""

    def __init__(self, name, columns, cells):
        self.name = name
        self.columns = [Column(*column) for column in columns]
        self._cells = dict(zip((column.name for column in self.columns), cells))

    def __len__(self):
        return len(next(iter(self._cells.values()), []))

    def __getitem__(self, column):
        return self._cells[column]

    def __iter__(self):
        """Names of columns, as of a dict."""
        return iter(self._cells)

    def __contains__(self, column):
        return column in self._cells

    def __reduce__(self):
        columns = [tuple(column) for column in self.columns]
        return Table, (self.name, columns, list(self._cells.values()))

    @property
    def rows(self):
        return list(zip(*self._cells.values()))

    def to_pandas(self):
        """A DataFrame; .attrs["units"] has the unit of each column that has one."""
        import pandas

        frame = pandas.DataFrame(
            {c.name: pandas.Series(self[c.name], dtype=_PANDAS_TYPES[c.type]) for c in self.columns}
        )
        frame.attrs["units"] = {c.name: c.unit for c in self.columns if c.unit}
        return frame

    def _repr_html_(self):
        head = "".join(f"<th>{_html.escape(column.name)}</th>" for column in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{_html.escape(_shown(cell))}</td>" for cell in row) + "</tr>"
            for row in self.rows[:_ROWS_SHOWN]
        )
        more = len(self) - _ROWS_SHOWN
        below = f"<p>and {more} more</p>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"

    def __repr__(self):
        return f"<Table {self.name}: {len(self)} rows of {', '.join(self._cells)}>"


def _shown(cell):
    if cell is None:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


class _Kept:
    """What the library's own report says, without the library: of a report that travelled."""

    def __init__(self, asked):
        self.study, self.answer, self.notes = asked.study, asked.answer, asked.notes
        self.holds, self.text, self.command = asked.holds, asked.text, asked.command
        self._tables = asked.tables()
        self._json = asked.json() if self._tables else None
        self._csv = {table[0]: asked.csv(table[0]) for table in self._tables}

    def tables(self):
        return self._tables

    def json(self):
        return self._must(self._json)

    def csv(self, table):
        texts = self._must(self._csv)
        if table and table not in texts:
            raise Error("", 0, "", f'there is no table "{table}"', f"known: {', '.join(texts)}")
        return texts[table or next(iter(texts))]

    def html(self):
        return _fabricast.page_of(self.json(), self.command)

    def _must(self, made):
        if made:
            return made
        message = f"{self.study} printed a text: there is no report"
        raise Error("", 0, "", message, "it is in text")


class Report:
    """The answer of a study."""

    def __init__(self, asked):
        self._asked = asked
        self._json = None
        self.tables = {table[0]: Table(*table) for table in asked.tables()}

    def __reduce__(self):
        kept = self._asked if isinstance(self._asked, _Kept) else _Kept(self._asked)
        return Report, (kept,)

    @property
    def study(self):
        """The study that was asked."""
        return self._asked.study

    @property
    def answer(self):
        """One or two sentences; "" where the study has none in words."""
        return self._asked.answer

    @property
    def notes(self):
        """What the reader should know, one sentence each."""
        return self._asked.notes

    @property
    def holds(self):
        """Whether all that was to be checked is as expected."""
        return self._asked.holds

    @property
    def text(self):
        """What the command printed that is no report."""
        return self._asked.text

    @property
    def json(self):
        """The whole report as a dict (docs/reports.md)."""
        if self._json is None:
            self._json = _json.loads(self._asked.json())
        return self._json

    def csv(self, table=None):
        """A table, the first one if none is named, as CSV."""
        if table is not None and not isinstance(table, str):
            raise TypeError(f"a table is named by a str, not {type(table).__name__}")
        return self._asked.csv(table or "")

    def html(self, path=None):
        """A page for a browser that needs no network; with a path it is written there, too."""
        page = self._asked.html()
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def table(self, name=None):
        """The table of that name, or the first. Raises KeyError."""
        if name is None and self.tables:
            return next(iter(self.tables.values()))
        if name not in self.tables:
            raise KeyError(f"{self.study} has no table {name!r}, but {', '.join(self.tables)}")
        return self.tables[name]

    def to_pandas(self, table=None):
        """A table, the first one if none is named, as a DataFrame."""
        return self.table(table).to_pandas()

    def plot(self, table=None, x=None, y=None, ax=None):
        """Draws y over x, a line for each call, by matplotlib; gives the axes. A time has its band
        of 80 %. Without x and y: a rate or time over sizes or nodes."""
        return _drawn(self.table(table), x, y, ax)

    def _repr_html_(self):
        answer = f"<p>{_html.escape(self.answer)}</p>" if self.answer else ""
        if self.tables:
            return answer + self.table()._repr_html_()
        return answer + f"<pre>{_html.escape(self.text)}</pre>"

    def __repr__(self):
        tables = ", ".join(f"{name} ({len(table)})" for name, table in self.tables.items())
        return f"<Report {self.study}: {self.answer or self.text or tables}>"


def _first(names, table):
    known = [column.name for column in table.columns]
    return next((name for name in names if name in known), None)


def _drawn(table, x, y, ax):
    import matplotlib.pyplot

    x, y = x or _first(_ACROSS, table), y or _first(_UP, table)
    if x is None or y is None:
        raise ValueError(f"say what of table {table.name} to draw: x=..., y=...")
    if ax is None:
        _, ax = matplotlib.pyplot.subplots()
    keys = [c.name for c in table.columns if c.name in _APART and c.name != x]
    keys = [key for key in keys if len(set(table[key])) > 1]
    for label in dict.fromkeys(zip(*(table[key] for key in keys)) if keys else [()]):
        rows = [
            i
            for i in range(len(table))
            if tuple(table[key][i] for key in keys) == label and table[y][i] is not None
        ]
        across = [table[x][i] for i in rows]
        named = ", ".join(f"{key} {value}" for key, value in zip(keys, label))
        ax.plot(across, [table[y][i] for i in rows], marker="o", label=named or None)
        if y == "time_us" and _first(["lower_us"], table):
            lower, upper = ([table[name][i] for i in rows] for name in ("lower_us", "upper_us"))
            ax.fill_between(across, lower, upper, alpha=0.2)
    if x in ("size_bytes", "nodes", "ranks", "gpus"):
        ax.set_xscale("log", base=2)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.autoscale(axis="y")  # over what was drawn into it before, too
    ax.set_ylim(bottom=0)
    if keys:
        ax.legend()
    return ax
