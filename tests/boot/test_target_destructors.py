# SPDX-License-Identifier: BSD-2-Clause
"""Destructors on the target: the network `net` goes after the machines `vm1` and `vm2`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.system.config import Config, Pd, Program
from cellreap.testing import Change, Run, Target, together, with_bench, with_pd, with_system
from kit.marks import thorough_but
from kit.paths import ROOT

KERNELS = ("x86_64-seL4", "aarch64-seL4", "x86_64-refkernel", "aarch64-refkernel")

STAYS, FAULTS, EXITS, FAILS, BLOCKS = range(1, 6)
"""What the destructor of the program `ender` does, by its argument 0."""
NO_DESTRUCTOR = (0, 1)
DESTRUCTOR = str(1 << 31)
MACHINES = ["vm1", "vm2"]


def vm1(does: int, deadline_ms: int = 200) -> Change:
    """What the destructor of `vm1` does."""
    return with_pd("vm1", args=(does,), deadline_ms=deadline_ms)


def turns(run: Run, n: int = 1) -> list[str]:
    """The PDs in the order in which their destructors have their turns."""
    told = run.of("QUEUE", n=n, kind="pre-destroy", number=DESTRUCTOR)
    assert all(event["to"] == event["node"] for event in told)
    return [run.name(event["to"]) for event in told]


def ran(run: Run) -> list[str]:
    """The PDs in the order in which their destructors began."""
    said = [event for event in run.of("SAY") if event["text"].startswith("destructor:")]
    return [run.name(event["pd"]) for event in said]


@pytest.mark.behaviour("S-06")
@pytest.mark.parametrize("kernel", thorough_but(KERNELS, *KERNELS[:2]))
def test_a_network_undoes_its_things_after_its_machines(
    target_on: Callable[[str], Target], kernel: str
) -> None:
    """Handlers are called the other way round, before anything is destroyed."""
    run = target_on(kernel).run("ended")
    assert sorted(turns(run)[:2]) == MACHINES
    assert turns(run)[2:] == ["net"]
    assert sorted(ran(run)[:2]) == MACHINES
    assert ran(run)[2:] == ["net"]
    net = [text for text in run.says("net") if not text.startswith("check ")]
    assert net[0] == "own end: vm1 doomed vm2 doomed"
    assert net[-1] == "destructor: vm1 destroyed vm2 destroyed"
    own = [event for event in run.of("SAY") if event["text"].startswith("own end:")]
    assert run.name(own[0]["pd"]) == "net"
    assert sorted(run.name(event["pd"]) for event in own[1:]) == MACHINES
    first = min(run.at(step) for _, step in run.destroys())
    assert max(run.at(event) for event in own) < first
    assert run.alive() == set()


@pytest.mark.behaviour("S-06")
def test_those_of_one_group_run_side_by_side(target: Target) -> None:
    """`vm1` never ends. `vm2` is told before it, or beside it, and `net` behind both."""
    run = target.run("ended", change=vm1(STAYS))
    (late,) = run.of("TRIGGER", cause="late")
    assert run.name(late["pd"]) == "vm1"
    assert late.number("ms") >= 200
    (done,) = [
        event
        for event in run.of("FINISH_WORK", pd=run.id("vm2"))
        if run.of("QUEUE", token=event["token"], number=DESTRUCTOR)
    ]
    assert run.at(done) < run.at(late)
    assert turns(run)[2:] == ["net"]
    assert run.says("net")[-1] == "destructor: vm1 destroyed vm2 destroyed"
    assert len(run.cleanups()) == 1
    assert run.alive() == set()


@pytest.mark.behaviour("S-06")
def test_one_without_a_deadline_is_given_up(target: Target) -> None:
    run = target.run("ended", change=together(vm1(STAYS, 0), with_system(await_ms=100)))
    (given_up,) = run.of("GIVE_UP")
    assert run.name(given_up["pd"]) == "vm1"
    assert not run.of("TRIGGER", cause="late")
    assert turns(run)[2:] == ["net"]
    assert run.alive() == set()


@pytest.mark.behaviour("S-06")
@pytest.mark.parametrize("does", [FAULTS, pytest.param(EXITS, marks=pytest.mark.slow), FAILS])
def test_a_pd_that_dies_in_its_destructor_is_gone_with_its_group(target: Target, does: int) -> None:
    run = target.run("ended", change=vm1(does), passes=does != FAILS)
    assert sorted(ran(run)) == ["net", *MACHINES]
    assert run.says("net")[-1] == "destructor: vm1 destroyed vm2 destroyed"
    assert len(run.cleanups()) == 1
    assert run.alive() == set()


@pytest.mark.behaviour("S-06")
def test_who_crashed_or_has_dropped_it_runs_none(target: Target) -> None:
    run = target.run("ended", change=with_pd("vm2", args=NO_DESTRUCTOR))
    assert ran(run) == turns(run) == ["vm1", "net"]
    assert "own end:" in run.says("vm2")


@pytest.mark.behaviour("S-06")
def test_all_run_theirs_at_the_ordered_end_of_the_system(target: Target) -> None:
    def without_a_crash(config: Config) -> Config:
        return config.model_copy(update={"crashes": ()})

    change = together(with_system(stop_in_order=True), without_a_crash)
    run = target.run("ended", change=change)
    assert sorted(ran(run)) == ["app", "net", *MACHINES]
    assert ran(run)[0] == "app"
    assert ran(run)[-1] == "net"
    assert [event["cause"] for event in run.cleanups()] == ["stop"]


@pytest.mark.behaviour("S-06")
def test_all_run_theirs_in_a_collection(target: Target) -> None:
    source = Program(name="orphan", sources=(str(ROOT / "tests" / "pds" / "ender.c"),))

    def change(config: Config) -> Config:
        return config.model_copy(update={"programs": (source,)})

    run = target.run("released", change=change, passes=False)
    taken = set(run.dooms(1))
    assert run.cleanups()[0]["cause"] == "collect"
    assert {event["to"] for event in run.of("QUEUE", n=1, number=DESTRUCTOR)} == taken
    assert len(taken) > 1
    assert not run.report.violations


def with_neighbours(config: Config) -> Config:
    """A server that faults at the first call, and its client, below all others."""
    server = {"name": "other", "program": "hole", "args": [1]}
    server |= {"space": [{"name": "others", "type": "PART"}]}
    client = {"name": "user", "program": "ender", "requests": ["others"], "priority": 60}
    pds = (*config.pds, Pd.model_validate(server), Pd.model_validate(client))
    return config.model_copy(update={"pds": pds})


@pytest.mark.behaviour("S-06", "J-14")
def test_a_cleanup_beside_it_begins_and_ends_while_a_destructor_runs(target: Target) -> None:
    run = target.run("ended", change=together(vm1(BLOCKS, 1000), with_neighbours))
    assert [run.name(event["trigger"]) for event in run.cleanups()] == ["app", "other"]
    wait, resume = (run.at(run.of(event, n=1)[-2]) for event in ("WAIT", "CONTINUE"))
    (begun,), (settled,) = run.of("CLEANUP", n=2), run.of("SETTLED", n=2)
    assert wait < run.at(begun) < run.at(settled) < resume
    assert turns(run, 2) == ["user"]
    assert turns(run)[2:] == ["net"]
    assert run.alive() == set()


@pytest.mark.behaviour("S-06", "J-14")
def test_the_one_that_waits_goes_on_after_a_cleaner_died_beside_it(target: Target) -> None:
    change = together(vm1(BLOCKS, 1000), with_neighbours)
    steps = target.run("ended", change=change).of("STEP")
    at = next(n for n, step in enumerate(steps, 1) if step["n"] == "2")
    dies = with_bench(inject=(f"step:{at}:fault:x2",))
    run = target.run("ended", change=together(change, dies))
    assert [event["n"] for event in run.of("TAKEOVER")] == ["2", "2"]
    assert turns(run)[2:] == ["net"]
    assert run.alive() == set()


@pytest.mark.slow
@pytest.mark.behaviour("S-06")
@pytest.mark.parametrize("death", ["fault", "hang"])
def test_a_cleaner_that_dies_in_the_turns_is_replaced(target: Target, death: str) -> None:
    """At each step that belongs to a turn, from the first one to the last."""
    whole = target.run("ended")
    names = [step["name"] for step in whole.of("STEP", n=1)]
    told = [at for at, name in enumerate(names, 1) if name == "tell"]
    first = told[len(whole.plan()["pre_destroy"])]
    at = [n for n in range(first, len(names)) if names[n - 1] in ("tell", "await", "suspend")]
    inject = tuple(f"step:{n}:{death}" for n in at)
    run = target.run("ended", change=with_bench(inject=inject))
    assert {event["step"] for event in run.of("TAKEOVER")} == {"tell", "await", "suspend"}
    assert sorted(ran(run)) == sorted(turns(run)) == ["net", *MACHINES]


@pytest.mark.slow
@pytest.mark.behaviour("S-06", "S-11")
@pytest.mark.parametrize("name", ["tell", "suspend"])
def test_a_step_of_a_turn_that_fails_for_ever_is_left(target: Target, name: str) -> None:
    """A PD that cannot be told runs no destructor. One that cannot be stopped stays doomed."""
    whole = target.run("ended")
    names = [step["name"] for step in whole.of("STEP", n=1)]
    told = [at for at, each in enumerate(names, 1) if each == "tell"]
    first = told[len(whole.plan()["pre_destroy"])]
    at = next(n for n in range(first, len(names)) if names[n - 1] == name)
    change = with_bench(inject=(f"step:{at}:error:always",))
    run = target.run("ended", change=change, passes=False)
    assert not run.report.violations
    assert len(ran(run)) == (2 if name == "tell" else 3)
