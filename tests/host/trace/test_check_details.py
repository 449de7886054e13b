# SPDX-License-Identifier: BSD-2-Clause
"""Details of single rules of the check: what is next to what they forbid, on both sides."""

from __future__ import annotations

import io

import pytest

from cellreap.trace.check import check_stream
from cellreap.trace.writer import Draft, seal
from kit.trace_simulator import Target, block_fs_db_app


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
