# SPDX-License-Identifier: BSD-2-Clause
"""Which function and source line an address of a program is in, from the program's ELF file.

The places that were asked for are kept in the cache: the runs of a system fault at the same ones.
"""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cellreap.cached import remembered

if TYPE_CHECKING:
    from cellreap.system.dwarf import DebugInfo


@dataclass(frozen=True)
class Place:
    """Where an address is in the source of a program. None: not known."""

    address: int
    function: str | None = None
    inlined_into: str | None = None
    """The function that the code of `function` was copied into."""
    file: str | None = None
    line: int | None = None
    offset: int | None = None
    """Without debug information, `function` is the nearest symbol, and this the distance to it."""

    def __str__(self) -> str:
        if self.function is None and self.file is None:
            return f"{self.address:#x}, where no symbol is"
        if self.offset is not None:
            near = f"{self.function}+{self.offset:#x}"
            return f"{near} (the nearest symbol; there is no debug information)"
        name = f"{self.function or 'no function'}"
        line = "" if self.file is None else f" at {self.file}:{self.line}"
        return f"{name}{line}{f', inlined into {self.inlined_into}' if self.inlined_into else ''}"


@functools.lru_cache(maxsize=1024)
def place_in(raw: bytes, address: int) -> Place:
    """The place of an address in a program.

    raw: the ELF file, already checked (read_executable).
    """
    facts: list[str | bytes] = [*_readers(), raw, str(address)]
    found = remembered("places", facts, lambda: asdict(_debug_info(raw).place(address)))
    return Place(**found)


@functools.cache
def _readers() -> list[bytes]:
    """The code that reads places."""
    return [path.read_bytes() for path in (Path(__file__), Path(__file__).with_name("dwarf.py"))]


@functools.lru_cache(maxsize=32)
def _debug_info(raw: bytes) -> DebugInfo:
    """The tables of a program. A process reads them once, for all places in it."""
    from cellreap.system.dwarf import DebugInfo  # pyelftools takes long to import

    return DebugInfo(raw)
