# SPDX-License-Identifier: BSD-2-Clause
"""Lines on the console that look like trace lines and are not the root task's."""

from __future__ import annotations

import io
import re
import zlib

import pytest

from cellreap.cli.check_cmd import summary
from cellreap.errors import InputError
from cellreap.runs.console import Console
from cellreap.runs.expectation import expected_by
from cellreap.runs.follow import Follower
from cellreap.runs.summary import tell
from cellreap.trace import frames
from cellreap.trace.check import check_stream
from cellreap.trace.explain import Explain
from cellreap.trace.lines import Lines
from cellreap.trace.reading import read_trace
from cellreap.trace.report import Report, report_json
from cellreap.trace.writer import seal
from kit.paths import ROOT
from kit.records import line_of
from kit.simulated_runs import rich_run

MARK = frames.MARK.decode()
KEY = bytes(range(200, 216))
"""The key of the traces here."""
OTHER_KEY = bytes(range(16))
"""A key that a PD may choose for what it prints."""


def trace(key: bytes = KEY) -> list[str]:
    """The lines of a run with that key."""
    (name, head), *rest = rich_run()
    return seal([(name, {**head, "key": key.hex()}), *rest])


def report_on(lines: list[str]) -> Report:
    return check_stream(io.BytesIO("".join(f"{line}\n" for line in lines).encode()), "log")


def line(seq: int, text: str, key: bytes | None) -> str:
    """A trace line. key: None: with a CRC-32, which everybody can compute."""
    keyed = line_of(seq, text, key or OTHER_KEY)
    if key is not None:
        return keyed
    raw = keyed[len(MARK) : -frames.SUM_DIGITS]
    return MARK + raw + frames.digits(zlib.crc32(raw.encode()), frames.SUM_DIGITS).decode()


MIDDLE = 40
"""The place of a foreign line. The event of that number follows it."""

FOREIGN = {
    "other key": [line(MIDDLE, "SAY pd=PD_1 text=x", OTHER_KEY)],
    "crc": [line(MIDDLE, "SAY pd=PD_1 text=x", None)],
    "end": [line(MIDDLE, f"END count={MIDDLE + 1} digest=00000000", OTHER_KEY)],
    "crash": [line(MIDDLE, "FAULT pd=PD_1 kind=vm-fault address=0x0 ip=0x0", OTHER_KEY)],
    "garbage": ["~:good morning", "~:", "~:XX1", "~:XX10123456", "~:XX1X]Jgl"],
    "far away": [line(10**18, "SAY pd=PD_1 text=x", OTHER_KEY)],
    "earlier number": [line(2, "SAY pd=PD_1 text=x", OTHER_KEY)],
    "whole trace": trace(OTHER_KEY),
    "many": [line(MIDDLE, "SAY pd=PD_1 text=x", OTHER_KEY)] * 5000,
}


@pytest.mark.behaviour("J-15")
@pytest.mark.parametrize("printed", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("place", ["middle", "end"])
def test_foreign_lines_are_counted_and_change_nothing(printed: list[str], place: str) -> None:
    lines = trace()
    at = MIDDLE if place == "middle" else len(lines)
    plain = report_json(report_on(lines))
    report = report_on([*lines[:at], *printed, *lines[at:]])
    assert report.foreign_lines == len(printed)
    assert report_json(report) == {**plain, "foreign_lines": len(printed)}
    assert plain["verdict"] == "pass"


@pytest.mark.behaviour("J-15")
@pytest.mark.parametrize(
    "fragment",
    [
        "~:",
        "~:XX",
        "~:XX1",
        "~:XX1X]glPD_1 gl",
        line(MIDDLE, "SAY pd=PD_1 text=x", OTHER_KEY) + " ",
        "~:" * 10_000,
        "~:" + "x" * 200_000,
        "~",
    ],
    ids=lambda fragment: fragment[:40],
)
def test_a_fragment_before_a_line_of_the_root_task_hides_nothing(fragment: str) -> None:
    """A PD printed it without the end of a line, so the root task's line follows it."""
    lines = trace()
    report = report_on([*lines[:MIDDLE], fragment + lines[MIDDLE], *lines[MIDDLE + 1 :]])
    assert report.violations == []
    assert report.foreign_lines == (0 if fragment == "~" else 1)


@pytest.mark.behaviour("J-15", "H-09")
@pytest.mark.parametrize(
    ("damaged", "rules"),
    [
        ([], ["line.lost"]),
        (["~:XX1X]gl"], ["line.cut"]),
        ([line(MIDDLE, "SAY pd=PD_1 text=x", OTHER_KEY)], ["line.checksum"]),
        ([line(MIDDLE + 7, "SAY pd=PD_1 text=x", OTHER_KEY)], ["line.lost"]),
    ],
)
def test_a_missing_event_is_damage_as_before(damaged: list[str], rules: list[str]) -> None:
    """A line with the number of a missing event is what is left of it, as far as anybody knows."""
    lines = trace()
    report = report_on([*lines[:MIDDLE], *damaged, *lines[MIDDLE + 1 :]])
    assert [problem.rule for problem in report.violations if "line." in problem.rule] == rules


@pytest.mark.behaviour("J-15")
def test_a_forged_end_does_not_replace_the_end() -> None:
    lines = trace()
    forged = line(MIDDLE, f"END count={MIDDLE + 1} digest=00000000", OTHER_KEY)
    report = report_on([*lines[:MIDDLE], forged])
    assert [problem.rule for problem in report.violations] == ["line.checksum", "line.cut_off"]


@pytest.mark.behaviour("J-15")
def test_a_copied_line_is_told_as_doubled() -> None:
    """Only somebody who reads the console of this run can print it."""
    lines = trace()
    report = report_on([*lines[:MIDDLE], lines[7], *lines[MIDDLE:]])
    assert [problem.rule for problem in report.violations] == ["line.doubled"]


@pytest.mark.behaviour("J-15")
def test_a_line_of_another_run_is_foreign() -> None:
    """Each run has a key of its own."""
    lines, earlier = trace(), trace(OTHER_KEY)
    report = report_on([*lines[:MIDDLE], earlier[MIDDLE], *lines[MIDDLE:]])
    assert (report.violations, report.foreign_lines) == ([], 1)


def test_a_machine_that_starts_again_is_told() -> None:
    lines = trace()
    report = report_on([*lines[:MIDDLE], *trace(OTHER_KEY)])
    assert report.violations[-1].text == (
        f"cut off: no END after event {MIDDLE - 1}; "
        f"did the machine start again before line {MIDDLE + 1}?"
    )


@pytest.mark.behaviour("J-15")
def test_the_key_is_taken_from_the_first_trace_line_only() -> None:
    """The root task prints it before any PD exists. A damaged first line is no reason to believe a
    later one."""
    lines = trace()
    damaged = lines[0].replace("~:0101", "~:0102")
    assert damaged != lines[0]
    with pytest.raises(InputError, match="no sound TRACE line"):
        report_on([damaged, *trace(OTHER_KEY)])


def test_reports_tell_of_foreign_lines() -> None:
    lines = trace()
    log = "\n".join([*lines[:MIDDLE], "~:1", "~:2", *lines[MIDDLE:]]).encode()
    said = "2 lines look like trace lines and are not the root task's"
    reading = read_trace(io.BytesIO(log), "log")
    assert said in summary(reading.report)
    assert f"{said}." in tell(reading, "seL4", 1.0)
    one = report_on([*lines[:MIDDLE], "~:1", *lines[MIDDLE:]])
    assert "1 line looks like a trace line and is not the root task's" in summary(one)
    assert not re.search(r"looks? like", "\n".join(summary(report_on(lines))))


# -- the end of a run


def console_after(text: str) -> Console:
    console = Console(None)
    console.take(text.encode())
    return console


@pytest.mark.behaviour("J-15", "H-03")
def test_a_forged_end_does_not_end_the_run() -> None:
    lines = trace()
    begun = "\n".join(lines[:MIDDLE]) + "\n"
    for key in (OTHER_KEY, None):
        forged = line(MIDDLE, f"END count={MIDDLE + 1} digest=00000000", key)
        assert not console_after(f"{begun}{forged}\n").complete
    fragment = line(MIDDLE, "SAY pd=PD_1 text=", OTHER_KEY)
    whole = "\n".join([*lines[:-1], fragment + lines[-1]]) + "\n"
    console = console_after(whole)
    assert console.complete
    assert console.events == len(lines)


@pytest.mark.behaviour("J-15", "H-03")
@pytest.mark.parametrize(
    "message", ["cellreap: panic: the end 0x0", "seL4 called fail at src/x.c:1", "~:panic"]
)
def test_an_event_after_a_fatal_message_shows_that_a_pd_printed_it(message: str) -> None:
    lines = trace()
    begun = "\n".join(lines[:MIDDLE]) + f"\n{message}\n"
    console = console_after(begun)
    assert console.fatal == ("" if MARK in message else message)
    console.take(f"{lines[MIDDLE]}\n".encode())
    assert console.fatal == ""
    same_line = console_after(begun[:-1] + lines[MIDDLE] + "\n")
    assert same_line.fatal == ""


def test_the_console_without_the_trace_is_what_others_print() -> None:
    """A line that the trace interrupts is whole again. What only looks like the trace stays."""
    lines = trace()
    (fake,) = FOREIGN["other key"]
    console = ["booting\r", *lines[:MIDDLE], f"cli{lines[MIDDLE]}", "ent: 1\r", fake]
    text = "".join(f"{each}\n" for each in [*console, *lines[MIDDLE + 1 :]])
    assert Lines().without(io.BytesIO(text.encode())).decode() == f"client: 1\r\n{fake}\n"
    assert Lines().without([b"booting\n"]) == b"booting\n", "the root task never came"


@pytest.mark.parametrize("colours", [True, False])
def test_what_the_kernel_prints_for_the_root_task_is_not_of_others(colours: bool) -> None:
    """It may come within a line of a PD. What the kernel says of a PD stays."""
    bold, plain = ("\x1b[1m", "\x1b[0m") if colours else ("", "")
    kernel = f'{plain}{bold}<<{plain}seL4(CPU 0){bold} [decode/2 T0x80 "rootserver" @42]: '
    tried = f"{kernel}Untyped Retype: Insufficient memory (1 * 4096 bytes needed).>>{plain}\r\n"
    null_cap = f"{kernel}Attempted to invoke a null cap #74.>>{plain}\n"
    snapshot = "Dumping all tcbs!\r\nName\tState\r\narch aarch64\r\nobjects {\r\n}\r\ncaps {\r\n"
    snapshot += "0x8_cnode {\r\n0x1: 0x9_ep (R)\r\n}\r\n}\r\nirq maps {\r\n33: 0x21_0_irq\r\n}\r\n"
    lines = [f"{line}\n" for line in trace()]
    console = [*lines[:MIDDLE], snapshot, lines[MIDDLE], f"cli{tried}{tried}ent: 1\n", null_cap]
    console += [*lines[MIDDLE + 1 :], snapshot, "client: {2}\n"]
    raw = "".join(console).encode()
    assert Lines().without(io.BytesIO(raw)).decode() == f"client: 1\n{null_cap}client: {{2}}\n"
    told: list[str] = []
    expected = expected_by(ROOT / "configs" / "block_fs_db_app.toml")
    follower = Follower(None, expected, Explain(), told.append, others=True)
    for at in range(0, len(raw), 100):
        follower.take(raw[at : at + 100])
    assert [line[12:] for line in told if "client:" in line] == ["client: 1", "client: {2}"]
    assert not any("Retype" in line or "cnode" in line for line in told)
    assert any(line.startswith("  told ") for line in told)
    assert not any("acknowledged" in line for line in told), "nobody could yet"
