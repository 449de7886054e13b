# SPDX-License-Identifier: BSD-2-Clause
"""Only a PD that could run and finished nothing is late, and nobody is awaited for ever.

Under -icount each run is the same. An instruction takes 8 ns: that is slow enough for the numbers
of turns below to take long by the clock of the machine, and quick enough for the tests.
"""

from __future__ import annotations

import pytest

from cellreap.system.config import Config, Pd
from cellreap.system.config.schema import Quota
from cellreap.testing import Change, Run, Target, together, with_bench, with_pd, with_system
from cellreap.trace.check import check
from kit.counted import SLOW_COUNTED
from kit.marks import slow_but, thorough_but

COMPUTES, HANGS, FAILS, CALLS = range(4)


def receives(how: int, turns: int = 0, second: int = 0, **more: object) -> Change:
    """A change: what the receiver does with a notice."""
    return with_pd("receiver", args=(how, turns, second), **more)


def causes(run: Run) -> list[tuple[str, str]]:
    """The PD and the cause of each cleanup."""
    return [(run.name(c["trigger"]), c["cause"]) for c in run.cleanups()]


def finished(run: Run, name: str) -> int:
    """The number of notices that a PD finished."""
    return sum(run.name(event["pd"]) == name for event in run.of("FINISH_WORK"))


@pytest.mark.behaviour("J-06")
@pytest.mark.parametrize("notices", thorough_but([201, 1001], 201))
def test_who_steadily_finishes_notices_is_never_late(target: Target, notices: int) -> None:
    """It takes three times its deadline for the notices that one crash owes it."""
    change = together(
        receives(COMPUTES, 75_000_000 // notices, quota=Quota(nodes=notices + 1)),
        with_pd("holder", args=(notices,), quota=Quota(edges=2 * notices)),
    )
    run = target.run("progress", change=change, qemu_args=SLOW_COUNTED)
    assert run.says("holder") == [f"resources: {notices}"]
    assert causes(run) == [("holder", "exit")]
    assert finished(run, "receiver") == notices + 1  # and the end of the holder's request
    assert not run.of("TRIGGER", cause="late")


@pytest.mark.behaviour("N-11", "J-06")
@pytest.mark.parametrize("how", thorough_but([HANGS, FAILS], HANGS))
def test_who_finishes_nothing_is_late(target: Target, how: int) -> None:
    """To fail the first notice and resume it, again and again, is no progress."""
    run = target.run("progress", change=together(receives(how), with_system(deadline_ms=200)))
    assert causes(run) == [("holder", "exit"), ("receiver", "late")]
    (late,) = run.of("TRIGGER", cause="late")
    assert 200 <= late.number("ms") < 300
    failures = [event for event in run.of("FINISH_WORK") if event["result"] == "failed"]
    assert (len(failures) > 2) == (how == FAILS)


def with_busy(turns: int, priority: int) -> Change:
    """A PD that begins to compute when the receiver creates its second space."""

    def change(config: Config) -> Config:
        busy = {
            "name": "busy",
            "program": "late_starter",
            "requests": ["more"],
            "args": [turns],
            "deadline_ms": 0,
            "priority": priority,
        }
        receiver = config.pd("receiver")
        assert receiver is not None
        more = type(receiver.spaces[0])(name="more", type="THING")
        receiver = receiver.model_copy(update={"spaces": (*receiver.spaces, more)})
        pds = tuple(receiver if pd.name == "receiver" else pd for pd in config.pds)
        return config.model_copy(update={"pds": (*pds, Pd.model_validate(busy))})

    return change


# By its own clock, the computation takes 5 deadlines.
LONG = 12_500_000


@pytest.mark.behaviour("J-06", "J-13", "W-04")
def test_who_cannot_run_is_not_late(target: Target) -> None:
    """A PD of higher priority computes while the receiver has fetched a notice."""
    change = together(
        receives(COMPUTES, 10, second=1, priority=50),
        with_system(deadline_ms=100),
        with_busy(LONG, priority=150),
    )
    run = target.run("progress", change=change, qemu_args=SLOW_COUNTED)
    assert run.says("busy") == ["computed"]
    assert causes(run) == [("holder", "exit")]
    assert finished(run, "receiver") == 5
    fetched, last = run.of("fetched NOTICE")[0], run.of("FINISH_WORK")[-1]
    (computed,) = run.of("SAY", text="computed")
    assert run.at(fetched) < run.at(computed) < run.at(last)
    told = run.of("HELD_UP")
    assert {run.name(event["pd"]) for event in told} == {"receiver"}
    assert all(event.number("ran") < 100 <= event.number("ms") for event in told)
    untold = check(event for event in run.events if event.name != "HELD_UP")
    assert {violation.rule for violation in untold.violations} == {"clock.late"}


@pytest.mark.behaviour("J-13", "S-15")
def test_the_time_of_a_cleanup_that_hangs_is_told_of_whom_it_owed_a_notice(target: Target) -> None:
    """The cleaner hangs right after the first notice, and the receiver cannot run."""
    plain = target.run("progress", qemu_args=SLOW_COUNTED)
    notifies = [at for at, step in enumerate(plain.of("STEP"), 1) if step["name"] == "notify"]
    hangs = with_bench(inject=(f"step:{notifies[-1]}.end:hang",))
    change = together(hangs, with_system(deadline_ms=100))
    run = target.run("progress", change=change, qemu_args=SLOW_COUNTED)
    (told,) = run.of("HELD_UP")
    assert (run.name(told["pd"]), told["ran"]) == ("receiver", "0")
    assert told.number("ms") >= 100
    assert causes(run) == [("holder", "exit")]


@pytest.mark.behaviour("J-06", "N-11")
def test_who_could_run_beside_others_of_its_priority_is_late(target: Target) -> None:
    change = together(
        receives(HANGS, 10, second=1),
        with_system(deadline_ms=100),
        with_busy(LONG, priority=100),
    )
    run = target.run("progress", change=change, qemu_args=SLOW_COUNTED)
    assert causes(run) == [("holder", "exit"), ("receiver", "late")]


HELD = {
    "deadline": 100,
    "no deadline": 0,
}


@pytest.mark.behaviour("J-13", "A-06")
@pytest.mark.parametrize("what", slow_but(HELD, "deadline"))
def test_a_subscriber_in_a_call_that_is_never_answered_holds_nobody_up(
    target: Target, what: str
) -> None:
    """It is not blamed, and the cleanup goes on without it. Who it calls has no deadline."""
    change = with_pd("subscriber", deadline_ms=HELD[what])
    run = target.run("held_up", change=change, passes=False)
    (given_up,) = run.of("GIVE_UP")
    assert run.name(given_up["pd"]) == "subscriber"
    assert given_up.number("held_up") >= 400
    assert given_up.number("ran") <= 50
    assert not run.of("TRIGGER", cause="late")
    assert run.name(run.cleanups()[0]["trigger"]) == "goer"
    assert run.of("CONTINUE", n=1)
    assert {"mute", "subscriber"} <= run.alive()
    assert all("was never" in problem.text for problem in run.report.violations)


@pytest.mark.behaviour("J-06", "J-13")
def test_the_time_in_which_the_root_task_is_busy_is_nobodys(target: Target) -> None:
    """Each notice takes it less than half its deadline. Meanwhile large PDs are created."""
    run = target.run("burden", qemu_args=SLOW_COUNTED)
    assert run.says("burdener") == ["made 10"]
    assert not run.of("TRIGGER", cause="late")
    assert causes(run) == [("holder", "exit")]
