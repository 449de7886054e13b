# SPDX-License-Identifier: BSD-2-Clause
"""Channels: PDs that signal each other, before and after one of them was down."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.model.ids import is_channel
from cellreap.system.config import Config
from cellreap.system.config.signals import Channel
from cellreap.testing import Target, together, with_bench, with_crashes, with_pd
from kit.arches import ARCHES
from kit.truth_traces import WITH_TRUTH

FRESH = "data 17, bss 0, stack 0, rung 0"


@pytest.mark.parametrize("arch", ARCHES)
def test_who_comes_back_is_fresh_and_signals_as_before(
    target_of: Callable[[str], Target], arch: str
) -> None:
    """A signal was pending when it went. Each channel is signalled once, when all are back."""
    run = target_of(arch).run("channel")
    left, right = run.says("left"), run.says("right")
    assert left == [FRESH, FRESH, "rung 20"], "5 is the number of the quiet channel"
    assert right == [FRESH, "rung 6"], "1 and 2 are those of the quiet one and of the hint"
    channels = [event["id"] for event in run.of("RESOURCE") if is_channel(event["id"])]
    assert len(channels) == 3, "they stay as long as one of the two is there"
    assert {node for node, _ in run.destroys()}.isdisjoint(channels)


def test_a_channel_goes_with_the_last_of_its_pds(target: Target) -> None:
    """They are made anew with the first that comes back. The notifications are the same."""
    run = target.run("channel", change=with_pd("right", fault_handler="left"))
    gone = {node for node, _ in run.destroys() if is_channel(node)}
    assert len(gone) == 3
    assert [run.says(pd)[-2] for pd in ("left", "right")] == [FRESH, FRESH]


def test_a_pd_may_have_a_channel_with_one_that_was_never_there(target: Target) -> None:
    """The kernel's word has its capability from the start, and the other one's when it comes."""
    run = target.run("channel", change=with_pd("right", start="after-cleanup"))
    assert run.says("right")[0] == FRESH


@pytest.mark.behaviour("S-11", "C-20")
def test_a_pd_that_is_left_keeps_its_signals_when_the_channel_goes(
    target_of: Callable[[str], Target],
) -> None:
    """It is stopped, and the other PD was the last that was there."""
    change = together(
        WITH_TRUTH,
        with_pd("left", respawn=False),
        with_pd("right", respawn=False),
        with_pd("patient", fault_handler=None),
        with_crashes({"pd": "left", "how": "page-fault"}, {"pd": "right", "how": "page-fault"}),
        with_bench(inject="step:3:error:always"),  # the end of the first one's body
    )
    run = target_of("aarch64").run("channel", change=change)
    left = run.id("left")
    assert {node for node, _ in run.destroys() if is_channel(node)}
    assert left not in {node for node, _ in run.destroys()}
    assert "n8" in run.of("CAPS", pd=left, cnode="cspace")[-1]["caps"]


@pytest.mark.behaviour("S-11", "C-20")
def test_so_does_one_whose_stop_fails_for_good(target_of: Callable[[str], Target]) -> None:
    """It goes with the PD that handles its faults. The other one of its channel goes later."""

    def with_channel(config: Config) -> Config:
        ends = {"name": "far", "end": ({"pd": "patient"}, {"pd": "right"})}
        far = Channel.model_validate(ends)
        return config.model_copy(update={"channels": (*config.channels, far)})

    change = together(
        WITH_TRUTH,
        with_channel,
        with_pd("left", respawn=False),
        with_pd("right", respawn=False),
        with_crashes({"pd": "left", "how": "page-fault"}, {"pd": "right", "how": "page-fault"}),
        with_bench(inject="step:2:error:always"),
    )
    run = target_of("aarch64").run("channel", change=change)
    left = run.id("patient")
    assert {node for node, _ in run.destroys() if is_channel(node)}
    assert left not in {node for node, _ in run.destroys()}
    assert "n8" in run.of("CAPS", pd=left, cnode="cspace")[-1]["caps"]
