# SPDX-License-Identifier: BSD-2-Clause
"""The slots in the CSpaces of PDs that the root task assigns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from cellreap import headers
from cellreap.model.ids import ROOT, is_bare, is_line
from cellreap.trace.check.context import Concern, Context
from cellreap.trace.check.own_slots import is_of_microkit
from cellreap.trace.events import Event

MAX_LOST_SLOTS: Final = headers.constant("limits.h", "CR_MAX_LOST_SLOTS")
"""A PD is given no more slots while so many wait for it to finish LOST notices."""

Capability = tuple[str, str]
"""(HOLD or REQUEST, node)."""


@dataclass(frozen=True)
class Reservation:
    """The unfinished notice that keeps an emptied slot from being given again.

    token: 0 while the PD is not told, which is for ever if it can no longer act.
    """

    token: int
    lost: bool
    """True for a LOST notice; False for the DESTROY notice of a manager"""
    about: str = ""
    """what a notice will name that is not queued yet"""
    leads: bool = False
    """whether the PD can still be in a call that it made over the slot"""


@dataclass
class _CSpace:
    """The slots of one PD."""

    used: dict[int, Capability] = field(default_factory=dict)
    of: dict[Capability, int] = field(default_factory=dict)
    """capability -> its slot"""
    filled: dict[int, tuple[int, str]] = field(default_factory=dict)
    """slot -> how often slots of any PD had been filled when this one was, and the server"""
    reserved: dict[int, Reservation] = field(default_factory=dict)
    lost: int = 0
    """number of slots reserved for LOST notices"""
    servers: set[str] = field(default_factory=set)
    """the managers of everything that the PD ever had a capability to"""

    def leads_to(self, server: str) -> bool:
        """Whether the PD can be in a call to the server. A slot leads there from the moment that it
        is filled. When somebody else empties it while the server lives, the PD can still be in a
        call that it made before, until it has finished the notice of the loss.
        """
        return any(
            self.filled[slot][1] == server
            for slot in (*self.used, *(slot for slot, of in self.reserved.items() if of.leads))
        )


class Slots(Concern):
    """Which capability is in which slot, and which slots may be given. Has no events of its own."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._first = headers.constant("protocol.h", "CR_SLOT_FIRST_FREE")
        self._end = 1 << headers.constant("limits.h", "CR_CSPACE_BITS_MAX")
        self._cspaces: defaultdict[str, _CSpace] = defaultdict(_CSpace)
        self._times = 0  # how often a slot was filled
        self._clients: dict[str, dict[str, None]] = {}
        """server -> the PDs that have or had a capability to something that it manages"""
        self._holders: dict[str, dict[tuple[str, str], None]] = {}
        """node -> (PD, HOLD or REQUEST) of the capabilities to the node"""
        self.lines: dict[str, tuple[str, int]] = {}
        """interrupt or ports -> the PD that has or had it, and the slot"""

    def take(self, event: Event, pd: str, node: str) -> None:
        """A PD gets a capability. It goes into a slot, or is already in one."""
        slot, kind = event.number("number"), event["kind"]
        if self._needs_none(pd, node, kind, slot):
            self.compare("slots.none", number=0)
            return
        cspace = self._cspaces[pd]
        if (kind, node) in cspace.of:
            self.compare("slots.one", number=cspace.of[kind, node])
        elif (rule := self._unfit(slot, cspace)) is not None:
            self.bad(rule)
        else:
            cspace.used[slot] = (kind, node)
            cspace.of[kind, node] = slot
            model = self.context.model
            server = model.manager[model.space_of.get(node, node)]
            cspace.servers.add(server)
            self._clients.setdefault(server, {})[pd] = None
            self._times += 1
            cspace.filled[slot] = self._times, server
            self._holders.setdefault(node, {})[pd, kind] = None
            if is_line(node):
                self.lines[node] = pd, slot

    def _needs_none(self, pd: str, node: str, kind: str, slot: int) -> bool:
        """Whether the PD needs no capability in its CSpace.

        A manager needs none to the nodes that it manages. No PD needs one to ask the root task.
        Of a channel, and of a request of a PD for Microkit, it may have none.
        """
        model = self.context.model
        space = model.space_of.get(node, node)
        if pd == ROOT or (kind == "REQUEST" and model.is_core(space)):
            return True
        microkit = is_of_microkit(self.context, pd)
        if is_bare(node) or (kind == "REQUEST" and microkit):
            return slot == 0
        return kind == "HOLD" and pd == model.manager.get(space)

    def _unfit(self, slot: int, cspace: _CSpace) -> str | None:
        """The rule by which the slot may not be given now. None: it may."""
        broken = {
            "slots.range": not self._first <= slot < self._end,
            "slots.used": slot in cspace.used,
            "slots.reused": slot in cspace.reserved,
            "slots.limit": cspace.lost >= MAX_LOST_SLOTS,
        }
        return next((rule for rule, is_broken in broken.items() if is_broken), None)

    def of(self, pd: str) -> dict[int, Capability]:
        """The slots of a PD in which capabilities are, by the events."""
        return self._cspaces[pd].used

    def filling(self, pd: str, slot: int) -> int:
        """A number that names the time at which the slot was last filled."""
        return self._cspaces[pd].filled[slot][0]

    def callers(self, server: str) -> list[str]:
        """The PDs that can be in a call to the server."""
        clients = self._clients.get(server, ())
        return [pd for pd in clients if self._cspaces[pd].leads_to(server)]

    def is_kept_empty(self, pd: str, slot: int) -> bool:
        """Whether the slot, or any slot, must not be given until the PD finishes a notice."""
        cspace = self._cspaces[pd]
        return slot in cspace.reserved or cspace.lost >= MAX_LOST_SLOTS

    def servers_of(self, pd: str) -> Collection[str]:
        """The PDs that manage, or managed, something that the PD has or had a capability to."""
        return self._cspaces[pd].servers

    def give_back(self, event: Event, pd: str, node: str, gone: bool) -> int:
        """A PD gives a capability back. gone: whether it was the last of its kind to that node.

        Returns the slot that is empty now, or 0.
        """
        capability, cspace = (event["kind"], node), self._cspaces[pd]
        has = cspace.of.get(capability, 0)
        self.compare("slots.given_back", number=has)
        return self._empty(pd, cspace, capability) if gone and has else 0

    def tell(self, pd: str, slot: int, about: str) -> None:
        """Somebody else emptied the slot. The PD must be told, if it can act now or later.

        about: what the notice will name.
        """
        context = self.context
        told = context.actors.may_answer(pd) or pd in context.blame.held
        if not told or context.cleanups.dooms_pd(pd):
            about = ""
        elif not self._untold(pd, about):
            context.debts.owe("QUEUE", pd, "lost", about, "-")
        self._reserve(pd, slot, Reservation(0, True, about))

    def _untold(self, pd: str, about: str) -> list[int]:
        """The slots with a loss that the PD will be told under this name."""
        return [slot for slot, of in self._cspaces[pd].reserved.items() if of.about == about]

    def told(self, pd: str, about: str, token: int) -> None:
        """The PD is told of a loss."""
        for slot in self._untold(pd, about):
            reserved = self._cspaces[pd].reserved
            reserved[slot] = replace(reserved[slot], token=token, about="")

    def _reserve(self, pd: str, slot: int, notice: Reservation) -> None:
        """Somebody else emptied the slot. It must stay empty until the PD finishes the notice."""
        cspace = self._cspaces[pd]
        leads = cspace.filled[slot][1] not in self.context.freed.stopped
        cspace.reserved[slot] = replace(notice, leads=leads)
        cspace.lost += notice.lost

    def _empty(self, pd: str, cspace: _CSpace, capability: Capability) -> int:
        kind, node = capability
        slot = cspace.of.pop(capability)
        del cspace.used[slot]
        holders = self._holders[node]
        del holders[pd, kind]
        if not holders:
            del self._holders[node]
        return slot

    def vacate(
        self, nodes: Iterable[str], notice_of: Callable[[str, str], Reservation | str | None]
    ) -> None:
        """Removes all capabilities to nodes that no longer exist from their slots.

        notice_of(PD, node): the notice that must be finished before the slot is given again, or
        what the notice will name if it is not queued yet. None: the slot is free at once.
        """
        for node in nodes:
            for pd, kind in list(self._holders.get(node, ())):
                slot = self._empty(pd, self._cspaces[pd], (kind, node))
                given = kind == "REQUEST" and is_of_microkit(self.context, pd)
                notice = None if given else notice_of(pd, node)
                if isinstance(notice, str):
                    self.tell(pd, slot, notice)
                elif notice is not None:
                    self._reserve(pd, slot, notice)

    def finished(self, pd: str, token: int, succeeded: bool) -> None:
        """Frees the slots that were reserved until the PD finished this notice.

        One that failed is delivered again.
        """
        if not succeeded:
            return
        cspace = self._cspaces[pd]
        slots = [slot for slot, of in cspace.reserved.items() if of.token == token]
        for slot in slots:
            cspace.lost -= cspace.reserved.pop(slot).lost
        self.context.memory.free_slots(pd, slots)

    def forget(self, pd: str) -> None:
        """The PD is destroyed."""
        cspace = self._cspaces.pop(pd, _CSpace())
        for capability in list(cspace.of):
            self._empty(pd, cspace, capability)
        for server in cspace.servers:
            del self._clients[server][pd]
