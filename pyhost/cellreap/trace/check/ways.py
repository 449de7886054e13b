# SPDX-License-Identifier: BSD-2-Clause
"""The slots over which PDs can be in calls to servers.

A slot leads to a server from the moment that it is filled. When somebody else empties it while the
server lives, the PD can still be in a call that it made before. So the slot leads there until the
PD has finished the notice of the loss.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class _Slots:
    """The slots of one PD."""

    leads: dict[int, str] = field(default_factory=dict)
    """slot -> the server of the last capability in it"""
    full: set[int] = field(default_factory=set)
    emptied: dict[int, int] = field(default_factory=dict)
    """slot that still leads to its server -> token of the notice; 0: the PD is not told yet"""


class Ways:
    """Which PDs can be in a call to which server."""

    def __init__(self) -> None:
        self._slots: dict[str, _Slots] = {}
        self._callers: dict[str, Counter[str]] = {}
        """server -> PD -> number of slots that lead there"""

    def callers(self, server: str) -> list[str]:
        """The PDs with a slot that leads to the server."""
        return sorted(self._callers.get(server, ()))

    def fill(self, pd: str, slot: int, server: str) -> None:
        """The slot has a capability to something that the server manages."""
        slots = self._slots.setdefault(pd, _Slots())
        if slots.emptied.pop(slot, None) is not None:
            self._less(pd, slots.leads[slot])
        slots.leads[slot] = server
        slots.full.add(slot)
        if server not in self._callers:
            self._callers[server] = Counter()
        self._callers[server][pd] += 1

    def empty(self, pd: str, slot: int) -> None:
        """The capability is gone."""
        slots = self._slots[pd]
        slots.full.discard(slot)
        self._less(pd, slots.leads[slot])

    def _less(self, pd: str, server: str) -> None:
        callers = self._callers[server]
        callers[pd] -= 1
        if not callers[pd]:
            del callers[pd]

    def server(self, pd: str, slot: int) -> str:
        """The server of the last capability in the slot."""
        return self._slots[pd].leads[slot]

    def keep(self, pd: str, slot: int, token: int) -> None:
        """Somebody else emptied the slot. token: of the notice; 0: the PD is not told yet."""
        slots = self._slots[pd]
        slots.emptied[slot] = token
        self._callers[slots.leads[slot]][pd] += 1

    def told(self, pd: str, slot: int, token: int) -> None:
        """The PD is told of the loss."""
        if slot in self._slots[pd].emptied:
            self._slots[pd].emptied[slot] = token

    def finished(self, pd: str, token: int) -> None:
        """The PD is done with the notice of a loss."""
        slots = self._slots.get(pd, _Slots())
        for slot in [slot for slot, of in slots.emptied.items() if of == token]:
            del slots.emptied[slot]
            self._less(pd, slots.leads[slot])

    def forget(self, pd: str) -> None:
        """The PD is destroyed."""
        slots = self._slots.pop(pd, _Slots())
        for slot in (*slots.full, *slots.emptied):
            self._less(pd, slots.leads[slot])
