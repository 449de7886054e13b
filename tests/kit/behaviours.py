# SPDX-License-Identifier: BSD-2-Clause
"""Which tests prove which behaviours: a pytest plugin of this suite, loaded by conftest.py.

`tests/data/behaviours.tsv` lists what the system does, one row for each id. A test names the ids
that it proves with `@pytest.mark.behaviour("C-04", "C-05")`. An id that is not in the list ends the
collection.

--behaviours C-19,N-11   runs only the tests that carry one of these ids
--matrix                 prints one line for each id after the run: id, verdict, tests

The verdicts are pass, fail, skip and none. An id passes if one of its tests passed and none failed.
Boot tests run after the host tests.
"""

from __future__ import annotations

import csv
from collections import Counter
from typing import Final

import pytest

from kit.paths import DATA, TESTS

_LIST: Final = DATA / "behaviours.tsv"
_PROPERTY: Final = "behaviours"
_BOOT_FOLDER: Final = "boot"


def known_behaviours() -> dict[str, str]:
    """id -> text, in the order of the list."""
    with _LIST.open(newline="", encoding="utf-8") as file:
        return {
            row["id"]: row["text"]
            for row in csv.DictReader(file, dialect="excel-tab", quoting=csv.QUOTE_NONE)
        }


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of this plugin."""
    group = parser.getgroup("behaviours")
    group.addoption(
        "--behaviours", metavar="IDS", help="run only tests that carry one of these ids: C-19,N-11"
    )
    group.addoption(
        "--matrix", action="store_true", help="print one line for each behaviour after the run"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Reads the options."""
    wanted = config.getoption("--behaviours")
    if wanted is None:
        return
    known = known_behaviours()
    ids = [name.strip() for name in wanted.split(",")]
    for name in ids:
        if name not in known:
            raise pytest.UsageError(
                f"--behaviours: '{name}', expected ids of {_LIST.name} such as C-04,N-11"
            )
    config.stash[_WANTED] = frozenset(ids)


_WANTED: Final = pytest.StashKey[frozenset[str]]()


def behaviours_of(item: pytest.Item, known: dict[str, str]) -> list[str]:
    """The ids that a test carries: its own and those of its class and module."""
    found: dict[str, None] = {}
    for mark in item.iter_markers("behaviour"):
        if not mark.args or mark.kwargs:
            raise pytest.UsageError(f"{item.nodeid}: behaviour() takes one or more ids")
        for name in mark.args:
            if name not in known:
                raise pytest.UsageError(f"{item.nodeid}: behaviour '{name}' is not in {_LIST.name}")
            found[name] = None
    return list(found)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Selects by behaviour and puts boot tests last."""
    known = known_behaviours()
    wanted = config.stash.get(_WANTED, None)
    carried = {item: behaviours_of(item, known) for item in items}
    if wanted is not None:
        config.hook.pytest_deselected(
            items=[item for item in items if not wanted.intersection(carried[item])]
        )
        items[:] = [item for item in items if wanted.intersection(carried[item])]
    items.sort(key=_is_boot)  # stable
    for item in items:
        item.user_properties.append((_PROPERTY, carried[item]))


def _is_boot(item: pytest.Item) -> bool:
    return item.path.is_relative_to(TESTS / _BOOT_FOLDER)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Prints the matrix, and the checks that failed before the tests."""
    if config.getoption("--matrix"):
        terminalreporter.section("behaviours")
        for line in matrix(_reports(terminalreporter)):
            terminalreporter.write_line(line)


def _reports(reporter: pytest.TerminalReporter) -> list[pytest.TestReport]:
    kinds = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
    found = (report for kind in kinds for report in reporter.stats.get(kind, []))
    return [report for report in found if isinstance(report, pytest.TestReport)]


def matrix(reports: list[pytest.TestReport]) -> list[str]:
    """One line for each id: its tests without their parameters, each with the number of its cases.

    A last line counts the verdicts.
    """
    known = known_behaviours()
    outcomes: dict[str, set[str]] = {name: set() for name in known}
    tests: dict[str, Counter[str]] = {name: Counter() for name in known}
    for report in reports:
        carried = dict(report.user_properties).get(_PROPERTY, [])
        assert isinstance(carried, list)
        for name in carried:
            outcomes[name].add(report.outcome)
            tests[name][report.nodeid.partition("[")[0].removeprefix("tests/")] += 1
    verdicts: Counter[str] = Counter()
    lines = []
    for name in known:
        verdict = next((said for outcome, said in _VERDICTS if outcome in outcomes[name]), "none")
        verdicts[verdict] += 1
        shown = (
            f"{test} ({count})" if count > 1 else test
            for test, count in sorted(tests[name].items())
        )
        lines.append(f"{name} {verdict} {' '.join(shown)}".rstrip())
    lines.append(", ".join(f"{verdicts[said]} {said}" for said in ("pass", "fail", "skip", "none")))
    return lines


# The first verdict that applies.
_VERDICTS: Final = (("failed", "fail"), ("passed", "pass"), ("skipped", "skip"))
