# SPDX-License-Identifier: BSD-2-Clause
"""Errors that a configuration may have in what its PDs have of the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from cellreap import headers
from cellreap.system.config.channel_rules import Problem as Problem
from cellreap.system.config.channel_rules import unknown
from cellreap.system.config.channels import ends
from cellreap.system.config.lines import lines
from cellreap.system.config.region import PAGE
from cellreap.system.config.schema import Config, Region
from cellreap.system.toml_lines import KeyPath

_REGISTER: Final = 4


def lines_problems(config: Config) -> Iterator[Problem]:
    """Interrupts and ports have one PD each."""
    most = headers.constant("image.h", "CR_IMAGE_MAX_LINES")
    each = headers.constant("protocol.h", "CR_STARTUP_LINES")
    ids = headers.constant("image.h", "CR_IMAGE_MAX_IDS")
    pds = {pd.name: i for i, pd in enumerate(config.pds)}
    names: set[tuple[str, str]] = set()
    places: list[tuple[str, int, int, str]] = []
    bits = {(end.pd, end.id) for end in ends(config)}
    counts = Counter[str]()
    places_of = [
        *((("interrupt", i), it.name, it.pd, it.number, it.number, "number", it.bit)
          for i, it in enumerate(config.interrupts)),
        *((("port", i), it.name, it.pd, it.first, it.last, "first", None)
          for i, it in enumerate(config.ports)),
    ]  # fmt: skip
    if len(places_of) > most:
        yield ("interrupt",), f"{len(places_of)} interrupts and ports; expected at most {most}"
    for at, name, pd, first, last, key, bit in places_of:
        kind = at[0]
        if (kind, name) in names:
            yield (*at, "name"), f'"{name}" is the name of an earlier {kind}; expected another'
        names.add((kind, name))
        if pd not in pds:
            yield (*at, "pd"), f'no PD is named "{pd}"; expected one of {", ".join(list(pds)[:12])}'
            return
        if last < first:
            yield (*at, "last"), f"is before the first, {first}; expected {first} or more"
        for other, low, high, whose in places:
            if other == kind and first <= high and low <= last:
                yield (*at, key), f'"{whose}" has it; expected another'
        places.append((kind, first, last, name))
        if bit is not None and (pd, bit) in bits:
            yield (*at, "bit"), f"a channel or another interrupt of {pd} has it; expected another"
        bits |= set() if bit is None else {(pd, bit)}
        microkit = config.pds[pds[pd]].abi == "microkit"
        if bit is not None and not microkit and bit >= ids:
            yield (*at, "bit"), f"expected an integer from 0 to {ids - 1}, got {bit}"
        if bit is None and microkit:
            yield (*at, "pd"), "a PD for Microkit has no ports here"
        counts[pd] += 1
        if counts[pd] == each + 1:
            yield (*at, "pd"), f"{pd} has more than {each} interrupts and ports"
    for line in lines(config):
        if line.slot >> config.pds[pds[line.pd]].cspace_bits:
            said = f"its interrupts and ports take slots up to {line.slot}"
            needed = line.slot.bit_length()
            yield ("pd", pds[line.pd], "cspace_bits"), f"{said}; expected at least {needed}"
            return


def _writer_problems(config: Config, at: KeyPath, region: Region) -> Iterator[Problem]:
    """A PD of the device has the memory, so that does not go before the device is quiet. Where
    nothing makes it quiet, nobody else has the memory.
    """
    if region.device is None:
        if region.physical_word is not None:
            yield (*at, "physical_word"), "needs device, the region of what may write there"
        return
    devices = {each.name: each for each in config.regions if each.physical is not None}
    if region.device not in devices:
        yield (*at, "device"), unknown("device", region.device, list(devices))
        return
    device = devices[region.device]
    others = [each.pd for each in region.maps if each.pd not in [own.pd for own in device.maps]]
    if len(others) == len(region.maps):
        yield (*at, "device"), f"no PD of {region.device} has this memory; expected one in its maps"
    elif others and not device.on_death:
        said = f"{others[0]} has this memory and not {region.device}"
        yield (*at, "device"), f"{said}; expected on_death, which makes {region.device} quiet"


def device_problems(config: Config, i: int) -> Iterator[Problem]:
    """The registers of a device have one PD, unless the file says otherwise."""
    region = config.regions[i]
    most = headers.constant("image.h", "CR_IMAGE_MAX_QUIETS")
    at: KeyPath = ("region", i)
    if region.physical is None:
        if region.shared:
            yield (*at, "shared"), "is for devices; memory is shared by all who map it"
        if region.on_death:
            yield (*at, "on_death", 0), "is for devices, and this is memory"
        yield from _writer_problems(config, at, region)
        yield from _place_problems(config, i)
        return
    for j, each in enumerate(region.on_death):
        here: KeyPath = (*at, "on_death", j)
        if each.offset % _REGISTER or each.offset >= region.size:
            said = f"expected a multiple of {_REGISTER} below its size, {region.size}"
            yield (*here, "offset"), said
        if each.value is None and each.until is None:
            yield here, "does nothing; expected value or until"
    if sum(len(other.on_death) for other in config.regions[: i + 1]) > most:
        yield (*at, "on_death"), f"expected at most {most} in all"
    given = [
        key
        for key in ("epoch", "fill", "memory_at", "physical_word", "device")
        if getattr(region, key) is not None
    ]
    if region.page_size != PAGE:
        given.append("page_size")
    for key in ["after"] * (region.after == "refill") + given:
        yield (*at, key), "is for memory, and this is a device"
    if len(region.maps) > 1 and not region.shared:
        yield at, f"is a device of {len(region.maps)} PDs; expected one, or shared = true"
    yield from _place_problems(config, i)


def _place_problems(config: Config, i: int) -> Iterator[Problem]:
    """Each physical address is of one region, unless two devices are shared."""
    region = config.regions[i]
    if region.place is None:
        return
    key = "memory_at" if region.physical is None else "physical"
    if region.place % region.page_size:
        yield ("region", i, key), f"expected a multiple of its page_size, {region.page_size:#x}"
    for other in config.regions[:i]:
        if other.place is None or (other.shared and region.shared):
            continue
        if region.place < other.place + other.size and other.place < region.place + region.size:
            more = ", or shared = true for both" if region.physical is not None else ""
            said = f'"{other.name}" has some of these addresses; expected others{more}'
            yield ("region", i, key), said
