# SPDX-License-Identifier: BSD-2-Clause
"""The signs of a page: who waits for nobody, which lanes are folded, events in words."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from cellreap import headers
from cellreap.pictures.runpage import run_data
from cellreap.pictures.words import MAX_TEXT, event_words
from cellreap.runs.summary import headline, tell
from cellreap.trace.events import Event
from cellreap.trace.writer import Draft
from kit.browser import NEEDS_CHROMIUM, opened
from kit.kept_traces import read_file
from kit.large_run import large_run
from kit.pages import NEEDS_DOT, crashed, page_for, written
from kit.paths import GOLDENS
from kit.records import field_type
from kit.simulated_runs import RUNS
from kit.trace_simulator import Target

HOME, END = "\ue011", "\ue010"


@pytest.mark.behaviour("V-01")
def test_each_event_has_words() -> None:
    """Whatever words its fields have, and of each field that they name."""
    for name, fields in headers.event_table().fields.items():
        types = {field: field_type(name, field) for field in fields}
        choices = [[(field, word) for word in types[field].words] for field in fields]
        for chosen in itertools.product(*filter(None, choices)):
            told = event_words(Event(name, dict.fromkeys(fields, "7") | dict(chosen)), {})
            assert 5 < len(told) < MAX_TEXT, (name, chosen)
            assert told.isprintable()


@pytest.mark.behaviour("V-01")
def test_what_a_pd_says_is_shown_as_it_says_it() -> None:
    said = Event("SAY", {"pd": "PD_1", "text": "PD_2"})
    names = {"PD_1": "parrot", "PD_2": "fs"}
    assert event_words(said, names) == 'parrot (PD_1) says "PD_2"'
    failed = Event("MAKE_FAILED", {"what": "hold", "name": "PD_2", "kind": "slot"})
    assert event_words(failed, names) == "making hold fs (PD_2) failed at the step slot"
    over = Event("RESPAWN", {"change": "over", "name": "PD_2"})
    assert event_words(over, names).startswith("PD_2 stays down")


@pytest.mark.behaviour("V-01")
def test_who_waits_in_a_call_is_marked_until_it_goes_on(tmp_path: Path) -> None:
    trace = written(RUNS["blame"](), tmp_path / "blame.trace")
    reading = read_file(trace)
    data = run_data(reading)
    stood = [
        at
        for at, event in enumerate(reading.events)
        if event.name == "STANDS" and event["state"] == "call"
    ]
    nurse = next(
        at
        for at, event in enumerate(reading.events)
        if at > stood[0] and event.told == "fetched NOTICE" and event["pd"] == "PD_1"
    )
    stuck = {node["id"]: node["stuck"] for node in data["nodes"] if node["stuck"]}
    told = "waits in a call to PD_6"
    assert stuck == {
        "PD_1": [[stood[0], nurse, told], [stood[1], None, told]],
        "PD_6": [[stood[2], None, "waits in a call to PD_5"]],
    }
    (lane,) = (lane for lane in data["lanes"] if lane["name"] == "nurse")
    assert [stood[1], None, told] in lane["waits"]


@pytest.mark.behaviour("V-01")
@NEEDS_DOT
@NEEDS_CHROMIUM
def test_who_waits_in_a_call_is_drawn_so(tmp_path: Path) -> None:
    trace = written(RUNS["blame"](), tmp_path / "blame.trace")
    with opened(page_for(trace, tmp_path)) as page:
        stuck = "[...document.querySelectorAll('#graph .pd.stuck title')].map(t => t.textContent)"
        page.press(HOME)
        assert page.ask(stuck) == []
        page.press(END)
        assert page.ask(stuck) == [
            "nurse, PD_1, waits in a call to PD_6",
            "middle, PD_6, waits in a call to PD_5",
        ]
        assert "waits in a call to PD_6" in page.text("#now")
        assert "waits in a call that nobody answers" in page.text(".legend")
        assert page.said() == []


def bystanders(number: int) -> list[Draft]:
    """The events of a server that crashes beside so many PDs that do nothing."""
    target = Target(0, 0, "bystanders")
    server, client = target.pd("server"), target.pd("client")
    target.request(client, target.space(server, "THING", "goods"))
    for letter in "abcdefghijklmnopqrstuvwxyz"[:number]:
        target.pd(f"bystander_{letter}")
    return crashed(target, server)


@pytest.mark.behaviour("V-01")
@NEEDS_DOT
@NEEDS_CHROMIUM
def test_lanes_in_which_nothing_happens_can_be_folded(tmp_path: Path) -> None:
    """From a dozen lanes on they are, at first."""
    tall = "document.querySelector('#tall').offsetHeight"
    button = "[data-go=fold]"
    for number, at_first in ((20, True), (4, False)):
        trace = written(bystanders(number), tmp_path / f"bystanders_{number}.trace")
        with opened(page_for(trace, tmp_path)) as page:
            heights = {True: 38 + 4 * 20 + 4, False: 38 + (3 + number) * 20 + 4}
            words = {True: f"Show {number} idle lanes", False: f"Fold {number} idle lanes"}
            for folds in (at_first, not at_first, at_first):
                assert (page.ask(tall), page.text(button)) == (heights[folds], words[folds])
                page.press("f")
            assert page.said() == []


@pytest.mark.behaviour("V-01")
@NEEDS_DOT
def test_who_has_no_edge_takes_little_room(tmp_path: Path) -> None:
    trace = written(bystanders(20), tmp_path / "bystanders.trace")
    data = run_data(read_file(trace))
    rows = [n["box"][1] for n in data["nodes"] if n["label"][0].startswith("bystander")]
    assert len(rows) == 20
    assert len(set(rows)) == 5


@pytest.mark.behaviour("V-01")
@NEEDS_DOT
@NEEDS_CHROMIUM
def test_what_crashed_is_in_the_picture_at_first(tmp_path: Path) -> None:
    """Also of a large system, and in a narrow window."""
    trace = written(large_run(1000), tmp_path / "large.trace")
    seen = (
        "(() => { const b = document.querySelector('#graph').getBoundingClientRect(),"
        "r = document.querySelector('#graph .pd.doomed').getBoundingClientRect();"
        "return r.left >= b.left && r.top >= b.top && r.right <= b.right && r.bottom <= b.bottom;"
        "})()"
    )
    with opened(page_for(trace, tmp_path)) as page:
        assert page.ask(seen)
        page.driver.set_window_size(420, 900)
        page.driver.refresh()
        page.ready()
        assert page.ask(seen)


@pytest.mark.behaviour("V-01")
def test_a_trace_that_breaks_before_a_crash_does_not_say_that_nothing_crashed(
    tmp_path: Path,
) -> None:
    lines = (GOLDENS / "block_fs_db_app-1-2.trace").read_text().splitlines()
    whole = "\n".join(line for at, line in enumerate(lines) if at != 14)
    trace = tmp_path / "broken.trace"
    trace.write_text(f"{whole}\n")
    told = headline(read_file(trace))
    assert told == "Nothing crashed as far as the trace goes."


def lending() -> list[Draft]:
    """The events of a PD that crashes with a page of its own and one that another has, too."""
    target = Target(0, 0, "lending")
    first, second = target.pd("first"), target.pd("second")
    target.body_cap(first, second)
    target.memory(first)
    target.send_memory(first, target.memory(first), second)
    return crashed(target, first)


MEMORY_TOLD = [
    "first (PD_1): 4 KiB that nobody else has",
    "second (PD_2) keeps 4 KiB of first (PD_1)",
]


@pytest.mark.behaviour("E-01", "V-01")
def test_the_story_tells_what_becomes_of_memory(tmp_path: Path) -> None:
    reading = read_file(written(lending(), tmp_path / "lending.trace"))
    (cleanup,) = reading.report.cleanups
    assert cleanup.memory == [("freed", "PD_1", 4096, ()), ("keeps", "PD_2", 4096, ("PD_1",))]
    story = [line[13:] for line in tell(reading, "a kernel")]
    assert [line for line in story if "KiB" in line][:2] == MEMORY_TOLD
    assert [each["memory"] for each in run_data(reading)["cleanups"]] == [MEMORY_TOLD]


@pytest.mark.behaviour("V-01")
@NEEDS_DOT
@NEEDS_CHROMIUM
def test_a_page_tells_what_becomes_of_memory(tmp_path: Path) -> None:
    trace = written(lending(), tmp_path / "lending.trace")
    with opened(page_for(trace, tmp_path)) as page:
        page.press(END)
        for line in MEMORY_TOLD:
            assert f"Memory: {line}." in page.text("#cleanup")
        assert page.said() == []
