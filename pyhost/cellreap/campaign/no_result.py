# SPDX-License-Identifier: BSD-2-Clause
"""What ends a cell's process without a result: a full disk, or sources that changed meanwhile.

Neither says anything about the cell, so it must not become its result.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from taskflow.exceptions import WrappedFailure

from cellreap.campaign.server import causes
from cellreap.errors import CellreapError

FULL_DISK: Final = 75
"""The exit code of a process that could not store what it did: EX_TEMPFAIL of sysexits.h."""
CHANGED: Final = 77
"""The exit code of a process that built something else than its campaign began with."""
_ERRNOS: Final = (errno.ENOSPC, errno.EDQUOT)
_TEXTS: Final = tuple(os.strerror(number) for number in _ERRNOS)
_SQLITE_CODES: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)


class DiskFullError(BaseException):
    """A task found a disk full. TaskFlow keeps each Exception of a task as its failure, for ever.

    This goes through TaskFlow as Ctrl-C does. So the flow goes on at that task.
    """


class ChangedError(BaseException):
    """What a cell is made from changed since its campaign began. It goes through TaskFlow, too."""


@contextmanager
def apart_if_full() -> Iterator[None]:
    """Raises DiskFullError where a disk is full."""
    try:
        yield
    except Exception as error:
        if not tells_full_disk(error):
            raise
        raise DiskFullError from error


@contextmanager
def ending_without_result(before: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Ends the process with FULL_DISK or CHANGED where there is no result. before: called then."""
    try:
        with apart_if_full():
            yield
    except (DiskFullError, ChangedError) as error:
        before()
        sys.exit(FULL_DISK if isinstance(error, DiskFullError) else CHANGED)


def why_no_result(code: int | None) -> str | None:
    """What the exit code of a cell's process says about a missing result. None: nothing."""
    kept = "what is done is kept, and goes on when the command is given again"
    return {
        FULL_DISK: f"the disk is full; {kept}",
        CHANGED: "what a cell is made from was changed while the campaign ran; give the command "
        "again to run such cells as they are now",
    }.get(code or 0)


def tells_full_disk(error: BaseException) -> bool:
    """Whether the exception, or one that it came from, says that a disk or a quota is full."""
    for each in causes(error):
        if isinstance(each, OSError) and each.errno in _ERRNOS:
            return True
        if isinstance(each, CellreapError) and any(text in str(each) for text in _TEXTS):
            return True  # a compiler or another program said so
        if isinstance(each, sqlite3.Error) and _code(each) in _SQLITE_CODES:
            return True
        if isinstance(each, WrappedFailure):  # several tasks failed, or one and its revert
            failures = (failure.exception for failure in each)
            return any(tells_full_disk(one) for one in failures if one is not None)
    return False


def _code(error: sqlite3.Error) -> int | None:
    """sqlite's extended code; the module's own errors have none."""
    return getattr(error, "sqlite_errorcode", None)
