# SPDX-License-Identifier: BSD-2-Clause
"""Tombstones: what is still known of destroyed PDs and spaces, and who refers to them.

A PD refers to a destroyed node from the first notice about its loss that is queued to the PD, until
the PD has finished the last of these notices. It refers to so many nodes at most: with one more,
the oldest reference goes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from cellreap import headers
from cellreap.model.csvstate import tombstone_rows
from cellreap.model.ids import kind_of
from cellreap.model.tombstones import Tombstone
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.check.running import Running
from cellreap.trace.check.work import LEFT_BEHIND, Notice
from cellreap.trace.events import Event

_TELL_OF_NODES = ("destroy", "lost")
"""Kinds of notices that tell of the node itself. `LEFT_BEHIND` tell of a PD beside it."""
_HOW: Final = {
    "FAULT": "fault",
    "EXIT": "exit",
    "TERMINATE": "terminate",
    "TERMINATE_TREE": "terminate",
    "LATE": "late",
    "HUNG": "hung",
}
"""Event -> how its PD comes to its end."""
SEES: Final = frozenset({*_HOW, "FAULT_HELD", "CLEANUP", "DOOM"})
"""Events that say how a PD comes to its end."""


@dataclass(frozen=True)
class End:
    """How a PD came to its end."""

    how: str = "dependency"
    code: str = "0"
    kind: str = "-"
    address: str = "0x0"
    ip: str = "0x0"


class Tombstones(Concern):
    """TOMBSTONE, FORGOTTEN."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._most = headers.constant("limits.h", "CR_TOMBSTONES_EACH")
        self._ends: dict[str, End] = {}
        self._how: str | None = None  # how PDs of the plan that is told end without a trigger
        self._destroyed: dict[str, int] = {}
        """node -> its cleanup, until that settles and, if PDs refer to the node, TOMBSTONE comes"""
        self._settled: set[int] = set()
        self._told: set[str] = set()
        """the nodes with a TOMBSTONE and without FORGOTTEN"""
        self._refers: dict[str, OrderedDict[str, set[int]]] = {}
        """PD -> destroyed node -> the notices about it, oldest reference first"""

    # -- for other concerns

    def count(self) -> int:
        """The destroyed nodes of settled cleanups that are still known."""
        return len(self._told)

    def rows(self) -> list[str]:
        """The rows of these nodes in a saved state."""
        known = []
        for node in self._told:
            end, name = self._end(node), self.context.report.names.get(node, "-")
            fault = None if end.kind == "-" else (end.kind, end.address, end.ip)
            known.append(Tombstone(node, name, end.how, int(end.code), fault))
        return tombstone_rows(known)

    def see(self, event: Event) -> None:
        """One of SEES: what an end of a PD, or a fault, leaves behind."""
        name = event.name
        if name in ("FAULT", "FAULT_HELD"):
            what = {each: event[each] for each in ("kind", "address", "ip")}
            self._note(event["pd"], **what)
        if name == "EXIT":
            self._note(event["pd"], code=event["code"])
        how = _HOW.get(name)
        if how is not None:
            self._note(event["pd"], how=how)
        if name == "CLEANUP":
            self._how = event["cause"] if event["cause"] in ("collect", "reconcile") else None
            if self._end(event["trigger"]).how == "dependency":
                self._note(event["trigger"], how=event["cause"])
        dooms = name == "DOOM" and event["spared"] == "0" and kind_of(event["node"]) == "PD"
        if dooms and self._how is not None:
            self._note(event["node"], how=self._how)

    def terminated(self, pd: str) -> None:
        """The PD was terminated with the one that created it."""
        self._note(pd, how="terminate")

    def spared(self, pd: str) -> None:
        """A collection does not destroy the PD after all."""
        if self._end(pd).how == "collect":
            self._note(pd, how="dependency")

    def _note(self, pd: str, **what: str) -> None:
        self._ends[pd] = replace(self._end(pd), **what)

    def end_of(self, node: str, pd: str) -> End | None:
        """How the node came to its end, if the PD can ask."""
        refers = node in self._told and node in self._refers.get(pd, ())
        return self._end(node) if refers else None

    def _end(self, node: str) -> End:
        return self._ends.get(node, End())

    def destroyed(self, number: int, node: str) -> None:
        """A cleanup destroyed a PD or space."""
        self._destroyed[node] = number
        self.forget(node)

    def settled(self, running: Running, leaves: bool) -> None:
        """The cleanup is over. leaves: it left something for a later run."""
        if not leaves:
            self._settled.add(running.result.number)

    def queued(self, notice: Notice) -> None:
        """A notice was queued to a PD that is not stopped."""
        node = notice.dead if notice.kind in LEFT_BEHIND else notice.node
        if notice.kind not in (*LEFT_BEHIND, *_TELL_OF_NODES) or node not in self._destroyed:
            return
        refers = self._refers.setdefault(notice.to, OrderedDict())
        if node not in refers and len(refers) == self._most:
            refers.popitem(last=False)
        refers.setdefault(node, set()).add(notice.token)

    def finished(self, pd: str, token: int) -> None:
        """A PD finished a notice, or it was merged or taken back."""
        refers = self._refers.get(pd, OrderedDict())
        for node in [each for each, tokens in refers.items() if token in tokens]:
            refers[node].discard(token)
            if not refers[node]:
                del refers[node]

    def forget(self, pd: str) -> None:
        """The PD refers to nothing any more: it is stopped or destroyed."""
        self._refers.pop(pd, None)

    def demand(self, event: Event) -> None:
        """Checks, when the root task goes on to another message, that nothing is missing."""
        if not (self._destroyed or self._told):
            return
        referred = self._referred()
        for node, number in list(self._destroyed.items()):
            if number not in self._settled:
                continue
            del self._destroyed[node]
            if node in referred:
                text = f"expected TOMBSTONE n={number} node={node} before it: PDs refer to it"
                self.context.bad("tombstones.told", f"{event.name}: {text}")
                self._told.add(node)
        self._demand_forgotten(event, self._told - referred)

    def _demand_forgotten(self, event: Event, nodes: Iterable[str]) -> None:
        for node in sorted(nodes):
            text = f"expected FORGOTTEN node={node} before it: no PD refers to it"
            self.context.bad("tombstones.forgotten", f"{event.name}: {text}")
            self._told.discard(node)

    def _referred(self) -> set[str]:
        return set().union(*(refers.keys() for refers in self._refers.values()))

    # -- events

    def tombstone(self, event: Event) -> None:
        """TOMBSTONE: PDs refer to a node that a cleanup destroyed."""
        node, number = event["node"], event.number("n")
        shown = f"TOMBSTONE: n={number} node={node}"
        if self._destroyed.get(node) != number or number not in self._settled:
            text = "expected it once, after the SETTLED of the cleanup that destroyed the node"
            self.context.bad("tombstones.told", f"{shown}: {text}")
            return
        del self._destroyed[node]
        self._told.add(node)
        if node not in self._referred():
            self.context.bad("tombstones.told", f"{shown}: no PD refers to it")
        end = self._end(node)
        expected = {"name": self.context.report.names.get(node, "-"), **vars(end)}
        for field, value in expected.items():
            if event[field] != value:
                text = f"{field}={event[field]}: expected {value}"
                self.context.bad("tombstones.end", f"{shown}: {text}")

    def forgotten(self, event: Event) -> None:
        """FORGOTTEN: nobody refers to the node any more."""
        node = event["node"]
        if node not in self._told:
            text = f"FORGOTTEN: {node}: expected it once, after its TOMBSTONE"
            self.context.bad("tombstones.forgotten", text)
            return
        if node in self._referred():
            text = f"FORGOTTEN: {node}: PDs still refer to it"
            self.context.bad("tombstones.forgotten", text)
        self._told.discard(node)

    handlers: ClassVar[Handlers] = {"TOMBSTONE": tombstone, "FORGOTTEN": forgotten}
