# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures of the tests that boot. They boot what `cellreap run` would; a wrong SDK makes them fail."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from cellreap.progress import Progress
from cellreap.system.refkernel import build_refkernel, find_kernel
from cellreap.system.sdk import Sdk, installed_sdk, load_sdk
from cellreap.testing import Target
from kit.paths import BOOT_CONFIGS, CONFIGS

CONFIG_FOLDERS = (CONFIGS, BOOT_CONFIGS)


@pytest.fixture(scope="session")
def sdk_of() -> Callable[[str], Sdk]:
    """The SDK that `cellreap run` would take for an architecture: an installed seL4's, else refkernel's."""

    def find(arch: str) -> Sdk:
        return load_sdk(find_kernel(arch, None, Progress(quiet=True)), arch)

    return find


@pytest.fixture(scope="session")
def target_of(
    sdk_of: Callable[[str], Sdk], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Target]:
    """What boots systems of an architecture, each once. Workers of pytest-xdist share folders, and runs."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    made: dict[str, Target] = {}

    def make(arch: str) -> Target:
        if arch not in made:
            folder = shared / f"target-{arch}"
            folder.mkdir(exist_ok=True)
            made[arch] = Target(sdk_of(arch), folder, CONFIG_FOLDERS)
        return made[arch]

    return make


@pytest.fixture(scope="session")
def on_refkernel(
    target_of: Callable[[str], Target], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Target]:
    """What boots systems of an architecture on refkernel, whatever else is installed."""
    made: dict[str, Target] = {}

    def make(arch: str) -> Target:
        if installed_sdk(arch) is None:
            return target_of(arch)
        if arch not in made:
            sdk = load_sdk(build_refkernel(arch, Progress(quiet=True)), arch)
            made[arch] = Target(sdk, tmp_path_factory.mktemp(f"refkernel-{arch}"), CONFIG_FOLDERS)
        return made[arch]

    return make


@pytest.fixture(scope="session")
def arch(request: pytest.FixtureRequest) -> str:
    """What the tests boot that boot one architecture: --boot-arch."""
    return str(request.config.getoption("--boot-arch"))


@pytest.fixture(scope="session")
def sdk(arch: str, sdk_of: Callable[[str], Sdk]) -> Sdk:
    """Its SDK."""
    return sdk_of(arch)


@pytest.fixture(scope="session")
def target(arch: str, target_of: Callable[[str], Target]) -> Target:
    """What boots it."""
    return target_of(arch)
