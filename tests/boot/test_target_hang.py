# SPDX-License-Identifier: BSD-2-Clause
"""A server that hangs without a fault is found by its missed deadline and holds up no other PD."""

from __future__ import annotations

from itertools import pairwise

import pytest

from cellreap.system.config import Config, Pd
from cellreap.testing import Change, Run, Target, together, with_crashes, with_pd
from kit.marks import slow_but
from kit.truth_traces import WITH_TRUTH
from kit.undone import undone


def by(how: str, **more: object) -> Change:
    """A change: how the server stops."""
    return with_crashes({"pd": "server", "at": 2, "how": how, **more})


# A spinning server leaves no idle time, so there is no second round. The quitter therefore takes
# long in the first round.
HOWS = {
    "hang": together(by("hang"), with_pd("quitter", args=(1, 100_000))),
    "block": by("block"),
    "freeze": by("freeze", after_ns=1000),
}


@pytest.fixture(params=slow_but(HOWS, "block"))
def run(target: Target, request: pytest.FixtureRequest) -> Run:
    """The server stops, and a client of it exits."""
    return target.run("hang", change=HOWS[request.param])


@pytest.mark.behaviour("N-11", "X-14", "A-14")
def test_it_is_found_by_its_deadline(run: Run) -> None:
    causes = [(run.name(c["trigger"]), c["cause"]) for c in run.cleanups()]
    assert causes == [("quitter", "exit"), ("server", "late")]
    (late,) = run.of("TRIGGER", cause="late")
    assert run.name(late["pd"]) == "server"
    assert late.number("ms") >= 100


@pytest.mark.behaviour("C-21")
def test_its_client_is_answered_and_goes_on_with_its_successor(run: Run) -> None:
    (said,) = run.says("client")
    counts = [int(word.strip(",:;")) for word in said.split() if word.strip(",:;").isdigit()]
    asked, answered, lost, others, theirs, none = counts
    assert (answered + lost, lost) == (asked, 1)
    assert (others, none) == (theirs, 0)
    assert len(run.ids("server")) == 2


@pytest.mark.slow
@pytest.mark.behaviour("N-11")
def test_without_a_deadline_it_is_never_found(target: Target) -> None:
    change = together(HOWS["block"], with_pd("server", deadline_ms=0))
    run = target.run("hang", change=change)
    assert undone(run) == [
        ("client", "left its rounds: it waits in a call to server"),
        ("server", "never fetched (disconnect goods)"),
    ]
    assert [run.name(c["trigger"]) for c in run.cleanups()] == ["quitter"]
    assert not run.of("TRIGGER", cause="late")


@pytest.mark.slow
def test_a_frozen_pd_is_said_to_be(target: Target) -> None:
    run = target.run("hang", change=HOWS["freeze"])
    assert [run.name(event["pd"]) for event in run.of("frozen THREAD")] == ["server"]


@pytest.mark.slow
def test_a_kill_is_a_termination_by_the_root_task(target: Target) -> None:
    run = target.run("hang", change=by("kill", after_ns=1000))
    terminated = run.of("TRIGGER", cause="terminate", when="now")
    assert [(run.name(e["pd"]), e["by"]) for e in terminated] == [("server", "PD_0")]
    assert "server" in {run.name(c["trigger"]) for c in run.cleanups()}


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("N-11", "D-10")
def test_one_that_goes_by_its_deadline_may_take_the_next_one_along_and_that_ends(
    target: Target,
) -> None:
    run = target.run("cascade", change=WITH_TRUTH)
    assert [run.name(event["pd"]) for event in run.of("TRIGGER", cause="late")] == [
        "first",
        "second",
        "third",
    ]
    assert [(run.name(c["trigger"]), c["cause"]) for c in run.cleanups()] == [
        ("quitter", "exit"),
        ("first", "late"),
        ("second", "late"),
        ("third", "late"),
    ]
    owed = [(run.name(e["from"]), run.name(e["to"])) for e in run.of("QUEUE")]
    chain = ["quitter", "first", "second", "third", "block_server"]
    assert owed == list(pairwise(chain))
    assert run.alive() == {"block_server"}
    assert [run.name(event["pd"]) for event in run.of("FINISH_WORK")] == ["block_server"]


def with_third_party(config: Config) -> Config:
    """The server calls another server for each answer. That other server stops."""
    backing = {
        "name": "backing",
        "program": "crowd_server",
        "space": [{"name": "stock", "type": "THING"}],
    }
    pds = (Pd.model_validate(backing), *config.pds)
    changed = config.model_copy(update={"pds": pds})
    stops = with_crashes({"pd": "backing", "at": 2, "how": "block"})
    return stops(with_pd("server", args=(2,), requests=("stock",), respawn=False)(changed))


@pytest.mark.slow
@pytest.mark.behaviour("J-07", "N-11", "C-21")
def test_who_waits_for_somebody_that_hangs_lives(target: Target) -> None:
    """The server itself does not hang: the PD that it waits for is probed, and goes."""
    run = target.run("hang", change=with_third_party)
    assert [run.name(event["pd"]) for event in run.of("TRIGGER", cause="late")] == ["backing"]
    assert [(run.name(c["trigger"]), c["cause"]) for c in run.cleanups()] == [
        ("quitter", "exit"),
        ("backing", "late"),
    ]
    assert run.alive() == {"bystander", "client", "server"}
