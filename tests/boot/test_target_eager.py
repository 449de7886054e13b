# SPDX-License-Identifier: BSD-2-Clause
"""A PD that allows or subscribes for ever does not fill the trace."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap import headers
from cellreap.testing import Run, Target, with_pd
from kit.marks import thorough_but

KERNELS = ("x86_64-seL4", "aarch64-seL4", "x86_64-refkernel")
MOST = headers.constant("limits.h", "CR_MAX_CONSENTS")
ALLOWS, SUBSCRIBES, THE_SAME, USES = range(4)
"""What tests/pds/eager.c does 3,000 times."""
EDGES = 40


def lines(run: Run, op: str) -> int:
    """The lines about the PD's operations of this kind."""
    return len(run.of("ALLOW", "EDGE", asker=run.id("eager"), op=op))


def beside(target: Target, what: int) -> Run:
    return target.run("eager", change=with_pd("eager", args=(what,)))


@pytest.mark.behaviour("S-12")
@pytest.mark.parametrize("kernel", thorough_but(KERNELS, "x86_64-refkernel"))
def test_allowances_that_nobody_uses_are_limited(
    target_on: Callable[[str], Target], kernel: str
) -> None:
    """What was allowed can be taken back all the same."""
    run = beside(target_on(kernel), ALLOWS)
    assert run.says("eager") == [f"accepted {MOST}"]
    assert lines(run, "allow") == 2 * MOST


@pytest.mark.slow
@pytest.mark.behaviour("S-12")
def test_an_allowance_by_which_an_edge_was_made_does_not_count(target: Target) -> None:
    run = beside(target, USES)
    assert run.says("eager") == [f"accepted {EDGES + MOST}"]
    assert lines(run, "allow") == EDGES + 2 * MOST


@pytest.mark.behaviour("S-12")
@pytest.mark.parametrize("kernel", thorough_but(KERNELS, "x86_64-refkernel"))
def test_subscriptions_that_are_dropped_again_are_limited(
    target_on: Callable[[str], Target], kernel: str
) -> None:
    run = beside(target_on(kernel), SUBSCRIBES)
    assert run.says("eager") == [f"accepted {MOST}"]
    assert lines(run, "subscribe") == lines(run, "unsubscribe") == MOST


@pytest.mark.behaviour("S-12")
def test_what_is_allowed_already_counts_too(target: Target) -> None:
    run = beside(target, THE_SAME)
    assert run.says("eager") == [f"accepted {MOST}"]
    assert lines(run, "allow") == MOST
