# SPDX-License-Identifier: BSD-2-Clause
"""Replays a trace against the reference model (docs/trace-format.md says what is demanded of each event).

The checker believes nothing that it can work out itself: the model is rebuilt from the events, each cleanup's
plan is the reference's on that model, and what the root task says it did, told, freed and has left must be
what follows from these. Its report lists every contradiction with the line it was found in.
"""

from __future__ import annotations

import bisect
import csv
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from cellreap import headers, reference
from cellreap.csvstate import state_rows
from cellreap.errors import CellreapError, InputError
from cellreap.ids import ROOT, NodeKind, parse_id
from cellreap.model import MANAGER, PINNED, Model
from cellreap.trace import CAUSES, MAX_PROBLEMS, Event, Problem, Reader, printable, read, table_of

ROOT_NAME = "ROOT_TASK"
ARCHES = ("x86_64", "aarch64")
MAX_SAYS = 100_000
"""SAY events that a report keeps."""
SMALLEST_BODY = 16
"""Bytes of the smallest untyped that seL4 has."""

# ----------------------------------------------------------------------------------------------------
# What comes out


@dataclass
class Cleanup:
    """One cleanup: `plan` has the keys of `plan --json`; kernel_calls is by kind."""

    number: int
    line: int
    trigger: str
    cause: str
    plan: dict[str, Any]
    kernel_calls: dict[str, int] = field(default_factory=dict)
    cycles: int = 0


@dataclass
class Report:
    """What a trace says, and what is wrong with it."""

    path: str
    kernel: str = ""
    arch: str = ""
    system: str = ""
    violations: list[Problem] = field(default_factory=list)
    more_violations: int = 0
    """violations beyond those kept"""
    cleanups: list[Cleanup] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """id -> name in the configuration, PDs and spaces, also of those that are gone"""
    says: list[tuple[str, str]] = field(default_factory=list)
    """(PD, text), in order"""
    unreached: list[tuple[int, str]] = field(default_factory=list)
    """(place in the configuration, PD's name) of crashes that never came about"""
    events: int = 0
    model: Model = field(default_factory=Model)
    """the state after the last event that was replayed"""

    @property
    def passed(self) -> bool:
        return not self.violations and not self.more_violations

    def kernel_parts(self) -> tuple[str, str]:
        """The kernel's name and version."""
        name, _, version = self.kernel.rpartition(" ")
        return (name, version) if name else (self.kernel, "")


def report_json(report: Report) -> dict[str, Any]:
    """The report as `check --json` and `run --json` print it."""
    name, version = report.kernel_parts()
    violations = [f"{report.path}:{problem.line}: {problem.text}" for problem in report.violations]
    if report.more_violations:
        violations.append(f"{report.path}: {report.more_violations} more")
    return {
        "kernel": {"name": name, "version": version, "arch": report.arch},
        "verdict": "pass" if report.passed else "fail",
        "violations": violations,
        "names": dict(sorted(report.names.items())),
        "cleanups": [
            {**cleanup.plan, "cause": cleanup.cause, "kernel_calls": cleanup.kernel_calls}
            for cleanup in report.cleanups
        ],
    }


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
class _Notice:
    to: str
    kind: str
    node: str
    fetched: bool = False


@dataclass
class _Slots:
    """The slots of one PD's CSpace that the root task gave out."""

    used: dict[int, tuple[str, str]] = field(default_factory=dict)
    """slot -> (HOLD or REQUEST, node)"""
    of: dict[tuple[str, str], int] = field(default_factory=dict)
    """the other way round"""
    reserved: dict[int, int] = field(default_factory=dict)
    """slot whose capability was revoked -> token of the notice after whose ACK it may be given again"""


class _Paired:
    """Two kinds of events that tell of the same things: the two events of each thing side by side."""

    def __init__(self) -> None:
        self.open: tuple[str, object] | None = None

    def see(self, side: str, thing: object) -> bool:
        """Does this event fit?"""
        if self.open is None:
            self.open = (side, thing)
            return True
        fits = self.open[0] != side and self.open[1] == thing
        self.open = None if fits else (side, thing)
        return fits


# The phases of a cleanup, in order.
_PLAN, _SUSPEND_FIRST, _MARK, _SUSPEND_REST, _DESTROY, _UNBLOCK, _NOTIFY, _CALLS, _STATE = range(9)
_PHASE_NAMES = (
    "the plan",
    "the suspending of the PDs at depth 0",
    "the marking",
    "the suspending of the other doomed PDs",
    "the destroying",
    "the unblocking",
    "the notices",
    "CALLS",
    "STATE",
)
_STEP_PHASES = {
    "mark": _MARK,
    "cut-request": _DESTROY,
    "destroy-resource": _DESTROY,
    "destroy-space": _DESTROY,
    "destroy-pd": _DESTROY,
    "unblock": _UNBLOCK,
    "notify": _NOTIFY,
}
_EVENT_PHASES = {
    "DESTROY": _DESTROY,
    "FREED": _DESTROY,
    "QUEUE": _NOTIFY,
    "CALLS": _CALLS,
    "STATE": _STATE,
}
_PLAN_EVENTS = (
    "DOOM_PD",
    "DOOM_SPACE",
    "LOSE_REQUEST",
    "REVOKE",
    "REVOKE_SPACE",
    "REVOKE_BODY",
    "FREE_CORE",
    "OWE",
    "PRE_DESTROY",
)
_CLEANUP_EVENTS = frozenset({*_PLAN_EVENTS, "SUSPEND", "STEP", *_EVENT_PHASES, "SETTLED"})
_DESTROYING = {"PD": "destroy-pd", "RESOURCE_SPACE": "destroy-space", "RESOURCE": "destroy-resource"}

Row = tuple[str, ...]


def _plan_events(plan: dict[str, Any]) -> dict[str, Counter[Row]]:
    """The plan as the events that must tell it: event -> the values of its fields but n."""
    group = {node: index for index, nodes in enumerate(plan["groups"]) for node in nodes}
    return {
        "DOOM_PD": Counter((pd, str(depth), str(group[pd])) for pd, depth in plan["destroyed_pds"]),
        "DOOM_SPACE": Counter((space, str(group[space])) for space in plan["deleted_spaces"]),
        "LOSE_REQUEST": Counter(map(tuple, plan["removed_requests"])),
        "REVOKE": Counter(map(tuple, plan["revoked"])),
        "REVOKE_SPACE": Counter(map(tuple, plan["revoked_spaces"])),
        "REVOKE_BODY": Counter(map(tuple, plan["revoked_bodies"])),
        "FREE_CORE": Counter((resource,) for resource in plan["core_freed"]),
        "OWE": Counter((to, kind, node, dead or "-") for to, kind, node, dead in plan["notices"]),
        "PRE_DESTROY": Counter(map(tuple, plan["pre_destroy"])),
    }


class _Running:
    """A cleanup between CLEANUP and SETTLED: what it must do, and what was seen of it."""

    def __init__(self, result: Cleanup, before: Model, after: Model) -> None:
        self.result = result
        self.before = before
        self.after = after
        plan = result.plan
        self.plan = _plan_events(plan)
        self.told: dict[str, Counter[Row]] = {name: Counter() for name in _PLAN_EVENTS}
        self.plan_open = True
        self.phase = _PLAN
        self.depth = dict(plan["destroyed_pds"])
        self.group = {node: index for index, nodes in enumerate(plan["groups"]) for node in nodes}
        spaces = set(plan["deleted_spaces"])
        self.members: dict[str, set[str]] = {space: set() for space in spaces}
        for resource, space in before.space_of.items():
            if space in spaces:
                self.members[space].add(resource)
        self.askers: dict[str, set[str]] = {space: set() for space in spaces}
        for pd, space in before.requests:
            if space in spaces:
                self.askers[space].add(pd)
        self.bodies = {pd: before.body_of(pd) for pd in self.depth}
        self.core_freed: dict[str, set[str]] = {resource: set() for resource in plan["core_freed"]}
        for pd, node in before.holds:
            if node in self.core_freed and pd != ROOT:
                self.core_freed[node].add(pd)
        self.to_destroy = {*self.depth, *spaces, *plan["core_freed"]}
        self.to_destroy.update(body for body in self.bodies.values() if body is not None)
        self.to_destroy.update(*self.members.values())
        self.destroyed: set[str] = set()
        self.group_reached = 0
        self.suspended: set[str] = set()
        self.freed: set[str] = set()
        self.queued: Counter[Row] = Counter()
        self.tokens: dict[tuple[str, str], int] = {}
        """(receiver, space) -> token of its DESTROY or LOST notice"""
        self.cut: set[tuple[str, str]] = set()
        self.steps: Counter[Row] = Counter()
        self.step_calls = 0
        self.steps_destroyed: set[str] = set()
        self.rows: Counter[str] = Counter()
        self.suspending = _Paired()
        self.destroying = _Paired()
        self.notifying = _Paired()

    def expected_steps(self) -> Counter[Row]:
        """The steps (name, node, pd) of this cleanup, but for cut-request, which depends on the order."""
        steps: Counter[Row] = Counter()
        steps.update(("suspend", "-", pd) for pd in self.depth)
        steps.update(("mark", node, "-") for node in self.group)
        for node in self.to_destroy:
            steps[_destroy_step(node)] += 1
        for to, kind, node, _ in self.result.plan["notices"]:
            steps["notify", node, to] += 1
            if kind == "lost":
                steps["unblock", node, to] += 1
        return steps


def _destroy_step(node: str) -> Row:
    kind = _kind_of(node)
    return (_DESTROYING[kind], node, node if kind == "PD" else "-")


def _kind_of(node: str) -> NodeKind:
    parts = parse_id(node)
    assert parts is not None  # the reader lets nothing else through
    return parts.kind


def _normal_rows(rows: Iterable[str]) -> Iterator[str]:
    """State rows in a form in which equal states have equal rows whoever wrote them.

    A space's MANAGER= is left out: it is derived from the holds, and the replay knows the manager. The root
    task need not say that it is pinned. The ends of a LINK have no order.
    """
    for row in rows:
        if row.startswith("RESOURCE_SPACE,") and MANAGER in row:
            head, _, extra = row.rpartition(",")
            row = f"{head},{extra.partition(' ')[2]}" if extra.startswith(MANAGER) else row
        elif row == f"PD,{ROOT},{ROOT_NAME},,,,{PINNED}":
            row = row.removesuffix(PINNED)
        elif row.startswith(",,NONE,LINK,"):
            fields = row.split(",")
            if len(fields) == 7:
                row = ",".join([*fields[:4], *sorted(fields[4:6]), fields[6]])
        yield row


def _claimed_managers(rows: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(space, PD) of the rows that name a space's manager."""
    for row in rows:
        if row.startswith("RESOURCE_SPACE,") and MANAGER in row:
            fields = next(csv.reader([row]))
            if len(fields) == 7 and fields[6].startswith(MANAGER):
                yield fields[1], fields[6].removeprefix(MANAGER).partition(" ")[0]


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
        self.silent: set[str] = set()  # PDs that faulted or exited: they do nothing any more
        self.notices: dict[int, _Notice] = {}  # not acknowledged yet
        self.unfetched: dict[str, deque[int]] = {}
        self.last_token = 0
        self.running: _Running | None = None
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
        in_snapshot = event.name in ("STATE", "SETTLED") and event["n"] == "0"
        if self.snapshot is not None and not in_snapshot:
            self._bad(f"{event.name} within a snapshot of the state: expected SETTLED n=0 first")
            self.snapshot = None
        try:
            if in_snapshot:
                self._snapshot(event)
            elif event.name in _CLEANUP_EVENTS:
                self._in_cleanup(event)
            elif event.name == "END":
                self._end()
            else:
                self._outside(event)
        except CellreapError as error:
            self._bad(f"{event.name}: {error.line()}")

    def finish(self) -> None:
        """There are no more events."""
        self.report.model = self.model
        if not self.ended:
            self._bad("the trace ends without END")

    def _bad(self, text: str) -> None:
        if len(self.report.violations) < MAX_PROBLEMS:
            self.report.violations.append(Problem(self.line, printable(text, 400)))
        else:
            self.report.more_violations += 1

    def _outside(self, event: Event) -> None:
        """An event that is no part of a cleanup."""
        if self.running is not None or self.skipping is not None:
            number = self.skipping if self.running is None else self.running.result.number
            self._bad(f"{event.name} within cleanup {number}: expected SETTLED n={number} first")
        if self.bodyless is not None and event.name in _NEED_BODIES:
            self._bad(f"{event.name} before the BODY of {self.bodyless}")
            self.bodyless = None
        if event.name in _MODEL_EVENTS:
            self.unprinted = event.line
        _HANDLERS[event.name](self, event)

    def _end(self) -> None:
        self.ended = True
        self._forget_pending()
        if self.running is not None or self.skipping is not None:
            self._bad("END within a cleanup: expected its SETTLED")
        for trigger in self.pending:
            cause = f"{trigger.cause} of {trigger.pd} in line {trigger.line}"
            self._bad(f"END: the {cause} was never cleaned up")
        for token, notice in self.notices.items():
            if notice.to in self.model.nodes:
                what = "acknowledged" if notice.fetched else "fetched"
                about = f"{notice.kind} {notice.node}"
                self._bad(f"END: notice {token} ({about}) to {notice.to} was never {what}")
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
            self._bad(f"{event.name}: {pd} has faulted or exited and can do nothing any more")
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
        else:
            slots.used[slot] = (kind, node)
            slots.of[kind, node] = slot

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
        if table_of(event.number("version")) is None:
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
        self._actor(event, event["pd"])
        if event.number("status") not in self.refusals:
            self._bad(f"REFUSE: status={event['status']}: expected a cr_result other than CR_RESULT_OK")

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
        if any(trigger.pd == pd for trigger in self.pending):
            self._bad(f"{event.name}: {pd} is to be cleaned up already")
            return
        if event.name == "TERMINATE":
            self._terminator(event, pd, event["by"])
        else:
            self.silent.add(pd)
        self.pending.append(_Trigger(pd, CAUSES[event.name], event.line))

    def _terminator(self, event: Event, pd: str, by: str) -> None:
        if by != ROOT and self._actor(event, by):
            body = self.model.body_of(pd)
            if body is None or (by, body) not in self.model.holds:
                self._bad(f"TERMINATE: by={by}: it does not hold the capability to the body of {pd}")

    def _fetch(self, event: Event) -> None:
        pd, token = event["pd"], event.number("token")
        notice = self.notices.get(token)
        if not self._actor(event, pd):
            return
        if notice is None or notice.to != pd:
            self._bad(f"FETCH: token={token}: no such notice waits for {pd}")
            return
        if notice.fetched:
            self._bad(f"FETCH: token={token}: {pd} has fetched it before")
            return
        queue = self.unfetched[pd]
        if queue[0] != token:
            self._bad(f"FETCH: token={token}: {pd} is to fetch {queue[0]} before it")
        queue.remove(token)
        notice.fetched = True

    def _ack(self, event: Event) -> None:
        pd, token = event["pd"], event.number("token")
        notice = self.notices.get(token)
        if not self._actor(event, pd):
            return
        if notice is None or notice.to != pd or not notice.fetched:
            self._bad(f"ACK: token={token}: {pd} has fetched no such notice, or acknowledged it before")
            return
        del self.notices[token]
        if pd in self.cspaces:
            reserved = self.cspaces[pd].reserved
            for slot in [slot for slot, waits_for in reserved.items() if waits_for == token]:
                del reserved[slot]

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
        after = reference.apply(self.model, plan)
        result = Cleanup(number, event.line, trigger, cause, plan.to_json())
        self.report.cleanups.append(result)
        self.running = _Running(result, self.model, after)
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
        if event.name in _PLAN_EVENTS:
            self._planned(running, event)
            return
        first_suspend = False
        if event.name == "SUSPEND" or (event.name == "STEP" and event["name"] == "suspend"):
            # Depth 0 may be stopped before the rest of the plan is told.
            first_suspend = running.depth.get(event["pd"]) == 0
            phase = _SUSPEND_FIRST if first_suspend else _SUSPEND_REST
        elif event.name == "STEP":
            phase = _STEP_PHASES.get(event["name"], running.phase)
        else:
            phase = _EVENT_PHASES.get(event.name, _STATE)
        if running.plan_open and not first_suspend:
            self._plan_told(running)
        if phase < running.phase:
            what = f"STEP {event['name']}" if event.name == "STEP" else event.name
            self._bad(f"{what} after {_PHASE_NAMES[running.phase]}: expected it in {_PHASE_NAMES[phase]}")
        elif not first_suspend:
            running.phase = phase
        _CLEANUP_HANDLERS[event.name](self, running, event)

    def _planned(self, running: _Running, event: Event) -> None:
        row = tuple(value for name, value in event.values.items() if name != "n")
        shown = " ".join(row)
        if not running.plan_open:
            self._bad(f"{event.name} {shown}: after the cleanup was begun: expected the whole plan before it")
        elif running.told[event.name][row]:
            self._bad(f"{event.name} {shown}: told twice")
        elif not running.plan[event.name][row]:
            self._bad(f"{event.name} {shown}: not in the reference's plan")
        running.told[event.name][row] += 1

    def _plan_told(self, running: _Running) -> None:
        running.plan_open = False
        for name in _PLAN_EVENTS:
            for row in sorted(running.plan[name] - running.told[name]):
                self._bad(f"{name} {' '.join(row)}: in the reference's plan, but not in the trace's")

    def _suspend(self, running: _Running, event: Event) -> None:
        pd = event["pd"]
        if pd not in running.depth:
            self._bad(f"SUSPEND: {pd} is not doomed")
        elif pd in running.suspended:
            self._bad(f"SUSPEND: {pd} is suspended already")
        running.suspended.add(pd)
        if not running.suspending.see("SUSPEND", pd):
            self._bad(f"SUSPEND: {pd}: expected the STEP suspend of each PD beside its SUSPEND")

    def _step(self, running: _Running, event: Event) -> None:
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
        elif name == "notify":
            fits = running.notifying.see("STEP", (node, pd))
        elif name in _DESTROYING.values():
            fits = running.destroying.see("STEP", node)
            running.steps_destroyed.add(node)
            for asker in sorted(running.askers.get(node, ())):
                if asker not in running.destroyed and (asker, node) not in running.cut:
                    self._bad(f"{shown}: before {asker} lost its REQUEST to it (STEP cut-request)")
        if not fits:
            self._bad(f"{shown}: expected each step beside the event that tells what it did")

    def _destroy(self, running: _Running, event: Event) -> None:
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

    def _freed(self, running: _Running, event: Event) -> None:
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

    def _queue(self, running: _Running, event: Event) -> None:
        token = event.number("token")
        if token <= self.last_token:
            self._bad(f"QUEUE: token={token}: expected more than {self.last_token}")
        self.last_token = max(token, self.last_token)
        to, kind, node, _ = row = (event["to"], event["kind"], event["node"], event["from"])
        running.queued[row] += 1
        if running.queued[row] > running.plan["OWE"][row]:
            self._bad(f"QUEUE {' '.join(row)}: no such notice is owed, or it was queued before")
        if not running.notifying.see("QUEUE", (node, to)):
            self._bad(f"QUEUE {' '.join(row)}: expected each QUEUE beside the STEP notify that did it")
        self.notices[token] = _Notice(to, kind, node)
        self.unfetched.setdefault(to, deque()).append(token)
        if kind in ("lost", "destroy"):
            running.tokens[to, node] = token

    def _calls(self, running: _Running, event: Event) -> None:
        kind, count = event["kind"], event.number("count")
        if kind in running.result.kernel_calls:
            self._bad(f"CALLS: kind={kind} is there twice")
        if count == 0:
            self._bad(f"CALLS: kind={kind} count=0: expected only kinds that were called")
        running.result.kernel_calls[kind] = running.result.kernel_calls.get(kind, 0) + count

    def _state(self, running: _Running, event: Event) -> None:
        running.rows[event["row"]] += 1

    def _settled(self, running: _Running, event: Event) -> None:
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
        for token in [token for token, notice in self.notices.items() if notice.to not in self.model.nodes]:
            del self.notices[token]
        for pd in running.depth:
            self.unfetched.pop(pd, None)
            self.silent.discard(pd)
        self._forget_pending()
        self.running = None
        self._compare_state(event, running.rows)
        self._legal(f"after cleanup {running.result.number}")
        self.memory_changed = True

    def _steps_done(self, running: _Running) -> None:
        """Was everything done that had to be done?"""
        for pd in sorted(running.depth.keys() - running.suspended):
            self._bad(f"SETTLED: {pd} was never suspended")
        for node in sorted(running.to_destroy - running.destroyed):
            self._bad(f"SETTLED: {node} was never destroyed")
        for pd in sorted(running.depth.keys() - running.freed):
            self._bad(f"SETTLED: the memory of {pd} was never freed")
        for row in sorted(running.plan["OWE"] - running.queued):
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
        wanted = Counter(_normal_rows(state_rows(self.model)[1:]))
        has = Counter[str]()
        for row, count in rows.items():
            for normal in _normal_rows([row]):
                has[normal] += count
        for row in sorted(wanted - has):
            self._bad(f"STATE: the row {row} is missing")
        for row in sorted(has - wanted):
            self._bad(f"STATE: the row {row} is not in the state that the events make")
        for space, manager in _claimed_managers(rows):
            if self.model.manager.get(space, manager) != manager:
                self._bad(f"STATE: {space} is managed by {self.model.manager[space]}, not by {manager}")

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
    "ACCOUNT": Replay._account,
    "PD": Replay._pd,
    "BODY": Replay._body,
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
    "UNREACHED": Replay._unreached,
    "FAULT": Replay._trigger,
    "EXIT": Replay._trigger,
    "TERMINATE": Replay._trigger,
    "CLEANUP": Replay._cleanup,
    "FETCH": Replay._fetch,
    "ACK": Replay._ack,
}

_CLEANUP_HANDLERS: dict[str, Callable[[Replay, _Running, Event], None]] = {
    "SUSPEND": Replay._suspend,
    "STEP": Replay._step,
    "DESTROY": Replay._destroy,
    "FREED": Replay._freed,
    "QUEUE": Replay._queue,
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
_NEED_BODIES = frozenset({"PD", "ACCOUNT", "FAULT", "EXIT", "TERMINATE", "CLEANUP"})
