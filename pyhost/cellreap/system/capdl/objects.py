# SPDX-License-Identifier: BSD-2-Clause
"""What a description consists of: kernel objects, capabilities, and which derives from which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

ENTRY_BITS: Final = 3  # an entry of a paging structure is 8 bytes on both architectures
WORD_BITS: Final = 64

Slot: TypeAlias = int | str
SlotRef: TypeAlias = tuple[str, Slot]


@dataclass(frozen=True)
class Object:
    """A kernel object. bits: log2 of its bytes; slots: how many capabilities or entries it has."""

    name: str
    kind: str
    bits: int
    params: tuple[str, ...] = ()
    slots: int = 0


@dataclass(frozen=True)
class Body:
    """A PD: its untyped and what is retyped from it, in that order."""

    title: str
    untyped: str
    bits: int
    objects: tuple[Object, ...]


@dataclass(frozen=True)
class Cap:
    """A capability in a slot, or an entry of a paging structure."""

    slot: Slot
    target: str
    params: tuple[str, ...] = ()
    mapping: SlotRef | None = None  # a frame's: the entry that was made with this capability


@dataclass(frozen=True)
class Description:
    """A system as system.cdl tells it."""

    arch: str
    heading: tuple[str, ...]
    shared: tuple[Object, ...]  # the root task's, which PDs' capabilities or places refer to
    bodies: tuple[Body, ...]
    caps: Mapping[str, tuple[Cap, ...]]  # by the object that holds them
    derived: Mapping[SlotRef, tuple[SlotRef, ...]]  # capability -> those derived from it


def slot_number(cap: Cap) -> int:
    """A key to sort the capabilities of a holder by slot."""
    return cap.slot if isinstance(cap.slot, int) else 0


def cnode(name: str, bits: int, slot_bits: int) -> Object:
    """A CNode. bits: log2 of its slots. slot_bits: log2 of a slot's bytes."""
    return Object(name, "cnode", bits + slot_bits, (f"{bits} bits",), 1 << bits)


def paging_table(name: str, kind: str, bits: int) -> Object:
    """A paging structure. bits: log2 of its bytes."""
    return Object(name, kind, bits, (), 1 << bits - ENTRY_BITS)


def radix(cnode: Object) -> int:
    """log2 of the slots of a CNode."""
    return (cnode.slots - 1).bit_length()


def guard(bits: int) -> tuple[str, ...]:
    """The parameters of a capability to a CNode: a guard of zeroes."""
    return ("guard: 0", f"guard_size: {bits}")


def bytes_taken(objects: list[Object] | tuple[Object, ...]) -> int:
    """Bytes of an untyped that retyping these in this order takes: each is aligned to its size."""
    end = 0
    for thing in objects:
        size = 1 << thing.bits
        end += -end % size + size
    return end


def shown(place: SlotRef) -> str:
    """A slot as capDL writes it."""
    holder, slot = place
    return f"({holder}, {slot if isinstance(slot, str) else hex(slot)})"
