# SPDX-License-Identifier: BSD-2-Clause
"""Collection on the target: what cannot be reached goes after a cleanup, and nothing else."""

from __future__ import annotations

import pytest

from cellreap.system.config import Config
from cellreap.testing import Run, Target


def children(run: Run, parent: str) -> list[str]:
    """The ids of the PDs that a parent spawned."""
    return [f"PD_{int(number):x}" for number in run.says(parent)[-1].split()]


@pytest.mark.behaviour("G-16", "G-33", "G-39", "G-43")
def test_what_nobody_reaches_goes_after_a_cleanup_and_what_is_held_stays(target: Target) -> None:
    run = target.run("collect")
    lost, kept = children(run, "parent"), children(run, "other_parent")
    assert [event["pds"] for event in run.of("COLLECT")] == ["2"]
    first, second = run.cleanups()
    assert (first["cause"], second["trigger"], second["cause"]) == ("fault", "-", "collect")
    assert sorted(event["pd"] for event in run.of("DOOM_PD", n=2)) == sorted(lost)
    assert {event["depth"] for event in run.of("DOOM_PD", n=2)} == {"1"}
    assert {event["node"] for event in run.of("DESTROY", n=2)} >= set(lost)
    [owed] = run.of("OWE", n=2)
    assert (run.name(owed["to"]), owed["kind"], owed["from"]) == ("disk", "disconnect", lost[0])
    gone = {event["node"] for event in run.of("DESTROY")}
    assert not gone & set(kept)


@pytest.mark.behaviour("G-43")
def test_without_the_setting_nothing_is_collected(target: Target) -> None:
    def never(config: Config) -> Config:
        system = config.system.model_copy(update={"collect": "never"})
        expect = config.expect.model_copy(update={"cleanups": 1})
        return config.model_copy(update={"system": system, "expect": expect})

    run = target.run("collect", change=never)
    assert run.of("COLLECT", "COLLECTS") == []
    assert not {event["node"] for event in run.of("DESTROY")} & set(children(run, "parent"))
