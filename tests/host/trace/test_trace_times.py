# SPDX-License-Identifier: BSD-2-Clause
"""Events with times: read, checked, and shown by their time."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from cellreap.pictures.perfetto import perfetto
from cellreap.pictures.runpage import run_data
from cellreap.trace.check import check_stream
from cellreap.trace.events import Event
from cellreap.trace.writer import NO_SECRET, Draft, framed, record, seal
from kit.broken_traces import of_drafts, of_lines
from kit.browser import NEEDS_CHROMIUM, opened
from kit.command_line import cellreap
from kit.kept_traces import read_file
from kit.simulated_runs import RUNS, time_run
from kit.timed import timed


def rules(lines: list[str]) -> set[str]:
    return {problem.rule for problem in of_lines(lines).violations}


def written(drafts: list[Draft | Event], folder: Path) -> Path:
    path = folder / "a.trace"
    path.write_text("\n".join(seal(drafts)) + "\n")
    return path


@pytest.mark.parametrize("run", ["depths-1-0", "notices"])
def test_a_trace_with_times_passes_and_has_them(run: str, tmp_path: Path) -> None:
    events = timed(RUNS[run]())
    assert of_drafts(events).violations == []
    read = read_file(written(events, tmp_path)).events
    assert [event.time for event in read] == [
        event.time for event in events if isinstance(event, Event)
    ]
    assert read[0].time is None


def test_times_may_be_missing_from_all_events_or_from_none() -> None:
    events = timed(RUNS["depths-1-0"]())
    at = len(events) // 2
    event = events[at]
    assert isinstance(event, Event)
    events[at] = Event(event.name, event.values)
    assert "line.fields" in rules(seal(events))
    drafts: list[Draft | Event] = list(RUNS["depths-1-0"]())
    drafts[at] = Event(event.name, event.values, time=5)
    assert "line.fields" in rules(seal(drafts))


@pytest.mark.parametrize(
    ("time", "rule"),
    [(b"", "line.fields"), (b"00", "line.fields"), (b"h", "line.fields"), (b"~", "line.value"),
     (b"h~00", "line.value"), (b"o" + b"o" * 11, "line.value")],
)  # fmt: skip
def test_a_time_is_a_number(time: bytes, rule: str) -> None:
    """None; more than one; one that is cut; two with a character that is no digit; too large."""
    events = timed(RUNS["depths-1-0"]())
    lines, event = seal(events), events[5]
    assert isinstance(event, Event)
    assert rules(lines) == set()
    lines[5], _ = framed(record(event) + time, 5, NO_SECRET)
    assert rule in rules(lines)


def test_times_may_stand_still_but_not_go_back() -> None:
    events = timed(time_run())
    same = [event for event in events[4:7] if isinstance(event, Event)]
    assert len(same) == 3
    for event in same:
        event.time = 4_000_000_000
    assert "clock.times" not in rules(seal(events))
    same[-1].time = 3_999_999_999
    assert "clock.times" in rules(seal(events))


def test_as_much_passes_in_times_as_clock_tells() -> None:
    """An event a second is slower than CLOCK, and one a millisecond is faster."""
    assert "clock.times" not in rules(seal(timed(time_run())))
    assert "clock.times" in rules(seal(timed(time_run(), fast=True)))


@pytest.mark.parametrize("run", RUNS)
def test_times_change_nothing_else(run: str) -> None:
    plain = check_stream(io.BytesIO("\n".join(seal(RUNS[run]())).encode()), "trace")
    report = of_drafts(timed(RUNS[run]()))
    assert report.violations == plain.violations
    assert report.cleanups == plain.cleanups


def test_the_time_line_is_that_of_the_times(tmp_path: Path) -> None:
    events = timed(RUNS["depths-1-0"]())
    reading = read_file(written(events, tmp_path))
    passed = run_data(reading)["passed"]
    assert passed == [0, *[1_000_000_000] * (len(events) - 1)]
    shown = json.loads(perfetto(reading.events, reading.report))
    assert shown["otherData"]["time"] == "since the first event"
    marks = [entry for entry in shown["traceEvents"] if entry["ph"] == "i"]
    assert marks
    for mark in marks:
        name = mark["args"]["event"].partition(" ")[0]
        assert reading.events[round(mark["ts"] / 1_000_000)].name == name
    plain = read_file(written(list(RUNS["depths-1-0"]()), tmp_path))
    assert run_data(plain)["passed"] is None


@NEEDS_CHROMIUM
def test_the_page_tells_times(tmp_path: Path) -> None:
    trace = written(timed(RUNS["depths-1-0"]()), tmp_path)
    page = tmp_path / "a.html"
    assert cellreap("report", str(trace), "-o", str(page)).returncode == 0
    with opened(page, "#event=30") as shown:
        assert shown.event().startswith("30 at 30,000.000 ms: ")
        titles = shown.ask("[...document.querySelectorAll('#cleanup th')].map(e=>e.textContent)")
        assert shown.said() == []
        shown.press("\ue00e", "\ue00f")
        titles = shown.ask("[...document.querySelectorAll('#cleanup th')].map(e=>e.textContent)")
        assert titles[-1] == "Time"
        assert "1,000.000 ms" in shown.text("#cleanup tbody")
