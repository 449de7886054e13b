# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures of the tests that boot. Without an seL4 SDK they are skipped; with a wrong one they fail."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from target import Target

from cellreap.errors import UsageError
from cellreap.sdk import Sdk, find_sdk, load_sdk


@pytest.fixture(scope="session")
def sdk() -> Sdk:
    """The SDK that `cellreap run` would take."""
    try:
        root = find_sdk("x86_64")
    except UsageError as error:
        if not str(error).startswith("no seL4 SDK"):
            raise  # one is named, and is not there
        pytest.skip("no seL4 SDK")
    return load_sdk(root, "x86_64")


@pytest.fixture(scope="session")
def target(sdk: Sdk, tmp_path_factory: pytest.TempPathFactory) -> Target:
    """What boots systems, each once. Workers of pytest-xdist share the folder, and with it the runs."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "target"
    folder.mkdir(exist_ok=True)
    return Target(sdk, Path(folder))
