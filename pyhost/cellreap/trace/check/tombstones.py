# SPDX-License-Identifier: BSD-2-Clause
"""Tombstones: what is still known of destroyed PDs and spaces, and who refers to them.

A PD refers to a destroyed node from the first notice about its loss that is queued to the PD, until
the PD has finished the last of these notices. It refers to so many nodes at most: with one more,
the oldest reference goes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final, NamedTuple

from cellreap import headers
from cellreap.model.csvstate import tombstone_rows
from cellreap.model.plan import Plan
from cellreap.model.tombstones import Tombstone
from cellreap.trace.check.context import Concern, Context
from cellreap.trace.check.running import Running
from cellreap.trace.check.work import LEFT_BEHIND, Notice
from cellreap.trace.events import Event, cause_of

_TELL_OF_NODES = ("destroy", "lost")
"""Kinds of notices that tell of the node itself. `LEFT_BEHIND` tell of a PD beside it."""
_HOW: Final = {
    **{cause: cause for cause in ("fault", "exit", "terminate", "late", "hung")},
    "subtree": "terminate",
}
"""Cause -> how the PD of its trigger comes to its end."""
SEES: Final = frozenset({"FAULT", "EXIT", "TRIGGER", "FAULT_HELD", "CLEANUP"})
"""Events that say how a PD comes to its end."""


class End(NamedTuple):
    """How a PD came to its end."""

    how: str = "dependency"
    code: int = 0
    fault: Event | None = None
    """Its last FAULT or FAULT_HELD."""


class Tombstones(Concern):
    """The end of each destroyed node, and who refers to it. Has no events of its own."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._most = headers.constant("limits.h", "CR_TOMBSTONES_EACH")
        self._ends: dict[str, End] = {}
        self._destroyed: dict[str, int] = {}
        """node -> its cleanup, until that has settled and no PD refers to the node"""
        self._settled: set[int] = set()
        self.stale = False
        """whether there may be nodes that are still known and that no PD refers to"""
        self._refers: dict[str, OrderedDict[str, set[int]]] = {}
        """PD -> destroyed node -> the notices about it, oldest reference first"""

    # -- for other concerns

    def rows(self) -> list[str]:
        """The rows of these nodes in a saved state."""
        known = []
        for node in self._known():
            end, name = self.end_of(node), self.context.report.names.get(node, "-")
            fault = end.fault
            what = None if fault is None else (fault["kind"], fault["address"], fault["ip"])
            known.append(Tombstone(node, name, end.how, end.code, what))
        return tombstone_rows(known)

    def see(self, event: Event) -> None:
        """One of SEES: what an end of a PD, or a fault, leaves behind."""
        name = event.name
        if name in ("FAULT", "FAULT_HELD"):
            self._note(event["pd"], fault=event)
        if name == "EXIT":
            self._note(event["pd"], code=event.number("code"))
        how = _HOW.get(cause_of(event) or "")
        if how is not None:
            self._note(event["pd"], how=how)
        if name == "CLEANUP" and self.end_of(event["trigger"]).how == "dependency":
            self._note(event["trigger"], how=event["cause"])

    def planned(self, cause: str, plan: Plan) -> None:
        """A cleanup dooms PDs."""
        for pd, _ in plan.destroyed_pds if cause in ("collect", "reconcile") else ():
            self._note(pd, how=cause)

    def terminated(self, pd: str) -> None:
        """The PD was terminated with the one that created it."""
        self._note(pd, how="terminate")

    def spared(self, pd: str) -> None:
        """A collection does not destroy the PD after all."""
        if self.end_of(pd).how == "collect":
            self._note(pd, how="dependency")

    def _note(self, pd: str, **what: Any) -> None:
        self._ends[pd] = self.end_of(pd)._replace(**what)

    def may_ask(self, pd: str, node: str) -> bool:
        """Whether the PD can ask how the node came to its end."""
        return node in self._refers.get(pd, ())

    def end_of(self, node: str) -> End:
        """How the node came to its end, as far as is known."""
        return self._ends.get(node, End())

    def destroyed(self, number: int, node: str) -> None:
        """A cleanup destroyed a PD or space."""
        self._destroyed[node] = number
        self.stale = True
        self.forget(node)

    def settled(self, running: Running, leaves: bool) -> None:
        """The cleanup is over. leaves: it left something for a later run."""
        if not leaves:
            self._settled.add(running.result.number)
            self.stale = True

    def queued(self, notice: Notice) -> None:
        """A notice was queued to a PD that is not stopped."""
        node = notice.dead if notice.kind in LEFT_BEHIND else notice.node
        if notice.kind not in (*LEFT_BEHIND, *_TELL_OF_NODES) or node not in self._destroyed:
            return
        refers = self._refers.setdefault(notice.to, OrderedDict())
        if node not in refers and len(refers) == self._most:
            refers.popitem(last=False)
            self.stale = True
        refers.setdefault(node, set()).add(notice.token)

    def finished(self, pd: str, token: int) -> None:
        """A PD finished a notice, or it was merged or taken back."""
        refers = self._refers.get(pd, OrderedDict())
        for node in [each for each, tokens in refers.items() if token in tokens]:
            refers[node].discard(token)
            if not refers[node]:
                del refers[node]
                self.stale = True

    def forget(self, pd: str) -> None:
        """The PD refers to nothing any more: it is stopped or destroyed."""
        self.stale |= self._refers.pop(pd, None) is not None

    def count(self) -> int:
        """The destroyed nodes of settled cleanups that are still known."""
        return len(self._known())

    def release(self) -> None:
        """Drops what no PD refers to any more. Nothing can refer to it again."""
        self.stale = False
        referred = set().union(*(refers.keys() for refers in self._refers.values()))
        self._destroyed = {
            node: number
            for node, number in self._destroyed.items()
            if number not in self._settled or node in referred
        }

    def _known(self) -> list[str]:
        self.release()
        return [node for node, number in self._destroyed.items() if number in self._settled]
