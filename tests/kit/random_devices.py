# SPDX-License-Identifier: BSD-2-Clause
"""Devices in random systems: registers, memory for DMA, interrupts and ports.

No PD of a random system writes to these registers, only the root task does, when a PD has died. So
nothing stops the machine, and no device writes to memory.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Final, NamedTuple

from kit.chaos import Table

PAGE, LARGE = 0x1000, 0x20_0000


class _Device(NamedTuple):
    """A device that nothing else uses."""

    page: int
    register: int
    value: int
    """The register has this once it was written there."""


_DEVICES: Final = {
    "aarch64": (  # a PL031, a PL061, and places for virtio that are empty
        _Device(0x901_0000, 0x10, 1),
        _Device(0x903_0000, 0x400, 0x55),
        _Device(0xA00_0000, 0x70, 0),
    ),
    "riscv64": (_Device(0x1000_1000, 0x70, 0), _Device(0x1000_2000, 0x70, 0)),
    "x86_64": (_Device(0xFED0_0000, 0x128, 7),),  # a comparator of the HPET
}
_INTERRUPTS: Final = {"aarch64": (34, 39, 48, 49), "riscv64": (1, 2, 3), "x86_64": (5, 8, 10, 11)}
_PORTS: Final = ((0x70, 0x71), (0x278, 0x27A), (0x2F8, 0x2FF))
"""Of the clock, and of a printer and a UART that are not there."""
MEMORY: Final = {"aarch64": 0x7000_0000, "riscv64": 0xA000_0000, "x86_64": 0x1000_0000}
"""Regions that have a place are from here on."""


def mapped(rng: random.Random, table: Table, names: list[str]) -> list[Table]:
    """Maps of the next region, for these PDs."""
    number = len(table["region"])
    return [
        {"pd": name, "address": (0x500 + number) << 20, "writable": rng.random() < 0.7}
        for name in names
    ]


def _some(rng: random.Random, names: list[str], most: int) -> list[str]:
    return rng.sample(names, min(len(names), rng.randint(1, most)))


def _names(table: Table) -> list[str]:
    return [pd["name"] for pd in table["pd"]]


def _quiet(rng: random.Random, device: _Device) -> list[Table]:
    """The device becomes quiet, or mostly does."""
    if rng.random() < 0.2:
        never = {"offset": device.register, "until": device.value ^ 1, "reads": rng.randint(1, 20)}
        return [never]
    both = {"offset": device.register, "value": device.value, "until": device.value}
    alone = {key: value for key, value in both.items() if key != "until"}
    masked = {**both, "mask": 0xF, "until": device.value & 0xF}
    return rng.sample([both, alone, masked], rng.randint(1, 2))


def _device(arch: str, rng: random.Random, table: Table) -> None:
    device, number = rng.choice(_DEVICES[arch]), len(table["region"])
    maps = mapped(rng, table, _some(rng, _names(table), 2))
    region: Table = {
        "name": f"device{number}",
        "physical": device.page,
        "size": PAGE,
        "map": maps,
    }
    if len(maps) > 1 or rng.random() < 0.5:
        region["shared"] = True
    if rng.random() < 0.7:
        region["on_death"] = _quiet(rng, device)
    table["region"].append(region)
    if rng.random() < 0.6:
        _memory(rng, table, region)


def _memory(rng: random.Random, table: Table, device: Table) -> None:
    """Memory to which a device may write, of one of its PDs and perhaps of others."""
    own = [each["pd"] for each in device["map"]]
    others = [name for name in _names(table) if name not in own]
    names = [rng.choice(own), *rng.sample(others, min(len(others), rng.choice([0, 0, 1, 2])))]
    region: Table = {
        "name": f"buffers{len(table['region'])}",
        "size": PAGE * rng.choice([1, 2, 5]),
        "device": device["name"],
        "after": rng.choice(["keep", "zero"]),
        "map": mapped(rng, table, names),
    }
    if rng.random() < 0.7:
        region["physical_word"] = 8 * rng.randrange(PAGE // 8)
    table["region"].append(region)


def _interrupt(arch: str, rng: random.Random, table: Table) -> None:
    table["interrupt"].append(
        {
            "name": f"line{len(table['interrupt'])}",
            "pd": rng.choice(_names(table)),
            "number": rng.choice(_INTERRUPTS[arch]),
            "bit": rng.randrange(32),
            "trigger": rng.choice(["level", "edge"]),
            "acknowledged": rng.choice(["by-pd", "at-start"]),
        }
    )


def _port(rng: random.Random, table: Table) -> None:
    first, last = rng.choice(_PORTS)
    name, pd = f"port{len(table['port'])}", rng.choice(_names(table))
    table["port"].append({"name": name, "pd": pd, "first": first, "last": last})


def _placed(arch: str, rng: random.Random, table: Table) -> None:
    """A region has a place in memory."""
    if not table["region"]:
        return
    place = rng.randrange(len(table["region"]))
    region = table["region"][place]
    if region["size"] <= LARGE:
        region["memory_at"] = MEMORY[arch] + place * LARGE


def _uncached(rng: random.Random, table: Table) -> None:
    if table["region"]:
        rng.choice(rng.choice(table["region"])["map"])["cached"] = False


def without_their_device(regions: list[Table]) -> list[Table]:
    """The regions but those for a device that no PD of theirs has any more."""
    users = {each["name"]: {one["pd"] for one in each["map"]} for each in regions}
    return [
        each
        for each in regions
        if "device" not in each
        or users.get(each["device"], set()) & {one["pd"] for one in each["map"]}
    ]


def of_machine(arch: str) -> list[tuple[float, partial[None]]]:
    """The disturbances of systems for an architecture."""
    return [
        *((0.25, partial(_device, arch)),) * 2,
        *((0.2, partial(_interrupt, arch)),) * 2,
        (0.2, partial(_placed, arch)),
        *(() if arch == "riscv64" else ((0.2, partial(_uncached)),)),
        *(() if arch != "x86_64" else ((0.2, partial(_port)),)),
    ]
