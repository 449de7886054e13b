# SPDX-License-Identifier: BSD-2-Clause
"""The memory of a system: what its bodies take, and what the machine has for them.

The kernel divides memory only when it boots. So the room is what is left at the very most, and a
system that needs more cannot run. One that needs less may still be refused by the root task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cellreap.system.capdl.constants import roottask
from cellreap.system.elf import Executable, symbol_sizes
from cellreap.system.programs import Source
from cellreap.system.sizes import Sizes

_TABLES: Final = {
    "model": "model_memory",
    "plans": "planner_memory",
    "notices": "work_memory",
    "cleanups": "cr_sup",
}
"""What of the root task's memory a cleanup uses -> its symbol."""


@dataclass(frozen=True)
class Memory:
    """The memory of a system, in bytes."""

    model: int
    """The root task's model. All of the root task's tables have a fixed size."""
    plans: int
    """What plans are made in."""
    notices: int
    """Notices that are queued."""
    cleanups: int
    """Journals and plans of the cleanups under way, with the rest of the supervisor's state."""
    own: int
    """Kernel objects of the root task."""
    bodies: int
    """The bodies of all configured PDs."""
    quotas: int
    """What the configuration sets aside for PDs that are spawned."""
    machine: int
    """The machine's memory."""
    room: int
    """What the machine has at most for kernel objects of the root task, bodies and quotas."""


def room_of(root_task: Executable, memory: tuple[int, int]) -> int:
    """What is left of memory [start, end) at the very most.

    The root task takes some, and its CSpace is made from an untyped of which nothing else is made
    (untyped.c).
    """
    start, end = memory
    taken = sum(segment.memory_bytes for segment in root_task.segments)
    cspace = 1 << roottask("kernel/kernel.h", "CR_CSPACE_BITS")
    return max(end - start - taken - cspace, 0)


def memory_of(
    source: Source,
    sizes: Sizes,
    root_task: Executable,
    memory: tuple[int, int],
) -> Memory:
    """The memory of a system. InputError if it needs more than there can be.

    memory: [start, end) of the machine's memory, in bytes.
    """
    machine, room = memory[1] - memory[0], room_of(root_task, memory)
    pds = source.config.pds
    has = f"the machine has at most {room} of {machine} for PDs"
    taken = sizes.base_bytes
    for i, pd in enumerate(pds):
        taken += sizes.bodies[pd.name]
        if taken > room:
            body = f'the body of "{pd.name}" takes {sizes.bodies[pd.name]} bytes of memory'
            raise source.refuse(("pd", i), f"{body}, {taken} with all before it; {has}")
    bodies = taken - sizes.base_bytes
    for i, pd in enumerate(pds):
        taken += pd.quota.bytes or 0
        if taken > room:
            said = f"is {pd.quota.bytes}, {taken} with all bodies and the quotas before it"
            raise source.refuse(("pd", i, "quota", "bytes"), f"{said}; {has}")
    tables = symbol_sizes(root_task, list(_TABLES.values()))
    return Memory(
        **{name: tables[symbol] for name, symbol in _TABLES.items()},
        own=sizes.base_bytes,
        bodies=bodies,
        quotas=taken - sizes.base_bytes - bodies,
        machine=machine,
        room=room,
    )
