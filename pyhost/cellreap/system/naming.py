# SPDX-License-Identifier: BSD-2-Clause
"""Which nodes of a saved state a configuration names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING

from cellreap.model.graph import Model
from cellreap.model.ids import ROOT, number_of

if TYPE_CHECKING:
    from cellreap.system.config import Config, Pd


def unnamed_by(config: Config, model: Model) -> set[str]:
    """The PDs and spaces of a state that a configuration does not name.

    Spaces of PDs that it does not name, and core spaces, are left out: they go with the PD, and
    stay.
    """
    pds, named = _named_pds(config, model), named_by(config, model)
    kept = {pd for pd, _ in pds}
    unnamed = {pd for pd in model.pds() if pd != ROOT and pd not in kept}
    return unnamed | {
        space
        for space in model.spaces()
        if model.manager[space] in kept and not model.is_core(space) and space not in named
    }


def carried_by(unnamed: Collection[str], model: Model) -> Model:
    """The edges of a state by which an image makes what a configuration does not name again.

    A copy. Of subscriptions, those stay that PDs have which are named, to what is not. Owners,
    links and fault handlers are left out, and so is what PDs hold of the root task: PDs agree upon
    them anew. So what is planned for the copy is what happens before the PDs of the configuration
    run. unnamed: of `unnamed_by`.
    """
    carried = model.plain_copy()
    for edges in (carried.owns, carried.links, carried.faults):
        edges.clear()
    for pd, node in model.subscribes:
        if pd in unnamed or not (node in unnamed or model.manager.get(node) in unnamed):
            for handler, count in model.subscriptions(pd, node).items():
                carried.drop_subscribe(pd, node, count, handler)
    for pd, node in model.holds:
        if pd != ROOT and model.is_core(model.space_of.get(node, node)):
            carried.cut_hold(pd, node)
    return carried


def named_by(config: Config, model: Model) -> dict[str, str]:
    """The spaces of a state that a configuration names, each with the name.

    A configuration names a PD by its name: of several PDs with one name, the one with the lowest
    number. It names as many spaces of a type, of a PD that it names, as the PD has there: those
    with the lowest numbers, in the order of the file, because states have no names of spaces.
    """
    found: dict[str, str] = {}
    spaces = sorted(model.spaces(), key=number_of)
    for pd, row in _named_pds(config, model):
        left: defaultdict[str, list[str]] = defaultdict(list)
        for each in row.spaces:
            left[each.type].append(each.name)
        for space in spaces:
            names = left[model.nodes[space].type]
            if model.manager[space] == pd and names:
                found[space] = names.pop(0)
    return found


def _named_pds(config: Config, model: Model) -> list[tuple[str, Pd]]:
    ids: dict[str, str] = {}
    for pd in sorted(model.pds(), key=number_of):
        if pd != ROOT:
            ids.setdefault(model.nodes[pd].name, pd)
    return [(ids[row.name], row) for row in config.pds if row.name in ids]
