# SPDX-License-Identifier: BSD-2-Clause
"""Boots any root task on the kernel of an SDK, without an image."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cellreap.runs.boot import Boot, Options, boot_files_with, files_of
from cellreap.system.elf import read_executable
from cellreap.system.image import LOADER, members_of
from cellreap.system.linking import link_loader
from cellreap.system.loader import bytes_needed, read_memory_file
from cellreap.system.parts import Parts
from cellreap.system.sdk import Sdk
from cellreap.system.toolchain import Toolchain


def boot_root_task(
    sdk: Sdk,
    toolchain: Toolchain,
    parts: Callable[[], Parts],
    roottask: bytes,
    name: str,
    extra: Sequence[str],
    record_as: Callable[[Sequence[str]], Boot],
) -> Boot:
    """Boots the ELF file `roottask`. CellreapError if the machine cannot boot it.

    parts: called if the machine needs a boot loader. name: of the file, for messages. extra:
    further arguments for the emulator. record_as: runs the emulator's command.
    """
    arch = sdk.kernel.arch
    read_executable(roottask, name, arch)
    kernel = read_executable(sdk.kernel_elf.read_bytes(), str(sdk.kernel_elf), arch)
    loader, memory = b"", None
    if LOADER in members_of(arch):
        loader = link_loader(sdk, toolchain, parts(), roottask)
        regions = read_memory_file(sdk.platform_file)
        memory = bytes_needed(sdk.options, regions, kernel, str(sdk.platform_file))
    options = Options(sdk.options, str(sdk.config_file))
    return boot_files_with(options, files_of(kernel, roottask, loader), memory, extra, record_as)
