# SPDX-License-Identifier: BSD-2-Clause
"""Which survivors are left with something that is built on what went."""

from __future__ import annotations

from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.plan import Plan

Broken = tuple[str, str, str]
"""A survivor, what it holds, and what that was built on and goes."""


def hanging(model: Model, plan: Plan) -> list[Broken]:
    """What survivors hold that does not go and is built, directly or further down, on what goes.

    Of several things that go, one of the nearest is named.
    """
    doomed = plan.doomed()
    gone = doomed | set(plan.core_freed)
    gone |= {res for res, space in model.space_of.items() if space in doomed}
    lost = {node: node for node in gone}
    last = lost
    while last:
        above = {
            upper: last[lower]
            for upper, lower in sorted(model.maps, reverse=True)
            if lower in last and upper not in lost
        }
        lost = {**lost, **above}
        last = above
    return sorted(
        (pd, node, lost[node])
        for pd, node in model.holds
        if pd != ROOT and pd not in doomed and node in lost and node not in gone
    )
