# SPDX-License-Identifier: BSD-2-Clause
"""What happens to survivors: the core resources that are freed, and the notices that are owed."""

from __future__ import annotations

from collections.abc import Iterable

from cellreap.model.graph import Model
from cellreap.model.ids import ROOT


def core_freed(model: Model, pds: set[str], spaces: set[str]) -> set[str]:
    """Core resources that doomed PDs hold, or to which one maps that goes, that no survivor except
    the root task holds, and to which no resource maps that stays. The bodies of doomed PDs are not
    among them, nor is that of a PD whose creator stays: nobody holding it says that the creator has
    released it.
    """
    bodies = {body for pd in pds if (body := model.body_of(pd)) is not None}
    let_go = {model.body_of(pd) for creator, pd in model.owns if creator not in pds}
    wanted = bodies | let_go | {node for pd, node in model.holds if pd not in pds | {ROOT}}
    freed: set[str] = set()
    doomed = {res for res, space in model.space_of.items() if space in spaces}
    found = {node for pd, node in model.holds if pd in pds and node in model.space_of}
    found |= {lower for upper, lower in model.maps if upper in doomed and lower in model.space_of}
    while found := {res for res in found - wanted - freed if model.is_core(model.space_of[res])}:
        freed |= found
        found = {lower for upper, lower in model.maps if upper in found}
    going = freed | bodies | doomed
    kept = [lower for upper, lower in model.maps if lower in freed and upper not in going]
    while kept:  # what stays keeps what it is built on
        freed.difference_update(kept)
        staying = set(kept)
        kept = [lower for upper, lower in model.maps if upper in staying and lower in freed]
    return freed


def notices(
    model: Model, pds: set[str], spaces: set[str], losses: Iterable[tuple[str, str]]
) -> set[tuple[str, str, str, str | None]]:
    """The notices that are owed.

    losses: (survivor, requested or held node) of all REQUEST and HOLD edges that are removed.
    """
    owed: set[tuple[str, str, str, str | None]] = set()
    for space in spaces:
        if model.manager[space] not in pds:
            owed.add((model.manager[space], "destroy", space, None))
    for pd, node in model.holds:
        its_space = model.space_of.get(node)
        if (
            pd in pds
            and its_space is not None
            and its_space not in spaces
            and not model.is_core(its_space)
        ):
            owed.add((model.manager[its_space], "free", node, pd))
    for pd, space in model.requests:
        if pd in pds and space not in spaces and not model.is_core(space):
            owed.add((model.manager[space], "disconnect", space, pd))
    for pd, node in losses:
        lost = model.space_of.get(node, node)
        if model.manager[lost] != pd:
            owed.add((pd, "lost", lost, None))
    return {notice for notice in owed if notice[0] != ROOT}
