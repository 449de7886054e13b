# SPDX-License-Identifier: BSD-2-Clause
"""What one cleanup must do by the reference's plan, and what a trace showed of it so far."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any

from cellreap.model import reference
from cellreap.model.graph import MANAGER, PINNED, Model
from cellreap.model.ids import ROOT, NodeKind, parse_id
from cellreap.trace.report import Cleanup

ROOT_NAME = "ROOT_TASK"


class Paired:
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


class Phase(IntEnum):
    """The phases of a cleanup, in order."""

    PLAN = 0
    SUSPEND_FIRST = 1
    MARK = 2
    TELL = 3
    SUSPEND_REST = 4
    DESTROY = 5
    UNBLOCK = 6
    NOTIFY = 7
    CALLS = 8
    STATE = 9


PHASE_NAMES = (
    "the plan",
    "the suspending of the PDs at depth 0",
    "the marking",
    "the telling of subscribers",
    "the suspending of the other doomed PDs",
    "the destroying",
    "the unblocking",
    "the notices",
    "CALLS",
    "STATE",
)
STEP_PHASES = {
    "mark": Phase.MARK,
    "tell": Phase.TELL,
    "await": Phase.TELL,
    "cut-request": Phase.DESTROY,
    "destroy-resource": Phase.DESTROY,
    "destroy-space": Phase.DESTROY,
    "destroy-pd": Phase.DESTROY,
    "unblock": Phase.UNBLOCK,
    "notify": Phase.NOTIFY,
}
EVENT_PHASES = {
    "WAIT": Phase.TELL,
    "CONTINUE": Phase.TELL,
    "DESTROY": Phase.DESTROY,
    "FREED": Phase.DESTROY,
    "QUEUE": Phase.NOTIFY,
    "CALLS": Phase.CALLS,
    "STATE": Phase.STATE,
}
PLAN_EVENTS = (
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
PLANNED_AGAIN = ("LOSE_REQUEST", "REVOKE", "REVOKE_SPACE", "REVOKE_BODY", "FREE_CORE", "OWE")
"""Plan events that are told anew when time passed between the marking and the destroying."""
CLEANUP_EVENTS = frozenset({*PLAN_EVENTS, "SUSPEND", "STEP", *EVENT_PHASES, "SETTLED"})
DESTROYING = {"PD": "destroy-pd", "RESOURCE_SPACE": "destroy-space", "RESOURCE": "destroy-resource"}

Row = tuple[str, ...]


def plan_events(plan: dict[str, Any]) -> dict[str, Counter[Row]]:
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


class Running:
    """A cleanup between CLEANUP and SETTLED: what it must do, and what was seen of it."""

    def __init__(self, result: Cleanup, plan: reference.Plan, before: Model, tells: bool) -> None:
        """tells: subscribers are told; they were not in version 1 of the trace."""
        self.result = result
        self.tag = ("cleanup", result.number)
        self.depth = dict(plan.destroyed_pds)
        self.group = {node: index for index, nodes in enumerate(plan.groups) for node in nodes}
        self.told: dict[str, Counter[Row]] = {name: Counter() for name in PLAN_EVENTS}
        self.set_plan(plan, before)
        self.untold = Counter(plan.pre_destroy if tells else ())
        self.to_tell = sorted({self.group[node] for _, node in self.untold}, reverse=True)
        """the groups with somebody to be told about them that are not awaited yet, the next one first"""
        self.awaits = len(self.to_tell)
        self.tells = tuple(self.untold)
        self.plan_open = True
        self.phase = Phase.PLAN
        self.waiting = False
        self.waited = False
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
        self.suspending = Paired()
        self.destroying = Paired()
        self.notifying = Paired()

    def set_plan(self, plan: reference.Plan, before: Model) -> None:
        """The plan, for the state as it is now."""
        self.reference = plan
        self.result.plan = plan.to_json()
        self.before = before
        self.after = reference.apply(before, plan)
        self.plan = plan_events(self.result.plan)
        spaces = set(plan.deleted_spaces)
        self.members: dict[str, set[str]] = {space: set() for space in spaces}
        for resource, space in before.space_of.items():
            if space in spaces:
                self.members[space].add(resource)
        self.askers: dict[str, set[str]] = {space: set() for space in spaces}
        for pd, space in before.requests:
            if space in spaces:
                self.askers[space].add(pd)
        self.bodies = {pd: before.body_of(pd) for pd in self.depth}
        self.core_freed: dict[str, set[str]] = {resource: set() for resource in plan.core_freed}
        for pd, node in before.holds:
            if node in self.core_freed and pd != ROOT:
                self.core_freed[node].add(pd)
        self.to_destroy = {*self.depth, *spaces, *plan.core_freed}
        self.to_destroy.update(body for body in self.bodies.values() if body is not None)
        self.to_destroy.update(*self.members.values())

    def plan_again(self, model: Model) -> None:
        """Time passed since the marking: what becomes of the rest is to be told anew, as it is by now."""
        self.set_plan(reference.replan(model, self.reference), model)
        for name in PLANNED_AGAIN:
            self.told[name].clear()
        self.plan_open = True

    def dooms(self, node: str) -> bool:
        """Is this node doomed, itself or with its space?"""
        return node in self.group or self.before.space_of.get(node) in self.group

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
        for subscriber, node in self.tells:
            steps["tell", node, subscriber] += 1
        if self.awaits:
            steps["await", "-", "-"] = self.awaits
        return steps


def _destroy_step(node: str) -> Row:
    kind = kind_of(node)
    return (DESTROYING[kind], node, node if kind == "PD" else "-")


def kind_of(node: str) -> NodeKind:
    parts = parse_id(node)
    assert parts is not None  # the reader lets nothing else through
    return parts.kind


def normal_rows(rows: Iterable[str]) -> Iterator[str]:
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


def claimed_managers(rows: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(space, PD) of the rows that name a space's manager."""
    for row in rows:
        if row.startswith("RESOURCE_SPACE,") and MANAGER in row:
            fields = next(csv.reader([row]))
            if len(fields) == 7 and fields[6].startswith(MANAGER):
                yield fields[1], fields[6].removeprefix(MANAGER).partition(" ")[0]
