# SPDX-License-Identifier: BSD-2-Clause
"""The distribution of capabilities after a cleanup, from a trace and the image that was booted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cellreap.errors import UsageError
from cellreap.inputs import opened
from cellreap.model.ids import ROOT, is_given, is_region, parse_id
from cellreap.runs.entries import Entries
from cellreap.runs.expectation import config_of, expected_of_image
from cellreap.system.capdl.holdings import Memory, Region, bells_of, configured, doors_of
from cellreap.system.capdl.layout import spawned_pd
from cellreap.system.capdl.objects import Description, places_of
from cellreap.system.capdl.running import Given, RunningPd, describe_running
from cellreap.system.config import PAGE, tables, thread_of
from cellreap.system.image import Image, read_image
from cellreap.system.regions import ranges_of
from cellreap.trace.check import Report
from cellreap.trace.check.bells import is_closed
from cellreap.trace.check.own_slots import child_of, is_of_microkit
from cellreap.trace.check.replay import Replay
from cellreap.trace.check.snapshot import Cap as KernelCap
from cellreap.trace.check.snapshot import Snapshot, SnapshotError, physical, read_snapshot
from cellreap.trace.check.stream import check_stream
from cellreap.trace.events import Event

_LINES: Final = ("irq", "io_ports")
"""How capDL's kinds of lines end."""


@dataclass
class Distribution:
    """What a trace says of the capabilities after a cleanup.

    report: of the whole trace. made: None if the trace does not pass. snapshot: the kernel's after
    the cleanup, if the trace has it.
    """

    report: Report
    made: Description | None = None
    pds: Sequence[RunningPd] = ()
    snapshot: tuple[str, ...] = ()


class _Watcher:
    """Looks at a replay when a cleanup has ended."""

    def __init__(self, replay: Replay, image: Image, after: int) -> None:
        self._replay, self._image, self._after = replay, image, after
        self._entries = Entries(image.config.bench.generations_left or 0)
        self._ends = False
        """the last event ended the cleanup, or announced the snapshot after it"""
        self._shared: set[str] = set()  # names that several PDs have now
        self.pds: list[RunningPd] | None = None
        self.snapshot: tuple[str, ...] = ()

    def see(self, event: Event) -> None:
        """Takes an event that the replay has handled."""
        self._entries.see(event)
        if self._ends and event.text:
            self.snapshot = event.text
        self._ends = self._ends and event.name == "TRUTH"
        if event.name == "SETTLED" and event.number("n") == self._after:
            self._ends = True
            self.pds = self._running()

    def _running(self) -> list[RunningPd]:
        context = self._replay.context
        pds = [node for node, info in context.model.nodes.items() if info.kind == "PD"]
        names = Counter(context.report.names[pd] for pd in pds)
        self._shared = {name for name, count in names.items() if count > 1}
        return [self._pd(pd) for pd in pds if pd != ROOT]

    def _own_name(self, pd: str) -> str:
        """A name that no other PD has now."""
        name = self._replay.context.report.names[pd]
        return f"{name}.{pd}" if name in self._shared else name

    def _pd(self, pd: str) -> RunningPd:
        context, entry = self._replay.context, self._entries.pds[pd]
        name = context.report.names[pd]
        body = context.memory.body(pd)
        assert body is not None  # the check demands it
        config = next(
            (each for each in self._image.config.pds if each.name == name),
            spawned_pd(name, priority=context.authority.number(pd, "priority")),
        )
        own = self._own_name(pd)
        more = {"name": own}
        if config.thread_of is not None:
            (process,) = (one for one, other in context.model.owns if other == pd)
            more["thread_of"] = self._own_name(process)
        held = configured(self._image.config, name, self._regions(pd))
        calls = {at: to for at, to in held.calls.items() if not is_closed(context, to[0])}
        return RunningPd(
            id=pd,
            config=config.model_copy(update=more),
            index=entry.index,
            generation=entry.generation,
            paddr=body.paddr,
            stopped=pd in context.freed.stopped,
            given=tuple(self._given(pd)),
            ranges=ranges_of(self._image.config, name),
            bell=bells_of(self._image.config).get(name),
            door=doors_of(self._image.config).get(name),
            thread=thread_of(self._image.config, config)[0],
            threads=self._threads(pd),
            held=replace(held, calls=calls),
        )

    def _regions(self, pd: str) -> Iterator[Region]:
        model, memory = self._replay.context.model, self._replay.context.memory
        for node in sorted(node for of, node in model.holds if of == pd and is_region(node)):
            for lower in model.built_on(node):
                known, at = self._memory_of(lower), memory.region(node)
                own, body = memory.objects.of(node)["table"], memory.body(node)
                assert body is not None
                address = at.page * PAGE
                yield Region(node, known, address, at.writable, at.cached, own, body.paddr)

    def _memory_of(self, node: str) -> Memory:
        context = self._replay.context
        body, frames = context.memory.body(node), context.configured.edges.frames_of(node)
        assert body is not None
        pages = context.memory.objects.pages(node)
        return Memory(node, pages, None if frames is None else frames.start, body.paddr)

    def _threads(self, pd: str) -> dict[int, str]:
        context = self._replay.context
        children = {
            slot: child_of(context, node) for slot, (_, node) in context.slots.of(pd).items()
        }
        return {
            slot: child
            for slot, child in children.items()
            if child is not None and child not in context.freed.stopped
        }

    def _given(self, pd: str) -> list[Given]:
        context = self._replay.context
        microkit = is_of_microkit(context, pd)
        given = []
        for slot, (kind, node) in context.slots.of(pd).items():
            parts = parse_id(node)
            assert parts is not None  # the reader lets no malformed id through
            if is_given(node):
                continue  # as it is configured
            server = context.model.manager[context.model.space_of.get(node, node)]
            if server in context.freed.stopped:
                continue  # they went with its endpoint
            if kind == "REQUEST" and microkit:
                continue  # as it is configured
            if child_of(context, node) is not None:
                continue
            if kind == "REQUEST":
                entry = self._entries.requests[pd, node]
                request = ("CR_BADGE_REQUEST", entry.index, entry.generation)
                given.append(Given(slot, server, request, request=True))
            elif server == ROOT:
                held = self._entries.pds[f"PD_{parts.number:x}"]
                given.append(Given(slot, None, ("CR_BADGE_BODY", held.index, held.generation)))
            else:
                assert parts.space is not None
                resource = ("CR_BADGE_RESOURCE", parts.number, parts.space)
                given.append(Given(slot, server, resource))
        return given


def distribution(trace: Path, image_path: Path, after: int) -> Distribution:
    """The capabilities after cleanup number `after` of a trace.

    InputError if a file cannot be read, UsageError if the trace has no such cleanup.
    """
    image = read_image(image_path)
    config = config_of(image)
    expected = expected_of_image(image, config)
    replay = Replay(Report(str(trace)), expected)
    watcher = _Watcher(replay, image, after)
    with opened(trace) as stream:
        report = check_stream(stream, str(trace), also=((watcher.see, None),), replay=replay)
    if not report.passed:
        return Distribution(report)
    if watcher.pds is None:
        count = len(report.cleanups)
        have = f"{count} cleanup{'' if count == 1 else 's'}"
        raise UsageError(f"--after {after}: expected a cleanup of {trace}, which has {have}")
    heading = _heading(report, after)
    slots = tables(config)["bodies"]
    bells = bells_of(image.config).values()
    doors = doors_of(image.config).values()
    programs, target = image.programs(), image.target()
    made = describe_running(watcher.pds, programs, target, heading, slots, bells, doors)
    return Distribution(report, made, watcher.pds, watcher.snapshot)


def _heading(report: Report, after: int) -> tuple[str, ...]:
    return (
        f"{report.system}: the protection domains after cleanup {after}, on {report.kernel}.",
        "",
        "Not listed, because the trace does not tell it: the root task's own objects, except",
        "root_ep and the CNode that has the PDs' CNodes (its other slots are not listed); the root",
        "task's parents of the capabilities to resources, which stand between these and the root",
        "task's capability to the endpoint of their server; the capabilities from which those",
        "without a parent here derive; address space ids; reply capabilities. Registers and frames",
        "are those of the start. File names are those of programs, whose ELF files are in",
        "roottask.elf.",
    )


def differences(made: Description, pds: Sequence[RunningPd], lines: tuple[str, ...]) -> list[str]:
    """What is otherwise in the CSpaces of a snapshot of the kernel than in a description."""
    try:
        snapshot = read_snapshot(lines)
    except SnapshotError as error:
        return [f"the snapshot cannot be read: {error}"]
    places = {name: at for body in made.bodies for name, at in places_of(body).items()}
    roots = Counter(_root_ep(made, pd, places, snapshot) for pd in pds)
    places["root_ep"] = roots.most_common(1)[0][0] or 0
    kinds = {thing.name: thing.kind for body in made.bodies for thing in body.objects}
    kinds |= {thing.name: thing.kind for thing in made.shared}
    found = []
    for pd in pds:
        holder = f"cspace_{pd.config.name}"
        there = {
            slot: physical(cap, "reply") if isinstance(cap, str) and cap.endswith("_reply") else cap
            for slot, cap in snapshot.cspaces.get(places[holder], {}).items()
        }
        mine = {cap.slot: cap for cap in made.caps[holder] if isinstance(cap.slot, int)}
        for slot, seen in there.items():
            if slot in mine and isinstance(seen, KernelCap):
                places.setdefault(mine[slot].target, seen.address)  # of what outlives PDs
        listed: dict[int, KernelCap | int | str] = {
            slot: _line(there.get(slot))
            if kinds[cap.target].endswith(_LINES)
            else places[cap.target]
            if kinds[cap.target] == "rtreply"
            else KernelCap(
                kinds[cap.target],
                places[cap.target],
                "".join(letter for letter in "RWGP" if letter in cap.params[0]),
                next((int(p[7:], 0) for p in cap.params if p.startswith("badge: ")), 0),
            )
            for slot, cap in mine.items()
        }
        for slot in sorted({*there, *mine}):
            if there.get(slot) != listed.get(slot):
                told = f"{listed.get(slot) or 'nothing'}, and the kernel has {there.get(slot)}"
                found.append(f"slot {slot} of {pd.id}: {told}")
    return found


def _line(there: object) -> str:
    """An interrupt or ports in a slot: the snapshot says what, in words that kernels differ in."""
    return there if isinstance(there, str) else "an interrupt or ports"


def _root_ep(
    made: Description, pd: RunningPd, places: dict[str, int], snapshot: Snapshot
) -> int | None:
    """The address of the root task's endpoint, by the first capability of a PD."""
    holder = f"cspace_{pd.config.name}"
    first = next(cap.slot for cap in made.caps[holder] if cap.target == "root_ep")
    assert isinstance(first, int)
    cap = snapshot.cspaces.get(places[holder], {}).get(first)
    return cap.address if isinstance(cap, KernelCap) else None
