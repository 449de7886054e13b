# SPDX-License-Identifier: BSD-2-Clause
"""What PDs have of the machine, in the kernel's word: interrupts, I/O ports and devices.

Which PD has which, only the configuration tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from cellreap import headers
from cellreap.model.ids import PORTS
from cellreap.trace.check.context import Context
from cellreap.trace.check.own_slots import is_of_microkit
from cellreap.trace.check.snapshot import Cap, Snapshot, capability
from cellreap.trace.expected import ExpectedLine

_IRQ, _PORTS = "_0_irq", "_io_port"
"""How the kernel's names of interrupts and ports end."""
_NAMES_VECTORS: Final = "x86_64"
"""There the kernel names an interrupt after a number that only the root task chooses."""


class Machine:
    """What the kernel's word has shown of it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._names: dict[tuple[str, int], str] = {}
        """(Name of a PD, slot) -> the kernel's name of the interrupt that it has there"""
        kinds = headers.names_of("protocol.h", "cr_badge_kind", "CR_BADGE_")
        self._badge = kinds["signal"] << headers.badge_layout()[0]

    def _lines_of(self, pd: str) -> Sequence[ExpectedLine]:
        return self._context.configured.edges.config(pd).lines

    # -- interrupts and ports

    def capability(self, pd: str, slot: int, cap: Cap | str | None) -> str | None:
        """The capability to what a PD has in a slot. cap: what is there."""
        line = next((it for it in self._lines_of(pd) if it.slot == slot), None)
        if line is not None and line.kind == PORTS:
            return f"{line.first:#x}{line.last:#x}{_PORTS}"
        if line is not None and self._context.report.arch != _NAMES_VECTORS:
            return f"{line.first:#x}{_IRQ}"
        name = (self._context.report.names.get(pd, ""), slot)
        kinds = (_IRQ,) if line is not None else (_IRQ, _PORTS)
        if isinstance(cap, str) and cap.endswith(kinds) and cap not in self._names.values():
            self._names.setdefault(name, cap)
        return self._names.get(name)

    def parent(self, resource: str) -> str:
        """The root task's own capability to a line or ports, also if the PD is destroyed and they
        are left; empty if nobody had it.
        """
        pd, slot = self._context.slots.lines.get(resource, ("", 0))
        return self.capability(pd, slot, None) or ""

    def bell(self, pd: str, has: Mapping[int, Cap | str], told: Snapshot) -> int:
        """The address of the notification that the first interrupt of the PD signals; 0: none."""
        caps = (each for line in self._lines_of(pd) for each in _bound(has.get(line.slot), told))
        return next((cap.address for cap in map(capability, caps) if isinstance(cap, Cap)), 0)

    def unbound(self, pd: str, has: Mapping[int, Cap | str], own: Cap, told: Snapshot) -> str:
        """What is wrong if an interrupt of the PD is not signalled to it with its bit. own: the
        capability to its notification.
        """
        for line in self._lines_of(pd):
            cap = has.get(line.slot)
            if line.kind == PORTS or not isinstance(cap, str):
                continue
            microkit = is_of_microkit(self._context, pd)
            kind = 0 if microkit else self._badge
            wanted = Cap("notification", own.address, "W", kind | 1 << line.bit)
            bound = _bound(cap, told)
            if {capability(each) for each in bound} != {wanted}:
                return f"its interrupt {cap} is {' and '.join(bound)!r}: expected {wanted}"
        return ""

    def interrupts_of_nobody(self, pds: Sequence[str], snapshot: Snapshot) -> tuple[str, ...]:
        """What the snapshot tells of interrupts that no PD has."""
        memory = self._context.memory
        has = {
            cap
            for cnode, slots in snapshot.cspaces.items()
            for cap in slots.values()
            if isinstance(cap, str) and cap.endswith(_IRQ)
            and any(memory.is_inside(pd, cnode) for pd in pds)
        }  # fmt: skip
        has |= {
            self.parent(line)
            for line, (pd, _) in self._context.slots.lines.items()
            if line in self._context.model.space_of and pd not in pds  # it is left
        }
        lines = (line for line in snapshot.interrupts if not has & set(line.split(": ")))
        return tuple(sorted(set(lines)))

    # -- devices

    def frames_of(self, objects: set[str]) -> Counter[int] | None:
        """The addresses of the pages of the devices among memory objects. None: there is one, and
        nobody knows where.
        """
        context = self._context
        places = [context.configured.edges.frames_of(node) for node in objects
                  if context.memory.is_device(node)]  # fmt: skip
        known = [each for each in places if each is not None]
        return Counter(address for each in known for address in each) if known == places else None


def _bound(cap: Cap | str | None, told: Snapshot) -> set[str]:
    """The capabilities in a line, as they are printed."""
    begin = f"{cap}: 0x0: "
    return {it.removeprefix(begin) for it in told.interrupts if it.startswith(begin)}
