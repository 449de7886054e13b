# SPDX-License-Identifier: BSD-2-Clause
"""Every element and attribute of a system description, and what becomes of it.

Source: the chapter "System Description File" of the Microkit manual, version 2.3.
"""

from __future__ import annotations

from dataclasses import dataclass, field

TIME = "time is not shared out between PDs"
SYMBOL = "no symbol of a program is rewritten"
MEMORY = "a configuration has no memory regions"
DEVICE = "PDs have no devices"
MACHINE = "there are no virtual machines"


@dataclass(frozen=True)
class Kind:
    """A kind of element."""

    used: tuple[str, ...] = ()
    """Attributes that the importer reads."""
    lost: dict[str, str] = field(default_factory=dict)
    """Attribute -> why it has no counterpart."""
    within: tuple[str, ...] = ()
    """Elements that may be in it."""
    reason: str | None = None
    """Why the element itself has no counterpart. None: it has one."""


_VARIABLE = {"setvar_id": SYMBOL}
_SCHEDULING = {"budget": TIME, "period": TIME}

KINDS = {
    "system": Kind(
        within=("protection_domain", "memory_region", "channel", "io_address_space", "domains")
    ),
    "protection_domain": Kind(
        used=("name", "priority", "stack_size"),
        lost={
            **_SCHEDULING,
            **_VARIABLE,
            "passive": TIME,
            "cpu": "there is one processor",
            "smc": "PDs do not call the firmware",
            "fpu": "the kernel decides about the FPU",
            "domain": "there is one scheduling domain",
            "id": "a fault names the PD itself",
        },
        within=(
            "program_image",
            "map",
            "irq",
            "setvar",
            "protection_domain",
            "virtual_machine",
            "ioport",
            "cspace",
        ),
    ),
    "program_image": Kind(used=("path",), lost={"path_for_symbols": SYMBOL}),
    "map": Kind(
        used=("mr",),
        lost=dict.fromkeys(
            (
                "vaddr",
                "perms",
                "cached",
                "setvar_vaddr",
                "setvar_size",
                "setvar_prefill_size",
            ),
            MEMORY,
        ),
        reason=MEMORY,
    ),
    "irq": Kind(
        lost=dict.fromkeys(
            (
                "irq",
                "id",
                "trigger",
                "setvar_id",
                "pin",
                "vector",
                "ioapic",
                "polarity",
                "pcidev",
                "handle",
            ),
            DEVICE,
        ),
        reason=DEVICE,
    ),
    "ioport": Kind(
        lost=dict.fromkeys(("id", "addr", "size", "setvar_id", "setvar_addr"), DEVICE),
        reason=DEVICE,
    ),
    "setvar": Kind(lost=dict.fromkeys(("symbol", "region_paddr"), SYMBOL), reason=SYMBOL),
    "virtual_machine": Kind(
        used=("name",),
        lost={**_SCHEDULING, "priority": MACHINE},
        within=("vcpu", "map"),
        reason=MACHINE,
    ),
    "vcpu": Kind(lost=dict.fromkeys(("id", "cpu", "setvar_id"), MACHINE), reason=MACHINE),
    "cspace": Kind(within=("cap_tcb", "cap_sc", "cap_vspace")),
    "cap_tcb": Kind(
        used=("pd",), lost={"slot": "the root task chooses the slot; the library finds it"}
    ),
    "cap_sc": Kind(used=("pd",), lost={"slot": TIME}, reason=TIME),
    "cap_vspace": Kind(
        used=("pd",),
        lost={"slot": "no PD has another one's address space"},
        reason="no PD has another one's address space",
    ),
    "memory_region": Kind(
        used=("name",),
        lost=dict.fromkeys(
            ("size", "page_size", "phys_addr", "prefill_path", "prefill_bootinfo"), MEMORY
        ),
        reason=MEMORY,
    ),
    "io_address_space": Kind(
        lost=dict.fromkeys(("name", "peripheral_id", "domain_id"), DEVICE),
        within=("iomap",),
        reason=DEVICE,
    ),
    "iomap": Kind(lost=dict.fromkeys(("mr", "iovaddr", "perms"), DEVICE), reason=DEVICE),
    "domains": Kind(within=("domain", "domain_schedule"), reason="there is one scheduling domain"),
    "domain": Kind(lost=dict.fromkeys(("name", "id"), TIME), reason=TIME),
    "domain_schedule": Kind(
        lost=dict.fromkeys(("start_index", "index_shift"), TIME),
        within=("schedule_entry", "schedule_end_marker"),
        reason=TIME,
    ),
    "schedule_entry": Kind(lost=dict.fromkeys(("domain", "duration"), TIME), reason=TIME),
    "schedule_end_marker": Kind(reason=TIME),
    "channel": Kind(within=("end",)),
    "end": Kind(
        used=("pd", "pp", "notify"),
        lost={"id": "capabilities are in slots that the root task chooses", **_VARIABLE},
    ),
}
"""Name of an element -> its kind."""
