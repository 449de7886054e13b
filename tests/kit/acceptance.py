# SPDX-License-Identifier: BSD-2-Clause
"""On which kernels boot tests run, and what a kernel must pass: a pytest plugin of this suite.

--kernel NAME   boot tests boot this kernel: an architecture (the kernel that `cellreap run` boots),
                the folder of an installed SDK such as aarch64-mcs, BOARD/CONFIGURATION of the SDK
                of Microkit that CELLREAP_MICROKIT_SDK names, or the path of an SDK. May be repeated
--acceptance    runs what a kernel must pass, also what is thorough, with 20 crowds, and prints a
                line for each kernel and row

Without --kernel, tests run on the kernels that their mark `kernels` names, else on x86_64. A row of
the acceptance has the tests that carry its mark, `@pytest.mark.acceptance("depths")`, and boot the
one kernel of `target`.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

ROWS: Final = {
    "depths": "the scenario at ten depths",
    "faults": "all kinds of faults",
    "killed": "a crowd whose server is killed",
    "hung": "a crowd whose server hangs",
    "hostile": "hostile PDs",
    "respawns": "1,000 respawns",
    "drivers": "drivers that die",
    "truth": "the kernel's word",
}
CROWDS: Final = 20
DEFAULT: Final = "x86_64"
_FIXTURE: Final = "boots_on"
_PROPERTY: Final = "acceptance"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of this plugin."""
    group = parser.getgroup("kernels")
    group.addoption(
        "--kernel",
        action="append",
        default=[],
        metavar="NAME",
        help=f"what boot tests boot (default: {DEFAULT}); may be repeated",
    )
    group.addoption(
        "--acceptance", action="store_true", help="run only what each kernel must pass, all of it"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marks. The acceptance is thorough, and has many crowds."""
    config.addinivalue_line("markers", "kernels(*names): boots these kernels, without --kernel")
    config.addinivalue_line("markers", "acceptance(row): every kernel must pass it")
    if config.getoption("--acceptance"):
        config.option.thorough = True
        config.option.crowd_seeds = max(config.option.crowd_seeds, CROWDS)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that boots one kernel is run for each."""
    if _FIXTURE not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker("kernels")
    names = metafunc.config.getoption("--kernel") or (mark.args if mark else ())
    # Without a parameter, a test has the kernel of the test before it.
    default = pytest.param(DEFAULT, id=pytest.HIDDEN_PARAM)
    metafunc.parametrize(_FIXTURE, names or [default], scope="session")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Selects the acceptance. What of it boots a kernel with MCS proves B-01."""
    left_out = set(items)
    for item in items:
        mark = item.get_closest_marker("acceptance")
        if isinstance(item, pytest.Function) and mark and _FIXTURE in item.fixturenames:
            kernel = item.callspec.params.get(_FIXTURE) if hasattr(item, "callspec") else None
            item.user_properties.append((_PROPERTY, (kernel or DEFAULT, *mark.args)))
            left_out.remove(item)
            if "-mcs" in str(kernel):
                item.add_marker(pytest.mark.behaviour("B-01"))
    if config.getoption("--acceptance"):
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Prints the rows."""
    if config.getoption("--acceptance"):
        terminalreporter.section("acceptance")
        stats = terminalreporter.stats.values()
        found = [each for of in stats for each in of if isinstance(each, pytest.TestReport)]
        for line in table(found):
            terminalreporter.write_line(line)


def table(reports: list[pytest.TestReport]) -> list[str]:
    """A line for each kernel and row: its verdict, the numbers of tests, and why they skip."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for report in reports:
        said = dict(report.user_properties).get(_PROPERTY)
        if not isinstance(said, (list, tuple)) or (report.passed and report.when != "call"):
            continue
        kernel, row = map(str, said)
        counts.setdefault((kernel, row), Counter())[report.outcome] += 1
        if report.skipped and isinstance(report.longrepr, tuple):
            why = report.longrepr[2].removeprefix("Skipped: ")
            reasons.setdefault((kernel, row), {})[why] = None
    lines = []
    for kernel in dict.fromkeys(kernel for kernel, _ in counts):
        for row, text in ROWS.items():
            found = counts.get((kernel, row), Counter())
            verdicts = ("failed", "passed", "skipped")
            verdict = next((each for each in verdicts if found[each]), "not run")
            numbers = ", ".join(f"{found[each]} {each}" for each in verdicts if found[each])
            why = "; ".join(reasons.get((kernel, row), {}))
            line = f"{kernel}: {text}: {verdict}"
            lines.append(line + f" ({numbers})" * bool(numbers) + f": {why}" * bool(why))
    return lines
