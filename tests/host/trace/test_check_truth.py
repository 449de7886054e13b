# SPDX-License-Identifier: BSD-2-Clause
"""What the check finds in the kernel's word: every difference from the model."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from cellreap.cli.check_cmd import summary
from cellreap.trace.check import Replay, Report
from cellreap.trace.check.truth import EVENTS, slots_of
from cellreap.trace.events import Event
from cellreap.trace.report import report_json
from kit.truth_traces import (
    groups,
    line_with,
    recorded,
    report_on,
    with_text,
    with_times,
    with_value,
)


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return recorded()


def walks_of(events: list[Event]) -> list[Event]:
    """The events as they are where the kernel takes no snapshots."""
    walked = [replace(e, values={"snapshot": "0"}) if e.name == "TRUTH" else e for e in events]
    return [replace(event, text=()) for event in walked]


def test_the_recorded_boot_passes(events: list[Event]) -> None:
    report = report_on(events)
    assert report.violations == []
    assert len(groups(events)) == 4  # at the start, before the crash, after the cleanup, at the end


def test_columns_may_be_aligned_with_spaces(events: list[Event]) -> None:
    """As kernels print them since 2026, without the column of the core where there is one core."""

    def aligned(line: str) -> str:
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != 5:
            return line
        name, state, ip, priority, _ = columns
        return f"{name:<40}   {state:<16}   {ip:<18}   {priority:>4}"

    later = [replace(event, text=tuple(map(aligned, event.text))) for event in events]
    assert later != events
    assert report_on(later).violations == []


def test_reports_tell_how_often_the_kernel_was_asked(events: list[Event]) -> None:
    said = "the kernel was asked for its capabilities 4 times, with {} snapshots"
    for told, snapshots in ((events, 4), (walks_of(events), 0)):
        report = report_on(told)
        assert report_json(report)["kernels_word"] == {"asked": 4, "snapshots": snapshots}
        assert said.format(snapshots or "no") in summary(report)


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("-", {}),
        ("e1", {1: "e"}),
        ("e1,n3,e8-10", {1: "e", 3: "n", 8: "e", 9: "e", 10: "e"}),
        ("e1-1", {1: "e"}),
        ("", None),
        ("e", None),
        ("1", None),
        ("e3,e2", None),
        ("e3,e3", None),
        ("e5-4", None),
        ("e15-16", None),
        ("e01", None),
        ("e1;e2", None),
        ("e1,", None),
    ],
)
def test_lists_of_slots(text: str, slots: dict[int, str] | None) -> None:
    assert slots_of(text, 16) == slots


Change = Callable[[list[str]], list[str]]


def at(line: str, new: Callable[[str], list[str]], last: bool = False) -> Change:
    """Replaces the first or last line that contains a text."""

    def change(lines: list[str]) -> list[str]:
        place = line_with(lines, line, last)
        return [*lines[:place], *new(lines[place]), *lines[place + 1 :]]

    return change


def _swapped(one: str, other: str) -> Change:
    """Exchanges what is in two slots of the CSpace that has both."""

    def change(lines: list[str]) -> list[str]:
        found = next(i for i, line in enumerate(lines) if line.startswith(f"{other}: "))
        first = max(i for i in range(found) if lines[i].startswith(f"{one}: "))
        a, b = lines[first].split(": ", 1)[1], lines[found].split(": ", 1)[1]
        lines[first], lines[found] = f"{one}: {b}", f"{other}: {a}"
        return lines

    return change


def _badge(line: str) -> list[str]:
    return [re.sub(r"badge: (\d+)", lambda found: f"badge: {int(found[1]) + 1}", line)]


SNAPSHOTS: dict[str, tuple[str, Change]] = {
    "another badge": ("truth.caps", at("0x8: ", _badge)),
    "more rights": ("truth.caps", at("0x8: ", lambda line: [line.replace("(WP", "(RWGP")])),
    "no badge": ("truth.caps", at("0x8: ", lambda line: [re.sub(", badge: .*", ")", line)])),
    "two exchanged": ("truth.caps", _swapped("0x8", "0x9")),
    "its own endpoint to send": ("truth.caps", at("0x2: ", lambda line: [line.replace("R", "W")])),
    "another object": (
        "truth.caps",
        at("0x8: ", lambda line: [re.sub("0xf[0-9a-f]+_ep", "0xffffff8000001000_ep", line)]),
    ),
    "another type": ("truth.caps", at("0x8: ", lambda _: ["0x8: 0xffffff8000001000_tcb"])),
    "one more thread": ("truth.threads", at("rootserver\t", lambda line: [line, line])),
    "another priority": (
        "truth.threads",
        at("rootserver\t", lambda line: [line.replace("100\t0", "101\t0")]),
    ),
    "a CSpace of nobody": (
        "truth.threads",
        at("cspace: ", lambda _: ["cspace: 0xffffff8000001000_cnode (guard: 0, guard_size: 56)"]),
    ),
    "a frame that can be written": (
        "truth.tables",
        at("(RX)", lambda line: [line.replace("(RX)", "(RWX)")]),
    ),
    "a frame elsewhere": (
        "truth.tables",
        at(
            ": frame_", lambda line: [re.sub("frame_0x[0-9a-f]+", "frame_0xffffff8000001000", line)]
        ),
    ),
    "another interrupt": ("truth.threads", at("_irq", lambda line: [line + "?"], last=True)),
    "noise": ("truth.snapshot", lambda lines: [*lines, "}"]),
    "nothing": ("truth.snapshot", lambda lines: []),
    "no text": ("truth.snapshot", at("caps {", lambda line: [line, "what?"])),
}


@pytest.mark.behaviour("H-10")
@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_snapshot_that_differs_is_found(events: list[Event], name: str) -> None:
    rule, change = SNAPSHOTS[name]
    report = report_on(with_text(events, change))
    assert rule in {violation.rule for violation in report.violations}


WALKS: dict[str, tuple[str, str, Callable[[str], str]]] = {
    "one more": ("CAPS", "caps", lambda caps: f"{caps},e63"),
    "another type": ("CAPS", "caps", lambda caps: caps.replace("n3", "e3")),
    "one less": ("CAPS", "caps", lambda caps: caps.replace("n3,", "")),
    "no list": ("CAPS", "caps", lambda caps: caps + "?"),
    "more slots": ("CAPS", "slots", lambda slots: str(2 * int(slots))),
    "fewer slots": ("CAPS", "slots", lambda slots: str(int(slots) // 2)),
    "an odd number of slots": ("CAPS", "slots", lambda slots: str(int(slots) + 1)),
    "a PD that is not there": ("CAPS", "pd", lambda pd: "PD_77"),
    "a thread of nobody": ("OWN_CAPS", "threads", lambda number: str(int(number) + 1)),
    "a CNode of nobody": ("OWN_CAPS", "cnodes", lambda number: str(int(number) + 1)),
    "an untyped of nobody": ("OWN_CAPS", "untypeds", lambda number: str(int(number) + 1)),
    "less memory": ("UNTYPEDS", "bytes", lambda number: str(int(number) - 4096)),
    "halves that are not there": ("UNTYPEDS", "halves", lambda number: str(int(number) + 2)),
}


@pytest.mark.behaviour("H-10", "S-14")
@pytest.mark.parametrize("name", WALKS)
def test_a_walk_that_differs_is_found(events: list[Event], name: str) -> None:
    event, field, change = WALKS[name]
    report = report_on(with_value(events, event, field, change))
    assert any(violation.rule.startswith("truth.") for violation in report.violations)


@pytest.mark.behaviour("H-10", "S-15")
def test_a_pd_in_whose_suspension_a_cleaner_died_may_lack_its_own_endpoint(
    events: list[Event],
) -> None:
    """All of it or what is in its CSpace: the step revokes the one and deletes the other."""

    def lacking(event: Event) -> Event:
        caps = event.values.get("caps", "")
        caps = caps.replace("e1-2,", "e1,") if event["cnode"] == "cspace" else caps
        return replace(event, values={**event.values, "caps": caps})

    for half in (False, True):
        replay = Replay(Report("truth"))
        for event in walks_of(events):
            of_two = event.name == "CAPS" and event["pd"] == "PD_2"
            replay.feed(lacking(event) if of_two else event)
            if half:
                replay.context.takeovers.half_suspended.add("PD_2")
        wrong = {violation.rule for violation in replay.report.violations}
        assert wrong == (set() if half else {"truth.walk"})


def _fed(replay: bytes, events: list[Event]) -> Report:
    replayed: Replay = pickle.loads(replay)
    for event in events:
        replayed.feed(event)
    return replayed.report


def _must_be_found(lines: tuple[str, ...]) -> list[int]:
    """The lines whose loss must be found: all of the dump, and those of capabilities.

    The objects that the kernel names but does not describe are not needed. The kernel's own part of
    an address space has the last entry of the root table and what is below it.
    """
    caps = lines.index("caps {")
    found = list(range(3, next(i for i, line in enumerate(lines) if line.startswith("Debug ")) - 1))
    kernels = False
    for i in range(caps + 1, len(lines)):
        if lines[i].endswith("{"):
            opened = lines[i].split("_")[0]
            kernels = "_0511 {" in lines[i] or (kernels and opened in ("pd", "pt"))
        if not kernels and ": " in lines[i] and not lines[i].endswith("_0511"):
            found.append(i)
    return found


@pytest.mark.behaviour("H-10")
def test_every_lost_line_of_a_snapshot_is_found(events: list[Event]) -> None:
    where = groups(events)[-2]
    replay = Replay(Report("truth"))
    for event in events[: where.start]:
        replay.feed(event)
    before = pickle.dumps(replay)
    part = [events[i] for i in where]
    assert not _fed(before, part).violations
    (told,) = [i for i, event in enumerate(part) if event.text]
    lines = part[told].text
    missed = []
    for lost in _must_be_found(lines):
        part[told] = replace(part[told], text=(*lines[:lost], *lines[lost + 1 :]))
        if not _fed(before, part).violations:
            missed.append(lines[lost])
    assert missed == []


@pytest.mark.behaviour("H-10")
def test_every_lost_event_of_the_kernels_word_is_found(events: list[Event]) -> None:
    where = [i for i, event in enumerate(events) if event.name in EVENTS]
    for lost in where:
        report = report_on([*events[:lost], *events[lost + 1 :]])
        assert report.violations, events[lost]


def test_a_walk_alone_is_compared_too(events: list[Event]) -> None:
    walked = walks_of(events)
    assert report_on(walked).violations == []
    changed = with_value(walked, "CAPS", "caps", lambda caps: f"{caps},e63")
    (violation,) = report_on(changed).violations
    assert violation.rule == "truth.walk"
    assert "slot 63 is an endpoint: expected empty" in violation.text


CHAIN = ("PD_4", "PD_3")
"""The application PD_5 calls the database PD_4, which calls the file system PD_3."""
CALLS = {"PD_4": ("-", "PD_3"), "PD_3": ("-", "-")}
TIMES: dict[str, tuple[dict[str, tuple[str, str]], Sequence[str], bool]] = {
    "everybody has his own": ({}, (), True),
    "two that wait": ({"PD_4": ("-", "-"), "PD_3": ("-", "-")}, CHAIN, True),
    "lent": ({"PD_5": ("PD_4", "PD_4")}, CHAIN, True),
    "lent on": ({"PD_5": ("PD_3", "PD_4"), **CALLS}, CHAIN, True),
    "lent on and kept": ({"PD_5": ("PD_3", "PD_4")}, CHAIN, False),
    "kept after the call": ({"PD_5": ("PD_4", "-")}, CHAIN, False),
    "lent to an active one": ({"PD_5": ("PD_3", "PD_4"), **CALLS}, CHAIN[1:], False),
    "taken from an active one": ({"PD_5": ("-", "PD_4")}, CHAIN, False),
    "with nobody known": ({"PD_5": ("PD_0", "PD_4")}, CHAIN, False),
    "with the dead": ({"PD_5": ("PD_1", "PD_1")}, CHAIN, False),
}


@pytest.mark.behaviour("B-04")
@pytest.mark.parametrize("name", TIMES)
def test_time_is_where_calls_have_taken_it(events: list[Event], name: str) -> None:
    changed, passive, right = TIMES[name]
    report = report_on(with_times(events, changed, passive))
    rules = {problem.rule for problem in report.violations}
    assert rules == (set() if right else {"truth.time"})


@pytest.mark.behaviour("H-10")
def test_the_time_of_each_pd_is_told_or_of_none(events: list[Event]) -> None:
    timed = with_times(events, {})
    for lost in [i for i, event in enumerate(timed) if event.name == "TIME"]:
        report = report_on([*timed[:lost], *timed[lost + 1 :]])
        assert {problem.rule for problem in report.violations} == {"truth.form"}


@pytest.mark.behaviour("H-10")
def test_untypeds_that_are_split_in_the_meantime_are_no_difference(events: list[Event]) -> None:
    def two_more(number: str) -> str:
        return str(int(number) + 2)

    split = with_value(events, "OWN_CAPS", "untypeds", two_more, cnode="untypeds")
    split = with_value(split, "UNTYPEDS", "halves", two_more)
    assert report_on(split).violations == []


def _frame_in_a_pd(lines: list[str]) -> list[str]:
    """The first PD has a page of another address space in slot 200."""
    frame = lines[line_with(lines, ": frame_")].partition(": ")[2]
    at = line_with(lines, "0x4: ")
    return [*lines[: at + 1], f"0xc8: {frame}", *lines[at + 1 :]]


@pytest.mark.behaviour("G-36")
def test_no_pd_can_map_a_page_beside_the_registry(events: list[Event]) -> None:
    """So no page of what a collection takes is mapped by anybody who stays: no PD has a capability
    to a page, to a table or to memory, and the kernel's word shows it if one had.
    """
    cspaces = [e for e in events if e.name == "CAPS" and e["cnode"] == "cspace"]
    letters = {letter for e in cspaces for letter in (slots_of(e["caps"], 256) or {}).values()}
    assert len(cspaces) > 10
    assert letters == {"e", "n"}  # endpoints and notifications
    given = report_on(with_text(events, _frame_in_a_pd))
    assert {problem.rule for problem in given.violations} == {"truth.caps"}
    walked = walks_of(events)
    seen = with_value(walked, "CAPS", "caps", lambda caps: f"{caps},o60", cnode="cspace")
    assert "truth.walk" in {problem.rule for problem in report_on(seen).violations}
