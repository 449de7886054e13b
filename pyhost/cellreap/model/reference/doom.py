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
    partners = _partners(model)
    _close(partners, list(depths), depths, 0, why)
    close = []
    for pd in sorted(model.pds()):
        if pd not in depths and pd != ROOT and not model.nodes[pd].pinned and near(pd):
            depths[pd] = 1
            why[pd] = ("metric", next(iter(triggers)))
            close.append(pd)
    _close(partners, close, depths, 1, why)
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
    clients = {} if pd_depth == 0 else _clients(model)
    partners = _partners(model)
    servers = _close(partners, list(depths), depths, 0, why)
    k = 0
    while servers and (pd_depth is None or k < pd_depth):
        k += 1
        joined = []
        for pd, reason, cause in sorted(
            tie for server in servers for tie in clients.get(server, ())
        ):
            if pd not in depths and pd != ROOT and not model.nodes[pd].pinned and near(pd):
                depths[pd] = k
                why[pd] = (reason, cause)
                joined.append(pd)
        servers = _close(partners, joined, depths, k, why)
    return depths


_Ties: TypeAlias = dict[str, list[tuple[str, str, str]]]


def _clients(model: Model) -> _Ties:
    """Manager -> (PD that depends on it, why, the space that it requests or resource it holds)."""
    ties: _Ties = {}
    for pd, space in model.requests:
        ties.setdefault(model.manager[space], []).append((pd, "request", space))
    for pd, res in model.holds:
        if (in_space := model.space_of.get(res)) is not None:
            ties.setdefault(model.manager[in_space], []).append((pd, "hold", res))
    return ties


def _partners(model: Model) -> dict[str, list[tuple[str, str]]]:
    """PD -> (PD that goes at the same depth, why): one linked with it, or whose faults it handles.
    Sorted.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for a, b in model.links:
        found.setdefault(a, []).append((b, "link"))
        found.setdefault(b, []).append((a, "link"))
    for client, handler in model.faults.items():
        found.setdefault(handler, []).append((client, "fault"))
    return {pd: sorted(partners) for pd, partners in found.items()}


def _close(
    partners: dict[str, list[tuple[str, str]]],
    joined: list[str],
    depths: dict[str, int],
    depth: int,
    why: Causes,
) -> list[str]:
    """Adds the partners of the PDs that have joined at a depth, and theirs. Returns all of them."""
    pending = sorted(joined)
    for pd in pending:
        for partner, reason in partners.get(pd, ()):
            if partner not in depths and partner != ROOT:
                depths[partner] = depth
                why[partner] = (reason, pd)
                pending.append(partner)
    return pending


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
    above: dict[str, list[str]] = {}
    for t, s in maps_to(model):
        above.setdefault(s, []).append(t)
    level, j = list(depths), 0
    while level and (rs_depth is None or j < rs_depth):
        j += 1
        joined = []
        for t, s in sorted((upper, lower) for lower in level for upper in above.get(lower, ())):
            if t not in depths and not model.is_core(t):
                depths[t] = j
                why[t] = ("map", s)
                joined.append(t)
        level = joined
    return depths
