# SPDX-License-Identifier: BSD-2-Clause
"""Errors that are the user's to fix.

What is wrong with the program itself is left to raise as it does.
"""

from __future__ import annotations


class CellreapError(Exception):
    """Something outside the program is wrong: an input, an option, a missing tool.

    The command line prints it as one line and exits with 2.
    """

    def line(self) -> str:
        """The message as a single line, whatever was put into it."""
        return " ".join(str(self).split())


class UsageError(CellreapError):
    """An argument that names nothing, or does not fit the input it is used with."""


class ModelError(CellreapError):
    """A change that the model cannot take: an unknown id, a duplicate, ends of the wrong kind."""


class InputError(CellreapError):
    """A file that cannot be read as what it should be.

    path: the file as the user named it. line: 1-based, None where the whole file is meant. field:
    the column or key, None where the whole line is meant. expected: what should have been there.
    """

    def __init__(self, path: str, line: int | None, field: str | None, expected: str) -> None:
        self.path = path
        self.line_number = line
        self.field = field
        self.expected = expected
        where = path if line is None else f"{path}:{line}"
        super().__init__(
            f"{where}: {expected}" if field is None else f"{where}: {field}: {expected}"
        )
