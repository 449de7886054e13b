# SPDX-License-Identifier: BSD-2-Clause
"""What the root task of a configuration uses of kernel memory, kernel objects and its own slots.

All sizes are worked out from the configuration, the programs and the kernel, as setup.c, turns.c,
truth.c and body.c do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from cellreap.model.pages import LARGE_PAGE_BITS, Pages
from cellreap.platforms import mcs_is_exact
from cellreap.system.capdl.constants import roottask
from cellreap.system.capdl.layout import spawned_pd
from cellreap.system.capdl.objects import Body
from cellreap.system.capdl.parts import Parts
from cellreap.system.capdl.target import Target
from cellreap.system.config import Config, Pd, called, signal_ends, tables, thread_of
from cellreap.system.config.tables import bytes_of
from cellreap.system.elf import read_executable
from cellreap.system.image import Sizes
from cellreap.system.regions import bytes_of_place, ranges_of
from cellreap.system.saved import NOTHING, Saved, smallest

_KINDS: Final = {
    "tcb": "thread",
    "ep": "endpoint",
    "sc": "sched-context",
    "rtreply": "reply",
}
"""Kind of object in capDL -> its name in traces. Names that are not here are the same."""


def sizes_of(
    config: Config,
    programs: Mapping[str, bytes],
    target: Target,
    timer: bool,
    snapshots: bool,
    saved: Saved = NOTHING,
) -> Sizes:
    """The sizes of a system. CellreapError for a program that the root task would refuse to load.

    timer: whether the kernel leaves a timer to user level. snapshots: whether it takes snapshots.
    saved: what the image carries of a saved state.
    """

    def body(pd: Pd, ranges: Sequence[tuple[int, Pages]] = (), thread: int = 0) -> Body:
        elf = read_executable(programs[pd.program], f"{pd.program}.elf", target.arch)
        return Parts(pd, elf, target, ranges, thread=thread).body(0)

    bodies = {
        pd.name: body(pd, ranges_of(config, pd.name), thread_of(config, pd)[0]) for pd in config.pds
    }
    spawned = {program: body(spawned_pd(program)) for pd in config.pds for program in pd.spawns}
    turn_threads = _turn_threads(config)
    bells, doors = {end.pd for end, _ in signal_ends(config)}, called(config)
    stand_ins = sum(pd.child_id is not None for pd in config.pds)
    own = 1 << roottask("root.h", "CR_OWN_BLOCK_BITS")
    mcs = target.sc_bits > 0
    replies = mcs * (_probes(config, saved) + 1)
    sleeper = timer and mcs > 0 and mcs_is_exact(target.arch)
    device = timer and not sleeper
    scs = mcs * (3 + turn_threads + config.system.scenario + sleeper + bool(doors))
    probes = snapshots and config.system.truth is not False
    rows = tables(config)
    pages = -(-bytes_of(rows) >> LARGE_PAGE_BITS)
    asids = rows["pds"] + roottask("kernel/asids.h", "CR_MORE_ASIDS")
    pools = (asids - 1) >> roottask("kernel/asids.h", "CR_ASID_POOL_BITS")
    places = [region for region in config.regions if region.place is not None]
    return Sizes(
        base_bytes=own
        + (pages << LARGE_PAGE_BITS)
        + (pools << target.page_bits)
        + _turn_thread_bytes(turn_threads, target)
        + _reply_bytes(config, saved, target)
        + sleeper * _block(1)
        + sum(bytes_of_place(region, target) for region in places)
        + _row_bytes(len(bells), 1 << target.notification_bits)
        + _row_bytes(len(doors), 1 << target.endpoint_bits)
        + (mcs and bool(doors)) * _block(1 << target.sc_bits)
        + _row_bytes(stand_ins, 1 << target.tcb_bits)
        + probes * _probe_bytes(_probes(config, saved), target),
        base_slots=roottask("root.h", "CR_OWN_SLOTS")
        + device * roottask("kernel/timer.h", "CR_TIMER_SLOTS")
        + sleeper * roottask("kernel/sleeper.h", "CR_SLEEPER_SLOTS")
        + turn_threads * roottask("kernel/turns.h", "CR_TURNS_SLOTS")
        + config.system.scenario * roottask("scenario/scenario.h", "CR_QUIET_SLOTS")
        + probes * _probe_slots(config, saved)
        + len(bells)
        + len(doors)
        + stand_ins
        + replies
        + scs
        + pools
        + len(places),
        bodies={name: 1 << each.bits for name, each in bodies.items()},
        spawned={program: 1 << each.bits for program, each in spawned.items()},
        base_objects=_own_objects(
            turn_threads,
            device,
            sleeper,
            config.system.scenario,
            _probes(config, saved) if probes else 0,
            pages,
            len(places),
            len(bells),
            len(doors),
            stand_ins,
        )
        | ({"sched-context": scs, "reply": replies} if mcs else {}),
        objects={
            name: _but(
                _objects(each, target),
                {"notification": name in bells, "endpoint": name in doors},
            )
            for name, each in bodies.items()
        },
        spawned_objects={program: _objects(each, target) for program, each in spawned.items()},
    )


def saved_bytes(saved: Saved, programs: Mapping[str, bytes], target: Target) -> int:
    """The bodies of the PDs that an image carries of a saved state."""
    if not saved.gone():
        return 0
    program = smallest(programs)
    elf = read_executable(programs[program], f"{program}.elf", target.arch)
    pd = spawned_pd(program)
    return sum(
        1 << Parts(pd.model_copy(update={"cspace_bits": node.bits}), elf, target).body(0).bits
        for node in saved.gone()
    )


def _objects(body: Body, target: Target) -> dict[str, int]:
    """The kernel objects of a PD by kind. Each address space has a number."""
    top, *tables = target.levels
    kinds = {**_KINDS, top: "vspace", **dict.fromkeys(tables, "table")}
    found = dict(Counter(kinds.get(each.kind, each.kind) for each in body.objects))
    return found | ({"asid": 1} if "vspace" in found else {})


def _but(objects: dict[str, int], outlive: Mapping[str, bool]) -> dict[str, int]:
    """The notification of a PD that has a channel, and the endpoint of one that is called over a
    channel, are not of its body.
    """
    return {kind: n for kind, n in objects.items() if not outlive.get(kind)}


def _row_bytes(count: int, each: int) -> int:
    """One block with so many objects."""
    return _block(_power_of_2(count) * each) if count else 0


def _power_of_2(count: int) -> int:
    return 1 << (count - 1).bit_length()


def _own_objects(
    turn_threads: int,
    device: bool,
    sleeper: bool,
    scenario: bool,
    probes: int,
    pages: int,
    cnodes: int,
    bells: int,
    doors: int,
    stand_ins: int,
) -> dict[str, int]:
    """An endpoint for operations, a notification, the worker with its endpoint, the writer and the
    pump with three notifications, the timer's device or the sleeper; a thread and a notification
    for each turn thread and for the quiet thread; probes, which share an address space; large pages
    of the tables; CNodes with frames of devices; a notification for each PD that has a channel, an
    endpoint for each that is called over one, and a thread for each child.
    """
    objects = {
        "thread": 3 + turn_threads + scenario + probes + sleeper + stand_ins,
        "endpoint": 2 + doors,
        "notification": 4 + turn_threads + scenario + bells,
        "vspace": int(probes > 0),
        "asid": int(probes > 0),
        "irq-handler": int(device),
        "large-frame": pages,
        "cnode": cnodes,
    }
    return {kind: count for kind, count in objects.items() if count}


def _turn_threads(config: Config) -> int:
    """One for each priority that a PD can have."""
    spawned = {
        pd.priority if pd.spawn_priority is None else pd.spawn_priority
        for pd in config.pds
        if pd.spawns
    }
    return len({pd.priority for pd in config.pds} | spawned)


def _turn_thread_bytes(turn_threads: int, target: Target) -> int:
    """One block, a power of two."""
    if turn_threads == 0:
        return 0
    each = (1 << target.tcb_bits) + (1 << target.notification_bits)
    each += 1 << target.sc_bits if target.sc_bits else 0
    return _block(turn_threads * each)


def _reply_bytes(config: Config, saved: Saved, target: Target) -> int:
    """One block, for one more than there can be senders."""
    if target.reply_bits == 0:
        return 0
    return _block((_probes(config, saved) + 1) << target.reply_bits)


def _block(needed: int) -> int:
    """The bytes of a block with room for so many."""
    smallest = roottask("kernel/untyped.h", "CR_BLOCK_MIN_BITS")
    return 1 << max((needed - 1).bit_length(), smallest)


def _probes(config: Config, saved: Saved) -> int:
    """A probe for each place that a PD can have, and one for the pool."""
    more = bool(saved.nodes) or any(pd.spawns for pd in config.pds)
    more |= config.bench.generations_left is not None
    return tables(config)["pds"] if more else len(config.pds) + 1


def _probe_slots(config: Config, saved: Saved) -> int:
    """One for each probe and one for their address space."""
    return _probes(config, saved) + 1


def _probe_bytes(probes: int, target: Target) -> int:
    """One block. Its second half is for the address space."""
    return 2 << max((probes - 1).bit_length() + target.tcb_bits, target.vspace_bits)
