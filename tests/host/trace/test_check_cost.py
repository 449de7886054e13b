# SPDX-License-Identifier: BSD-2-Clause
"""The cost of the check for an event grows neither with the system nor with the past of the run.

The cost is counted in bytecodes and not in time: the count is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.trace.writer import Draft
from kit.configured_story import expected, story, with_more_pds
from kit.cost import busy_pds, cost_by_event, events_of, large_system, long_history

SIZE = 12
MOST = 1.3
"""The allowed growth of the cost of an event in a run of four times the size."""


@pytest.mark.slow
@pytest.mark.parametrize(("run", "kinds"), [(long_history, 26), (large_system, 26), (busy_pds, 20)])
def test_an_event_costs_the_same_in_a_larger_run(
    run: Callable[[int], list[Draft]], kinds: int
) -> None:
    small, large = (cost_by_event(events_of(run(size))) for size in (SIZE, 4 * SIZE))
    assert small.keys() == large.keys()
    assert len(small) >= kinds
    grown = {name: (small[name], large[name]) for name in small if large[name] > MOST * small[name]}
    assert grown == {}


@pytest.mark.slow
@pytest.mark.behaviour("W-01")
def test_a_pd_of_a_larger_configuration_costs_the_same() -> None:
    configs = [with_more_pds(count)(expected()) for count in (4 * SIZE, 16 * SIZE)]
    small, large = (cost_by_event(events_of(story(each)), each) for each in configs)
    for name in ("PD", "BODY", "RIGHTS", "QUOTA"):
        assert large[name] <= MOST * small[name]
