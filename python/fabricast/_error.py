"""What was wrong with a question."""

from typing import NamedTuple


class Where(NamedTuple):
    """The place of a mistake. file: None = in no file; line: from 1, None = not known; path: the
    option, as "--nodes", or the dotted path of a key, None = not known."""

    file: "str | None"
    line: "int | None"
    path: "str | None"


class Error(ValueError):
    """A question that has no answer: .where, .message, and .hint, what to do (None = none)."""

    __module__ = "fabricast"  # as tracebacks name it

    def __init__(self, file, line, path, message, hint):
        self.where = Where(file or None, line or None, path or None)
        self.message = message
        self.hint = hint or None
        place = ":".join(str(part) for part in (file, line) if part)
        text = ": ".join(part for part in (place, path, message) if part)
        super().__init__(text + (f"\nhint: {hint}" if hint else ""))
        self._parts = (file, line, path, message, hint)

    def __reduce__(self):
        return type(self), self._parts
