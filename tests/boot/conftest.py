# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures of the boot tests.

They boot the kernel that `cellreap run` boots. A wrong SDK fails them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from cellreap.progress import Progress
from cellreap.system.locks import file_lock
from cellreap.system.refkernel import build_refkernel, find_kernel, has_refkernel
from cellreap.system.sdk import ARCHES, Sdk, installed_sdk, kernel_options, load_sdk
from cellreap.testing import Target
from kit.acceptance import DEFAULT
from kit.kernels import prefix_of
from kit.marks import thorough_but
from kit.microkit import BOARDS, Microkit
from kit.paths import BOOT_CONFIGS, CONFIGS
from kit.truth_traces import WITHOUT_TRUTH
from kit.wheels import make_wheel

CONFIG_FOLDERS = (CONFIGS, CONFIGS / "disk", BOOT_CONFIGS)


@pytest.fixture(scope="session")
def sdk_of() -> Callable[[str], Sdk]:
    """The SDK that `cellreap run` uses: seL4's if it is installed, else refkernel's."""

    def find(arch: str) -> Sdk:
        if not has_refkernel(arch) and installed_sdk(arch) is None:
            pytest.skip(f"no seL4 SDK for {arch}, on which refkernel does not run")
        return load_sdk(find_kernel(arch, None, Progress(quiet=True)), arch)

    return find


@pytest.fixture(scope="session")
def shared_folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Makes folders for the session.

    All workers of pytest-xdist share the folders and the runs in them.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if hasattr(request.config, "workerinput") else base

    def make(name: str) -> Path:
        folder = shared / name
        folder.mkdir(exist_ok=True)
        return folder

    return make


@pytest.fixture(scope="session")
def target_of(
    sdk_of: Callable[[str], Sdk], shared_folder: Callable[[str], Path]
) -> Callable[[str], Target]:
    """Returns the target of an architecture. A target boots each system once."""

    @cache
    def make(arch: str) -> Target:
        return Target(sdk_of(arch), shared_folder(f"target-{arch}"), CONFIG_FOLDERS, WITHOUT_TRUTH)

    return make


@pytest.fixture(scope="session")
def on_refkernel(
    target_of: Callable[[str], Target], shared_folder: Callable[[str], Path]
) -> Callable[[str], Target]:
    """Returns the refkernel target of an architecture, whatever other kernels are installed."""

    @cache
    def make(arch: str) -> Target:
        if installed_sdk(arch) is None:
            return target_of(arch)
        sdk = load_sdk(build_refkernel(arch, Progress(quiet=True)), arch)
        return Target(sdk, shared_folder(f"refkernel-{arch}"), CONFIG_FOLDERS, WITHOUT_TRUTH)

    return make


@pytest.fixture(scope="session")
def target_on(
    target_of: Callable[[str], Target],
    on_refkernel: Callable[[str], Target],
    shared_folder: Callable[[str], Path],
) -> Callable[[str], Target]:
    """Returns the target of a kernel: "aarch64", "x86_64-seL4", "x86_64-refkernel", or as --kernel
    names one.
    """

    @cache
    def installed(name: str) -> Target:
        prefix = prefix_of(name)
        sdk = load_sdk(prefix, str(kernel_options(prefix)["SEL4_ARCH"]))
        folder = shared_folder(name.strip("/").replace("/", "-"))
        return Target(sdk, folder, CONFIG_FOLDERS, WITHOUT_TRUTH)

    def find(name: str) -> Target:
        arch, _, kernel = name.partition("-")
        if arch in ARCHES and kernel in ("", "seL4"):
            return target_of(arch)
        return on_refkernel(arch) if kernel == "refkernel" else installed(name)

    return find


@pytest.fixture(scope="session")
def wheel(shared_folder: Callable[[str], Path]) -> Path:
    """The wheel of this checkout."""
    folder = shared_folder("wheel")
    with file_lock(folder.with_suffix(".lock"), Progress(quiet=True)):
        return next(folder.glob("*.whl"), None) or make_wheel(folder)


@pytest.fixture(scope="session")
def boots_on() -> str:
    """The kernel of the tests that boot one: kit/acceptance.py gives others."""
    return DEFAULT


@pytest.fixture(scope="session")
def target(boots_on: str, target_on: Callable[[str], Target]) -> Target:
    """The target of that kernel."""
    return target_on(boots_on)


@pytest.fixture(scope="session")
def sdk(target: Target) -> Sdk:
    """The SDK of that kernel."""
    return target.sdk


@pytest.fixture(scope="session")
def arch(sdk: Sdk) -> str:
    """The architecture of that kernel."""
    return sdk.kernel.arch


@pytest.fixture(scope="module", params=thorough_but([each.name for each in BOARDS], BOARDS[0].name))
def microkit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Microkit:
    (board,) = (each for each in BOARDS if each.name == request.param)
    sdk = prefix_of(f"{board.name}/debug").parents[2]
    return Microkit(sdk, board, sdk).linked(tmp_path_factory.mktemp("programs"), "debug")
