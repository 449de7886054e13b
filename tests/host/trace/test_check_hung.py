# SPDX-License-Identifier: BSD-2-Clause
"""Who hung is held against what the trace tells before, and is told in words."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest

from cellreap.cli.check_cmd import summary
from cellreap.trace.check import Report, check_stream, configured_edges, report_json
from cellreap.trace.expected import ExpectedCall, ExpectedPd
from cellreap.trace.reading import read_trace
from cellreap.trace.writer import Draft, seal
from kit.configured_story import expected
from kit.hung_run import hung_run
from kit.records import fits
from kit.trace_simulator import Target

pytestmark = pytest.mark.behaviour("S-05")


def checked(drafts: list[Draft]) -> Report:
    """The report on a trace that is sealed and read."""
    return check_stream(io.BytesIO("\n".join(seal(drafts)).encode()), "trace")


def rules(drafts: list[Draft]) -> set[str]:
    return {problem.rule for problem in checked(drafts).violations}


def test_it_is_told_in_words_and_in_json() -> None:
    report = checked(hung_run())
    told = [line for line in summary(report) if line.startswith("PD_")]
    assert told == [
        "PD_1 (last) hung: it left a probe unanswered for 200 ms, in a call by PD_3 (client)",
        "PD_2 (middle) hung: it only waited for messages for 400 ms, in a call by PD_3 (client)",
        "PD_4 (busy) hung: it left a probe unanswered for 300 ms",
    ]
    assert report_json(report)["hung"][0] == {"pd": "PD_1", "by": "PD_3", "token": 2, "ms": 200}
    assert [cleanup.cause for cleanup in report.cleanups] == ["hung"] * 3 + ["fault"]


def test_it_is_a_crash_that_nobody_staged() -> None:
    reading = read_trace(io.BytesIO("\n".join(seal(hung_run())).encode()), "trace")
    outcome, story = reading.outcome, reading.story
    assert [crash.name for crash in outcome.crashes] == ["last", "middle", "busy", "spinner"]
    assert outcome.crashes[3].how == "its budget used up"
    assert outcome.crashes[2].how == "it hung: it left a probe unanswered for 300 ms"
    assert story.chapters[1].how.startswith("hung: it only waited for messages for 400 ms")


def without(name: str, **match: object) -> list[Draft]:
    """The run without an event."""
    drafts = hung_run()
    drafts.remove(next(draft for draft in drafts if draft[0] == name and fits(draft[1], match)))
    return drafts


def test_nobody_hangs_by_a_probe_that_was_not_sent() -> None:
    assert "hung.hung" in rules(without("QUEUE", to="PD_1", kind="probe"))


def test_nobody_hangs_by_the_call_of_a_pd_that_does_something() -> None:
    drafts = hung_run()
    at = next(i for i, draft in enumerate(drafts) if draft[1].get("cause") == "hung")
    drafts.insert(at, ("SAY", {"pd": "PD_3", "text": "here"}))
    assert rules(drafts) == {"hung.passed"}


def test_nobody_hangs_who_waits_by_the_call_of_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parent may have stopped it in the call."""
    all_are_children(monkeypatch)
    assert rules(hung_run()) == {"hung.hung"}


def all_are_children(monkeypatch: pytest.MonkeyPatch) -> None:
    child = replace(configured_edges._UNKNOWN, parent="parent")
    monkeypatch.setattr(configured_edges, "_UNKNOWN", child)


def test_a_child_may_leave_a_probe_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can run, but its parent may have stopped it."""
    late = [(name, {**of, "ran": 300} if name == "HELD_UP" else of) for name, of in hung_run()]
    assert "hung.unanswered" in rules(late)
    all_are_children(monkeypatch)
    assert "hung.unanswered" not in rules(late)


def leaves_its_endpoint(ms: int, called: bool = True, unmade: str = "") -> list[Draft]:
    """A PD with a heartbeat waits for something else while it is called. unmade: what failed."""
    target = Target(0, 0, "elsewhere")
    server, client = target.pd("server", heartbeat_ms=200), target.pd("client")
    disk = target.space(server, "BLOCK", "disk")
    if called:
        target.request(client, disk)
    target.quiet()
    if unmade:
        target.unmade(unmade, client, 1, "edge")
    for now in (200, 400):
        target.emit("CLOCK", ms=now)
    target.hung(server, None, 0, ms)
    target.cleanup()
    target.serve_all()
    return target.end()


@pytest.mark.parametrize(
    ("drafts", "broken"),
    [
        (lambda: leaves_its_endpoint(400), set()),
        (lambda: leaves_its_endpoint(399), {"hung.hung"}),
        (lambda: leaves_its_endpoint(400, called=False), {"hung.waits"}),
        (
            lambda: leaves_its_endpoint(400, called=False, unmade="resource"),
            {"hung.waits"},
        ),
        # A call over a channel of Microkit needs no request that was made.
        (lambda: leaves_its_endpoint(400, called=False, unmade="request"), set()),
    ],
)
def test_who_leaves_its_endpoint_alone_is_called_by_somebody(
    drafts: Callable[[], list[Draft]], broken: set[str]
) -> None:
    assert rules(drafts()) == broken


@pytest.mark.parametrize(
    ("calls", "broken"), [((ExpectedCall("server", 9, 0),), False), ((), True)]
)
def test_the_configuration_tells_who_can_call_without_a_request(
    calls: tuple[ExpectedCall, ...], broken: bool
) -> None:
    pds = tuple(ExpectedPd(name, 1, calls=its) for name, its in (("server", ()), ("client", calls)))
    drafts = leaves_its_endpoint(400, called=False, unmade="request")
    system = replace(expected(), pds=pds, sizes=None)
    report = check_stream(io.BytesIO("\n".join(seal(drafts)).encode()), "trace", expected=system)
    assert ("hung.waits" in {problem.rule for problem in report.violations}) == broken


@pytest.mark.parametrize(("call_ms", "broken"), [(0, set()), (100, {"hung.missing"})])
def test_no_call_with_a_limit_is_left_at_the_end(call_ms: int, broken: set[str]) -> None:
    target = Target(0, 0, "left")
    server, client = target.pd("server"), target.pd("client", heartbeat_ms=100, call_ms=call_ms)
    target.request(client, target.space(server, "BLOCK", "disk"))
    other = target.pd("other")
    target.quiet()
    target.exit(other)
    target.cleanup()
    target.serve_all()
    target.stands(client, "call", server, slot=8)
    target.stands(server, "receive", slot=3)
    assert rules(target.end()) == broken
