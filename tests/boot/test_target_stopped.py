# SPDX-License-Identifier: BSD-2-Clause
"""A PD that is stopped does not run on until it is destroyed."""

from __future__ import annotations

import pytest

from cellreap.testing import Target


@pytest.mark.behaviour("C-16", "W-07")
def test_a_linked_pd_that_calls_for_ever_calls_nobody_after_it_is_stopped(target: Target) -> None:
    """Its call is answered while the cleanup waits, so nothing but the suspension keeps it."""
    run = target.run("tally")
    (stop,) = run.of("stopped THREAD", pd=run.id("runner"))
    (destroyed,) = run.of("STEP", name="destroy-pd", pd=run.id("runner"))
    died, told, counted = run.of("SAY", pd=run.id("tally"))[:3]
    assert died["text"] == "the other server: server died"
    assert run.at(stop) < run.at(died) < run.at(counted) < run.at(destroyed)
    assert "about to be destroyed" in told["text"]
    assert counted["text"] == "calls after it: 0"
    assert run.alive() == {"tally"}
