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
    built_on: dict[str, list[str]] = {}
    for upper, lower in model.maps:
        built_on.setdefault(lower, []).append(upper)
    lost = {node: node for node in gone}
    level = sorted(lost)
    while level:
        nearest: dict[str, str] = {}
        for lower in level:
            for upper in built_on.get(lower, ()):
                if upper not in lost:
                    nearest.setdefault(upper, lost[lower])
        lost |= nearest
        level = sorted(nearest)
    return sorted(
        (pd, node, lost[node])
        for pd, node in model.holds
        if pd != ROOT and pd not in doomed and node in lost and node not in gone
    )
