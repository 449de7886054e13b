# SPDX-License-Identifier: BSD-2-Clause
"""What the result of a cell depends on, as a name: whatever of it changes, the cell is run anew.

It is the name that the cache of images has for all that an image is made from: configuration,
programs, headers, kernel, root task, compiler and this package. What runs the image is added: the
settings of the campaign, and the emulator or the description of the board.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from cellreap.api.systems import kernel_for
from cellreap.boards.description import Qemu, load_description
from cellreap.cached import digest_of
from cellreap.campaign.matrix import Campaign, Cell, Settings
from cellreap.campaign.no_result import tells_full_disk
from cellreap.errors import CellreapError
from cellreap.platforms import emulator_of
from cellreap.progress import Progress
from cellreap.system.build import ingredients_of
from cellreap.system.fills import fills_of
from cellreap.system.image_cache import made_from
from cellreap.system.programs import Source, programs_of
from cellreap.system.saved import saved_of
from cellreap.system.toolchain import ToolError

QUIET = Progress(quiet=True)
NOTE = "made-from"
"""A file in the folder of a cell: what the rest of the folder was made from."""

T = TypeVar("T")


def identified(campaign: Campaign) -> Campaign:
    """The campaign, whose cells have the names of all that their results depend on.

    Builds what images are linked from. A cell that does not build is named after its error: its
    flow finds the same one, which is its result. CellreapError if a disk is full.
    """
    finder = _Finder()
    cells = (
        replace(cell, made_from=named(cell, campaign.settings, finder.image(cell)))
        for cell in campaign.cells
    )
    return replace(campaign, cells=tuple(cells))


def named(cell: Cell, settings: Settings, image: str) -> str:
    """The name of all that the result of a cell depends on. image: what its image is made from."""
    how = repr(sorted(settings.model_dump(exclude={"name"}).items()))
    return digest_of(image, how, *_machine(cell))


def noted(folder: Path) -> str:
    """What the folder of a cell was made from. Empty if it does not say so."""
    try:
        return (folder / NOTE).read_text()
    except FileNotFoundError:
        return ""


def have_folder(folder: Path, cell: Cell) -> None:
    """Makes the folder of a cell, and empties it if what it has was made from something else."""
    if noted(folder) != cell.made_from:
        (folder / NOTE).unlink(missing_ok=True)  # first: what is left now is of no use
        if folder.exists():
            shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NOTE).write_text(cell.made_from)


class _Finder:
    """Builds what cells have in common once, and has each failure once."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}

    def image(self, cell: Cell) -> str:
        """A name for all that the image of a cell is made from, or for what is wrong with it."""
        try:
            return self._image(cell)
        except CellreapError as error:
            if tells_full_disk(error):
                raise
            # The message has the path of a log, which is another one each time.
            return f"error: {error.cause if isinstance(error, ToolError) else error}"

    def _image(self, cell: Cell) -> str:
        system = cell.system()
        sdk = self._once(
            (cell.arch, cell.kernel), lambda: kernel_for(cell.arch, cell.kernel_path, QUIET)
        )
        source = Source(system.config, system.text, system.path)
        config = system.config
        shared = (
            *(cell.arch, cell.kernel, cell.config, repr(config.programs)),
            tuple(programs_of(config)),
        )
        found = self._once(shared, lambda: ingredients_of(source, sdk, QUIET))
        return made_from(
            *(source, sdk, found.parts, found.programs, system.overrides),
            machine_bytes=None,
            saved=saved_of(source),
            fills=fills_of(source),
        )

    def _once(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self._found:
            try:
                self._found[key] = make()
            except CellreapError as error:
                self._found[key] = error
        found = self._found[key]
        if isinstance(found, CellreapError):
            raise found
        made: T = found
        return made


def _machine(cell: Cell) -> list[str]:
    """Names for what runs a cell."""
    emulator = shutil.which(emulator_of(cell.arch)) or ""
    if cell.board is None:
        return [_content(Path(emulator))]
    described = load_description(cell.board_path())
    if described.board.driver != "qemu-uboot":
        return [repr(described)]
    bios = Path((described.qemu or Qemu()).bios).expanduser()
    return [repr(described), _content(Path(emulator)), _content(bios)]


@functools.cache
def _content(path: Path) -> str:
    """A name for the content of a file. Empty if it cannot be read."""
    try:
        return digest_of(path.read_bytes())
    except OSError:
        return ""
