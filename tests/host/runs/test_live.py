# SPDX-License-Identifier: BSD-2-Clause
"""The console as it is shown while a run goes on, however its bytes arrive."""

from __future__ import annotations

import pytest

from cellreap.runs.live import Live
from cellreap.trace.events import record_text
from cellreap.trace.frames import MARK
from cellreap.trace.writer import seal
from kit.records import events_in
from kit.trace_simulator import Target


@pytest.mark.behaviour("V-02")
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_frames_become_records_and_all_else_stays(size: int) -> None:
    head, *frames = (line.rstrip("\n") for line in seal(Target(0, 0, "live").end()))
    lines = ["booting", head, f"half a line{frames[0]}", "", *frames[1:], f"{MARK.decode()}junk"]
    console = "".join(f"{line}\n" for line in lines).encode()
    events, _ = events_in(console)
    records = [record_text(event) for event in events]
    live = Live()
    shown = b"".join(live.take(console[at : at + size]) for at in range(0, len(console), size))
    assert shown.decode().splitlines() == [
        *("booting", records[0], "half a line", records[1], "", *records[2:]),
        f"{MARK.decode()}junk",
    ]


def test_what_cannot_become_a_frame_is_shown_at_once() -> None:
    live = Live()
    assert live.take(b"no end of the line") == b"no end of the line"
    assert live.take(b" yet\n" + MARK) == b" yet\n"
