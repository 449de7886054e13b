# SPDX-License-Identifier: BSD-2-Clause
"""Tells a full disk from other failures of a cell's process."""

from __future__ import annotations

import errno
import sqlite3
from typing import Final

from taskflow.exceptions import WrappedFailure

FULL_DISK: Final = 75
"""The exit code of a process that could not store what it did: EX_TEMPFAIL of sysexits.h."""
_ERRNOS: Final = (errno.ENOSPC, errno.EDQUOT)
_SQLITE_CODES: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)
_MOST: Final = 100
"""Exceptions of a chain that are looked at."""


def tells_full_disk(error: BaseException) -> bool:
    """Whether the exception, or one that it came from, says that a disk or a quota is full.

    The database wraps what sqlite raises in exceptions of its own.
    """
    waiting: list[BaseException] = [error]
    for _ in range(_MOST):
        if not waiting:
            break
        each = waiting.pop()
        if isinstance(each, OSError) and each.errno in _ERRNOS:
            return True
        if isinstance(each, sqlite3.Error) and _code(each) in _SQLITE_CODES:
            return True
        if isinstance(each, WrappedFailure):  # several tasks failed, or one and its revert
            waiting += [failure.exception for failure in each if failure.exception is not None]
        before = (each.__cause__, each.__context__, getattr(each, "orig", None))
        waiting += [other for other in before if isinstance(other, BaseException)]
    return False


def _code(error: sqlite3.Error) -> int | None:
    """sqlite's extended code; the module's own errors have none."""
    return getattr(error, "sqlite_errorcode", None)
