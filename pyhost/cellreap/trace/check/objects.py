# SPDX-License-Identifier: BSD-2-Clause
"""The kernel objects that there are, by kind."""

from __future__ import annotations

from collections import Counter
from typing import Final

from cellreap.model.pages import LARGE_PAGE_BITS, PAGE_BITS, Pages
from cellreap.trace.check.context import Context
from cellreap.trace.check.own_slots import has_door
from cellreap.trace.events import Event, counts_in

_ENDPOINT: Final = "endpoint"
_REPLY: Final = "reply"


class Objects:
    """The objects of the root task and of each body."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._used: Counter[str] = Counter()
        self._of: dict[str, Counter[str]] = {}

    def base(self, event: Event) -> None:
        """The first USAGE: the root task's own objects."""
        self._used.update(event.counts("objects"))

    def made(self, event: Event) -> None:
        """BODY: the objects of a PD or of memory."""
        self.gone(event["of"])
        objects = self._of[event["of"]] = event.counts("objects")
        self._used.update(objects)

    def of(self, pd: str) -> Counter[str]:
        """The objects of a PD that are there."""
        return self._of[pd] if pd in self._of else Counter()

    def pages(self, memory: str) -> Pages:
        """The pages of a memory object."""
        objects = self.of(memory)
        if large := objects["large-frame"]:
            return Pages(large, LARGE_PAGE_BITS)
        return Pages(objects["frame"], PAGE_BITS)

    def stopped(self, pd: str) -> None:
        """The PD is stopped: its endpoint is destroyed, and its reply object if it is passive or is
        called over channels.
        """
        replies = has_door(self._context, pd) or self._context.authority.number(pd, "passive")
        for kind in (_ENDPOINT, _REPLY) if replies else (_ENDPOINT,):
            self._used[kind] -= self.of(pd).pop(kind, 0)

    def gone(self, pd: str) -> None:
        """The PD is destroyed."""
        if pd in self._of:
            self._used.subtract(self._of.pop(pd))

    def check_sum(self, event: Event) -> None:
        """Checks that the event has all objects that there are."""
        if Counter(counts_in(event["objects"])) != self._used:
            told = ",".join(f"{kind}:{count}" for kind, count in sorted((+self._used).items()))
            self._context.breaks("memory.objects", f"objects={event['objects']}: expected {told}")
