# SPDX-License-Identifier: BSD-2-Clause
"""The ends of channels, with what the configuration leaves open: numbers and slots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cellreap import headers
from cellreap.system.config.schema import Config, Pd


@dataclass(frozen=True)
class ChannelEnd:
    """An end of a channel."""

    channel: str
    pd: str
    peer: str
    id: int
    """The bit in the badge of what the other PD signals."""
    slot: int
    """Where the PD has the capability to signal the other one. 0: it may not."""
    calls: int
    """The same of that to call the other one."""


def ends(config: Config) -> list[ChannelEnd]:
    """All ends, in the order of the file: the two of a channel are neighbours.

    The slots are behind those of the PD capabilities that the configuration gives. Those of PDs for
    Microkit depend on the number.
    """
    first = headers.constant("protocol.h", "CR_SLOT_FIRST_FREE")
    slots = {pd.name: first + len(pd.holds_pds) for pd in config.pds}
    fixed = {pd.name for pd in config.pds if pd.abi == "microkit"}
    microkit = headers.constant("protocol.h", "CR_MICROKIT_SLOT_CHANNELS")
    taken: dict[str, set[int]] = {pd.name: set() for pd in config.pds}
    for channel in config.channels:
        for end in channel.ends:
            taken[end.pd] |= set() if end.id is None else {end.id}
    found = []
    for channel in config.channels:
        for end, other in zip(channel.ends, reversed(channel.ends), strict=True):
            id_ = end.id
            if id_ is None:
                id_ = next(i for i in range(len(taken[end.pd]) + 1) if i not in taken[end.pd])
                taken[end.pd].add(id_)
            slot = (microkit + id_ if end.pd in fixed else slots[end.pd]) if end.notify else 0
            slots[end.pd] += end.notify
            calls = headers.constant("protocol.h", "CR_MICROKIT_SLOT_CALLS") + id_ if end.pp else 0
            found.append(ChannelEnd(channel.name, end.pd, other.pd, id_, slot, calls))
    return found


def both_ends(config: Config) -> Iterator[tuple[ChannelEnd, ChannelEnd]]:
    """Each end with the other one of its channel."""
    found = ends(config)
    return ((end, found[i ^ 1]) for i, end in enumerate(found))


def signal_ends(config: Config) -> Iterator[tuple[ChannelEnd, ChannelEnd]]:
    """The same for channels over which a PD may signal the other one. Others are for calls."""
    return (both for both in both_ends(config) if both[0].slot or both[1].slot)


def ends_of(config: Config, pd: str) -> Iterator[ChannelEnd]:
    """The ends of a PD."""
    return (end for end in ends(config) if end.pd == pd)


def called(config: Config) -> set[str]:
    """The PDs that others call over channels, or that are told of their children's faults."""
    told = {pd.fault_handler for pd in config.pds if pd.child_id is not None}
    return {end.peer for end in ends(config) if end.calls} | {pd for pd in told if pd is not None}


def hold_slots(config: Config, pd: Pd) -> dict[str, int]:
    """The PDs that a PD holds -> the slot of the capability. One for Microkit has their threads."""
    first = headers.constant("protocol.h", "CR_SLOT_FIRST_FREE")
    if pd.abi != "microkit":
        return {name: first + i for i, name in enumerate(pd.holds_pds)}
    first = headers.constant("protocol.h", "CR_MICROKIT_SLOT_CHILDREN")
    held = {other.name: other.child_id or 0 for other in config.pds}
    return {name: first + held[name] for name in pd.holds_pds if name in held}


def parent_of(config: Config, pd: str) -> str:
    """The PD that has a child."""
    return next(other.name for other in config.pds if pd in other.holds_pds)


def fault_badge(pd: Pd) -> int:
    """The badge with which its parent is told of a PD's faults."""
    assert pd.child_id is not None
    return 1 << headers.constant("protocol.h", "CR_MICROKIT_FAULT_BIT") | pd.child_id


def call_badge(end: ChannelEnd) -> int:
    """The badge of a call of the other PD over this end."""
    return 1 << headers.constant("protocol.h", "CR_MICROKIT_CALL_BIT") | end.id


def badge_of(config: Config, end: ChannelEnd) -> int:
    """The badge of what the other PD signals over this end. PDs that know cellreap get their
    notices by the same notification.
    """
    kinds = headers.names_of("protocol.h", "cr_badge_kind", "CR_BADGE_")
    pd = config.pd(end.pd)
    microkit = pd is not None and pd.abi == "microkit"
    return (0 if microkit else kinds["signal"] << headers.badge_layout()[0]) | 1 << end.id
