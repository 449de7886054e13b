# SPDX-License-Identifier: BSD-2-Clause
"""refkernel: cellreap's own kernel, for machines without an installed seL4.

It is built from refkernel/ in the checkout into the cache, in the layout of an SDK directory. From
there on it is used like any other SDK directory. Everything that prints the name of a kernel prints
which one it is.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from cellreap.arches import ARCHES
from cellreap.cached import digest_of
from cellreap.errors import UsageError
from cellreap.progress import Progress
from cellreap.system.cache import Key, digest
from cellreap.system.parts import checkout
from cellreap.system.sdk import installed_sdk, no_sdk
from cellreap.system.store import Use, use
from cellreap.system.toolchain import Toolchain, build_tree, find_toolchain

_LAYOUT = "1"  # part of the key; raise it when the cache changes its format
_in_use: dict[Path, Use] = {}
"""The kernels that this process has used. An SDK directory is a path that a process reads at any
time, so each stays in use until the process ends."""


def find_kernel(
    arch: str, given: Path | None, progress: Progress, env: Mapping[str, str] | None = None
) -> Path:
    """The SDK directory to use: the one named or installed, else that of refkernel.

    refkernel is built if necessary. UsageError if there is neither. CellreapError if refkernel does
    not build.
    """
    found = installed_sdk(arch, given, env)
    if found is not None:
        return found
    if not has_refkernel(arch):
        raise UsageError(f"{no_sdk(arch, env)}; {_missing(arch)}")
    return build_refkernel(arch, progress, env)


def has_refkernel(arch: str) -> bool:
    """Whether refkernel can be built for an architecture."""
    return (checkout() / "refkernel" / "arch" / arch).is_dir()


def arches_of_refkernel() -> tuple[str, ...]:
    """The architectures on which everything runs without an installed seL4."""
    return tuple(arch for arch in ARCHES if has_refkernel(arch))


def build_refkernel(arch: str, progress: Progress, env: Mapping[str, str] | None = None) -> Path:
    """refkernel's SDK directory in the cache, built if necessary.

    UsageError if it does not run on the architecture, CellreapError if the build fails.
    """
    if not has_refkernel(arch):
        raise UsageError(_missing(arch))
    sources = checkout() / "refkernel"
    toolchain = find_toolchain(arch)

    def make(folder: Path) -> str:
        options = {"REFKERNEL_ARCH": arch, "CMAKE_INSTALL_PREFIX": str(folder / arch)}
        with progress.step(f"building refkernel ({arch})"):
            build_tree(sources, folder / "build", toolchain, options, target="install")
        shutil.rmtree(folder / "build")
        return f"{toolchain.version}\n"

    version = f"{arch}-{digest_of(str(sources))[:8]}"
    found = use(Key("kernel", version, _key(sources, toolchain)), make, progress, env)
    _in_use[found.folder] = found
    return found.folder / arch


def _missing(arch: str) -> str:
    return f"refkernel does not run on {arch}"


def _key(sources: Path, toolchain: Toolchain) -> str:
    facts = (_LAYOUT, toolchain.arch, toolchain.compiler, toolchain.version)
    folders = [sources, sources.parent / "platforms"]
    return f"{toolchain.arch}-{digest(sources.parent, folders, facts)}"
