# SPDX-License-Identifier: BSD-2-Clause
"""Notices to servers: in order for each space, and held behind a failed one.

No other PD waits for them.
"""

from __future__ import annotations

import itertools

import pytest

from cellreap.testing import Run, Target, together, with_pd
from cellreap.trace.events import Event


@pytest.fixture
def run(target: Target) -> Run:
    """One notice about the left space fails. After two more crashes the server resumes it."""
    return target.run("stubborn")


def lane(run: Run, space: str) -> list[str]:
    """The tokens of all notices to the server about a space, in the order of the QUEUE events."""
    nodes = {run.id(space), *(event["id"] for event in run.of("RESOURCE", space=run.id(space)))}
    return [
        event["token"] for event in run.of("QUEUE", to=run.id("stubborn")) if event["node"] in nodes
    ]


def again(run: Run) -> Event:
    """The time at which the failed notice is resumed."""
    (event,) = run.of("resumed NOTICE")
    return event


def fetched(run: Run, tokens: list[str]) -> list[Event]:
    """The server's GET_WORK events, in order."""
    return [event for event in run.of("fetched NOTICE") if event["token"] in tokens]


def acknowledged(run: Run, tokens: list[str]) -> list[tuple[str, str]]:
    """(token, result) of the server's FINISH_WORK events, in order."""
    return [
        (event["token"], event["result"])
        for event in run.of("FINISH_WORK")
        if event["token"] in tokens
    ]


@pytest.mark.behaviour("A-07", "N-14")
def test_a_spaces_notices_are_acknowledged_in_the_order_in_which_they_were_owed(run: Run) -> None:
    for space in ("left", "right"):
        tokens = lane(run, space)
        assert [token for token, result in acknowledged(run, tokens) if result == "ok"] == tokens
        assert tokens == sorted(tokens, key=int)


@pytest.mark.slow
@pytest.mark.behaviour("N-06")
def test_16_come_at_once_and_no_more(target: Target) -> None:
    """One lane has 21 notices: 20 about resources, and one about the client itself."""
    run = target.run("stubborn", change=with_pd("hoarder_right", args=(20, 1)))
    tokens = lane(run, "right")
    mine = [
        event.told for event in run.of("fetched NOTICE", "FINISH_WORK") if event["token"] in tokens
    ]
    runs = [(name, len(list(group))) for name, group in itertools.groupby(mine)]
    assert runs == [
        ("fetched NOTICE", 16),
        ("FINISH_WORK", 16),
        ("fetched NOTICE", 4),
        ("FINISH_WORK", 4),
        ("fetched NOTICE", 1),
        ("FINISH_WORK", 1),
    ]


@pytest.mark.behaviour("A-11")
def test_what_is_behind_a_failure_is_not_done_until_it_is_resumed(run: Run) -> None:
    tokens = lane(run, "left")
    assert len(tokens) == 6  # of two crashes: two resources and the client itself, each
    done = [event for event in run.of("FINISH_WORK") if event["token"] in tokens]
    assert (done[0]["token"], done[0]["result"]) == (tokens[0], "failed")
    assert all(run.at(event) > run.at(again(run)) for event in done[1:])
    first = [event["token"] for event in fetched(run, tokens) if run.at(event) > run.at(again(run))]
    assert first == tokens


@pytest.mark.behaviour("A-09", "N-04")
def test_another_space_goes_on_behind_its_back(run: Run) -> None:
    tokens = lane(run, "right")
    assert len(tokens) == 3
    acks = [event for event in run.of("FINISH_WORK") if event["token"] in tokens]
    assert [event["result"] for event in acks] == ["ok"] * 3
    assert all(run.at(event) < run.at(again(run)) for event in acks)


@pytest.mark.behaviour("A-10")
def test_what_is_owed_meanwhile_is_appended(run: Run) -> None:
    """The second crash comes while the notices of the first are held."""
    of_crash = {event["token"]: event["n"] for event in run.of("QUEUE")}
    assert [of_crash[token] for token in lane(run, "left")] == ["1", "1", "1", "2", "2", "2"]
    failure = run.of("FINISH_WORK", result="failed")[0]
    second = run.cleanups()[1]
    assert run.at(failure) < run.at(second) < run.at(again(run))


@pytest.mark.behaviour("A-08", "N-06")
def test_one_fetch_hands_out_a_run_of_one_kind(run: Run) -> None:
    """Two free notices, then the notice about the client. They are never handed out together."""
    kinds = {event["token"]: event["kind"] for event in run.of("QUEUE")}
    handed = [kinds[event["token"]] for event in fetched(run, lane(run, "right"))]
    assert handed == ["free", "free", "disconnect"]
    first, second, third = fetched(run, lane(run, "right"))
    acks = [event for event in run.of("FINISH_WORK") if event["token"] in lane(run, "right")]
    assert run.at(first) < run.at(second) < run.at(acks[0]) < run.at(acks[1]) < run.at(third)


@pytest.mark.behaviour("N-13")
def test_the_server_gives_back_what_is_free(run: Run) -> None:
    assert len(run.of("DELETE", by=run.id("stubborn"))) == 6


@pytest.mark.behaviour("A-12")
def test_the_failure_is_in_the_report(run: Run) -> None:
    (failure,) = run.report.failures
    assert failure.token == int(lane(run, "left")[0])
    assert failure.resumed


FIRST, IN_A_NOTICE, IN_A_RESOURCE = range(3)


def late(target: Target, when: int) -> tuple[Run, list[Event], list[Event]]:
    """A client exits when its server creates its second space.

    Returns the run, and the QUEUE and GET_WORK events of what the server is told about the client.
    The server finishes all of it.
    """
    early = with_pd("early", args=(0 if when == IN_A_NOTICE else 1,))
    run = target.run("gate", change=together(with_pd("server", args=(0, 0, when)), early))
    queued = [event for event in run.of("QUEUE") if run.name(event["from"]) == "late"]
    assert sorted(run.name(event["node"]) for event in queued) == ["gate", "left"]
    tokens = [event["token"] for event in queued]
    assert acknowledged(run, tokens) == [(token, "ok") for token in tokens]
    return run, queued, fetched(run, tokens)


@pytest.mark.slow
@pytest.mark.behaviour("N-05")
def test_what_comes_while_the_server_does_another_notice_is_not_lost(target: Target) -> None:
    """In the same lane, and in another one."""
    run, queued, _ = late(target, IN_A_NOTICE)
    (early,) = (event for event in run.of("QUEUE") if run.name(event["from"]) == "early")
    (first,) = fetched(run, [early["token"]])
    (done,) = run.of("FINISH_WORK", token=early["token"])
    for event in queued:
        assert run.at(first) < run.at(event) < run.at(done)


@pytest.mark.slow
@pytest.mark.behaviour("N-05")
def test_a_signal_that_comes_while_the_server_serves_is_not_lost(target: Target) -> None:
    """The server is not about to fetch notices, so only the signal can tell it about new ones."""
    run, queued, handed = late(target, IN_A_RESOURCE)
    thing = run.of("RESOURCE", space=run.id("left"))[0]
    (given,) = run.made("HOLD", to=thing["id"], from_=run.id("client"))
    for event in queued:
        assert run.at(thing) < run.at(event) < run.at(given)
    assert run.at(given) < min(run.at(event) for event in handed)


@pytest.mark.slow
@pytest.mark.behaviour("N-05")
def test_a_signal_that_comes_before_the_server_first_waits_is_not_lost(target: Target) -> None:
    run, queued, handed = late(target, FIRST)
    assert not [
        event
        for event in run.of("fetched NOTICE", "RESOURCE")
        if run.at(event) < run.at(queued[-1])
    ]
    assert run.at(handed[0]) > run.at(queued[-1])


@pytest.mark.slow
def test_twice_failed_is_twice_held(target: Target) -> None:
    run = target.run(
        "stubborn",
        change=lambda config: with_pd("resumer", args=(4, 0, 2))(
            with_pd("stubborn", args=(2,))(config)
        ),
    )
    first = lane(run, "left")[0]
    assert [result for token, result in acknowledged(run, [first])] == ["failed", "failed", "ok"]
    assert len(run.of("resumed NOTICE")) == 2


@pytest.mark.slow
@pytest.mark.behaviour("C-24")
def test_the_sample_server_forgets_its_clients(target: Target) -> None:
    """Twenty clients die, and one drops its request. At the end three of 16 counters are in use."""
    run = target.run("counter")
    assert len(run.cleanups()) == 20
    assert run.says("hasty") == ["the last: 2"]
    assert run.says("leaving")[0] == "let go"
    assert not [
        text
        for name in ("steady", "leaving", "hasty")
        for text in run.says(name)
        if "WRONG" in text
    ]
    assert not [
        text
        for name in ("steady", "leaving", "hasty")
        for text in run.says(name)
        if "no counter" in text
    ]
    deleted = run.of("DELETE", by=run.id("counter"))
    assert len(deleted) == 21
    made = run.of("RESOURCE", space=run.id("counters"))
    assert len(made) - len(deleted) == 3
    # The drop of the request was reported at once, and the server deleted the counter. There may be
    # another crash in between.
    (told,) = run.of("QUEUE", n=0, kind="disconnect")
    (dropped,) = run.dropped("REQUEST")
    assert (run.name(told["to"]), run.name(told["from"])) == ("counter", "leaving")
    assert run.at(told) == run.at(dropped) + 1
    (given_up,) = run.dropped("HOLD", from_=run.id("leaving"))
    (gone,) = run.of("DELETE", node=given_up["to"])
    assert run.at(told) < run.at(gone)
