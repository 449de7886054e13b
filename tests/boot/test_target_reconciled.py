# SPDX-License-Identifier: BSD-2-Clause
"""An image that carries what a saved state left: it is cleaned up before any PD runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import cellreap
from cellreap.system.config import Config
from cellreap.testing import Run, Target, with_bench

NAME = "reconciled"
SAVED = {"block_server_2": "PD_2", "fs": "PD_3"}
"""PDs that the configuration names, and what they were in the saved state."""


@pytest.fixture(params=["x86_64-seL4", "aarch64-seL4", "aarch64-refkernel"])
def boots(request: pytest.FixtureRequest, target_on: Callable[[str], Target]) -> Target:
    """The target of the kernel."""
    return target_on(str(request.param))


def in_saved_state(run: Run, node: str) -> str:
    """What the node was in the saved state. Only PDs that are named have another id."""
    return SAVED.get(run.name(node), node)


@pytest.mark.slow
@pytest.mark.behaviour("G-42")
def test_what_is_not_named_goes_as_it_was_planned(boots: Target) -> None:
    run, path = boots.run(NAME), boots.find(NAME)
    plan = cellreap.reconcile(path.with_suffix(".csv"), path)
    (cleanup,) = run.cleanups()
    assert (cleanup["trigger"], cleanup["cause"]) == ("-", "reconcile")
    assert dict(run.plan()["destroyed_pds"]) == dict(plan.destroyed_pds)
    assert set(run.dooms(kind="RESOURCE_SPACE")) == set(plan.deleted_spaces)
    owed = {(in_saved_state(run, to), *rest) for to, *rest in run.plan()["notices"]}
    assert owed == set(plan.notices)
    kinds = {kind for _, kind, _, _ in owed}
    assert kinds == {"destroy", "disconnect", "free", "lost"}


SUBSCRIBED = """\
,,NONE,SUBSCRIBE,PD_3,PD_4,
,,NONE,SUBSCRIBE,PD_3,PD_4,
,,NONE,SUBSCRIBE,PD_3,PD_4,HANDLER=2
,,NONE,SUBSCRIBE,PD_2,TABLE_SPACE_6,HANDLER=31
,,NONE,SUBSCRIBE,PD_3,LOG_SPACE_7,
,,NONE,SUBSCRIBE,PD_3,BLOCK_SPACE_4,
,,NONE,SUBSCRIBE,PD_3,PD_2,
,,NONE,SUBSCRIBE,PD_5,PD_4,
,,NONE,SUBSCRIBE,PD_5,PD_3,
"""
"""To PDs and to spaces, of PDs that go and that stay; to what stays, and by who goes."""


@pytest.mark.behaviour("S-08")
def test_who_subscribed_and_stays_is_told_as_it_was_planned(boots: Target, tmp_path: Path) -> None:
    path = boots.find(NAME)
    saved = tmp_path / "saved.csv"
    saved.write_text(path.with_suffix(".csv").read_text() + SUBSCRIBED)

    def subscribed(config: Config) -> Config:
        system = config.system.model_copy(update={"reconcile": str(saved)})
        return config.model_copy(update={"system": system})

    plan = cellreap.reconcile(saved, path)
    assert plan.pre_destroy == [
        ("PD_2", "TABLE_SPACE_6"),
        ("PD_3", "LOG_SPACE_7"),
        ("PD_3", "PD_4"),
    ]
    run = boots.run(NAME, change=subscribed)
    told = run.of("QUEUE", kind="pre-destroy")
    assert sorted((in_saved_state(run, e["to"]), e["node"]) for e in told) == plan.pre_destroy
    groups = {node: group for group, nodes in enumerate(plan.groups) for node in nodes}
    assert run.groups() == groups
    assert max(map(run.at, told)) < min(run.at(step) for _, step in run.destroys())
    for pd, text in (("fs", "PD_4"), ("fs", "space 7"), ("block_server_2", "space 6")):
        assert f"told: about to be destroyed: {text}" in run.says(pd)
    tokens = {e["token"] for e in told}
    assert {e["result"] for e in run.of("FINISH_WORK") if e["token"] in tokens} == {"ok"}


@pytest.mark.slow
@pytest.mark.behaviour("G-42")
def test_it_goes_before_any_pd_runs_and_servers_are_told(boots: Target) -> None:
    run = boots.run(NAME)
    gone = max(run.at(step) for _, step in run.destroys())
    assert gone < min(run.at(event) for event in [*run.of("SAY"), *run.of("fetched NOTICE")])
    assert not {event["pd"] for event in run.of("SAY")} & set(run.dooms())
    told = {line for line in run.says("fs") if line.startswith("told: ")}
    assert told == {
        "told: my space 7 is destroyed",
        "told: I have lost space 3",
        "told: my space 5 has lost its client PD_4",
        "told: my space 5 has lost its client PD_11",
        "told: space 5 object 7 is no longer held by PD_11",
    }


@pytest.mark.slow
@pytest.mark.behaviour("G-42")
def test_no_number_of_the_saved_state_is_given_again(boots: Target) -> None:
    """The space of the file server is the one that it had, and is not made twice."""
    run = boots.run(NAME)
    spaces = [event for event in run.of("SPACE") if event["name"] == "files"]
    assert [(event["id"], event["op"]) for event in spaces] == [("FILE_SPACE_5", "reconcile")]
    mine = [event for event in run.of("RESOURCE") if event["space"] == "FILE_SPACE_5"]
    assert [event["id"] for event in mine] == ["FILE_5_7", "FILE_5_8"]
    assert [event["op"] for event in mine] == ["reconcile", "create_resource"]
    before = set(run.dooms())
    assert max(int(pd[3:], 16) for pd in before) < int(run.id("block_server_2")[3:], 16)


@pytest.mark.slow
@pytest.mark.behaviour("G-42")
@pytest.mark.parametrize("how", ["fault", "error", "hang"])
def test_the_cleaner_may_die_at_each_step(target: Target, how: str) -> None:
    steps = int(target.run(NAME).cleanups()[0]["steps"])
    assert steps > 20
    ways = tuple(f"step:{number}:{how}" for number in range(1, steps + 1, 7))
    run = target.run(NAME, change=with_bench(inject=ways))
    assert {event["death"] for event in run.of("TAKEOVER")} == {how}
    assert len(run.of("TAKEOVER")) == len(range(1, steps + 1, 7))
    assert len(run.destroys()) == len(target.run(NAME).destroys())


@pytest.mark.slow
def test_the_kernel_has_nothing_of_what_went(target: Target) -> None:
    def truth(config: Config) -> Config:
        system = config.system.model_copy(update={"truth": True})
        return config.model_copy(update={"system": system})

    run = target.run(NAME, change=truth)
    assert run.of("TRUTH")
