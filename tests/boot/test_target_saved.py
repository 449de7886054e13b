# SPDX-License-Identifier: BSD-2-Clause
"""A subscriber saves a PD from a collection, in time and too late."""

from __future__ import annotations

import pytest

from cellreap.testing import Target


@pytest.mark.behaviour("G-01", "G-17", "G-18", "G-19", "G-29")
def test_who_is_told_may_save_a_pd_until_the_notify_phase_is_over(target: Target) -> None:
    run = target.run("saved")
    numbers = run.says("entruster")[-1].split()
    first, second, third, fourth = (f"PD_{int(number):x}" for number in numbers)
    said = run.says("saver")
    assert {text for text in said if text.startswith("check save ")} == {
        f"check save {what}: ok"
        for what in (
            *("what lives", "what crashed", "what it was not told of", "itself", "nobody"),
            *("the root task", "twice", "too late"),
        )
    }
    assert "check use it while it is doomed: ok" in said
    assert said.count("save: 0") == 1
    # All go by the first plan. The first is saved, and the second with it, which it holds.
    assert set(run.dooms(2)) == {first, second, third, fourth}
    [saved] = run.made("HOLD", op="save")
    assert (saved["from"], saved["to"]) == (run.id("saver"), f"PD_2_{first[3:]}")
    _, anew = run.of("PLAN", n=2)
    assert set(run.groups(2)) & {first, second, third, fourth} == {third, fourth}
    assert {event["pd"] for event in run.of("STEP", name="destroy-pd", n=2)} == {third, fourth}
    [told] = run.of("QUEUE", n=2, kind="pre-destroy", node=first)
    assert run.at(told) < run.at(saved) < run.at(anew) < run.at(run.destroys(2)[0][1])
    # For the third it was too late: destroyed, and still known by how it ended.
    assert said[-1] == "state: 2, ending: 5"
    # The second faulted while it was doomed. Once spared, it is the trigger of a cleanup.
    [fault] = run.of("FAULT", pd=second)
    assert run.at(told) < run.at(fault) < run.at(anew)
    last = run.cleanups()[-1]
    assert (last["trigger"], last["cause"]) == (second, "fault")
    assert set(run.dooms(3)) == {second}
