# SPDX-License-Identifier: BSD-2-Clause
"""The data with which the boot loader of roottask/loader is linked: addresses and contents.

Everything that is known before a boot is computed and checked here, so that the loader stays small.
It gets addresses and flat contents under the names that loader.h declares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellreap.arches import ARCHES
from cellreap.errors import InputError, UsageError
from cellreap.platforms import PLATFORMS
from cellreap.system.elf import Executable

PLATFORM_FILE = "platform_gen.json"
"""File in an SDK's support folder that lists the physical addresses of memory."""
FDT_FILE = "kernel.dtb"
"""File in the same folder: the device tree for which the kernel was built."""
KERNEL_BLOB, USER_BLOB, FDT_BLOB = "kernel.bin", "user.bin", "fdt.bin"
"""The files that the output of source() includes."""


_PAGE = 1 << 12
_GIB = 1 << 30
_BLOCK = 2 << 20  # what one entry of the last table but one maps
_FDT_ROOM = 2 << 20  # size of the largest device tree that the loader accepts
_FDT_MAGIC = b"\xd0\x0d\xfe\xed"
_MAX_PLATFORM_BYTES = 1 << 20


@dataclass(frozen=True)
class Load:
    """Where everything is loaded: the cr_fact_ names of loader.h, and the flat contents of the
    files.
    """

    facts: Mapping[str, int]
    blobs: Mapping[str, bytes]

    @property
    def base(self) -> int:
        """The address for which the loader must be linked."""
        return self.facts["loader"]


def read_memory(raw: bytes, name: str) -> tuple[tuple[int, int], ...]:
    """The memory regions [start, end) of a platform_gen.json, in bytes.

    InputError if the file is wrong.
    """
    try:
        if len(raw) > _MAX_PLATFORM_BYTES:
            raise ValueError
        described = json.loads(raw)
        regions = [(region["start"], region["end"]) for region in described["memory"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        message = (
            'is no description of a platform: expected {"memory": [{"start": ..., "end": ...}]}'
        )
        raise InputError(name, None, "memory", message) from None
    for start, end in regions:
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= 1 << 48:
            message = f"{start!r} to {end!r}: expected addresses of at most 48 bits, in order"
            raise InputError(name, None, "memory", message)
    return tuple(sorted(regions))


def read_memory_file(path: Path) -> tuple[tuple[int, int], ...]:
    """The same of a file. InputError if it cannot be read."""
    try:
        return read_memory(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(str(path), None, None, error.strerror or "cannot be read") from None


def memory_around(
    regions: tuple[tuple[int, int], ...], kernel: Executable, name: str
) -> tuple[int, int]:
    """The memory region that contains the kernel. InputError if there is none."""
    start = min(segment.paddr for segment in kernel.segments)
    end = max(segment.paddr + segment.memory_bytes for segment in kernel.segments)
    for region in regions:
        if region[0] <= start and end <= region[1]:
            return region
    shown = ", ".join(f"{low:#x} to {high:#x}" for low, high in regions) or "none"
    message = f"{start:#x} to {end:#x}: expected it in memory, which {name} says is {shown}"
    raise InputError(kernel.name, None, "p_paddr", message)


def bytes_needed(
    options: Mapping[str, Any],
    regions: tuple[tuple[int, int], ...],
    kernel: Executable,
    name: str,
) -> int:
    """The bytes of memory that the kernel's machine must have at least.

    The kernel has the addresses of memory built in, and puts its own objects at the end. options:
    its gen_config.json. InputError if it is in no region.
    """
    memory_around(regions, kernel, name)
    needed = before = 0
    for start, most in _ram(options):
        for low, high in regions:
            if start <= low < start + most:
                needed = max(needed, before + high - start)
        before += most
    return needed or regions[-1][1] - regions[0][0]


def check_memory(given: int | None, needed: int | None) -> None:
    """UsageError if a machine is to have less memory than its kernel has built in.

    given: by the user; None: nothing.
    """
    if given is not None and needed is not None and given < needed:
        raise UsageError(
            f"--qemu-arg -m: {given} bytes of memory: the kernel has the memory of its machine "
            f"built in; expected at least {needed >> 20} MiB"
        )


def _ram(options: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    platform = PLATFORMS.get(platform_of(options))
    emulation = platform.emulation if platform is not None else None
    return emulation.ram if emulation is not None else ()


def plan_load(
    kernel: Executable,
    user: Executable,
    memory: tuple[int, int],
    fdt: bytes,
    fdt_name: str,
    options: Mapping[str, Any],
    user_end: int = 0,
) -> Load:
    """Lays out memory: kernel, room for a device tree, root task, loader.

    memory: the region that contains the kernel. fdt: the device tree for firmware that provides
    none; empty: the kernel starts without one then. options: the kernel's gen_config.json.
    user_end: where the memory of the root task ends at least. InputError if they do not fit.
    """
    if fdt and (fdt[:4] != _FDT_MAGIC or len(fdt) > _FDT_ROOM):
        begin = f"that begins with {_FDT_MAGIC.hex()}"
        message = f"expected a device tree of at most {_FDT_ROOM} bytes {begin}"
        raise InputError(fdt_name, None, None, message)
    platform = platform_of(options)
    if platform not in loaded_platforms():
        message = f"is {platform}: expected {' or '.join(loaded_platforms())}"
        raise InputError(kernel.name, None, "ARM_PLAT (KernelPlatform)", message)
    uart, el3 = PLATFORMS[platform].uart, PLATFORMS[platform].el3 or (0, 0)
    start = min(segment.paddr for segment in kernel.segments)
    end = max(segment.paddr + segment.memory_bytes for segment in kernel.segments)
    away = {segment.vaddr - segment.paddr for segment in kernel.segments}
    virt = start + min(away)
    if len(away) != 1 or virt % _BLOCK or start % _BLOCK or virt % _GIB + end - start > _GIB:
        shown = ", ".join(map(hex, sorted(away)))
        message = f"{shown} above the physical addresses, which begin at {start:#x}"
        expected = f"expected whole blocks of {_BLOCK >> 20} MiB that lie in one GiB"
        raise InputError(kernel.name, None, "p_vaddr", f"{message}: {expected}")
    user_virt = min(segment.vaddr for segment in user.segments) & -_PAGE
    user_bytes = max(segment.vaddr + segment.memory_bytes for segment in user.segments) - user_virt
    base = max(_up(end, _PAGE) + _FDT_ROOM + _up(user_bytes, _PAGE), user_end)
    facts = {
        "ram_start": _first(options, memory[0]),
        "ram_end": memory[1],
        "uart": uart.address,
        "uart_data": uart.address + uart.data,
        "uart_status": uart.address + uart.status,
        "uart_mask": uart.mask,
        "uart_busy": uart.busy,
        "uart_control": uart.address + uart.control,
        "uart_on": uart.on,
        "gic_distributor": el3[0],
        "gic_cpu": el3[1],
        "loader": _up(base, _BLOCK),
        "kernel": start,
        "kernel_level": 2 if options.get("ARM_HYPERVISOR_SUPPORT") is True else 1,
        "physical_size": 4 if options.get("ARM_PA_SIZE_BITS_44") is True else 2,
        "kernel_bytes": end - start,
        "kernel_virt": virt,
        "kernel_entry": kernel.entry,
        "user_bytes": user_bytes,
        "user_end": user_end,
        "user_virt": user_virt,
        "user_entry": user.entry,
    }
    blobs = {
        KERNEL_BLOB: flat(kernel, virt),
        USER_BLOB: flat(user, user_virt),
        FDT_BLOB: fdt,
    }
    return Load(facts, blobs)


def least_end(kernel: Executable, user: Executable, fdt: bytes) -> int:
    """Where the memory of the root task ends if nothing is put between the parts."""
    end = _up(max(segment.paddr + segment.memory_bytes for segment in kernel.segments), _PAGE)
    start = min(segment.vaddr for segment in user.segments) & -_PAGE
    user_bytes = max(segment.vaddr + segment.memory_bytes for segment in user.segments) - start
    return end + _up(len(fdt), _PAGE) + _up(user_bytes, _PAGE)


def check_loader(loader: Executable, load: Load) -> None:
    """InputError if a linked loader is at the wrong address or does not fit in memory."""
    end = max(segment.vaddr + segment.memory_bytes for segment in loader.segments)
    if loader.entry != load.base:
        raise InputError(
            loader.name, None, "e_entry", f"{loader.entry:#x}: expected {load.base:#x}"
        )
    if end > load.facts["ram_end"]:
        expected = f"expected at most {load.facts['ram_end']:#x}"
        message = f"kernel, root task and loader end at {end:#x}: {expected}"
        raise InputError(loader.name, None, "p_memsz", f"{message}, where memory does")


def source(load: Load) -> str:
    """Assembler text that defines what loader.h declares and the loader does not define."""
    lines = ['.section .rodata.facts, "a", %progbits', ".balign 8"]
    for name, value in load.facts.items():
        lines += [f".globl cr_fact_{name}", f"cr_fact_{name}: .quad {value:#x}"]
    lines += ['.section .image, "a", %progbits']
    for name in load.blobs:
        stem = name.removesuffix(".bin")
        lines += [
            *(".balign 8", f".globl cr_{stem}_start, cr_{stem}_end"),
            *(f"cr_{stem}_start:", f'.incbin "{name}"', f"cr_{stem}_end:"),
        ]
    lines += [".balign 8", '.section .note.GNU-stack, "", %progbits', ""]
    return "\n".join(lines)


def loaded_platforms() -> tuple[str, ...]:
    """The platforms, as KernelPlatform names them, on which the boot loader runs."""
    return tuple(name for name, each in PLATFORMS.items() if ARCHES[each.arch].platform_key)


def platform_of(options: Mapping[str, Any]) -> str:
    """The platform of a kernel, from its gen_config.json.

    A kernel for x86_64 does not name it: there is only one.
    """
    arch = str(options.get("SEL4_ARCH"))
    if arch in ARCHES and (key := ARCHES[arch].platform_key) is not None:
        return str(options.get(key))
    return next((name for name, each in PLATFORMS.items() if each.arch == arch), arch)


def _first(options: Mapping[str, Any], address: int) -> int:
    """The start of the machine's memory that has an address."""
    starts = (start for start, most in _ram(options) if start <= address < start + most)
    return next(starts, address)


def flat(executable: Executable, start: int) -> bytes:
    """The contents from virtual address `start` on, without the zeros after the last byte in the
    file.
    """
    filled = [segment for segment in executable.segments if segment.file_bytes]
    flat = bytearray(
        max((segment.vaddr + segment.file_bytes - start for segment in filled), default=0)
    )
    for segment in filled:
        at, offset, count = segment.vaddr - start, segment.offset, segment.file_bytes
        flat[at : at + count] = executable.raw[offset : offset + count]
    return bytes(flat)


def _up(value: int, alignment: int) -> int:
    return value + -value % alignment
