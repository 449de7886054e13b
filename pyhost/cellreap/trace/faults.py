# SPDX-License-Identifier: BSD-2-Clause
"""The faults of a trace, each with what is known of the instruction that faulted."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from cellreap.arches import ARCHES
from cellreap.trace.events import Event

if TYPE_CHECKING:
    from cellreap.trace.report import Report

LABEL_SHIFT: Final = 12
"""Bits of the head of a message below its label."""
_WIDTH: Final = 84
STAGED: Final = {
    "page-fault": "vm-fault",
    "cap-fault": "cap-fault",
    "illegal-instruction": "user-exception",
    "unknown-syscall": "unknown-syscall",
}
"""Way to crash -> the kind of the fault."""
READS: Final = frozenset({"STAGE", "resumed THREAD", "FAULT_HELD", "FAULT"})
"""The events that `Faults` reads."""


@dataclass
class FaultSeen:
    """A fault. handler: the fault handler that was told of it. line: of the trace."""

    pd: str
    name: str
    spawned: bool
    kind: str
    address: int
    ip: int
    registers: dict[str, int]
    """Without those that are 0. Empty: not known."""
    what: str
    """The fault for people."""
    line: int
    handler: str | None = None
    fatal: bool = False
    """The PD was left to the root task."""
    place: str | None = None
    """The function and line of the instruction. None: not known."""
    function: str | None = None
    file: str | None = None
    source_line: int | None = None
    overflow: tuple[int, int] | None = None
    """The PD ran out of its stack, which is [start, end). None: not, or not known."""
    crash: int = 0
    """The position of the crash of the configuration that it is. 0: none."""

    def to_json(self) -> dict[str, Any]:
        """The fault for --json. What is not known is null."""
        return {
            "pd": self.pd,
            "name": self.name,
            "kind": self.kind,
            "address": hex(self.address),
            "ip": hex(self.ip),
            "handler": self.handler,
            "fatal": self.fatal,
            "function": self.function,
            "file": self.file,
            "line": self.source_line,
            "stack_overflow": self.overflow is not None,
            "registers": {name: hex(value) for name, value in self.registers.items()},
        }

    @property
    def where(self) -> str:
        """The instruction for people, in a few words."""
        return f"in {self.place}" if self.place else f"instruction at {self.ip:#x}"

    def told(self) -> list[str]:
        """Lines about the instruction and the stack."""
        of = [f"staged as crash {self.crash} of the configuration"] if self.crash else []
        of += [self.place] if self.place else []
        return [each for each in (self.overflow_told(), ", in ".join(of)) if each]

    def overflow_told(self) -> str | None:
        """A sentence about the stack, if it is too small."""
        if self.overflow is None:
            return None
        start, end = self.overflow
        return f"stack overflow: its stack is {start:#x} to {end:#x} ({(end - start) >> 10} KiB)"

    def registers_told(self) -> list[str]:
        """Lines with the registers."""
        text = " ".join(f"{name}={value:#x}" for name, value in self.registers.items())
        return textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


@dataclass
class Faults:
    """Adds the faults to the report, from the events of its trace, in order."""

    report: Report
    explain: Callable[[FaultSeen], None] = lambda fault: None
    _held: dict[str, FaultSeen] = field(default_factory=dict)
    _staged: dict[str, tuple[str, int]] = field(default_factory=dict)
    """PD -> the kind of fault that it was ordered to make, and the crash that has it ordered"""

    def take(self, event: Event) -> None:
        """Takes the next event."""
        match event.told:
            case "STAGE" if event["how"] in STAGED:
                self._staged[event["pd"]] = STAGED[event["how"]], event.number("crash")
            case "resumed THREAD":
                self._held.pop(event["pd"], None)
            case "FAULT_HELD":
                self._held[event["pd"]] = self._add(event, event["handler"])
            case "FAULT":
                held = self._held.pop(event["pd"], None)
                (held or self._add(event, None)).fatal = True

    def _add(self, event: Event, handler: str | None) -> FaultSeen:
        pd, report = event["pd"], self.report
        kind, crash = self._staged.pop(event["pd"], ("", 0))
        fault = FaultSeen(
            pd=pd,
            name=report.names.get(pd, pd),
            spawned=pd in report.spawned,
            kind=event["kind"],
            address=event.number("address"),
            ip=event.number("ip"),
            registers=event.registers(),
            what=describe_fault(event, report.arch),
            line=event.line,
            handler=handler,
            crash=crash if kind == event["kind"] else 0,
        )
        self.explain(fault)
        report.faults.append(fault)
        return fault


def describe_fault(event: Event, arch: str) -> str:
    """A FAULT event as text for people."""
    address = event.number("address")
    if event["kind"] == "vm-fault":
        return f"page fault at {address:#x}"
    if event["kind"] == "cap-fault":
        return f"capability fault at slot {address:#x}"
    if event["kind"] == "timeout":
        return "its budget used up"
    if event["kind"] == "unknown-syscall":
        return f"unknown system call {address - (1 << 64) if address >= 1 << 63 else address}"
    if arch in ARCHES and address == ARCHES[arch].illegal_instruction:
        return "illegal instruction"
    return f"processor exception {address:#x}"
