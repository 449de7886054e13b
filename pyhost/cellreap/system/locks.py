# SPDX-License-Identifier: BSD-2-Clause
"""Locks of files, between the threads of a process and between processes.

flock uses a descriptor for each holder. A POSIX record lock would not exclude threads of one
process, and would be lost if other code closed the file. The kernel releases a lock when its holder
ends, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from cellreap.errors import CellreapError, InputError, UsageError
from cellreap.progress import Progress


class Lock:
    """A lock that is held until `release`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor
        self._process = os.getpid()

    def release(self) -> None:
        """Gives the lock back. A second call does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        try:
            if self._process == os.getpid():  # a child has the lock only because it was forked
                fcntl.flock(descriptor, fcntl.LOCK_UN)
        finally:
            os.close(descriptor)


def take(path: Path, *, shared: bool = False, on_wait: Callable[[], None] = lambda: None) -> Lock:
    """Locks the file `path`, and waits if necessary. The file and its folder are made if missing.

    shared: any number of holders, and no other. on_wait: called before it waits.
    """
    lock = _take(path, shared, on_wait)
    assert lock is not None
    return lock


def take_at_once(path: Path) -> Lock | None:
    """Locks the file `path` for one holder. None if somebody holds it."""
    return _take(path, False, None)


@contextlib.contextmanager
def file_lock(path: Path, progress: Progress) -> Iterator[None]:
    """A lock with one holder at a time, in this process and all others."""

    def tell() -> None:
        progress.note(f"waiting for another build to finish ({path})")

    lock = take(path, on_wait=tell)
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Nobody else writes the file, and what is made with it, for as long as the block lasts.

    UsageError if somebody does. What is no regular file is nobody's.
    """
    place = Path(os.path.realpath(path))
    if (place.exists() and not place.is_file()) or not os.access(place.parent, os.W_OK):
        yield
        return
    beside = place.with_name(f".{place.name}.lock")
    lock = take_at_once(beside)
    if lock is None:
        raise UsageError(f"{path}: another process writes it")
    try:
        yield
    finally:
        beside.unlink(missing_ok=True)
        lock.release()


@contextlib.contextmanager
def written_alone(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that nobody else writes."""
    with alone(path):
        try:
            file = path.open("wb")
        except OSError as error:
            text = f"cannot be written: {error.strerror}"
            raise InputError(str(path), None, None, text) from None
        with file:
            yield file


def _take(path: Path, shared: bool, on_wait: Callable[[], None] | None) -> Lock | None:
    """on_wait: None: do not wait."""
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        descriptor = _opened(path)
        try:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                if on_wait is None:
                    os.close(descriptor)
                    return None
                on_wait()
                fcntl.flock(descriptor, kind)
            # Who deletes an entry deletes its locks, while it holds them. A lock of a file that is
            # no longer there excludes nobody who comes later.
            if _is_there(path, descriptor):
                return Lock(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        while True:
            _make_folder(path.parent)
            with contextlib.suppress(FileNotFoundError):
                # Without O_CREAT: in a folder for all, the kernel refuses it for others' files.
                return os.open(path, os.O_RDWR | os.O_CLOEXEC)
            with contextlib.suppress(FileNotFoundError):  # an empty folder is deleted meanwhile
                return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise CellreapError(f"{path}: cannot be used as a cache: {error.strerror}") from None


def _make_folder(folder: Path) -> None:
    """Makes it, unless it is there. It may be deleted at any time: then it may not be there.

    `mkdir` finds first that something is there and then that it is no folder, if it is deleted in
    between.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(folder.lstat().st_mode):
                return
            raise


def _is_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
