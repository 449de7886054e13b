# SPDX-License-Identifier: BSD-2-Clause
"""Termination and its progress, in both modes.

A hanging server delays no PD beyond its deadline.
"""

from __future__ import annotations

import pytest

from cellreap.system.config import Config, Mode, Quota
from cellreap.testing import Change, Run, Target, together, with_pd, with_system
from cellreap.trace.events import Event
from kit.counted import COUNTED, SLOW_COUNTED
from kit.undone import undone

MODES: tuple[Mode, ...] = ("async", "sync")
QUEUED = "queued: done 0, failed 0, dropped 0, waiting 0, held 0"
OVER = "over: done 3, failed 0, dropped 0, waiting 0, held 0"
BAD_LENGTH, GONE, BUSY = 3, 6, 13
EACH = 16  # the limit for tickets that are not over
QUOTA = 3
WAITS: Change = with_pd("boss", args=(2 | 4, 2, 3))


def without(*names: str) -> Change:
    """A change: removes some PDs."""

    def change(config: Config) -> Config:
        return config.model_copy(
            update={"pds": tuple(pd for pd in config.pds if pd.name not in names)}
        )

    return change


def lost_capability(run: Run, holder: str, pd: str) -> Event:
    """The notice that tells a PD that its capability to another PD was lost. There is one."""
    (lost,) = run.of("QUEUE", n=0, kind="lost", to=run.id(holder), node=run.id(pd))
    return lost


def of_cleanups(run: Run) -> list[Event]:
    """The notices that the cleanups queued."""
    return [event for event in run.of("QUEUE") if event["n"] != "0"]


@pytest.mark.behaviour("A-01", "A-04", "X-03")
def test_async_is_the_default_and_answers_before_anything_is_cleaned_up(target: Target) -> None:
    run = target.run("tickets")
    assert [event["word"] for event in run.of("SETTING", what="mode")] == ["async"]
    assert run.says("boss")[0] == f"terminate victim: ticket 1 {QUEUED}"
    # The state of a ticket is reported only on request, and not when the ticket is issued.
    (told,) = run.of("TICKET")
    assert run.at(told) > run.at(run.cleanups()[0])


@pytest.mark.behaviour("A-01", "N-08")
def test_sync_answers_when_the_last_notice_is_acknowledged(target: Target) -> None:
    run = target.run("tickets", mode="sync")
    assert [event["word"] for event in run.of("SETTING", what="mode")] == ["sync"]
    assert run.says("boss")[0] == f"terminate victim: ticket 1 {OVER}"
    told = run.of("TICKET")[0]
    acks = {ack["token"]: run.at(ack) for ack in run.of("FINISH_WORK")}
    owed = [notice["token"] for notice in run.of("QUEUE", n=1)]
    assert len(owed) == 3
    assert all(acks[token] < run.at(told) for token in owed)
    # The boss is answered before it acknowledges that its own capability was lost.
    lost = lost_capability(run, "boss", "victim")
    assert acks[lost["token"]] > run.at(told)
    assert len(acks) == 4


@pytest.mark.behaviour("A-03", "A-27")
def test_both_modes_do_the_same(target: Target) -> None:
    first, second = (target.run("tickets", mode=mode) for mode in MODES)
    assert first.destroyed() == second.destroyed()
    assert first.destroyed_pds() == {"victim"}
    assert first.notices() == second.notices()
    assert first.calls() == second.calls()


@pytest.mark.behaviour("A-04", "A-13")
def test_a_ticket_is_waited_for_or_asked_about(target: Target) -> None:
    run = target.run("tickets", change=WAITS)
    assert run.says("boss") == [
        f"terminate victim: ticket 1 {QUEUED}",
        f"waited: ticket 1 {OVER}",
        f"told: I have lost {run.id('victim')}",
        f"again: ticket 1 {OVER}",
    ]


@pytest.mark.slow
@pytest.mark.behaviour("A-12", "A-14", "N-08")
@pytest.mark.parametrize("mode", MODES)
def test_a_failure_is_on_the_ticket_and_what_waits_behind_it(target: Target, mode: Mode) -> None:
    run = target.run("tickets", mode=mode, change=together(WAITS, with_pd("server", args=(1,))))
    held = "over: done 0, failed 1, dropped 0, waiting 2, held 2"
    assert f"again: ticket 1 {held}" in run.says("boss")
    assert f"waited: ticket 1 {held}" in run.says("boss")


@pytest.mark.slow
@pytest.mark.behaviour("D-10", "N-09", "N-11", "A-06", "A-14")
@pytest.mark.parametrize("mode", MODES)
def test_a_manager_that_never_answers_holds_nobody_up_beyond_its_deadline(
    target: Target, mode: Mode
) -> None:
    deaf = together(
        WAITS,
        with_pd("server", program="deaf", args=(8,), deadline_ms=60),
        with_system(deadline_ms=0),
    )
    # Lateness is measured in instructions here, so it does not depend on the wall clock.
    run = target.run("tickets", mode=mode, change=deaf, qemu_args=COUNTED)
    assert "waited: ticket 1 over: done 0, failed 0, dropped 3, waiting 0, held 0" in run.says(
        "boss"
    )
    (late,) = run.of("TRIGGER", cause="late")
    assert run.name(late["pd"]) == "server"
    assert 60 <= late.number("ms") < 60 + 2 * 10  # the timer's interval is 10 ms
    assert [(run.name(c["trigger"]), c["cause"]) for c in run.cleanups()] == [
        ("victim", "terminate"),
        ("server", "late"),
    ]
    assert run.alive() >= {"boss", "bystander"}


@pytest.mark.slow
@pytest.mark.behaviour("N-11")
def test_without_a_deadline_nobody_is_late(target: Target) -> None:
    deaf = together(with_pd("server", program="deaf", args=(8,)), with_system(deadline_ms=0))
    run = target.run("tickets", change=deaf, qemu_args=COUNTED)
    assert undone(run) == [
        ("server", "never fetched (free left:3)"),
        ("server", "never fetched (free left:2)"),
        ("server", "never fetched (disconnect left)"),
    ]
    assert not run.of("TRIGGER", cause="late")
    assert {event["deadline_ms"] for event in run.of("RIGHTS")} == {"0"}
    assert "again: ticket 1 settled: done 0, failed 0, dropped 0, waiting 3, held 0" in run.says(
        "boss"
    )
    assert "server" in run.alive()


@pytest.mark.slow
@pytest.mark.behaviour("A-05")
@pytest.mark.parametrize("mode", MODES)
def test_what_makes_no_sense_is_refused_at_once_and_changes_nothing(
    target: Target, mode: Mode
) -> None:
    run = target.run("tickets", mode=mode, change=with_pd("boss", args=(1 | 4, 2, 3)))
    lies = run.says("boss")[:7]
    assert [text.split(":")[0] for text in lies] == [
        "terminate a request",
        "terminate nothing",
        "terminate an empty slot",
        "terminate the root task",
        "ticket of nobody",
        "ticket 0",
        "the first ticket",
    ]
    assert all(": refused, " in text for text in lies)
    (terminated,) = run.of("TRIGGER", cause="terminate", when="now")
    assert run.name(terminated["pd"]) == "victim"
    assert len(run.report.tickets) == 1


@pytest.mark.behaviour("A-05", "R-09")
def test_anothers_ticket_is_nobodys_business(target: Target) -> None:
    run = target.run("nosy")
    assert run.says("boss")[0].startswith("terminate victim: ticket 1 ")
    assert "the first ticket: refused, 4" in run.says("nosy")
    assert "the first ticket: refused, 5" not in run.says("nosy")


def test_who_was_terminated_before_is_an_empty_slot(target: Target) -> None:
    """The capability was destroyed with its PD.

    test_target_subscribers.py tests GONE while a cleanup waits.
    """
    run = target.run("nosy")
    assert len(run.of("TRIGGER", cause="terminate", when="now")) == 1
    assert f"terminate victim: refused, {BAD_LENGTH}" in run.says("nosy")


@pytest.mark.slow
@pytest.mark.behaviour("N-07")
def test_nobody_fetches_anothers_notices(target: Target) -> None:
    """The server leaves its notices unfinished. Another PD asks for work when all of them wait."""
    deaf = with_pd("server", program="deaf", args=(8,), deadline_ms=100)
    run = target.run("nosy", change=together(deaf, with_pd("nosy", args=(1, 1, 0), priority=99)))
    (asked,) = (e for e in run.of("SAY", text="work of others: 0") if run.name(e["pd"]) == "nosy")
    receivers = {e["token"]: e["to"] for e in run.of("QUEUE")}
    owed = [run.at(e) for e in run.of("QUEUE", to=run.id("server"))]
    assert len(owed) == 3
    (late,) = run.of("TRIGGER", cause="late")
    assert run.name(late["pd"]) == "server"
    assert max(owed) < run.at(asked) < run.at(late)
    assert not run.of("fetched NOTICE", pd=run.id("server"))
    assert all(receivers[e["token"]] == e["pd"] for e in run.of("fetched NOTICE"))


RING_OPEN = "settled: done 0, failed 0, dropped 0, waiting 1, held 0"
RING_OVER = "over: done 1, failed 0, dropped 0, waiting 0, held 0"


@pytest.mark.slow
@pytest.mark.behaviour("N-08")
def test_what_the_owner_itself_has_to_acknowledge_does_not_count(target: Target) -> None:
    """The PD could not ask while it waits, because it would wait for itself."""
    change = together(
        without("second", "second_victim", "third_victim"),
        with_pd("first_victim", requests=("first_space",)),
    )
    run = target.run("ring", change=change)
    assert run.says("first")[0] == (
        "terminate first_victim: ticket 1 over: done 0, failed 0, dropped 0, waiting 0, held 0"
    )
    (owed,) = of_cleanups(run)
    (told,) = run.of("TICKET")
    for notice in (owed, lost_capability(run, "first", "first_victim")):
        (ack,) = run.of("FINISH_WORK", token=notice["token"])
        assert run.name(notice["to"]) == "first"
        assert run.at(notice) < run.at(told) < run.at(ack)
    assert not run.of("TRIGGER", cause="late")


@pytest.mark.slow
@pytest.mark.behaviour("D-10")
def test_a_ring_of_tickets_comes_apart(target: Target) -> None:
    """Each PD waits for the other's acknowledgement.

    The first has a deadline: it is answered before the cleanup is over and then has the time to
    acknowledge, which ends the other's wait.
    """
    run = target.run("ring")
    assert run.says("first")[0].endswith(RING_OPEN)
    assert run.says("second")[0].endswith(RING_OVER)
    spoke = {
        name: next(run.at(e) for e in run.of("SAY", pd=run.id(name)))
        for name in ("first", "second")
    }
    owed = {run.name(e["to"]): e for e in of_cleanups(run)}
    assert {name: run.name(e["from"]) for name, e in owed.items()} == {
        "first": "second_victim",
        "second": "first_victim",
    }
    acks = {name: run.at(run.of("FINISH_WORK", token=e["token"])[0]) for name, e in owed.items()}
    assert max(run.at(e) for e in owed.values()) < spoke["first"] < acks["first"] < spoke["second"]
    assert not run.of("TRIGGER", cause="late")
    assert run.alive() == {"first", "second", "third_victim"}


@pytest.mark.slow
@pytest.mark.behaviour("D-10")
def test_a_ring_where_both_have_the_same_time_comes_apart_too(target: Target) -> None:
    run = target.run("ring", change=with_pd("second", deadline_ms=60))
    said = [run.says(name)[0].partition(" ticket ")[2][2:] for name in ("first", "second")]
    assert RING_OPEN in said
    assert set(said) <= {RING_OPEN, RING_OVER}
    assert not run.of("TRIGGER", cause="late")
    assert run.alive() == {"first", "second", "third_victim"}


@pytest.mark.slow
@pytest.mark.behaviour("D-10")
def test_who_is_answered_when_its_time_is_all_but_over_has_it_anew(target: Target) -> None:
    """The second deadline is ten milliseconds after the first.

    The work before the acknowledgement takes longer than that, and much less than the whole
    deadline. Under -icount each run is the same.
    """
    change = together(
        with_pd("first", deadline_ms=400),
        with_pd("second", deadline_ms=410, args=(4 | 32, 1, 0, 8000)),
    )
    run = target.run("ring", change=change, qemu_args=COUNTED)
    assert run.says("first")[0].endswith(RING_OPEN)
    assert run.says("second")[0].endswith(RING_OVER)
    assert not run.of("TRIGGER", cause="late")


@pytest.mark.slow
@pytest.mark.behaviour("D-10", "N-11")
def test_who_then_waits_again_instead_of_acknowledging_is_late(target: Target) -> None:
    """Each wait is answered when it lasts as long as the deadline. Only the first is not counted.

    Under -icount each run is the same.
    """

    def change(config: Config) -> Config:
        victim = config.pd("third_victim")
        assert victim is not None
        more = victim.model_copy(update={"name": "fourth_victim"})
        held = ("first_victim", "third_victim", "fourth_victim")
        config = config.model_copy(update={"pds": (more, *config.pds)})
        return with_pd("first", holds_pds=held)(config)

    run = target.run("ring", change=change, qemu_args=COUNTED)
    (late,) = run.of("TRIGGER", cause="late")
    assert run.name(late["pd"]) == "first"
    assert late.number("ms") >= 60
    (owed,) = (e for e in of_cleanups(run) if run.name(e["to"]) == "first")
    assert late["token"] == owed["token"]
    # It was answered twice, and was waiting for its third ticket.
    said = run.says("first")
    assert [text.partition(":")[0] for text in said] == [
        "terminate first_victim",
        "terminate third_victim",
    ]
    assert all(text.endswith(RING_OPEN) for text in said)
    assert [
        (run.name(e["pd"]), run.name(e["by"]))
        for e in run.of("TRIGGER", cause="terminate", when="now")
    ][-1] == (
        "fourth_victim",
        "first",
    )
    assert not run.of("fetched NOTICE", pd=run.id("first"))
    assert run.says("second")[0].endswith("over: done 0, failed 0, dropped 1, waiting 0, held 0")
    assert run.alive() == {"second"}


@pytest.mark.slow
@pytest.mark.behaviour("A-04", "X-03")
def test_a_slow_server_holds_up_only_who_wants_to_wait(target: Target) -> None:
    slow = together(with_pd("server", args=(0, 3000)), with_system(deadline_ms=60_000))
    before_the_server = {}
    for mode in MODES:
        run = target.run("tickets", mode=mode, change=slow, qemu_args=SLOW_COUNTED)
        spoke = next(e for e in run.of("SAY") if e["text"].startswith("terminate victim: "))
        acks = [run.at(ack) for ack in run.of("FINISH_WORK", pd=run.id("server"))]
        assert len(acks) == 3
        assert run.at(spoke) < min(acks) or run.at(spoke) > max(acks)
        before_the_server[mode] = run.at(spoke) < min(acks)
    assert before_the_server == {"async": True, "sync": False}


def many(*shares: int) -> Change:
    """A change: as many clients as given, and a boss for each share of them.

    The turn of the last boss comes last.
    """

    def change(config: Config) -> Config:
        client, boss = config.pd("client"), config.pd("boss")
        assert client is not None
        assert boss is not None
        clients = [client.model_copy(update={"name": f"client_{i}"}) for i in range(sum(shares))]
        bosses = []
        for i, share in enumerate(shares):
            first = sum(shares[:i])
            names = tuple(pd.name for pd in clients[first : first + share])
            priority = boss.priority - (i == len(shares) - 1)
            update = {"name": f"boss_{i}", "holds_pds": names, "priority": priority}
            bosses.append(boss.model_copy(update=update))
        others = tuple(pd for pd in config.pds if pd.name not in ("client", "boss"))
        return config.model_copy(update={"pds": (*others, *clients, *bosses)})

    return change


@pytest.mark.slow
@pytest.mark.behaviour("M-11")
def test_one_pd_has_no_more_than_so_many_tickets_that_are_not_over(target: Target) -> None:
    run = target.run("many", change=many(EACH + 1))
    says = run.says("boss_0")
    assert says[:EACH] == [f"terminate client_{i}: ticket {i + 1} {QUEUED}" for i in range(EACH)]
    assert says[EACH] == f"terminate client_{EACH}: refused, {BUSY}"
    over = "over: done 0, failed 0, dropped 1, waiting 0, held 0"
    lost = [f"told: I have lost {run.id(f'client_{i}')}" for i in range(EACH)]
    assert says[EACH + 1 : 2 * EACH + 1] == lost
    assert says[2 * EACH + 1 :] == [f"again: ticket {i + 1} {over}" for i in range(EACH)]
    assert run.alive() == {f"client_{EACH}", "boss_0"}


def with_tickets(boss: int) -> Change:
    """A change: the quota of tickets of each boss."""
    return with_pd("boss", quota=Quota(tickets=boss))


def asked(run: Run, boss: str) -> list[str]:
    """What a boss was answered when it asked for its tickets again."""
    return [text for text in run.says(boss) if text.startswith("again: ")]


@pytest.mark.slow
@pytest.mark.behaviour("M-11", "J-09")
def test_tickets_that_are_not_over_stay_within_their_owners_quota(target: Target) -> None:
    """What one boss uses up is not missing to another."""
    change = together(with_tickets(QUOTA), many(QUOTA + 1, QUOTA, QUOTA + 1))
    run = target.run("many", change=change)
    first = 0
    for boss, share in enumerate((QUOTA + 1, QUOTA, QUOTA + 1)):
        says = run.says(f"boss_{boss}")[:share]
        names = [f"client_{first + i}" for i in range(share)]
        assert [text.split(":")[0] for text in says] == [f"terminate {name}" for name in names]
        assert all(text.endswith(QUEUED) for text in says[:QUOTA])
        assert says[QUOTA:] == [f"terminate {name}: refused, {BUSY}" for name in names[QUOTA:]]
        assert set(names[QUOTA:]) == run.alive() & set(names)
        assert len(asked(run, f"boss_{boss}")) == QUOTA
        first += share
    assert (
        len(run.of("TRIGGER", cause="terminate", when="now"))
        == len(run.report.tickets)
        == 3 * QUOTA
    )


@pytest.mark.slow
def test_a_ticket_that_is_over_is_forgotten_when_its_owner_needs_its_place(target: Target) -> None:
    """The oldest ticket of the same owner is forgotten.

    Without a server no notice is owed, and tickets are over at once.
    """
    bare = together(
        with_pd("client", program="idler", requests=()),
        with_pd("boss", args=(4, 1, 2)),
        without("server", "handler"),
        with_tickets(QUOTA),
    )
    run = target.run("many", change=together(bare, many(QUOTA + 1, QUOTA, QUOTA)))
    over = "over: done 0, failed 0, dropped 0, waiting 0, held 0"
    assert len(run.report.tickets) == 3 * QUOTA + 1
    again = {boss: asked(run, f"boss_{boss}") for boss in range(3)}
    assert again[0].pop(0) == f"again: refused, {GONE}"
    for answers in again.values():
        assert len(answers) == QUOTA
        assert all(text.endswith(over) for text in answers)


@pytest.mark.slow
@pytest.mark.behaviour("C-24", "M-11")
def test_a_client_comes_and_goes_also_when_its_server_is_far_behind(
    target: Target,
) -> None:
    change = together(without("boss"), with_pd("client", program="comer", args=(100,)))
    run = target.run("many", change=change)
    assert run.says("client") == ["came and went: 100, then 0"]
    assert len(run.of("QUEUE", kind="disconnect", to=run.id("server"), n=0)) == 100
    client = run.id("client")
    made, dropped = run.made("REQUEST", from_=client), run.dropped("REQUEST", from_=client)
    assert len(made) == len(dropped) == 100
