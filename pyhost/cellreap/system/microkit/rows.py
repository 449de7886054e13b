# SPDX-License-Identifier: BSD-2-Clause
"""The elements of a system description as typed rows.

Source: the chapter "System Description File" of the Microkit manual, version 2.3.

A class is an element. Its fields with a `Value` are the attributes, by their names; one without a
default is required. All other fields are the elements in it: one, one at most (`| None`), or any
number (a tuple). `reading` makes rows of the XML by this alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Annotated, ClassVar

from cellreap.errors import InputError
from cellreap.system.microkit.elements import Element
from cellreap.system.microkit.values import (
    Boolean,
    Choice,
    Duration,
    Name,
    Number,
    Pci,
    Rights,
    Word,
)

MAX_PRIORITY = 254
PD_LIMIT = 63
_STACKS = (0x1000, 16 << 20)
_MAX_ID = 61
"""Of what signals a PD or is called by it: a bit of a badge each."""
_MAX_VECTOR = 107
_MAX_SLOT = 127
IO_TOP = (1 << 39) - 1
"""The highest address of a device's address space."""

_Word = Annotated[str, Word()]
_Name = Annotated[str, Name()]
_Symbol = Annotated[str | None, Word()]
_Any = Annotated[int, Number()]
_Maybe = Annotated[int | None, Number()]
_Id = Annotated[int, Number(0, _MAX_ID, plain=True)]
_Plain = Annotated[int, Number(0, (1 << 63) - 1, plain=True)]
_Vector = Annotated[int, Number(0, _MAX_VECTOR, plain=True)]
_Trigger = Annotated[str, Choice(("level", "edge"))]
_Flag = Annotated[bool, Boolean()]
_Priority = Annotated[int, Number(0, MAX_PRIORITY)]
_Cpu = Annotated[int, Number(0, 255)]

ARM = ("aarch64",)
ARM_AND_RISCV = ("aarch64", "riscv64")
X86 = ("x86_64",)


@dataclass(frozen=True, kw_only=True)
class Row:
    """An element, with its place in the file."""

    tag: ClassVar[str]
    """Its name in the file."""
    key: ClassVar[str | None] = None
    """Of several kinds with one tag: the attribute that says that it is this one."""
    arches: ClassVar[tuple[str, ...]] = ()
    """The only architectures that have it. Empty: all."""
    only: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Attribute -> the only architectures that have it."""
    open_: ClassVar[bool] = False
    """Whether it may have attributes that mean nothing."""
    element: Element = field(repr=False, compare=False)

    @property
    def line(self) -> int:
        return self.element.line

    @property
    def order(self) -> int:
        """Its number in the description."""
        return self.element.order

    def seen_from(self, other: Row) -> str:
        """Its place, in a message about the other one."""
        file = "" if self.element.path == other.element.path else f" of {self.element.path}"
        return f"line {self.line}{file}"

    def inner(self) -> Iterator[Row]:
        """The rows of the elements in it."""
        for each in fields(self):
            value = getattr(self, each.name)
            for row in value if isinstance(value, tuple) else (value,):
                if isinstance(row, Row):
                    yield row

    def error(self, expected: str, attribute: str | None = None) -> InputError:
        """What is wrong with it, or with one of its attributes."""
        return self.element.error(expected, attribute)

    def given(self, attribute: str) -> bool:
        """Whether the file has this attribute."""
        return attribute in self.element.attributes


@dataclass(frozen=True, kw_only=True)
class ProgramImage(Row):
    tag = "program_image"
    path: _Word
    path_for_symbols: _Symbol = None


@dataclass(frozen=True, kw_only=True)
class VmMap(Row):
    """A region in the address space of a virtual machine."""

    tag = "map"
    mr: _Word
    vaddr: _Any
    perms: Annotated[str, Rights("rwx", ("w",))] = "rw"
    cached: _Flag = True


@dataclass(frozen=True, kw_only=True)
class Map(VmMap):
    """A region in the address space of a PD."""

    setvar_vaddr: _Symbol = None
    setvar_size: _Symbol = None
    setvar_prefill_size: _Symbol = None


@dataclass(frozen=True, kw_only=True)
class Irq(Row):
    """An interrupt of the interrupt controller."""

    tag = "irq"
    key = "irq"
    arches = ARM_AND_RISCV
    irq: _Plain
    id: _Id
    setvar_id: _Symbol = None
    trigger: _Trigger = "level"


@dataclass(frozen=True, kw_only=True)
class IoApicIrq(Row):
    """An interrupt at a pin of an I/O APIC."""

    tag = "irq"
    key = "pin"
    arches = X86
    pin: _Plain
    id: _Id
    vector: _Vector
    setvar_id: _Symbol = None
    ioapic: _Plain = 0
    trigger: _Trigger = "level"
    polarity: Annotated[str, Choice(("low", "high"))] = "high"


@dataclass(frozen=True, kw_only=True)
class MsiIrq(Row):
    """An interrupt that a device on the PCI bus signals by a message."""

    tag = "irq"
    key = "pcidev"
    arches = X86
    pcidev: Annotated[str, Pci()]
    handle: _Plain
    id: _Id
    vector: _Vector
    setvar_id: _Symbol = None


AnyIrq = Irq | IoApicIrq | MsiIrq


@dataclass(frozen=True, kw_only=True)
class IoPort(Row):
    tag = "ioport"
    arches = X86
    id: _Id
    addr: _Any
    size: Annotated[int, Number(1, (1 << 63) - 1, plain=True)]
    setvar_id: _Symbol = None
    setvar_addr: _Symbol = None


@dataclass(frozen=True, kw_only=True)
class SetVar(Row):
    tag = "setvar"
    symbol: _Word
    region_paddr: _Word


@dataclass(frozen=True, kw_only=True)
class Vcpu(Row):
    tag = "vcpu"
    id: _Id
    setvar_id: _Symbol = None
    cpu: Annotated[int | None, Number(0, 255)] = None


@dataclass(frozen=True, kw_only=True)
class VirtualMachine(Row):
    tag = "virtual_machine"
    only: ClassVar[dict[str, tuple[str, ...]]] = dict.fromkeys(
        ("budget", "period", "priority"), ARM
    )
    name: _Name
    budget: _Any = 1000
    period: _Maybe = None
    priority: _Priority = 0
    vcpus: tuple[Vcpu, ...] = ()
    maps: tuple[VmMap, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Cap(Row):
    pd: _Word
    slot: Annotated[int, Number(1, _MAX_SLOT)]


@dataclass(frozen=True, kw_only=True)
class CapTcb(_Cap):
    tag = "cap_tcb"


@dataclass(frozen=True, kw_only=True)
class CapSc(_Cap):
    tag = "cap_sc"


@dataclass(frozen=True, kw_only=True)
class CapVspace(_Cap):
    tag = "cap_vspace"


@dataclass(frozen=True, kw_only=True)
class CSpace(Row):
    tag = "cspace"
    caps: tuple[CapTcb | CapSc | CapVspace, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Pd(Row):
    tag = "protection_domain"
    name: _Name
    priority: _Priority = 0
    budget: _Any = 1000
    period: _Maybe = None
    passive: _Flag = False
    stack_size: Annotated[int, Number(*_STACKS)] = 0x2000
    smc: _Flag = False
    cpu: _Cpu = 0
    domain: _Symbol = None
    fpu: _Flag = True
    image: ProgramImage
    maps: tuple[Map, ...] = ()
    irqs: tuple[AnyIrq, ...] = ()
    ports: tuple[IoPort, ...] = ()
    setvars: tuple[SetVar, ...] = ()
    children: tuple[ChildPd, ...] = ()
    machine: VirtualMachine | None = None
    cspace: CSpace | None = None


@dataclass(frozen=True, kw_only=True)
class ChildPd(Pd):
    """A PD in another one, its parent."""

    id: _Any
    setvar_id: _Symbol = None


@dataclass(frozen=True, kw_only=True)
class Region(Row):
    tag = "memory_region"
    name: _Name
    size: _Maybe = None
    page_size: _Any = 0x1000
    phys_addr: _Maybe = None
    prefill_path: _Symbol = None
    prefill_bootinfo: Annotated[
        str | None,
        Choice(
            ("x86_vbe", "x86_mbmmap", "x86_acpi_rsdp", "x86_framebuffer", "x86_tsc_freq", "fdt")
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class IoMap(Row):
    """A region in the address space of a device."""

    tag = "iomap"
    mr: _Word
    iovaddr: Annotated[int, Number(0, IO_TOP)]
    perms: Annotated[str, Rights("rw", ("",))] = "rw"


@dataclass(frozen=True, kw_only=True)
class IoAddressSpace(Row):
    tag = "io_address_space"
    arches = X86
    name: _Name
    peripheral_id: Annotated[str, Pci()]
    domain_id: _Any
    maps: tuple[IoMap, ...] = ()


@dataclass(frozen=True, kw_only=True)
class End(Row):
    tag = "end"
    pd: _Word
    id: _Id
    pp: _Flag = False
    notify: _Flag = True
    setvar_id: _Symbol = None


@dataclass(frozen=True, kw_only=True)
class Channel(Row):
    tag = "channel"
    ends: tuple[End, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Domain(Row):
    tag = "domain"
    name: _Name
    id: _Maybe = None


@dataclass(frozen=True, kw_only=True)
class ScheduleEntry(Row):
    tag = "schedule_entry"
    domain: _Word
    duration: Annotated[tuple[int, str], Duration()]


@dataclass(frozen=True, kw_only=True)
class ScheduleEnd(Row):
    tag = "schedule_end_marker"


@dataclass(frozen=True, kw_only=True)
class Schedule(Row):
    tag = "domain_schedule"
    start_index: _Any = 0
    index_shift: _Maybe = None
    entries: tuple[ScheduleEntry | ScheduleEnd, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Domains(Row):
    tag = "domains"
    domains: tuple[Domain, ...] = ()
    schedule: Schedule


@dataclass(frozen=True, kw_only=True)
class System(Row):
    tag = "system"
    open_ = True
    outer: tuple[Pd, ...] = ()
    """The PDs that are in no other one."""
    regions: tuple[Region, ...] = ()
    channels: tuple[Channel, ...] = ()
    devices: tuple[IoAddressSpace, ...] = ()
    domains: Domains | None = None

    def families(self) -> Iterator[tuple[Pd, Pd | None]]:
        """All PDs with their parents: each before its children, otherwise as in the file."""
        waiting: list[tuple[Pd, Pd | None]] = [(pd, None) for pd in reversed(self.outer)]
        while waiting:
            pd, parent = waiting.pop()
            yield pd, parent
            waiting.extend((child, pd) for child in reversed(pd.children))

    def pds(self) -> tuple[Pd, ...]:
        """All PDs, in the order of `families`."""
        return tuple(pd for pd, _ in self.families())
