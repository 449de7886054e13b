# SPDX-License-Identifier: BSD-2-Clause
"""Progress in a log: a step that takes long says so."""

from __future__ import annotations

import io
import threading

import pytest

from cellreap.progress import Progress


class Log(io.StringIO):
    """A log that tells when a line about a step that still runs has been written."""

    def __init__(self) -> None:
        super().__init__()
        self.sign = threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if "so far" in text:
            self.sign.set()
        return written


@pytest.mark.behaviour("H-13")
def test_a_long_step_says_that_it_still_runs_and_how_far_it_is() -> None:
    log = Log()
    with Progress(stream=log, every=0.01).step("booting") as update:
        update("12 events")
        log.sign.clear()
        assert log.sign.wait(60)
    lines = log.getvalue().splitlines()
    assert lines[0] == "booting ..."
    assert lines[-2] == "booting: 0 s so far, 12 events"
    assert lines[-1].startswith("booting: done after ")


def test_a_step_that_fails_says_nothing_more() -> None:
    log = Log()
    before = threading.active_count()
    with pytest.raises(OSError, match="full"), Progress(stream=log, every=60).step("linking"):
        raise OSError("full")
    assert log.getvalue() == "linking ...\n"
    assert threading.active_count() == before


def test_a_step_that_is_shown_otherwise_gives_no_signs() -> None:
    log = Log()
    with Progress(stream=log, every=0.01).step("booting", signs=False):
        assert not log.sign.wait(0.05)
    assert len(log.getvalue().splitlines()) == 2


def test_a_quiet_step_says_nothing() -> None:
    log = Log()
    with Progress(quiet=True, stream=log, every=0.01).step("linking") as update:
        update("3 files")
        assert not log.sign.wait(0.05)
    assert log.getvalue() == ""
