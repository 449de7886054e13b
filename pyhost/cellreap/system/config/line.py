# SPDX-License-Identifier: BSD-2-Clause
"""[[interrupt]] and [[port]]: what a driver has of the machine beside memory."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cellreap import headers
from cellreap.system.config.values import Name
from cellreap.system.toml_tables import Table, expect

_BITS = headers.constant("image.h", "CR_IMAGE_MICROKIT_IDS")
_Number = Annotated[int, Field(ge=0, le=1023), expect("an integer from 0 to 1023")]
_Port = Annotated[int, Field(ge=0, le=0xFFFF), expect("an integer from 0 to 65535")]
_Bit = Annotated[int, Field(ge=0, lt=_BITS), expect(f"an integer from 0 to {_BITS - 1}")]
_Trigger = Annotated[Literal["level", "edge"], expect("level or edge")]
_Acknowledged = Annotated[Literal["by-pd", "at-start"], expect("by-pd or at-start")]


class Interrupt(Table):
    """[[interrupt]]: an interrupt line, which one PD has. The kernel masks it when it occurs, until
    the PD acknowledges it, and when the PD is destroyed.
    """

    name: Name
    """Unique among the interrupts."""
    pd: Name
    """The PD that is signalled, and acknowledges it."""
    number: _Number
    """The line: on x86_64 the pin of the first I/O APIC, where the ISA's interrupts have theirs;
    else the number that seL4 has for it, which on aarch64 is 32 more than that of a shared one.
    """
    trigger: _Trigger = "level"
    """What triggers it. On riscv64 the machine decides that."""
    bit: _Bit
    """The bit of the badge by which the PD tells it from its channels and other interrupts. A PD
    that is not for Microkit has 32 of them.
    """
    acknowledged: _Acknowledged = "by-pd"
    """Who acknowledges it first. The kernel unmasks the line when it is taken. What occurs before
    the PD waits is signalled then, and masked. `at-start`: the root task acknowledges it, too,
    before the first instruction of the PD.
    """


class Port(Table):
    """[[port]]: a range of I/O ports of x86_64, which one PD has."""

    name: Name
    """Unique among the ports."""
    pd: Name
    """The PD that may use them."""
    first: _Port
    """The first port."""
    last: _Port
    """The last port, at least the first."""
