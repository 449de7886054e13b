# SPDX-License-Identifier: BSD-2-Clause
"""The ordered stop of the whole system."""

from __future__ import annotations

import pytest

from cellreap.testing import Target, with_bench
from kit.counted import counted_on
from kit.kernels import needs_timer


@pytest.mark.behaviour("X-13")
def test_the_system_ends_in_order_and_within_deadlines(target: Target) -> None:
    """The mute subscriber never answers; the other one still reaches its server."""
    run = target.run("stopped")
    (cleanup,) = run.cleanups()
    assert (cleanup["trigger"], cleanup["cause"]) == ("-", "stop")
    assert len(run.of("TRIGGER", cause="stop")) == 1
    assert run.doomed() == dict.fromkeys(("disk", "fs", "watcher", "mute"), "1")
    said = run.says("watcher")
    assert any(line.startswith("told: about to be destroyed") for line in said)
    assert "flushed: bad request" in said
    (late,) = run.of("TRIGGER", cause="late")
    assert run.name(late["pd"]) == "mute"
    gone = [node for node, _ in run.destroys()]
    order = [gone.index(run.id(pd)) for pd in ("disk", "fs", "watcher")]
    assert order == sorted(order)
    assert gone.index(run.id("disk")) < gone.index(run.id("mute"))
    assert run.alive() == set()
    assert not run.of("due RESPAWN")


@pytest.mark.behaviour("X-13")
def test_what_was_refused_before_the_end_of_the_system_does_not_come_any_more(
    target: Target,
) -> None:
    """The watcher cannot be made, twice. It would come while the stop waits for the mute one."""
    needs_timer(target.sdk)
    change = with_bench(inject=("make:100:error", "make:165:error"))
    run = target.run("stopped", change=change, qemu_args=counted_on(target.sdk))
    assert [event["name"] for event in run.of("MAKE_FAILED")] == ["watcher", "watcher"]
    assert not run.of("PD", name="watcher")
    assert run.of("TRIGGER", cause="late")
    assert run.alive() == set()
