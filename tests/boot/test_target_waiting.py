# SPDX-License-Identifier: BSD-2-Clause
"""No PD waits for a PD that cannot answer, and no PD is told that a coming answer will not come."""

from __future__ import annotations

import pytest

from cellreap.system.config import Config, Mode, Pd, Space
from cellreap.system.config.schema import Quota
from cellreap.testing import Change, Run, Target, together, with_crashes, with_pd, with_system
from kit.undone import undone

FULL, GONE = 8, 6
NEVER, SLOWLY, FAULTS = 2, 3, 5
CONNECTS, RECONNECTS, ASKS, MAKES = 1, 2, 4, 8


def with_pds(*pds: Pd) -> Change:
    """A change: adds PDs."""

    def change(config: Config) -> Config:
        return config.model_copy(update={"pds": (*config.pds, *pds)})

    return change


def waiter(does: int, *requests: str) -> Pd:
    """A PD that subscribes to "goods" and waits at the wrong moments."""
    return Pd(name="waiter", program="waiter", requests=("goods", *requests), args=(does,))


def between(run: Run, text: str, n: int = 1) -> bool:
    """Whether the waiter printed this while the n-th cleanup waited."""
    (start,), (end,) = run.of("WAIT", n=n), run.of("CONTINUE", n=n)
    (said,) = [event for event in run.of("SAY") if event["text"] == text]
    return run.at(start) < run.at(said) < run.at(end)


# -- a suspended PD has no deadlines

LATE_VICTIM = together(
    with_crashes({"pd": "victim", "at": 3, "how": "block"}),
    with_pds(Pd(name="quitter", program="quitter", requests=("goods",), args=(2,))),
    with_pd("victim", deadline_ms=60),
)


@pytest.mark.slow
@pytest.mark.behaviour("N-11", "X-05")
def test_a_late_pds_other_deadlines_leave_its_subscriber_the_time_it_needs(target: Target) -> None:
    """The deadlines are over while the PD still exists.

    An interrupt for each would be due at once, again and again.
    """
    slow = with_pd("watcher", deadline_ms=0, args=(1, SLOWLY, 3000))
    run = target.run("subscribed", change=together(LATE_VICTIM, slow))
    assert [run.name(event["pd"]) for event in run.of("TRIGGER", cause="late")] == ["victim"]
    assert between(run, "took long", 2)
    assert [c["cause"] for c in run.cleanups()] == ["exit", "late"]


@pytest.mark.slow
def test_a_late_pds_other_deadlines_do_not_put_off_that_a_cleanup_is_given_up(
    target: Target,
) -> None:
    """No PD runs any more, and the subscriber has no deadline.

    The cleanup goes on without its answer, and the notice is never finished.
    """
    never = with_pd("watcher", deadline_ms=0, args=(1, NEVER))
    run = target.run("subscribed", change=together(LATE_VICTIM, never))
    assert [run.name(event["pd"]) for event in run.of("GIVE_UP")] == ["watcher"]
    assert undone(run) == [
        ("watcher", "left its rounds: the last that it did is SAY 'look: space doomed'"),
        ("watcher", "never acknowledged (pre-destroy goods)"),
        ("watcher", "never fetched (lost goods)"),
        ("watcher", "never fetched (lost victim)"),
    ]
    assert [c["cause"] for c in run.cleanups()] == ["exit", "late"]


# -- PDs that wait for the root task


@pytest.mark.behaviour("C-26")
def test_who_goes_and_waits_to_be_connected_is_told_while_it_still_can_do_something(
    target: Target,
) -> None:
    """Even if the awaited event comes now: a doomed PD is given nothing any more."""
    maker = Pd(
        name="maker", program="waiter", requests=("goods",), pinned=True, args=(MAKES,)
    ).model_copy(update={"spaces": (Space(name="elsewhere", type="THING"),)})
    busy = Pd(name="waiter", program="waiter", requests=("goods", "elsewhere"), args=(CONNECTS,))
    change = together(
        with_pds(maker, busy),
        with_system(deadline_ms=60_000),
        with_pd("watcher", args=(1, SLOWLY, 3000)),
    )
    run = target.run("subscribed", pd_depth=1, change=change)
    assert run.doomed()["waiter"] == "1"
    assert between(run, f"the second: {GONE}")
    assert between(run, "made: 0")


@pytest.mark.slow
@pytest.mark.behaviour("N-11")
def test_who_asks_for_a_server_that_comes_back_after_the_cleanup_gets_it(target: Target) -> None:
    """The PD asks while the cleanup waits for another PD. Until then no PD can run."""
    change = together(
        with_pds(waiter(RECONNECTS)),
        with_pd("victim", respawn=True),
        with_pd("watcher", deadline_ms=80, args=(1, NEVER)),
    )
    run = target.run("subscribed", change=change)
    assert run.says("waiter").count("the first again: 0") == 1
    assert [c["cause"] for c in run.cleanups()] == ["fault", "late"]


@pytest.mark.slow
@pytest.mark.behaviour("A-03", "X-05")
@pytest.mark.parametrize("mode", ["async", "sync"])
def test_a_terminator_that_wants_to_be_told_before_is_not_waited_for(
    target: Target, mode: Mode
) -> None:
    """The PD waits for the cleanup, so the cleanup must not wait for it. It is told afterwards.

    In mode async it has its ticket before the cleanup begins, and begins to wait a moment later.
    """
    boss = with_pd("boss", program="keeper", args=(), requests=())
    run = target.run("tickets", mode=mode, change=together(boss, with_system(deadline_ms=60_000)))
    assert run.says("boss")[:2] == ["subscribed: 0", "waited: 0, state 3"]
    assert len(run.of("WAIT")) == (mode == "async")
    (told,) = run.of("QUEUE", kind="pre-destroy")
    (ack,) = run.of("FINISH_WORK", token=told["token"])
    assert run.at(ack) > run.at(run.of("TICKET")[-1])


@pytest.mark.slow
@pytest.mark.behaviour("C-22", "C-26")
def test_a_fault_that_a_doomed_fault_handler_reports_ends_the_waiting_for_it(
    target: Target,
) -> None:
    def change(config: Config) -> Config:
        keep = tuple(pd for pd in config.pds if pd.name not in ("app", "app2"))
        app = Pd(
            name="app",
            program="subscriber",
            requests=("files",),
            args=(4, FAULTS),
            fault_handler="fs",
            deadline_ms=0,
        )
        boss = Pd(name="boss", program="terminator", holds_pds=("block_server_1",), args=(4, 2, 9))
        return config.model_copy(update={"pds": (*keep, app, boss)})

    # If the handler does not itself wait for the doomed server.
    run = target.run("handler", pd_depth=1, change=together(change, with_crashes()))
    assert run.doomed().items() >= {"fs": "1", "app": "1"}.items()
    (start,), (end,) = run.of("WAIT"), run.of("CONTINUE")
    (fault,) = [event for event in run.of("FAULT") if run.name(event["pd"]) == "app"]
    assert run.at(start) < run.at(fault) < run.at(end)
    assert len(run.cleanups()) == 1


# -- notices that can be fetched are signalled


@pytest.mark.slow
@pytest.mark.behaviour("N-05", "N-06")
def test_what_an_acknowledgement_makes_ready_is_signalled(target: Target) -> None:
    """21 notices in a lane: the server takes 16, finds no more, acknowledges, and waits."""
    many = together(
        with_pd("hoarder", args=(20,), respawn=False),
        with_pd("comer", args=(0,)),
        with_pd("deaf", program="collector"),
    )
    once = with_crashes({"pd": "hoarder", "at": 1, "how": "page-fault"})
    run = target.run("hung", change=together(many, once))
    owed = [event["token"] for event in run.of("QUEUE") if run.name(event["to"]) == "deaf"]
    assert len(owed) == 21
    assert [
        event["token"] for event in run.of("FINISH_WORK") if run.name(event["pd"]) == "deaf"
    ] == owed


# -- a refused operation leaves nothing


@pytest.mark.slow
@pytest.mark.behaviour("M-11")
def test_a_pd_without_a_free_slot_is_refused_a_new_one_before_that_is_made(target: Target) -> None:
    run = target.run("fill", change=with_pd("filler", args=(0, 1000), cspace_bits=6, respawn=False))
    made, result = (
        int(word) for word in run.says("filler")[0].removeprefix("made: ").split(", then result ")
    )
    assert (result, made > 40) == (FULL, True)
    # The slot of the one that it terminates is empty until it has acknowledged the loss.
    assert run.says("filler")[1:] == [f"one given back: 0, one made: {FULL}, one more: {FULL}"]
    assert len(run.ids("idler")) == made
    assert len(run.of("QUEUE", n=0, kind="lost", to=run.id("filler"))) == 1
    assert {
        run.name(event["by"]) for event in run.of("TRIGGER", cause="terminate", when="now")
    } == {"filler"}


@pytest.mark.slow
@pytest.mark.behaviour("M-11")
def test_subscriptions_are_counted_up_to_a_limit(target: Target) -> None:
    run = target.run("fill", change=with_pd("filler", args=(3, 20000), respawn=False))
    assert run.says("filler") == [
        f"made: 1024, then result {FULL}",
        f"one given back: 0, one made: 0, one more: {FULL}",
    ]


@pytest.mark.behaviour("J-10", "M-11")
def test_each_handler_of_a_subscription_takes_an_edge_of_the_quota(target: Target) -> None:
    """The first one takes another for the notice, which all of them share."""
    handlers, quota, own_space = 32, 20, 2
    change = with_pd("filler", args=(3, 20000, 0, handlers), quota=Quota(edges=quota))
    run = target.run("fill", change=together(change, with_crashes()))
    assert run.says("filler")[0] == f"made: {quota - own_space - 1}, then result {FULL}"


@pytest.mark.slow
@pytest.mark.behaviour("M-11")
def test_with_one_edge_left_what_needs_two_is_refused_whole(target: Target) -> None:
    """A space needs an edge for its manager's hold. The state, checked at the end, is legal."""
    half, quota = 32, 401
    fills = with_pd("filler", args=(4, 20000, 0, half), respawn=False, quota=Quota(edges=quota))
    run = target.run("fill", change=together(fills, with_crashes()))
    first, second = run.says("filler")
    assert first == f"made: {quota - 2 - 2 * 2 * half}, then result {FULL}"
    wanted = (
        f"one given back: 0, a space: {FULL}, a resource: {FULL}, one made: 0, one more: {FULL}"
    )
    assert second == wanted
    assert [event["name"] for event in run.of("SPACE") if event["name"] != "-"] == ["filling"]


# -- a deleted node is taken from all holders


@pytest.mark.behaviour("C-20")
def test_a_deleted_space_is_taken_also_from_who_goes_anyway(target: Target) -> None:
    """A doomed client that still runs has a live server delete its space, then calls it again."""
    cutter = Pd(name="cutter", program="cutter", args=(2, 0)).model_copy(
        update={"spaces": (Space(name="cut", type="THING"),)}
    )
    change = together(with_pds(cutter, waiter(ASKS, "cut")), with_system(deadline_ms=60_000))
    run = target.run("subscribed", pd_depth=1, change=change)
    assert run.doomed()["waiter"] == "1"
    assert between(run, "asked: ok")
    assert between(run, "asked again: server died")
