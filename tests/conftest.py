# SPDX-License-Identifier: BSD-2-Clause
"""Options and fixtures that all tests share."""

from __future__ import annotations

import hypothesis
import pytest

pytest_plugins = ["kit.acceptance", "kit.behaviours"]

pytest.register_assert_rewrite("kit")

# No example fails because the machine is busy.
hypothesis.settings.register_profile("cellreap", deadline=None)
hypothesis.settings.load_profile("cellreap")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of this suite."""
    parser.addoption(
        "--thorough",
        action="store_true",
        help="also run the tests that repeat others with many more parameters: about an hour",
    )
    parser.addoption(
        "--exhaustive-seconds",
        type=float,
        default=5.0,
        metavar="N",
        help="processor time for comparing core and reference on larger systems (default: 5)",
    )
    parser.addoption(
        "--crowd-seeds",
        type=int,
        default=1,
        metavar="N",
        help="at how many instants a server with a crowd of clients is brought down (default: 1)",
    )
    parser.addoption(
        "--chaos-seeds",
        type=int,
        default=None,
        metavar="N",
        help="how many random systems with hostile PDs are booted (default: 200 if test_chaos.py "
        "is named, else 1)",
    )
    parser.addoption(
        "--fuzz-messages",
        type=int,
        default=None,
        metavar="N",
        help="how many random messages test_target_fuzz.py sends (default: 20000, with --thorough "
        "100000)",
    )
    parser.addoption(
        "--faults",
        type=int,
        default=12,
        metavar="N",
        help="how many faults test_microkit_faults.py puts into each PD (default: 12)",
    )
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write what tests compare files of this checkout with into those files: "
        "tables in docs",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes a crowd_seed is run for each seed."""
    if "crowd_seed" in metafunc.fixturenames:
        seeds = range(1, int(metafunc.config.getoption("--crowd-seeds")) + 1)
        metafunc.parametrize("crowd_seed", seeds, ids=lambda seed: f"seed{seed}")
    if "chaos_seed" in metafunc.fixturenames:
        count = metafunc.config.getoption("--chaos-seeds")
        if count is None:
            named = any("test_chaos" in argument for argument in metafunc.config.args)
            count = 200 if named else 1
        slow = [
            pytest.param(seed, marks=pytest.mark.slow, id=f"seed{seed}")
            for seed in range(1, int(count) + 1)
        ]
        metafunc.parametrize("chaos_seed", slow)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without `--thorough`, the tests that are marked so are deselected and counted as such.

    Modules with slow tests come first, so that no process ends long before the other ones.
    """
    if not config.getoption("--thorough"):
        left_out = [item for item in items if item.get_closest_marker("thorough")]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether tests that take samples try everything."""
    return bool(request.config.getoption("--thorough"))


@pytest.fixture(scope="session")
def exhaustive_seconds(request: pytest.FixtureRequest) -> float:
    """Seconds for the comparison on all systems of 3 PDs and 3 spaces."""
    return float(request.config.getoption("--exhaustive-seconds"))


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--rewrite"))
