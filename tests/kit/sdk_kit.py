# SPDX-License-Identifier: BSD-2-Clause
"""ELF files and SDK directories made for tests: as small as possible, and wrong on request."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cellreap.headers import source_root

MACHINES = {"x86_64": 62, "aarch64": 183, "i386": 3}
MULTIBOOT = struct.pack("<3I", 0x1BADB002, 0, (1 << 32) - 0x1BADB002)

GOOD_OPTIONS: dict[str, Any] = {
    "SEL4_ARCH": "x86_64",
    "KERNEL_MCS": False,
    "DEBUG_BUILD": True,
    "PRINTING": True,
    "ENABLE_SMP_SUPPORT": False,
    "ROOT_CNODE_SIZE_BITS": "12",
    "MAX_NUM_BOOTINFO_UNTYPED_CAPS": "230",
    "SUPPORT_PCID": False,
    "FSGSBASE_INST": False,
    "XSAVE": False,
    "IRQ_IOAPIC": True,
    "IRQ_PIC": False,
}

# What a kernel for aarch64 has in addition.
AARCH64_OPTIONS: dict[str, Any] = {
    "SEL4_ARCH": "aarch64",
    "ARM_PLAT": "qemu-arm-virt",
    "ARM_HYPERVISOR_SUPPORT": False,
    "ARM_GIC_V3_SUPPORT": False,
    "ARM_CORTEX_A53": True,
    "ARM_CORTEX_A57": False,
    "EXPORT_PCNT_USER": True,
    "EXPORT_PTMR_USER": True,
}
AARCH64_KERNEL = 0xFFFF_FF80_4000_0000  # its virtual address, and the physical one
AARCH64_MEMORY = (0x4000_0000, 0x8000_0000)
AARCH64_FDT = b"\xd0\x0d\xfe\xed a device tree"

# What libsel4 of each release has and the release before does not have.
FEATURES: dict[str, dict[str, str]] = {
    "13.0.0": {},
    "14.0.0": {"constants.h": "seL4_TCBFlag_fpuDisabled"},
    "15.0.0": {"macros.h": "LIBSEL4_THREAD_LOCAL", "invocation.h": "DomainScheduleConfigure"},
    "16.0.0": {
        "sel4_arch/constants.h": "seL4_UserVSpaceTop",
        "syscalls.h": "seL4_DebugGetThreadAffinity",
    },
}


# An architecture, with sizes in place of libsel4's.
ARCH = """\
#include <stdint.h>
enum { seL4_SlotBits = 5, seL4_TCBBits = 11, seL4_PageBits = 12 };
enum { CR_SC_BITS = 0, CR_REPLY_BITS = 0, CR_SLICE_US = 0 }; /* of compat.h */
enum { seL4_NotificationBits = 5, seL4_EndpointBits = 4 };
const uint32_t cr_arch_table_span[] = {39, 30, 21};
const uint32_t cr_arch_table_bits[] = {12, 12, 12};
const uint32_t cr_arch_vspace_bits = 12;
"""


def make_sel4_sources(roottask: Path) -> None:
    """The files of roottask that are read when an image is built, in a checkout made for a test."""
    for name in (
        "root.h",
        "kernel/kernel.h",
        "kernel/sleeper.h",
        "kernel/timer.h",
        "kernel/untyped.h",
        "kernel/turns.h",
        "scenario/scenario.h",
        "system/body.c",
        "system/body.h",
        "system/truth.h",
    ):
        (roottask / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_root() / "roottask" / name, roottask / name)
    (roottask / "kernel" / "arch" / "x86_64").mkdir(parents=True)
    (roottask / "kernel" / "arch" / "x86_64" / "arch.c").write_text(ARCH)


def make_elf(
    segments: Sequence[tuple[int, int, bytes, int]] = ((0x10_0000, 0x10_0000, MULTIBOOT, 0x1000),),
    *,
    arch: str = "x86_64",
    entry: int = 0x10_0000,
    kind: int = 2,
    extra_headers: Sequence[int] = (),
) -> bytes:
    """An ELF64 file of segments (vaddr, paddr, contents, bytes of memory) and other headers."""
    count = len(segments) + len(extra_headers)
    offset = 64 + 56 * count
    table = b""
    contents = b""
    for vaddr, paddr, data, memory in segments:
        table += struct.pack(
            "<2I6Q", 1, 7, offset + len(contents), vaddr, paddr, len(data), memory, 0x1000
        )
        contents += data
    for header_type in extra_headers:
        table += struct.pack("<2I6Q", header_type, 4, 0, 0, 0, 0, 0, 1)
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    header = struct.pack(
        "<2HI3QI6H", kind, MACHINES[arch], 1, entry, 64, 0, 0, 64, 56, count, 64, 0, 0
    )
    return ident + header + table + contents


def make_aarch64_kernel(paddr: int = 0x4000_0000, memory: int = 0x23_D000) -> bytes:
    """A kernel like seL4's for aarch64: one segment, all of it far above its physical address."""
    virt = AARCH64_KERNEL - 0x4000_0000 + paddr
    return make_elf([(virt, paddr, b"kernel", memory)], arch="aarch64", entry=virt)


def memory_text(*regions: tuple[int, int]) -> str:
    """A platform_gen.json with these regions of memory."""
    return json.dumps(
        {"devices": [], "memory": [{"start": start, "end": end} for start, end in regions]}
    )


def make_sdk(
    root: Path,
    *,
    arch: str = "x86_64",
    release: str = "16.0.0",
    options: Mapping[str, Any] | None = None,
    kernel: bytes | None = None,
) -> Path:
    """An SDK directory that is accepted, except for the given changes.

    An option of None is left out.
    """
    include = root / "libsel4" / "include"
    (include / "kernel").mkdir(parents=True)
    (include / "sel4" / "sel4_arch").mkdir(parents=True)
    (root / "bin").mkdir()
    raw = (make_aarch64_kernel() if arch == "aarch64" else make_elf()) if kernel is None else kernel
    (root / "bin" / "kernel.elf").write_bytes(raw)
    if arch == "aarch64":
        (root / "support").mkdir()
        (root / "support" / "platform_gen.json").write_text(memory_text(AARCH64_MEMORY))
        (root / "support" / "kernel.dtb").write_bytes(AARCH64_FDT)
    chosen = {**GOOD_OPTIONS, **(AARCH64_OPTIONS if arch == "aarch64" else {}), **(options or {})}
    chosen = {key: value for key, value in chosen.items() if value is not None}
    (include / "kernel" / "gen_config.json").write_text(json.dumps(chosen))
    (include / "sel4" / "sel4.h").write_text("/* sel4.h */\n")
    for name, features in FEATURES.items():
        for file, text in features.items():
            with (include / "sel4" / file).open("a") as header:
                header.write(f"#define {text} 1\n")
        if name == release:
            break
    return root
