# SPDX-License-Identifier: BSD-2-Clause
"""Files that are read up to a limit, and written whole or not at all."""

from __future__ import annotations

import secrets
from pathlib import Path

from cellreap.errors import InputError


def read_at_most(path: Path, most: int) -> bytes:
    """The content of a file, of which no more than one byte above `most` is read. The caller
    refuses what is too long. InputError if the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as error:
        raise InputError(str(path), None, None, error.strerror or "cannot be read") from None


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file by way of a temporary file beside it. InputError if that fails."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        try:
            with beside.open("xb") as file:
                file.write(content)
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(str(path), None, None, f"cannot be written: {error.strerror}") from None
