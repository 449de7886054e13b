# SPDX-License-Identifier: BSD-2-Clause
"""Which survivors are left with something that is built on what went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.plan import Broken, Plan


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


def nearest(above: Mapping[str, list[str]], gone: Iterable[str]) -> dict[str, set[str]]:
    """As `built_on`, with all that is nearest of what goes."""
    going = set(gone)
    found: dict[str, set[str]] = {}
    level = {node: {node} for node in going}
    while level:
        further: dict[str, set[str]] = {}
        for node, on in level.items():
            for upper in above.get(node, ()):
                if upper not in going and upper not in found:
                    further.setdefault(upper, set()).update(on)
        found |= further
        level = further
    return found


def hanging_on(model: Model, plan: Plan) -> dict[tuple[str, str], set[str]]:
    """(survivor, what it holds that does not go and is built, directly or further down, on what
    goes) -> all that is nearest of what goes.
    """
    doomed = plan.doomed()
    gone = doomed | set(plan.core_freed)
    gone |= {res for res, space in model.space_of.items() if space in doomed}
    gone |= {body for pd, _ in plan.destroyed_pds if (body := model.body_of(pd)) is not None}
    on = nearest(uppers(model), gone)
    return {
        (pd, node): on[node]
        for pd, node in model.holds
        if node in on and pd != ROOT and pd not in doomed
    }


def hanging(model: Model, plan: Plan) -> list[Broken]:
    """`hanging_on` as a list. Of several things that are nearest, the first one is named."""
    found = hanging_on(model, plan)
    return sorted((pd, node, min(on)) for (pd, node), on in found.items())
