# SPDX-License-Identifier: BSD-2-Clause
"""Details of single rules of the check: what is next to what they forbid, on both sides."""

from __future__ import annotations

import io

import pytest

from cellreap.trace.check import check_stream
from cellreap.trace.writer import Draft, seal
from kit.trace_simulator import Target, block_fs_db_app, merged_run


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
    target.account()
    target.serve_all()
    drafts = target.end()
    names = [name for name, *_ in drafts]
    told = drafts.pop(names.index("TICKET"))
    stop = names.index("STOP")
    assert said([*drafts[:stop], told, *drafts[stop:]]) == []
    twice = said([*drafts[:stop], told, told, *drafts[stop:]])
    assert [text for text in twice if "expected STOP" in text]


@pytest.mark.behaviour("W-01")
def test_nobody_is_to_terminate_a_pd_that_went_down_by_itself() -> None:
    target = Target(0, 0)
    pds = block_fs_db_app(target)
    target.quiet()
    target.stage(1, "terminate", pds["fs"], pds["app"])
    target.fault(pds["fs"])
    target.cleanup()
    target.account()
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
    target.emit("PD", id=pds["app"], name="successor", pinned=0)
    assert [text for text in said(target.end()) if "was used before" in text]


@pytest.mark.behaviour("W-02")
def test_who_was_in_a_call_is_freed_as_soon_as_the_server_is_stopped() -> None:
    target = Target(0, 0)
    pds = block_fs_db_app(target)
    target.quiet()
    target.fault(pds["fs"])
    target.say(pds["app"], "something else")
    target.free(pds["db"], pds["fs"])
    assert [text for text in said(target.end()) if "expected it right after the STOP" in text]


@pytest.mark.behaviour("J-10", "W-02")
def test_one_notice_about_a_space_stands_for_several() -> None:
    drafts = merged_run()
    names = [name for name, *_ in drafts]
    merged, withdrawn = names.index("MERGE"), names.index("WITHDRAW")
    assert merged < withdrawn
    drafts[withdrawn] = ("MERGE", drafts[withdrawn][1])
    assert [text for text in said(drafts) if "another notice about the space stands" in text]
