# SPDX-License-Identifier: BSD-2-Clause
"""Errors that the user can fix.

Errors of the program itself are raised as other exceptions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cellreap.unknown import Unknown


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one is nearly, if there is one."""
    import difflib  # only for messages

    names = list(known)
    swapped = [each for each in names if sorted(each) == sorted(name)]
    return next(iter([*difflib.get_close_matches(name, names, 1, 0.75), *swapped]), None)


def hint(name: str, known: Iterable[str]) -> str:
    """A question that stands before what is expected: `did you mean "fs"? `. Empty if the name is
    like no known one.
    """
    near = closest(name, known)
    return "" if near is None else f'did you mean "{near}"? '


class CellreapError(Exception):
    """Something outside the program is wrong: an input, an option, a missing tool.

    The command line prints the error as one line and exits with 2.
    """

    def line(self) -> str:
        """The message as a single line, whatever characters it contains."""
        return " ".join(str(self).split())


class UsageError(CellreapError):
    """An argument names nothing, or does not fit the input."""


class ModelError(CellreapError):
    """A change is invalid for the model: an unknown id, a duplicate, ends of the wrong kind."""


class IncompleteError(CellreapError):
    """A source does not tell everything, so what was asked of it has no certain answer."""

    unknown: tuple[Unknown, ...]
    """What the source leaves open. Never empty."""

    def __init__(self, source: str, unknown: tuple[Unknown, ...]) -> None:
        self.unknown = unknown
        told = "; ".join(each.text for each in unknown)
        super().__init__(f"{source} does not tell everything: {told}")


class InputError(CellreapError):
    """A file cannot be read as the expected kind of file."""

    path: str
    """The file as the user named it."""
    line_number: int | None
    """The line, from 1. None: the whole file."""
    column: int | None
    """Where in the line, from 1. None: not told."""
    field: str | None
    """The key, or the column of a table, such as `pd[0].program`. None: the whole line."""
    expected: str
    """What is wrong, and what the file should contain there."""

    def __init__(
        self,
        path: str,
        line: int | None,
        field: str | None,
        expected: str,
        column: int | None = None,
    ) -> None:
        self.path = path
        self.line_number = line
        self.field = field
        self.expected = expected
        self.column = column
        where = ":".join(str(part) for part in (path, line, column) if part is not None)
        super().__init__(
            f"{where}: {expected}" if field is None else f"{where}: {field}: {expected}"
        )
