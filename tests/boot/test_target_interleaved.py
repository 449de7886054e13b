# SPDX-License-Identifier: BSD-2-Clause
"""PDs ask the root task while a long cleanup is carried out, and are answered between its steps."""

from __future__ import annotations

import itertools

import pytest

from cellreap.headers import constant
from cellreap.system.config import Config, Link
from cellreap.testing import Change, Run, Target, together, with_bench, with_pd, with_system
from cellreap.trace.events import Event
from kit.counted import SLOW_COUNTED
from kit.marks import thorough_but

AT_ONCE = constant("steps.h", "CR_STEP_AT_ONCE")
BUSY = constant("protocol.h", "CR_RESULT_BUSY")
LINES = 6
DEATHS = ("step:8:fault", "step:9.end:error", "step:12:hang")


def failing(config: Config) -> Config:
    """Cleaners die at steps between which PDs are served, and the kernel is asked at the end."""
    changes = with_pd("keeper", args=(8, 20)), with_bench(inject=DEATHS), with_system(truth=True)
    return together(*changes)(config)


def throng(target: Target, change: Change | None = None) -> Run:
    """Returns a run in which PDs ask during the cleanup.

    By the host's clock a fast emulator would be done with the cleanup before any of them runs.
    """
    return target.run("throng", change=change, qemu_args=SLOW_COUNTED)


def end_of_first(run: Run) -> int:
    """The place in the trace at which the first cleanup ends."""
    (settled,) = run.of("SETTLED", n=1)
    return run.at(settled)


def served(run: Run, name: str) -> list[Event]:
    """The operations of this PD that were served within the first cleanup."""
    return run.of("SERVED", n=1, pd=run.id(name))


def final_rows(run: Run) -> list[str]:
    """The model state that was printed last."""
    return sorted(",".join(row) for row in run.last_state())


# The number of resources that the cleanup destroys.
@pytest.mark.parametrize("resources", thorough_but((100, 1000), 100))
@pytest.mark.behaviour("X-18", "T-24")
def test_a_client_is_answered_within_a_step_of_a_long_cleanup(
    target: Target, resources: int
) -> None:
    run = throng(target, with_pd("keeper", args=(8, resources)))
    taken = [step for step in run.of("STEP", n=1, name="destroy-resource") if step["kinds"] != "-"]
    assert sum(step.counts("kinds").total() for step in taken) >= 3 * resources
    assert len(taken) > -(-resources // AT_ONCE), "some steps end early"
    waits = [event.number("waited") for event in served(run, "client")]
    assert len(waits) >= 2
    assert max(waits) <= 3 + 2 * len(run.of("PD")), "since the message came"
    assert run.says("client") == ["40 operations"]


@pytest.mark.behaviour("C-26")
def test_what_concerns_the_cleanup_waits_for_its_end(target: Target) -> None:
    run = throng(target)
    end = end_of_first(run)
    assert served(run, "client"), "others are served meanwhile"
    guest, clumsy = run.id("guest"), run.id("clumsy")
    assert not served(run, "guest"), "it has a request to a doomed space"
    (said,) = run.of("SAY", pd=guest)
    assert run.at(said) > end
    assert run.says("guest") == ["look: 0, state 2"]
    (fault,) = run.of("FAULT", pd=clumsy)
    assert run.at(fault) > end, "it came during the cleanup, and was kept"
    assert [event["trigger"] for event in run.of("CLEANUP")] == [run.id("store"), clumsy]
    (spawned,) = run.made("OWN", from_=run.id("parent"))
    assert run.at(spawned) > end
    assert run.says("parent") == ["spawn: 0"]


def without_the_guest(config: Config) -> Config:
    """Only the store goes. Its cleanup is left until that of two others, of whom one was to be
    told.
    """
    policy = config.policy.model_copy(update={"rs_depth": 0})
    links = (Link(between=("guest", "clumsy")),)
    config = config.model_copy(update={"policy": policy, "links": links})
    return together(with_pd("client", args=(2, 400)), with_bench(inject=("step:5:error:x9",)))(
        config
    )


@pytest.mark.behaviour("C-26")
def test_a_later_run_has_the_plan_of_the_first_while_others_are_served(target: Target) -> None:
    run = throng(target, without_the_guest)
    assert [event["run"] for event in run.of("RECOVER", n=1)] == ["1", "2"]
    last = run.at(run.of("RECOVER")[-1])
    assert any(run.at(event) > last for event in served(run, "client"))
    assert not run.of("QUEUE", n=1, to=run.id("guest"))


@pytest.mark.behaviour("X-18")
def test_a_flood_neither_stops_the_cleanup_nor_is_it_lost_without_a_word(target: Target) -> None:
    run = throng(target)
    flooder = run.id("flooder")
    *lines, last = run.says("flooder")
    refused = run.of("REFUSE", pd=flooder, status=BUSY)
    assert lines
    assert len(lines) + len(refused) >= LINES, "each is in the trace"
    assert last == "all sent"
    steps = run.of("STEP", n=1)
    pauses = served(run, "flooder")
    assert len(pauses) >= 2
    for one, other in itertools.pairwise(pauses):
        assert any(run.at(one) < run.at(step) < run.at(other) for step in steps)


@pytest.mark.behaviour("C-26")
def test_the_result_is_that_of_one_after_the_other(target: Target) -> None:
    between = throng(target)
    after = throng(target, with_system(cleaner_priority=None))
    assert between.of("SERVED")
    assert not after.of("SERVED")
    assert final_rows(between) == final_rows(after)
    for name in ("client", "guest", "parent"):
        assert between.says(name) == after.says(name)


@pytest.mark.slow
@pytest.mark.behaviour("X-18")
def test_a_pd_that_never_blocks_does_not_keep_the_cleaner_from_running(target: Target) -> None:
    run = throng(target, with_pd("guest", args=(7,)))
    (said,) = run.of("SAY", pd=run.id("guest"))
    assert said["text"] == "told"
    assert not run.of("TAKEOVER"), "the cleaner waited, and did not hang"


@pytest.mark.slow
@pytest.mark.behaviour("T-24", "X-18")
def test_cleaners_may_die_while_clients_wait(target: Target) -> None:
    """The next cleaner comes first, then the service. A hang is found though PDs keep running."""
    whole = throng(target)
    run = throng(target, failing)
    deaths = run.of("TAKEOVER", n=1)
    assert [event["death"] for event in deaths] == [death.split(":")[-1] for death in DEATHS]
    for death in deaths:
        after = [event for event in run.of("STEP", "SERVED", n=1) if run.at(event) > run.at(death)]
        assert (after[0].name, after[0]["node"]) == ("STEP", death["node"])
    assert served(run, "client")
    assert run.says("client") == whole.says("client")
    assert final_rows(run) == final_rows(whole)
