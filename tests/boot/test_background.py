# SPDX-License-Identifier: BSD-2-Clause
"""A system with a computation that never rests behaves like a system without one.

A wait ends because of a deadline, because of the system's await_ms, or because the model shows that
the awaited event cannot occur. Idle time never ends a wait.
"""

from __future__ import annotations

import pytest

from cellreap.system.config import Config, Pd
from cellreap.testing import Change, Run, Target, together, with_pd, with_system
from kit.marks import slow_but
from kit.undone import undone


def background(program: str) -> Change:
    """A change: adds one PD with the lowest priority of all."""
    more = Pd(name="background", program=program, priority=1, background=True)

    def change(config: Config) -> Config:
        return config.model_copy(update={"pds": (*config.pds, more)})

    return change


SPINNING, RESTING = background("spinner"), background("idler")


def outcome(run: Run) -> dict[str, object]:
    """What must not depend on a background computation: decisions, losses, printed lines."""
    cleanups = range(1, len(run.cleanups()) + 1)
    return {
        "causes": [(run.name(event["trigger"]), event["cause"]) for event in run.cleanups()],
        "destroyed": [run.destroyed(n) for n in cleanups],
        "notices": [run.notices(n) for n in cleanups],
        "said": {name: run.says(name) for name in dict.fromkeys(run.names.values())},
        "alive": run.alive(),
    }


NEVER = 2
NEVER_ANSWERS = together(
    with_pd("watcher", deadline_ms=0, args=(1, NEVER)), with_system(await_ms=200)
)
DEAF = together(
    with_pd("server", program="deaf", args=(8,)), with_system(deadline_ms=0, await_ms=200)
)

SYSTEMS: dict[str, tuple[str, Change, bool]] = {
    "rounds": ("block_fs_db_app", lambda config: config, True),
    "connect": ("reattach", lambda config: config, True),
    "extraction": ("extract", lambda config: config, True),
    "subscriber that never answers": ("subscribed", NEVER_ANSWERS, False),
    "ticket that is never over": ("tickets", DEAF, False),
}


@pytest.mark.behaviour("J-13")
@pytest.mark.parametrize("what", slow_but(SYSTEMS, "rounds"))
def test_nothing_is_decided_by_idleness(target: Target, what: str) -> None:
    name, change, passes = SYSTEMS[what]
    resting, spinning = (
        target.run(name, change=together(change, more), passes=passes)
        for more in (RESTING, SPINNING)
    )
    assert "background" in spinning.alive()
    assert outcome(spinning) == outcome(resting)


@pytest.mark.slow
@pytest.mark.behaviour("J-13")
def test_a_cleanup_awaits_a_subscriber_without_a_deadline_for_a_time(target: Target) -> None:
    """The report names the missing answer. The cleanup completes nevertheless."""
    run = target.run("subscribed", change=together(NEVER_ANSWERS, SPINNING))
    assert undone(run) == [
        ("watcher", "left its rounds: the last that it did is SAY 'look: space doomed'"),
        ("watcher", "never acknowledged (pre-destroy goods)"),
        ("watcher", "never fetched (lost goods)"),
        ("watcher", "never fetched (lost victim)"),
    ]
    (given_up, *_) = run.of("GIVE_UP")
    assert run.name(given_up["pd"]) == "watcher"
    assert given_up.number("ran") >= 200
    assert run.destroyed(1)
    assert not run.of("TRIGGER", cause="late")


@pytest.mark.slow
@pytest.mark.behaviour("J-13", "D-10")
def test_a_ticket_is_over_when_its_receivers_are_given_up(target: Target) -> None:
    waits = with_pd("boss", args=(2 | 4, 2, 3))
    run = target.run("tickets", change=together(DEAF, waits, SPINNING), passes=False)
    stands = "over: done 0, failed 0, dropped 0, waiting 3, held 0"
    assert f"waited: ticket 1 {stands}" in run.says("boss")


@pytest.mark.behaviour("J-13")
def test_a_ring_of_connects_is_told_that_nothing_comes(target: Target) -> None:
    """Each of two PDs waits for the other's space before it creates its own."""
    run = target.run("connect_ring")
    assert run.says("one") == ["connect: 6"]
    assert run.says("two") == ["connect: 0"]
