# SPDX-License-Identifier: BSD-2-Clause
"""Details of single rules of the check: what is next to what they forbid, on both sides."""

from __future__ import annotations

import io
import random

import pytest

from cellreap.trace.check import check_stream
from cellreap.trace.check.memory import AddressMap, Body
from cellreap.trace.writer import Draft, seal
from kit.simulated_runs import block_fs_db_app, merged_run, time_run
from kit.trace_simulator import Target


def said(drafts: list[Draft]) -> list[str]:
    """The violations in a trace that is sealed and read."""
    report = check_stream(io.BytesIO("\n".join(seal(drafts)).encode()), "trace")
    return [problem.text for problem in report.violations]


@pytest.mark.behaviour("A-01")
def test_the_ticket_of_a_plain_send_is_told_before_the_pd_stops_and_only_there() -> None:
    target = Target(1, 0)
    pds = block_fs_db_app(target)
    target.body_cap(pds["app"], pds["fs"])
    target.quiet()
    target.terminate(pds["fs"], pds["app"])
    target.told(1)
    target.cleanup()
    target.serve_all()
    drafts = target.end()
    names = [name for name, *_ in drafts]
    told = drafts.pop(names.index("TICKET"))
    del drafts[names.index("TICKET")]  # its ANSWER: the terminator does not wait for one
    stop = names.index("stopped THREAD")
    assert said([*drafts[:stop], told, *drafts[stop:]]) == []
    twice = said([*drafts[:stop], told, told, *drafts[stop:]])
    assert [text for text in twice if "expected stopped THREAD" in text]


@pytest.mark.behaviour("W-01")
def test_nobody_is_to_terminate_a_pd_that_went_down_by_itself() -> None:
    target = Target(0, 0)
    pds = block_fs_db_app(target)
    target.quiet()
    target.stage(1, "terminate", pds["fs"], pds["app"])
    target.fault(pds["fs"])
    target.cleanup()
    target.serve_all()
    target.say(pds["app"], "it is gone")
    assert said(target.end()) == []


@pytest.mark.behaviour("W-02")
def test_the_id_of_a_dead_pd_is_never_given_again() -> None:
    target = Target(0, 0)
    pds = block_fs_db_app(target)
    target.quiet()
    target.exit(pds["app"])
    target.cleanup()
    target.emit("PD", id=pds["app"], name="successor")
    assert [text for text in said(target.end()) if "was used before" in text]


@pytest.mark.behaviour("W-02")
def test_who_was_in_a_call_is_freed_as_soon_as_the_server_is_stopped() -> None:
    target = Target(0, 0)
    pds = block_fs_db_app(target)
    target.quiet()
    target.fault(pds["fs"])
    target.say(pds["app"], "something else")
    target.free(pds["db"], pds["fs"])
    assert [text for text in said(target.end()) if "freed directly after" in text]


@pytest.mark.behaviour("J-10", "W-02")
def test_one_notice_about_a_space_stands_for_several() -> None:
    drafts = merged_run()
    names = [name for name, *_ in drafts]
    merged, withdrawn = names.index("merged NOTICE"), names.index("withdrawn NOTICE")
    assert merged < withdrawn
    drafts[withdrawn] = ("merged NOTICE", drafts[withdrawn][1])
    assert [text for text in said(drafts) if "another notice about the space stands" in text]


@pytest.mark.behaviour("W-02")
@pytest.mark.parametrize(("held_up", "is_possible"), [(1060, True), (3000, False)])
def test_time_before_a_server_was_owed_a_notice_does_not_count(
    held_up: int, is_possible: bool
) -> None:
    target = Target(0, 0)
    server, guest = target.pd("server", deadline_ms=1000), target.pd("guest")
    target.request(guest, target.space(server, "BLOCK"))
    target.quiet()
    target.emit("CLOCK", ms=5000)
    target.exit(guest, 0)
    target.cleanup()
    for ms in (5400, 5800, 6200):
        target.emit("CLOCK", ms=ms)
    target.emit("HELD_UP", pd=server, ms=held_up, ran=300)
    target.serve(server)
    found = [text for text in said(target.end()) if "ms have passed" in text]
    assert (found == []) is is_possible


@pytest.mark.behaviour("M-03")
def test_a_pd_finishes_all_that_it_fetched_before_an_extraction_is_over() -> None:
    target = Target(0, 0)
    server, *askers = (target.pd(name) for name in ("server", "one", "other"))
    target.space(server, "BLOCK")
    target.quiet()
    extractions = [target.extract(by) for by in askers]
    asked = target.fetch(server)
    assert len(asked) == 2
    for notice in asked:  # in one message
        target.ack(server, notice)
    for x in extractions:
        target.extracted(x)
    for ticket in (1, 2):
        target.told(ticket)
    assert said(target.end()) == []


@pytest.mark.behaviour("N-11")
def test_who_is_held_up_is_found_together_with_who_is_late_and_not_after_another_trigger() -> None:
    """One look at the clock finds one PD late and another one held up before a cleanup begins."""
    drafts = time_run()
    names = [name for name, *_ in drafts]
    late = next(i for i, (_, values) in enumerate(drafts) if values.get("cause") == "late")
    held = len(names) - 1 - names[::-1].index("HELD_UP")
    assert late < held < names.index("CLEANUP", late)
    assert said(drafts) == []
    trigger = names.index("EXIT")
    event = drafts[held]
    early = said([*drafts[: trigger + 1], event, *drafts[trigger + 1 :]])
    assert [text for text in early if "HELD_UP" in text and "cleanup" in text.lower()], early


def test_two_bodies_that_overlap_are_found_whatever_their_sizes() -> None:
    rng = random.Random(3)
    for _ in range(200):
        addresses, there = AddressMap(), dict[str, Body]()
        for number in range(30):
            size = 1 << rng.randrange(8)
            body, pd = Body(rng.randrange(256 // size) * size, size, 1), f"PD_{number}"
            over = {
                other
                for other, its in there.items()
                if its.paddr < body.paddr + size and body.paddr < its.paddr + its.bytes
            }
            found = addresses.overlapping(body)
            assert found in over if over else found is None
            if not over:
                addresses.add(body, pd)
                there[pd] = body
            gone = rng.choice(sorted(there))
            if rng.random() < 0.3:
                addresses.remove(there.pop(gone), gone)
            addresses.remove(body, "PD_99")
