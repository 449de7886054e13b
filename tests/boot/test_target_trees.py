# SPDX-License-Identifier: BSD-2-Clause
"""A PD is terminated as a subtree: it goes with all that it created, as one plan."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap import headers
from cellreap.testing import Run, Target, with_pd, with_system
from kit.arches import ARCHES


def children(run: Run, parent: str) -> list[str]:
    """The ids of the PDs that a parent spawned."""
    return [f"PD_{int(number):x}" for number in run.says(parent)[-1].split()]


@pytest.mark.behaviour("X-19")
def test_a_pd_and_all_that_it_created_go_in_one_cleanup(target: Target) -> None:
    run = target.run("grove")
    own, others = children(run, "parent"), children(run, "other_parent")
    (cleanup,) = run.cleanups()
    assert (run.name(cleanup["trigger"]), cleanup["cause"]) == ("parent", "subtree")
    doomed = dict(run.plan()["destroyed_pds"])
    assert doomed == dict.fromkeys([run.id("parent"), *own], 0)
    assert not {node for node, _ in run.destroys()} & set(others)
    (asked,) = run.of("TRIGGER", cause="subtree")
    for pd in doomed:
        (stop,) = run.of("stopped THREAD", pd=pd)
        assert run.at(asked) < run.at(stop) < run.at(cleanup), "all are stopped before the plan"
    assert run.says("boss")[-1].startswith(f"again: ticket {run.report.tickets[0].ticket} over")


@pytest.mark.behaviour("S-14", "X-19")
def test_who_waits_for_the_end_of_a_tree_is_told_that_of_its_operation(target: Target) -> None:
    """PDs say that they ask for terminate_tree, and the check compares it with the ANSWER."""
    run = target.run("grove", change=with_system(mode="sync"))
    boss = run.of("ANSWER", pd=run.id("boss"))
    assert [event["op"] for event in boss].count("terminate_tree") == 1


@pytest.mark.behaviour("S-15", "X-19")
@pytest.mark.parametrize("arch", ARCHES)
def test_children_that_are_clients_of_their_creator_go_with_it(
    target_of: Callable[[str], Target], arch: str
) -> None:
    """They are in calls to it when it is stopped: one call was received, the other is queued."""
    run = target_of(arch).run("household")
    server = run.id("server")
    doomed = dict(run.plan()["destroyed_pds"])
    assert len(doomed) == 3
    assert set(doomed.values()) == {0}
    for freed in run.of("answered THREAD", by=server):
        assert run.at(freed) < run.at(run.of("stopped THREAD", pd=freed["pd"])[0])
    assert run.of("answered THREAD", by=server)
    assert "answered" not in [event["text"] for event in run.of("SAY")]


@pytest.mark.behaviour("X-19", "C-26")
def test_what_is_left_of_a_subtree_whose_first_pd_went_before_is_cleaned_up(target: Target) -> None:
    run = target.run("grove_orphans")
    left, late = children(run, "parent"), (run.id("mute"), "late")
    found = [(event["trigger"], event["cause"]) for event in run.cleanups()]
    assert sorted(found[2:]) == sorted([*((pd, "terminate") for pd in left), late])
    assert found[:2] == [(run.id("disk"), "subtree"), (run.id("twin"), "subtree")]
    (parent,) = run.of("TRIGGER", cause="subtree", pd=run.id("parent"))
    (first,) = run.of("SETTLED", n="1")
    for pd in left:
        (stop,) = run.of("stopped THREAD", pd=pd)
        assert run.at(parent) < run.at(stop) < run.at(first)


@pytest.mark.behaviour("X-19", "X-23")
def test_a_subtree_with_a_protected_pd_stays_as_a_whole(target: Target) -> None:
    prevented = headers.names_of("protocol.h", "cr_result", "CR_RESULT_")["prevented"]
    run = target.run("grove", change=with_pd("parent", prevent_destroy=True))
    assert run.says("boss")[0] == f"terminate parent: refused, {prevented}"
    assert not run.cleanups()
    assert not run.of("stopped THREAD", "TRIGGER")


@pytest.mark.behaviour("X-23", "T-29")
def test_a_termination_that_was_put_off_is_prevented_when_it_is_due(target: Target) -> None:
    run = target.run("grove_prevented")
    states = headers.names_of("protocol.h", "cr_ticket_state", "CR_TICKET_")
    assert f"its state: {states['prevented']}" in run.says("boss")
    (prevented,) = run.of("TRIGGER", when="never")
    assert run.name(prevented["pd"]) == "victim"
    assert run.at(run.of("SETTLED", n="1")[0]) < run.at(prevented)
    assert {run.name(pd) for pd in run.dooms()} == {"disk", "mute"}
    assert run.alive() == {"victim", "client", "guard", "boss"}
