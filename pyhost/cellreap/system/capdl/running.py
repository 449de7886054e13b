# SPDX-License-Identifier: BSD-2-Clause
"""Describes the PDs of a system as they are in a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cellreap.model.pages import Pages
from cellreap.system.capdl.constants import badge, body_slot
from cellreap.system.capdl.describing import add_caps, add_derived, checked, root_caps, shared
from cellreap.system.capdl.holdings import Holders, Holdings
from cellreap.system.capdl.objects import Body, Cap, Description, SlotRef, slot_number
from cellreap.system.capdl.parts import Parts
from cellreap.system.capdl.target import Target
from cellreap.system.config import Pd
from cellreap.system.elf import read_executable


@dataclass(frozen=True)
class Given:
    """A capability that a PD was given.

    server: the id of the PD whose endpoint it is to; None: the root task. request: the badge is
    that of a REQUEST, whose parent is in the CNode of the PD's body.
    """

    slot: int
    server: str | None
    badge: tuple[str, int, int]  # kind, index, generation
    request: bool = False


@dataclass(frozen=True)
class RunningPd:
    """A PD in a run.

    config: what it was made from, with a name that no other PD has now. index, generation: its
    entry in the root task's table. stopped: its endpoint is gone, and its thread is suspended.
    ranges: where the configuration gives it regions. bell: its notification, if that outlives it.
    door: the same of its endpoint. thread: its number in its process. threads: by slot, the ids of
    the children whose threads it has.
    """

    id: str
    config: Pd
    index: int
    generation: int
    paddr: int
    stopped: bool
    given: tuple[Given, ...]
    ranges: tuple[tuple[int, Pages], ...] = ()
    bell: str | None = None
    door: str | None = None
    thread: int = 0
    threads: Mapping[int, str] = field(default_factory=dict)
    held: Holdings = field(default_factory=Holdings)


def describe_running(
    pds: Sequence[RunningPd],
    programs: Mapping[str, bytes],
    target: Target,
    heading: Sequence[str],
    bodies_slots: int,
    bells: Iterable[str] = (),
    doors: Iterable[str] = (),
) -> Description:
    """The objects and capabilities of PDs in a run. CellreapError if no kernel could hold them.

    bodies_slots: the slots of the root task's CNode of bodies. bells: the notifications that
    outlive their PDs. doors: the endpoints that do.
    """
    layouts = {
        pd.id: Parts(
            pd.config.model_copy(update={"holds_pds": ()}),
            read_executable(programs[pd.config.program], f"{pd.config.program}.elf", target.arch),
            target,
            pd.ranges,
            pd.bell,
            pd.door,
            pd.thread,
        )
        for pd in pds
    }
    bodies: dict[int, Body] = {}
    caps: dict[str, tuple[Cap, ...]] = {}
    derived: dict[SlotRef, list[SlotRef]] = {}
    for pd in pds:
        layout = layouts[pd.id]
        body = layout.body(0)
        kept = tuple(thing for thing in body.objects if not _is_gone(pd, layout, thing.name))
        title = f"{pd.id} {pd.config.name}{', stopped' if pd.stopped else ''}"
        bodies[pd.index] = replace(body, title=title, objects=kept, paddr=pd.paddr)
        for holder, held in layout.caps({pd.config.name: pd.index}, pd.generation).items():
            add_caps(caps, {holder: (it for it in held if not _is_gone(pd, layout, it.target))})
        for parent, places in layout.derived().items():
            if not pd.stopped or parent != _endpoint(layout):
                add_derived(derived, {parent: places})
    for pd in pds:
        _give(pd, layouts, caps, derived)
    holders = Holders(caps)
    for pd in pds:
        there = {pd.held.threads[slot]: layouts[child] for slot, child in pd.threads.items()}
        holders.add(layouts[pd.id], pd.held, there)
    holders.finish(layouts.values())
    caps["root_cspace"] = root_caps(bodies)
    ordered = tuple(bodies[pd.index] for pd in pds)
    children = {parent: tuple(children) for parent, children in derived.items()}
    own = (*shared(target, bodies_slots, bells, doors), *holders.shared)
    made = Description(
        target.arch,
        tuple(heading),
        own,
        (*ordered, *holders.bodies),
        caps,
        children | holders.derived,
        holders.interrupts,
    )
    return checked(made, "the capabilities of the run")


def _endpoint(layout: Parts) -> SlotRef:
    """The root task's capability to the endpoint of a PD."""
    return layout.name("body"), body_slot("CR_BODY_ENDPOINT")


def _is_gone(pd: RunningPd, layout: Parts, name: str) -> bool:
    """Whether an object of a PD does not exist: a stopped PD has no endpoint."""
    return pd.stopped and name == layout.name("ep")


def _give(
    pd: RunningPd,
    layouts: Mapping[str, Parts],
    caps: dict[str, tuple[Cap, ...]],
    derived: dict[SlotRef, list[SlotRef]],
) -> None:
    """Adds the capabilities that a PD was given."""
    layout = layouts[pd.id]
    cspace, own = layout.name("cspace"), layout.name("body")
    held, parents = list(caps[cspace]), list(caps[own])
    for given in sorted(pd.given, key=lambda each: each.slot):
        place: SlotRef = (cspace, given.slot)
        number = badge(*given.badge)
        if given.server is None:
            held.append(Cap(given.slot, "root_ep", ("P", number)))
            continue
        server = layouts[given.server]
        held.append(Cap(given.slot, server.name("ep"), ("WP", number)))
        if given.request:
            parent: SlotRef = (own, layout.parents() + given.slot)
            parents.append(Cap(parent[1], server.name("ep"), ("RWGP", number)))
            derived[_endpoint(server)].append(parent)
            derived[parent] = [place]
        else:
            derived[_endpoint(server)].append(place)
    caps[cspace] = tuple(sorted(held, key=slot_number))
    caps[own] = tuple(sorted(parents, key=slot_number))
