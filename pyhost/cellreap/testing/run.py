# SPDX-License-Identifier: BSD-2-Clause
"""One boot, and answers to questions about it.

Questions and answers use the names of the configuration ("fs", "disk1"). Ids are not used, because
the root task assigns them. The answers come from the events of the trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from cellreap.model.csvstate import state_rows
from cellreap.model.ids import NodeKind, kind_of, parse_id
from cellreap.runs.boot import Boot
from cellreap.trace.check import Report
from cellreap.trace.check.replay import Replay
from cellreap.trace.check.running import DESTROYING
from cellreap.trace.check.state import with_doomed
from cellreap.trace.events import Event


@dataclass(frozen=True)
class Run:
    """One boot. `n` is the number of a cleanup, from 1 as in the trace."""

    boot: Boot
    """How the run ended."""
    report: Report
    """The result of the check."""
    events: list[Event]
    """All events of the trace, in order."""
    trace: Path
    """The file with the recorded console."""
    image: Path
    """The image that was booted."""

    @cached_property
    def names(self) -> dict[str, str]:
        """id -> name in the configuration, for all PDs and spaces that ever existed."""
        names = {event["id"]: event["name"] for event in self.of("PD")}
        names |= {e["id"]: e["name"] if e["name"] != "-" else e["id"] for e in self.of("SPACE")}
        return names

    def name(self, id_: str) -> str:
        """A node's name. For a resource, the name of its space and its object number: "disk1:1"."""
        if id_ in self.names or id_ == "-":
            return self.names.get(id_, id_)
        parsed = parse_id(id_)
        if parsed is None:
            raise ValueError(f"'{id_}' is no id")
        space = next(event["space"] for event in self.of("RESOURCE", id=id_))
        return f"{self.names[space]}:{parsed.number}"

    def ids(self, name: str) -> list[str]:
        """The ids of all PDs or spaces that had that name, in the order of creation."""
        return [id_ for id_, known in self.names.items() if known == name]

    def id(self, name: str) -> str:
        """The id of the only PD or space that ever had that name.

        Raises ValueError if none or several had it.
        """
        found = self.ids(name)
        if len(found) != 1:
            raise ValueError(f"{len(found)} PDs and spaces had the name '{name}': {found}")
        return found[0]

    def of(self, *names: str, **fields: object) -> list[Event]:
        """The events that tell this (`Event.told`), or have this name, and whose fields have these
        values. The argument for a field that is named like a Python keyword has a trailing
        underscore: `from_`.
        """
        wanted = {key.rstrip("_"): str(value) for key, value in fields.items()}
        return [
            event
            for event in self.events
            if (event.name in names or event.told in names)
            and all(event[key] == value for key, value in wanted.items())
        ]

    def made(self, *kinds: str, **fields: object) -> list[Event]:
        """The EDGE events of edges of these kinds that were made."""
        return [event for event in self.of("EDGE", **fields) if event.made(*kinds)]

    def dropped(self, *kinds: str, **fields: object) -> list[Event]:
        """The EDGE events of edges of these kinds that were dropped."""
        return [event for event in self.of("EDGE", **fields) if event.dropped(*kinds)]

    def says(self, name: str) -> list[str]:
        """What all PDs of that name printed, in order."""
        return [event["text"] for event in self.of("SAY") if self.names[event["pd"]] == name]

    def cleanups(self) -> list[Event]:
        """The CLEANUP events."""
        return self.of("CLEANUP")

    def plan(self, n: int = 1) -> dict[str, Any]:
        """The plan of the n-th cleanup, with the keys of `cellreap plan --json`. Nodes have ids."""
        return self.report.cleanups[n - 1].plan

    def doomed(self, n: int = 1) -> dict[str, str]:
        """The PDs that the n-th cleanup doomed, with their depths."""
        return {self.names[pd]: str(depth) for pd, depth in self.plan(n)["destroyed_pds"]}

    def dooms(self, n: int | None = None, kind: NodeKind = "PD") -> list[str]:
        """The nodes that the n-th cleanup doomed at first. None: those of all cleanups."""
        marks = self.of("STEP", name="mark") if n is None else self.of("STEP", name="mark", n=n)
        return [event["node"] for event in marks if kind_of(event["node"]) == kind]

    def groups(self, n: int = 1) -> dict[str, int]:
        """The nodes that the n-th cleanup doomed, with their groups."""
        groups = enumerate(self.plan(n)["groups"])
        return {node: group for group, nodes in groups for node in nodes}

    def destroys(self, n: int | None = None) -> list[tuple[str, Event]]:
        """What the n-th cleanup destroyed, in order, with the STEPs. None: what all of them did."""
        rest = {each.number: iter(each.destroyed) for each in self.report.cleanups}
        steps = self.of("STEP") if n is None else self.of("STEP", n=n)
        return [
            (node, step)
            for step in steps
            if step["name"] in DESTROYING.values()
            for node in islice(rest[step.number("n")], step.number("count"))
        ]

    def destroyed(self, n: int = 1) -> list[str]:
        """The nodes that the n-th cleanup destroyed, in order."""
        return [self.name(node) for node, _ in self.destroys(n)]

    def destroyed_pds(self, n: int = 1) -> set[str]:
        """The PDs that the n-th cleanup destroyed."""
        nodes = {node for node, _ in self.destroys(n)}
        return {self.names[node] for node in nodes if node in self.names and "_SPACE_" not in node}

    def deleted_spaces(self, n: int = 1) -> set[str]:
        """The spaces that the n-th cleanup destroyed."""
        return {self.names[node] for node, _ in self.destroys(n) if "_SPACE_" in node}

    def alive(self) -> set[str]:
        """The names of the PDs that live at the end, without the root task. What a cleanup left
        lives no more.
        """
        return {self.names[pd] for pd in self.report.alive()}

    def notices(self, n: int = 1) -> set[tuple[str, str, str, str]]:
        """(to, kind, node, from) of every notice that the n-th cleanup queued.

        Raises AssertionError if a notice was queued twice.
        """
        found = [
            (self.name(e["to"]), e["kind"], self.name(e["node"]), self.name(e["from"]))
            for e in self.of("QUEUE", n=n)
        ]
        if len(set(found)) != len(found):
            raise AssertionError(f"a notice was queued twice: {found}")
        return set(found)

    def calls(self, n: int = 1) -> dict[str, int]:
        """Kernel calls of the n-th cleanup, by kind."""
        return self.report.cleanups[n - 1].kernel_calls

    def step_calls(self, n: int, step: str) -> list[int]:
        """The number of kernel calls of each of the n-th cleanup's steps with that name."""
        return [event.counts("kinds").total() for event in self.of("STEP", n=n, name=step)]

    def state(self, n: int) -> list[list[str]]:
        """The rows of the state after the n-th cleanup, as columns: after the last run over what it
        left, if it left anything. 0: before the first cleanup.

        The root task prints whole states only at the beginning and at the end. The rows are those
        of the replay, which the check has compared with the digest that the root task printed.
        """
        return self._states[n]

    @cached_property
    def _states(self) -> dict[int, list[list[str]]]:
        replay = Replay(Report(str(self.trace)))
        states: dict[int, list[list[str]]] = {}

        def keep(n: int) -> None:
            marked = with_doomed(replay.model, replay.context.cleanups.doomed())
            states[n] = [row.split(",") for row in state_rows(marked)[1:]]

        for event in self.events:
            if event.name == "CLEANUP" and 0 not in states:
                keep(0)
            replay.feed(event)
            if event.name == "SETTLED" and event["n"] != "0":
                keep(event.number("n"))
        return states

    def last_state(self) -> list[list[str]]:
        """The rows of the last whole state that the root task printed, as columns."""
        last = self.at(self.of("SETTLED", n=0)[-1])
        begin = last - self.events[last].number("rows")
        return [event["row"].split(",") for event in self.events[begin:last]]

    def at(self, event: Event) -> int:
        """The index of an event in the run."""
        return self.events.index(event)


def dangling(rows: list[list[str]]) -> list[str]:
    """Nodes at which edges in a printed state end and which no row lists as a node."""
    nodes = {row[1] for row in rows if row[0]}
    named = [end for row in rows if not row[0] for end in (row[4], row[5], row[6]) if end]
    return sorted({end for end in named if end not in nodes})
