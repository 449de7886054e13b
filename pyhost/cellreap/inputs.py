# SPDX-License-Identifier: BSD-2-Clause
"""Opens the files that a user names, so that reading them comes to an end."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from cellreap.errors import InputError, closest


@contextlib.contextmanager
def opened(path: str | Path) -> Iterator[BufferedReader]:
    """The file, open for reading. InputError if it cannot be read, also while it is read.

    A pipe will do, for `cellreap check <(zcat kept.gz)`. A named pipe without a writer is empty,
    and is not waited for. A device is refused: it may have no end.
    """
    try:
        with _opened(path) as stream:
            yield stream
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        what = error.strerror if isinstance(error, OSError) and error.strerror else error
        also = _near(Path(path)) if isinstance(error, FileNotFoundError) else ""
        raise InputError(str(path), None, None, f"cannot be read: {what}{also}") from None


def _near(path: Path) -> str:
    """A question about a file of the same folder with nearly the name."""
    try:
        near = closest(path.name, [each.name for each in path.parent.iterdir()])
    except OSError:  # there is no such folder, or it cannot be read
        near = None
    return "" if near is None else f"; did you mean {path.with_name(near)}?"


def _opened(path: str | Path) -> BufferedReader:
    # Without O_NONBLOCK, this call would wait for the writer of a named pipe.
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(file).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            raise ValueError("is a device, expected a file or a pipe")
        os.set_blocking(file, True)
        return os.fdopen(file, "rb")
    except BaseException:
        os.close(file)
        raise


def read_at_most(path: str | Path, most: int) -> bytes:
    """The content of a file, of which no more than one byte above `most` is read. The caller
    refuses what is too long. InputError if the file cannot be read.
    """
    with opened(path) as file:
        return file.read(most + 1)


def beside(path: Path, suffix: str) -> Path:
    """The file of the same name with another suffix. InputError if `path` names no file."""
    try:
        return path.with_suffix(suffix)
    except ValueError:  # ".", "/"
        raise InputError(str(path), None, None, "is a folder, expected a file") from None
