# SPDX-License-Identifier: BSD-2-Clause
"""ELF executables, checked before any other code uses them, read and written with struct."""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass

from cellreap.arches import ARCHES
from cellreap.errors import CellreapError, InputError
from cellreap.system.sections import Sections, SectionsError, sections_of

MAX_FILE_BYTES = 256 << 20
MAX_MEMORY_BYTES = 1 << 30  # more memory than any supported machine gives to one program
MAX_SEGMENTS = 64

PROTOCOL_NOTE = ".note.cellreap"
"""The section in which a program says its version of the protocol (pds/client.c)."""
_HEADER = struct.Struct("<16xHHIQQ14xHH")  # type, machine, version, entry, phoff, phentsize, phnum
_PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
_CLASSES = {1: "ELF32", 2: "ELF64"}
_TYPES = {1: "ET_REL", 2: "ET_EXEC", 3: "ET_DYN", 4: "ET_CORE"}
_MACHINE_NAMES = {3: "EM_386", 40: "EM_ARM", 62: "EM_X86_64", 183: "EM_AARCH64", 243: "EM_RISCV"}
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_MULTIBOOT_MAGIC = struct.pack("<I", 0x1BADB002)
# Multiboot 0.6.96, 3.1: the header is within the first 8192 bytes, 32-bit aligned.
_MULTIBOOT_SEARCH = 8192
_EM_386 = 3
_LIMIT_32 = 1 << 32


@dataclass(frozen=True)
class Segment:
    """A PT_LOAD program header. Sizes in bytes; flags as in ELF: 1 execute, 2 write, 4 read."""

    offset: int
    vaddr: int
    paddr: int
    file_bytes: int
    memory_bytes: int
    flags: int
    align: int


@dataclass(frozen=True)
class Executable:
    """A static executable that can be loaded without relocation."""

    name: str  # for messages
    arch: str
    entry: int
    segments: tuple[Segment, ...]  # PT_LOAD, in the order of the file
    raw: bytes


_ARCHES = {each.elf_machine: name for name, each in ARCHES.items()}


def is_elf(raw: bytes) -> bool:
    """Whether a file that begins like this is an ELF file."""
    return raw[:4] == b"\x7fELF"


def arch_of(raw: bytes, name: str) -> str:
    """The architecture that an ELF file is for. InputError if it is for another one."""
    machine = int.from_bytes(raw[18:20], "little")
    if machine not in _ARCHES:
        expected = " or ".join(f"{number} ({arch})" for number, arch in _ARCHES.items())
        raise InputError(name, None, "e_machine", f"is {machine}: expected {expected}")
    return _ARCHES[machine]


def read_executable(raw: bytes, name: str, arch: str) -> Executable:
    """The ELF64 executable in `raw`, checked to be static and for `arch`.

    InputError if it is anything else.
    """

    def refuse(field: str | None, message: str) -> InputError:
        return InputError(name, None, field, message)

    if not raw:
        raise refuse(None, "is empty: expected an ELF executable")
    if len(raw) > MAX_FILE_BYTES:
        raise refuse(None, f"has {len(raw)} bytes: expected at most {MAX_FILE_BYTES}")
    if not is_elf(raw):
        raise refuse(None, "is no ELF file: expected it to start with 7f 45 4c 46")
    if len(raw) < 64:
        raise refuse(None, "is cut: the ELF header is not complete")
    if raw[4] != 2:
        raise refuse("e_ident", f"is {_CLASSES.get(raw[4], 'of no class')}: expected ELF64")
    if raw[5] != 1:
        order = "big-endian" if raw[5] == 2 else "of no byte order"
        raise refuse("e_ident", f"is {order}: expected little-endian")
    kind, machine, _, entry, start, size, count = _HEADER.unpack_from(raw)
    wanted = ARCHES[arch].elf_machine
    if machine != wanted:
        name_, expected = (_MACHINE_NAMES.get(each, str(each)) for each in (machine, wanted))
        raise refuse("e_machine", f"is {name_}: expected {expected} for {arch}")
    if kind != 2:
        shown = _TYPES.get(kind, str(kind))
        raise refuse("e_type", f"is {shown}: expected ET_EXEC, a static executable")
    if count > MAX_SEGMENTS or (count and size != _PROGRAM_HEADER.size):
        raise refuse("e_phnum", f"{count} program headers: expected 1 to {MAX_SEGMENTS}")
    if start % 8:
        raise refuse("e_phoff", f"is {start}: expected a multiple of 8")
    end = start + size * count
    if end > len(raw):
        raise refuse("e_phoff", "is cut: the program headers lie beyond the end of the file")
    headers = list(_PROGRAM_HEADER.iter_unpack(memoryview(raw)[start:end])) if count else []
    if any(header[0] in (_PT_DYNAMIC, _PT_INTERP) for header in headers):
        raise refuse("p_type", "is dynamically linked: expected a static executable")
    segments = tuple(
        Segment(offset, vaddr, paddr, file_bytes, memory_bytes, flags, align)
        for kind, flags, offset, vaddr, paddr, file_bytes, memory_bytes, align in headers
        if kind == _PT_LOAD and memory_bytes
    )
    problem = _segment_problem(segments, len(raw), entry)
    if problem is not None:
        raise refuse(*problem)
    return Executable(name, arch, entry, segments, raw)


def _segment_problem(
    segments: tuple[Segment, ...], length: int, entry: int
) -> tuple[str, str] | None:
    if not segments:
        return "p_type", "nothing to load: expected at least one PT_LOAD segment"
    for segment in segments:
        if segment.file_bytes > segment.memory_bytes:
            return (
                "p_filesz",
                f"is {segment.file_bytes:#x}, above p_memsz {segment.memory_bytes:#x}",
            )
        end = segment.offset + segment.file_bytes
        if segment.file_bytes and end > length:  # without contents, any offset is allowed
            return "p_offset", f"is cut: a segment ends at {end:#x}, the file at {length:#x}"
        if (
            segment.vaddr + segment.memory_bytes > 1 << 64
            or segment.paddr + segment.memory_bytes > 1 << 64
        ):
            return "p_memsz", f"the segment at {segment.vaddr:#x} ends beyond the address space"
    total = sum(segment.memory_bytes for segment in segments)
    if total > MAX_MEMORY_BYTES:
        return (
            "p_memsz",
            f"the segments take {total} bytes of memory: expected at most {MAX_MEMORY_BYTES}",
        )
    ranges = [(segment.vaddr, segment.vaddr + segment.memory_bytes) for segment in segments]
    for (start, end), (following, _) in itertools.pairwise(sorted(ranges)):
        if following < end:
            return "p_vaddr", f"the segments at {start:#x} and {following:#x} overlap"
    if not any(start <= entry < end for start, end in ranges):
        return "e_entry", f"{entry:#x} lies in no segment"
    return None


def without_sections(executable: Executable) -> bytes:
    """The ELF file without section headers, and without what follows its segments.

    This is all that a loader needs. Symbols and debug information, which can be larger than the
    program, are left out.
    """
    raw = bytearray(executable.raw)
    (table,) = struct.unpack_from("<Q", raw, 0x20)
    (entries,) = struct.unpack_from("<H", raw, 0x38)
    ends = [one.offset + one.file_bytes for one in executable.segments if one.file_bytes]
    end = max(64, table + 56 * entries, *ends)
    struct.pack_into("<Q", raw, 0x28, 0)  # e_shoff
    struct.pack_into("<3H", raw, 0x3A, 0, 0, 0)  # e_shentsize, e_shnum, e_shstrndx
    for at in range(table, table + 56 * entries, 56):
        (file_bytes,) = struct.unpack_from("<Q", raw, at + 32)
        if file_bytes == 0:  # its offset means nothing, and the root task refuses one too large
            struct.pack_into("<Q", raw, at + 8, 0)
    return bytes(raw[:end])


def multiboot_elf32(kernel: Executable) -> bytes:
    """An x86_64 kernel as an ELF32 file for a Multiboot 1 loader.

    The segments keep their physical addresses. Virtual addresses lose their upper half, which no
    loader uses. InputError if the kernel cannot be loaded in this way.
    """

    def refuse(field: str, message: str) -> InputError:
        return InputError(kernel.name, None, field, message)

    if kernel.entry >= _LIMIT_32:
        raise refuse(
            "e_entry", f"{kernel.entry:#x} is above 4 GiB: expected a physical entry for Multiboot"
        )
    for segment in kernel.segments:
        if segment.paddr + segment.memory_bytes > _LIMIT_32:
            raise refuse(
                "p_paddr", f"{segment.paddr:#x}: expected a segment below 4 GiB for Multiboot"
            )
    header_bytes, entry_bytes = 52, 32
    offset = _aligned(header_bytes + entry_bytes * len(kernel.segments))
    table = b""
    contents = b""
    start = offset
    for segment in kernel.segments:
        offset = start + len(contents)
        table += struct.pack(
            "<8I",
            1,  # PT_LOAD
            offset,
            segment.vaddr % _LIMIT_32,
            segment.paddr,
            segment.file_bytes,
            segment.memory_bytes,
            segment.flags,
            64,
        )
        data = kernel.raw[segment.offset : segment.offset + segment.file_bytes]
        contents += data + bytes(_aligned(len(data)) - len(data))
    ident = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)  # 32 bits, little-endian, version 1
    header = ident + struct.pack(
        "<2H5I6H",
        2,  # ET_EXEC
        _EM_386,
        1,
        kernel.entry,
        header_bytes,
        0,
        0,
        header_bytes,
        entry_bytes,
        len(kernel.segments),
        40,
        0,
        0,
    )
    made = header + table + bytes(start - header_bytes - len(table)) + contents
    places = range(0, min(len(made), _MULTIBOOT_SEARCH), 4)
    if not any(made[at : at + 4] == _MULTIBOOT_MAGIC for at in places):
        raise refuse(
            "MULTIBOOT1_HEADER", "no Multiboot 1 header: expected KernelMultiboot1Header on"
        )
    return made


def _aligned(size: int) -> int:
    return size + -size % 64


def symbol_bytes(executable: Executable, start: str, end: str) -> bytes:
    """The contents between two symbols. CellreapError if there are no such contents."""
    try:
        symbols = sections_of(executable.raw).symbols
        first, last = symbols[start].value, symbols[end].value
    except (SectionsError, KeyError):
        raise CellreapError(f"nothing lies between {start} and {end}") from None
    for segment in executable.segments:
        if segment.vaddr <= first <= last <= segment.vaddr + segment.file_bytes:
            offset = segment.offset + first - segment.vaddr
            return executable.raw[offset : offset + last - first]
    raise CellreapError(f"nothing lies between {start} and {end}")


def section_address(executable: Executable, name: str) -> int | None:
    """The address of a section. None: there is none of that name."""
    section = _sections(executable).get(name)
    return None if section is None else section.address


def protocol_version(executable: Executable) -> int | None:
    """The version of the protocol that a program was built for, which the library for PDs notes.

    None: it does not say so. It may not know cellreap, or have no sections any more.
    """
    sections = _sections(executable)
    section = sections.get(PROTOCOL_NOTE)
    try:
        note = b"" if section is None else sections.data(section)
    except SectionsError:
        raise _unreadable(executable) from None
    return int.from_bytes(note[-4:], "little") if note else None


def _sections(executable: Executable) -> Sections:
    try:
        return sections_of(executable.raw)
    except SectionsError:
        raise _unreadable(executable) from None


def _unreadable(executable: Executable) -> CellreapError:
    return CellreapError(f"{executable.name}: its sections cannot be read")
