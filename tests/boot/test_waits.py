# SPDX-License-Identifier: BSD-2-Clause
"""What waits ends in its time, and no wait harms a PD that has nothing to do with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.testing import Target
from kit.arches import ARCHES
from kit.truth_traces import WITH_TRUTH

OK, GONE = 0, 6
EXTRACT = 29


@pytest.mark.slow
@pytest.mark.behaviour("J-13")
def test_only_the_last_of_a_chain_of_connects_is_told(target: Target) -> None:
    """One waits for two's space, two for three's, and three exits without making it."""
    run = target.run("wait_chain", change=WITH_TRUTH)
    assert run.says("two") == [f"connect: {GONE}"]
    assert run.says("one") == [f"connect: {OK}"]


@pytest.mark.slow
@pytest.mark.behaviour("J-13")
def test_only_one_pd_of_a_circle_of_connects_is_told(target: Target) -> None:
    run = target.run("wait_tail")
    said = sorted((run.says("one"), run.says("two")))
    assert said == [[f"connect: {OK}"], [f"connect: {GONE}"]]
    assert run.says("outside") == [f"connect: {OK}"]


@pytest.mark.slow
def test_a_pd_may_be_frozen_twice(target: Target) -> None:
    """It has no deadline, so nobody notices the first time."""
    run = target.run("wait_freeze")
    assert len(run.of("frozen THREAD")) == 1
    assert "client" in run.alive()


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("J-09")
def test_extractions_bring_no_slow_server_down(target: Target) -> None:
    """It has no deadline and fetches nothing. What it was asked is withdrawn in the end."""
    run = target.run("wait_backlog", passes=False)
    assert run.says("slow") == ["spaces 240"]
    assert "slow" in run.alive()
    assert [run.name(event["trigger"]) for event in run.cleanups()] == ["asker"]  # it exits
    assert len(run.says("asker")) == 24
    assert run.of("REFUSE", op=EXTRACT) == []


@pytest.mark.slow
@pytest.mark.behaviour("J-13")
def test_a_subscriber_without_a_deadline_is_awaited_once_in_a_cleanup(target: Target) -> None:
    """It subscribed to twelve spaces, one built on the other. It never answers."""
    run = target.run("wait_groups", passes=False)
    assert run.says("chainer") == ["good 36"]
    assert len(run.of("WAIT", n=1)) == 1
    assert len(run.of("QUEUE", n=1, kind="pre-destroy")) == 12


@pytest.mark.behaviour("J-13")
def test_a_wait_lasts_until_the_awaited_could_run(target: Target) -> None:
    run = target.run("starved_maker")
    computed = run.of("SAY", pd=run.id("computation"))
    made = run.of("SPACE", name="made")[0]
    assert run.at(computed[0]) < run.at(made)
    assert run.says("waiting") == [f"connect: {OK}"]
    assert run.says("behind") == [f"connect: {OK}"]


@pytest.mark.behaviour("S-17")
@pytest.mark.parametrize("arch", ARCHES)
def test_a_client_that_leaves_its_rounds_is_told_of_and_the_run_passes(
    target_of: Callable[[str], Target], arch: str
) -> None:
    run = target_of(arch).run("rester")
    (undone,) = run.report.undone
    assert run.name(undone.pd) == "client"
    assert undone.what.startswith("left its rounds: the last that it did is SAY 'enough' in line ")
