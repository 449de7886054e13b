# SPDX-License-Identifier: BSD-2-Clause
"""A PD that asks the root task for ever takes no more of the processor than its turns.

An equal works in rounds, alone and beside it, and measures both under -icount, where ticks of the
counter stand for instructions.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.testing import Target, together, with_pd
from kit.counted import COUNTED
from kit.marks import slow_but, thorough_but

KINDS = {
    "a space that is not there": 0,
    "beyond the quota": 1,
    "no change": 2,
    "no operation": 3,
    "allowances": 4,
    "subscriptions": 5,
    "resources that it deletes": 6,
    "no answer": 7,
    "what is no fault": 8,
}
"""What tests/pds/beggar.c asks for."""
CALLS_A_PD, COMPUTES = 9, 10
"""What it does if it asks for nothing."""
MOST = 1.5
"""Without any share, it is more than 1.8 for what is least, and 50 for resources."""
SYSTEMS = ("aarch64-seL4", "x86_64-seL4", "aarch64-refkernel", "x86_64-refkernel")


def slowdown(target: Target, kind: int, times: int = 1) -> float:
    """The time of an equal's rounds beside the PD, as a multiple of that alone.

    It varies by a turn of either PD, which is a third of the time alone if `times` is 1.
    """
    change = together(with_pd("beggar", args=(kind,)), with_pd("toiler", args=(times,)))
    run = target.run("begging", change=change, qemu_args=COUNTED)
    said = dict(text.split() for text in run.says("toiler"))
    assert run.alive() == {"toiler"}
    return int(said["beside"]) / int(said["alone"])


@pytest.mark.behaviour("S-12")
@pytest.mark.parametrize("kind", slow_but(KINDS, "beyond the quota", "resources that it deletes"))
def test_an_equal_does_its_rounds_beside_a_pd_that_asks_for_ever(
    kind: str, target_of: Callable[[str], Target]
) -> None:
    assert slowdown(target_of("aarch64"), KINDS[kind]) <= MOST


@pytest.mark.slow
@pytest.mark.behaviour("S-12")
@pytest.mark.parametrize("system", thorough_but(SYSTEMS[1:], "x86_64-refkernel"))
def test_it_does_so_on_all_kernels(system: str, target_on: Callable[[str], Target]) -> None:
    assert slowdown(target_on(system), KINDS["beyond the quota"]) <= MOST


@pytest.mark.slow
@pytest.mark.behaviour("S-12")
@pytest.mark.parametrize("system", thorough_but(SYSTEMS, *SYSTEMS[:2]))
def test_a_pd_that_calls_its_capability_to_a_pd_has_its_turns_as_one_that_computes(
    system: str, target_on: Callable[[str], Target]
) -> None:
    """The kernel refuses the call. The root task, whose time would be nobody's, has none of it."""
    calls, computes = (slowdown(target_on(system), kind, 5) for kind in (CALLS_A_PD, COMPUTES))
    assert calls <= computes * 1.1


@pytest.mark.slow
@pytest.mark.behaviour("S-12")
def test_who_asks_for_ever_has_its_turns_all_the_same(target_of: Callable[[str], Target]) -> None:
    """It has asked for more than one share when the equal has done its rounds."""
    change = with_pd("beggar", args=(KINDS["resources that it deletes"],))
    run = target_of("aarch64").run("begging", change=change, qemu_args=COUNTED)
    assert len(run.of("RESOURCE", asker=run.id("beggar"))) > 2 * 16
