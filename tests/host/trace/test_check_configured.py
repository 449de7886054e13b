# SPDX-License-Identifier: BSD-2-Clause
"""A trace is held against the configuration of its system."""

from __future__ import annotations

import pytest

from cellreap.trace.writer import Draft
from kit.broken_configurations import (
    EDITS,
    STORIES,
    Change,
    Edit,
    held,
    of_edit,
    of_story,
    with_truth,
)
from kit.configured_story import expected, story, with_system


@pytest.mark.behaviour("W-01")
def test_the_story_of_the_configuration_passes() -> None:
    report = held(story(expected()), expected())
    assert report.violations == []
    assert len(report.cleanups) == 5


@pytest.mark.behaviour("W-01", "W-04")
@pytest.mark.parametrize(("rule", "change"), STORIES)
def test_the_story_of_another_configuration_fails(rule: str, change: Change) -> None:
    told = story(change(expected()))
    assert held(told, None).violations == [], "the story contradicts itself"
    assert rule in {violation.rule for violation in of_story(change).violations}


@pytest.mark.behaviour("W-01")
@pytest.mark.parametrize(("rule", "edit"), EDITS)
def test_a_changed_story_fails(rule: str, edit: Edit) -> None:
    assert rule in {violation.rule for violation in of_edit(edit).violations}


@pytest.mark.behaviour("W-01")
def test_the_kernels_word_is_demanded_if_it_is_configured() -> None:
    asked = with_system(truth="some")(expected())
    (violation,) = held(story(expected()), asked).violations
    assert violation.rule == "config.truth"


@pytest.mark.behaviour("W-01")
def test_a_snapshot_is_demanded_if_the_kernel_takes_them() -> None:
    for most, found in ((0, set()), (1, {"config.truth"})):  # the root task is one
        asked = with_system(truth="all", snapshots_up_to=most)(expected())
        rules = {
            violation.rule for violation in held(with_truth(story(expected())), asked).violations
        }
        assert rules & {"config.truth"} == found


PRINTED = {"memory.account", "state.printed", "memory.body", "authority.rights"}
"""What an end that was put early lacks in any case. A story could add it."""


@pytest.mark.behaviour("W-04")
def test_an_end_that_was_put_early_is_found_wherever_it_stands() -> None:
    told = story(expected())
    last = max(i for i, (name, _) in enumerate(told) if name == "EXTRACTED")
    for at in range(1, last, 43):
        early: list[Draft] = [*told[:at], told[-1]]
        found = {violation.rule for violation in held(early, expected()).violations}
        assert found - PRINTED, f"{at}: {told[at]}"
