# SPDX-License-Identifier: BSD-2-Clause
"""The demo, the benchmark and the matrix of behaviours: their output is true and complete."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench import Planned, grown, plan_costs
from cellreap.headers import source_root
from demo import DEPTHS
from kit.acceptance import ROWS, table
from kit.behaviours import known_behaviours, matrix
from kit.paths import TESTS

SUITE = """
import pytest

@pytest.mark.behaviour("C-04", "C-05")
@pytest.mark.parametrize("n", [1, 2])
def test_good(n):
    pass

@pytest.mark.behaviour("C-05")
def test_bad():
    assert False

@pytest.mark.behaviour("C-06")
def test_left_out():
    pytest.skip("not today")

@pytest.fixture
def broken():
    raise OSError

@pytest.mark.behaviour("C-07")
def test_broken(broken):
    pass

def test_without():
    pass
"""


def run_suite(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs pytest with the plugin on a test suite made for it."""
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = behaviour(*ids)\n")
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "kit.behaviours",
            "-p",
            "no:cacheprovider",
            *arguments,
        ],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(TESTS), str(source_root() / "pyhost"))),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.mark.parametrize(
    "more",
    [
        pytest.param((), id="one"),
        pytest.param(("-n", "2"), id="xdist", marks=[pytest.mark.slow, pytest.mark.thorough]),
    ],
)
def test_the_matrix_has_one_line_an_id_with_its_verdict(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    """Each id of the list gets one line, whichever process ran its tests.

    The closing line stays the last.
    """
    done = run_suite(tmp_path, SUITE, "--matrix", *more)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    rows = [line.split() for line in lines]
    by_id = {row[0]: row[1:] for row in rows if row and row[0] in known_behaviours()}
    assert list(by_id) == list(known_behaviours())
    assert by_id["C-04"] == ["pass", "test_it.py::test_good", "(2)"]
    assert by_id["C-05"] == ["fail", "test_it.py::test_bad", "test_it.py::test_good", "(2)"]
    assert by_id["C-06"] == ["skip", "test_it.py::test_left_out"]
    assert by_id["C-07"] == ["fail", "test_it.py::test_broken"]
    assert by_id["C-08"] == ["none"]
    assert f"1 pass, 2 fail, 1 skip, {len(by_id) - 4} none" in lines
    assert " passed" in lines[-1]
    assert " failed" in lines[-1]


@pytest.mark.slow
def test_behaviours_select_tests(tmp_path: Path) -> None:
    """Only tests with one of the ids run."""
    done = run_suite(tmp_path, SUITE, "--behaviours", "C-04, C-06", "-v")
    assert done.returncode == 0
    assert "2 passed, 1 skipped, 3 deselected" in done.stdout.splitlines()[-1]


@pytest.mark.slow
def test_unknown_behaviours_are_errors(tmp_path: Path) -> None:
    """A misspelt id selects nothing and proves nothing, so it must be an error."""
    done = run_suite(tmp_path, SUITE, "--behaviours", "C-4")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "'C-4'" in done.stderr
    done = run_suite(tmp_path, SUITE.replace("C-06", "C-666"))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "behaviour 'C-666' is not in behaviours.tsv" in done.stdout + done.stderr


def test_the_list_of_behaviours_is_well_formed() -> None:
    """Every row has its own id and its own text."""
    rows = [line.split("\t") for line in (TESTS / "data/behaviours.tsv").read_text().splitlines()]
    assert rows[0] == ["id", "side", "due", "text"]
    assert {len(row) for row in rows} == {4}
    assert len({row[0] for row in rows}) == len(rows)
    assert len({row[3] for row in rows}) == len(rows)
    assert {row[1] for row in rows[1:]} == {"C", "Py", "C+Py"}
    assert {row[2] for row in rows[1:]} == {"now", "later"}
    assert matrix([])[-1] == f"0 pass, 0 fail, 0 skip, {len(rows) - 1} none"


def test_the_acceptance_has_one_line_a_kernel_and_row() -> None:
    said = [("a", "faults", "passed"), ("b", "hung", "skipped"), ("a", "faults", "failed")]
    reports = [
        pytest.TestReport(
            "test_it.py::test_it",
            ("test_it.py", 1, "test_it"),
            {},
            outcome,  # type: ignore[arg-type]
            ("test_it.py", 1, "Skipped: no timer") if outcome == "skipped" else None,
            "call",
            user_properties=[("acceptance", (kernel, row))],
        )
        for kernel, row, outcome in (*said, said[1])
    ]
    found = [line for line in table(reports) if not line.endswith(": not run")]
    assert found == [
        "a: all kinds of faults: failed (1 failed, 1 passed)",
        "b: a crowd whose server hangs: skipped (2 skipped): no timer",
    ]
    assert len(table(reports)) == 2 * len(ROWS)


@pytest.mark.slow
def test_the_acceptance_of_a_kernel_that_is_not_there_says_so() -> None:
    test = "tests/boot/test_target_depths.py::test_the_smallest_cleanup_takes_seven_kernel_calls"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test),
            *("--acceptance", "--kernel", "none-mcs", "--kernel", "/nowhere"),
        ],
        cwd=source_root(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout
    for name, what in (
        ("none-mcs", "MCS kernel: /"),
        ("/nowhere", "kernel: /nowhere is not there"),
    ):
        row = f"{name}: {ROWS['depths']}: skipped (1 skipped): no {what}"
        assert any(line.startswith(row) for line in done.stdout.splitlines())


@pytest.mark.slow
def test_the_demo_without_the_sdk_that_is_named_says_first_and_last_that_nothing_was_booted(
    tmp_path: Path,
) -> None:
    """The demo then shows plans on which core and reference agree."""
    env = {
        name: value for name, value in os.environ.items() if not name.startswith("CELLREAP_SDK_")
    }
    done = subprocess.run(
        [sys.executable, str(source_root() / "tools" / "lib" / "demo.py")],
        cwd=tmp_path,
        env={
            **env,
            "HOME": str(tmp_path),
            "CELLREAP_SDK_X86_64": str(tmp_path / "gone"),
            "CELLREAP_SDK_AARCH64": str(tmp_path / "gone"),
            "PYTHONPATH": str(source_root() / "pyhost"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert lines[0] == "COULD NOT BOOT: no seL4 SDK is installed."
    assert lines[-1].startswith("COULD NOT BOOT: no seL4 SDK.")
    assert f"CELLREAP_SDK_X86_64={tmp_path}/gone: no such directory" in done.stdout
    assert sum(line.endswith("agree") for line in lines) == len(DEPTHS)
    assert "DIFFER" not in done.stdout


def test_planning_looks_at_as_much_in_a_large_system_as_in_a_small_one() -> None:
    """A client, and a server with its clients, among 10 PDs and among 20,000."""
    costs = plan_costs((10, 20_000))
    assert grown(costs) == []
    assert {cost.doomed for cost in costs} == {1, 6}
    assert all(cost.touched_nodes > 0 and cost.touched_edges > 0 for cost in costs)


def test_growing_costs_are_reported() -> None:
    """One more edge in a larger system counts as growth."""
    small = Planned("star", "a client", 10, 21, 38, 1, 24, 4, 1.0)
    large = dataclasses.replace(small, pds=1000, touched_edges=5)
    assert grown([small, large]) == ["star: a client: 1000 PDs"]


SCRIPTS = sorted(path for path in (source_root() / "tools").iterdir() if path.is_file())


@pytest.mark.parametrize("tool", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_executable_and_parse(tool: Path) -> None:
    """A syntax error in a seldom used branch shows here."""
    assert os.access(tool, os.X_OK)
    assert subprocess.run(["bash", "-n", str(tool)], check=False).returncode == 0


def test_a_long_step_of_setup_says_that_it_still_runs(tmp_path: Path) -> None:
    """The step goes on until its sign has been read. What it prints goes where it is sent."""
    os.mkfifo(tmp_path / "go")
    script = (
        "set -euo pipefail\nsource tools/lib/signs.sh\n"
        'if ! with_signs pip bash -c \'read -r line <"$0"; echo "$line"; exit 3\' "$1" '
        '>"$2" 2>&1; then echo "failed"; fi'
    )
    with subprocess.Popen(
        ["bash", "-c", script, "setup", tmp_path / "go", tmp_path / "log"],
        cwd=source_root(),
        env={**os.environ, "SIGNS_EVERY": "0.05"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as setup:
        assert setup.stderr is not None
        told = setup.stderr.readline()
        (tmp_path / "go").write_text("installed\n")  # else it goes on for ever
        out, _ = setup.communicate(timeout=60)
    assert re.fullmatch("setup: pip: [0-9]+ s so far\n", told)
    assert (setup.returncode, out) == (0, "failed\n")
    assert (tmp_path / "log").read_text() == "installed\n"


def test_setup_takes_no_arguments() -> None:
    """It refuses before it does anything."""
    done = subprocess.run(
        [str(source_root() / "tools/setup"), "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    words = "--proof, --boards, --browser, --jobboards or no arguments"
    assert done.stderr == f"setup: expected {words}, got: --help\n"
