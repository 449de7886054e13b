# SPDX-License-Identifier: BSD-2-Clause
"""Where a description has what is wrong with the configuration that was made of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from cellreap.errors import InputError
from cellreap.system.microkit.reading import read_system
from cellreap.system.microkit.rows import Map, Pd, Region, Row, System
from cellreap.system.toml_lines import KeyPath
from cellreap.system.toml_tables import dotted

_PARTS: Final = re.compile(r"(\w+)|\[(\d+)\]")
_ATTRIBUTES: Final = {
    "elf": "path",
    "address": "vaddr",
    "cached": "cached",
    "physical": "phys_addr",
    "size": "size",
    "fill": "prefill_path",
    "number": "irq",
}
"""Key of a configuration -> the attribute that it is made of."""


def mapped(system: System) -> list[tuple[Region, list[tuple[Pd, Map]]]]:
    """The regions that PDs map, with who maps them: the regions of the configuration."""
    found = (
        (region, [(pd, each) for pd in system.pds() for each in pd.maps if each.mr == region.name])
        for region in system.regions
    )
    return [(region, users) for region, users in found if users]


def refusal(path: Path, at: KeyPath | str, message: str) -> InputError:
    """The error that a value of the configuration is wrong, at what it was made of. That is read
    again, only for this. at: also as `dotted` writes it.
    """
    if isinstance(at, str):
        at = tuple(int(index) if index else key for key, index in _PARTS.findall(at))
    row = _row(read_system(path), at)
    if row is None:
        return InputError(str(path), None, None, f"as a configuration: {dotted(at)}: {message}")
    return row.error(message, _ATTRIBUTES.get(str(at[-1])))


def _row(system: System, at: KeyPath) -> Row | None:
    match at:
        case ("program", int(number), *_):
            return system.pds()[number].image
        case ("pd", int(number), *_):
            return system.pds()[number]
        case ("region", int(number), "map", int(user), *_):
            return mapped(system)[number][1][user][1]
        case ("region", int(number), *_):
            return mapped(system)[number][0]
        case ("interrupt", int(number), *_):
            return [irq for pd in system.pds() for irq in pd.irqs][number]
    return None
