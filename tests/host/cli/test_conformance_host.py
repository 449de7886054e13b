# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap conformance` without a kernel: how it judges a console.

A script serves as the emulator.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cellreap.cli.conformance_cmd import Conformance, read_console
from cellreap.runs.boot import Boot, End
from kit.small_checkout import CMAKE, NEEDS_TOOLCHAIN, Bench, error_of

pytestmark = NEEDS_TOOLCHAIN

COMPLETE = Boot(End.COMPLETE, 1.0, 100, 0, "")
# As a debug kernel prints it: its own messages in between, carriage returns, empty lines.
CONSOLE = """\
Booting all finished, dropped to user space\r
\r
conformance: one: ok\r
<<seL4(CPU 0) [decodeInvocation/643 T0xff "of: 'rootserver'" @4054a1]: A null cap #1.>>\r
Caught cap fault in send phase at address 0\r
in thread 0xffffff8000400c00 "child of: 'rootserver'" at address 0x4041d6\r
\r
conformance: two: ok\r
\r
conformance: 2 checks, 0 failed\r
"""


def read(console: str, boot: Boot = COMPLETE) -> Conformance:
    return read_console(console.encode(), boot)


def test_results_are_read_from_between_the_kernels_own_messages() -> None:
    result = read(CONSOLE)
    assert result.lines == (
        "conformance: one: ok",
        "conformance: two: ok",
        "conformance: 2 checks, 0 failed",
    )
    assert result.passed
    assert result.complaints == ()


WITHOUT = CONSOLE.replace("two: ok", "two: not on this kernel").replace(
    "2 checks, 0 failed", "1 checks, 0 failed, 1 not on this kernel"
)


def test_what_a_kernel_has_not_is_neither_ok_nor_failed() -> None:
    result = read(WITHOUT)
    assert result.passed
    assert result.complaints == ()
    assert [(check.made, check.ok, check.failed) for check in result.checks] == [
        (True, True, False),
        (False, False, False),
    ]
    assert result.lines[1:] == (
        "conformance: two: not on this kernel",
        "conformance: 1 checks, 0 failed, 1 not on this kernel",
    )


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (", 1 not on this kernel", "", "1 checks, 0 failed, says the last line"),
        (", 1 not on this kernel", ", 2 not on this kernel", "0 failed, 1 not on this kernel"),
        (
            "two: not on this kernel",
            "two: ok",
            "2 are on the console, 0 failed, 0 not on this kernel",
        ),
        ("one: ok", "one: not on this kernel", "no check was made"),
    ],
)
def test_what_is_left_out_is_counted(old: str, new: str, complaint: str) -> None:
    assert old in WITHOUT
    result = read(WITHOUT.replace(old, new))
    assert not result.passed
    assert any(complaint in found for found in result.complaints), result.complaints


def test_a_failed_check_fails_the_run_and_says_what_it_got() -> None:
    bad = "FAILED (got 0x3, expected 0x0, assertion 2)"
    result = read(CONSOLE.replace("two: ok", f"two: {bad}").replace("0 failed", "1 failed"))
    assert not result.passed
    assert result.complaints == ()
    assert [(check.name, check.ok) for check in result.checks] == [("one", True), ("two", False)]
    assert result.lines[1] == f"conformance: two: {bad}"
    assert result.checks[1].detail == "got 0x3, expected 0x0, assertion 2"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "conformance: one: ok\r\n",
            "",
            "2 checks, 0 failed, says the last line: 1 are on the console, 0 failed",
        ),
        ("two: ok", "two: FAILED (got 0x1, expected 0x0, assertion 1)", "1 failed"),
        ("two: ok", "one: ok", "two checks have the name one"),
        ("two: ok", "two: okay", "1 are on the console"),
        ("2 checks, 0 failed", "2 checks, 1 failed", "2 checks, 1 failed, says the last line"),
    ],
)
def test_a_console_that_contradicts_itself_does_not_pass(
    old: str, new: str, complaint: str
) -> None:
    assert old in CONSOLE
    result = read(CONSOLE.replace(old, new))
    assert not result.passed
    assert any(complaint in found for found in result.complaints), result.complaints


def test_a_run_that_stops_early_names_the_last_check() -> None:
    result = read(
        CONSOLE.split("conformance: two")[0],
        Boot(End.SILENT, 20.0, 100, 0, "nothing came for 20 s"),
    )
    assert not result.passed
    assert result.summary is None
    assert result.complaints == (
        "the checks did not come to their end, after one: the run was ended: nothing came for 20 s",
    )


def test_no_checks_at_all_do_not_pass() -> None:
    assert not read("conformance: 0 checks, 0 failed\n").passed


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path, tmp_path / "cache")
    own = (
        "add_executable(conformance main.c)\n"
        "set_target_properties(conformance PROPERTIES SUFFIX .elf)\n"
    )
    own += (
        "target_link_options(conformance PRIVATE -static -nostdlib -no-pie "
        "-Wl,-z,max-page-size=4096)\n"
    )
    (tmp_path / "checkout" / "roottask" / "CMakeLists.txt").write_text(CMAKE + own)
    return made


@pytest.mark.slow
def test_the_command_tells_by_its_exit_code_and_the_run_ends_with_the_summary(bench: Bench) -> None:
    bench.emulator(CONSOLE)
    done = bench.cellreap("conformance", "-o", "kept")
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    assert lines == [*read(CONSOLE).lines]
    assert last.startswith("pass: seL4 16.0.0+ (x86_64), ")
    assert (bench.folder / "kept").read_bytes() == CONSOLE.encode()
    bench.emulator(CONSOLE.replace("one: ok", "one: FAILED (got 0x1, expected 0x0, assertion 1)"))
    done = bench.cellreap("conformance", "--json")
    assert done.returncode == 1
    shown = json.loads(done.stdout)
    assert shown["verdict"] == "fail"
    assert shown["kernel"]["version"] == "16.0.0+"
    assert shown["checks"][0] == {
        "name": "one",
        "made": True,
        "ok": False,
        "detail": "got 0x1, expected 0x0, assertion 1",
    }
    assert shown["complaints"]


def test_the_root_tasks_own_fault_ends_the_run(bench: Bench) -> None:
    bench.emulator(
        CONSOLE.split("conformance: two")[0] + 'in thread 0x1 "rootserver" at address 0x2\n'
    )
    done = bench.cellreap("conformance")
    assert done.returncode == 1
    assert "the checks did not come to their end, after one: " in done.stdout


@pytest.mark.slow
def test_a_bad_sdk_or_file_is_one_line(bench: Bench) -> None:
    bench.emulator(CONSOLE)
    assert "no such directory" in error_of(bench.cellreap("conformance", "--sdk", "nowhere"))
    assert "cannot be written" in error_of(bench.cellreap("conformance", "-o", "no/folder"))
