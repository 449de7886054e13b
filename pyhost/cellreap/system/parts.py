# SPDX-License-Identifier: BSD-2-Clause
"""The output of CMake: the library for PDs, the root task's library, and the boot loader.

It depends only on the sources, the SDK and the compiler. It is kept in a cache under a key of these
three and used again for every configuration. The library for PDs is built by itself, because
programs are linked with it before the root task is built: who wrote a program reads at once what
the compiler says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cellreap.cached import cache_folder, digest_of
from cellreap.errors import CellreapError
from cellreap.headers import HeaderError, source_root
from cellreap.progress import Progress
from cellreap.system.cache import Key, digest
from cellreap.system.capdl.target import facts_source
from cellreap.system.sdk import Sdk
from cellreap.system.store import Use, use
from cellreap.system.toolchain import LOG, Toolchain, build_tree, run_tool

_LIBRARY = "libcellreap_root.a"
_BARE_LIBRARY = "libcellreap_bare.a"
_PD_LIBRARY = "libcellreap_pd.a"
CONFORMANCE = "conformance.elf"
_LOADER_LIBRARY = "libcellreap_loader.a"
_SOURCES = ("roottask", "pds", "platforms")
_FACTS = "capdl_facts.o"
_CACHE_FORMAT = "3"  # part of the key; raise it when the cache changes its format
_TRIES = 3
"""How often a build is begun anew because somebody writes into the sources."""


@dataclass(frozen=True)
class PdLibrary:
    """What programs are compiled and linked with. The files are in the cache and must not be
    written. They stay there as long as this object does.
    """

    use: Use

    @property
    def key(self) -> str:
        """An id of sources, SDK and compiler."""
        return self.use.folder.name

    @property
    def library(self) -> Path:
        """The library that each program is linked with."""
        return self.use.folder / _PD_LIBRARY

    def options(self, name: str) -> list[str]:
        """The options in a file of this name."""
        return (self.use.folder / name).read_text().split()


@dataclass(frozen=True)
class Parts:
    """The output of CMake for the root task. The files are in the cache and must not be written.

    They stay there as long as this object does.
    """

    use: Use

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self.use.folder

    @property
    def reused(self) -> bool:
        """Whether they were in the cache."""
        return self.use.reused

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


class _Changed(Exception):
    """The sources changed during the build."""


def build_pd_library(sdk: Sdk, toolchain: Toolchain, progress: Progress) -> PdLibrary:
    """The library for PDs, from the cache if nothing changed."""

    def make(folder: Path) -> None:
        with progress.step(f"building the library for PDs for {sdk.kernel}"):
            _build_tree("pds", folder, sdk, toolchain)

    return PdLibrary(_built("pds", _PD_LIBRARY, make, sdk, toolchain, progress))


def build_parts(sdk: Sdk, toolchain: Toolchain, progress: Progress) -> Parts:
    """The libraries of the root task, from the cache if nothing changed."""

    def make(folder: Path) -> None:
        with progress.step(f"building the root task for {sdk.kernel}"):
            _build_tree("roottask", folder, sdk, toolchain)
            _compile_facts(checkout(), folder, sdk, toolchain)

    return Parts(_built("roottask", _LIBRARY, make, sdk, toolchain, progress))


def build_conformance(sdk: Sdk, toolchain: Toolchain, progress: Progress) -> Use:
    """The folder with CONFORMANCE, the root task that checks the kernel, from the cache."""

    def make(folder: Path) -> None:
        with progress.step(f"building the checks for {sdk.kernel}"):
            _build_tree("roottask", folder, sdk, toolchain, "conformance")

    return _built("conformance", CONFORMANCE, make, sdk, toolchain, progress)


def _build_tree(
    name: str, folder: Path, sdk: Sdk, toolchain: Toolchain, target: str = "all"
) -> None:
    options = {
        "CELLREAP_PD_LIBRARY": "OFF",  # as a part of the root task's project
        "CELLREAP_SDK": str(sdk.root),
        "CELLREAP_LIBSEL4": str(sdk.include),
        "CELLREAP_ARCH": sdk.kernel.arch,
    }
    build_tree(checkout() / name, folder, toolchain, options, target)


def _built(
    name: str,
    file: str,
    make: Callable[[Path], None],
    sdk: Sdk,
    toolchain: Toolchain,
    progress: Progress,
) -> Use:
    """A folder of the cache that `make` fills from the sources. file: what must be in it then."""
    root = checkout()
    for _ in range(_TRIES):
        key = cache_key(root, sdk, toolchain)

        def fill(folder: Path, key: str = key) -> str:
            make(folder)
            if not (folder / file).is_file():
                raise CellreapError(f"{folder}: the build made no {file}")
            if cache_key(root, sdk, toolchain) != key:
                raise _Changed
            return f"{toolchain.version}\n{sdk.kernel}\n"

        try:
            return use(Key(name, _version(root, sdk), key), fill, progress)
        except _Changed:
            progress.note("the sources changed during the build, which is begun anew")
    raise CellreapError(f"{root}: the sources changed during each of {_TRIES} builds")


def _version(root: Path, sdk: Sdk) -> str:
    """What an earlier build must have in common with this one to be out of date.

    Two checkouts, or two kernels, are used side by side. refkernel is part of the checkout.
    """
    own = sdk.root.is_relative_to(cache_folder())
    places = digest_of(str(root), "" if own else str(sdk.root))
    return f"{sdk.kernel.arch}-{sdk.kernel.name}-{sdk.kernel.version}-{places[:8]}"


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


def no_float_options(folder: Path) -> list[str]:
    """The options by which code uses no floating point. folder: with the output of CMake."""
    return (folder / "no-float-options").read_text().split()


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
            "-fno-common",
        ),
        *no_float_options(folder),
        *("-iquote", str(sources), "-iquote", str(root), "-I", str(sources / "include")),
        *("-isystem", str(sdk.include)),
        *("-c", str(source), "-o", str(folder / _FACTS)),
    ]
    run_tool(command, None, folder / LOG)
