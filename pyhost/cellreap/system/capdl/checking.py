# SPDX-License-Identifier: BSD-2-Clause
"""Checks that the capDL tools omit: slots, sizes and derivations that no kernel could have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from cellreap.system.capdl.objects import (
    WORD_BITS,
    Cap,
    Description,
    Object,
    SlotRef,
    bytes_taken,
    radix,
    shown,
)

# capDL's names for the slots of a TCB.
_TCB_SLOTS: Final = (
    "cspace",
    "vspace",
    "reply_slot",
    "ipc_buffer_slot",
    "fault_ep_slot",
    "sc_slot",
    "temp_fault_ep_slot",
    "bound_notification",
)


def problems(made: Description) -> Iterator[str]:
    """Everything in a description that no kernel could hold, or that refers to nothing."""
    objects = [*made.shared, *(thing for body in made.bodies for thing in body.objects)]
    names = Counter([*(thing.name for thing in objects), *(body.untyped for body in made.bodies)])
    yield from (f"{name} is declared {times} times" for name, times in names.items() if times > 1)
    known = {thing.name: thing for thing in objects}
    for body in made.bodies:
        taken, size = bytes_taken(body.objects), 1 << body.bits
        if taken > size:
            yield f"{body.untyped} has {size} bytes: its objects take {taken}"
    filled: Counter[SlotRef] = Counter()
    for holder, caps in made.caps.items():
        if holder not in known:
            yield f"{holder} has capabilities but is not declared"
            continue
        for cap in caps:
            filled[holder, cap.slot] += 1
            yield from _cap_problems(known, holder, cap)
    yield from (
        f"{shown(place)} is filled {times} times" for place, times in filled.items() if times > 1
    )
    mapped = [
        (cap.target, cap.mapping) for caps in made.caps.values() for cap in caps if cap.mapping
    ]
    entries = {(holder, cap.slot): cap.target for holder, caps in made.caps.items() for cap in caps}
    for frame, entry in mapped:
        if entries.get(entry) != frame:
            found = entries.get(entry, "empty")
            yield f"{frame} is said to be mapped by {shown(entry)}, which is {found}"
    parents = Counter(child for children in made.derived.values() for child in children)
    yield from (
        f"{shown(child)} is derived {times} times" for child, times in parents.items() if times > 1
    )
    for parent, children in made.derived.items():
        for place in (parent, *children):
            if place not in entries:
                yield f"{shown(place)} is empty: nothing is derived from or to it"
            elif parent in entries and entries[place] != entries[parent]:
                yield f"{shown(place)} is not for {entries[parent]}, as {shown(parent)} is"


def _cap_problems(known: Mapping[str, Object], holder: str, cap: Cap) -> Iterator[str]:
    place = shown((holder, cap.slot))
    if known[holder].kind == "tcb":
        if cap.slot not in _TCB_SLOTS:
            yield f"{place}: a TCB has the slots {', '.join(_TCB_SLOTS)}"
    elif not isinstance(cap.slot, int) or not 0 <= cap.slot < known[holder].slots:
        yield f"{place}: {holder} has {known[holder].slots} slots"
    if cap.target not in known:
        yield f"{place}: {cap.target} is not declared"
        return
    bits = next((int(text.split()[1]) for text in cap.params if text.startswith("guard_size:")), 0)
    index = radix(known[cap.target]) if known[cap.target].kind == "cnode" else 0
    if bits + index > WORD_BITS:
        both = f"a guard of {bits} bits and {index} bits of index"
        yield f"{place}: {both} are more than {WORD_BITS}"
