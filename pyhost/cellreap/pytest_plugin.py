# SPDX-License-Identifier: BSD-2-Clause
"""The pytest plugin: tests that boot systems.

::

    def test_server_crash(cellreap):
        run = cellreap.run("my.toml", crash="server")
        assert run.passed
        assert run.alive == {"client"}

    def test_no_crash_goes_far(cellreap):
        cellreap.audit("my.toml", max_destroyed=2)

It does nothing unless a test takes the fixture `cellreap`. The configuration's path is relative to
the test's file. `@pytest.mark.cellreap(...)` says where and how the test's systems run; lists
repeat the test::

    @pytest.mark.cellreap(arch=["x86_64", "aarch64"], pd_depth=[0, 1, "inf"])

Keys: `arch`, `kernel` ("seL4", "refkernel" or the path of an SDK), `pd_depth`, `rs_depth`, `mode`.
A failed test's report has the story of each run, the end of its console, and the paths of image and
trace. With --junitxml the paths are properties of the test.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

if TYPE_CHECKING:
    from cellreap.testing.systems import SystemRun, Systems

MARKER: Final = "cellreap"
KEYS: Final = ("arch", "kernel", "pd_depth", "rs_depth", "mode")
_RUNS: Final = pytest.StashKey[list["SystemRun"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The defaults of all tests that boot systems."""
    group = parser.getgroup("cellreap", "systems that cellreap boots")
    group.addoption(
        "--cellreap-arch",
        metavar="ARCH",
        help="architecture of tests that name none (default: x86_64)",
    )
    group.addoption(
        "--cellreap-kernel",
        metavar="KERNEL",
        help="kernel of tests that name none: seL4, refkernel or the path of an SDK (default: "
        "seL4 if it is installed, else refkernel)",
    )
    group.addoption(
        "--cellreap-keep",
        metavar="DIR",
        help="copy image and trace of the runs of failed tests into this directory",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Names the marker."""
    text = f"{MARKER}({', '.join(f'{key}=' for key in KEYS)}): where and how systems run"
    config.addinivalue_line("markers", text)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeats a test for each combination of what its marker lists."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None or "cellreap" not in metafunc.fixturenames:
        return
    wrong = [*map(str, marker.args), *(key for key in marker.kwargs if key not in KEYS)]
    if wrong:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: @pytest.mark.{MARKER}: {wrong[0]}: expected one of "
            f"{', '.join(KEYS)}"
        )
    lists = {key: _listed(value) for key, value in marker.kwargs.items()}
    empty = [key for key, values in lists.items() if not values]
    if empty:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid}: @pytest.mark.{MARKER}: {empty[0]}: expected a value or "
            "a list of at least one"
        )
    chosen = [
        dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())
    ]
    ids = [
        "-".join(
            f"{key}={each[key]}" if key.endswith("depth") else Path(str(each[key])).name
            for key in each
            if len(lists[key]) > 1
        )
        for each in chosen
    ]
    if len(chosen) > 1:
        metafunc.parametrize("cellreap", chosen, indirect=True, ids=ids)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else [value]


def _chosen(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """What the marker says for this repetition of the test."""
    repetition: Mapping[str, Any] | None = getattr(request, "param", None)
    if repetition is not None:
        return repetition
    marker = request.node.get_closest_marker(MARKER)
    given = {} if marker is None else marker.kwargs
    return {key: _listed(value)[0] for key, value in given.items()}


@pytest.fixture
def cellreap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Systems:
    """Boots systems: `cellreap.run("my.toml")`. Equal systems are booted once in a session."""
    from cellreap.testing.systems import Systems

    base = tmp_path_factory.getbasetemp()
    # Not by its environment, which the processes that a worker starts inherit.
    shared = base.parent if hasattr(request.config, "workerinput") else base
    option = request.config.getoption
    chosen = _chosen(request)
    runs = request.node.stash.setdefault(_RUNS, [])

    def note(run: SystemRun) -> None:
        runs.append(run)
        for what, path in (("trace", run.trace), ("image", run.image)):
            request.node.user_properties.append((f"cellreap_{what}", str(path)))

    return Systems(
        home=Path(request.path).parent,
        folder=shared / "cellreap",
        arch=chosen.get("arch") or option("--cellreap-arch"),
        kernel=chosen.get("kernel") or option("--cellreap-kernel"),
        defaults={key: chosen[key] for key in KEYS[2:] if key in chosen},
        note=note,
        fail=_fail,
        skip=pytest.skip,
    )


def _fail(text: str) -> NoReturn:
    """Fails the test with a text alone: the exception that led to it would only repeat it."""
    raise pytest.fail.Exception(text, pytrace=False) from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attaches the runs of a failed test to its report."""
    report = yield
    runs = item.stash.get(_RUNS, [])
    if report.when == "call" and report.failed:
        keep = item.config.getoption("--cellreap-keep")
        for run in runs:
            kept: Sequence[object] = [run.image, run.trace]
            try:
                kept = run.keep(Path(keep)) if keep else kept
            except OSError as error:
                kept = [*kept, f"--cellreap-keep {keep}: cannot be written: {error.strerror}"]
            report.sections += [
                (f"cellreap: {run}", run.story),
                (f"end of the console of {run}", run.console_end()),
                (f"evidence of {run}", "\n".join(map(str, kept))),
            ]
    return report
