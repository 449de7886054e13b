# SPDX-License-Identifier: BSD-2-Clause
"""Opens console logs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cellreap.errors import InputError


@contextlib.contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """The file, open for reading. InputError if it cannot be read."""
    try:
        with Path(path).open("rb") as stream:
            yield stream
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        what = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(str(path), None, None, f"cannot be read: {what}") from None
