# SPDX-License-Identifier: BSD-2-Clause
"""Respawns within a budget.

A PD that exits at once costs its equals little, and stays down over its budget. Under -icount the
time is that of the instructions, so the runs repeat exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cellreap import headers
from cellreap.system.config import Config
from cellreap.testing import Run, Target, together, with_pd, with_system
from cellreap.trace.events import Event
from kit.counted import COUNTED, counted_on
from kit.kernels import needs_timer
from kit.marks import WITH_MCS, thorough_but

GONE = headers.constant("protocol.h", "CR_RESULT_GONE")
BUDGET = 6  # as in the configuration
DELAYS = [0, 10, 20, 40, 80, 160]
LATER_MS = 10
"""A delay begins at the end of an interval (supervisor/clock.h)."""


def lives(run: Run, name: str) -> list[Event]:
    """The RESPAWN events of a PD that comes back."""
    return run.of("due RESPAWN", name=name)


def rounds(run: Run, since: Event, until: Event) -> int:
    """How many rounds the worker ends between two events."""
    said = run.of("SAY", pd=run.id("worker"), text="round")
    return len([event for event in said if run.at(since) < run.at(event) < run.at(until)])


def check_delays(work: Sequence[int]) -> None:
    """Compares the rounds within each delay with the promised times."""
    assert work[1] >= 5
    # In the last one it may come to the end of its work.
    in_1_ms = (work[4] - work[3]) / (DELAYS[4] - DELAYS[3])
    for delay_ms, done in zip(DELAYS[1:5], work[1:5], strict=True):
        assert delay_ms * 0.9 < done / in_1_ms < delay_ms * 1.1 + LATER_MS
    assert work[5] > work[4]


@pytest.mark.behaviour("J-12", "X-09", "X-10")
@pytest.mark.acceptance("respawns")
@pytest.mark.kernels.with_args(*WITH_MCS, *thorough_but(["aarch64"]))
def test_a_pd_that_exits_at_once_comes_back_within_its_budget_and_starves_nobody(
    target: Target,
) -> None:
    needs_timer(target.sdk)
    counted = counted_on(target.sdk)
    run = target.run("hasty", qemu_args=counted)
    due = lives(run, "hasty")
    assert [event.number("count") for event in due] == list(range(1, BUDGET + 1))
    assert [event.number("delay_ms") for event in due] == DELAYS
    assert len(run.ids("hasty")) == 1 + BUDGET

    # The delays are real, and at most LATER_MS too long: the worker works meanwhile.
    made = [run.of("PD", id=id_)[0] for id_ in run.ids("hasty")[1:]]
    if counted:  # A round takes as long as it did before.
        check_delays([rounds(run, *times) for times in zip(due, made, strict=True)])
    (down,) = run.of("over RESPAWN")
    assert down["name"] == "hasty"
    assert rounds(run, made[0], down) > (150 if counted else 0)  # of 310 ms and more
    assert len(run.says("worker")) == 500
    assert "worker" in run.alive()

    # A PD that waits for it is told, right then.
    (told,) = run.of("REFUSE", pd=run.id("client"))
    assert told.number("status") == GONE
    assert run.at(told) == run.at(down) + 1
    assert run.says("client")[0] == f"came and went: 0, then {GONE}"


@pytest.mark.slow
@pytest.mark.behaviour("X-09", "X-10")
def test_a_delay_is_over_though_nothing_else_is_due(target: Target) -> None:
    """There are no other PDs, so nothing but the delay keeps the clock running."""

    def alone(config: Config) -> Config:
        pds = tuple(pd for pd in config.pds if pd.name == "hasty")
        return config.model_copy(update={"pds": pds})

    run = target.run("hasty", change=alone, qemu_args=COUNTED)
    assert [event.number("delay_ms") for event in lives(run, "hasty")] == DELAYS
    assert len(run.of("over RESPAWN")) == 1


@pytest.mark.slow
@pytest.mark.behaviour("X-09")
def test_a_budget_is_for_a_window_and_a_new_window_begins_after_it(target: Target) -> None:
    """Each life of the PD is longer than the window."""
    change = together(
        with_pd("worker", args=(10, 10)),
        with_pd(
            "hasty",
            program="worker",
            args=(20, 500_000, 9),
            respawn_budget=2,
            respawn_window_ms=20,
        ),
    )
    run = target.run("hasty", change=change, qemu_args=COUNTED)
    assert [event.number("count") for event in lives(run, "hasty")] == [1] * 6
    assert not run.of("over RESPAWN")
    assert "hasty" in run.alive()


@pytest.mark.slow
@pytest.mark.behaviour("X-09")
def test_the_clock_of_a_window_runs_while_nothing_else_is_due(target: Target) -> None:
    """A window that is open at the end of the run does not hold it up."""
    change = with_pd("hasty", program="worker", args=(1, 10, 4), respawn_window_ms=3_600_000)
    run = target.run("hasty", change=change, qemu_args=COUNTED)
    assert len(lives(run, "hasty")) == 1
    assert "hasty" in run.alive()


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("J-12")
def test_a_respawn_for_which_there_was_no_room_is_tried_again(target: Target) -> None:
    """No cleanup follows. The room is made by a PD that deletes what it has."""
    run = target.run("squat", qemu_args=COUNTED, change=with_system(await_ms=60_000))
    assert run.says("squatter")[0].startswith("resources: ")
    assert len(run.cleanups()) == 1
    assert len(lives(run, "server")) == 1
    assert "server" in run.alive()
