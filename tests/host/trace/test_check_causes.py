# SPDX-License-Identifier: BSD-2-Clause
"""Every change of the model has its cause: nobody changes what it has no authority over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.trace.check.causes import Causes
from cellreap.trace.writer import Draft, event_of
from kit.broken_configurations import held
from kit.configured_story import expected, story
from kit.reports_run import reports_run
from kit.simulated_runs import RUNS, reference_run
from kit.unauthorised import AFTERWARDS, PLANTS, run_with

STORIES: dict[str, Callable[[], list[Draft]]] = {
    **{name: RUNS[name] for name in ("depths-1-0", "blame", "sync")},
    "fs": lambda: reference_run(0, 0, "fs"),
    "configured": lambda: story(expected()),
}
AUTHORITY = ("actors.", "causes.", "consent.", "authority.", "nodes.", "edges.", "slots.range")
"""Rules about who may do something. Each planted change breaks one of them."""


def _found(name: str, drafts: list[Draft]) -> set[str]:
    report = held(drafts, expected() if name == "configured" else None)
    return {violation.rule for violation in report.violations}


@pytest.mark.behaviour("W-02")
@pytest.mark.parametrize("name", STORIES)
def test_the_stories_pass_as_they_are(name: str) -> None:
    assert _found(name, STORIES[name]()) == set()


def _planted(name: str, seeds: range) -> list[tuple[str, list[Draft]]]:
    """(what was planted, the events) for each change that fits into the story."""
    told = []
    for plant in [*PLANTS, *AFTERWARDS]:
        for seed in seeds:
            points = dict.fromkeys((1 + seed % 3, 1))
            runs = (run_with(STORIES[name], plant, point, seed) for point in points)
            drafts = next((run for run in runs if run is not None), None)
            if drafts is not None:
                told.append((f"{plant} {seed}", drafts))
    return told


def _none_passes(name: str, seeds: range) -> list[tuple[str, list[Draft]]]:
    told = _planted(name, seeds)
    passed, others = [], []
    for what, drafts in told:
        found = _found(name, drafts)
        if not found:
            passed.append(what)
        if what.startswith("late"):
            if "actors.silent" not in found:
                others.append((what, sorted(found)))
        elif name != "configured" and not any(rule.startswith(AUTHORITY) for rule in found):
            others.append((what, sorted(found)))
    assert passed == []
    assert others == [], "only what follows from the change was found"
    return told


@pytest.mark.behaviour("W-02")
@pytest.mark.parametrize("name", ["fs", "configured"])
def test_no_change_without_authority_passes(name: str) -> None:
    assert len(_none_passes(name, range(1))) >= 24


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("W-02")
@pytest.mark.parametrize("name", STORIES)
def test_no_change_without_authority_passes_in_any_story(name: str) -> None:
    assert len(_none_passes(name, range(1, 4))) > 60


@pytest.mark.behaviour("W-02")
def test_the_changes_pass_where_no_cause_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted stories are consistent: most have no flaw but the cause."""
    told = _planted("depths-1-0", range(1))
    monkeypatch.setattr(Causes, "judge", lambda causes, event: None)
    passed = [what for what, drafts in told if not _found("depths-1-0", drafts)]
    assert len(passed) > len(told) // 2


@pytest.mark.behaviour("W-02")
def test_every_plant_fits_somewhere() -> None:
    for plant in [*PLANTS, *AFTERWARDS]:
        told = (run_with(STORIES[name], plant, 1, seed) for name in STORIES for seed in range(2))
        assert any(drafts is not None for drafts in told), plant


@pytest.mark.behaviour("W-02")
@pytest.mark.parametrize(
    ("told", "op", "changed", "rule"),
    [
        ("RESOURCE", "allocate", {"op": "spawn"}, "causes.authority"),
        ("RESOURCE", "attach", {"op": "save"}, "causes.authority"),
        ("RESOURCE", "attach", {"asker": "PD_4"}, "causes.core"),
        ("made MAP", "attach", {"asker": "PD_6"}, "causes.authority"),
    ],
)
def test_memory_is_made_held_and_mapped_by_one_pd(
    told: str, op: str, changed: dict[str, str], rule: str
) -> None:
    drafts = RUNS["rich"]()
    events = [event_of(*draft) for draft in drafts]
    at = [i for i, event in enumerate(events) if event.told == told and event["op"] == op][-1]
    assert {events[at][field] for field in changed}.isdisjoint(changed.values())
    drafts[at] = (drafts[at][0], {**drafts[at][1], **changed})
    assert rule in _found("rich", drafts)


@pytest.mark.behaviour("S-14")
def test_an_answer_about_what_was_made_has_its_number_of_words() -> None:
    drafts = reports_run()
    answer = next(i for i, (name, it) in enumerate(drafts) if it.get("op") == "listen")
    drafts[answer] = (drafts[answer][0], {**drafts[answer][1], "op": "give", "number": "0"})
    assert "answers.words" in _found("reports", drafts)
