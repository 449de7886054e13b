# SPDX-License-Identifier: BSD-2-Clause
"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from cellreap.errors import InputError


def refuse_output(output: Path | None, *others: Path | None, regular: bool = False) -> None:
    """InputError if a file that is to be written cannot be, or must not be. None: there is none.

    others: what the same command reads or writes too. regular: a device or a pipe will not do.
    """
    if output is None:
        return
    if output.is_dir():
        raise InputError(str(output), None, None, "is a folder, expected the name of a file")
    if regular and output.exists() and not output.is_file():
        raise InputError(str(output), None, None, "is no regular file, expected one or a new name")
    target = _end_of_links(output)
    folder = target.parent
    if not folder.is_dir():
        raise InputError(str(output), None, None, f"cannot be written: there is no folder {folder}")
    # What is no regular file is written in place.
    place = target if target.exists() and not target.is_file() else folder
    if not os.access(place, os.W_OK):
        raise InputError(str(output), None, None, f"cannot be written: no permission in {folder}")
    for other in others:
        if other is not None and target == _end_of_links(other):
            what = "is read or written by this command already, expected another file"
            raise InputError(str(output), None, None, what)


def _end_of_links(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError:  # as Python before 3.13 tells it
        raise InputError(str(path), None, None, "is a loop of links, expected a file") from None


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a file by way of a temporary file beside it. InputError if that fails.

    A symbolic link stays, and what it leads to is written. A device or a pipe is written to.
    """
    refuse_output(path)
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                file.write(content)
            return
        path = _end_of_links(path)
        beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            with beside.open("xb") as file:
                file.write(content)
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(str(path), None, None, f"cannot be written: {error.strerror}") from None
