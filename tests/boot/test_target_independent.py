# SPDX-License-Identifier: BSD-2-Clause
"""Cleanups that have nothing to do with each other do not wait for each other's subscribers."""

from __future__ import annotations

import pytest

from cellreap.system.config import Config, Link, Pd
from cellreap.testing import Run, Target, with_pd

NEVER = 2
"""Argument 1 of the program `subscriber`: it never answers."""


def order(run: Run) -> list[str]:
    """The PDs whose cleanups began, in this order."""
    return [run.name(event["trigger"]) for event in run.cleanups()]


def span(run: Run, n: int, first: str, last: str) -> tuple[int, int]:
    """Where two events of a cleanup stand, each of which it has once."""
    (start,), (end,) = run.of(first, n=n), run.of(last, n=n)
    return run.at(start), run.at(end)


@pytest.fixture
def run(target: Target) -> Run:
    return target.run("independent")


@pytest.mark.behaviour("J-14", "C-26")
def test_an_unrelated_cleanup_begins_and_ends_while_another_one_waits(run: Run) -> None:
    assert order(run) == ["first_server", "second_server", "third_server", "deaf"]
    wait, resume = span(run, 1, "WAIT", "CONTINUE")
    begin, end = span(run, 2, "CLEANUP", "SETTLED")
    assert wait < begin < end < resume
    (late,) = run.of("TRIGGER", cause="late")
    assert run.name(late["pd"]) == "deaf"
    assert end < run.at(late) < resume


@pytest.mark.behaviour("J-14", "X-20")
def test_its_survivor_is_told_meanwhile(run: Run) -> None:
    (lost,) = run.of("QUEUE", kind="lost", n=2)
    assert run.name(lost["to"]) == "second_client"
    (finished,) = run.of("FINISH_WORK", token=lost["token"])
    assert run.at(finished) < span(run, 1, "WAIT", "CONTINUE")[1]


@pytest.mark.behaviour("J-14", "C-26")
def test_a_cleanup_that_another_one_concerns_too_waits_for_its_turn(run: Run) -> None:
    """Its trigger is stopped at once, and its caller is freed at once."""
    wait, resume = span(run, 1, "WAIT", "CONTINUE")
    (freed,) = run.of("answered THREAD", by=run.id("third_server"))
    assert run.name(freed["pd"]) == "third_client"
    assert wait < run.at(freed) < resume
    settled = span(run, 1, "WAIT", "SETTLED")[1]
    assert settled < span(run, 3, "CLEANUP", "SETTLED")[0]


@pytest.mark.behaviour("J-14", "X-04", "M-05")
def test_the_end_is_that_of_the_cleanups_one_after_the_other(run: Run) -> None:
    assert run.alive() == {"first_client", "second_client", "third_client"}
    assert [run.destroyed_pds(n) for n in (1, 2, 3, 4)] == [
        {"first_server"}, {"second_server"}, {"third_server"}, {"deaf"}
    ]  # fmt: skip
    rows = run.state(2)
    doomed = {run.name(row[1]) for row in rows if row[0] and "DOOMED" in row[6]}
    assert doomed == {"first", "first_server"}
    assert not [row for row in run.state(4) if "DOOMED" in row[6]]


@pytest.mark.behaviour("J-14", "X-02")
def test_two_cleanups_wait_at_the_same_time(target: Target) -> None:
    """The second server has a subscriber that never answers, too, with a longer deadline."""

    def change(config: Config) -> Config:
        pd = Pd(
            name="deafer", program="subscriber", requests=("second",), args=(1, NEVER),
            deadline_ms=3000,
        )  # fmt: skip
        return config.model_copy(update={"pds": (*config.pds, pd)})

    run = target.run("independent", change=change)
    first, second = span(run, 1, "WAIT", "CONTINUE"), span(run, 2, "WAIT", "CONTINUE")
    assert first[0] < second[0] < first[1] < second[1]
    assert [run.name(event["pd"]) for event in run.of("TRIGGER", cause="late")] == [
        "deaf",
        "deafer",
    ]
    assert run.alive() == {"first_client", "second_client", "third_client"}
    assert set(order(run)) == {"first_server", "second_server", "third_server", "deaf", "deafer"}


WAITING = 8
"""CR_MAX_CLEANUPS."""


def with_many_that_wait(config: Config) -> Config:
    """As many servers as cleanups can wait, each with a subscriber that never answers.

    Then a server faults that has none. The priorities make the servers fault one after the other.
    """
    hole, client = config.pd("second_server"), config.pd("second_client")
    assert hole is not None
    assert client is not None
    pds: list[Pd] = []
    for i in range(WAITING):
        name = f"thing{i}"
        space = type(hole.spaces[0])(name=name, type="THING")
        pds += [
            hole.model_copy(update={"name": f"server{i}", "spaces": (space,)}),
            Pd(name=f"deaf{i}", program="subscriber", requests=(name,), args=(1, NEVER),
               deadline_ms=1000),
            client.model_copy(
                update={"name": f"client{i}", "requests": (name,), "priority": 60 + i}
            ),
        ]  # fmt: skip
    return config.model_copy(update={"pds": (*pds, hole, client)})


@pytest.mark.behaviour("J-14")
def test_a_cleanup_that_tells_nobody_begins_however_many_wait(target: Target) -> None:
    run = target.run("independent", change=with_many_that_wait)
    assert len(run.of("WAIT")) >= WAITING
    (n,) = (int(c["n"]) for c in run.cleanups() if run.name(c["trigger"]) == "second_server")
    assert n == WAITING + 1
    (settled,) = run.of("SETTLED", n=n)
    assert run.at(run.of("WAIT")[WAITING - 1]) < run.at(settled) < run.at(run.of("CONTINUE")[0])


@pytest.mark.behaviour("J-14", "X-02", "X-04")
def test_a_trigger_in_the_queue_that_an_earlier_one_dooms_goes_with_it(target: Target) -> None:
    """Third and fourth server are linked, and both fault while the first cleanup waits. The cleanup
    of the third server dooms the fourth one, and then waits for a subscriber of its own.
    """

    def change(config: Config) -> Config:
        space = {"name": "fourth", "type": "PART"}
        fourth = Pd.model_validate(
            {"name": "fourth_server", "program": "hole", "args": (1,), "space": (space,)}
        )
        caller = Pd(name="fourth_client", program="stuck", requests=("fourth",), priority=30)
        deafer = Pd(
            name="deafer", program="subscriber", requests=("third",), args=(1, NEVER),
            deadline_ms=1500,
        )  # fmt: skip
        pds = (*config.pds, fourth, caller, deafer)
        return config.model_copy(
            update={"pds": pds, "links": (Link(between=("third_server", "fourth_server")),)}
        )

    run = target.run("independent", change=change)
    begun = order(run)
    assert begun == ["first_server", "second_server", "third_server", "deaf", "deafer"]
    faults = [run.name(event["pd"]) for event in run.of("FAULT")]
    assert faults == ["first_server", "second_server", "third_server", "fourth_server"]
    n = begun.index("third_server") + 1
    assert run.destroyed_pds(n) == {"third_server", "fourth_server"}
    wait, resume = span(run, n, "WAIT", "CONTINUE")
    assert wait < resume
    freed = {run.name(event["pd"]) for event in run.of("answered THREAD")}
    assert {"third_client", "fourth_client"} <= freed


@pytest.mark.slow
@pytest.mark.behaviour("J-14")
def test_who_loses_its_capability_to_a_doomed_pd_is_concerned(target: Target) -> None:
    """It loses in both cleanups, so they are carried out one after the other."""
    run = target.run("independent", change=with_pd("second_client", holds_pds=("first_server",)))
    begins = {run.name(event["trigger"]): run.at(event) for event in run.cleanups()}
    assert span(run, 1, "WAIT", "SETTLED")[1] < begins["second_server"]
