# SPDX-License-Identifier: BSD-2-Clause
"""The cache of builds: its place, its keys, and what is in it.

What is built from many files is a folder `{name}/{version}/{id}` (NAMES; `store.use` makes it).
Beside it are its two locks and, while it is made, a folder `.{id}.{random}.part`. The compiler of a
builder that was killed may run on: it has a folder of its own, and writes into nobody else's. What
is one file, such as an object file, is put there whole by `keep` and needs no lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cellreap.cached import cache_folder
from cellreap.errors import UsageError
from cellreap.system.locks import take_at_once


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
        for path in sorted(_files_below(str(folder), suffixes)):
            content = Path(path).read_bytes()
            total.update(f"{path.removeprefix(f'{root}/')}\0{len(content)}\0".encode())
            total.update(content)
    return total.hexdigest()[:24]


def _files_below(folder: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    # pathlib would take as long as all the rest of a build that finds everything in the cache.
    for place, _, names in os.walk(folder):
        paths = (f"{place}/{name}" for name in names if name.endswith(suffixes))
        yield from filter(os.path.isfile, paths)


NAMES = ("pds", "roottask", "conformance", "kernel", "image")
"""The names of what is kept as folders with locks."""
DONE = "complete"
"""A file that is written last into a folder of the cache. A folder without it is incomplete."""
_PART = ".part"
_SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LIMIT = "CELLREAP_CACHE_SIZE"
_DEFAULT_LIMIT = "10G"
_LOOKED = ".looked"
LOOK_SECONDS = 60.0
"""How often a build looks how large the cache is."""


@dataclass(frozen=True)
class Key:
    """Which folder of the cache: something in one version, and the id of all that it depends on.

    Of one name and version, only the newest id is of use. Who builds it removes the others.
    """

    name: str
    version: str
    id: str


@dataclass(frozen=True)
class Place:
    """The folder of a key and the files beside it."""

    folder: Path

    @classmethod
    def of(cls, key: Key, env: Mapping[str, str] | None = None) -> Place:
        """The place of a key, whether something is there or not."""
        return cls(cache_folder(env) / key.name / key.version / key.id)

    @property
    def use_lock(self) -> Path:
        """The lock that is shared by all that use the folder, or are about to."""
        return self.folder.with_name(f".{self.folder.name}.use")

    @property
    def build_lock(self) -> Path:
        """The lock of the one that builds the folder. Its holder has the use lock, too."""
        return self.folder.with_name(f".{self.folder.name}.build")

    def new_part(self) -> Path:
        """Where a builder makes the folder. No other builder has the same."""
        return self.folder.with_name(f".{self.folder.name}.{secrets.token_hex(4)}{_PART}")

    def parts(self) -> list[Path]:
        """What builders have made, or were making when they were killed."""
        return sorted(self.folder.parent.glob(f".{self.folder.name}.*{_PART}"))

    def clear(self) -> None:
        """Deletes what is there, as far as it can. The caller has a lock."""
        for path in (self.folder, *self.parts()):
            shutil.rmtree(path, ignore_errors=True)

    @property
    def is_complete(self) -> bool:
        """Whether the folder is there and can be used."""
        return (self.folder / DONE).is_file()

    def others(self) -> list[Place]:
        """The places of the other ids of the same name and version."""
        return [each for each in places_below(self.folder.parent) if each != self]

    def remove(self) -> bool:
        """Deletes the folder, unless somebody uses or builds it. It waits for nobody."""
        lock = take_at_once(self.use_lock)
        if lock is None:
            return False
        try:
            # A folder in use is complete. So it stops being that first, and then goes.
            if self.folder.is_dir():
                self.folder.rename(self.new_part())
            self.clear()
            # The holder of the use lock alone excludes all that hold the build lock.
            self.build_lock.unlink(missing_ok=True)
            self.use_lock.unlink(missing_ok=True)
        finally:
            lock.release()
        with contextlib.suppress(OSError):  # other ids are there
            self.folder.parent.rmdir()
        return True


def places_below(folder: Path) -> list[Place]:
    """The places of a version that have a folder, complete or not."""
    names = set()
    for path in folder.glob("*"):
        name = path.name
        if name.startswith("."):
            name = name[1 : -len(_PART)].rpartition(".")[0] if name.endswith(_PART) else ""
        if name and path.is_dir():
            names.add(name)
    return [Place(folder / name) for name in sorted(names)]


@dataclass(frozen=True)
class Entry:
    """Something in the cache that can be used again, or deleted, by itself."""

    kind: str
    """The folder of the cache that it is in."""
    path: Path
    bytes: int
    used: float
    """When it was used last, as time.time() counts."""

    @property
    def name(self) -> str:
        """Its name in the folder of its kind: for a folder with locks, its version and id."""
        parts = self.path.parts[-2:] if self.kind in NAMES else self.path.parts[-1:]
        return "/".join(parts)

    def delete(self) -> bool:
        """Deletes it, unless somebody uses or builds it."""
        if self.kind in NAMES:
            return Place(self.path).remove()
        if self.path.is_dir():
            return _delete_unlocked(self.path)
        self.path.unlink(missing_ok=True)
        return True


def touch(folder: Path) -> None:
    """Notes that a folder of the cache is used now, if it can be noted."""
    with contextlib.suppress(OSError):
        os.utime(folder / DONE)


def entries(env: Mapping[str, str] | None = None) -> list[Entry]:
    """What the cache has, without the locks."""
    root = cache_folder(env)
    places = (
        (name, place)
        for name in NAMES
        for version in sorted((root / name).glob("*"))
        for place in places_below(version)
    )
    found = [_folder_entry(name, place.folder, *place.parts()) for name, place in places]
    for path in sorted(root.glob("*/*")):
        kind = path.parent.name
        if kind in NAMES or path.suffix == ".lock" or path.name.startswith("."):
            continue
        if path.is_dir():  # of an earlier version of this program
            found.append(_folder_entry(kind, path))
            continue
        with contextlib.suppress(FileNotFoundError):  # deleted in the meantime
            state = path.stat()
            found.append(Entry(kind, path, state.st_size, state.st_mtime))
    return found


def _folder_entry(kind: str, folder: Path, *more: Path) -> Entry:
    size, used = 0, 0.0
    for part in (folder, *more):
        with contextlib.suppress(FileNotFoundError):  # deleted in the meantime
            size += sum(file.lstat().st_size for file in part.rglob("*") if not file.is_dir())
        for path in (part / DONE, part):
            with contextlib.suppress(FileNotFoundError):
                used = max(used, path.stat().st_mtime)
                break
    return Entry(kind, folder, size, used)


def prune(before: float, size: int | None = None) -> list[Entry]:
    """Deletes what was last used before this time, except what is in use or being built.

    size: also deletes what was used longest ago, until the rest has at most so many bytes.

    Returns what it deleted.
    """
    kept = sorted(entries(), key=lambda entry: entry.used)
    total = sum(entry.bytes for entry in kept)
    gone = []
    for entry in kept:
        if (entry.used < before or (size is not None and total > size)) and entry.delete():
            gone.append(entry)
            total -= entry.bytes
    return gone


def keep_to_limit() -> None:
    """Deletes what was used longest ago if the cache is larger than $CELLREAP_CACHE_SIZE.

    To look at all of a large cache takes longer than to build an image. So it looks once in
    LOOK_SECONDS, whichever process that is.
    """
    limit, looked = size_limit(), cache_folder() / _LOOKED
    with contextlib.suppress(OSError):
        if 0 <= time.time() - looked.stat().st_mtime < LOOK_SECONDS:
            return
    with contextlib.suppress(OSError):  # then the next one looks, too
        looked.touch()
    prune(0.0, limit)


def size_limit(env: Mapping[str, str] | None = None) -> int:
    """The bytes that the cache may have. UsageError if the environment says no size."""
    env = os.environ if env is None else env
    text = env.get(_LIMIT) or _DEFAULT_LIMIT
    size = bytes_of(text)
    if size is None:
        raise UsageError(f"{_LIMIT}={text}: expected a size, such as 500M or {_DEFAULT_LIMIT}")
    return size


def bytes_of(text: str) -> int | None:
    """The bytes of a size such as `500M`. None if it is none."""
    unit = _SIZES.get(text[-1:].upper())
    number = text[:-1] if unit else text
    return int(number) * (unit or 1) if number.isascii() and number.isdecimal() else None


def _delete_unlocked(folder: Path) -> bool:
    """Deletes a folder that has one lock, as earlier versions of this program have it."""
    lock = take_at_once(folder.with_name(f"{folder.name}.lock"))
    if lock is None:
        return False
    try:
        (folder / DONE).unlink(missing_ok=True)  # first, so that nobody uses what is left of it
        shutil.rmtree(folder)
        return True
    finally:
        lock.release()
