# SPDX-License-Identifier: BSD-2-Clause
"""Consent and authority: what a PD can make of others, and of PDs that it spawns."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap import headers
from cellreap.testing import Run, Target, with_pd
from kit.marks import thorough_but

ARCHES = ("x86_64", "aarch64")
RESULTS = headers.names_of("protocol.h", "cr_result", "CR_RESULT_")
DENIED, UNWANTED = RESULTS["denied"], RESULTS["unwanted"]


@pytest.fixture(params=thorough_but(ARCHES, "x86_64"))
def impose(request: pytest.FixtureRequest, target_of: Callable[[str], Target]) -> Run:
    return target_of(str(request.param)).run("impose")


@pytest.fixture(params=thorough_but(ARCHES, "x86_64"))
def climb(request: pytest.FixtureRequest, target_of: Callable[[str], Target]) -> Run:
    return target_of(str(request.param)).run("climb")


@pytest.mark.behaviour("J-11")
def test_a_server_fills_slots_only_as_far_as_its_client_allows(impose: Run) -> None:
    assert impose.says("guest")[:4] == [
        f"nothing allowed: given 0, then {UNWANTED}",
        f"3 allowed: given 3, then {UNWANTED}",
        f"taken back: given 0, then {UNWANTED}",
        f"1 allowed: given 1, then {UNWANTED}",
    ]
    guest, imposer = impose.id("guest"), impose.id("imposer")
    assert [event["asker"] for event in impose.made("HOLD", from_=guest)] == [imposer] * 4


@pytest.mark.behaviour("S-03")
def test_the_report_names_what_was_refused(impose: Run) -> None:
    found = {(each.name, each.operation): each for each in impose.report.refusals}
    assert {operation for name, operation in found if name == "imposer"} >= {"GIVE", "SEND"}
    give = found["imposer", "GIVE"]
    assert give.count == len(impose.of("REFUSE", pd=impose.id("imposer"), op=10)) > 1
    why = "UNWANTED, the receiving PD has not allowed it to the caller with ALLOW"
    assert give.why() == f"GIVE ({give.count} times): {why}"


@pytest.mark.behaviour("J-11")
def test_nobody_is_made_a_dependent_unasked(impose: Run) -> None:
    refused = f"share {UNWANTED}, send {UNWANTED}, first client {UNWANTED}"
    assert impose.says("imposer") == [f"bystander: {refused}"]
    assert not impose.made("HOLD", "REQUEST", from_=impose.id("bystander"))


@pytest.mark.behaviour("J-11", "C-15")
def test_a_client_leaves_a_server_that_is_behind_and_lives(impose: Run) -> None:
    """At least 64 notices wait for the server when the guest leaves."""
    assert impose.says("guest")[4] == "released 4, disconnect 0"
    (left,) = impose.dropped("REQUEST", from_=impose.id("guest"))
    assert impose.at(left) < impose.at(impose.cleanups()[0])
    waiting = impose.of("QUEUE", to=impose.id("imposer"), kind="disconnect")
    assert len([event for event in waiting if impose.at(event) < impose.at(left)]) >= 64
    assert not impose.of("fetched NOTICE", pd=impose.id("imposer"))
    assert impose.doomed() == {"imposer": "0"}
    assert [impose.name(event["pd"]) for event in impose.of("EXIT")] == ["comer"]
    assert impose.alive() == {"bystander", "guest", "boss"}
    assert impose.says("guest")[-1] == "at the end"


@pytest.mark.behaviour("J-04")
def test_a_spawned_pd_runs_with_its_creators_priority_and_no_rights(climb: Run) -> None:
    creator, spawned = climb.ids("climber")
    assert [event["priority"] for event in climb.of("RIGHTS", pd=spawned)] == ["1"]
    number = int(creator.removeprefix("PD_"), 16)
    refused = f"spawn {DENIED}, set depth {DENIED}, extract {DENIED}, space {DENIED}"
    assert f"spawned by PD {number}: {refused}" in climb.says("climber")


@pytest.mark.behaviour("J-04")
def test_a_spawned_pd_does_not_hold_up_pds_above_its_creator(climb: Run) -> None:
    """The server answers before the spawned PD has computed."""
    said = climb.says("climber")
    assert said.index("the server has answered") < said.index("computed")


@pytest.mark.behaviour("J-04")
def test_a_pd_takes_nobody_down_by_setting_its_depths(climb: Run) -> None:
    assert f"set depth: {DENIED}" in climb.says("climber")
    (cleanup,) = climb.cleanups()
    assert (cleanup["pd_depth"], cleanup["rs_depth"]) == ("0", "0")
    assert climb.doomed() == {"climber": "0"}
    assert climb.alive() >= {"server", "client"}
    assert not [event for event in climb.of("RIGHTS") if event["op"] == "set_depth"]


@pytest.mark.behaviour("J-04")
def test_a_pd_that_the_configuration_trusts_sets_its_depths(target: Target) -> None:
    run = target.run("climb", change=with_pd("climber", may_set_depth=True))
    assert "set depth: 0" in run.says("climber")
    (set_,) = (event for event in run.of("RIGHTS") if event["op"] == "set_depth")
    assert (set_["pd_depth"], set_["rs_depth"]) == ("inf", "inf")
    # The climber has spawned another one of its name, which depends on it.
    doomed = [(run.names[pd], depth) for pd, depth in run.plan(1)["destroyed_pds"]]
    assert sorted(doomed) == [("client", 1), ("climber", 0), ("climber", 1)]


@pytest.mark.behaviour("J-11")
def test_a_spawned_pd_allows_its_creator_what_the_configuration_says(climb: Run) -> None:
    assert f"send: 0 0 {UNWANTED}" in climb.says("climber")
    creator, spawned = climb.ids("climber")
    (allowed,) = climb.of("ALLOW", pd=spawned)
    assert (allowed["by"], allowed["count"]) == (creator, "2")


@pytest.mark.behaviour("J-11")
def test_a_holder_hands_on_a_pd_capability_to_who_allows_it(target: Target) -> None:
    """PD_2_1 is the capability to the server, which the climber has from the configuration."""
    change = with_pd("climber", holds_pds=("server",), args=(2, 1))
    run = target.run("climb", change=change)
    creator, spawned = run.ids("climber")
    assert f"send: 0 0 {UNWANTED}" in run.says("climber")
    (given,) = run.made("HOLD", from_=spawned, to="PD_2_1")
    assert (given["asker"], given["op"]) == (creator, "send")
