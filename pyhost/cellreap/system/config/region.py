# SPDX-License-Identifier: BSD-2-Clause
"""[[region]]: memory and devices that PDs have from the start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from cellreap import headers
from cellreap.model.pages import LARGE_PAGE_BITS, PAGE_BITS, Pages
from cellreap.system.config.values import Bool, FilePath, Name, Word
from cellreap.system.toml_tables import Table, expect

PAGE: Final = 1 << PAGE_BITS
LARGE_PAGE: Final = 1 << LARGE_PAGE_BITS
PAGES_MAX: Final = headers.constant("protocol.h", "CR_MEMORY_PAGES_MAX")
_MOST = PAGES_MAX * LARGE_PAGE
_LAST = (1 << headers.constant("protocol.h", "CR_REGIONS_END_BITS")) - PAGE
_RegionSize = Annotated[
    int,
    Field(ge=PAGE, le=_MOST, multiple_of=PAGE),
    expect(f"a multiple of {PAGE} from {PAGE} to {_MOST}"),
]
_Address = Annotated[
    int,
    Field(ge=PAGE, le=_LAST, multiple_of=PAGE),
    expect(f"a multiple of {PAGE:#x} from {PAGE:#x} to {_LAST:#x}"),
]
_Physical = Annotated[
    int,
    Field(ge=0, lt=1 << 44, multiple_of=PAGE),
    expect(f"a multiple of {PAGE} below {1 << 44:#x}"),
]
_PageSize = Annotated[Literal[4096, 0x20_0000], expect(f"{PAGE} or {LARGE_PAGE:#x}")]
_After = Annotated[Literal["keep", "zero", "refill"], expect("keep, zero or refill")]


class Map(Table):
    """[[region.map]]: a PD that has the region in its address space from the start."""

    pd: Name
    """The PD. It has each region once."""
    address: _Address
    """Where the region begins there. Nothing else of the PD is there: not its program, not another
    region, and not its own pages from 0x10000000 to the end of its stack, which begins at
    0x10010000.
    """
    writable: Bool = False
    """Whether it may write there."""
    cached: Bool | None = None
    """Whether what it reads and writes there may be in a cache. By default memory is cached and a
    device is not. On aarch64 the processor only takes aligned accesses to what is not cached. On
    riscv64 the machine decides what is cached.
    """


class OnDeath(Table):
    """[[region.on_death]]: what the root task does to a register of a device when a PD that has it
    was stopped, before anything of the PD is used again. The entries are done in order.
    """

    offset: Word
    """The register, of 4 bytes: an offset in the region, a multiple of 4."""
    value: Word | None = None
    """What is written there."""
    until: Word | None = None
    """Then it is read until it is this. A device that never is holds up what is to be freed of its
    driver, which does not come back.
    """
    mask: Word = 0xFFFF_FFFF
    """The bits that are compared with `until`."""
    reads: Annotated[int, Field(ge=1, le=1_000_000), expect("an integer from 1 to 1000000")] = 1000
    """How often it is read at most, for `until`."""


class Region(Table):
    """[[region]]: memory that PDs have in their address spaces from the start, and have again when
    they come back. It goes with the last PD that has it.
    """

    name: Name
    """Unique among the regions."""
    size: _RegionSize
    """Its bytes: at most 512 pages."""
    page_size: _PageSize = 4096
    """The bytes of its pages, of which its size, its addresses and its place in memory are
    multiples. A device has small ones.
    """
    after: _After = "keep"
    """What becomes of its contents when a PD comes back and another one has it: they stay, or it is
    zero, or as at first, but for the word of `epoch`. If no other one has it, it is new. A device
    may be memory that the kernel does not know of: "zero" clears it whenever a PD gets it.
    """
    fill: FilePath | None = None
    """The file that it contains at first, from its beginning, relative to the folder of this file.
    The rest is zero.
    """
    epoch: Word | None = None
    """The offset, in bytes, of a word of 8 bytes that is one larger each time a PD that has the
    region is made, before its first instruction.
    """
    physical: _Physical | None = None
    """The physical address of a device. The region is then the registers of that device, and no
    memory: it is never cleared, and the same whenever a PD comes back. The root task's own devices,
    and what can stop the machine, are refused. The UART of the console needs `shared`. By default
    it is memory.
    """
    memory_at: _Physical | None = None
    """For memory: the physical address at which it is each time, a multiple of `page_size`. Nothing
    else is ever there. The memory of the kernel and of the root task's image is refused. By default
    it is anywhere.
    """
    physical_word: Word | None = None
    """For memory: the offset, in bytes, of a word of 8 bytes in which its PDs find the physical
    address of the region, which is contiguous. So they can have a device write there.
    """
    device: Name | None = None
    """For memory: the region of the device that may write there. `physical_word` needs it. Nobody
    gets the memory before the device is quiet. If the device has no `on_death`, only its own PDs
    may have the memory, and it is used for nothing but this region again.
    """
    shared: Bool = False
    """For a device: whether several PDs may have it, or regions with the same addresses. The UART
    of the console is shared with the kernel or the root task: who has it may receive, and can
    garble the trace.
    """
    on_death: Annotated[tuple[OnDeath, ...], Field(strict=False)] = ()
    """For a device: how it becomes quiet when its PD is stopped."""
    maps: Annotated[tuple[Map, ...], Field(strict=False, alias="map")]
    """The PDs that have it, at least one."""

    @property
    def pages(self) -> Pages:
        """Its pages."""
        return Pages(self.size // self.page_size, self.page_size.bit_length() - 1)

    @property
    def place(self) -> int | None:
        """The physical address of a device, or of memory that has one of its own."""
        return self.memory_at if self.physical is None else self.physical

    def caches(self, place: Map) -> bool:
        """Whether what a PD reads and writes there may be in a cache."""
        return self.physical is None if place.cached is None else place.cached


def kept_from_others(regions: Sequence[Region], region: Region) -> str | None:
    """The device that may write to a region for ever, since nothing makes it quiet."""
    devices = (each for each in regions if each.name == region.device)
    return next((each.name for each in devices if not each.on_death), None)
