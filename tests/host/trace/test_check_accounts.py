# SPDX-License-Identifier: BSD-2-Clause
"""What a PD uses is counted in each table: its quota is enough, and one less is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from cellreap.trace.check import check
from kit.broken_traces import quota
from kit.cost import events_of
from kit.trace_simulator import Target

Act = Callable[[Target, str, str], object]
"""Something that a PD does with a space of another's."""


def _maps(target: Target, pd: str, space: str) -> None:
    own = target.space(pd, "UPPER")
    target.map(own, space)
    target.map(target.resource(own), target.resource(space))


def _manages(target: Target, pd: str, _: str) -> None:
    own = target.space(pd, "UPPER")
    target.resource(own)
    target.space(pd, "OTHER")


def _holds(target: Target, pd: str, space: str) -> None:
    first = target.resource(space)
    target.hold(pd, first)
    target.hold(pd, first)  # a second capability to it takes no more edges
    target.hold(pd, target.resource(space))


def _requests(target: Target, pd: str, space: str) -> None:
    target.request(pd, space)


def _subscribes(target: Target, pd: str, space: str) -> None:
    target.subscribe(pd, space)
    target.subscribe(pd, space)
    target.subscribe(pd, pd)
    target.subscribe(pd, pd, 3)  # shares the notice
    target.subscribe(pd, pd, 3)


def _drops(target: Target, pd: str, space: str) -> None:
    """What was dropped counts no more when its server acknowledged that."""
    for _ in range(3):
        target.request(pd, space)
        target.unrequest(pd, space)
        target.serve(target.managers[space])
    target.request(pd, space)


def _takes(target: Target, pd: str, _: str) -> None:
    """What others left behind counts for its server as soon as the server has taken it."""
    own = target.space(pd, "UPPER")
    guest = target.pd("guest")
    target.request(guest, own)
    target.unrequest(guest, own)
    (left,) = target.fetch(pd)
    target.resource(own)
    target.ack(pd, left)


def _spawns(target: Target, pd: str, _: str) -> None:
    target.pd("child", creator=pd)


USES: Final[dict[str, tuple[Act, dict[str, int]]]] = {
    "manages": (_manages, {"nodes": 3, "spaces": 2, "types": 2, "edges": 6}),
    "maps": (_maps, {"nodes": 2, "spaces": 1, "types": 1, "edges": 6}),
    "holds": (_holds, {"edges": 2}),
    "requests": (_requests, {"edges": 1, "requests": 1}),
    "subscribes": (_subscribes, {"edges": 5}),
    "takes": (_takes, {"nodes": 2, "spaces": 1, "types": 1, "edges": 5}),
    "spawns": (_spawns, {"pds": 1, "nodes": 2, "edges": 4, "bytes": 65536}),
    "drops": (_drops, {"edges": 1, "requests": 1}),
}


def _violations(act: Act, **quotas: int) -> set[str]:
    target = Target(0, 0)
    quota(target, "poor", **quotas)
    server, poor = target.pd("server"), target.pd("poor", account=1)
    act(target, poor, target.space(server, "BLOCK"))
    found = check(events_of(target.end())).violations
    return {problem.text for problem in found if problem.rule == "accounts.within"}


@pytest.mark.behaviour("J-10", "S-15")
@pytest.mark.parametrize("spawned", [False, True])
def test_the_loss_of_a_pd_is_charged_as_its_capability_was(spawned: bool) -> None:
    """The configuration keeps room for those that it gives."""

    def act(target: Target, poor: str, space: str) -> None:
        creator = target.pd("creator")
        other = target.pd("other", creator=creator if spawned else None)
        body = target.body_cap(poor, other)
        target.unhold(poor, body)
        target._tell_loss(poor, other)

    found = _violations(act, edges=0)
    assert found == ({"poor uses 1 edges, and its quota is 0"} if spawned else set())


@pytest.mark.behaviour("J-10", "W-02")
@pytest.mark.parametrize(
    ("name", "word"), [(name, word) for name, (_, uses) in USES.items() for word in uses]
)
def test_a_quota_is_enough_and_one_less_is_not(name: str, word: str) -> None:
    act, uses = USES[name]
    assert _violations(act, **uses) == set()
    (found,) = _violations(act, **{**uses, word: uses[word] - 1})
    assert f"poor uses {uses[word]} {word}, and its quota is {uses[word] - 1}" in found
