# SPDX-License-Identifier: BSD-2-Clause
"""Which nodes of a saved state a configuration names."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cellreap.model.graph import Model
from cellreap.model.ids import ROOT, parse_id

if TYPE_CHECKING:
    from cellreap.system.config import Config


def unnamed_by(config: Config, model: Model) -> set[str]:
    """The PDs and spaces of a state that a configuration does not name.

    A configuration names a PD by its name: of several PDs with one name, the one with the lowest
    number. It names as many spaces of a type, of a PD that it names, as the PD has there: those
    with the lowest numbers, because states have no names of spaces. Spaces of PDs that it does not
    name, and core spaces, are left out: they go with the PD, and stay.
    """
    named = {pd.name: pd for pd in config.pds}
    pds: dict[str, str] = {}
    for pd in sorted(model.pds(), key=_number):
        name = model.nodes[pd].name
        if pd != ROOT and name in named:
            pds.setdefault(name, pd)
    kept = set(pds.values())
    left = Counter(
        (pds[name], space.type) for name, pd in named.items() if name in pds for space in pd.spaces
    )
    unnamed = {pd for pd in model.pds() if pd != ROOT and pd not in kept}
    for space in sorted(model.spaces(), key=_number):
        manager = model.manager[space]
        if manager not in kept or model.is_core(space):
            continue
        if left[manager, model.nodes[space].type] > 0:
            left[manager, model.nodes[space].type] -= 1
        else:
            unnamed.add(space)
    return unnamed


def _number(id_: str) -> int:
    parts = parse_id(id_)
    assert parts is not None, id_
    return parts.number
