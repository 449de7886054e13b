# SPDX-License-Identifier: BSD-2-Clause
"""What is told of the PDs of a trace that breaks off: what the root task said, and no guess."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from cellreap.runs.summary import tell
from cellreap.trace.expected import NO_END
from cellreap.trace.reading import Reading, read_trace, reading_json
from cellreap.trace.writer import Draft, seal
from kit.simulated_runs import RUNS

LAST = ("STANDS", "PD_6", "connect")


def cut_after(last: Callable[[Draft], bool], more: tuple[Draft, ...] = ()) -> Reading:
    """The run "blame" up to the last event that `last` accepts, with more events behind it."""
    drafts: list[Draft] = RUNS["blame"]()
    at = max(i for i, draft in enumerate(drafts) if last(draft))
    kept = [*drafts[: at + 1], *more]
    lines = seal(kept[:-1] if kept[-1][0] == "END" else kept)
    raw = "".join(f"{line.rstrip()}\n" for line in lines).encode()
    return read_trace(io.BytesIO(raw), "cut", open_end=True)


def silent(draft: Draft) -> bool:
    return (draft[0], draft[1].get("pd"), draft[1].get("state")) == LAST


def told(reading: Reading) -> list[str]:
    return tell(reading, "a kernel")


@pytest.mark.behaviour("Y-05")
def test_each_pd_is_told_as_it_stands() -> None:
    reading = cut_after(silent)
    assert reading.report.passed, reading.report.violations
    assert reading.report.silence is not None
    assert reading.report.silence.ms == 5100
    lines = "\n".join(told(reading))
    for part in (
        "Nothing happened for 5.1 s. What each PD did then",
        "nurse (PD_1): in a call to middle (PD_6)\n",
        "slow (PD_2): waits for a message in its notification\n",
        'patient (PD_3): waits for its fault handler nurse (PD_1); last said "on it goes"',
        "guest (PD_4): can run, and PDs of its priority did not get the processor",
        "quick (PD_5): waits for a message in its endpoint, or a signal",
        "middle (PD_6): waits for the space files\n",
        f"Not verified: {NO_END}.",
    ):
        assert part in lines, lines


@pytest.mark.behaviour("Y-05")
def test_what_pds_did_in_an_earlier_silence_is_not_told() -> None:
    reading = cut_after(silent, (("SAY", {"pd": "PD_1", "text": "I am back"}),))
    silence = reading.report.silence
    assert silence is not None
    assert silence.ms is None
    assert {each.state for each in silence.pds} == {None}
    lines = told(reading)
    assert any(line.startswith("The root task did not look at the PDs: it looks") for line in lines)
    assert '  nurse (PD_1): what it did is not known; last said "I am back"' in lines
    # The events before tell of faults that are held.
    assert any("patient (PD_3): waits for its fault handler nurse (PD_1)" in line for line in lines)


@pytest.mark.behaviour("Y-05")
def test_without_a_timer_the_root_task_cannot_look() -> None:
    reading = cut_after(lambda draft: draft[0] == "resumed THREAD")
    assert reading.report.silence is not None
    reading.report.silence = type(reading.report.silence)(None, False, [])
    line = "The root task did not look at the PDs: the kernel leaves no timer to the root task."
    assert line in told(reading)


@pytest.mark.behaviour("Y-05")
def test_a_trace_with_an_end_tells_of_no_silence() -> None:
    raw = "".join(f"{line.rstrip()}\n" for line in seal(RUNS["blame"]())).encode()
    report = read_trace(io.BytesIO(raw), "whole").report
    assert report.silence is None
    assert NO_END not in report.unverified


def test_who_waits_at_the_end_is_told_with_the_whole_chain() -> None:
    raw = "".join(f"{line.rstrip()}\n" for line in seal(RUNS["blame"]())).encode()
    reading = read_trace(io.BytesIO(raw), "whole")
    assert reading.report.passed, reading.report.violations
    lines = told(reading)
    at = lines.index("Waiting at the end, and for whom:")
    assert lines[at + 1 : at + 4] == [
        "  nurse (PD_1): in a call to middle (PD_6)",
        "  quick (PD_5): waits for a message in its notification",
        "  middle (PD_6): in a call to quick (PD_5)",
    ]
    assert any("; 2 PDs still waiting for an answer; " in line for line in lines)
    waits = reading_json(reading)["waits"]
    assert [(each["name"], each["state"], each["on"]) for each in waits] == [
        ("nurse", "call", "PD_6"),
        ("quick", "receive", None),
        ("middle", "call", "PD_5"),
    ]


def finds(pd: str, change: dict[str, str] | None) -> set[str]:
    """The rules that are broken if the last STANDS of the PD is changed. None: left out."""
    drafts: list[Draft] = RUNS["blame"]()
    at = max(i for i, each in enumerate(drafts) if each[0] == "STANDS" and each[1]["pd"] == pd)
    if change is None:
        del drafts[at]
    else:
        drafts[at] = (drafts[at][0], {**drafts[at][1], **change})
    raw = "".join(f"{line.rstrip()}\n" for line in seal(drafts)).encode()
    return {problem.rule for problem in read_trace(io.BytesIO(raw), "changed").report.violations}


def test_the_check_holds_who_waits_against_what_it_knows() -> None:
    assert finds("PD_5", None) == {"silence.each"}, "for whom the chain waits"
    assert finds("PD_6", None) == {"silence.each"}, "a link of the chain"
    assert finds("PD_1", {"on": "PD_5"}) == {"silence.state"}
    assert finds("PD_6", {"state": "fault"}) == {"silence.state"}
    drafts: list[Draft] = RUNS["blame"]()
    at = max(i for i, each in enumerate(drafts) if each[0] == "STANDS")
    drafts.insert(at + 1, ("SAY", {"pd": "PD_2", "text": "I go on"}))
    raw = "".join(f"{line.rstrip()}\n" for line in seal(drafts)).encode()
    rules = {each.rule for each in read_trace(io.BytesIO(raw), "changed").report.violations}
    assert rules == {"silence.each"}


@pytest.mark.behaviour("Y-06")
def test_a_last_line_of_which_a_part_is_there_is_no_damage() -> None:
    drafts: list[Draft] = RUNS["blame"]()
    lines = [line.rstrip() for line in seal(drafts)]
    raw = ("\n".join(lines[:-4]) + "\n" + lines[-4][: len(lines[-4]) // 2]).encode()
    assert read_trace(io.BytesIO(raw), "cut", open_end=True).report.passed
    strict = read_trace(io.BytesIO(raw), "cut").report
    assert any(problem.rule == "line.cut_off" for problem in strict.violations)
    assert NO_END in strict.unverified
