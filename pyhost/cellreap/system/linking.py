# SPDX-License-Identifier: BSD-2-Clause
"""Links the output of CMake with the parts that differ from image to image."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from cellreap.system.blob import build_blob
from cellreap.system.config import Config
from cellreap.system.elf import Executable, read_executable
from cellreap.system.image import LOADER
from cellreap.system.loader import (
    check_loader,
    least_end,
    memory_around,
    plan_load,
    read_memory_file,
    source,
)
from cellreap.system.parts import Parts, checkout, no_float_options
from cellreap.system.saved import NOTHING, Saved
from cellreap.system.sdk import Sdk, timer_missing
from cellreap.system.toolchain import Toolchain, run_tool
from cellreap.system.untypeds import Room, place

_LINKER_SCRIPT = Path("roottask/roottask.ld")
_LOADER_SCRIPT = Path("roottask/loader/loader.ld")

_ONLY_USED = "-Wl,--gc-sections"
"""What nothing uses is left out: without the scenario, what only the scenario turns."""
_BLOB_SOURCE = """\
.section .image, "a"
.balign 4096
.globl cr_image_start, cr_image_end
cr_image_start:
.incbin "blob.bin"
cr_image_end:
.section .note.GNU-stack, "", %progbits
"""


def link(
    config: Config,
    programs: Mapping[str, bytes],
    sdk: Sdk,
    toolchain: Toolchain,
    parts: Parts,
    trace_key: bytes | None = None,
    saved: Saved = NOTHING,
    fills: Mapping[str, bytes] = MappingProxyType({}),
) -> bytes:
    """The root task's ELF file with the configuration in it.

    programs: the ELF files of the PDs' programs. trace_key: the secret of the image; None: one of
    this image and user. saved: what the image carries of a saved state. fills: of `fills_of`.
    """
    kernel = f"{sdk.kernel.name} {sdk.kernel.version}"
    timer = timer_missing(sdk.options, sdk.kernel.arch) is None
    blob = build_blob(config, programs, kernel, sdk.kernel.arch, timer, trace_key, saved, fills)
    files = {"blob.bin": blob, "blob.S": _BLOB_SOURCE.encode()}
    library = parts.library if config.system.scenario else parts.bare_library
    raw = _link(toolchain, library, _LINKER_SCRIPT, files, "blob.S", (_ONLY_USED,))
    read_executable(raw, "roottask.elf", sdk.kernel.arch)
    return raw


def link_loader(sdk: Sdk, toolchain: Toolchain, parts: Parts, roottask: bytes) -> bytes:
    """The boot loader's ELF file with kernel, root task and device tree in it."""
    arch = sdk.kernel.arch
    kernel = read_executable(sdk.kernel_elf.read_bytes(), str(sdk.kernel_elf), arch)
    memory = memory_around(read_memory_file(sdk.platform_file), kernel, str(sdk.platform_file))
    user = read_executable(roottask, "roottask.elf", arch)
    end = room_of_sdk(sdk, kernel, user).user_end
    load = plan_load(kernel, user, memory, sdk.fdt(), str(sdk.fdt_file), sdk.options, end)
    files = {**load.blobs, "facts.S": source(load).encode()}
    more = (f"-Wl,--defsym=cr_loader_base={load.base:#x}",)
    raw = _link(toolchain, parts.loader, _LOADER_SCRIPT, files, "facts.S", more)
    check_loader(read_executable(raw, LOADER, arch), load)
    return raw


def room_of_sdk(sdk: Sdk, kernel: Executable, user: Executable) -> Room:
    """What becomes of the memory of a machine with a boot loader."""
    regions = read_memory_file(sdk.platform_file)
    least = least_end(kernel, user, sdk.fdt())
    return place(sdk.options, kernel, sdk.platform_file, regions, least)


def _link(
    toolchain: Toolchain,
    library: Path,
    script: Path,
    files: Mapping[str, bytes],
    source_name: str,
    more: Sequence[str],
) -> bytes:
    """Links a library with one more source file, statically and without an operating system.

    files: that source file and the files that it includes, by name.
    """
    with tempfile.TemporaryDirectory(prefix="cellreap-link-") as name:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        # Compile to a named object file. Otherwise the compiler would choose a random name, which
        # the linker would record.
        cpu = no_float_options(library.parent)
        run_tool([toolchain.compiler, *cpu, "-c", source_name, "-o", "source.o"], folder)
        command = [
            toolchain.compiler,
            *cpu,
            *("-static", "-nostdlib", "-nostartfiles", "-no-pie"),
            *more,
            f"-Wl,-T,{checkout() / script}",
            *("-Wl,--build-id=none", "-Wl,-z,max-page-size=4096", "-Wl,-z,noexecstack"),
            "source.o",  # relative, so that the file does not contain the name of the folder
            *("-Wl,--whole-archive", str(library), "-Wl,--no-whole-archive"),
            *("-o", "linked.elf"),
        ]
        run_tool(command, folder)
        return (folder / "linked.elf").read_bytes()
