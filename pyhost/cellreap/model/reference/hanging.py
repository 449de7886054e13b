# SPDX-License-Identifier: BSD-2-Clause
"""Which survivors are left with something that is built on what went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.plan import Plan

Broken = tuple[str, str, str]
"""A survivor, what it holds, and what that was built on and goes."""


def uppers(model: Model) -> dict[str, list[str]]:
    """What each node has built directly on it, sorted."""
    found: dict[str, list[str]] = {}
    for upper, lower in sorted(model.maps):
        found.setdefault(lower, []).append(upper)
    return found


def built_on(above: Mapping[str, list[str]], gone: Iterable[str]) -> dict[str, str]:
    """All that does not go and is built, directly or further down, on what goes -> one of the
    nearest of that. above: `uppers`.
    """
    lost = {node: node for node in sorted(gone)}
    going, pending = set(lost), list(lost)
    for node in pending:
        for upper in above.get(node, ()):
            if upper not in lost:
                lost[upper] = lost[node]
                pending.append(upper)
    return {node: nearest for node, nearest in lost.items() if node not in going}


def hanging(model: Model, plan: Plan) -> list[Broken]:
    """What survivors hold that does not go and is built, directly or further down, on what goes.

    Of several things that go, one of the nearest is named.
    """
    doomed = plan.doomed()
    gone = doomed | set(plan.core_freed)
    gone |= {res for res, space in model.space_of.items() if space in doomed}
    lost = built_on(uppers(model), gone)
    return sorted(
        (pd, node, lost[node])
        for pd, node in model.holds
        if pd != ROOT and pd not in doomed and node in lost
    )
