# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures of the tests that boot. Without an seL4 SDK they are skipped; with a wrong one they fail."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from target import Target

from cellreap.errors import UsageError
from cellreap.sdk import Sdk, find_sdk, load_sdk


@pytest.fixture(scope="session")
def sdk_of() -> Callable[[str], Sdk]:
    """The SDK that `cellreap run` would take for an architecture; where there is none the test is skipped."""

    def find(arch: str) -> Sdk:
        try:
            root = find_sdk(arch)
        except UsageError as error:
            if not str(error).startswith("no seL4 SDK"):
                raise  # one is named, and is not there
            pytest.skip(f"no seL4 SDK ({arch})")
        return load_sdk(root, arch)

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
            made[arch] = Target(sdk_of(arch), folder)
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
