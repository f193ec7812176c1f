"""Fabricast: forecast what a GPU cluster will do before it is bought or booked.

A function for each command of the program (bench, decide, cutover, whatif, advise, step, plan,
serve, check, judge, run, sweep, ...) that gives a Report, and Estimator for one call after another.
"""

from . import _studies
from ._error import Error, Where
from ._estimator import Estimate, Estimator
from ._fabricast import __version__
from ._report import Column, Report, Table
from ._studies import ask

_FUNCTIONS = _studies.functions()
globals().update(_FUNCTIONS)

__all__ = [
    *sorted(_FUNCTIONS),
    "Column",
    "Error",
    "Estimate",
    "Estimator",
    "Report",
    "Table",
    "Where",
    "__version__",
    "ask",
]
