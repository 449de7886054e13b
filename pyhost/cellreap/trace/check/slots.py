# SPDX-License-Identifier: BSD-2-Clause
"""The slots in the CSpaces of PDs that the root task assigns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from cellreap import headers
from cellreap.model.ids import ROOT, is_bare
from cellreap.trace.check.context import Concern, Context
from cellreap.trace.check.own_slots import is_of_microkit
from cellreap.trace.check.ways import Ways
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


@dataclass
class _CSpace:
    """The slots of one PD."""

    used: dict[int, Capability] = field(default_factory=dict)
    of: dict[Capability, int] = field(default_factory=dict)
    """capability -> its slot"""
    filled: dict[int, int] = field(default_factory=dict)
    """slot -> how often slots of any PD had been filled when this one was"""
    reserved: dict[int, Reservation] = field(default_factory=dict)
    by_token: dict[int, list[int]] = field(default_factory=dict)
    """token -> the slots that are reserved until the notice is finished"""
    untold: dict[str, list[int]] = field(default_factory=dict)
    """space, resource or PD -> the slots with a loss that the PD will be told under this name"""
    lost: int = 0
    """number of slots reserved for LOST notices"""
    servers: set[str] = field(default_factory=set)
    """the managers of everything that the PD ever had a capability to"""


class Slots(Concern):
    """Which capability is in which slot, and which slots may be given. Has no events of its own."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._first = headers.constant("protocol.h", "CR_SLOT_FIRST_FREE")
        self._end = 1 << headers.constant("limits.h", "CR_CSPACE_BITS_MAX")
        self._cspaces: dict[str, _CSpace] = {}
        self.ways = Ways()
        self._times = 0  # how often a slot was filled
        self._holders: dict[str, dict[tuple[str, str], None]] = {}
        """node -> (PD, HOLD or REQUEST) of the capabilities to the node"""

    def take(self, event: Event, pd: str, node: str) -> None:
        """A PD gets a capability. It goes into a slot, or is already in one."""
        slot, kind = event.number("number"), event["kind"]
        if self._needs_none(pd, node, kind, slot):
            if slot != 0:
                text = f"number={slot}: expected number=0, for {pd} needs none for {node}"
                self.context.bad("slots.none", f"{event.told}: {text}")
            return
        cspace = self._cspaces.setdefault(pd, _CSpace())
        has = cspace.of.get((kind, node))
        if has is None:
            found = self._unfit(pd, slot, cspace)
            if found is None:
                cspace.used[slot] = (kind, node)
                cspace.of[kind, node] = slot
                self._times += 1
                cspace.filled[slot] = self._times
                model = self.context.model
                server = model.manager[model.space_of.get(node, node)]
                cspace.servers.add(server)
                self.ways.fill(pd, slot, server)
                self._holders.setdefault(node, {})[pd, kind] = None
            else:
                rule, text = found
                self.context.bad(rule, f"{event.told}: number={slot}: {text}")
        elif has != slot:
            text = f"number={slot}: {pd} has its capability to {node} in slot {has}"
            self.context.bad("slots.one", f"{event.told}: {text}")

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

    def _unfit(self, pd: str, slot: int, cspace: _CSpace) -> tuple[str, str] | None:
        """(rule, text) if the slot may not be given now; None if it may."""
        if slot < self._first:
            return "slots.range", f"the root task gives out slots from {self._first} on"
        if slot >= self._end:
            return "slots.range", f"the largest CSpace has {self._end} slots"
        if slot in cspace.used:
            return "slots.used", f"{pd} has its capability to {cspace.used[slot][1]} there"
        if slot in cspace.reserved:
            token = cspace.reserved[slot].token
            notice = f"notice {token}" if token else "that"
            return "slots.reused", f"it was revoked, and {pd} has not acknowledged {notice}"
        if cspace.lost >= MAX_LOST_SLOTS:
            lost = f"{cspace.lost} slots wait for {pd} to acknowledge losses"
            return "slots.limit", f"{lost}, so it is given no more"
        return None

    def of(self, pd: str) -> dict[int, Capability]:
        """The slots of a PD in which capabilities are, by the events."""
        cspace = self._cspaces.get(pd)
        return {} if cspace is None else cspace.used

    def filling(self, pd: str, slot: int) -> int:
        """A number that names the time at which the slot was last filled."""
        return self._cspaces[pd].filled[slot]

    def is_kept_empty(self, pd: str, slot: int) -> bool:
        """Whether the slot, or any slot, must not be given until the PD finishes a notice."""
        cspace = self._cspaces.get(pd)
        return cspace is not None and (slot in cspace.reserved or cspace.lost >= MAX_LOST_SLOTS)

    def servers_of(self, pd: str) -> Collection[str]:
        """The PDs that manage, or managed, something that the PD has or had a capability to."""
        return self._cspaces[pd].servers if pd in self._cspaces else ()

    def give_back(self, event: Event, pd: str, node: str, gone: bool) -> int:
        """A PD gives a capability back. gone: whether it was the last of its kind to that node.

        Returns the slot that is empty now, or 0.
        """
        slot, kind = event.number("number"), event["kind"]
        cspace = self._cspaces.get(pd)
        has = 0 if cspace is None else cspace.of.get((kind, node), 0)
        if slot != has:
            text = f"number={slot}: {pd} has its capability to {node} in slot {has}"
            self.context.bad("slots.given_back", f"{event.told}: {text}")
        if not gone or not has or cspace is None:
            return 0
        return self._empty(pd, cspace, (kind, node))

    def tell(self, pd: str, slot: int, about: str) -> None:
        """Somebody else emptied the slot. The PD must be told, if it can act now or later.

        about: what the notice will name.
        """
        context, cspace = self.context, self._cspaces[pd]
        self._reserve(pd, slot, Reservation(0, True))
        lives = context.actors.may_answer(pd) or pd in context.blame.held
        if lives and not context.cleanups.dooms_pd(pd):
            if about not in cspace.untold:
                context.debts.owe("QUEUE", pd, "lost", about, "-")
            cspace.untold.setdefault(about, []).append(slot)

    def told(self, pd: str, about: str, token: int) -> None:
        """The PD is told of a loss."""
        cspace = self._cspaces.get(pd)
        for slot in cspace.untold.pop(about, ()) if cspace is not None else ():
            assert cspace is not None
            cspace.reserved[slot] = Reservation(token, True)
            cspace.by_token.setdefault(token, []).append(slot)
            self.ways.told(pd, slot, token)

    def _reserve(self, pd: str, slot: int, notice: Reservation) -> None:
        """Somebody else emptied the slot. It must stay empty until the PD finishes the notice."""
        cspace = self._cspaces[pd]
        cspace.reserved[slot] = notice
        cspace.lost += notice.lost
        if self.ways.server(pd, slot) not in self.context.freed.stopped:
            self.ways.keep(pd, slot, notice.token)

    def _empty(self, pd: str, cspace: _CSpace, capability: Capability) -> int:
        kind, node = capability
        slot = cspace.of.pop(capability)
        del cspace.used[slot]
        self.ways.empty(pd, slot)
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
                cspace = self._cspaces[pd]
                slot = self._empty(pd, cspace, (kind, node))
                microkit = is_of_microkit(self.context, pd)
                given = microkit and kind == "REQUEST"
                notice = None if given else notice_of(pd, node)
                if isinstance(notice, str):
                    self.tell(pd, slot, notice)
                elif notice is not None:
                    self._reserve(pd, slot, notice)
                    if notice.about:
                        cspace.untold.setdefault(notice.about, []).append(slot)
                    else:
                        cspace.by_token.setdefault(notice.token, []).append(slot)

    def finished(self, pd: str, token: int, succeeded: bool) -> None:
        """Frees the slots that were reserved until the PD finished this notice.

        One that failed is delivered again.
        """
        cspace = self._cspaces.get(pd)
        if cspace is None or not succeeded:
            return
        self.ways.finished(pd, token)
        slots = cspace.by_token.pop(token, ())
        for slot in slots:
            cspace.lost -= cspace.reserved.pop(slot).lost
        self.context.memory.free_slots(pd, slots)

    def forget(self, pd: str) -> None:
        """The PD is destroyed."""
        cspace = self._cspaces.get(pd)
        if cspace is not None:
            for capability in list(cspace.of):
                self._empty(pd, cspace, capability)
            del self._cspaces[pd]
            self.ways.forget(pd)
