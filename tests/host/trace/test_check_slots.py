# SPDX-License-Identifier: BSD-2-Clause
"""A slot that somebody else emptied is given again only after its PD acknowledged the loss."""

from __future__ import annotations

import pytest

from cellreap.trace.check import check
from kit.cost import events_of
from kit.trace_simulator import Target


@pytest.mark.behaviour("C-20", "J-02")
@pytest.mark.parametrize(
    ("results", "found"),
    [((), {"slots.reused"}), (("failed",), {"slots.reused"}), (("ok",), set())],
)
def test_only_success_gives_a_slot_back(results: tuple[str, ...], found: set[str]) -> None:
    target = Target(0, 0)
    server, other, client = (target.pd(name) for name in ("server", "other", "client"))
    space, more = target.space(server, "BLOCK"), target.space(other, "FILE")
    target.hold(client, target.resource(space))
    target.quiet()
    target.exit(server, 0)
    target.cleanup()
    for result in results:
        (notice,) = target.fetch(client)
        target.ack(client, notice, result)
    slots = target.slots[client]
    target.slots[client] = {slot: has for slot, has in slots.items() if isinstance(has, tuple)}
    target.request(client, more)
    rules = {problem.rule for problem in check(events_of(target.end())).violations}
    assert rules & {"slots.reused"} == found
