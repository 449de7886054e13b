# SPDX-License-Identifier: BSD-2-Clause
"""Which PDs and spaces a crash dooms, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from cellreap.model.graph import Model
from cellreap.model.ids import ROOT

Causes: TypeAlias = dict[str, tuple[str, str | None]]
"""Doomed node -> (one of `plan.WHYS`, cause), as in `Plan.doomed_why`."""


def near_pds(
    model: Model, triggers: Iterable[str], near: Callable[[str], bool], why: Causes
) -> dict[str, int]:
    """The doomed PDs with their depths, if closeness alone decides. `why` has the triggers'
    causes; adds those of the others.
    """
    depths = dict.fromkeys(triggers, 0)
    _close(model, depths, 0, why)
    for pd in sorted(model.pds()):
        if pd not in depths and pd != ROOT and not model.nodes[pd].pinned and near(pd):
            depths[pd] = 1
            why[pd] = ("metric", next(iter(triggers)))
    _close(model, depths, 1, why)
    return depths


def doomed_pds(
    model: Model,
    triggers: Iterable[str],
    pd_depth: int | None,
    why: Causes,
    near: Callable[[str], bool] = lambda pd: True,
) -> dict[str, int]:
    """The doomed PDs with their depths. Adds their causes to `why`, which has the triggers'. near:
    whether a dependent may be doomed.
    """
    depths = dict.fromkeys(triggers, 0)
    _close(model, depths, 0, why)
    k = 0
    while pd_depth is None or k < pd_depth:
        servers = {pd for pd, depth in depths.items() if depth == k}
        if not servers:
            break
        lost = {space for space, manager in model.manager.items() if manager in servers}
        dependents = [(pd, "request", space) for pd, space in model.requests if space in lost]
        dependents += [
            (pd, "hold", res) for pd, res in model.holds if model.space_of.get(res) in lost
        ]
        for pd, reason, cause in sorted(dependents):
            if pd not in depths and pd != ROOT and not model.nodes[pd].pinned and near(pd):
                depths[pd] = k + 1
                why[pd] = (reason, cause)
        _close(model, depths, k + 1, why)
        k += 1
    return depths


def _close(model: Model, depths: dict[str, int], depth: int, why: Causes) -> None:
    """Adds PDs at the same depth: those linked with a PD at this depth or having it as fault
    handler.
    """
    pending = sorted(pd for pd, its_depth in depths.items() if its_depth == depth)
    while pending:
        pd = pending.pop(0)
        partners = [(a if b == pd else b, "link") for a, b in model.links if pd in (a, b)]
        partners += [(client, "fault") for client, handler in model.faults.items() if handler == pd]
        for partner, reason in sorted(partners):
            if partner not in depths and partner != ROOT:
                depths[partner] = depth
                why[partner] = (reason, pd)
                pending.append(partner)


def maps_to(model: Model) -> set[tuple[str, str]]:
    """(t, s) for two different spaces where t or a resource in t maps to s or a resource in s."""
    pairs = {
        (model.space_of.get(upper, upper), model.space_of.get(lower, lower))
        for upper, lower in model.maps
    }
    return {(t, s) for t, s in pairs if t != s}


def rs_depths(
    model: Model,
    at_depth_0: Iterable[str],
    rs_depth: int | None,
    why: Causes,
) -> dict[str, int]:
    """The spaces within the rs depth and their depths. Adds causes of mapped spaces to `why`."""
    first = set(at_depth_0)
    depths = {space: 0 for space, manager in model.manager.items() if manager in first}
    mapped = maps_to(model)
    j = 0
    while (rs_depth is None or j < rs_depth) and j in depths.values():
        for t, s in sorted(mapped):
            if depths.get(s) == j and t not in depths and not model.is_core(t):
                depths[t] = j + 1
                why[t] = ("map", s)
        j += 1
    return depths
