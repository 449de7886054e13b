# SPDX-License-Identifier: BSD-2-Clause
"""A badge names one thing for ever, and an emptied slot stays empty until its PD knows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.testing import Target, with_pd
from kit.arches import ARCHES

OK, ACTIVE, UNACKED = 0, 0, 12
HOW = {"take back": 0, "delete the resource": 1, "delete the space": 2}


@pytest.fixture(params=sorted(ARCHES))
def each(request: pytest.FixtureRequest, target_of: Callable[[str], Target]) -> Target:
    """The target of each architecture."""
    return target_of(str(request.param))


@pytest.mark.behaviour("J-01")
def test_equal_objects_of_two_spaces_arrive_under_two_badges(each: Target) -> None:
    run = each.run("badges")
    spaces = [int(event["id"].rpartition("_")[2], 16) for event in run.of("SPACE", type="THING")]
    assert run.says("server") == [f"used {space} 1 by 1" for space in spaces]
    badges = run.says("client")
    assert len(set(badges)) == len(badges) == 2
    assert all(said.startswith("badge ") for said in badges)


@pytest.mark.behaviour("J-02", "C-20")
@pytest.mark.parametrize("how", HOW)
def test_a_slot_that_a_server_emptied_is_filled_after_the_acknowledgement(
    each: Target, how: str
) -> None:
    run = each.run("emptied", change=with_pd("taker", args=(HOW[how], 0)))
    says = run.says("client")
    old = int(says[0].removeprefix("old slot "))
    another = int(says[3].removeprefix("another slot "))
    assert says[1].startswith("badge ")
    assert says[2] == "a word"
    assert another != old
    assert says[4:6] == ["lost", "acknowledged"]
    # The PD has acknowledged: now its slot is used again.
    assert int(says[6].removeprefix("third slot ")) <= old
    (told,) = run.of("QUEUE", to=run.id("client"), kind="lost", n=0)
    assert told["node"].startswith("THING_SPACE_" if how == "delete the space" else "THING_")
    # The other server never got a call over the slot.
    assert run.says("giver") == []


@pytest.mark.behaviour("J-02")
def test_a_pd_capability_names_the_successor_only_after_the_acknowledgement(each: Target) -> None:
    run = each.run("successor")
    says = run.says("killer")
    assert says[0] == f"first: {OK}"
    assert says[1] != f"second: {OK}"
    assert says[2:4] == [f"acknowledged, look: {OK}", f"state {ACTIVE}"]
    (terminate,) = run.of("TRIGGER", cause="terminate", when="now", by=run.id("killer"))
    victim, successor = (event["id"] for event in run.of("PD", name="victim"))
    assert terminate["pd"] == victim
    (told,) = run.of("QUEUE", to=run.id("killer"), kind="lost")
    assert (told["node"], told["n"]) == (victim, "0")
    (finished,) = run.of("FINISH_WORK", token=told["token"])
    before, after = run.made("HOLD", from_=run.id("killer"))
    assert before["number"] == after["number"]
    assert run.at(before) < run.at(finished) < run.at(after)
    assert run.alive() == {"killer", "victim"}
    assert successor not in [node for node, _ in run.destroys()]


@pytest.mark.behaviour("J-03", "C-21")
def test_a_queued_message_does_not_arrive_after_its_capability_was_taken_back(each: Target) -> None:
    run = each.run("queued")
    # Which of the two comes first is the kernel's choice.
    assert sorted(said.rpartition(" ")[2] for said in run.says("server")) == ["1", "3"]
    assert run.says("second") == ["lost"]
    # The others have the same badge, and the third one's call was queued too: it arrives once.
    for name in ("first", "third"):
        (said,) = run.says(name)
        assert said.startswith("badge ")


@pytest.mark.behaviour("J-02")
def test_nobody_sends_what_a_slot_of_the_configuration_is_about_to_get(each: Target) -> None:
    """Else the PD would have the capability in another slot, and that one would stay empty."""
    run = each.run("regifted")
    assert run.says("giver")[-1] == f"sent: {UNACKED}"
    assert run.says("killer")[-2:] == [f"acknowledged, look: {OK}", f"state {ACTIVE}"]
    victim, _, successor = run.made("HOLD", from_=run.id("killer"))
    assert victim["number"] == successor["number"]
