# SPDX-License-Identifier: BSD-2-Clause
"""Tells a full disk from other failures of a cell's process."""

from __future__ import annotations

import errno
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from taskflow.exceptions import WrappedFailure

from cellreap.campaign.server import causes

FULL_DISK: Final = 75
"""The exit code of a process that could not store what it did: EX_TEMPFAIL of sysexits.h."""
_ERRNOS: Final = (errno.ENOSPC, errno.EDQUOT)
_SQLITE_CODES: Final = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)


@contextmanager
def ending_if_full() -> Iterator[None]:
    """Ends the process with FULL_DISK where a disk is full."""
    try:
        yield
    except Exception as error:
        if not tells_full_disk(error):
            raise
        sys.exit(FULL_DISK)


def tells_full_disk(error: BaseException) -> bool:
    """Whether the exception, or one that it came from, says that a disk or a quota is full."""
    for each in causes(error):
        if isinstance(each, OSError) and each.errno in _ERRNOS:
            return True
        if isinstance(each, sqlite3.Error) and _code(each) in _SQLITE_CODES:
            return True
        if isinstance(each, WrappedFailure):  # several tasks failed, or one and its revert
            failures = (failure.exception for failure in each)
            return any(tells_full_disk(one) for one in failures if one is not None)
    return False


def _code(error: sqlite3.Error) -> int | None:
    """sqlite's extended code; the module's own errors have none."""
    return getattr(error, "sqlite_errorcode", None)
