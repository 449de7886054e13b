# SPDX-License-Identifier: BSD-2-Clause
"""The version of a state: the first word in the EXTRA column of a PD, `VERSION=<number>`.

Readers such as CellulOS's skip the word. cellreap writes it into the first row, so that it is read
before all that another version may have changed.
"""

from __future__ import annotations

import re
from typing import Final

from cellreap.errors import InputError
from cellreap.model.csvstate.report import ReadReport

STATE_VERSION: Final = 1
"""docs/versions.md says when it is raised."""

_WORD: Final = "VERSION="
_NUMBER: Final = re.compile("[1-9][0-9]{0,8}")


def with_version(extra: str) -> str:
    """A PD's EXTRA column with the version of the state."""
    return " ".join([f"{_WORD}{STATE_VERSION}", *([extra] if extra else [])])


def take_version(report: ReadReport, line: int, extra: str) -> str:
    """A PD's EXTRA column without the version, which is put into the report.

    Raises InputError for another version.
    """
    if not extra.startswith(_WORD):
        return extra
    word, _, rest = extra.partition(" ")
    text = word.removeprefix(_WORD)
    if not _NUMBER.fullmatch(text):
        expected = f"{_WORD}{STATE_VERSION}"
        raise InputError(report.path, line, "EXTRA", f"'{word[:60]}', expected {expected}")
    version = int(text)
    if version > STATE_VERSION:
        message = (
            f"the version of this state is {version}, and this program knows version "
            f"{STATE_VERSION}; expected a state of that one, or a later cellreap"
        )
        raise InputError(report.path, line, "EXTRA", message)
    report.version = version
    return rest
