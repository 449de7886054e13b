# SPDX-License-Identifier: BSD-2-Clause
"""Which untypeds a kernel for Arm hands out, before it boots.

A kernel has room for MAX_NUM_BOOTINFO_UNTYPED_CAPS of them. First come those of devices, then the
memory that only its boot needed, then free memory from the start of each region on. Memory that is
left without a place is lost, and nothing tells so. An untyped is as large as its alignment, so how
many there are depends on where the image of the root task ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from cellreap.errors import InputError
from cellreap.system.elf import Executable
from cellreap.system.sections import SectionsError, sections_of

_PAGE: Final = 1 << 12
_LEAST_BITS: Final = 4  # seL4_MinUntypedBits
_FEW: Final = 100  # part of the memory that may be lost before the image is made longer
_MOST_PADDING: Final = 8 << 20
_OTHER_SLOTS: Final = 512  # of the first CNode: for untypeds and what the root task begins with

Region = tuple[int, int]
"""[start, end) in bytes."""


@dataclass(frozen=True)
class Room:
    """What becomes of memory."""

    user_end: int
    """Where the image of the root task has to end."""
    lost: int
    """The bytes for which the kernel has no untyped."""
    free: tuple[Region, ...]
    """What neither the kernel nor that image has."""


def place(
    options: Mapping[str, Any],
    kernel: Executable,
    platform: Path,
    regions: tuple[Region, ...],
    least: int,
) -> Room:
    """Where the image of the root task has to end, so that little memory is lost.

    platform: the SDK's list of devices and memory. regions: that memory. least: where the image
    ends without padding.
    """
    limit = int(options["MAX_NUM_BOOTINFO_UNTYPED_CAPS"])
    loaded = max(segment.paddr + segment.memory_bytes for segment in kernel.segments)
    slots = (1 << int(options["ROOT_CNODE_SIZE_BITS"])) - _OTHER_SLOTS
    devices = read_devices(platform)
    rooms: list[Room] = []
    for bits in range(_PAGE.bit_length() - 1, _MOST_PADDING.bit_length()):
        end = -(-least >> bits) << bits
        if rooms and (end - loaded) // _PAGE > slots:
            break  # each page of the image takes a slot
        free = tuple(_free(options, kernel, regions, end))
        left = max(limit - sum(1 for region in devices for _ in cut(*region)), 0)
        sizes = [size for region in free for size in cut(*region)]
        rooms.append(Room(end, sum(sizes) - sum(islice(sizes, left)), free))
    best = min(room.lost for room in rooms)
    few = sum(end - start for start, end in regions) // _FEW
    return next(room for room in rooms if room.lost <= best + few)


def read_devices(path: Path) -> list[Region]:
    """The devices of a platform_gen.json. InputError if they are wrong."""
    try:
        found = json.loads(path.read_bytes()).get("devices", [])
        return [(int(each["start"]), int(each["end"])) for each in found]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        message = 'expected {"devices": [{"start": ..., "end": ...}]}'
        raise InputError(str(path), None, "devices", message) from None


def cut(start: int, end: int) -> Iterator[int]:
    """The sizes of the untypeds of a region, as create_untypeds_for_region of the kernel has it."""
    while start < end:
        size = 1 << (end - start).bit_length() - 1
        size = min(size, start & -start) if start else size
        if size >= 1 << _LEAST_BITS:
            yield size
        start += size


def _free(
    options: Mapping[str, Any], kernel: Executable, regions: tuple[Region, ...], user_end: int
) -> Iterator[Region]:
    """What is free of memory, in the kernel's order. The kernel's own objects are at the end."""
    first = min(segment.paddr for segment in kernel.segments)
    yield first, first + _boot_bytes(kernel)
    size, alignment = _root_bytes(options)
    for start, end in regions:
        low = user_end if start <= first < end else start
        if (start, end) != regions[-1]:
            yield low, end
            continue
        objects = (end - size) & -alignment
        yield from ((low, objects), (objects + size, end))


def _boot_bytes(kernel: Executable) -> int:
    """What the kernel needs for its boot only. 0 if its file does not say."""
    try:
        found = sections_of(kernel.raw).symbols["ki_boot_end"]
    except (SectionsError, KeyError):
        return 0
    return found.value - min(segment.vaddr for segment in kernel.segments)


def _root_bytes(options: Mapping[str, Any]) -> tuple[int, int]:
    """The bytes of the objects of the first thread, about, and their alignment."""
    cnode = 32 << int(options["ROOT_CNODE_SIZE_BITS"])
    return cnode + 16 * _PAGE, cnode
