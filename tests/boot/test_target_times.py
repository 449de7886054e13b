# SPDX-License-Identifier: BSD-2-Clause
"""Events have the times at which they happened, by a clock that agrees with the timer's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.system.config import Config
from cellreap.testing import Target
from kit.arches import ARCHES

HZ_OF_VIRT = 62_500_000
"""The generic timer of QEMU's aarch64 machine."""


def with_times(config: Config) -> Config:
    system = config.system.model_copy(update={"trace_time": True})
    return config.model_copy(update={"system": system})


@pytest.mark.parametrize("machine", ARCHES)
def test_each_event_has_its_time(target_of: Callable[[str], Target], machine: str) -> None:
    """In `hang`, nothing happens for the deadline of 100 ms before the server is late."""
    run = target_of(machine).run("hang", change=with_times)
    first, *others = run.events
    assert first.time is None
    times = [event.time for event in others]
    assert None not in times
    assert times == sorted(times, key=lambda time: time or 0)
    (late,) = run.of("TRIGGER", cause="late")
    (queued,) = run.of("QUEUE", token=late["token"])
    assert late.time is not None
    assert queued.time is not None
    assert late.time - queued.time >= late.number("ms") * 1_000_000 * 98 // 100
    hz = first.number("clock")
    assert hz == HZ_OF_VIRT if machine == "aarch64" else hz > 1_000_000


def test_without_the_setting_no_event_has_a_time(target: Target) -> None:
    run = target.run("hang")
    assert run.of("TRACE")[0]["clock"] == "0"
    assert {event.time for event in run.events} == {None}
