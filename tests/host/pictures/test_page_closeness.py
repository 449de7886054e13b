# SPDX-License-Identifier: BSD-2-Clause
"""The page of a run measures the pair of PDs that is chosen, as the reference does."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from cellreap.model.ids import ROOT
from cellreap.model.indexed import IndexedModel
from cellreap.model.metrics import Metrics
from cellreap.model.reference import Measuring
from cellreap.trace.check.replay import AroundCleanups
from cellreap.trace.check.stream import check_stream
from cellreap.trace.events import Event
from cellreap.trace.report import Report
from cellreap.trace.writer import Draft, seal
from kit.browser import NEEDS_CHROMIUM, Page, opened
from kit.command_line import cellreap
from kit.paths import GOLDENS
from kit.simulated_runs import RUNS
from kit.trace_simulator import Target

PICK = """(() => {
  for (const [id, name] of Object.entries(%s)) {
    const box = document.getElementById(id);
    box.value = [...box.options].find((each) => each.textContent.endsWith(name)).value;
    box.dispatchEvent(new Event("change"));
  }
  return [...document.querySelectorAll("#near-table tr")].map(
    (row) => [...row.children].map((cell) => cell.textContent));
})()"""


def measured(trace: Path) -> dict[str, dict[tuple[str, str], Metrics]]:
    """State -> both orders of each pair -> what the reference measures."""
    found: dict[str, dict[tuple[str, str], Metrics]] = {}

    def look(when: str, event: Event, model: IndexedModel) -> None:
        measuring = Measuring(model)
        pds = [pd for pd in model.pds() if pd != ROOT]
        pairs = [(a, b) for a in pds for b in pds]
        if event["n"] != "0":  # the end of the run, which is no cleanup
            name = f"{when} cleanup {event['n']}"
            found[name] = {pair: measuring.measure(*pair) for pair in pairs}

    replay = AroundCleanups(Report(str(trace)), look)
    assert check_stream(io.BytesIO(trace.read_bytes()), str(trace), replay=replay).passed
    return found


def told(page: Page, pair: tuple[str, str]) -> list[list[str]]:
    """The table of a pair of ids, row by row."""
    # An id is the end of the option's text: "PD_1" or "name (PD_1)".
    options: list[str] = page.ask(
        "[...document.querySelectorAll('#near-a option')].map((each) => each.textContent)"
    )
    names = {
        box: next(text for text in options if text in (pd,) or text.endswith(f"({pd})"))
        for box, pd in zip(("near-a", "near-b"), pair, strict=True)
    }
    rows = page.ask(PICK % json.dumps(names))
    assert isinstance(rows, list)
    return rows


def wanted(metrics: Metrics | None, row: str) -> str | None:
    if metrics is None:
        return None
    if row == "FR":
        return "inf" if metrics.fr is None else str(metrics.fr)
    return "/".join(map(str, metrics.rsi.get(row.removeprefix("RSI "), (0, 0))))


def compare(page: Page, states: dict[str, dict[tuple[str, str], Metrics]]) -> int:
    """Compares all pairs with the table. Returns how many shares were compared."""
    compared = 0
    pds = sorted({pd for pairs in states.values() for pd, _ in pairs})
    for pair in ((a, b) for a in pds for b in pds):
        (_, *titles), *rows = told(page, pair)
        assert rows[0][0] == "FR"
        types = {row[0].removeprefix("RSI ") for row in rows[1:]}
        for place, title in enumerate(titles, 1):
            metrics = states[title].get(pair)
            assert metrics is None or set(metrics.rsi) <= types
            for row in rows:
                value = wanted(metrics, row[0])
                if value is None:
                    assert row[place] == "\u2013" or "not there" in row[place]
                else:
                    assert row[place] == value
                    compared += row[0] != "FR"
    return compared


def page_of(trace: Path, folder: Path, code: int = 0) -> Path:
    page = folder / "page.html"
    done = cellreap("report", str(trace), "-o", str(page))
    assert done.returncode == code, done.stderr
    return page


@NEEDS_CHROMIUM
@pytest.mark.behaviour("F-01", "F-03", "F-05", "F-08")
@pytest.mark.parametrize("name", ["block_fs_db_app-0-2", "block_fs_db_app-inf-inf", "subscribed"])
def test_each_pair_is_as_close_as_the_reference_says(name: str, tmp_path: Path) -> None:
    trace = GOLDENS / f"{name}.trace"
    with opened(page_of(trace, tmp_path)) as page:
        states = measured(trace)
        assert set(states) == {"before cleanup 1", "after cleanup 1"}
        assert compare(page, states) > 8
        assert page.said() == []


@NEEDS_CHROMIUM
@pytest.mark.behaviour("F-02", "F-04", "F-06")
@pytest.mark.parametrize("name", ["rich", "depths-1-2"])
def test_so_it_is_in_systems_with_more_kinds_of_edges(name: str, tmp_path: Path) -> None:
    trace = tmp_path / "a.trace"
    trace.write_text("\n".join(seal(RUNS[name]())) + "\n")
    states = measured(trace)
    last = max(int(title.split()[-1]) for title in states)
    with opened(page_of(trace, tmp_path, 3 if name == "rich" else 0)) as page:
        page.press("\ue010")  # End: the last cleanup is the chosen one
        chosen = {key: pairs for key, pairs in states.items() if key.split()[-1] == str(last)}
        assert compare(page, chosen) > 0


def far_apart() -> list[Draft]:
    """Two PDs meet two and three hops away. Each also holds a capability to a PD, of which the root
    task is the manager.
    """
    target = Target(0, 0, "far")
    pds = [target.pd(name) for name in ("one", "near", "both", "mid", "far", "other", "gone")]
    one, near, both, mid, far, other, gone = pds
    spaces = {pd: target.space(pd, "THING", f"of {pd}") for pd in (near, both, mid, far)}
    for client, server in ((one, near), (near, both), (other, far), (far, mid), (mid, both)):
        target.request(client, spaces[server])
    for client, server in ((one, near), (other, far)):
        target.hold(client, target.resource(spaces[server]))
        target.body_cap(client, client)
    target.quiet()
    target.fault(gone)
    target.cleanup()
    target.serve_all()
    target.account()
    return target.end()


@NEEDS_CHROMIUM
@pytest.mark.behaviour("F-03", "F-05")
def test_the_root_task_is_no_meeting_point_and_hops_add_up(tmp_path: Path) -> None:
    trace = tmp_path / "a.trace"
    trace.write_text("\n".join(seal(far_apart())) + "\n")
    states = measured(trace)
    assert states["before cleanup 1"]["PD_1", "PD_6"].fr == 2
    with opened(page_of(trace, tmp_path)) as page:
        compare(page, states)


@NEEDS_CHROMIUM
def test_it_is_told_in_words_and_who_went_is_named(tmp_path: Path) -> None:
    with opened(page_of(GOLDENS / "block_fs_db_app-inf-inf.trace", tmp_path)) as page:
        said = page.text("#near-told")
        assert said.startswith("block_server_1 (PD_1) and ")
        assert "before cleanup 1, FR 0, RSI BLOCK 1/2" in said
        assert "after cleanup 1, " in said
        assert "not there" in said
        blast = page.text("#near-blast")
        assert blast == (
            "Cleanup 1 destroyed 3 beside block_server_1 (PD_1), at an FR of at most 0."
        )
        live: Any = page.ask("document.querySelector('#near-told').getAttribute('aria-live')")
        assert live == "polite"


@NEEDS_CHROMIUM
def test_what_may_be_wrong_is_not_measured(tmp_path: Path) -> None:
    events = RUNS["depths-1-0"]()
    at = next(i for i, (name, _) in enumerate(events) if name == "EDGE")
    trace = tmp_path / "a.trace"
    trace.write_text("\n".join(seal([*events[:at], *events[at + 1 :]])) + "\n")
    with opened(page_of(trace, tmp_path, 1)) as page:
        assert page.text("#near-told").startswith("Not measured: the trace breaks a rule")
        assert page.ask("document.querySelector('#near-table').hidden")
        assert page.said() == []
