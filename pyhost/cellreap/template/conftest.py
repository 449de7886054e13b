"""The fixture that the tests use."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellreap.testing import Target, open_target


@pytest.fixture(scope="session")
def systems(tmp_path_factory: pytest.TempPathFactory) -> Target:
    """Builds, boots and checks the systems of this folder. Equal systems are booted once."""
    return open_target(tmp_path_factory.mktemp("runs"), [Path(__file__).parent])
