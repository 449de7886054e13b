# SPDX-License-Identifier: BSD-2-Clause
"""What must hold between the rows of a description: Microkit's own rules.

Most are of four kinds, of which each has a table: what may be there once, what must be there, what
may not overlap, and where memory may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from cellreap.system.microkit.board import PAGE_SIZES, Board
from cellreap.system.microkit.rows import (
    IO_TOP,
    PD_LIMIT,
    Domains,
    IoMap,
    IoPort,
    Pd,
    Region,
    Row,
    System,
    VirtualMachine,
    VmMap,
)

_MOST = 1 << 64
_RESERVED = "monitor"
"""The name of Microkit's own PD."""

_Named = tuple[Row, str]
"""A row and one of its attributes."""


@dataclass(frozen=True)
class Problem:
    """What breaks a rule."""

    row: Row
    attribute: str | None
    expected: str


def problems(
    system: System, board: Board, prefills: Sequence[Path] | None = None
) -> Iterator[Problem]:
    """Everything that breaks a rule. Later rules may rely on what earlier ones said."""
    sizes: dict[str, int] = {}
    for region in system.regions:
        yield from _region(region, prefills, sizes)
    for pd in system.pds():
        yield from _pd(system, pd, board)
    if system.domains is not None:
        yield from _domains(system.domains, board)
    yield from _numbers(system)
    for what, named in _once(system):
        yield from _not_unique(what, named)
    for what, known, named in _references(system):
        for row, attribute in named:
            name = getattr(row, attribute)
            if name not in known:
                expected = f'there is no {what} "{name}"; expected one of this file'
                yield Problem(row, attribute, expected)
    for ranges in _ranges(system, sizes):
        yield from _overlaps(ranges)
    yield from _maps(system, sizes, board)
    yield from _calls(system, board)
    yield from _devices(system, board)


def _numbers(system: System) -> Iterator[Problem]:
    pds = system.pds()
    if not pds:
        yield Problem(system, None, "no protection_domain: expected at least one")
    if len(pds) > PD_LIMIT:
        yield Problem(pds[PD_LIMIT], None, f"{len(pds)} PDs; expected at most {PD_LIMIT}")
    for channel in system.channels:
        if len(channel.ends) != 2:
            yield Problem(channel, None, f"expected two elements end, got {len(channel.ends)}")
    for pd in pds:
        if pd.machine is not None and not pd.machine.vcpus:
            yield Problem(pd.machine, None, "no vcpu: expected at least one")


# -- what may be there once


def _once(system: System) -> Iterator[tuple[str, list[_Named]]]:
    """What it is that is named, and what names it: no two may be the same."""
    pds = system.pds()
    machines = [pd.machine for pd in pds if pd.machine is not None]
    yield "PD", _all(pds, "name")
    yield "memory region", _all(system.regions, "name")
    yield "virtual machine", _all(machines, "name")
    for attribute in ("name", "domain_id", "peripheral_id"):
        yield "address space of a device", _all(system.devices, attribute)
    irqs = [irq for pd in pds for irq in pd.irqs]
    yield "interrupt", [(irq, "irq" if irq.key == "irq" else "vector") for irq in irqs]
    if system.domains is not None:
        domains = system.domains.domains
        yield "domain", _all(domains, "name")
        yield "domain", [(domain, "id") for domain in domains if domain.id is not None]
    ends = [end for channel in system.channels for end in channel.ends]
    for pd in pds:
        own = [end for end in ends if end.pd == pd.name]
        vcpus = () if pd.machine is None else pd.machine.vcpus
        yield "channel or interrupt of the PD", _all((*pd.irqs, *own), "id")
        yield "child or virtual processor of the PD", _all((*vcpus, *pd.children), "id")
        yield "I/O port of the PD", _all(pd.ports, "id")
        if pd.cspace is not None:
            yield "capability of the PD", _all(pd.cspace.caps, "slot")
        yield "symbol", _symbols((*pd.maps, *pd.irqs, *pd.ports, *pd.setvars), pd, own)


def _all(rows: Iterable[Row], attribute: str) -> list[_Named]:
    return [(row, attribute) for row in rows]


def _symbols(inner: Iterable[Row], pd: Pd, own: Iterable[Row]) -> list[_Named]:
    """What of a PD's program is set: the symbols of its elements, of its children and channels."""
    rows = (*inner, *pd.children, *own)
    return [
        (row, attribute)
        for row in rows
        for attribute in row.element.attributes
        if attribute.startswith("setvar_") or attribute == "symbol"
    ]


def _not_unique(what: str, named: Iterable[_Named]) -> Iterator[Problem]:
    first: dict[object, Row] = {}
    for row, attribute in named:
        value = getattr(row, attribute)
        other = first.setdefault(value, row)
        if other is not row:
            yield Problem(row, attribute, f'"{value}" is also the {what} of {other.seen_from(row)}')


# -- what must be there


def _references(system: System) -> Iterator[tuple[str, set[str], list[_Named]]]:
    """What it is that is named, the names that there are, and who names it."""
    pds = system.pds()
    ends = [end for channel in system.channels for end in channel.ends]
    caps = [cap for pd in pds if pd.cspace is not None for cap in pd.cspace.caps]
    yield "PD", {pd.name for pd in pds}, _all((*ends, *caps), "pd")
    maps = [mapping for _, _, each in _spaces(system) for mapping in each]
    setvars = [setvar for pd in pds for setvar in pd.setvars]
    regions = {region.name for region in system.regions}
    yield "memory region", regions, [*_all(maps, "mr"), *_all(setvars, "region_paddr")]
    if system.domains is not None:
        entries = [it for it in system.domains.schedule.entries if it.tag == "schedule_entry"]
        domains = {domain.name for domain in system.domains.domains}
        late = [pd for pd in pds if pd.domain is not None]
        yield "domain", domains, _all((*entries, *late), "domain")


# -- memory


def _spaces(
    system: System,
) -> Iterator[tuple[Pd | VirtualMachine | None, str, tuple[VmMap, ...] | tuple[IoMap, ...]]]:
    """The address spaces: whose (None: a device's), the attribute with the address, the maps."""
    for pd in system.pds():
        yield pd, "vaddr", pd.maps
        if pd.machine is not None:
            yield pd.machine, "vaddr", pd.machine.maps
    for device in system.devices:
        yield None, "iovaddr", device.maps


def found_in(folders: Sequence[Path], name: str) -> Path | None:
    """The file of this name in the first of the folders that has it."""
    files = (folder / name for folder in folders)
    return next((file for file in files if file.is_file()), None)


def _region(
    region: Region, prefills: Sequence[Path] | None, sizes: dict[str, int]
) -> Iterator[Problem]:
    if region.page_size not in PAGE_SIZES:
        known = " or ".join(hex(size) for size in PAGE_SIZES)
        yield Problem(region, "page_size", f"expected {known}, got {region.page_size:#x}")
    for attribute in ("size", "phys_addr"):
        if (getattr(region, attribute) or 0) % region.page_size:
            expected = f"expected a multiple of the page size, {region.page_size:#x}"
            yield Problem(region, attribute, expected)
    if region.prefill_path is not None and region.prefill_bootinfo is not None:
        yield Problem(region, "prefill_bootinfo", "expected no prefill_path with it")
    filled = 0
    if region.prefill_path is not None and prefills is not None:
        file = found_in(prefills, region.prefill_path)
        filled = file.stat().st_size if file else 0
        if not filled:
            what = "is empty" if file else "is in none of the folders that are searched"
            yield Problem(region, "prefill_path", f'"{region.prefill_path}" {what}')
    if region.size is None and region.prefill_path is None and region.prefill_bootinfo is None:
        yield Problem(region, "size", "missing: a region that is not filled needs it")
    if region.size is not None and filled > region.size:
        yield Problem(region, "size", f"expected at least the {filled} bytes of prefill_path")
    pages = -(-filled // region.page_size)
    sizes[region.name] = region.size or max(pages, 1) * region.page_size


_Range = tuple[Row, str, int, int]
"""A row, its attribute with the start, the start and the end."""


def _ranges(system: System, sizes: dict[str, int]) -> Iterator[list[_Range]]:
    """What may not overlap."""
    for _, attribute, maps in _spaces(system):
        starts = [(mapping, getattr(mapping, attribute)) for mapping in maps]
        yield [(it, attribute, start, start + sizes[it.mr]) for it, start in starts]
    yield [
        (region, "phys_addr", region.phys_addr, region.phys_addr + sizes[region.name])
        for region in system.regions
        if region.phys_addr is not None
    ]
    ports: list[IoPort] = [port for pd in system.pds() for port in pd.ports]
    yield [(port, "addr", port.addr, port.addr + port.size) for port in ports]


def _overlaps(ranges: list[_Range]) -> Iterator[Problem]:
    ranges = sorted(ranges, key=lambda it: it[2:])
    for below, above in pairwise(ranges):
        if above[2] < below[3]:
            first, second = sorted((below, above), key=lambda it: it[0].order)
            row, attribute, start, end = second
            expected = f"{start:#x} to {end:#x} overlaps {first[2]:#x} to {first[3]:#x} of"
            yield Problem(row, attribute, f"{expected} {first[0].seen_from(row)}")


def _maps(system: System, sizes: dict[str, int], board: Board) -> Iterator[Problem]:
    regions = {region.name: region for region in system.regions}
    for whose, attribute, maps in _spaces(system):
        end: int | None = IO_TOP + 1
        if isinstance(whose, Pd):
            end = board.map_end(whose.stack_size)
        elif whose is not None:
            end = None if board.user_top is None else board.user_top + 1
        for mapping in maps:
            start = getattr(mapping, attribute)
            region = regions[mapping.mr]
            if start % region.page_size:
                expected = f"expected a multiple of the region's page size, {region.page_size:#x}"
                yield Problem(mapping, attribute, expected)
            if start + sizes[region.name] > (end or _MOST):
                reached = f"{start:#x} to {start + sizes[region.name]:#x}"
                yield Problem(
                    mapping, attribute, f"{reached}: expected an end of at most {end or _MOST:#x}"
                )
            if isinstance(mapping, IoMap) and region.page_size != PAGE_SIZES[0]:
                expected = f'"{region.name}" has large pages, which devices cannot have'
                yield Problem(mapping, "mr", expected)
            if mapping.given("setvar_prefill_size") and region.prefill_path is None:
                expected = f'"{region.name}" has no prefill_path'
                yield Problem(mapping, "setvar_prefill_size", expected)
    for pd in system.pds():
        for setvar in pd.setvars:
            if board.arch == "x86_64" and regions[setvar.region_paddr].phys_addr is None:
                expected = f'"{setvar.region_paddr}" has no phys_addr, which x86_64 needs'
                yield Problem(setvar, "region_paddr", expected)


# -- PDs and their time


def _pd(system: System, pd: Pd, board: Board) -> Iterator[Problem]:
    if pd.name == _RESERVED:
        yield Problem(pd, "name", f'"{_RESERVED}" is the name of Microkit\'s own PD')
    if pd.stack_size % PAGE_SIZES[0]:
        expected = f"expected a multiple of {PAGE_SIZES[0]}, got {pd.stack_size}"
        yield Problem(pd, "stack_size", expected)
    if pd.smc and board.smc is False:
        yield Problem(pd, "smc", "the kernel of this board lets no PD call the firmware")
    yield from _time(pd)
    yield from _cores(pd, board)
    # Microkit reads from the top: domains that are declared below a PD are none for it.
    domains = system.domains
    above = domains is not None and domains.order < pd.order
    if above and pd.domain is None:
        yield Problem(pd, "domain", "missing: with the element domains each PD needs it")
    if not above and pd.domain is not None:
        yield Problem(pd, "domain", "expected the element domains above the PD")
    machine = pd.machine
    if machine is None:
        return
    if board.hypervisor is False:
        yield Problem(machine, None, "the kernel of this board has no virtual machines")
    if board.arch == "x86_64" and pd.children:
        expected = "a PD with a virtual machine cannot have children on x86_64"
        yield Problem(pd.children[0], None, expected)
    yield from _time(machine)
    for vcpu in machine.vcpus:
        yield from _cores(vcpu, board)


def _time(row: Pd | VirtualMachine) -> Iterator[Problem]:
    if row.period is not None and row.budget > row.period:
        yield Problem(row, "budget", f"expected at most the period, {row.period}")


def _cores(row: Row, board: Board) -> Iterator[Problem]:
    cpu = getattr(row, "cpu", None) or 0
    if board.cores is not None and cpu >= board.cores:
        yield Problem(row, "cpu", f"expected less than {board.cores}, got {cpu}")


def _calls(system: System, board: Board) -> Iterator[Problem]:
    pds = {pd.name: pd for pd in system.pds()}
    for channel in system.channels:
        if all(end.pp for end in channel.ends):
            expected = "both ends may call the other one: expected at most one"
            yield Problem(channel, None, expected)
        for end, other in (channel.ends, channel.ends[::-1]):
            caller, callee = pds[end.pd], pds[other.pd]
            if end.pp and callee.priority <= caller.priority:
                expected = (
                    f'"{callee.name}" has priority {callee.priority}, and "{caller.name}", which '
                    f"calls it, {caller.priority}: expected a higher one"
                )
                yield Problem(end, "pp", expected)
            if end.pp and board.arch == "x86_64" and callee.machine is not None:
                expected = f'"{callee.name}" has a virtual machine: it cannot be called on x86_64'
                yield Problem(end, "pp", expected)


def _domains(domains: Domains, board: Board) -> Iterator[Problem]:
    schedule, entries = domains.schedule, len(domains.schedule.entries)
    if board.cores not in (None, 1):
        yield Problem(domains, None, "there are no domains on several processors")
    if board.domains is not None:
        expected = f"expected at most {board.domains} domains, got {len(domains.domains)}"
        if len(domains.domains) > board.domains:
            yield Problem(domains, None, expected)
        for domain in domains.domains:
            if domain.id is not None and domain.id >= board.domains:
                expected = f"expected less than {board.domains}, got {domain.id}"
                yield Problem(domain, "id", expected)
    if schedule.start_index >= entries:
        expected = f"expected the number of one of the {entries} entries, from 0"
        yield Problem(schedule, "start_index", expected)
    if board.schedules is not None:
        if entries >= board.schedules:
            expected = f"expected less than {board.schedules} entries, got {entries}"
            yield Problem(schedule, None, expected)
        if schedule.index_shift is not None and schedule.index_shift + entries >= board.schedules:
            expected = f"with the {entries} entries expected less than {board.schedules}"
            yield Problem(schedule, "index_shift", expected)


def _devices(system: System, board: Board) -> Iterator[Problem]:
    if board.iommu is False:
        for device in system.devices:
            yield Problem(device, None, "the kernel of this board gives devices no address spaces")
