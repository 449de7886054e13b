# SPDX-License-Identifier: BSD-2-Clause
"""Options and fixtures that all tests share."""

from __future__ import annotations

import pytest

from cellreap.sdk import ARCHES

pytest_plugins = ["behaviours"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of this suite."""
    parser.addoption(
        "--exhaustive-seconds",
        type=float,
        default=20.0,
        metavar="N",
        help="how long to compare core and reference on all systems of 3 PDs and 3 spaces (default: 20)",
    )
    parser.addoption(
        "--boot-arch",
        choices=ARCHES,
        default=ARCHES[0],
        help=f"what the tests in tests/boot boot (default: {ARCHES[0]}); those of test_arches.py boot all",
    )


@pytest.fixture(scope="session")
def exhaustive_seconds(request: pytest.FixtureRequest) -> float:
    """Seconds for the comparison on all systems of 3 PDs and 3 spaces."""
    return float(request.config.getoption("--exhaustive-seconds"))
