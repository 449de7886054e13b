# SPDX-License-Identifier: BSD-2-Clause
"""Cancellation: of what, by whom, how often, and when it is too late."""

from __future__ import annotations

import pytest

from cellreap import headers
from cellreap.testing import Run, Target, with_pd
from kit.counted import COUNTED

OK, DENIED, NO_SUCH, GONE, BUSY, CANCELLED = (
    headers.enums("protocol.h")["cr_result"][f"CR_RESULT_{name}"]
    for name in ("OK", "DENIED", "NO_SUCH", "GONE", "BUSY", "CANCELLED")
)
QUEUED, RUNNING, OVER, WAS_CANCELLED = (
    headers.enums("protocol.h")["cr_ticket_state"][f"CR_TICKET_{name}"]
    for name in ("QUEUED", "RUNNING", "OVER", "CANCELLED")
)


def told(run: Run, name: str) -> list[tuple[str, int]]:
    """What a PD says: what it asked for, and the answer."""
    said = (text.rpartition(": ") for text in run.says(name))
    return [(what, int(result)) for what, _, result in said]


@pytest.fixture
def run(target: Target) -> Run:
    # Lateness is measured in instructions here, so it does not depend on the wall clock.
    return target.run("cancel", qemu_args=COUNTED)


@pytest.mark.behaviour("T-29", "A-05")
def test_what_has_not_taken_effect_is_cancelled_once(run: Run) -> None:
    assert told(run, "boss") == [
        ("extract", OK),
        ("the extraction", OK),
        ("its state", RUNNING),
        ("cancel the extraction", OK),
        ("the extraction", OK),
        ("its state", WAS_CANCELLED),
        ("twice", GONE),
        ("terminate later", OK),
        ("the end of the first", OK),
        ("its state", QUEUED),
        ("terminate later again", BUSY),
        ("cancel the end", OK),
        ("the end of the first", OK),
        ("its state", WAS_CANCELLED),
        ("twice", GONE),
        ("terminate later", OK),
        ("terminate at once", OK),
        ("cancel what was stopped", GONE),
        ("connect", CANCELLED),
        ("the end of the first", OK),
        ("its state", OVER),
        ("after the end", GONE),
    ]
    # Nobody has fetched the question of the extraction, and nobody ever will.
    (withdrawn,) = run.of("withdrawn NOTICE")
    assert run.name(withdrawn["pd"]) == "clerk"
    assert not run.of("EXTRACTED")


@pytest.mark.behaviour("T-29")
def test_nobody_cancels_for_another_without_its_capability(run: Run) -> None:
    assert told(run, "thief") == [
        *[("a ticket of another", DENIED)] * 4,
        ("no ticket", NO_SUCH),
        ("nothing", NO_SUCH),
        ("with a request", DENIED),
        ("a respawn", DENIED),
        ("the respawn of nobody", NO_SUCH),
        ("connect", GONE),  # to the space of the PD whose respawn is cancelled
    ]
    assert not run.of("CANCEL", pd=run.id("thief"))


@pytest.mark.behaviour("T-29")
def test_who_may_terminate_a_pd_cancels_what_that_waits_for(run: Run) -> None:
    assert told(run, "trusted") == [
        ("no ticket of the boss", NO_SUCH),
        ("its stopped victim", GONE),
        ("its connect", OK),
        ("a connect that is over", NO_SUCH),
        ("a respawn", OK),
        ("twice", GONE),
    ]
    assert "phoenix" not in run.alive()
    assert len(run.of("due RESPAWN")) == 2


@pytest.mark.behaviour("T-29", "J-14")
def test_a_pd_that_is_terminated_later_goes_on_until_its_cleanup_begins(run: Run) -> None:
    _, again = run.of("TRIGGER", cause="terminate", when="later")
    (stop,) = run.of("stopped THREAD", pd=run.id("first_client"))
    (cleanup,) = run.of("CLEANUP", trigger=run.id("first_client"))
    (at_once,) = run.of("stopped THREAD", pd=run.id("second_victim"))
    (first,) = run.of("SETTLED", n=run.of("WAIT")[0]["n"])
    assert run.at(again) < run.at(at_once) < run.at(first) < run.at(stop) < run.at(cleanup)


@pytest.mark.behaviour("T-29", "J-14")
def test_a_pd_that_is_stopped_before_keeps_its_place_and_all_tickets(target: Target) -> None:
    change = with_pd("boss", args=(0, 1))
    run = target.run("cancel", change=change, qemu_args=COUNTED)
    assert told(run, "boss")[-6:] == [
        ("terminate it at once", OK),
        ("cancel what was stopped", GONE),
        ("its end", OK),
        ("its state", OVER),
        ("its end at once", OK),
        ("its state", OVER),
    ]
    (stop,) = run.of("stopped THREAD", pd=run.id("first_client"))
    (resume,) = run.of("CONTINUE")
    assert run.at(stop) < run.at(resume)
    assert len(run.of("CLEANUP", trigger=run.id("first_client"))) == 1
