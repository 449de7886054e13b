# SPDX-License-Identifier: BSD-2-Clause
"""Kernel memory: what the root task keeps, the bodies of PDs, and the slots of resources."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from cellreap import headers
from cellreap.model.graph import Model
from cellreap.model.ids import is_memory, is_object, is_region
from cellreap.model.pages import LARGE_PAGE_BITS, PAGE_BITS, Pages
from cellreap.trace.check.configured_threads import sharers
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.check.own_slots import has_door
from cellreap.trace.events import Event, counts_in

PAGE = 1 << PAGE_BITS
SMALLEST_BODY = 16
"""Bytes of the smallest seL4 untyped."""
READ_ONLY, WRITABLE, UNCACHED, PAGE_SHIFT, _BEGIN, _SPAN_BITS, _END_BITS = (
    headers.constant("protocol.h", f"CR_{name}")
    for name in (
        "HOLD_READ_ONLY", "REGION_WRITABLE", "REGION_UNCACHED", "REGION_PAGE_SHIFT",
        "ATTACHED_BEGIN", "REGION_SPAN_BITS", "REGIONS_END_BITS",
    )
)  # fmt: skip
_SPAN: Final = 1 << _SPAN_BITS - PAGE_BITS
"""The pages of a span of addresses."""
_LAST: Final = (1 << _END_BITS - PAGE_BITS) - 1
"""The number of the last page for regions."""


@dataclass(frozen=True)
class Body:
    """The untyped from which a PD is made, and the PD's slots in the root task's CSpace."""

    paddr: int
    bytes: int
    slots: int

    def overlaps(self, other: Body) -> bool:
        """Whether both have an address."""
        return self.paddr < other.paddr + other.bytes and other.paddr < self.paddr + self.bytes


@dataclass(frozen=True)
class Region:
    """Where a region is mapped: its addresses, by pages, whether its PD may write, and whether it
    is cached.
    """

    page: int
    pages: int
    writable: bool
    cached: bool = True

    def has(self, page: int) -> bool:
        """Whether a page is among its addresses."""
        return self.page <= page < self.page + self.pages


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
        for kind in ("endpoint", "reply") if replies else ("endpoint",):
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


class Memory(Concern):
    """Tracks what is in use and checks USAGE against it."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.changed = False
        """whether memory changed since the last USAGE"""
        self.bodyless: str | None = None
        """the PD whose BODY event must come next"""
        self.objects = Objects(context)
        self._own_blocks = 0
        self.bytes_in_use = 0
        self._slots = 0
        self._own_slots = 0
        self._parent_slots = 0
        self._bodies: dict[str, Body] = {}
        self._addresses = AddressMap()
        self._resource_slots: dict[str, int] = {}
        self._regions: dict[str, Region] = {}
        self._rights: dict[tuple[str, str], int] = {}
        """(PD, memory object that it holds) -> the number of that HOLD"""
        self._by: dict[str, int] = {}
        """region -> the slot of the resource that let its PD map it, or 0"""
        self._backed: dict[str, tuple[str, bool]] = {}
        """resource -> its memory object, and whether holders of the resource may write there"""
        self._configured: dict[str, set[int]] = {}
        """PD -> the spans of addresses in which the configuration gives it regions"""

    # -- for other concerns

    def body(self, pd: str) -> Body | None:
        """The body of a live PD."""
        return self._bodies.get(pd)

    def is_inside(self, node: str, address: int) -> bool:
        """Whether an address is in the body of a PD, or in the untyped of memory."""
        body = self._bodies.get(node)
        return body is not None and body.paddr <= address < body.paddr + body.bytes

    def demand_body(self) -> None:
        """Checks that the BODY of the last PD came before this event."""
        if self.bodyless is not None:
            self.bad("memory.body", f"before the BODY of {self.bodyless}")
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
        self._regions.pop(resource, None)
        self._by.pop(resource, None)
        self._backed.pop(resource, None)
        if is_memory(resource):
            model = self.context.model
            for region in self._regions:  # A cleanup may have taken the MAP before.
                if region in model.nodes and set(model.built_on(region)) <= {resource}:
                    model.tell_extra(region, "")
            self.context.configured.edges.freed(resource)
            self.free_body(resource)

    def held(self, event: Event, pd: str, node: str) -> None:
        """A PD holds memory: a memory object with the rights that it had, and those of the PD that
        gives it if that does not ask for less; and a region perhaps by a resource whose capability
        it has.
        """
        number, write = event.number("number"), WRITABLE
        if not is_region(node):
            has = self._rights.get((pd, node), 0) & write
            by = self._rights.get((event["asker"], node), 0) & write
            gets = write if event["op"] == "allocate" else 0 if asks_to_read(event) else by
            if number & write != has | gets:
                self.bad("memory.rights", f"number={number}: {pd} had {has}, and gets {gets}")
            self._rights[pd, node] = number
            self.context.model.tell_right(pd, node, bool(number & write))
            return
        self._by[node] = number
        kind, resource = self.context.slots.of(pd).get(number, ("", ""))
        if number and not (kind == "HOLD" and resource in self._backed):
            self.bad("memory.backed")

    def let_go(self, event: Event, node: str) -> None:
        """A PD has dropped a hold of memory."""
        pd = event["from"]
        has = self._by.get(node, 0) if is_region(node) else self._rights.get((pd, node), 0)
        self.compare("memory.backed" if is_region(node) else "memory.rights", number=has)
        if (pd, node) not in self.context.model.holds:
            self._rights.pop((pd, node), None)
        self.unheld(node)

    def backed(self, resource: str, memory: str, flags: int) -> None:
        """A memory object backs a resource."""
        write = bool(flags & WRITABLE)
        if flags & ~WRITABLE or resource in self._backed:
            self.bad("memory.backed")
        self._backed[resource] = memory, write
        self.context.model.tell_right(resource, memory, write)

    def may_map(self, pd: str, memory: str, number: int) -> bool:
        """Whether the PD holds the memory object, and with the right to write if the number of a
        MAP has that.
        """
        model = self.context.model
        may_write = (pd, memory) not in model.read_only
        return (pd, memory) in model.holds and (may_write or not number & WRITABLE)

    def backing(self, region: str) -> tuple[str, bool] | None:
        """What a new region may map by the resource that it names, and whether to write; None if it
        names none.
        """
        (pd,) = self.context.model.sources("HOLD", region)
        _, resource = self.context.slots.of(pd).get(self._by.get(region, 0), ("", ""))
        return self._backed.get(resource)

    def free_slots(self, pd: str, slots: Collection[int]) -> None:
        """Slots of the PD are free. The regions go that it has by what was there."""
        model = self.context.model
        for region, slot in list(self._by.items()):
            if slot in slots and (pd, region) in model.holds:
                model.drop_hold(pd, region)
                self.unheld(region)

    def mapped(self, event: Event, where: int) -> None:
        """A region is mapped. One that its PD attached has a span of addresses of its own."""
        model, region = self.context.model, event["from"]
        pd = next(iter(model.sources("HOLD", region)), "")
        pds = set(sharers(model, pd)) if pd else set()
        pages = self.objects.pages(event["to"])
        cached = not where & UNCACHED
        at = Region(where >> PAGE_SHIFT, pages.small, bool(where & WRITABLE), cached)
        begins, ends = at.page, at.page + max(at.pages, 1) - 1
        spans = range(begins // _SPAN, ends // _SPAN + 1)
        least, last = 1, _LAST
        if event["op"] != "attach":
            self._configured.setdefault(pd, set()).update(spans)
        else:
            known = {0}.union(*(self._configured.get(each, set()) for each in pds))
            own = 1 << LARGE_PAGE_BITS - PAGE_BITS if known & set(spans) else _SPAN
            least, last = _BEGIN // PAGE, min(last, (spans[0] + 1) * _SPAN - 1)
            begins, ends = begins // own * own, ends // own * own + own - 1
        fits = at.page >= least and at.page * PAGE % (1 << pages.bits) == 0
        if (
            not fits
            or at.page + max(at.pages, 1) - 1 > last
            or any(
                its.page <= ends
                and its.page + its.pages > begins
                and model.sources("HOLD", other) & pds
                for other, its in self._regions.items()
            )
        ):
            self.bad("memory.region")
        self._regions[region] = at
        model.tell_right(region, event["to"], at.writable)
        model.tell_extra(region, f"{at.page * PAGE:#x}_GENERIC_{pages}")

    def region(self, region: str) -> Region:
        """Where a region is mapped."""
        return self._regions.get(region, Region(0, 0, False))

    def is_device(self, memory: str) -> bool:
        """Whether the pages of a memory object are those of a device: it has no room for them."""
        body = self._bodies.get(memory)
        return body is not None and body.bytes <= self.objects.pages(memory).bytes

    def owner_of(self, address: int) -> str | None:
        """Of whose body or memory object a page is."""
        return self._addresses.overlapping(Body(address, PAGE, 0))

    def unheld(self, node: str) -> None:
        """A PD has let memory go. What nobody refers to any more is freed."""
        model = self.context.model
        rest = {node}
        while rest:
            at = rest.pop()
            if not model.sources("HOLD", at) and not model.sources("MAP", at):
                rest.update(model.built_on(at))
                model.remove_resource(at)
                self.free_resource(at)

    def free_let_go(self, planned: set[str]) -> None:
        """A cleanup is over. What nobody refers to goes, but for what a cleanup is to free."""
        for node in [node for node in self._bodies if is_memory(node) and node not in planned]:
            self.unheld(node)

    def free_body(self, pd: str) -> None:
        """Frees the body of a destroyed PD."""
        body = self._bodies.pop(pd, None)
        if body is not None:
            if _is_block(body):
                self._addresses.remove(body, pd)
            self.bytes_in_use -= body.bytes
            self._slots -= body.slots
        self.objects.gone(pd)
        self.changed = True

    def check_sums(self, event: Event) -> None:
        """Checks that the event has the bytes, slots and kernel objects in use."""
        self.compare("memory.sums", bytes=self.bytes_in_use, slots=self._slots)
        self.objects.check_sum(event)

    # -- events

    @outside("USAGE")
    def usage(self, event: Event) -> None:
        """USAGE: what is in use. The first one: what the root task keeps for itself."""
        if self.context.report.events <= 2:
            self.bytes_in_use, self._slots = event.number("bytes"), event.number("slots")
            self._own_slots, self._own_blocks = self._slots, event.number("blocks")
            self.objects.base(event)
        else:
            self.check_sums(event)
            if not self.changed:
                self.bad("memory.usage")
        self._check_tables(event)
        self.changed = False

    def _check_tables(self, event: Event) -> None:
        """The entries of the tables: nothing stays in use that the model does not have."""
        context, model = self.context, self.context.model
        fewest, most = context.tickets.in_use()
        # Of the edges of a space or resource to its manager and space, and of a PD to its body,
        # the model keeps only the ends.
        edges = (
            len(model.holds) + len(model.requests) + len(model.maps) + len(model.faults)
            + len(model.links) + len(model.owns) + _subscriptions(model)
            + len(model.manager) + len(model.space_of) + model.bodies()
        )  # fmt: skip
        tombstones = context.residue.tombstones() + context.tombstones.count()
        self.compare(
            "memory.in_use",
            nodes=(len(model.nodes) or 1) + tombstones,  # the root task is there at once
            edges=edges,
            notices=context.notices.count(),
            blocks=self._own_blocks + len(self._bodies),
            own=self._own_slots,
            parents=self._parent_slots,
            bodies=self._slots - self._own_slots - self._parent_slots,
            tickets=min(max(event.number("tickets"), fewest), most),
        )

    @outside("BODY")
    def new_body(self, event: Event) -> None:
        """BODY: the memory of a new PD."""
        pd = event["of"]
        body = Body(event.number("paddr"), event.number("bytes"), event.number("slots"))
        if pd != self.bodyless:
            self.bad("memory.body")
            return
        self.bodyless = None
        if not _is_block(body):
            self.bad("memory.block")
        elif (other := self._addresses.overlapping(body)) is not None:
            self.bad("memory.overlap", f"the memory of {pd} overlaps that of {other}")
        else:
            self._addresses.add(body, pd)
        self._bodies[pd] = body
        self.objects.made(event)
        if is_object(pd):
            self.context.model.tell_extra(pd, f"{body.paddr:#x}_{self.objects.pages(pd)}")
        self.bytes_in_use += body.bytes
        self._slots += body.slots
        self.changed = True


def _subscriptions(model: Model) -> int:
    """The edges of subscriptions: one for each handler."""
    if not model.handlers:
        return len(model.subscribes)
    return sum(len(model.subscriptions(*pair)) for pair in model.subscribes)


def asks_to_read(event: Event) -> bool:
    """Whether memory is given, and who gives it asks that it be read only."""
    return is_object(event["to"]) and bool(event.number("number") & READ_ONLY)


def _is_block(body: Body) -> bool:
    """Whether the body is an aligned power of two of at least SMALLEST_BODY bytes."""
    size = body.bytes
    return size >= SMALLEST_BODY and not size & (size - 1) and not body.paddr % size
