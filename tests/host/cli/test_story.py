# SPDX-License-Identifier: BSD-2-Clause
"""The story on a terminal, and equal lines of it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from cellreap.cli.story import wrapped
from cellreap.runs.folding import folded, in_ranges
from kit.command_line import cellreap
from kit.paths import ROOT
from kit.small_checkout import error_of

TRACE = "tests/data/goldens/block_fs_db_app-0-2.trace"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(columns: int, *arguments: str, **variables: str) -> str:
    """What `cellreap` prints on a terminal of that width."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    ours_alone = ("NO_COLOR", "COLUMNS", "LINES")
    environment = {name: text for name, text in os.environ.items() if name not in ours_alone}
    environment |= {"TERM": "xterm-256color", **variables}
    command = [sys.executable, "-m", "cellreap", *arguments]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=its, stdout=its) as process:
        os.close(its)
        said = b""
        while True:
            try:
                block = os.read(ours, 1 << 16)
            except OSError:  # Linux says so at the end of a terminal
                break
            if not block:
                break
            said += block
    os.close(ours)
    assert process.returncode == 0
    return said.decode().replace("\r\n", "\n")


def piped(*arguments: str) -> str:
    command = [sys.executable, "-m", "cellreap", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True).stdout


@pytest.mark.behaviour("V-02")
@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_story_fits_the_terminal_and_loses_no_word(columns: int) -> None:
    plain = piped("show", TRACE)
    shown = ESCAPE.sub("", on_terminal(columns, "show", TRACE))
    lines = shown.splitlines()
    assert max(map(len, lines)) <= columns
    assert shown.split() == plain.split()
    long = [line for line in plain.splitlines() if len(line) > columns]
    assert bool(long) == (columns < 120)
    for first, *more in (wrapped(line, columns) for line in long):
        assert first in lines
        assert more
        assert all(each in lines and each.startswith("  ") for each in more)


@pytest.mark.behaviour("V-02")
def test_a_story_has_colour_on_a_terminal_unless_it_is_not_wanted() -> None:
    coloured = on_terminal(120, "show", TRACE)
    assert "\x1b[1;31mCrash 1: block_server_1 (PD_1):\x1b[0m page fault" in coloured
    assert re.search(r"\x1b\[1;32mPASS: [^\x1b]*\x1b\[0m\n", coloured)
    assert "\x1b[36mdoomed" in coloured
    for plain in (
        on_terminal(120, "show", TRACE, NO_COLOR="1"),
        on_terminal(120, "show", TRACE, TERM="dumb"),
    ):
        assert not re.search(r"\x1b\[[0-9;]*3[0-9][0-9;]*m", plain)
    assert "\x1b" not in piped("show", TRACE)


def test_a_word_that_is_too_long_stays_whole() -> None:
    path = "/" + "long/" * 30
    assert wrapped(f"kept in {path}", 80) == ["kept in", f"  {path}"]


def test_the_console_is_shown_without_the_trace(tmp_path: Path) -> None:
    trace = tmp_path / "a.trace"
    trace.write_bytes((ROOT / TRACE).read_bytes() + b"client: \x1b[1;31m\x1b[K" + b"1" * 200)
    assert piped("show", str(trace), "--console") == f"client: ?[K{'1' * 200}\n"
    for other in ("--said", "--records", "--json"):
        done = cellreap("show", str(trace), "--console", other)
        assert "prints text of its own, so it does not go with" in error_of(done)


@pytest.mark.behaviour("V-02")
def test_64_equal_lines_are_one() -> None:
    names = {f"PD_{at + 3:x}": f"client_{at}" for at in range(64)} | {"PD_1": "server"}
    rows = [(pd, f": lost goods (THING_SPACE_4), THING_4_{pd[3:]}") for pd in sorted(names)]
    rows.insert(5, ("PD_1", ": is told"))
    assert folded([row for row in rows if row[0] != "PD_1" or "told" in row[1]], names) == [
        "client_0 to client_63 (64): lost goods (THING_SPACE_4), THING_4_*",
        "server (PD_1): is told",
    ]


def test_few_lines_and_different_ones_stay() -> None:
    names = {"PD_1": "a", "PD_2": "b", "PD_3": "b_1", "PD_4": "c"}
    rows = [("PD_1", " waits"), ("PD_2", " waits"), ("PD_3", " runs"), ("PD_4", " ends")]
    assert folded(rows, names) == [
        "a (PD_1) waits",
        "b (PD_2) waits",
        "b_1 (PD_3) runs",
        "c (PD_4) ends",
    ]
    assert folded([(pd, " waits") for pd in names], names) == ["a, b, b_1, c (4) waits"]


def test_what_one_says_again_and_again_is_said_with_its_number() -> None:
    rows = [("PD_1", ": check: ok")] * 61 + [("PD_2", ": check: ok")]
    assert folded(rows, {"PD_1": "a", "PD_2": "b"}) == [
        "a (PD_1): check: ok (61 times)",
        "b (PD_2): check: ok",
    ]


def test_names_that_count_up_are_a_range() -> None:
    assert in_ranges(["c_1", "c_2", "d", "c_7", "c_8", "c_9", "c_11"]) == [
        "c_1",
        "c_2",
        "d",
        "c_7 to c_9",
        "c_11",
    ]
    assert in_ranges(["x", "x", "x"]) == ["x", "x", "x"]


@pytest.mark.behaviour("V-02")
def test_an_audit_folds_depths_of_which_the_same_holds() -> None:
    rows = piped("audit", "configs/block_fs_db_app.toml").splitlines()
    assert [re.split(r"  +", row)[:3] for row in rows[1:6]] == [
        ["0", "0 to inf", "at least 1 PD: PD_1 (block_server_1) or 4 others"],
        ["1", "0 to inf", "possibly 2 PDs: PD_1 (block_server_1) or 3 others"],
        ["2", "0 to inf", "possibly 3 PDs: PD_1 (block_server_1) or 2 others"],
        ["3 to inf", "0 to inf", "possibly 4 PDs: PD_1 (block_server_1) or 1 other"],
        ["as configured", "at least 1 PD: PD_1 (block_server_1) or 4 others", "unknown"],
    ]
