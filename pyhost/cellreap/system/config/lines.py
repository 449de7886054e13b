# SPDX-License-Identifier: BSD-2-Clause
"""The interrupts and ports of PDs, with their slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cellreap import headers
from cellreap.system.config.channels import ends
from cellreap.system.config.schema import Config


@dataclass(frozen=True)
class Line:
    """An interrupt or a range of ports, as the image has it."""

    kind: Literal["IRQ", "PORT"]
    name: str
    pd: str
    slot: int
    """Of its CSpace, behind those of the configured PD capabilities and channels. Those of PDs for
    Microkit depend on the number.
    """
    first: int
    last: int = 0
    edge: bool = False
    bit: int = 0
    acknowledge: bool = False


def lines(config: Config) -> list[Line]:
    """All interrupts and then all ports, in the order of the file."""
    first = headers.constant("protocol.h", "CR_SLOT_FIRST_FREE")
    slots = {pd.name: first + len(pd.holds_pds) for pd in config.pds}
    for end in ends(config):
        slots[end.pd] = max(slots[end.pd], end.slot + 1)
    found: list[Line] = []

    fixed = {pd.name for pd in config.pds if pd.abi == "microkit"}
    microkit = headers.constant("protocol.h", "CR_MICROKIT_SLOT_IRQS")

    def slot(pd: str, bit: int = 0) -> int:
        if pd in fixed:
            return microkit + bit
        slots[pd] += 1
        return slots[pd] - 1

    for it in config.interrupts:
        edge, ready = it.trigger == "edge", it.acknowledged == "at-start"
        at = slot(it.pd, it.bit)
        found.append(Line("IRQ", it.name, it.pd, at, it.number, 0, edge, it.bit, ready))
    for port in config.ports:
        found.append(Line("PORT", port.name, port.pd, slot(port.pd), port.first, port.last))
    return found
