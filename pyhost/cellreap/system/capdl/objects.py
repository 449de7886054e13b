# SPDX-License-Identifier: BSD-2-Clause
"""The parts of a description: kernel objects, capabilities, and their derivations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

ENTRY_BITS: Final = 3  # log2 of the 8 bytes of a paging structure's entry, on both architectures
WORD_BITS: Final = 64

Slot: TypeAlias = int | str
SlotRef: TypeAlias = tuple[str, Slot]


@dataclass(frozen=True)
class Object:
    """A kernel object. bits: log2 of its bytes. slots: number of its capabilities or entries."""

    name: str
    kind: str
    bits: int
    params: tuple[str, ...] = ()
    slots: int = 0


@dataclass(frozen=True)
class Body:
    """A PD: its untyped and the objects that are retyped from it, in that order.

    paddr: the physical address of the untyped; None: only a run decides it.
    """

    title: str
    untyped: str
    bits: int
    objects: tuple[Object, ...]
    paddr: int | None = None


@dataclass(frozen=True)
class Cap:
    """A capability in a slot, or an entry of a paging structure."""

    slot: Slot
    target: str
    params: tuple[str, ...] = ()
    mapping: SlotRef | None = None  # for a frame: the entry that was made with this capability


@dataclass(frozen=True)
class Description:
    """The content of system.cdl."""

    arch: str
    heading: tuple[str, ...]
    shared: tuple[Object, ...]  # objects of the root task to which PDs' capabilities refer
    bodies: tuple[Body, ...]
    caps: Mapping[str, tuple[Cap, ...]]  # by the object that holds them
    derived: Mapping[SlotRef, tuple[SlotRef, ...]]  # capability -> those derived from it
    interrupts: Mapping[int, str] = field(default_factory=dict)  # number of a line -> the object


def slot_number(cap: Cap) -> int:
    """A key that sorts the capabilities of a holder by slot."""
    return cap.slot if isinstance(cap.slot, int) else 0


def cnode(name: str, bits: int, slot_bits: int) -> Object:
    """A CNode. bits: log2 of its number of slots. slot_bits: log2 of a slot's bytes."""
    return Object(name, "cnode", bits + slot_bits, (f"{bits} bits",), 1 << bits)


def paging_table(name: str, kind: str, bits: int) -> Object:
    """A paging structure. bits: log2 of its bytes."""
    return Object(name, kind, bits, (), 1 << bits - ENTRY_BITS)


def radix(cnode: Object) -> int:
    """log2 of the number of slots of a CNode."""
    return (cnode.slots - 1).bit_length()


def guard(bits: int) -> tuple[str, ...]:
    """The parameters of a capability to a CNode: a guard of this many zero bits."""
    return ("guard: 0", f"guard_size: {bits}")


def bytes_taken(objects: list[Object] | tuple[Object, ...]) -> int:
    """Bytes of an untyped that these objects take in this order. Each is aligned to its size."""
    end = 0
    for thing in objects:
        size = 1 << thing.bits
        end += -end % size + size
    return end


def places_of(body: Body) -> dict[str, int]:
    """The physical addresses of the objects of a PD whose untyped has one."""
    places: dict[str, int] = {}
    at = body.paddr or 0
    for thing in body.objects:
        at += -at % (1 << thing.bits)
        places[thing.name] = at
        at += 1 << thing.bits
    return places


def shown(place: SlotRef) -> str:
    """A slot in capDL's notation."""
    holder, slot = place
    return f"({holder}, {slot if isinstance(slot, str) else hex(slot)})"
