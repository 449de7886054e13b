# SPDX-License-Identifier: BSD-2-Clause
"""Uses a folder of the cache, and builds it first if it is not there.

A folder has two locks. The use lock is shared by all that use the folder, or are about to. The
build lock has one holder, who builds. The order in which they are taken:

1. the use lock of the folder; who removes a folder holds it alone, and waits for nothing then
2. if the folder is not there, its build lock. Whoever holds it has the use lock, too, and waits for
   nothing but its compiler
3. after the build lock is given back: the use locks of the other ids of the same name and version,
   each only if nobody holds it

So nobody waits for a lock while it holds one for which others wait, except for the build lock under
the shared use lock, which no one waits to have alone. No lock changes from shared to exclusive.
tests/proof/cache.pml is this protocol for spin.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from pathlib import Path

from cellreap.errors import CellreapError
from cellreap.progress import Progress
from cellreap.system.cache import DONE, Key, Place, keep_to_limit, touch
from cellreap.system.locks import Lock, file_lock, take


class Use:
    """A folder of the cache in use. Nobody removes it before `close`, or before this object goes.

    The files in it must not be written.
    """

    def __init__(self, folder: Path, reused: bool, lock: Lock) -> None:
        self.folder = folder
        self.reused = reused
        self._end = weakref.finalize(self, lock.release)

    def close(self) -> None:
        """Ends the use. A second call does nothing."""
        self._end()

    def __enter__(self) -> Use:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def use(
    key: Key,
    make: Callable[[Path], str],
    progress: Progress,
    env: Mapping[str, str] | None = None,
) -> Use:
    """Uses the folder of a key.

    make: fills the folder that it is given, which is then renamed, and returns a note that is kept
    with it. It is called only if the folder is not in the cache. What it raises is raised here, and
    what it made stays beside the folder until the next build, with its log.
    """
    place = Place.of(key, env)
    lock = take(place.use_lock, shared=True)
    try:
        reused = place.is_complete or not _built(place, make, progress)
    except BaseException:
        lock.release()
        raise
    found = Use(place.folder, reused, lock)
    if reused:
        touch(place.folder)
    else:
        for other in place.others():
            other.remove()
        keep_to_limit()
    return found


def _built(place: Place, make: Callable[[Path], str], progress: Progress) -> bool:
    """Builds the folder. False if another did it meanwhile."""
    with file_lock(place.build_lock, progress):
        if place.is_complete:
            return False
        place.clear()  # of builders that failed or were killed
        part = place.new_part()
        try:
            part.mkdir()
            note = make(part)
            (part / DONE).write_text(note)
            part.rename(place.folder)
        except OSError as error:
            what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            raise CellreapError(f"{place.folder}: cannot be built in the cache: {what}") from None
        return True
