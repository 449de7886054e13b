# SPDX-License-Identifier: BSD-2-Clause
"""Kernel memory: what the root task keeps, the bodies of PDs, and the slots of resources."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import ClassVar

from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.check.objects import Objects
from cellreap.trace.events import Event

SMALLEST_BODY = 16
"""Bytes of the smallest seL4 untyped."""


@dataclass(frozen=True)
class Body:
    """The untyped from which a PD is made, and the PD's slots in the root task's CSpace."""

    paddr: int
    bytes: int
    slots: int


class AddressMap:
    """The bodies of live PDs in the order of their addresses. No two of them overlap."""

    def __init__(self) -> None:
        self._bodies: list[tuple[int, int, str]] = []
        """(where it begins, where it ends, PD)"""

    def overlapping(self, body: Body) -> str | None:
        """A PD whose body overlaps this one; None if there is none."""
        before = bisect_left(self._bodies, (body.paddr + body.bytes,))
        if before == 0:
            return None
        _, end, pd = self._bodies[before - 1]
        return pd if end > body.paddr else None

    def add(self, body: Body, pd: str) -> None:
        """Adds a body. It must not overlap any other."""
        insort(self._bodies, (body.paddr, body.paddr + body.bytes, pd))

    def remove(self, body: Body, pd: str) -> None:
        """Removes the body of a PD. Does nothing if it was not added."""
        entry = (body.paddr, body.paddr + body.bytes, pd)
        at = bisect_left(self._bodies, entry)
        if self._bodies[at : at + 1] == [entry]:
            del self._bodies[at]


class Memory(Concern):
    """Tracks the memory in use and checks ACCOUNT against it."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.changed = False
        """whether memory changed since BASE, or the last ACCOUNT"""
        self.bodyless: str | None = None
        """the PD whose BODY event must come next"""
        self.objects = Objects(context)
        self._based = False
        self._bytes = 0
        self._slots = 0
        self._own_slots = 0
        self._parent_slots = 0
        self._bodies: dict[str, Body] = {}
        self._addresses = AddressMap()
        self._resource_slots: dict[str, int] = {}

    # -- for other concerns

    @property
    def bytes_in_use(self) -> int:
        """The bytes of untyped memory in use, by the events."""
        return self._bytes

    def bodies(self) -> int:
        """The number of bodies in use."""
        return len(self._bodies)

    def slots_by_use(self) -> dict[str, int]:
        """The slots in use: those of the root task itself, of resources, and of bodies."""
        return {
            "own": self._own_slots,
            "parents": self._parent_slots,
            "bodies": self._slots - self._own_slots - self._parent_slots,
        }

    def body(self, pd: str) -> Body | None:
        """The body of a live PD."""
        return self._bodies.get(pd)

    def need_body(self, pd: str) -> None:
        """Requires the BODY event of the PD."""
        self.bodyless = pd

    def demand_body(self, what: str) -> None:
        """Checks that the BODY of the last PD came before this event."""
        if self.bodyless is not None:
            self.context.bad("memory.body", f"{what} before the BODY of {self.bodyless}")
            self.bodyless = None

    def give_resource(self, resource: str, slots: int) -> None:
        """A resource takes slots in the root task's CSpace."""
        self._resource_slots[resource] = slots
        self._slots += slots
        self._parent_slots += slots
        self.changed = True

    def free_resource(self, resource: str) -> None:
        """Frees the slots of a resource."""
        slots = self._resource_slots.pop(resource, 0)
        self._slots -= slots
        self._parent_slots -= slots
        self.changed = True

    def free_body(self, pd: str) -> None:
        """Frees the body of a destroyed PD."""
        body = self._bodies.pop(pd, None)
        if body is not None:
            if _is_block(body):
                self._addresses.remove(body, pd)
            self._bytes -= body.bytes
            self._slots -= body.slots
        self.objects.gone(pd)
        self.changed = True

    def check_sums(self, event: Event) -> None:
        """Checks that the event has the bytes, slots and kernel objects in use."""
        for name, has in (("bytes", self._bytes), ("slots", self._slots)):
            if event.number(name) != has:
                text = f"{name}={event[name]}, but what is in use by the events before it is {has}"
                self.context.bad("memory.sums", f"{event.name}: {text}")
        self.objects.check_sum(event)

    # -- events

    def base(self, event: Event) -> None:
        """BASE: the memory that the root task keeps for itself."""
        if self._based:
            self.context.bad("order.base", "a second BASE")
            return
        self._based = True
        self._bytes, self._slots = event.number("bytes"), event.number("slots")
        self._own_slots = self._slots
        self.objects.base(event)

    def account(self, event: Event) -> None:
        """ACCOUNT: the memory in use."""
        self.check_sums(event)
        if not self.changed:
            why = "though nothing was created, deleted or cleaned up since the last one"
            self.context.bad("memory.account", f"ACCOUNT again, {why}")
        self.changed = False

    def new_body(self, event: Event) -> None:
        """BODY: the memory of a new PD."""
        bad = self.context.bad
        pd = event["pd"]
        body = Body(event.number("paddr"), event.number("bytes"), event.number("slots"))
        if pd != self.bodyless:
            bad("memory.body", f"BODY: pd={pd}: expected it once for each PD, after its PD event")
            return
        self.bodyless = None
        if body.bytes < SMALLEST_BODY or body.bytes & (body.bytes - 1):
            expected = f"expected a power of two, at least {SMALLEST_BODY}"
            bad("memory.block", f"BODY: bytes={body.bytes}: {expected}")
        elif body.paddr % body.bytes:
            expected = f"expected a multiple of its {body.bytes} bytes"
            bad("memory.block", f"BODY: paddr={event['paddr']}: {expected}")
        else:
            other = self._addresses.overlapping(body)
            if other is not None:
                bad("memory.overlap", f"BODY: the memory of {pd} overlaps that of {other}")
            else:
                self._addresses.add(body, pd)
        self._bodies[pd] = body
        self.objects.made(event)
        self._bytes += body.bytes
        self._slots += body.slots
        self.changed = True

    handlers: ClassVar[Handlers] = {"BASE": base, "ACCOUNT": account, "BODY": new_body}


def _is_block(body: Body) -> bool:
    """Whether the body is an aligned power of two of at least SMALLEST_BODY bytes."""
    size = body.bytes
    return size >= SMALLEST_BODY and not size & (size - 1) and not body.paddr % size
