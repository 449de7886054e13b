# SPDX-License-Identifier: BSD-2-Clause
"""The memory of a system: what its bodies take, and what the machine has for them.

The kernel divides memory only when it boots. So the room is what is left at the very most, and a
system that needs more cannot run. One that needs less may still be refused by the root task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cellreap import headers
from cellreap.system.capdl.target import Target
from cellreap.system.config import tables
from cellreap.system.config.tables import bytes_of
from cellreap.system.elf import Executable
from cellreap.system.image import Sizes
from cellreap.system.programs import Source
from cellreap.system.regions import bytes_of_map, bytes_of_object

_PAGE: Final = 4096
_FIRST_SLOTS: Final = 64 + 100
"""The slots that the image and the root task leave at least: those that a kernel fills before, and
those for untypeds: the kernels that we know give less than 100."""


@dataclass(frozen=True)
class Memory:
    """The memory of a system, in bytes."""

    tables: int
    """The root task's tables, as large as the configuration needs."""
    own: int
    """Kernel objects of the root task, and the pages of its tables."""
    bodies: int
    """The bodies of all configured PDs, and their regions."""
    quotas: int
    """What the configuration sets aside for PDs that are spawned."""
    machine: int
    """The machine's memory."""
    room: int
    """What the machine has at most for kernel objects of the root task, bodies and quotas."""


def room_of(root_task: Executable, memory: tuple[int, int], cspace: int) -> int:
    """What is left of memory [start, end) at the very most.

    The root task takes some, and its CSpace is made from an untyped of which nothing else is made
    (untyped.c).
    """
    start, end = memory
    taken = sum(segment.memory_bytes for segment in root_task.segments)
    return max(end - start - taken - cspace, 0)


def check_slots(
    source: Source,
    programs: Mapping[str, bytes],
    root_task: Executable,
    options: Mapping[str, Any],
) -> None:
    """InputError if the kernel's first CNode has too few slots for the root task's image.

    Each page of the image takes one. Those that are left are for untypeds: the kernel gives no more
    of them than there are slots, and the root task would start with too little memory.

    programs: by name; the image has them all. options: the kernel's gen_config.json.
    """
    bits = int(options["ROOT_CNODE_SIZE_BITS"])
    start = min(segment.vaddr for segment in root_task.segments) // _PAGE
    end = max(segment.vaddr + segment.memory_bytes for segment in root_task.segments)
    own = headers.own_constant("kernel/kernel.h", "CR_BOOT_SLOTS")
    pages, most = -(-end // _PAGE) - start, (1 << bits) - _FIRST_SLOTS - own
    if pages <= most:
        return
    pds = source.config.pds
    i = max(range(len(pds)), key=lambda i: len(programs[pds[i].program]))
    name = pds[i].program
    largest = f'"{name}" has {len(programs[name])} bytes, and no program of the system has more'
    has = f"the root task's image has {pages} pages with all programs; expected at most {most}"
    kernel = f"with KernelRootCNodeSizeBits = {bits} the kernel has slots for no more"
    raise source.refuse(("pd", i, "program"), f"{largest}; {has}: {kernel}")


def memory_of(
    source: Source,
    sizes: Sizes,
    root_task: Executable,
    memory: tuple[int, int],
    target: Target,
    saved: int = 0,
) -> Memory:
    """The memory of a system. InputError if it needs more than there can be.

    memory: [start, end) of the machine's memory, in bytes. saved: bytes of the bodies of
    PDs of a saved state, which are there when the others are made.
    """
    pds, machine = source.config.pds, memory[1] - memory[0]
    rows = tables(source.config)
    cspace = 4 * rows["pool"] << target.slot_bits  # cr_cspace_bits of kernel.c
    room = room_of(root_task, memory, cspace)
    has = f"the machine has at most {room} of {machine} for PDs"
    taken = sizes.base_bytes
    for i, pd in enumerate(pds):
        taken += sizes.bodies[pd.name]
        if taken > room:
            body = f'the body of "{pd.name}" takes {sizes.bodies[pd.name]} bytes of memory'
            raise source.refuse(("pd", i), f"{body}, {taken} with all before it; {has}")
    for i, region in enumerate(source.config.regions):
        taken += bytes_of_object(region, target) + len(region.maps) * bytes_of_map(region, target)
        if taken > room:
            said = f'"{region.name}" takes {region.size} bytes of memory, {taken} with all before'
            raise source.refuse(("region", i), f"{said} it and all page tables; {has}")
    if taken + saved > room:
        said = f"the saved state takes {saved} bytes of memory, {taken + saved} with all bodies"
        raise source.refuse(("system", "reconcile"), f"{said}; {has}")
    bodies = taken - sizes.base_bytes
    for i, pd in enumerate(pds):
        taken += pd.quota.bytes or 0
        if taken > room:
            said = f"is {pd.quota.bytes}, {taken} with all bodies and the quotas before it"
            raise source.refuse(("pd", i, "quota", "bytes"), f"{said}; {has}")
    pages = 0  # they must be free when the bytes are set aside
    for i, pd in enumerate(pds):
        pages += pd.quota.pages or 0
        if taken + pages * _PAGE > room:
            said = f"is {pd.quota.pages}, {pages} with those before it, and {taken} bytes are taken"
            raise source.refuse(("pd", i, "quota", "pages"), f"{said}; {has}")
    return Memory(
        tables=bytes_of(rows),
        own=sizes.base_bytes,
        bodies=bodies,
        quotas=taken - sizes.base_bytes - bodies,
        machine=machine,
        room=room,
    )
