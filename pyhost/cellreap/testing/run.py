# SPDX-License-Identifier: BSD-2-Clause
"""One boot, and answers to questions about what happened in it.

Questions and answers use the names of the configuration ("fs", "disk1"), never ids, which the
root task gives out. The answers come from the events of the trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cellreap.model.ids import ROOT, parse_id
from cellreap.run.boot import Boot
from cellreap.trace.check import Report
from cellreap.trace.events import Event


@dataclass(frozen=True)
class Run:
    """One boot. `n` counts cleanups from 1, as the trace does."""

    boot: Boot
    """How the run ended."""
    report: Report
    """What the check found."""
    events: list[Event]
    """All events of the trace, in order."""
    trace: Path
    """The console as it was recorded."""
    image: Path
    """The image that was booted."""

    @cached_property
    def names(self) -> dict[str, str]:
        """id -> name in the configuration, of all PDs and spaces that ever existed."""
        names = {event["id"]: event["name"] for event in self.of("PD")}
        names |= {e["id"]: e["name"] if e["name"] != "-" else e["id"] for e in self.of("SPACE")}
        return names

    def name(self, id_: str) -> str:
        """A node's name; of a resource, that of its space and the object's number: "disk1:1"."""
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
        """The events of these names, with these values in their fields."""
        return [
            event
            for event in self.events
            if event.name in names
            and all(event[key] == str(value) for key, value in fields.items())
        ]

    def says(self, name: str) -> list[str]:
        """What all PDs of that name said, in order."""
        return [event["text"] for event in self.of("SAY") if self.names[event["pd"]] == name]

    def cleanups(self) -> list[Event]:
        """The CLEANUP events."""
        return self.of("CLEANUP")

    def doomed(self, n: int = 1) -> dict[str, str]:
        """The PDs that the n-th cleanup doomed, and at which depth."""
        return {self.names[event["pd"]]: event["depth"] for event in self.of("DOOM_PD", n=n)}

    def destroyed(self, n: int = 1) -> list[str]:
        """What the n-th cleanup destroyed, in order."""
        return [self.name(event["node"]) for event in self.of("DESTROY", n=n)]

    def destroyed_pds(self, n: int = 1) -> set[str]:
        """The PDs that the n-th cleanup destroyed."""
        nodes = {event["node"] for event in self.of("DESTROY", n=n)}
        return {self.names[node] for node in nodes if node in self.names and "_SPACE_" not in node}

    def deleted_spaces(self, n: int = 1) -> set[str]:
        """The spaces that the n-th cleanup destroyed."""
        return {self.names[e["node"]] for e in self.of("DESTROY", n=n) if "_SPACE_" in e["node"]}

    def alive(self) -> set[str]:
        """The names of the PDs at the end, the root task left out."""
        gone = {event["node"] for event in self.of("DESTROY")}
        return {e["name"] for e in self.of("PD") if e["id"] not in gone and e["id"] != ROOT}

    def notices(self, n: int = 1) -> set[tuple[str, str, str, str]]:
        """(to, kind, node, from) of every notice that the n-th cleanup queued.

        Raises AssertionError if it queued one twice.
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
        return {event["kind"]: event.number("count") for event in self.of("CALLS", n=n)}

    def step_calls(self, n: int, step: str) -> list[int]:
        """Kernel calls of each of the n-th cleanup's steps of that name."""
        return [event.number("calls") for event in self.of("STEP", n=n, name=step)]

    def state(self, n: int) -> list[list[str]]:
        """The rows of the state that was printed after the n-th cleanup, as columns."""
        return [event["row"].split(",") for event in self.of("STATE", n=n)]

    def at(self, event: Event) -> int:
        """Where in the run an event is."""
        return self.events.index(event)


def dangling(rows: list[list[str]]) -> list[str]:
    """The ends of edges in a printed state that no row of it lists as a node."""
    nodes = {row[1] for row in rows if row[0]}
    named = [end for row in rows if not row[0] for end in (row[4], row[5], row[6]) if end]
    return sorted({end for end in named if end not in nodes})
