# SPDX-License-Identifier: BSD-2-Clause
"""What PDs say themselves: stories told anew that contradict it, and what must not count as said.

The stories are those of a recorded boot. `test_lies.py` has root tasks that lie.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellreap.model.digest import of_words
from cellreap.trace.check import Report, check_stream
from cellreap.trace.events import Event
from cellreap.trace.statements import Statement, Statements
from kit.paths import TRUTH
from kit.truth_traces import place, recorded, report_on, retold, valued

SAME: Final = "statements.same"
ANNOUNCED: Final = "statements.announced"
KEY: Final = bytes(range(16))
Story = Callable[[list[Event]], list[Event]]


def _without(name: str, **values: str) -> Story:
    def story(events: list[Event]) -> list[Event]:
        return retold(events, place(events, name, last=False, **values))

    return story


def _doubled(name: str, *, last: bool = False, **values: str) -> Story:
    def story(events: list[Event]) -> list[Event]:
        at = place(events, name, last=last, **values)
        return retold(events, at, events[at], events[at])

    return story


def _with(name: str, changes: dict[str, str], **values: str) -> Story:
    def story(events: list[Event]) -> list[Event]:
        at = place(events, name, last=False, **values)
        return retold(events, at, valued(events[at], **changes))

    return story


def _other_slot(events: list[Event]) -> list[Event]:
    """fs has its request to the first disk in another slot, throughout."""
    at = place(events, "EDGE", asker="PD_3", op="connect")
    slot, space = events[at].number("number"), int(events[at]["to"].rpartition("_")[2], 16)
    told, other = of_words([slot, space]), of_words([slot + 20, space])
    return [
        valued(event, number=str(slot + 20))
        if event is events[at]
        else valued(event, digest=other)
        if event.name == "ANSWER" and event["digest"] == told and event["pd"] == "PD_3"
        else event
        for event in events
    ]


def _refused(events: list[Event]) -> list[Event]:
    """app is refused something before it says its first line."""
    at = place(events, "SAY", pd="PD_5")
    values = {"pd": "PD_5", "op": "26", "status": "6"}
    return retold(events, at, replace(events[at], name="REFUSE", values=values), events[at])


def _exits(events: list[Event]) -> list[Event]:
    """The PD exits instead of its fault, and its registers show that it did."""
    at = place(events, "FAULT")
    registers = f"rdi:0x1,rsi:{2 << 12 | 2:#x}"
    values = {"pd": events[at]["pd"], "code": "0", "registers": registers}
    return retold(events, at, replace(events[at], name="EXIT", values=values))


def _without_last(events: list[Event]) -> list[Event]:
    return retold(events, place(events, "SAY", last=True))


STORIES: Final[dict[str, tuple[str, Story]]] = {
    "a SAY with another text": (SAME, _with("SAY", {"text": "round 1: all is well"})),
    "a SAY left out": (SAME, _without("SAY")),
    "the last SAY left out": ("", _without_last),
    "a SAY made up": (SAME, _doubled("SAY")),
    "a SAY made up at the end": (ANNOUNCED, _doubled("SAY", last=True)),
    "a refusal left out": (SAME, _without("REFUSE")),
    "a refusal made up": (SAME, _refused),
    "a refusal made up at the end": ("", _doubled("REFUSE")),
    "a refusal of something else": (SAME, _with("REFUSE", {"op": "26"})),
    "a refusal for another reason": (SAME, _with("REFUSE", {"status": "4"})),
    "an ALLOW made up": (SAME, _doubled("ALLOW")),
    "an ALLOW of another number": (SAME, _with("ALLOW", {"count": "2"})),
    "a notice acknowledged as failed": (SAME, _with("FINISH_WORK", {"result": "failed"})),
    "a notice acknowledged twice": (SAME, _doubled("FINISH_WORK", pd="PD_4")),
    "a notice not acknowledged": (SAME, _without("FINISH_WORK", pd="PD_4")),
    "an answer to CONNECT told twice": (SAME, _doubled("ANSWER", op="connect")),
    "another slot throughout": (SAME, _other_slot),
    "an EXIT instead of a fault": (ANNOUNCED, _exits),
}
"""Story -> the rule that finds it. Empty: nothing does."""


def _rules(report: Report) -> set[str]:
    return {violation.rule for violation in report.violations}


@pytest.mark.behaviour("S-14")
def test_the_recorded_story_is_what_its_pds_say() -> None:
    events = recorded()
    assert not report_on(events).violations
    assert {said.pd for event in events for said in event.said} == {f"PD_{i}" for i in range(1, 6)}


@pytest.mark.behaviour("S-14")
@pytest.mark.parametrize("story", STORIES)
def test_a_story_told_anew_contradicts_its_pds(story: str) -> None:
    rule, change = STORIES[story]
    assert rule in {*_rules(report_on(change(recorded()))), ""}


@pytest.mark.behaviour("S-14")
def test_without_statements_the_pds_are_named() -> None:
    events = [replace(event, said=()) for event in recorded()]
    report = report_on(events)
    assert not report.violations
    told = "requests by PDs that make no statements: fs (PD_3), db (PD_4), app (PD_5)"
    assert told in report.unverified


# -- what nobody said


def _console(extra: Callable[[list[Event]], dict[int, str]]) -> bytes:
    """The recorded console with further lines before the lines of some events."""
    lines, events = TRUTH.read_bytes().split(b"\n"), recorded()
    for at, text in sorted(extra(events).items(), reverse=True):
        lines.insert(events[at].line - 1, text.encode())
    return b"\n".join(lines)


@pytest.mark.behaviour("S-15")
@pytest.mark.parametrize(
    "line",
    [
        "~pd 3 1 1 00000000 00000000",
        "~pd 3 ffffffff ff ffffffff ffffffff",
        "~pd 3",
        "~pd ",
        "~",
        "~pd 0 0 0 00000000 00000000",
        "~pd 3 1 1 00000000 00000000 ~pd 3 1 1 00000000 00000000",
    ],
)
def test_who_does_not_know_the_secret_says_nothing(line: str) -> None:
    """Any PD can print such lines, before and after the others."""
    console = _console(lambda events: {68: line, 210: line, len(events) - 1: line})
    report = check_stream(io.BytesIO(console), "console")
    assert not report.violations


@pytest.mark.behaviour("S-15")
@pytest.mark.parametrize("whose", ["PD_1", "PD_3", "PD_5"])
def test_a_secret_is_for_one_pd(whose: str) -> None:
    """A PD that knows its own secret cannot speak for another one."""
    key = bytes.fromhex(recorded()[0]["key"])
    line = Statement(0, "PD_2", 7, 1, 5).text(key).replace("~pd 2", f"~pd {whose[3:]}")
    report = check_stream(io.BytesIO(_console(lambda _: {68: line})), "console")
    assert not report.violations


@pytest.mark.behaviour("S-15")
def test_a_statement_that_was_torn_accuses_nobody() -> None:
    """What is left of the last one is no proof that it never was."""
    events = recorded()
    last = max(said.line for event in events for said in event.said)
    lines = TRUTH.read_bytes().split(b"\n")
    lines[last - 1] = lines[last - 1][:9] + b"?" + lines[last - 1][10:]
    report = check_stream(io.BytesIO(b"\n".join(lines)), "console")
    assert not report.violations


STATEMENTS = st.builds(
    Statement,
    st.just(0),
    st.sampled_from(["PD_1", "PD_2", "PD_1f"]),
    st.integers(0, 2**32 - 1),
    st.integers(0, 41),
    st.integers(0, 2**32 - 1),
)


@pytest.mark.behaviour("S-15")
@given(st.lists(st.tuples(STATEMENTS, st.integers(0, 40), st.booleans()), min_size=1, max_size=5))
def test_others_may_come_into_the_middle(nested: list[tuple[Statement, int, bool]]) -> None:
    """Each one is printed within the one before, or a line of the root task is."""
    before, after = "", ""
    for statement, at, by_root in nested:
        text = statement.text(KEY) + "\n"
        at = min(at, len(text) - 1)
        before += text[:at] + ("~:line of the root task\n" if by_root else "")
        after = text[at:] + after
    finder = Statements()
    found = []
    for line in (before + after).encode().split(b"\n")[:-1]:
        event = line.find(b"~:")
        text_of = line if event < 0 else line[:event]
        said = finder.feed(0, text_of, KEY, event < 0)
        if said is not None:
            found.append(said)
    assert found == [statement for statement, _, _ in reversed(nested)]
