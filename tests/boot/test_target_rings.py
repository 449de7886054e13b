# SPDX-License-Identifier: BSD-2-Clause
"""A ring in a region of the configuration, whose ends are killed at arbitrary instants."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from cellreap.system.config import Config
from cellreap.testing import Run, Target
from kit.arches import ARCHES
from kit.marks import thorough_but

BURST = 1000
"""Of ringer.c."""


def killed(times: int, seed: int) -> Callable[[Config], Config]:
    """Each end so often, at instants of this seed."""

    def change(config: Config) -> Config:
        *both, last = config.crashes
        crashes = [
            crash.model_copy(update={"repeat": times, "seed": seed + i})
            for i, crash in enumerate(both)
        ]
        expect = config.expect.model_copy(update={"cleanups": 2 * times + 1})
        return config.model_copy(update={"crashes": (*crashes, last), "expect": expect})

    return change


def counts(run: Run, name: str) -> dict[str, int]:
    """The numbers that the PDs of a name said, by what they are."""
    said = (re.fullmatch(r"([a-z ]+) (\d+)", text) for text in run.says(name))
    return {found[1]: int(found[2]) for found in said if found is not None}


@pytest.mark.behaviour("E-03")
@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(("times", "seed"), thorough_but([(8, 1), (50, 101)], (8, 1)))
def test_nothing_acknowledged_is_lost_or_done_twice(
    target_of: Callable[[str], Target], arch: str, times: int, seed: int
) -> None:
    """Whatever instant an end dies at. What is done again was not acknowledged."""
    run = target_of(arch).run("ring_ends", change=killed(times, seed))
    sender, receiver = counts(run, "sender"), counts(run, "receiver")
    witness = counts(run, "witness")
    assert sender["sent"] == receiver["acknowledged"] > 2 * times
    assert sender["sent"] % BURST != 0, "a sender died amid a burst"
    assert witness["wrong"] == 0
    assert witness["again"] <= times
    for end in ("sender", "receiver"):
        assert "the other end is new" in run.says(end)


@pytest.mark.behaviour("E-03")
def test_nobody_is_dismissed_before_a_crash_that_is_on_its_way(target: Target) -> None:
    """The last crash comes long after the ends have nothing more to do. Both go on after it."""

    def change(config: Config) -> Config:
        late = config.crashes[-1].model_copy(update={"after_ns": 30_000_000})
        expect = config.expect.model_copy(update={"cleanups": 1})
        return config.model_copy(update={"crashes": (late,), "expect": expect})

    run = target.run("ring_ends", change=change)
    assert counts(run, "sender")["sent"] == counts(run, "receiver")["acknowledged"] > 0
    assert len(run.of("THREAD", change="dismissed")) == 3
