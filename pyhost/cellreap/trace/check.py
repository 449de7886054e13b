# SPDX-License-Identifier: BSD-2-Clause
"""Replays a trace against the reference model (docs/trace-format.md says what is demanded of each event).

The checker believes nothing that it can work out itself: the model is rebuilt from the events, each cleanup's
plan is the reference's on that model, and what the root task says it did, told, freed and has left must be
what follows from these. Its report lists every contradiction with the line it was found in.
"""

from __future__ import annotations

import bisect
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from cellreap import headers
from cellreap.errors import CellreapError, InputError
from cellreap.model import reference
from cellreap.model.csvstate import state_rows
from cellreap.model.ids import ROOT, parse_id
from cellreap.trace.check_asked import Extractions, Tickets
from cellreap.trace.check_cleanup import (
    CLEANUP_EVENTS,
    DESTROYING,
    EVENT_PHASES,
    PHASE_NAMES,
    PLAN_EVENTS,
    ROOT_NAME,
    STEP_PHASES,
    Phase,
    Running,
    claimed_managers,
    normal_rows,
)
from cellreap.trace.check_work import Notice, Tag, Work, lane_of
from cellreap.trace.events import CAUSES, Event, printable
from cellreap.trace.reader import MAX_PROBLEMS, Problem, Reader, read
from cellreap.trace.report import Cleanup, Failure, Lateness, Report, report_json
from cellreap.trace.upgrade import events_of

__all__ = ["Cleanup", "Replay", "Report", "check", "check_file", "check_stream", "report_json"]

ARCHES = ("x86_64", "aarch64")
MAX_SAYS = 100_000
"""SAY events that a report keeps."""
SMALLEST_BODY = 16
"""Bytes of the smallest untyped that seL4 has."""
MAX_REFUSALS = 64
"""Refusals of a PD that are told one by one."""
REFUSALS_SUM = 1000
"""Refusals of which a REFUSED tells at most."""
MAX_UNACKNOWLEDGED = 32
"""Slots of a PD that wait for it to acknowledge losses, from which on it is given no more."""
FROZEN = "is frozen"


def check(events: Iterable[Event], path: str = "trace") -> Report:
    """Replays events, which are all there and in order; `path` is for messages only."""
    replay = Replay(Report(path))
    for event in events:
        replay.feed(event)
    replay.finish()
    return replay.report


def check_stream(stream: BinaryIO, path: str, progress: Callable[[int], None] | None = None) -> Report:
    """Checks the trace in a console log. InputError if there is none in it.

    progress: called with the number of bytes after each piece read. The replay ends where the trace is
    damaged: what comes after a lost event means nothing. All damage is told, also after that.
    """
    reader = Reader(path)
    replay = Replay(Report(path))
    for event in read(reader, stream, progress):
        replay.feed(event)
    report = replay.report
    if reader.broken_at is None:
        replay.finish()
    report.violations = sorted([*reader.problems, *report.violations], key=lambda problem: problem.line)
    report.more_violations += reader.more_problems + max(0, len(report.violations) - MAX_PROBLEMS)
    del report.violations[MAX_PROBLEMS:]
    return report


def check_file(path: str | Path, progress: Callable[[int], None] | None = None) -> Report:
    """Checks the trace in a file."""
    name = str(path)
    try:
        with Path(path).open("rb") as stream:
            return check_stream(stream, name, progress)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path itself
        what = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(name, None, None, f"cannot be read: {what}") from None


# ----------------------------------------------------------------------------------------------------
# What is kept beside the model


@dataclass(frozen=True)
class _Body:
    paddr: int
    bytes: int
    slots: int


@dataclass(frozen=True)
class _Trigger:
    pd: str
    cause: str
    line: int


@dataclass
class _Slots:
    """The slots of one PD's CSpace that the root task gave out."""

    used: dict[int, tuple[str, str]] = field(default_factory=dict)
    """slot -> (HOLD or REQUEST, node)"""
    of: dict[tuple[str, str], int] = field(default_factory=dict)
    """the other way round"""
    reserved: dict[int, int] = field(default_factory=dict)
    """slot whose capability was revoked -> the notice to be finished before the slot is given again"""


# ----------------------------------------------------------------------------------------------------
# The replay


class Replay:
    """The state of a replay: feed it all events in order, then finish it."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.model = report.model
        self.first_slot = headers.constant("protocol.h", "CR_SLOT_FIRST_FREE")
        self.refusals = set(headers.names_of("protocol.h", "cr_result", "CR_RESULT_").values()) - {0}
        self.step_names = headers.names_of("steps.h", "cr_step_kind", "CR_STEP_")
        self.base: tuple[int, int] | None = None
        self.bytes = 0
        self.slots = 0
        self.bodies: dict[str, _Body] = {}
        self.body_starts: list[tuple[int, str]] = []  # sorted; live bodies do not overlap
        self.bodyless: str | None = None  # the PD whose BODY must come
        self.resource_slots: dict[str, int] = {}
        self.cspaces: dict[str, _Slots] = {}
        self.used_ids: set[str] = set()
        self.pending: deque[_Trigger] = deque()
        self.silent: dict[str, str] = {}  # PDs that do nothing any more -> why
        self.blocked: dict[str, int] = {}  # PDs that wait for an answer -> the ticket that it is about
        self.version = 0
        self.known: Collection[str] = ()  # the events of that version
        self.mode = "async"
        self.blocked_since = 0  # number of the last ACCEPT whose owner waits for it
        self.deadlines: dict[str, int] = {}  # milliseconds
        self.fresh_body: str | None = None  # the PD whose DEADLINE may come
        self.refused: Counter[str] = Counter()
        self.work = Work()
        self.tickets = Tickets()
        self.extractions = Extractions()
        self.printing: int | None = None  # the extraction whose MODEL rows come now
        self.owed: Counter[tuple[str, ...]] = Counter()  # events that must come before any other
        self.running: Running | None = None
        self.skipping: int | None = None  # a cleanup that cannot be followed
        self.cleanups = 0
        self.memory_changed = True  # since the last ACCOUNT
        self.snapshot: Counter[str] | None = None
        self.unprinted: int | None = None  # the line of a change of the model since the state was printed
        self.ended = False
        self.line = 0

    # -- the frame

    def feed(self, event: Event) -> None:
        """Takes the next event."""
        self.line = event.line
        first = self.report.events == 0
        self.report.events += 1
        if first != (event.name == "TRACE"):
            self._bad("TRACE is the first event, and no other" if first else "a second TRACE")
            return
        if self.report.events == 2 and event.name != "BASE":
            self._bad(f"{event.name}: expected BASE right after TRACE")
        if self.ended:
            self._bad(f"{event.name} after END")
            return
        if self.known and event.name not in self.known:
            self._bad(f"{event.name}: trace version {self.version} has no such event")
            return
        self._in_order(event)
        in_snapshot = event.name in ("STATE", "SETTLED") and event["n"] == "0"
        if self.snapshot is not None and not in_snapshot:
            self._bad(f"{event.name} within a snapshot of the state: expected SETTLED n=0 first")
            self.snapshot = None
        try:
            if in_snapshot:
                self._snapshot(event)
            elif event.name in CLEANUP_EVENTS and not (event.name == "QUEUE" and event["n"] == "0"):
                self._in_cleanup(event)
            elif event.name == "END":
                self._end()
            else:
                self._outside(event)
        except CellreapError as error:
            self._bad(f"{event.name}: {error.line()}")

    def _in_order(self, event: Event) -> None:
        """What must stand directly behind something, or together."""
        name = event.name
        if self.version >= 2 and (self.report.events == 3) != (name == "MODE"):
            self._bad(f"{name}: expected MODE once, right after BASE")
        if name != "GET_WORK":
            self.work.interrupt()
        if self.owed and name not in ("ACCEPT", "EXTRACT") and (name != "QUEUE" or event["n"] != "0"):
            for owed in sorted(self.owed):
                self._bad(f"{name}: expected {' '.join(owed)} before it")
            self.owed.clear()
        if self.printing is not None and name not in ("MODEL", "EXTRACTED"):
            self._bad(f"{name} within extraction {self.printing}: expected EXTRACTED x={self.printing} first")
            self.printing = None
        if name != "DEADLINE":
            self.fresh_body = None

    def _settle_debt(self, *owed: str) -> bool:
        """Was this event one that had to come?"""
        if self.owed[owed] < 1:
            del self.owed[owed]
            return False
        self.owed[owed] -= 1
        if not self.owed[owed]:
            del self.owed[owed]
        return True

    def finish(self) -> None:
        """There are no more events."""
        self.report.model = self.model
        for failure in self.report.failures:
            failure.waiting = 0 if failure.resumed else self.work.behind(failure.token)
        if not self.ended:
            self._bad("the trace ends without END")

    def _bad(self, text: str) -> None:
        if len(self.report.violations) < MAX_PROBLEMS:
            self.report.violations.append(Problem(self.line, printable(text, 400)))
        else:
            self.report.more_violations += 1

    def _outside(self, event: Event) -> None:
        """An event that is no part of a cleanup."""
        running = self.running
        waits = running is not None and running.waiting
        if running is not None and waits and event.name != "CLEANUP":
            self._while_waiting(event, running)
        elif running is not None or self.skipping is not None:
            number = self.skipping if running is None else running.result.number
            first = f"CONTINUE n={number}" if waits else f"SETTLED n={number}"
            self._bad(f"{event.name} within cleanup {number}: expected {first} first")
        if self.bodyless is not None and event.name in _NEED_BODIES:
            self._bad(f"{event.name} before the BODY of {self.bodyless}")
            self.bodyless = None
        if event.name in _MODEL_EVENTS:
            self.unprinted = event.line
        _HANDLERS[event.name](self, event)

    def _while_waiting(self, event: Event, running: Running) -> None:
        """Between WAIT and CONTINUE nothing is made, dropped or asked for about what is doomed."""
        for name in _NOT_DOOMED.get(event.name, ()):
            node = event[name]
            if running.dooms(node):
                number = running.result.number
                self._bad(f"{event.name}: {name}={node}: it is doomed by cleanup {number}, which waits")

    def _doomed(self) -> Collection[str]:
        """The nodes that a cleanup which waits has doomed."""
        return self.running.group if self.running is not None else ()

    def _end(self) -> None:
        self.ended = True
        self._forget_pending()
        if self.running is not None or self.skipping is not None:
            self._bad("END within a cleanup: expected its SETTLED")
        for trigger in self.pending:
            cause = f"{trigger.cause} of {trigger.pd} in line {trigger.line}"
            self._bad(f"END: the {cause} was never cleaned up")
        for notice in self.work.unfinished():
            what = "acknowledged" if notice.state == "out" else "fetched"
            about = f"{notice.kind} {notice.node}"
            self._bad(f"END: notice {notice.token} ({about}) to {notice.to} was never {what}")
        for x in self.extractions.under_way():
            self._bad(f"END: extraction {x} was never told (EXTRACTED)")
        for pd, number in self.blocked.items():
            self._bad(f"END: {pd} was never told what became of ticket {number}")
        if self.bodyless is not None:
            self._bad(f"END before the BODY of {self.bodyless}")
        self._check_printed("END")
        self._legal("at the end")

    def _legal(self, when: str) -> None:
        for violation in self.model.check_legal():
            self._bad(f"the state is not legal {when}: {violation.rule}: {violation.text}")

    # -- helpers

    def _actor(self, event: Event, pd: str) -> bool:
        """May this PD do something now?"""
        if pd not in self.model.nodes:
            self._bad(f"{event.name}: {pd} is not there")
            return False
        if pd in self.silent:
            self._bad(f"{event.name}: {pd} {self.silent[pd]} and can do nothing any more")
            return False
        if pd in self.blocked:
            self._bad(f"{event.name}: {pd} waits for ticket {self.blocked[pd]} to be over")
            return False
        return True

    def _fresh(self, event: Event, node: str) -> None:
        if node in self.used_ids:
            self._bad(f"{event.name}: {node} was used before: ids of PDs and spaces are never given twice")
        self.used_ids.add(node)

    def _take_slot(self, event: Event, pd: str, node: str, kind: str) -> None:
        """A capability goes into a slot of a PD's CSpace, or is there already."""
        slot = event.number("slot")
        space = self.model.space_of.get(node, node)
        # Who serves a thing needs no capability to it in its CSpace, and every PD can ask the root task.
        core_request = kind == "REQUEST" and self.model.is_core(space)
        if pd == ROOT or core_request or (kind == "HOLD" and pd == self.model.manager.get(space)):
            if slot != 0:
                self._bad(f"{event.name}: slot={slot}: expected slot=0, for {pd} needs none for {node}")
            return
        slots = self.cspaces.setdefault(pd, _Slots())
        has = slots.of.get((kind, node))
        if has is not None:
            if has != slot:
                self._bad(f"{event.name}: slot={slot}: {pd} has its capability to {node} in slot {has}")
            return
        if slot < self.first_slot:
            self._bad(f"{event.name}: slot={slot}: the root task gives out slots from {self.first_slot} on")
        elif slot in slots.used:
            self._bad(f"{event.name}: slot={slot}: {pd} has its capability to {slots.used[slot][1]} there")
        elif slot in slots.reserved:
            token = slots.reserved[slot]
            self._bad(f"{event.name}: slot={slot}: it was revoked, and {pd} has not acknowledged {token}")
        elif self.version >= 2 and self._lost(slots) >= MAX_UNACKNOWLEDGED:
            lost = f"{self._lost(slots)} slots wait for {pd} to acknowledge losses"
            self._bad(f"{event.name}: slot={slot}: {lost}, so it is given no more")
        else:
            slots.used[slot] = (kind, node)
            slots.of[kind, node] = slot

    def _lost(self, slots: _Slots) -> int:
        notices = self.work.notices
        return sum(token in notices and notices[token].kind == "lost" for token in slots.reserved.values())

    def _drop_slot(self, event: Event, pd: str, node: str, kind: str, gone: bool) -> None:
        """One of a PD's capabilities was given back; `gone`: it was the last."""
        slot = event.number("slot")
        slots = self.cspaces.get(pd, _Slots())
        has = slots.of.get((kind, node), 0)
        if slot != has:
            self._bad(f"{event.name}: slot={slot}: {pd} has its capability to {node} in slot {has}")
        if gone and has:
            del slots.used[has], slots.of[kind, node]

    def _forget_slots(self, token_of: Callable[[str, str], int | None]) -> None:
        """Capabilities whose edges are gone leave their slots.

        token_of(pd, node): the notice whose acknowledgement gives the slot free; None: it is free at once.
        """
        for pd in [pd for pd in self.cspaces if pd not in self.model.nodes]:
            del self.cspaces[pd]
        for pd, slots in self.cspaces.items():
            for (kind, node), slot in list(slots.of.items()):
                there = (pd, node) in (self.model.holds if kind == "HOLD" else self.model.requests)
                if not there:
                    del slots.used[slot], slots.of[kind, node]
                    token = token_of(pd, node)
                    if token is not None:
                        slots.reserved[slot] = token

    def _forget_pending(self) -> None:
        """A trigger whose PD is gone causes no cleanup."""
        self.pending = deque(trigger for trigger in self.pending if trigger.pd in self.model.nodes)

    def _check_printed(self, event: str) -> None:
        """What no printed state or ACCOUNT shows could be left out of a trace unseen."""
        if self.memory_changed:
            self._bad(f"{event}: memory was given or freed after the last ACCOUNT: expected one before it")
        if self.unprinted is not None:
            text = f"the model was changed in line {self.unprinted}, after the state was printed last"
            self._bad(f"{event}: {text}: expected a snapshot (STATE n=0 ..., SETTLED n=0) before it")

    def _check_account(self, event: Event) -> None:
        for name, has in (("bytes", self.bytes), ("slots", self.slots)):
            if event.number(name) != has:
                text = f"{name}={event[name]}, but what is in use by the events before it is {has}"
                self._bad(f"{event.name}: {text}")

    # -- the run

    def _trace(self, event: Event) -> None:
        self.report.kernel = event["kernel"]
        self.report.arch = event["arch"]
        self.report.system = event["system"]
        self.version = event.number("version")
        self.work.lanes_of_version_1 = self.version == 1
        self.known = events_of(self.version)
        if not self.known:
            self._bad(f"TRACE: version={event['version']}: expected a known version")
        if event["arch"] not in ARCHES:
            self._bad(f"TRACE: arch={event['arch']}: expected one of {', '.join(ARCHES)}")
        if not all(self.report.kernel_parts()):
            self._bad(f"TRACE: kernel={event['kernel']}: expected a name, a space and a version")

    def _base(self, event: Event) -> None:
        if self.base is not None:
            self._bad("a second BASE")
            return
        self.base = (event.number("bytes"), event.number("slots"))
        self.bytes, self.slots = self.base

    def _mode(self, event: Event) -> None:
        self.mode = event["mode"]

    def _account(self, event: Event) -> None:
        self._check_account(event)
        if not self.memory_changed:
            self._bad("ACCOUNT again, though nothing was created, deleted or cleaned up since the last one")
        self.memory_changed = False

    # -- creation

    def _pd(self, event: Event) -> None:
        pd, name, pinned = event["id"], event["name"], event["pinned"] == "1"
        if ROOT not in self.model.nodes and (pd, name, pinned) != (ROOT, ROOT_NAME, True):
            self._bad(f"PD: expected the root task first: id={ROOT} name={ROOT_NAME} pinned=1")
        self._fresh(event, pd)
        self.model.add_pd(pd, name, pinned=pinned)
        self.report.names[pd] = name
        if pd != ROOT:
            self.bodyless = pd

    def _body(self, event: Event) -> None:
        pd, paddr, size = event["pd"], event.number("paddr"), event.number("bytes")
        if pd != self.bodyless:
            self._bad(f"BODY: pd={pd}: expected it once for each PD, after its PD event")
            return
        self.bodyless = None
        if size < SMALLEST_BODY or size & (size - 1):
            self._bad(f"BODY: bytes={size}: expected a power of two, at least {SMALLEST_BODY}")
        elif paddr % size:
            self._bad(f"BODY: paddr={event['paddr']}: expected a multiple of its {size} bytes")
        at = bisect.bisect(self.body_starts, (paddr, ""))
        for _, other in self.body_starts[max(0, at - 1) : at + 1]:
            theirs = self.bodies[other]
            if paddr < theirs.paddr + theirs.bytes and theirs.paddr < paddr + size:
                self._bad(f"BODY: the memory of {pd} overlaps that of {other}")
        self.body_starts.insert(at, (paddr, pd))
        self.bodies[pd] = _Body(paddr, size, event.number("slots"))
        self.bytes += size
        self.slots += event.number("slots")
        self.memory_changed = True
        self.fresh_body = pd

    def _deadline(self, event: Event) -> None:
        pd, ms = event["pd"], event.number("ms")
        if pd != self.fresh_body:
            self._bad(f"DEADLINE: pd={pd}: expected it right after the BODY of {pd}")
        if ms == 0:
            self._bad("DEADLINE: ms=0: expected none where there is no deadline")
        self.fresh_body = None
        self.deadlines[pd] = ms

    def _space(self, event: Event) -> None:
        space, manager = event["id"], event["manager"]
        parts = parse_id(space)
        if parts is None or parts.type != event["type"]:
            self._bad(f"SPACE: type={event['type']}: expected the type in its id, {space}")
        if manager == ROOT or self._actor(event, manager):
            self._fresh(event, space)
            self.model.add_space(space, manager)
            if (manager == ROOT) != self.model.is_core(space):
                self._bad(
                    f"SPACE: {space} cannot be managed by {manager}: core types, and no others, are {ROOT}'s"
                )
            if event.optional("name") is not None:
                self.report.names[space] = event["name"]

    def _resource(self, event: Event) -> None:
        resource, space = event["id"], event["space"]
        mine, its = parse_id(resource), parse_id(space)
        if mine is None or its is None or (mine.type, mine.space) != (its.type, its.number):
            self._bad(f"RESOURCE: space={space}: expected the space in its id, {resource}")
        manager = self.model.manager.get(space)
        if manager is not None and manager != ROOT:
            self._actor(event, manager)
        self.model.add_resource(resource, space)
        self.resource_slots[resource] = event.number("slots")
        self.slots += event.number("slots")
        self.memory_changed = True

    def _delete(self, event: Event) -> None:
        node, by = event["node"], event["by"]
        manager = self.model.manager.get(self.model.space_of.get(node, node))
        if by != ROOT and self._actor(event, by) and by != manager:
            self._bad(f"DELETE: by={by}: {node} is managed by {manager}")
        if manager is not None and manager != ROOT and (manager, node) not in self.model.holds:
            self._bad(f"DELETE: {node}: {manager} manages it but does not hold it")
        if node in self.model.space_of:
            self.model.remove_resource(node)
            self.slots -= self.resource_slots.pop(node)
            self.memory_changed = True
        else:
            self.model.remove_space(node)
        self._forget_slots(lambda pd, node: None)

    # -- edges

    def _hold(self, event: Event) -> None:
        pd, node = event["pd"], event["node"]
        self.model.add_hold(pd, node)
        self._take_slot(event, pd, node, "HOLD")

    def _unhold(self, event: Event) -> None:
        pd, node = event["pd"], event["node"]
        self.model.drop_hold(pd, node)
        self._drop_slot(event, pd, node, "HOLD", (pd, node) not in self.model.holds)

    def _request(self, event: Event) -> None:
        pd, space = event["pd"], event["space"]
        self.model.add_request(pd, space)
        self._take_slot(event, pd, space, "REQUEST")

    def _unrequest(self, event: Event) -> None:
        pd, space = event["pd"], event["space"]
        self.model.drop_request(pd, space)
        self._drop_slot(event, pd, space, "REQUEST", True)
        manager = self.model.manager[space]
        if self.version >= 2 and manager != ROOT:
            self.owed["QUEUE", manager, "disconnect", space, pd] += 1

    def _map(self, event: Event) -> None:
        self.model.add_map(event["from"], event["to"])

    def _unmap(self, event: Event) -> None:
        self.model.drop_map(event["from"], event["to"])

    def _handler(self, event: Event) -> None:
        if event["handler"] == ROOT:
            self._bad(f"HANDLER: handler={ROOT}: the root task handles faults unless told otherwise")
        self.model.set_fault(event["pd"], event["handler"])

    def _link(self, event: Event) -> None:
        self.model.add_link(event["a"], event["b"])

    def _own(self, event: Event) -> None:
        self.model.add_own(event["pd"], event["created"])

    def _subscribe(self, event: Event) -> None:
        if self._actor(event, event["pd"]):
            self.model.add_subscribe(event["pd"], event["node"])

    def _unsubscribe(self, event: Event) -> None:
        if self._actor(event, event["pd"]):
            self.model.drop_subscribe(event["pd"], event["node"])

    # -- what PDs say and do

    def _say(self, event: Event) -> None:
        if self._actor(event, event["pd"]) and len(self.report.says) < MAX_SAYS:
            self.report.says.append((event["pd"], event["text"]))

    def _refuse(self, event: Event) -> None:
        pd = event["pd"]
        self._actor(event, pd)
        self.refused[pd] += 1
        if self.version >= 2 and self.refused[pd] > MAX_REFUSALS:
            self._bad(f"REFUSE: pd={pd}: {MAX_REFUSALS} were told one by one: expected REFUSED")
        if event.number("status") not in self.refusals:
            self._bad(f"REFUSE: status={event['status']}: expected a cr_result other than CR_RESULT_OK")

    def _refused(self, event: Event) -> None:
        pd, count = event["pd"], event.number("count")
        if pd not in self.model.nodes:
            self._bad(f"REFUSED: {pd} is not there")
        elif self.refused[pd] < MAX_REFUSALS:
            self._bad(f"REFUSED: pd={pd}: only {self.refused[pd]} refusals were told one by one")
        if not 1 <= count <= REFUSALS_SUM:
            self._bad(f"REFUSED: count={count}: expected 1 to {REFUSALS_SUM}")

    def _freeze(self, event: Event) -> None:
        pd = event["pd"]
        if pd == ROOT or pd not in self.model.nodes:
            self._bad(f"FREEZE: {pd} is not there, or never stops")
        elif pd in self.silent:
            self._bad(f"FREEZE: {pd} {self.silent[pd]} already")
        else:
            self.silent[pd] = FROZEN

    def _unreached(self, event: Event) -> None:
        if event["crash"] == "0":
            self._bad("UNREACHED: crash=0: expected its place in the configuration, from 1")
        if len(self.report.unreached) < MAX_PROBLEMS:
            self.report.unreached.append((event.number("crash"), event["name"]))

    def _trigger(self, event: Event) -> None:
        pd = event["pd"]
        if pd == ROOT:
            self._bad(f"{event.name}: pd={ROOT}: the root task never dies")
            return
        if pd not in self.model.nodes:
            self._bad(f"{event.name}: {pd} is not there")
            return
        doomed = self.running is not None and pd in self.running.depth
        if any(trigger.pd == pd for trigger in self.pending):
            self._bad(f"{event.name}: {pd} is to be cleaned up already")
            return
        if event.name == "TERMINATE":
            self._terminator(event, pd, event["by"])
        elif event.name == "LATE":
            self._late(event, pd)
        elif self.version >= 2:
            self._actor(event, pd)
        if event.name != "TERMINATE" or self.version >= 2:
            self.silent[pd] = _SILENT[event.name]
            self.blocked.pop(pd, None)
        if not doomed:
            self.pending.append(_Trigger(pd, CAUSES[event.name], event.line))

    def _late(self, event: Event, pd: str) -> None:
        token, ms = event.number("token"), event.number("ms")
        notice = self.work.notices.get(token)
        deadline = self.deadlines.get(pd)
        if self.silent.get(pd, FROZEN) != FROZEN:
            self._bad(f"LATE: {pd} {self.silent[pd]}: nobody waits for it")
        if deadline is None:
            self._bad(f"LATE: {pd} has no deadline")
        elif ms < deadline:
            self._bad(f"LATE: ms={ms}: {pd} has {deadline} ms to acknowledge a notice")
        if notice is None or notice.to != pd or notice.state == "failed":
            self._bad(f"LATE: token={token}: no such notice waits for {pd}")
            return
        if self.work.is_held(notice):
            self._bad(f"LATE: token={token}: it is held behind one that failed")
        self.report.late.append(Lateness(pd, token, notice.kind, notice.node, deadline or 0, ms))

    def _terminator(self, event: Event, pd: str, by: str) -> None:
        if by != ROOT and self._actor(event, by):
            body = self.model.body_of(pd)
            if body is None or (by, body) not in self.model.holds:
                self._bad(f"TERMINATE: by={by}: it does not hold the capability to the body of {pd}")
        if by != ROOT and self.version >= 2:
            self.owed["ACCEPT", by, pd] += 1

    # -- notices

    def _put(self, event: Event, tag: Tag) -> None:
        wrong = self.work.queue(event.number("token"), event["to"], event["kind"], event["node"], tag)
        if wrong is not None:
            self._bad(f"QUEUE: {wrong}")

    def _queue_0(self, event: Event) -> None:
        """A notice that no cleanup owes."""
        row = (event["to"], event["kind"], event["node"], event["from"])
        x = max(self.extractions.all, default=0)
        for number in self.extractions.under_way():
            if self.owed["QUEUE", f"x={number}", *row]:
                x = number
        key = ("QUEUE", f"x={x}", *row) if event["kind"] == "extract" else ("QUEUE", *row)
        if not self._settle_debt(*key):
            self._bad(f"QUEUE {' '.join(row)}: no such notice is owed, or not here")
        self._put(event, ("extraction", x) if event["kind"] == "extract" else ("disconnect", 0))

    def _fetch(self, event: Event) -> None:
        if self._actor(event, event["pd"]):
            wrong = self.work.fetch(event["pd"], event.number("token"))
            if wrong is not None:
                self._bad(f"GET_WORK: {wrong}")

    def _ack(self, event: Event) -> None:
        pd, token, result = event["pd"], event.number("token"), event["result"]
        if not self._actor(event, pd):
            return
        notice = self.work.notices.get(token)
        wrong = self.work.finish(pd, token, result)
        if wrong is not None or notice is None:
            self._bad(f"FINISH_WORK: {wrong}")
            return
        if result == "failed":
            self.report.failures.append(Failure(pd, lane_of(notice.node), token, notice.kind, notice.node))
        self.tickets.note(self.work)
        if pd in self.cspaces:
            reserved = self.cspaces[pd].reserved
            for slot in [slot for slot, waits_for in reserved.items() if waits_for == token]:
                del reserved[slot]
        if result == "each" and notice.tag is not None:
            for node in self.extractions.each(notice.tag[1], self.model, self._doomed(), notice.node):
                self.owed["QUEUE", f"x={notice.tag[1]}", pd, "extract", node, "-"] += 1

    def _again(self, event: Event) -> None:
        if not self._actor(event, event["pd"]):
            return
        token = event.number("token")
        wrong = self.work.resume(event["pd"], token)
        if wrong is not None:
            self._bad(f"RESUME_WORK: {wrong}")
            return
        for failure in self.report.failures:
            failure.resumed |= failure.token == token

    # -- tickets and extractions

    def _ticket(self, event: Event) -> None:
        number, pd, what = event.number("ticket"), event["pd"], event.optional("what")
        tag: Tag | None = None
        if what is None:
            tag = ("extraction", max(self.extractions.all, default=0))
        if not self._settle_debt("ACCEPT", pd, what or "-"):
            self._bad(f"ACCEPT: pd={pd} what={what or '-'}: expected it right after what {pd} asked for")
        wrong = self.tickets.make(number, pd, what, tag)
        if wrong is not None:
            self._bad(f"ACCEPT: {wrong}")
        self.report.tickets.append(self.tickets.tickets[number].shown)
        if self.mode == "sync" and what is not None and pd not in self.silent:
            self.blocked[pd] = number
            self.blocked_since = self.report.events

    def _told(self, event: Event) -> None:
        number, state = event.number("ticket"), event.number("state")
        counts = tuple(event.number(name) for name in ("done", "failed", "dropped", "waiting", "held"))
        asked, wrong = self.tickets.told(number, state, counts, self.work, self.model)
        for text in wrong:
            self._bad(f"TICKET: {text}")
        if asked is None:
            return
        owner = asked.shown.owner
        if self.blocked.get(owner) == number:
            del self.blocked[owner]
            late = owner in self.deadlines and any(notice.to == owner for notice in self.work.unfinished())
            # It sent its request, and does not wait for the answer: the root task finds that out at once.
            sent = state == self.tickets.queued and self.report.events == self.blocked_since + 1
            if state != self.tickets.over and not late and not sent:
                self._bad(f"TICKET: ticket={number}: state={state}: {owner} is to be told when it is over")
        self._actor(event, owner)

    def _extract(self, event: Event) -> None:
        x, by = event.number("x"), event["by"]
        if by != ROOT:
            self._actor(event, by)
            self.owed["ACCEPT", by, "-"] += 1
        for text in self.extractions.start(x, by):
            self._bad(f"EXTRACT: {text}")
        self.report.extractions.append(self.extractions.all[x].shown)
        for manager, space in self.extractions.asked(self.model, self._doomed()):
            self.owed["QUEUE", f"x={x}", manager, "extract", space, "-"] += 1

    def _piece(self, event: Event) -> None:
        pd = event["pd"]
        if not self._actor(event, pd):
            return
        notice = self.work.notices.get(event.number("token"))
        ends = (event["from"], event["to"])
        for text in self.extractions.piece(event.number("x"), pd, notice, ends, self.model, self._doomed()):
            self._bad(f"SUBGRAPH: {text}")

    def _model_row(self, event: Event) -> None:
        x = event.number("x")
        if x not in self.extractions.under_way() or self.printing not in (None, x):
            self._bad(f"MODEL: x={x}: expected an extraction that is under way, one at a time")
            return
        if self.printing is None:
            self.printing = x
            by = self.extractions.all[x].shown.by
            for notice in self.work.unfinished():
                # Its own notices who asked cannot acknowledge while it waits.
                if notice.tag == ("extraction", x) and notice.to != by:
                    self._bad(f"MODEL: x={x}: {notice.to} has not answered {notice.token} yet")
        self.extractions.all[x].rows.append(event["row"])

    def _extracted(self, event: Event) -> None:
        x = event.number("x")
        if self.printing != x:
            self._bad(f"EXTRACTED: x={x}: expected it after its MODEL rows")
            return
        self.printing = None
        running = self.extractions.all[x]
        if event.number("rows") != len(running.rows):
            self._bad(f"EXTRACTED: rows={event['rows']}, but {len(running.rows)} MODEL events came before it")
        wanted = self.extractions.state(x, self.model, self._doomed())
        self._compare_rows("MODEL", Counter(running.rows), wanted)
        running.rows.clear()
        running.shown.rows, running.shown.done = wanted, True
        self.tickets.settle(("extraction", x))
        self.tickets.note(self.work)

    # -- cleanups

    def _cleanup(self, event: Event) -> None:
        number, trigger, cause = event.number("n"), event["trigger"], event["cause"]
        self.cleanups += 1
        if number != self.cleanups:
            self._bad(f"CLEANUP: n={number}: expected {self.cleanups}")
            self.cleanups = number
        self._check_printed("CLEANUP")
        self._forget_pending()
        if not self.pending:
            self._bad(f"CLEANUP: trigger={trigger}: nothing has happened to {trigger} that asks for it")
        else:
            due = self.pending[0]
            if (due.pd, due.cause) != (trigger, cause):
                text = f"expected that of {due.pd}, which is due to its {due.cause} in line {due.line}"
                self._bad(f"CLEANUP: trigger={trigger} cause={cause}: {text}")
            mine = next((waiting for waiting in self.pending if waiting.pd == trigger), due)
            self.pending.remove(mine)
        self.running = None
        self.skipping = number
        plan = reference.plan(self.model, trigger, event.depth("pd_depth"), event.depth("rs_depth"))
        result = Cleanup(number, event.line, trigger, cause, plan.to_json())
        self.report.cleanups.append(result)
        self.running = Running(result, plan, self.model, self.version >= 2)
        self.tickets.begin(trigger, self.running.tag)
        self.skipping = None

    def _in_cleanup(self, event: Event) -> None:
        number = event.number("n")
        running = self.running
        if running is None:
            if self.skipping != number:
                self._bad(f"{event.name}: n={number}: no such cleanup is under way")
            elif event.name == "SETTLED":
                self.skipping = None
            return
        if number != running.result.number:
            self._bad(f"{event.name}: n={number}: cleanup {running.result.number} is under way")
            return
        if running.waiting and event.name != "CONTINUE":
            self._bad(f"{event.name}: n={number}: the cleanup waits: expected CONTINUE n={number} first")
            running.waiting = False
        if event.name in PLAN_EVENTS:
            self._planned(running, event)
            return
        first_suspend = False
        if event.name == "SUSPEND" or (event.name == "STEP" and event["name"] == "suspend"):
            # Depth 0 may be stopped before the rest of the plan is told.
            first_suspend = running.depth.get(event["pd"]) == 0
            phase = Phase.SUSPEND_FIRST if first_suspend else Phase.SUSPEND_REST
        elif event.name == "STEP":
            phase = STEP_PHASES.get(event["name"], running.phase)
        elif event.name == "QUEUE" and event["kind"] == "pre-destroy":
            phase = Phase.TELL
        else:
            phase = EVENT_PHASES.get(event.name, Phase.STATE)
        if running.plan_open and not first_suspend:
            self._plan_told(running)
        if phase < running.phase:
            what = f"STEP {event['name']}" if event.name == "STEP" else event.name
            self._bad(f"{what} after {PHASE_NAMES[running.phase]}: expected it in {PHASE_NAMES[phase]}")
        elif not first_suspend:
            running.phase = phase
        _CLEANUP_HANDLERS[event.name](self, running, event)

    def _planned(self, running: Running, event: Event) -> None:
        row = tuple(value for name, value in event.values.items() if name != "n")
        shown = " ".join(row)
        if not running.plan_open:
            self._bad(f"{event.name} {shown}: after the cleanup was begun: expected the whole plan before it")
        elif running.told[event.name][row]:
            self._bad(f"{event.name} {shown}: told twice")
        elif not running.plan[event.name][row]:
            self._bad(f"{event.name} {shown}: not in the reference's plan")
        running.told[event.name][row] += 1

    def _plan_told(self, running: Running) -> None:
        running.plan_open = False
        for name in PLAN_EVENTS:
            for row in sorted(running.plan[name] - running.told[name]):
                self._bad(f"{name} {' '.join(row)}: in the reference's plan, but not in the trace's")

    def _suspend(self, running: Running, event: Event) -> None:
        pd = event["pd"]
        if pd not in running.depth:
            self._bad(f"SUSPEND: {pd} is not doomed")
        elif pd in running.suspended:
            self._bad(f"SUSPEND: {pd} is suspended already")
        running.suspended.add(pd)
        self.silent.setdefault(pd, "was suspended")
        if self.silent[pd] == FROZEN:
            self.silent[pd] = "was suspended"
        self.blocked.pop(pd, None)
        if not running.suspending.see("SUSPEND", pd):
            self._bad(f"SUSPEND: {pd}: expected the STEP suspend of each PD beside its SUSPEND")

    def _step(self, running: Running, event: Event) -> None:
        name, node, pd = event["name"], event["node"], event["pd"]
        if name not in self.step_names:
            self._bad(f"STEP: name={name}: expected one of {', '.join(self.step_names)}")
        running.step_calls += event.number("calls")
        shown = f"STEP {name} node={node} pd={pd}"
        if name == "cut-request":
            if pd not in running.askers.get(node, ()) or pd in running.destroyed:
                self._bad(f"{shown}: there is no such REQUEST to a doomed space")
            elif (pd, node) in running.cut:
                self._bad(f"{shown}: done twice")
            elif node in running.steps_destroyed:
                self._bad(f"{shown}: the space is gone already")
            running.cut.add((pd, node))
            return
        running.steps[name, node, pd] += 1
        fits = True
        if name == "suspend":
            fits = running.suspending.see("STEP", pd)
        elif name in ("notify", "tell"):
            fits = running.notifying.see("STEP", (name, node, pd))
            if name == "tell":
                self._tell(running, shown, pd, node)
        elif name == "await":
            self._await(running, shown)
        elif name in DESTROYING.values():
            fits = running.destroying.see("STEP", node)
            running.steps_destroyed.add(node)
            for asker in sorted(running.askers.get(node, ())):
                if asker not in running.destroyed and (asker, node) not in running.cut:
                    self._bad(f"{shown}: before {asker} lost its REQUEST to it (STEP cut-request)")
        if not fits:
            self._bad(f"{shown}: expected each step beside the event that tells what it did")

    def _tell(self, running: Running, shown: str, pd: str, node: str) -> None:
        """A subscriber is told: group by group, the last one first."""
        if not running.untold[pd, node]:
            self._bad(f"{shown}: {pd} is not to be told about {node}, or was told before")
            return
        running.untold[pd, node] -= 1
        if running.to_tell and running.group[node] != running.to_tell[0]:
            text = f"{node} is of group {running.group[node]}: expected group {running.to_tell[0]} next"
            self._bad(f"{shown}: {text}")

    def _await(self, running: Running, shown: str) -> None:
        if not running.to_tell:
            self._bad(f"{shown}: nobody was told since the last one")
            return
        group = running.to_tell.pop(0)
        for (pd, node), count in sorted(running.untold.items()):
            if count and running.group[node] == group:
                self._bad(f"{shown}: {pd} was not told about {node} yet")
        for text in self._awaited(running):
            self._bad(f"{shown}: {text}")
        if not running.to_tell and running.waited:
            running.plan_again(self.model)

    def _awaited(self, running: Running) -> list[str]:
        """Who has not answered yet, though it could."""
        return [
            f"{notice.to} has not acknowledged {notice.token} ({notice.kind} {notice.node}) yet"
            for notice in self._outstanding(running)
            if notice.to not in self.tickets.waiters(self.model)
        ]

    def _outstanding(self, running: Running) -> list[Notice]:
        """What PDs that can do something have not acknowledged."""
        return [
            notice
            for notice in self.work.unfinished()
            if notice.tag == running.tag and self.silent.get(notice.to, FROZEN) == FROZEN
        ]

    def _wait(self, running: Running, event: Event) -> None:
        if not self._outstanding(running):
            self._bad(f"WAIT: n={event['n']}: there is nobody to wait for")
        running.waiting = running.waited = True

    def _resume(self, running: Running, event: Event) -> None:
        if not running.waiting:
            self._bad(f"CONTINUE: n={event['n']}: the cleanup does not wait")
        running.waiting = False
        if self.bodyless is not None:
            self._bad(f"CONTINUE before the BODY of {self.bodyless}")
            self.bodyless = None
        for text in self._awaited(running):
            self._bad(f"CONTINUE: {text}")

    def _destroy(self, running: Running, event: Event) -> None:
        node = event["node"]
        if node not in running.to_destroy:
            self._bad(f"DESTROY: {node} is not to be destroyed by this cleanup")
        elif node in running.destroyed:
            self._bad(f"DESTROY: {node} is destroyed already")
        running.destroyed.add(node)
        group = running.group.get(node)
        if group is not None:
            if group < running.group_reached:
                reached = running.group_reached
                self._bad(f"DESTROY: {node} is of group {group}, but group {reached} was begun")
            running.group_reached = max(group, running.group_reached)
        before_it: set[str] = set(running.members.get(node, ())) | running.core_freed.get(node, set())
        body = running.bodies.get(node)
        if body is not None:
            before_it.add(body)
        for other in sorted(before_it - running.destroyed):
            self._bad(f"DESTROY: {node}: expected {other} to be destroyed before it")
        if node in running.depth and node not in running.suspended:
            self._bad(f"DESTROY: {node} was not suspended before")
        if not running.destroying.see("DESTROY", node):
            self._bad(f"DESTROY: {node}: expected each DESTROY beside the STEP that did it")

    def _freed(self, running: Running, event: Event) -> None:
        pd = event["pd"]
        if pd not in running.depth or pd in running.freed:
            self._bad(f"FREED: {pd}: expected it once for each doomed PD")
            return
        if pd not in running.destroyed:
            self._bad(f"FREED: {pd} is not destroyed yet")
        running.freed.add(pd)
        body = self.bodies.get(pd)
        if body is None:
            return
        for name, was in (("paddr", body.paddr), ("bytes", body.bytes), ("slots", body.slots)):
            if event.number(name) != was:
                shown = f"{was:#x}" if name == "paddr" else was
                self._bad(f"FREED: {pd}: {name}={event[name]}, but its BODY has {shown}")

    def _queue(self, running: Running, event: Event) -> None:
        to, kind, node, dead = row = (event["to"], event["kind"], event["node"], event["from"])
        running.queued[row] += 1
        owed = running.plan["OWE"][row]
        if kind == "pre-destroy" and dead == "-":
            owed = running.plan["PRE_DESTROY"][to, node]
        if running.queued[row] > owed:
            self._bad(f"QUEUE {' '.join(row)}: no such notice is owed, or it was queued before")
        step = "tell" if kind == "pre-destroy" else "notify"
        if not running.notifying.see("QUEUE", (step, node, to)):
            self._bad(f"QUEUE {' '.join(row)}: expected each QUEUE beside the STEP {step} that did it")
        self._put(event, running.tag)
        if kind in ("lost", "destroy"):
            running.tokens[to, node] = event.number("token")

    def _calls(self, running: Running, event: Event) -> None:
        kind, count = event["kind"], event.number("count")
        if kind in running.result.kernel_calls:
            self._bad(f"CALLS: kind={kind} is there twice")
        if count == 0:
            self._bad(f"CALLS: kind={kind} count=0: expected only kinds that were called")
        running.result.kernel_calls[kind] = running.result.kernel_calls.get(kind, 0) + count

    def _state(self, running: Running, event: Event) -> None:
        running.rows[event["row"]] += 1

    def _settled(self, running: Running, event: Event) -> None:
        self._steps_done(running)
        calls = sum(running.result.kernel_calls.values())
        if calls != running.step_calls:
            self._bad(f"SETTLED: CALLS add up to {calls} kernel calls, the steps to {running.step_calls}")
        running.result.cycles = event.number("cycles")
        for pd in running.depth:
            body = self.bodies.pop(pd, None)
            if body is not None:
                self.body_starts.remove((body.paddr, pd))
                self.bytes -= body.bytes
                self.slots -= body.slots
        for node in running.to_destroy:
            self.slots -= self.resource_slots.pop(node, 0)
        space_of = running.before.space_of
        self.model = self.report.model = running.after
        self._forget_slots(lambda pd, node: running.tokens.get((pd, space_of.get(node, node))))
        for pd in running.depth:
            self.work.forget(pd)
            self.silent.pop(pd, None)
            self.blocked.pop(pd, None)
        self.tickets.settle(running.tag)
        self.tickets.note(self.work)
        self._forget_pending()
        self.running = None
        self._compare_state(event, running.rows)
        self._legal(f"after cleanup {running.result.number}")
        self.memory_changed = True

    def _steps_done(self, running: Running) -> None:
        """Was everything done that had to be done?"""
        for pd in sorted(running.depth.keys() - running.suspended):
            self._bad(f"SETTLED: {pd} was never suspended")
        for node in sorted(running.to_destroy - running.destroyed):
            self._bad(f"SETTLED: {node} was never destroyed")
        for pd in sorted(running.depth.keys() - running.freed):
            self._bad(f"SETTLED: the memory of {pd} was never freed")
        told = Counter((pd, "pre-destroy", node, "-") for pd, node in running.tells)
        for row in sorted(running.plan["OWE"] + told - running.queued):
            self._bad(f"SETTLED: the notice {' '.join(row)} was never queued")
        expected = running.expected_steps()
        for name, node, pd in sorted(expected - running.steps):
            self._bad(f"SETTLED: there was no STEP {name} node={node} pd={pd}")
        for name, node, pd in sorted(running.steps - expected):
            self._bad(f"SETTLED: a STEP {name} node={node} pd={pd} too many")

    def _compare_state(self, event: Event, rows: Counter[str]) -> None:
        """Do the rows and sums that the root task printed fit the state of the replay?"""
        self.unprinted = None
        if event.number("rows") != rows.total():
            self._bad(f"SETTLED: rows={event['rows']}, but {rows.total()} STATE events came before it")
        self._check_account(event)
        self._compare_rows("STATE", rows, state_rows(self.model)[1:])

    def _compare_rows(self, name: str, rows: Counter[str], expected: list[str]) -> None:
        wanted = Counter(normal_rows(expected))
        has = Counter[str]()
        for row, count in rows.items():
            for normal in normal_rows([row]):
                has[normal] += count
        for row in sorted(wanted - has):
            self._bad(f"{name}: the row {row} is missing")
        for row in sorted(has - wanted):
            self._bad(f"{name}: the row {row} is not in the state that the events make")
        for space, manager in claimed_managers(rows):
            if self.model.manager.get(space, manager) != manager:
                self._bad(f"{name}: {space} is managed by {self.model.manager[space]}, not by {manager}")

    def _snapshot(self, event: Event) -> None:
        """STATE n=0 ..., SETTLED n=0: the state between cleanups."""
        if self.running is not None or self.skipping is not None:
            self._bad(f"{event.name} n=0 within a cleanup")
            return
        if self.bodyless is not None:
            self._bad(f"{event.name} n=0 before the BODY of {self.bodyless}")
            self.bodyless = None
        if self.snapshot is None:
            self.snapshot = Counter()
        if event.name == "STATE":
            self.snapshot[event["row"]] += 1
            return
        self._compare_state(event, self.snapshot)
        self._legal("in this snapshot")
        self.snapshot = None


_HANDLERS: dict[str, Callable[[Replay, Event], None]] = {
    "TRACE": Replay._trace,
    "BASE": Replay._base,
    "MODE": Replay._mode,
    "ACCOUNT": Replay._account,
    "PD": Replay._pd,
    "BODY": Replay._body,
    "DEADLINE": Replay._deadline,
    "SPACE": Replay._space,
    "RESOURCE": Replay._resource,
    "DELETE": Replay._delete,
    "HOLD": Replay._hold,
    "UNHOLD": Replay._unhold,
    "REQUEST": Replay._request,
    "UNREQUEST": Replay._unrequest,
    "MAP": Replay._map,
    "UNMAP": Replay._unmap,
    "HANDLER": Replay._handler,
    "LINK": Replay._link,
    "OWN": Replay._own,
    "SUBSCRIBE": Replay._subscribe,
    "UNSUBSCRIBE": Replay._unsubscribe,
    "SAY": Replay._say,
    "REFUSE": Replay._refuse,
    "REFUSED": Replay._refused,
    "FREEZE": Replay._freeze,
    "UNREACHED": Replay._unreached,
    "FAULT": Replay._trigger,
    "EXIT": Replay._trigger,
    "TERMINATE": Replay._trigger,
    "LATE": Replay._trigger,
    "CLEANUP": Replay._cleanup,
    "GET_WORK": Replay._fetch,
    "FINISH_WORK": Replay._ack,
    "QUEUE": Replay._queue_0,
    "RESUME_WORK": Replay._again,
    "ACCEPT": Replay._ticket,
    "TICKET": Replay._told,
    "EXTRACT": Replay._extract,
    "SUBGRAPH": Replay._piece,
    "MODEL": Replay._model_row,
    "EXTRACTED": Replay._extracted,
}

_CLEANUP_HANDLERS: dict[str, Callable[[Replay, Running, Event], None]] = {
    "SUSPEND": Replay._suspend,
    "STEP": Replay._step,
    "DESTROY": Replay._destroy,
    "FREED": Replay._freed,
    "QUEUE": Replay._queue,
    "WAIT": Replay._wait,
    "CONTINUE": Replay._resume,
    "CALLS": Replay._calls,
    "STATE": Replay._state,
    "SETTLED": Replay._settled,
}

_MODEL_EVENTS = frozenset(
    {
        "PD",
        "BODY",
        "SPACE",
        "RESOURCE",
        "DELETE",
        "HOLD",
        "UNHOLD",
        "REQUEST",
        "UNREQUEST",
        "MAP",
        "UNMAP",
        "HANDLER",
        "LINK",
        "OWN",
        "SUBSCRIBE",
        "UNSUBSCRIBE",
    }
)
_NEED_BODIES = frozenset({"PD", "ACCOUNT", "FAULT", "EXIT", "TERMINATE", "LATE", "CLEANUP"})

_SILENT = {
    "FAULT": "has faulted or exited",
    "EXIT": "has faulted or exited",
    "TERMINATE": "was terminated",
    "LATE": "missed its deadline",
}
"""Trigger -> why its PD does nothing any more."""

_NOT_DOOMED = {
    "SPACE": ("manager",),
    "RESOURCE": ("space",),
    "DELETE": ("node", "by"),
    "HOLD": ("pd", "node"),
    "UNHOLD": ("pd", "node"),
    "REQUEST": ("pd", "space"),
    "UNREQUEST": ("pd", "space"),
    "MAP": ("from", "to"),
    "UNMAP": ("from", "to"),
    "HANDLER": ("pd", "handler"),
    "LINK": ("a", "b"),
    "OWN": ("pd", "created"),
    "SUBSCRIBE": ("pd", "node"),
    "UNSUBSCRIBE": ("pd", "node"),
    "TERMINATE": ("pd", "by"),
    "EXTRACT": ("by",),
    "SUBGRAPH": ("pd",),
}
"""Event -> its fields that name nothing doomed while a cleanup waits."""
