# SPDX-License-Identifier: BSD-2-Clause
"""Describes a system: the PDs of boot time, and the root task's objects to which they refer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cellreap.errors import CellreapError
from cellreap.system.capdl.checking import problems
from cellreap.system.capdl.constants import roottask
from cellreap.system.capdl.holdings import Holders, bells_of, configured, doors_of, regions_of
from cellreap.system.capdl.objects import (
    Body,
    Cap,
    Description,
    Object,
    SlotRef,
    guard,
    radix,
    slot_number,
)
from cellreap.system.capdl.parts import Parts
from cellreap.system.capdl.rendering import render
from cellreap.system.capdl.target import Target
from cellreap.system.config import Config, Pd, tables, thread_of
from cellreap.system.elf import read_executable
from cellreap.system.regions import ranges_of


def capdl_text(config: Config, programs: Mapping[str, bytes], target: Target) -> str:
    """The text of system.cdl.

    CellreapError for a program that the root task would refuse to load.
    """
    return render(describe(config, programs, target))


def describe(config: Config, programs: Mapping[str, bytes], target: Target) -> Description:
    """The objects and capabilities of the PDs of `config` that start at boot.

    programs: the ELF files of the PDs, by name.
    """
    pds = {pd.name: number for number, pd in enumerate(_boot_pds(config), 1)}
    bells, doors = bells_of(config), doors_of(config)
    bodies: list[Body] = []
    caps: dict[str, tuple[Cap, ...]] = {}
    derived: dict[SlotRef, list[SlotRef]] = {}
    elfs = {
        name: read_executable(programs[name], f"{name}.elf", target.arch)
        for name in {pd.program for pd in _boot_pds(config)}
    }
    layouts = {
        pd.name: Parts(
            pd,
            elfs[pd.program],
            target,
            ranges_of(config, pd.name),
            bells.get(pd.name),
            doors.get(pd.name),
            thread_of(config, pd)[0],
        )
        for pd in _boot_pds(config)
    }
    for name, layout in layouts.items():
        bodies.append(layout.body(pds[name]))
        add_caps(caps, layout.caps(pds))
        add_derived(derived, layout.derived())
    holders = Holders(caps)
    for name, layout in layouts.items():
        holders.add(layout, configured(config, name, regions_of(config, name)), layouts)
    holders.finish(layouts.values())
    caps["root_cspace"] = root_caps(dict(enumerate(bodies, 1)))
    heading = _heading(config, [pd.name for pd in config.pds if pd.name not in pds])
    own = shared(target, tables(config)["bodies"], bells.values(), doors.values())
    made = Description(
        target.arch,
        heading,
        (*own, *holders.shared),
        (*bodies, *holders.bodies),
        caps,
        {parent: tuple(places) for parent, places in derived.items()} | holders.derived,
        holders.interrupts,
    )
    return checked(made, "system.cdl")


def add_caps(caps: dict[str, tuple[Cap, ...]], more: Mapping[str, Iterable[Cap]]) -> None:
    """Adds what objects hold. The threads of a process add to its page tables."""
    for holder, held in more.items():
        caps[holder] = tuple(sorted((*caps.get(holder, ()), *held), key=slot_number))


def add_derived(
    derived: dict[SlotRef, list[SlotRef]], more: Mapping[SlotRef, Iterable[SlotRef]]
) -> None:
    """Adds what is derived from capabilities."""
    for parent, places in more.items():
        derived.setdefault(parent, []).extend(places)


def shared(
    target: Target, bodies: int, bells: Iterable[str] = (), doors: Iterable[str] = ()
) -> tuple[Object, ...]:
    """The root task's own objects to which PDs' capabilities refer, and its CNode of bodies.

    bodies: the slots of that CNode. bells: the notifications that outlive their PDs. doors: the
    endpoints that do.
    """
    l1_bits = bodies.bit_length() - 1
    size, params = l1_bits + target.slot_bits, (f"{l1_bits} bits",)
    return (
        Object("root_cspace", "cnode", size, params, 1 << l1_bits),
        Object("root_ep", "ep", target.endpoint_bits),
        *(Object(name, "notification", target.notification_bits) for name in bells),
        *(Object(name, "ep", target.endpoint_bits) for name in doors),
    )


def root_caps(bodies: Mapping[int, Body]) -> tuple[Cap, ...]:
    """The root task's capabilities to the CNodes of PDs, by their entries in its table."""
    first = roottask("kernel/kernel.h", "CR_L1_BODIES")
    subspace = roottask("kernel/kernel.h", "CR_SUBSPACE_BITS")
    own = {index: body.objects[0] for index, body in sorted(bodies.items())}
    return tuple(
        Cap(first + index, cnode.name, guard(subspace - radix(cnode)))
        for index, cnode in own.items()
    )


def checked(made: Description, name: str) -> Description:
    """The description. CellreapError if no kernel could hold it."""
    for problem in problems(made):
        raise CellreapError(f"{name}: {problem}")
    return made


def _boot_pds(config: Config) -> list[Pd]:
    return [pd for pd in config.pds if pd.start == "boot"]


def _heading(config: Config, late: list[str]) -> tuple[str, ...]:
    lines = [
        f"{config.system.name}: the protection domains of boot time, each as it is when it starts.",
        "",
        "Not listed, because only a run decides it: physical addresses and address space ids; the",
        "root task's own objects, except root_ep and the CNode that has the PDs' CNodes (its other",
        "slots are not listed); the capabilities from which those without a parent here derive;",
        "what PDs ask for through the protocol. Frames hold zeroes where nothing fills them; the",
        "frame at startup holds what the root task tells the PD. File names are those of programs,",
        "whose ELF files are in roottask.elf.",
    ]
    if late:
        lines.append(f"Created after the first cleanup, so not listed: {', '.join(late)}.")
    return tuple(lines)
