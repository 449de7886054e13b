# SPDX-License-Identifier: BSD-2-Clause
"""What each crash of a state does, at all depths.

A set of PDs, spaces or holds is the bits of one integer, because an audit of a large system unites
millions of such sets. The root task's own planner plans each crash once, at unlimited depths: a
plan tells the depth of each doomed node, and a smaller depth dooms those that are not deeper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cellreap.api.chains import Chains
from cellreap.api.states import Depths
from cellreap.model.closeness import Closeness
from cellreap.model.core import CoreCloseness, CoreModel
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.reference import Broken


@dataclass(frozen=True)
class Blast:
    """What goes in one crash or several: a set of PDs and one of spaces, and sets of holds."""

    pds: int = 0
    spaces: int = 0
    above: int = 0
    """Holds of what is built on these spaces, what is in them and the bodies of these PDs, directly
    or further up."""
    gone: int = 0
    """Holds of these spaces, of what is in them, of these bodies, and by these PDs."""

    def touches(self, other: Blast) -> bool:
        """Whether something goes in both."""
        return bool(self.pds & other.pds or self.spaces & other.spaces)

    def __or__(self, other: Blast) -> Blast:
        return Blast(
            self.pds | other.pds,
            self.spaces | other.spaces,
            self.above | other.above,
            self.gone | other.gone,
        )


NOTHING: Final = Blast()


class Crashes:
    """The crashes of the PDs of a state, except the root task's.

    deepest: the largest depth, except unlimited, that is asked for.
    """

    def __init__(self, model: Model, closeness: Closeness | None, deepest: int) -> None:
        self.model = model
        self.alone: Final = closeness is not None and closeness.policy == "metric"
        self.measured: Final = closeness is not None
        self.pds: Final = [pd for pd in model.pds() if pd != ROOT]
        self._spaces: Final = list(model.manager)
        self._chains: Final = Chains(model)
        self._one: dict[str, Blast] = {}
        for place, pd in enumerate(self.pds):
            above, held = self._chains.over(self._chains.bodies.get(pd, ""))
            self._one[pd] = Blast(1 << place, above=above, gone=self._chains.by(pd) | held)
        for place, space in enumerate(self._spaces):
            above, held = self._chains.on(space)
            self._one[space] = Blast(spaces=1 << place, above=above, gone=held)
        self._core = CoreModel.from_model(model)
        self._by = None if closeness is None else CoreCloseness(self._core, model, closeness)
        self._beyond: Final = deepest + 1
        self._never: Final = deepest + 2
        self._waves: dict[str, dict[tuple[int, int], Blast]] = {}

    def of(self, crash: str, depths: Depths) -> Blast:
        """What a crash dooms."""
        pd_limit = self._beyond if depths[0] is None or self.alone else depths[0]
        rs_limit = self._beyond if depths[1] is None else depths[1]
        found = NOTHING
        for (pd_depth, rs_depth), part in self._wave(crash).items():
            if pd_depth <= pd_limit or rs_depth <= rs_limit:
                found |= part
        return found

    def after(self, first: Blast, crash: str, depths: Depths) -> Blast:
        """What a crash dooms of what a first one has left."""
        core = self._core
        gone = [core.ref(node) for node in (*self.names(first.pds), *self._gone(first.spaces))]
        for ref in gone:
            core.lib.cr_model_doom(core.model, ref)
        try:
            raw = core.plan_raw(crash, *depths, self._by)
        finally:
            for ref in gone:
                core.lib.cr_model_spare(core.model, ref)
        found = NOTHING
        for each in raw.doomed[0 : raw.n_doomed]:
            found |= self._one[core.id_of(each.node)]
        return found

    def names(self, pds: int) -> list[str]:
        """The PDs of a set."""
        return [self.pds[place] for place in _places(pds)]

    def only(self, pd: str) -> int:
        """The set of this PD."""
        return self._one[pd].pds

    def pinned(self) -> int:
        """The set of the pinned PDs."""
        return sum(self.only(pd) for pd in self.pds if self.model.nodes[pd].pinned)

    def broken(self, blast: Blast) -> int:
        """The holds of survivors whose chain of maps is broken."""
        return blast.above & ~blast.gone

    def holders(self, holds: int) -> list[str]:
        """The PDs that have one of these holds."""
        return [pd for pd in self.pds if self._one[pd].gone & holds]

    def listed(self, blast: Blast) -> list[Broken]:
        """What survivors hold that was built on something that goes, directly or further down."""
        return self._chains.broken(set(self.names(blast.pds)), set(self._gone(blast.spaces)))

    def _gone(self, spaces: int) -> list[str]:
        return [self._spaces[place] for place in _places(spaces)]

    def _wave(self, crash: str) -> dict[tuple[int, int], Blast]:
        """What goes at unlimited depths, by (the pd depth, the rs depth) at which it goes."""
        if crash not in self._waves:
            core, never = self._core, self._core.lib.CR_NONE
            raw = core.plan_raw(crash, None, None, self._by)
            wave: dict[tuple[int, int], list[Blast]] = {}
            for each in raw.doomed[0 : raw.n_doomed]:
                pd_depth, rs_depth = (
                    self._never if depth == never else min(depth, self._beyond)
                    for depth in (each.pd_depth, each.rs_depth)
                )
                wave.setdefault((pd_depth, rs_depth), []).append(self._one[core.id_of(each.node)])
            self._waves[crash] = {depths: _united(parts) for depths, parts in wave.items()}
        return self._waves[crash]


def _united(parts: list[Blast]) -> Blast:
    pds = spaces = above = gone = 0
    for part in parts:
        pds |= part.pds
        spaces |= part.spaces
        above |= part.above
        gone |= part.gone
    return Blast(pds, spaces, above, gone)


def _places(bits: int) -> Iterator[int]:
    """The places of the bits that are set, from the lowest."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
