# SPDX-License-Identifier: BSD-2-Clause
"""Collection on the target: what cannot be reached goes after a cleanup, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.system.config import Config
from cellreap.testing import Run, Target
from cellreap.trace.events import Event
from kit.marks import thorough_but

KERNELS = ("x86_64-seL4", "aarch64-seL4", "aarch64-refkernel")


def children(run: Run, parent: str) -> list[str]:
    """The ids of the PDs that a parent spawned."""
    return [f"PD_{int(number):x}" for number in run.says(parent)[-1].split()]


def collected(run: Run) -> list[int]:
    """How many PDs each collection found."""
    found = run.of("TRIGGER", cause="collect", when="now")
    after = [run.events[run.at(each) + 1] for each in found]
    return [len(run.dooms(it.number("n"))) if it.name == "CLEANUP" else 0 for it in after]


@pytest.mark.behaviour("G-16", "G-33", "G-39", "G-43")
def test_what_nobody_reaches_goes_after_a_cleanup_and_what_is_held_stays(target: Target) -> None:
    run = target.run("collect")
    lost, kept = children(run, "parent"), children(run, "other_parent")
    assert collected(run) == [2]
    first, second = run.cleanups()
    assert (first["cause"], second["trigger"], second["cause"]) == ("fault", "-", "collect")
    assert sorted(run.dooms(2)) == sorted(lost)
    assert {depth for _, depth in run.plan(2)["destroyed_pds"]} == {1}
    assert {node for node, _ in run.destroys(2)} >= set(lost)
    [(to, kind, _, dead)] = run.plan(2)["notices"]
    assert (run.name(to), kind, dead) == ("disk", "disconnect", lost[0])
    gone = {node for node, _ in run.destroys()}
    assert not gone & set(kept)


@pytest.mark.behaviour("G-43", "C-27")
def test_what_nobody_reaches_goes_whatever_the_policy(target: Target) -> None:
    def by_metric(config: Config) -> Config:
        policy = config.policy.model_copy(update={"policy": "metric", "fr_max": 0})
        return config.model_copy(update={"policy": policy})

    run = target.run("collect", change=by_metric)
    assert collected(run) == [2]


@pytest.mark.behaviour("G-43")
def test_without_the_setting_nothing_is_collected(target: Target) -> None:
    def never(config: Config) -> Config:
        system = config.system.model_copy(update={"collect": "never"})
        expect = config.expect.model_copy(update={"cleanups": 1})
        return config.model_copy(update={"system": system, "expect": expect})

    run = target.run("collect", change=never)
    assert run.of("TRIGGER", cause="collect") == run.of("SETTING", what="collect") == []
    assert not {node for node, _ in run.destroys()} & set(children(run, "parent"))


def gifts_of(run: Run, name: str) -> list[Event]:
    """The HOLDs that the PD gave to others."""
    made = run.made("HOLD", asker=run.id(name))
    return [event for event in made if event["from"] != run.id(name)]


@pytest.mark.behaviour("G-33", "G-34", "G-35", "G-37", "G-38", "G-39", "G-40", "G-44")
@pytest.mark.parametrize("mode", ["async", "sync"])
def test_a_server_collects_while_it_serves_a_request(target: Target, mode: str) -> None:
    """Nothing goes that is held, on its way, in use by a request, or of the configuration."""

    def in_mode(config: Config) -> Config:
        system = config.system.model_copy(update={"mode": mode})
        return config.model_copy(update={"system": system})

    run = target.run("gather", change=in_mode)
    refused, *_, numbers = run.says("family")
    assert refused == "check collect: ok", "it is not trusted with it"
    single, one, other, held, below = (f"PD_{int(number):x}" for number in numbers.split())
    first, _ = run.of("TRIGGER", cause="collect", when="now")
    assert collected(run) == [3, 0]
    assert set(run.dooms(2)) == {single, one, other}
    # It holds one of them because of a SEND that it never noticed.
    [given] = gifts_of(run, "family")[-1:]
    assert (given["from"], given["to"]) == (run.id("gatherer"), f"PD_2_{held[3:]}")
    gone = {node for node, _ in run.destroys()}
    assert not gone & {held, below, run.id("alone")}
    # What the request needs was made before the collection, and is given after it.
    made = run.of("RESOURCE", space=run.id("things"))
    gifts = gifts_of(run, "gatherer")
    assert [event["id"] for event in made] == [event["to"] for event in gifts]
    assert run.at(made[0]) < run.at(first) < run.at(run.of("SETTLED", n=2)[0]) < run.at(gifts[0])
    assert run.says("gatherer")[-2:] == ["collect: 0, ticket: 0, state: 3"] * 2
    assert run.says("first") == run.says("second") == ["resources: 1"]
    assert run.of("TICKET", ticket=1)[-1]["state"] == run.of("TICKET", ticket=2)[-1]["state"] == "3"


@pytest.mark.behaviour("S-09")
@pytest.mark.parametrize("kernel", thorough_but(KERNELS, KERNELS[1]))
def test_what_its_creator_has_let_go_goes_while_the_creator_lives(
    target_on: Callable[[str], Target], kernel: str
) -> None:
    """Alone and in a knot; not what another PD holds that the creator keeps."""
    run = target_on(kernel).run("released")
    assert {text.split(": ")[1] for text in run.says("releaser") if "check " in text} == {"ok"}
    (numbers,) = (text for text in run.says("releaser") if text[0].isdigit())
    kept, held, one, other, single = (f"PD_{int(number):x}" for number in numbers.split())
    assert collected(run) == [0, 3]
    assert set(run.dooms()) == {one, other, single}
    assert not {node for node, _ in run.destroys()} & {kept, held}
    assert run.says("releaser")[-1] == "lives"


@pytest.mark.behaviour("S-11", "S-09")
@pytest.mark.parametrize("kernel", thorough_but(KERNELS, KERNELS[1]))
def test_what_a_cleanup_left_holds_up_no_collection_that_does_not_touch_it(
    target_on: Callable[[str], Target], kernel: str
) -> None:
    run = target_on(kernel).run("left_and_collected")
    assert [bool(cleanup.left) for cleanup in run.report.cleanups] == [True, False]
    assert collected(run) == [0, 3]
    assert [(c["n"], c["cause"]) for c in run.cleanups()] == [("1", "fault"), ("2", "collect")]
    assert run.says("releaser")[-1] == "lives"
