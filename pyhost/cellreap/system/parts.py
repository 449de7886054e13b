# SPDX-License-Identifier: BSD-2-Clause
"""The output of CMake: the root task's library, the library for PDs, and the boot loader.

It depends only on the sources, the SDK and the compiler. It is kept in a cache under a key of these
three and used again for every configuration.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from cellreap.errors import CellreapError
from cellreap.headers import HeaderError, source_root
from cellreap.progress import Progress
from cellreap.system.cache import DONE, cache_folder, digest, file_lock, lock_of, touch
from cellreap.system.capdl import facts_source
from cellreap.system.sdk import Sdk
from cellreap.system.toolchain import LOG, Toolchain, build_tree, run_tool

_LIBRARY = "libcellreap_root.a"
_BARE_LIBRARY = "libcellreap_bare.a"
_CONFORMANCE = "conformance.elf"
_LOADER_LIBRARY = "libcellreap_loader.a"
_SOURCES = ("roottask", "pds")
_FACTS = "capdl_facts.o"
_CACHE_FORMAT = "3"  # part of the key; raise it when the cache changes its format


@dataclass(frozen=True)
class Parts:
    """The output of CMake. The files are in the cache and must not be written."""

    folder: Path
    reused: bool

    @property
    def library(self) -> Path:
        """The library of the root task, without its configuration."""
        return self.folder / _LIBRARY

    @property
    def bare_library(self) -> Path:
        """The library of the root task without the scenario."""
        return self.folder / _BARE_LIBRARY

    @property
    def facts(self) -> Path:
        """The object file with the values of kernel and architecture, for `read_target`."""
        return self.folder / _FACTS

    @property
    def loader(self) -> Path:
        """The boot loader without its contents. It exists only for architectures that need one."""
        return self.folder / _LOADER_LIBRARY

    @property
    def conformance(self) -> Path:
        """The root task that checks the kernel."""
        return self.folder / _CONFORMANCE


def build_parts(sdk: Sdk, toolchain: Toolchain, progress: Progress) -> Parts:
    """The libraries of the root task and for PDs, from the cache if nothing changed."""
    root = checkout()
    key = cache_key(root, sdk, toolchain)
    folder = cache_folder() / "build" / key
    with file_lock(lock_of(folder), progress):
        if (folder / DONE).is_file():
            touch(folder)
            return Parts(folder, reused=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        with progress.step(f"building the root task for {sdk.kernel}"):
            options = {"CELLREAP_SDK": str(sdk.root), "CELLREAP_ARCH": sdk.kernel.arch}
            build_tree(root / "roottask", folder, toolchain, options)
            _compile_facts(root, folder, sdk, toolchain)
        parts = Parts(folder, reused=False)
        if not parts.library.is_file():
            raise CellreapError(f"{folder}: the build made no {_LIBRARY}")
        if cache_key(root, sdk, toolchain) == key:  # else the sources changed during the build
            (folder / DONE).write_text(f"{toolchain.version}\n{sdk.kernel}\n")
        return parts


def cache_key(root: Path, sdk: Sdk, toolchain: Toolchain) -> str:
    """A name for everything on which a build depends."""
    facts = (
        _CACHE_FORMAT,
        sdk.kernel.arch,
        sdk.digest,
        toolchain.compiler,
        toolchain.version,
    )
    folders = [root / name for name in _SOURCES]
    return f"{sdk.kernel.arch}-{digest(root, folders, facts)}"


def checkout() -> Path:
    """The checkout whose sources are built. CellreapError if there is none."""
    try:
        return source_root()
    except HeaderError as error:
        raise CellreapError(str(error)) from None


def _compile_facts(root: Path, folder: Path, sdk: Sdk, toolchain: Toolchain) -> None:
    source = folder / Path(_FACTS).with_suffix(".c")
    source.write_text(facts_source(sdk.kernel.arch))
    sources = root / "roottask"
    command = [
        toolchain.compiler,
        *(
            "-std=gnu11",
            "-O2",
            "-w",
            "-ffreestanding",
            "-fno-pic",
            "-mgeneral-regs-only",
            "-fno-common",
        ),
        *("-iquote", str(sources), "-I", str(sources / "include")),
        *("-isystem", str(sdk.root / "libsel4" / "include")),
        *("-c", str(source), "-o", str(folder / _FACTS)),
    ]
    run_tool(command, None, folder / LOG)
