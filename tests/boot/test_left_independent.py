# SPDX-License-Identifier: BSD-2-Clause
"""What a cleanup leaves for good holds up nobody."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.system.config import Config, Pd
from cellreap.testing import (
    Change,
    Run,
    Target,
    together,
    with_bench,
    with_crashes,
    with_pd,
    with_system,
)
from cellreap.trace.report import found_in
from kit.marks import slow_but

KERNELS = ("x86_64-seL4", "aarch64-seL4", "x86_64-refkernel")
RELAYS = 2
DESTROYS_PD, STEPS = 6, 7
"""The first step that destroys a PD of many, and the steps of each cleanup."""
LEFT = {
    "cut-request": "step:4:error:always",
    "destroy-space": "step:5:error:always",
    "destroy-pd": "step:6:error:always",
    "notify": "step:7:error:always",
}
"""Step of the first cleanup -> what has it fail for good."""

THEN_THE_CLIENT = with_crashes(
    {"pd": "other_server", "at": 3, "how": "page-fault"},
    {"pd": "common", "at": 5, "how": "page-fault"},
)
"""A change: the client of what the first cleanup leaves goes next."""


def injecting(*failures: str) -> Change:
    """A change: these failures."""
    return with_bench(inject=failures)


def triggers(run: Run) -> list[str]:
    """The triggers of the cleanups, in order."""
    return [run.name(event["trigger"]) for event in run.cleanups()]


def left_at_the_end(run: Run, n: int) -> set[str]:
    """The kinds of the steps that the n-th cleanup leaves at the end."""
    return {step[0] for step in run.report.cleanups[n - 1].left}


@pytest.mark.behaviour("S-11")
@pytest.mark.parametrize("step", slow_but(LEFT, "notify"))
def test_the_next_crash_is_cleaned_up_whatever_the_first_leaves(target: Target, step: str) -> None:
    run = target.run("left_apart", change=injecting(LEFT[step]))
    assert step in left_at_the_end(run, 1)
    assert triggers(run) == ["other_server", "goods_server"]
    assert left_at_the_end(run, 2) == set()
    assert len(run.ids("goods_server")) == 2, "it is created anew"
    (said,) = run.says("stranger")
    assert said.startswith("asked 12: answered 11, lost 1")
    assert run.report.waits == []


@pytest.mark.behaviour("S-11")
def test_a_notice_is_owed_no_more_when_its_receiver_is_gone(target: Target) -> None:
    """The client to which the notice is owed goes too. Then nothing is left."""
    change = together(THEN_THE_CLIENT, injecting(LEFT["notify"]))
    run = target.run("left_apart", change=change)
    assert triggers(run) == ["other_server", "common"]
    step, _, receiver = run.report.cleanups[0].lefts[0][0]
    assert (step, run.name(receiver)) == ("notify", "common")
    assert left_at_the_end(run, 1) == set()
    assert "common" not in run.alive()


@pytest.mark.behaviour("S-11", "S-15")
def test_a_request_that_a_cleanup_left_goes_with_the_client_that_made_it(target: Target) -> None:
    """Then the space can be destroyed."""
    change = together(THEN_THE_CLIENT, injecting(LEFT["cut-request"]))
    run = target.run("left_apart", change=change)
    assert triggers(run) == ["other_server", "common"]
    requests = [step for step in run.report.cleanups[0].lefts[0] if step[0] == "cut-request"]
    _, space, client = requests[0]
    assert run.name(client) == "common"
    assert space in [node for node, _ in run.destroys(1)]
    assert left_at_the_end(run, 1) == set()


def with_a_request(config: Config) -> Config:
    """The server that crashes first is a client of the one that crashes next."""
    more = {"requests": ("goods",), "args": (RELAYS,)}
    pds = (pd.model_copy(update=more if pd.name == "other_server" else {}) for pd in config.pds)
    return config.model_copy(update={"pds": tuple(pds)})


@pytest.mark.behaviour("S-11")
@pytest.mark.parametrize("kernel", slow_but(KERNELS, KERNELS[0]))
def test_a_cleanup_begins_beside_what_is_left_though_it_touches_it(
    target_on: Callable[[str], Target], kernel: str
) -> None:
    """The server that cannot be destroyed has a request to the one that crashes next."""
    change = together(with_a_request, injecting(LEFT["destroy-pd"]))
    run = target_on(kernel).run("left_apart", change=change)
    assert "destroy-pd" in left_at_the_end(run, 1)
    assert triggers(run) == ["other_server", "goods_server"]
    assert left_at_the_end(run, 2) == set()
    cut = {run.name(step["pd"]) for step in run.of("STEP", n=2, name="cut-request")}
    assert "other_server" in cut
    assert len(run.ids("goods_server")) == 2, "it is created anew"
    (said,) = run.says("stranger")
    assert said.startswith("asked 12: answered 11, lost 1")
    assert run.report.waits == []


@pytest.mark.behaviour("S-11", "S-15")
def test_the_capability_that_a_cleanup_left_goes_with_the_pd_that_it_is_of(target: Target) -> None:
    """A server that cannot be destroyed was the only holder of the PD that crashes next."""
    change = together(
        with_pd("other_server", holds_pds=("goods_server",)), injecting(LEFT["destroy-pd"])
    )
    run = target.run("left_apart", change=change)
    (body,) = run.plan()["core_freed"]
    assert {step[0] for step in run.report.cleanups[0].left} == {"destroy-pd"}
    first = run.report.cleanups[0].lefts[0]
    assert {node for step, node, _ in first if step == "destroy-resource"} == {body}
    assert body in [node for node, _ in run.destroys(2)]
    assert triggers(run) == ["other_server", "goods_server"]
    assert len(run.ids("goods_server")) == 2, "it is created anew, and nobody holds it"


@pytest.mark.behaviour("S-11", "X-13")
@pytest.mark.parametrize("kernel", slow_but(KERNELS, KERNELS[0]))
def test_the_ordered_end_of_the_system_comes_whatever_was_left(
    target_on: Callable[[str], Target], kernel: str
) -> None:
    """The verdict names what was left. Nobody else is there at the end."""
    stops = with_system(stop_in_order=True)
    change = together(with_a_request, injecting(LEFT["destroy-pd"]), stops)
    run = target_on(kernel).run("left_apart", change=change)
    assert triggers(run) == ["other_server", "goods_server", "-"]
    assert run.cleanups()[-1]["cause"] == "stop"
    (left,) = run.ids("other_server")
    assert len(run.of("TRIGGER", cause="stop")) == 1
    assert left not in run.doomed(3)
    assert left_at_the_end(run, 3) == set()
    assert ["destroy-pd", left, left] in run.report.cleanups[0].left
    assert run.alive() == set()
    (found,) = found_in(run.report)
    assert f"destroy-pd other_server ({left})" in str(found)


MANY = 11
"""Two more cleanups than have later runs."""


def with_many(config: Config) -> Config:
    """So many servers, each with a client. The priorities have the servers fault in turn."""
    server, client = config.pd("second_server"), config.pd("second_client")
    assert server is not None
    assert client is not None
    pds: list[Pd] = []
    for i in range(MANY + 1):
        space = type(server.spaces[0])(name=f"thing{i}", type="THING")
        pds += [
            server.model_copy(update={"name": f"server{i}", "spaces": (space,)}),
            client.model_copy(
                update={"name": f"client{i}", "requests": (space.name,), "priority": 60 - i}
            ),
        ]
    return config.model_copy(update={"pds": tuple(pds)})


def failing() -> Change:
    """A change: all PDs of many but the last cannot be destroyed."""
    steps = range(DESTROYS_PD, DESTROYS_PD + MANY * STEPS, STEPS)
    return injecting(*(f"step:{step}:error:always" for step in steps))


@pytest.mark.behaviour("S-11")
@pytest.mark.parametrize("kernel", slow_but(KERNELS, "x86_64-refkernel"))
def test_any_number_of_cleanups_may_leave_something(
    target_on: Callable[[str], Target], kernel: str
) -> None:
    """Those of which there is no room to keep it leave it for good."""
    run = target_on(kernel).run("independent", change=together(with_many, failing()))
    assert triggers(run) == [f"server{i}" for i in range(MANY + 1)]
    for n in range(1, MANY + 1):
        assert "destroy-pd" in left_at_the_end(run, n)
        assert bool(run.of("RECOVER", n=n)) == (n <= 9)
    assert [cleanup.for_good for cleanup in run.report.cleanups] == [
        *[False] * 9,
        True,
        True,
        False,
    ]
    assert left_at_the_end(run, MANY + 1) == set()
    assert run.alive() == {f"client{i}" for i in range(MANY + 1)}
    assert run.report.waits == []


@pytest.mark.slow
@pytest.mark.behaviour("S-11", "S-06")
def test_a_cleanup_that_awaits_destructors_takes_no_place_of_those_that_left_something(
    target_on: Callable[[str], Target],
) -> None:
    """What it owes is kept while it waits."""

    def with_a_destructor(config: Config) -> Config:
        pd = Pd(name="vm1", program="ender")
        return config.model_copy(update={"pds": (*config.pds, pd)})

    change = together(with_many, failing(), with_a_destructor, with_system(stop_in_order=True))
    run = target_on("x86_64-refkernel").run("independent", change=change)
    *_, wait = run.of("WAIT")
    assert wait["n"] == str(MANY + 2)
    later = {int(event["n"]) for event in run.of("RECOVER") if run.at(event) > run.at(wait)}
    assert later == set(range(1, 10))
    for_good = {cleanup.number for cleanup in run.report.cleanups if cleanup.for_good}
    assert for_good == {10, 11}
    assert run.alive() == set()


@pytest.mark.behaviour("S-11", "X-19")
def test_a_trigger_that_another_cleanup_left_is_in_the_queue_no_more(target: Target) -> None:
    """A PD that is terminated with its creator has a place of its own in the queue. Two parents
    spawn at the same time, so each boot has other numbers for their children.
    """

    def child(run: Run) -> str:
        (first, _) = (f"PD_{int(number):x}" for number in run.says("parent")[-1].split())
        return first

    whole = target.run("grove")
    names = [(step["name"], step["node"]) for step in whole.of("STEP")]
    number = 1 + names.index(("destroy-pd", child(whole)))
    change = together(injecting(f"step:{number}:error:always"), with_system(stop_in_order=True))
    run = target.run("grove", change=change)
    left = child(run)
    assert run.report.cleanups[0].left == [["destroy-pd", left, left]]
    assert [event["cause"] for event in run.cleanups()] == ["subtree", "stop"]
    assert run.says("boss")[-1].startswith(f"again: ticket {run.report.tickets[0].ticket} over")
    assert run.alive() == set()
