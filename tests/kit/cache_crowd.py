# SPDX-License-Identifier: BSD-2-Clause
"""Threads that use one cache all the time, and look for what must not happen.

    python -m kit.cache_crowd FOLDER SEED

It ends when FOLDER/stop is there. What must not happen is a line in FOLDER/wrong. The witnesses are
locks, too, so that a process that is killed leaves none behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from cellreap.progress import Progress
from cellreap.system.cache import Key, prune
from cellreap.system.store import use

THREADS = 4
FILES = 3
QUIET = Progress(quiet=True)


class Crowd:
    """The threads of one process."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._random = random.Random(seed)

    def run(self) -> None:
        threads = [
            threading.Thread(target=self._guarded, args=(self._random.random(),))
            for _ in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _guarded(self, seed: float) -> None:
        try:
            self._go(random.Random(seed))
        except BaseException:
            self._tell(traceback.format_exc())

    def _go(self, chance: random.Random) -> None:
        while not (self._folder / "stop").exists():
            key = Key("image", chance.choice("vw"), chance.choice("abc"))
            with use(key, partial(self._make, key), QUIET) as found:
                for _ in range(chance.randrange(4)):
                    self._look(found.folder, key)
                    time.sleep(chance.random() * 0.003)
                self._look(found.folder, key)
            self._note("used", key)
            if chance.random() < 0.1:
                prune(time.time() + 1)

    def _make(self, key: Key, folder: Path) -> str:
        with self._witness(key):
            for number in range(FILES):
                (folder / str(number)).write_text(f"{key} {number}")
                time.sleep(0.001)
        self._note("built", key)
        return "made"

    @contextlib.contextmanager
    def _witness(self, key: Key) -> Iterator[None]:
        with (self._folder / f"witness-{key.version}-{key.id}").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._tell(f"two build {key} at once")
            yield

    def _look(self, folder: Path, key: Key) -> None:
        for number in range(FILES):
            try:
                text = (folder / str(number)).read_text()
            except OSError as error:
                text = str(error)
            if text != f"{key} {number}":
                self._tell(f"file {number} of {key} in use: {text}")

    def _note(self, what: str, key: Key) -> None:
        self._append(what, f"{os.getpid()} {key.version}{key.id}")

    def _tell(self, text: str) -> None:
        self._append("wrong", text)

    def _append(self, name: str, line: str) -> None:
        with (self._folder / name).open("a") as file:
            file.write(f"{line}\n")


if __name__ == "__main__":
    Crowd(Path(sys.argv[1]), int(sys.argv[2])).run()
