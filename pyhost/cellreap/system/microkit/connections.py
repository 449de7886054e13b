# SPDX-License-Identifier: BSD-2-Clause
"""What connects the PDs of a description, besides calls and parents, which have a direction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cellreap.system.microkit.board import PAGE_SIZES
from cellreap.system.microkit.rows import Pd, Region, Row, System, VmMap


@dataclass(frozen=True)
class Connection:
    """Something that connects PDs with each other, or with a device."""

    row: Row
    """Where the description has it."""
    kind: Literal["channel", "memory", "device", "capability"]
    """A channel over which its ends may notify each other, a region that several PDs map, a
    device's interrupt, ports or address space, or a capability from the first PD to the second."""
    name: str
    """The name of the region, or the tag of the element. Empty: a channel."""
    between: tuple[Pd, ...]
    """The PDs, in the order of the file."""


def maps_of(pd: Pd) -> tuple[VmMap, ...]:
    """What a PD maps, and its virtual machine, which lives and dies with it."""
    return (*pd.maps, *(() if pd.machine is None else pd.machine.maps))


def page_size_of(region: Region, system: System) -> int:
    """The size of its pages: as it says, or the largest that its size and addresses allow."""
    if region.given("page_size"):
        return region.page_size
    maps = [mapping for pd in system.pds() for mapping in maps_of(pd) if mapping.mr == region.name]
    places = (region.size or 0, region.phys_addr or 0, *(mapping.vaddr for mapping in maps))
    by_device = any(mapping.mr == region.name for space in system.devices for mapping in space.maps)
    large = not by_device and all(place % PAGE_SIZES[1] == 0 for place in places)
    return PAGE_SIZES[large and bool(region.size)]


def connections(system: System) -> Iterator[Connection]:
    """All of them. A PD is not connected with itself."""
    pds = {pd.name: pd for pd in system.pds()}
    users: dict[str, dict[str, Pd]] = {region.name: {} for region in system.regions}
    for pd in pds.values():
        for mapping in maps_of(pd):
            users[mapping.mr][pd.name] = pd
        for device in (*pd.irqs, *pd.ports):
            yield Connection(device, "device", device.tag, (pd,))
        for cap in () if pd.cspace is None else pd.cspace.caps:
            if cap.pd != pd.name:
                yield Connection(cap, "capability", cap.tag, (pd, pds[cap.pd]))
    for region in system.regions:
        if len(users[region.name]) > 1:
            yield Connection(region, "memory", region.name, tuple(users[region.name].values()))
    for space in system.devices:
        for iomap in space.maps:
            if users[iomap.mr]:
                yield Connection(iomap, "device", iomap.mr, tuple(users[iomap.mr].values()))
    for channel in system.channels:
        first, second = (pds[end.pd] for end in channel.ends)
        if first is not second and any(end.notify for end in channel.ends):
            yield Connection(channel, "channel", "", (first, second))
