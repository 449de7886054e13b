# SPDX-License-Identifier: BSD-2-Clause
"""Slots of lost capabilities: none is used again before the PD knows of the loss."""

from __future__ import annotations

import pytest

from cellreap.testing import Run, Target

GIVE, UNACKED = 10, 12
DEATHS, EACH, LIMIT = 4, 9, 32


@pytest.fixture
def run(target: Target) -> Run:
    """A client repeatedly loses nine slots, and acknowledges nothing until it is refused."""
    return target.run("leak")


@pytest.mark.slow
@pytest.mark.behaviour("C-20")
def test_no_slot_is_given_again_before_its_loss_is_acknowledged(run: Run) -> None:
    leaker = run.id("leaker")
    acks = run.of("FINISH_WORK", pd=leaker)
    slots = [(run.at(e), e["number"]) for e in run.made("REQUEST", "HOLD", from_=leaker)]
    before = [slot for at, slot in slots if at < run.at(acks[0])]
    # one is its request to the other server
    assert len(set(before)) == len(before) == DEATHS * EACH + 1
    assert len(before) > LIMIT
    after = {slot for at, slot in slots if at > run.at(acks[DEATHS - 1])}
    assert after & set(before)


@pytest.mark.slow
@pytest.mark.behaviour("C-20", "M-11")
def test_who_has_too_many_to_acknowledge_is_given_nothing_and_is_told(run: Run) -> None:
    says = run.says("leaker")
    assert says.count(f"connect: {UNACKED}") == 1
    refused = says.index(f"connect: {UNACKED}")
    assert says[:refused] == ["connect: 0"] * DEATHS
    assert says[refused + 1 : refused + 4] == [
        "of the other: bad request",
        "then of the other: ok",
        "after all: 0",
    ]


@pytest.mark.slow
@pytest.mark.behaviour("C-20")
def test_so_is_who_would_give_it_something(run: Run) -> None:
    (refused,) = run.of("REFUSE", op=GIVE)
    assert (run.name(refused["pd"]), refused["status"]) == ("other", str(UNACKED))
