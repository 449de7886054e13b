# SPDX-License-Identifier: BSD-2-Clause
"""What outlives PDs, and the capabilities of others to it: the notifications of PDs with channels,
the endpoints of PDs that are called over them, and the stand-ins of children for Microkit.

Which PD has which channel, only the configuration tells.
"""

from __future__ import annotations

from collections.abc import Iterator

from cellreap.trace.check.context import Context
from cellreap.trace.check.snapshot import Cap, physical
from cellreap.trace.expected import ExpectedPd


def is_closed(context: Context, name: str) -> bool:
    """Whether a PD that others call over channels went, and does not come back."""
    pd = context.configured.edges.pds.get(name)
    if pd is None or (pd in context.model.nodes and pd not in context.freed.stopped):
        return False  # it is still to come, or there
    config = None if context.expected is None else context.expected.pd(name)
    return config is None or config.respawn is None or context.respawns.gave_up(name)


class Bells:
    """What the kernel's word has shown of them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._addresses: dict[str, int] = {}
        """By the name of the PD."""
        self._doors: dict[str, int] = {}
        self._stand_ins: dict[str, str] = {}
        """Child -> the kernel's name of its stand-in."""

    def _config(self, pd: str) -> ExpectedPd:
        return self._context.configured.edges.config(pd)

    def learn(self, pd: str, address: int) -> bool:
        """Takes the address of a PD's notification. Whether it can be one that outlives the PD."""
        name = self._context.report.names[pd]
        return not self._config(pd).ends or self._learn(self._addresses, name, address)

    def learn_door(self, pd: str, address: int) -> bool:
        """The same for its endpoint."""
        return self._learn(self._doors, self._context.report.names[pd], address)

    def _learn(self, addresses: dict[str, int], name: str, address: int) -> bool:
        if name in addresses:
            return True
        taken = address in (*self._addresses.values(), *self._doors.values())
        inside = self._context.memory.is_inside
        fits = not taken and not any(inside(pd, address) for pd in self._context.model.pds())
        addresses[name] = address if fits else 0
        return fits

    def of(self, pd: str, own: int) -> int:
        """The address of a PD's notification. own: if it has none that outlives it."""
        return self._addresses.get(self._context.report.names[pd], own)

    def capability(self, pd: str, slot: int, cap: Cap | str | None) -> Cap | None:
        """That with which the PD signals the other one of a channel. cap: what is in its slot."""
        end = next((end for end in self._config(pd).ends if end.slot == slot), None)
        if end is None:
            return None
        if isinstance(cap, Cap):
            # The other one was never there, or its own capability is to its endpoint.
            self._learn(self._addresses, end.peer, cap.address)
        return Cap("notification", self._addresses.get(end.peer, 0), "W", end.badge)

    def door(self, pd: str) -> int:
        """The address of the endpoint over which it is called."""
        return self._doors.get(self._context.report.names[pd], 0)

    def shut(self, pd: str) -> Iterator[str]:
        """What a PD that a cleanup left has lost with a door that was closed: its own endpoint, or
        that of its parent.
        """
        context, config = self._context, self._config(pd)
        if config.has_door and is_closed(context, context.report.names[pd]):
            yield "NOTIFICATION"
        if config.handler is not None and self.faults(pd) and is_closed(context, config.handler):
            yield "FAULT"

    def calls(self, pd: str) -> Iterator[int]:
        """The slots with which the PD calls others."""
        for call in self._config(pd).calls:
            if not is_closed(self._context, call.peer):
                yield call.slot

    def call(self, pd: str, slot: int, cap: Cap | str | None) -> Cap:
        """The capability with which it calls another one. cap: what is in the slot."""
        call = next(call for call in self._config(pd).calls if call.slot == slot)
        if isinstance(cap, Cap):
            self._learn(self._doors, call.peer, cap.address)  # if the other one was never there
        return Cap("ep", self._doors.get(call.peer, 0), "WP", call.badge)

    def left(self, pd: str) -> Iterator[int]:
        """The slots of a PD that is stopped, or was left, in which it has what it signals with,
        though no other PD had the channel any more, and it went.
        """
        context, there = self._context, self._context.slots.of(pd)
        keeps = pd in context.freed.stopped or pd in context.residue.doomed()
        ends = self._config(pd).ends if keeps else ()
        return (end.slot for end in ends if end.slot and end.slot not in there)

    def threads(self, pd: str) -> Iterator[tuple[int, str]]:
        """The slots in which a PD for Microkit has the threads of its children, and their names."""
        config = self._config(pd)
        return ((slot, name) for name, slot in config.holds.items() if config.microkit)

    def thread(self, pd: str, slot: int, name: str, cap: Cap | str | None) -> str | None:
        """The capability that a PD has there: to its child's thread, or to what stands in for that
        while the child is not there, or is stopped. cap: what is in the slot.
        """
        context = self._context
        child = context.configured.edges.live(name)
        thread = cap if isinstance(cap, str) and cap.endswith("_tcb") else None
        address = 0 if thread is None else physical(thread, "tcb")
        if child and slot in context.slots.of(pd) and child not in context.freed.stopped:
            return thread if context.memory.is_inside(child, address) else None
        taken = thread in self._stand_ins.values()
        pds = context.model.pds()
        if thread and not taken and not any(context.memory.is_inside(it, address) for it in pds):
            self._stand_ins.setdefault(name, thread)
        return self._stand_ins.get(name)

    def faults(self, pd: str) -> Cap | None:
        """The capability over which its parent is told of its faults, if that handles them."""
        config = self._config(pd)
        if config.parent_badge is None or config.handler is None:
            return None
        if pd in self._context.configured.edges.orphans:
            return None
        return Cap("ep", self._doors.get(config.handler, 0), "WP", config.parent_badge)
