# SPDX-License-Identifier: BSD-2-Clause
"""What the regions of a configuration take: memory, and steps of making.

system/memory.c of the root task works it out in the same way.
"""

from __future__ import annotations

from cellreap.model.pages import Pages
from cellreap.system.capdl.target import Target
from cellreap.system.config import PAGE, Config, Pd, Region

_OBJECT_STEPS, _MAP_STEPS = 4, 7
"""slot, block, CNode, node; and of a region its pages and two edges."""


def bytes_of_place(region: Region, target: Target) -> int:
    """What the root task takes for a region that has its place when it starts: the untyped of the
    CNode with its frames, and the memory itself.
    """
    memory = 0 if region.memory_at is None else region.size
    return memory if region.place is None else memory + _cnode(region, target)


def bytes_of_object(region: Region, target: Target) -> int:
    """The untyped of the memory object."""
    if region.place is not None:
        return _power_of_2(_cnode(region, target))
    return _power_of_2(_up(_cnode(region, target), region.page_size) + region.size)


def bytes_of_map(region: Region, target: Target) -> int:
    """The untyped of the region in an address space."""
    return _power_of_2(_cnode(region, target))


def ranges_of(config: Config, pd: str) -> tuple[tuple[int, Pages], ...]:
    """The regions of a PD: the first address and the pages of each."""
    return tuple(
        (each.address, region.pages)
        for region in config.regions
        for each in region.maps
        if each.pd == pd
    )


def steps_of(config: Config, pd: Pd, fan_out: int) -> tuple[int, int]:
    """The steps, and at most so many kernel calls, by which a PD gets its regions, if nobody else
    has them.
    """
    steps = calls = 0
    for region in config.regions:
        pages = region.pages.count
        copied = region.place is not None
        batches = 1 if copied else -(-pages // fan_out)
        words = (region.epoch, region.fill, region.physical_word, region.memory_at)
        fills = region.after != "keep" or any(word is not None for word in words)
        if any(each.pd == pd.name for each in region.maps):
            steps += _OBJECT_STEPS + batches + _MAP_STEPS + 1 + fills
            calls += 1 + (pages if copied else batches) + 3 + 2 * pages + fills * (2 + 2 * pages)
    return steps, calls


def _cnode(region: Region, target: Target) -> int:
    """The CNode, up to the next page: it has at least two slots."""
    return _up(max(_power_of_2(region.pages.count), 2) << target.slot_bits, PAGE)


def _up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple


def _power_of_2(count: int) -> int:
    return 1 << (count - 1).bit_length()
