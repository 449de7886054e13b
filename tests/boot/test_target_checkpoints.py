# SPDX-License-Identifier: BSD-2-Clause
"""A staged crash happens at the checkpoint that the configuration names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.testing import Run, Target, with_crashes
from kit.marks import thorough_but

ARCHES = ("x86_64", "aarch64")


def lives(run: Run, name: str) -> list[list[str]]:
    """What each PD of that name said, the first one first."""
    return [[event["text"] for event in run.of("SAY", pd=pd)] for pd in run.ids(name)]


@pytest.mark.behaviour("S-18")
@pytest.mark.parametrize("arch", thorough_but(ARCHES, "aarch64"))
@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_crash_is_at_the_nth_checkpoint_that_the_pd_passes(
    target_of: Callable[[str], Target], arch: str, at: int
) -> None:
    """In its work (1, 3) and between two rounds (5)."""
    crash = with_crashes({"pd": "pacer", "at": at, "how": "page-fault"})
    run = target_of(arch).run("paced", change=crash)
    first, _ = lives(run, "pacer")
    assert first == [f"checkpoint {number}" for number in range(1, at + 1)]


@pytest.mark.behaviour("S-18")
def test_the_option_crashes_a_pd_at_its_first_checkpoint(target: Target) -> None:
    run = target.run("paced", crash="pacer")
    assert lives(run, "pacer")[0] == ["checkpoint 1"]
    run = target.run("paced", crash="other")
    assert lives(run, "other") == [["checkpoint 1"]]


@pytest.mark.behaviour("S-18")
def test_a_later_crash_counts_from_when_nothing_moves_any_more(target: Target) -> None:
    """The new PD passes three checkpoints while it starts, which are not counted."""
    entry = {"pd": "pacer", "at": 2, "how": "page-fault"}
    run = target.run("paced", change=with_crashes(entry, {**entry, "how": "exit"}))
    first, second, _ = lives(run, "pacer")
    assert first == ["checkpoint 1", "checkpoint 2"]
    assert second == [f"checkpoint {number}" for number in range(1, 6)]


@pytest.mark.behaviour("S-18")
def test_how_often_a_repeated_crash_came_about_is_told(target: Target) -> None:
    crash = {"pd": "pacer", "at": 1, "how": "page-fault", "repeat": 1000}
    run = target.run("paced", change=with_crashes(crash))
    came = [event["pd"] for event in run.of("STAGE")]
    assert came == run.ids("pacer")
    assert len(came) == 4
    (unreached,) = run.report.unreached
    text = "crash 1 of the configuration, of pacer, came about 4 of 1000 times"
    why = "pacer stays down, its budget of 3 respawns is used up"
    assert str(unreached) == f"{text}: {why}"
