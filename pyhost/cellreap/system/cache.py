# SPDX-License-Identifier: BSD-2-Clause
"""The cache of builds: its place, its keys, and its locks."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cellreap.errors import CellreapError
from cellreap.progress import Progress


def cache_folder(env: Mapping[str, str] | None = None) -> Path:
    """The folder of builds: $XDG_CACHE_HOME/cellreap."""
    env = os.environ if env is None else env
    base = Path(env.get("XDG_CACHE_HOME") or Path(env.get("HOME", "~")) / ".cache")
    return base.expanduser() / "cellreap"


def digest(
    root: Path, folders: Iterable[Path], facts: Iterable[str], suffixes: tuple[str, ...] = ("",)
) -> str:
    """A name for the files in these folders, by their paths below `root`, and for these facts.

    suffixes: how the names of the files end.
    """
    total = hashlib.sha256()
    for fact in facts:
        total.update(f"{fact}\0".encode())
    for folder in folders:
        paths = (path for path in folder.rglob("*") if path.name.endswith(suffixes))
        for path in sorted(path for path in paths if path.is_file()):
            content = path.read_bytes()
            total.update(f"{path.relative_to(root)}\0{len(content)}\0".encode())
            total.update(content)
    return total.hexdigest()[:24]


def digest_of(*facts: str | bytes) -> str:
    """A name for these facts, in this order."""
    total = hashlib.sha256()
    for fact in facts:
        raw = fact.encode() if isinstance(fact, str) else fact
        total.update(f"{len(raw)}\0".encode())
        total.update(raw)
    return total.hexdigest()[:24]


def kept(path: Path) -> bytes | None:
    """The content of a file in the cache; None if there is none. The file counts as used now."""
    try:
        content = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    return content


def keep(path: Path, content: bytes) -> None:
    """Puts a file into the cache, whole or not at all."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_bytes(content)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise CellreapError(f"{path}: cannot be used as a cache: {error.strerror}") from None


@dataclass(frozen=True)
class Entry:
    """Something in the cache that can be used again, or deleted, by itself."""

    kind: str
    """The folder of the cache that it is in."""
    path: Path
    bytes: int
    used: float
    """When it was used last, as time.time() counts."""


DONE = "complete"
"""A file that is written last into a folder of the cache. A folder without it is incomplete."""


def touch(path: Path) -> None:
    """Notes that a folder of the cache is used now, if it can be noted."""
    with contextlib.suppress(OSError):
        os.utime(path / DONE)


def entries() -> list[Entry]:
    """What the cache has, without the locks, and without what is being made now."""
    found = []
    for path in sorted(cache_folder().glob("*/*")):
        try:
            if path.is_dir():
                sizes = [file.lstat().st_size for file in path.rglob("*") if not file.is_dir()]
                done = path / DONE
                used = (done if done.exists() else path).stat().st_mtime
                found.append(Entry(path.parent.name, path, sum(sizes), used))
            elif path.suffix != ".lock" and not path.name.startswith("."):
                state = path.stat()
                found.append(Entry(path.parent.name, path, state.st_size, state.st_mtime))
        except FileNotFoundError:
            continue  # deleted in the meantime
    return found


def prune(before: float) -> list[Entry]:
    """Deletes what was last used before this time, except what a build holds now.

    Returns what it deleted. Locks stay: whoever waits for one must find the same file.
    """
    gone = []
    for entry in entries():
        if entry.used >= before:
            continue
        if entry.path.is_dir():
            if not _delete_unlocked(entry.path):
                continue
        else:
            entry.path.unlink(missing_ok=True)
        gone.append(entry)
    return gone


def _delete_unlocked(folder: Path) -> bool:
    descriptor = os.open(lock_of(folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        (folder / DONE).unlink(missing_ok=True)  # first, so that nobody uses what is left of it
        shutil.rmtree(folder)
        return True
    finally:
        os.close(descriptor)


def lock_of(folder: Path) -> Path:
    """The lock that whoever makes this folder of the cache holds."""
    return folder.with_name(f"{folder.name}.lock")


@contextlib.contextmanager
def file_lock(path: Path, progress: Progress) -> Iterator[None]:
    """A lock with one holder at a time, in this process and all others.

    The lock ends with its holder, however the holder ends. flock uses a descriptor for each holder.
    A POSIX record lock would not exclude threads of one process, and would be lost if other code
    closed the file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise CellreapError(f"{path}: cannot be used as a cache: {error.strerror}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.note(f"waiting for another build to finish ({path})")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # also releases the lock
