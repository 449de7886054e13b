# SPDX-License-Identifier: BSD-2-Clause
"""A PD that goes down frees the PDs that are in a call to it, before anybody is told or awaited."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.system.config import Config, Depth, Pd
from cellreap.testing import Change, Run, Target, together, with_pd, with_system
from kit.arches import ARCHES

CALLERS = {"survivor", "told", "manager", "extractor"}
"""The callers of the hole. Two of their calls are received, and two are queued."""
DIED = "answer: server died"


def freed(run: Run, server: str) -> set[str]:
    """The PDs that were freed directly after the server was stopped."""
    (stop,) = run.of("stopped THREAD", pd=run.id(server))
    found = set()
    for event in run.events[run.at(stop) + 1 :]:
        if event.told != "answered THREAD":
            break
        assert event["by"] == run.id(server)
        found.add(run.name(event["pd"]))
    return found


def said_died(run: Run, name: str) -> int:
    """Where a PD printed that its server died, which it did once."""
    (said,) = run.of("SAY", pd=run.id(name), text=DIED)
    return run.at(said)


def waits(run: Run, n: int = 1) -> tuple[int, int]:
    """Where a cleanup begins to wait, and where it continues."""
    (wait,), (resume,) = run.of("WAIT", n=n), run.of("CONTINUE", n=n)
    return run.at(wait), run.at(resume)


@pytest.fixture(params=[0, 1])
def depth(request: pytest.FixtureRequest) -> Depth:
    assert isinstance(request.param, int)
    return request.param


@pytest.fixture
def run(target: Target, depth: Depth) -> Run:
    """At depth 0 all callers survive. At depth 1 they are doomed and run until the destruction."""
    return target.run("freed", pd_depth=depth, rs_depth=0)


@pytest.mark.behaviour("J-05")
def test_all_callers_are_freed_at_once(run: Run) -> None:
    (fault,) = run.of("FAULT", pd=run.id("hole"))
    assert run.events[run.at(fault) + 1].told == "stopped THREAD"
    assert freed(run, "hole") == CALLERS
    first_told = min(run.at(event) for event in run.of("QUEUE", kind="pre-destroy"))
    assert max(run.at(e) for e in run.of("answered THREAD", by=run.id("hole"))) < first_told


@pytest.mark.behaviour("J-05", "C-21")
def test_they_run_on_while_the_cleanup_waits(run: Run) -> None:
    start, end = waits(run)
    for name in CALLERS:
        assert start < said_died(run, name) < end


@pytest.mark.behaviour("J-05", "X-05")
def test_a_subscriber_in_a_call_to_it_answers(run: Run) -> None:
    start, end = waits(run)
    (queued,) = run.of("QUEUE", kind="pre-destroy", to=run.id("told"))
    (finished,) = run.of("FINISH_WORK", token=queued["token"])
    assert start < run.at(finished) < end


@pytest.mark.behaviour("J-05", "M-10")
def test_an_extraction_awaits_the_freed_manager_and_not_the_stopped_one(run: Run) -> None:
    about = {run.name(e["node"]): e for e in run.of("QUEUE", kind="extract")}
    assert set(about) >= {"well", "parts"}
    (extracted,) = run.of("EXTRACTED")
    (finished,) = run.of("FINISH_WORK", token=about["parts"]["token"])
    start, end = waits(run)
    assert start < run.at(finished) < run.at(extracted) < end
    assert not run.of("fetched NOTICE", token=about["well"]["token"])
    assert "extracted, state 3" in run.says("extractor")


@pytest.mark.behaviour("J-05", "C-26")
def test_the_callers_of_a_second_crash_that_only_queues_are_freed_at_once(target: Target) -> None:
    run = target.run("freed", pd_depth=0, rs_depth=0)
    start, end = waits(run)
    assert freed(run, "second_hole") == {"queued"}
    (stop,) = run.of("stopped THREAD", pd=run.id("second_hole"))
    assert start < run.at(stop) < said_died(run, "queued") < end
    assert [run.name(c["trigger"]) for c in run.cleanups()] == ["hole", "second_hole"]
    assert run.at(run.cleanups()[1]) > end


@pytest.mark.behaviour("J-05", "X-04", "X-20")
def test_survivors_live_on_and_are_told(target: Target) -> None:
    run = target.run("freed", pd_depth=0, rs_depth=0)
    assert run.alive() == {*CALLERS, "slow", "queued"}
    lost = {to for to, kind, node, _ in run.notices(1) if kind == "lost" and node == "well"}
    assert lost >= {*CALLERS, "slow"}
    assert {to for to, kind, _, _ in run.notices(2) if kind == "lost"} == {"queued"}
    finished = {event["token"] for event in run.of("FINISH_WORK", result="ok")}
    for event in run.of("QUEUE", kind="lost"):
        assert event["token"] in finished or run.name(event["to"]) == "second_hole"


@pytest.mark.behaviour("J-05", "N-03")
def test_a_notice_to_a_stopped_pd_is_awaited_by_nobody(target: Target) -> None:
    """The second server is stopped before the first cleanup queues its notice of the loss."""
    run = target.run("freed", pd_depth=0, rs_depth=0)
    (queued,) = run.of("QUEUE", n=1, kind="lost", to=run.id("second_hole"))
    assert not run.of("fetched NOTICE", token=queued["token"])
    assert run.report.passed


@pytest.mark.slow
@pytest.mark.behaviour("J-05")
@pytest.mark.parametrize("received", [1, 4])
def test_it_makes_no_difference_whether_calls_are_queued_or_received(
    target: Target, received: int
) -> None:
    change: Change = together(with_pd("hole", args=(received,)), with_system(name="received"))
    run = target.run("freed", pd_depth=0, rs_depth=0, change=change)
    assert freed(run, "hole") == CALLERS
    assert {*CALLERS} <= run.alive()


def _with_pretender(config: Config) -> Config:
    pretender = Pd(
        name="pretender", program="pretender", priority=1, background=True, requests=("goods",)
    )
    return config.model_copy(update={"pds": (*config.pds, pretender)})


@pytest.mark.slow
@pytest.mark.behaviour("J-05")
@pytest.mark.parametrize("arch", ARCHES)
def test_who_only_has_the_registers_of_a_caller_is_not_freed(
    target_of: Callable[[str], Target], arch: str
) -> None:
    """It runs in a loop, and its instruction is no system call."""
    run = target_of(arch).run("hang", change=_with_pretender)
    pretender = run.id("pretender")
    (asked,), (late, *_) = run.made("REQUEST", from_=pretender), run.of("TRIGGER", cause="late")
    assert run.at(asked) < run.at(late)
    assert not run.of("answered THREAD", pd=pretender)
