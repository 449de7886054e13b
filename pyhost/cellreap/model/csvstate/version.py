# SPDX-License-Identifier: BSD-2-Clause
"""The version of a state: the first word in the EXTRA column of a PD, `VERSION=<number>`.

Readers of CellulOS's and of older cellreaps skip the word. cellreap writes it into the first row,
so that it is read before all that another version may have changed. A state without it is of
version 1.
"""

from __future__ import annotations

import re
from typing import Final

from cellreap.errors import InputError
from cellreap.model.csvstate.report import ReadReport

STATE_VERSION: Final = 3
"""To be raised when an older reader would misread a state. Earlier versions must stay readable."""

_WORD: Final = "VERSION="
_SINCE: Final = 2
"""The version that the word came with. It is all that version 2 added."""
TOMBSTONES_SINCE: Final = 3
"""The version that destroyed nodes came with."""
HANDLERS_SINCE: Final = 3
"""The version that handlers of subscriptions came with. Version 3 added no more than these two."""
_NUMBER: Final = re.compile("[1-9][0-9]{0,8}")


def with_version(extra: str) -> str:
    """A PD's EXTRA column with the version of the state."""
    return " ".join([f"{_WORD}{STATE_VERSION}", *([extra] if extra else [])])


def take_version(report: ReadReport, line: int, extra: str) -> str:
    """A PD's EXTRA column without the version, which is put into the report.

    Raises InputError for a later version, and for one that contradicts another row.
    """
    if not extra.startswith(_WORD):
        return extra
    word, _, rest = extra.partition(" ")
    text = word.removeprefix(_WORD)
    if not _NUMBER.fullmatch(text):
        expected = f"{_WORD} and a number from 1 to {STATE_VERSION}"
        raise InputError(report.path, line, "EXTRA", f"'{word[:60]}', expected {expected}")
    version = int(text)
    if version > STATE_VERSION:
        message = (
            f"the version of this state is {version}, and this program knows versions up to "
            f"{STATE_VERSION}; expected a state of one of them, or a later cellreap"
        )
        raise InputError(report.path, line, "EXTRA", message)
    if report.version not in (None, version):
        expected = f"{_WORD}{report.version} as before"
        raise InputError(report.path, line, "EXTRA", f"'{word}', expected {expected}")
    if version < _SINCE:
        message = f"'{word}': the word {_WORD} needs version {_SINCE}; expected a state without it"
        raise InputError(report.path, line, "EXTRA", message)
    report.version = version
    return rest
