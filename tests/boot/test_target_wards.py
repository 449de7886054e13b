# SPDX-License-Identifier: BSD-2-Clause
"""A PD whose fault is held still is what it was to others: a server, a client, a PD that is called.

The fault is pretended: the PD sends a message in the form of a fault, so it can go on afterwards.
"""

from __future__ import annotations

import pytest

from cellreap.testing import Run, Target, with_pd
from kit.marks import slow_but

RELEASES, LEAVES, CONNECTS, TERMINATES, _, CALLS, CALLS_LATER = range(7)


DROPS = {"release": (RELEASES, "HOLD"), "disconnect": (LEAVES, "REQUEST")}


def goes_on(run: Run) -> bool:
    """Whether the handler let the ward go on."""
    resumed = [run.name(event["pd"]) for event in run.of("resumed THREAD")]
    return resumed == ["ward"] and "goes on" in run.says("ward")


@pytest.mark.behaviour("J-03", "J-02")
@pytest.mark.parametrize("what", slow_but(DROPS, "release"))
def test_what_a_client_drops_is_gone_while_its_server_is_held(target: Target, what: str) -> None:
    """Its slot is empty, and takes the next capability."""
    act, kind = DROPS[what]
    run = target.run("ward", change=with_pd("sitter", args=(act,)))
    said = run.says("sitter")
    assert said[said.index(f"{what} 0") + 1] == "lost 1"
    (dropped,) = run.dropped(kind)
    assert said[said.index("lost 1") + 1 :][:2] == ["connect 0", f"slot {dropped['number']}"]
    assert goes_on(run)


@pytest.mark.behaviour("J-10")
def test_a_client_connects_to_a_server_that_is_held(target: Target) -> None:
    run = target.run("ward", change=with_pd("sitter", args=(CONNECTS,)))
    said = run.says("sitter")
    assert said[said.index("has a fault") + 1] == "connect 0"
    assert goes_on(run)


@pytest.mark.behaviour("J-02", "J-03")
def test_what_a_held_server_loses_is_taken_from_its_clients(target: Target) -> None:
    """Its space goes with the one that it is built on. The slots of its client are used anew."""
    run = target.run("ward", change=with_pd("sitter", args=(TERMINATES,)))
    assert run.deleted_spaces() == {"ground", "beds"}
    assert run.says("sitter")[-2] == "connect 0"
    assert goes_on(run)


@pytest.mark.behaviour("J-02", "C-20")
def test_a_client_that_is_held_is_told_of_what_it_loses(target: Target) -> None:
    run = target.run("ward_client")
    told = [event["kind"] for event in run.of("QUEUE") if run.name(event["to"]) == "ward"]
    assert told == ["lost"]
    slot, *_, again = (text for text in run.says("ward") if text.startswith("slot "))
    assert again == slot
    assert goes_on(run)


CALLED = {"faults in the call": CALLS, "has faulted": CALLS_LATER}


@pytest.mark.behaviour("J-07", "J-08")
@pytest.mark.parametrize("when", slow_but(CALLED, "faults in the call"))
@pytest.mark.parametrize("deadline", slow_but((0, 200), 200))
def test_a_handler_that_waits_for_the_pd_that_faulted_is_freed(
    target: Target, when: str, deadline: int
) -> None:
    """It can never answer. It is not to blame: the PD that faulted goes, and only that one."""
    change = with_pd("sitter", args=(CALLED[when],), deadline_ms=deadline)
    run = target.run("ward", change=change)
    assert "lost 1" in run.says("sitter")
    assert [(run.name(c["trigger"]), c["cause"]) for c in run.cleanups()] == [("ward", "fault")]
    assert run.destroyed_pds() == {"ward"}
    assert not run.of("QUEUE", kind="probe")
    assert not run.of("TRIGGER", cause="late")
