# SPDX-License-Identifier: BSD-2-Clause
"""Destructors: they run in the order of the groups, and the check notices if they do not."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from cellreap.model import reference
from cellreap.trace.check import Report, check_stream
from cellreap.trace.writer import seal
from kit.network_run import MACHINES, NET, Forgetful, ended, network
from kit.trace_simulator import Target


def checked(target: Target) -> Report:
    """The report on the trace of a run that is over."""
    return check_stream(io.BytesIO("\n".join(seal(target.end())).encode()), "trace")


def rules(target: Target) -> set[str]:
    """The rules that the run breaks."""
    return {problem.rule for problem in checked(target).violations}


def turns(target: Target) -> list[str]:
    """The PDs in the order in which their destructors have their turns."""
    return [
        str(values["to"])
        for name, values in target.events
        if name == "QUEUE" and values["kind"] == "pre-destroy" and values["number"] == 1 << 31
    ]


@pytest.mark.behaviour("S-06")
def test_a_network_ends_after_its_machines_and_is_told_before_them() -> None:
    target = ended(network(Target(1, 0)))
    assert turns(target) == [*MACHINES, NET]
    assert checked(target).violations == []


@pytest.mark.behaviour("S-06")
def test_others_go_on_while_destructors_run() -> None:
    """PD_5 deletes what a machine held, and another PD is made, crashes and is cleaned up."""
    done: list[str] = []

    def meanwhile(target: Target) -> None:
        if "PD_1" in target.model.nodes or done:
            return
        done.append("once")
        target.delete("ROOM_2_1", by="PD_5")
        target.account()
        target.snapshot()
        other = target.pd("other")
        target.quiet()
        target.exit(other)
        target.cleanup()

    target = ended(network(Target(1, 0)), meanwhile)
    assert done
    assert checked(target).violations == []


class Reversed(Target):
    """It has destructors run from the last group to the first."""

    def turns(self, plan: reference.Plan) -> list[list[str]]:
        return plan.groups[::-1]


class Silent(Target):
    """It runs no destructor."""

    def told_of_their_turn(self, pds: list[str]) -> list[str]:
        return []


class Hasty(Target):
    """It does not wait for destructors."""

    def _awaited(self, n: int) -> list[str]:
        turn = any(
            name == "STEP" and values["n"] == n and "destroy" in str(values["name"])
            for name, values in self.events
        )
        return [] if turn else super()._awaited(n)


class Twice(Target):
    """It tells a PD twice that its turn has come."""

    def told_of_their_turn(self, pds: list[str]) -> list[str]:
        return pds + pds[-1:]


@pytest.mark.behaviour("S-06")
@pytest.mark.parametrize(
    ("lies", "rule"),
    [
        (Reversed, "cleanup.destructors"),
        (Silent, "cleanup.destructors"),
        (Forgetful, "cleanup.destructors"),
        (Hasty, "cleanup.awaited"),
        (Twice, "cleanup.destructors"),
    ],
)
def test_a_root_task_that_runs_destructors_otherwise_is_found(
    lies: Callable[..., Target], rule: str
) -> None:
    assert rule in rules(ended(network(lies(1, 0))))


@pytest.mark.behaviour("S-06")
def test_a_crashed_pd_that_is_told_of_its_turn_is_found() -> None:
    target = network(Target(1, 0))
    ended(target)
    at = next(
        i for i, (name, v) in enumerate(target.events) if name == "STEP" and v["name"] == "tell"
    )
    events = target.events[at - 1 : at + 1]
    target.events[at - 1 : at - 1] = [
        (name, {**values, **{k: "PD_1" for k in ("to", "pd", "node") if k in values}})
        for name, values in events
    ]
    assert rules(target) & {"cleanup.notices", "cleanup.tell"}
