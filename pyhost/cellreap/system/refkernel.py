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

from cellreap.errors import UsageError
from cellreap.progress import Progress
from cellreap.system.cache import DONE, cache_folder, digest, file_lock, lock_of, touch
from cellreap.system.parts import checkout
from cellreap.system.sdk import installed_sdk, no_sdk
from cellreap.system.toolchain import Toolchain, build_tree, find_toolchain

_LAYOUT = "1"  # part of the key; raise it when the cache changes its format


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
        raise UsageError(f"{no_sdk(arch, env)}; refkernel does not run on {arch}")
    return build_refkernel(arch, progress, env)


def has_refkernel(arch: str) -> bool:
    """Whether refkernel can be built for an architecture."""
    return (checkout() / "refkernel" / "arch" / arch).is_dir()


def build_refkernel(arch: str, progress: Progress, env: Mapping[str, str] | None = None) -> Path:
    """refkernel's SDK directory in the cache, built if necessary.

    CellreapError if the build fails.
    """
    sources = checkout() / "refkernel"
    toolchain = find_toolchain(arch)
    folder = cache_folder(env) / "refkernel" / _key(sources, toolchain)
    sdk = folder / arch
    with file_lock(lock_of(folder), progress):
        touch(folder)
        if not (folder / DONE).is_file():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            options = {"REFKERNEL_ARCH": arch, "CMAKE_INSTALL_PREFIX": str(sdk)}
            with progress.step(f"building refkernel ({arch})"):
                build_tree(sources, folder / "build", toolchain, options, target="install")
            shutil.rmtree(folder / "build")
            (folder / DONE).write_text(f"{toolchain.version}\n")
    return sdk


def _key(sources: Path, toolchain: Toolchain) -> str:
    facts = (_LAYOUT, toolchain.arch, toolchain.compiler, toolchain.version)
    return f"{toolchain.arch}-{digest(sources, [sources], facts)}"
