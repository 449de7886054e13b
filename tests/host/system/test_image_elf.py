# SPDX-License-Identifier: BSD-2-Clause
"""ELF files: every fault is reported in one line, and multiboot loads the kernel's file."""

from __future__ import annotations

import io
import random
import re
import struct

import pytest
from elftools.elf.elffile import ELFFile

from cellreap.errors import InputError
from cellreap.system.elf import MAX_MEMORY_BYTES, multiboot_elf32, read_executable
from kit.sdk_kit import MULTIBOOT, make_elf

HIGH = 0xFFFF_FFFF_8010_0000


def refused(raw: bytes, arch: str = "x86_64") -> str:
    with pytest.raises(InputError) as caught:
        read_executable(raw, "file.elf", arch)
    message = str(caught.value)
    assert message.startswith("file.elf: ")
    assert "\n" not in message
    return message


def test_a_good_file_is_taken_as_it_is() -> None:
    raw = make_elf([(0x1000, 0x1000, b"code", 4), (HIGH, 0x2000, b"data", 100)], entry=0x1002)
    made = read_executable(raw, "file.elf", "x86_64")
    assert (made.entry, made.arch, made.raw) == (0x1002, "x86_64", raw)
    assert [(s.vaddr, s.paddr, s.file_bytes, s.memory_bytes) for s in made.segments] == [
        (0x1000, 0x1000, 4, 4),
        (HIGH, 0x2000, 4, 100),
    ]


def test_a_segment_without_contents_may_have_any_offset() -> None:
    raw = bytearray(
        make_elf([(0x1000, 0x1000, b"code", 4), (0x2000, 0x2000, b"", 100)], entry=0x1000)
    )
    struct.pack_into("<Q", raw, 64 + 56 + 8, 0xFFF0)
    assert len(read_executable(bytes(raw), "file.elf", "x86_64").segments) == 2


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "is empty"),
        (b"#!/bin/sh\n", "is no ELF file"),
        (bytes(random.Random(1).randbytes(4096)), "is no ELF file"),
        (b"\x7fELF", "is cut: the ELF header"),
        (make_elf()[:63], "is cut: the ELF header"),
        (make_elf()[:64], "is cut: the program headers"),
        (make_elf()[:-1], "p_offset: is cut"),
        (make_elf(arch="aarch64"), "e_machine: is EM_AARCH64: expected EM_X86_64"),
        (make_elf(kind=3), "e_type: is ET_DYN: expected ET_EXEC"),
        (make_elf(kind=1), "e_type: is ET_REL: expected ET_EXEC"),
        (make_elf([]), "p_type: nothing to load"),
        (make_elf(extra_headers=[2]), "p_type: is dynamically linked"),
        (make_elf(extra_headers=[3]), "p_type: is dynamically linked"),
        (make_elf(extra_headers=[0] * 64), "e_phnum: 65 program headers"),
        (make_elf(entry=0x10_1000), "e_entry: 0x101000 lies in no segment"),
        (make_elf(entry=0), "e_entry: 0x0 lies in no segment"),
        (make_elf([(0x1000, 0x1000, b"12345", 4)]), "p_filesz: is 0x5, above p_memsz 0x4"),
        (
            make_elf([(0x1000, 0x1000, b"", 0x2000), (0x2000, 0x4000, b"", 1)]),
            "p_vaddr: the segments at 0x1000 and 0x2000 overlap",
        ),
        (
            make_elf([(0x1000, 0x1000, b"", 1), (0x1000, 0x4000, b"", 1)]),
            "p_vaddr: the segments at",
        ),
        (
            make_elf([(0x1000, 0x1000, b"", MAX_MEMORY_BYTES + 1)]),
            "p_memsz: the segments take 1073741825",
        ),
        (make_elf([((1 << 64) - 4096, 0, b"", 4097)]), "p_memsz: .* ends beyond the address space"),
        (make_elf([(0, (1 << 64) - 4096, b"", 4097)]), "p_memsz: .* ends beyond the address space"),
    ],
)
def test_a_file_that_cannot_be_loaded_says_why(raw: bytes, said: str) -> None:
    assert re.search(said, refused(raw))


def test_class_and_byte_order_are_checked() -> None:
    small, big = bytearray(make_elf()), bytearray(make_elf())
    small[4], big[5] = 1, 2
    assert "is ELF32: expected ELF64" in refused(bytes(small))
    assert "file.elf: " in refused(bytes(big))


def test_a_file_that_is_too_large_is_refused_unread() -> None:
    assert "expected at most" in refused(b"\x7fELF" + bytes(256 << 20))


@pytest.mark.slow
def test_a_file_cut_anywhere_or_with_any_header_byte_changed_is_loaded_or_refused_in_a_line() -> (
    None
):
    raw = make_elf([(0x1000, 0x1000, b"code", 4), (0x2000, 0x2000, b"data", 100)], entry=0x1000)
    chance = random.Random(3)
    for length in range(len(raw)):
        refused(raw[:length])
    good = 0
    for _ in range(2000):
        changed = bytearray(raw)
        changed[chance.randrange(64 + 56 * 2)] = chance.randrange(256)
        try:
            read_executable(bytes(changed), "file.elf", "x86_64")
            good += 1
        except InputError:
            pass
    assert 0 < good < 2000


def test_multiboot_gets_the_same_bytes_at_the_same_physical_addresses() -> None:
    low = (0x10_0000, 0x10_0000, MULTIBOOT + b"phys", 0x2000)
    segments = [low, (HIGH, 0x10_2000, b"kernel" * 100, 0x5000)]
    kernel = read_executable(make_elf(segments), "kernel.elf", "x86_64")
    made = multiboot_elf32(kernel)
    elf = ELFFile(io.BytesIO(made))
    assert (elf.elfclass, elf.little_endian) == (32, True)
    assert (elf["e_machine"], elf["e_type"]) == ("EM_386", "ET_EXEC")
    assert elf["e_entry"] == kernel.entry
    loaded = [(s["p_paddr"], s["p_memsz"], s["p_vaddr"], s.data()) for s in elf.iter_segments()]
    assert loaded == [
        (paddr, memory, vaddr % (1 << 32), data) for vaddr, paddr, data, memory in segments
    ]
    assert made == multiboot_elf32(kernel)
    header = made.index(MULTIBOOT)
    assert header % 4 == 0
    assert header < 8192


def test_a_kernel_that_multiboot_cannot_load_is_refused() -> None:
    def kernel(*segments: tuple[int, int, bytes, int], entry: int = 0x10_0000) -> str:
        made = read_executable(make_elf(segments, entry=entry), "kernel.elf", "x86_64")
        with pytest.raises(InputError) as caught:
            multiboot_elf32(made)
        return str(caught.value)

    low = (0x10_0000, 0x10_0000, MULTIBOOT, 0x1000)
    assert "MULTIBOOT1_HEADER: no Multiboot 1 header" in kernel(
        (0x10_0000, 0x10_0000, b"none", 0x1000)
    )
    assert "no Multiboot 1 header" in kernel(
        (0x10_0000, 0x10_0000, bytes(9000) + MULTIBOOT, 0x4000)
    )
    assert "e_entry: 0xffffffff80100000 is above 4 GiB" in kernel(
        (HIGH, 0, MULTIBOOT, 16), entry=HIGH
    )
    assert "p_paddr: 0x100000000: expected a segment below 4 GiB" in kernel(
        low, (HIGH, 1 << 32, b"", 1)
    )
