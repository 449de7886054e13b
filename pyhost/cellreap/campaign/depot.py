# SPDX-License-Identifier: BSD-2-Clause
"""Where the tasks of a cell keep what the next ones need: a folder, if one machine runs them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

BOOTS = "boots"


class Depot(Protocol):
    """What a task may ask of the place where its cell is kept."""

    def assert_owned(self) -> None:
        """Ends this process if another one has the cell by now."""

    def keep(self, name: str, paths: Sequence[Path]) -> Any:
        """Keeps files and folders. Returns what `fetch` needs to have them back."""

    def fetch(self, kept: Any, first: Path) -> None:
        """Has what was kept back. first: the first path, which is there if all are."""

    def note_boot(self) -> None:
        """Counts a boot before it begins."""


class FolderDepot:
    """The cell's folder, which has all files where the tasks expect them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def assert_owned(self) -> None:
        """Nobody else has the cell: the campaign's folder is locked."""

    def keep(self, name: str, paths: Sequence[Path]) -> None:
        """They stay where they are."""

    def fetch(self, kept: Any, first: Path) -> None:
        """They are where they were."""

    def note_boot(self) -> None:
        """Adds a line to a file."""
        with (self._folder / BOOTS).open("a") as file:
            file.write("boot\n")


def boots_of(folder: Path) -> int:
    """How often the cell in a folder was booted, by anybody."""
    path = folder / BOOTS
    return len(path.read_text().splitlines()) if path.exists() else 0
