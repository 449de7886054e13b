# SPDX-License-Identifier: BSD-2-Clause
"""Reads the debug information (DWARF) of programs with pyelftools, which takes long to import.

A program without it, for example a prebuilt one, has symbols at best.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.construct.core import ConstructError
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.descriptions import describe_form_class
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.ranges import BaseAddressEntry, RangeEntry
from elftools.elf.elffile import ELFFile

from cellreap.system.debug_info import Place

# What pyelftools raises for malformed files.
_ELF_ERRORS = (
    ELFError,
    ConstructError,
    struct.error,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OSError,
)
_CODE = 4  # SHF_EXECINSTR
_FUNCTIONS = ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine")


class _Row(NamedTuple):
    """A row of a line table: from this address on. file: None: a sequence ends here."""

    address: int
    file: str | None
    line: int


class _Function(NamedTuple):
    start: int
    end: int
    name: str
    inlined: bool


class DebugInfo:
    """The places in one program. Its tables are read when they are needed first."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._read: dict[int, tuple[list[_Row], list[_Function]]] = {}
        """By compilation unit: its lines, and its functions."""

    def place(self, address: int) -> Place:
        """The place of an address. Nothing is known of an address outside the program's code."""
        if not any(start <= address < end for start, end in self._sections.values()):
            return Place(address)  # tables also have functions that the linker left out, at 0
        lines, functions = self._tables(address)
        row = _row_of(lines, address)
        around = [each for each in functions if each.start <= address < each.end]
        symbol = self._symbol(address)
        if row is None and not around:
            if symbol is None:
                return Place(address)
            return Place(address, symbol[1], offset=address - symbol[0])
        # The inner functions come after the outer ones.
        names = [each.name for each in around] or ([symbol[1]] if symbol else [])
        outer = [each.name for each in around if not each.inlined]
        inner = names[-1] if names else None
        return Place(
            address,
            function=inner,
            inlined_into=outer[-1] if outer and around[-1].inlined else None,
            file=row.file if row else None,
            line=row.line if row else None,
        )

    @cached_property
    def _elf(self) -> ELFFile:
        return ELFFile(io.BytesIO(self._raw))

    @cached_property
    def _dwarf(self) -> DWARFInfo | None:
        try:
            if self._elf.has_dwarf_info(strict=True):
                return self._elf.get_dwarf_info()
        except _ELF_ERRORS:
            pass  # Debug information that cannot be read is none.
        return None

    @cached_property
    def _units(self) -> list[tuple[CompileUnit, list[tuple[int, int]]]]:
        """The compilation units, each with the addresses of its code. Empty: not known."""
        if self._dwarf is None:
            return []
        try:
            return [
                (unit, self._ranges(unit.get_top_DIE(), unit)) for unit in self._dwarf.iter_CUs()
            ]
        except _ELF_ERRORS:
            return []

    def _tables(self, address: int) -> tuple[list[_Row], list[_Function]]:
        """Lines and functions of the units that have the address, and of those that may have it.

        Lines are sorted. Outer functions come before those that were inlined into them.
        """
        lines: list[_Row] = []
        functions: list[_Function] = []
        for unit, ranges in self._units:
            if ranges and not any(start <= address < end for start, end in ranges):
                continue
            if unit.cu_offset not in self._read:
                self._read[unit.cu_offset] = self._lines_of(unit), self._functions_of(unit)
            its_lines, its_functions = self._read[unit.cu_offset]
            lines += its_lines
            functions += its_functions
        # An end comes before a beginning at the same address.
        return sorted(lines, key=lambda row: (row.address, row.file is not None)), functions

    # -- lines

    def _lines_of(self, unit: CompileUnit) -> list[_Row]:
        try:
            return list(self._rows_of(unit))
        except _ELF_ERRORS:
            return []

    def _rows_of(self, unit: CompileUnit) -> Iterator[_Row]:
        assert self._dwarf is not None
        program = self._dwarf.line_program_for_CU(unit)
        if program is None:
            return
        header = program.header
        first = 0 if header["version"] >= 5 else 1
        home = _text(unit.get_top_DIE().attributes, "DW_AT_comp_dir")
        folders = [_decoded(each) for each in header["include_directory"]]
        names: list[str] = []
        for file in header["file_entry"]:
            index = file.get("dir_index", 0)
            at = index - first
            folder = folders[at] if 0 <= at < len(folders) and index != 0 else ""
            names.append(_shown(PurePosixPath(folder) / _decoded(file["name"]), home))
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            at = state.file - first
            name = names[at] if 0 <= at < len(names) else "?"
            yield _Row(state.address, None if state.end_sequence else name, state.line)

    # -- functions

    def _functions_of(self, unit: CompileUnit) -> list[_Function]:
        found: list[_Function] = []
        try:
            for die in unit.iter_DIEs():
                if die.tag not in _FUNCTIONS:
                    continue
                name = _name_of(die)
                inlined = die.tag == "DW_TAG_inlined_subroutine"
                ranges = self._ranges(die, unit) if name else []
                found += [_Function(start, end, name, inlined) for start, end in ranges]
        except _ELF_ERRORS:
            return []
        return found

    def _ranges(self, die: DIE, unit: CompileUnit) -> list[tuple[int, int]]:
        """The addresses of the code of a function or unit: [start, end)."""
        attributes = die.attributes
        if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
            low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
            relative = describe_form_class(high.form) != "address"
            return [(low, low + high.value if relative else high.value)]
        assert self._dwarf is not None
        lists = self._dwarf.range_lists()
        if "DW_AT_ranges" not in attributes or lists is None:
            return []
        top = unit.get_top_DIE().attributes
        base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
        found = []
        for entry in lists.get_range_list_at_offset(attributes["DW_AT_ranges"].value, unit):
            if isinstance(entry, BaseAddressEntry):
                base = entry.base_address
            elif isinstance(entry, RangeEntry):
                start = 0 if entry.is_absolute else base
                found.append((start + entry.begin_offset, start + entry.end_offset))
        return found

    # -- symbols

    def _symbol(self, address: int) -> tuple[int, str] | None:
        """The nearest symbol in the same section, at or before the address."""
        at = bisect_right(self._symbols, (address, len(self._raw), "")) - 1
        if at < 0:
            return None
        start, section, name = self._symbols[at]
        first, end = self._sections[section]
        return (start, name) if first <= address < end else None

    @cached_property
    def _sections(self) -> dict[int, tuple[int, int]]:
        """The sections with code: number -> [start, end)."""
        return {
            number: (section["sh_addr"], section["sh_addr"] + section["sh_size"])
            for number, section in enumerate(self._elf.iter_sections())
            if section["sh_flags"] & _CODE
        }

    @cached_property
    def _symbols(self) -> list[tuple[int, int, str]]:
        """(address, section, name) of the functions and labels in code."""
        try:
            table: Any = self._elf.get_section_by_name(".symtab")
            return sorted(
                (symbol["st_value"], symbol["st_shndx"], symbol.name)
                for symbol in (table.iter_symbols() if table is not None else ())
                if symbol["st_shndx"] in self._sections
                and symbol["st_info"]["type"] in ("STT_FUNC", "STT_NOTYPE")
                and symbol.name
                and not symbol.name.startswith("$")  # marks of the linker on aarch64
            )
        except _ELF_ERRORS:
            return []


def _row_of(lines: list[_Row], address: int) -> _Row | None:
    at = bisect_right(lines, address, key=lambda row: row.address) - 1
    row = lines[at] if at >= 0 else None
    return row if row is not None and row.file is not None else None


def _name_of(die: DIE) -> str:
    """The name of a function. Code that was inlined or split has it elsewhere."""
    for _ in range(8):  # one link for each kind; a damaged file could have a circle
        if "DW_AT_name" in die.attributes:
            return _text(die.attributes, "DW_AT_name")
        links = ("DW_AT_abstract_origin", "DW_AT_specification")
        link = next((each for each in links if each in die.attributes), None)
        if link is None:
            break
        die = die.get_DIE_from_attribute(link)
    return ""


def _text(attributes: Any, name: str) -> str:
    return _decoded(attributes[name].value) if name in attributes else ""


def _decoded(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _shown(path: PurePosixPath, home: str) -> str:
    """A file's path, relative to the folder that it was compiled in if it is there."""
    if home and path.is_relative_to(home):
        path = path.relative_to(home)
    return str(path)
