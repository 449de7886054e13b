# SPDX-License-Identifier: BSD-2-Clause
"""RSI and FR (docs/metrics.md), written from that page alone."""

from __future__ import annotations

from cellreap.errors import UsageError
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.metrics import MAX_MAPS, Metrics, weight_of


class Measuring:
    """Measures PDs of a model, which must not change meanwhile.

    with_root: the root task may be the PD that both reach.
    """

    def __init__(self, model: Model, *, with_root: bool = False) -> None:
        self.model = model
        self._with_root = with_root
        self._held: dict[str, set[str]] = {}
        for pd, node in model.holds:
            self._held.setdefault(pd, set()).add(node)
        self._asked: dict[str, set[str]] = {}
        for pd, space in model.requests:
            self._asked.setdefault(pd, set()).add(space)
        for pd, node in model.holds:
            if node in model.space_of:
                self._asked.setdefault(pd, set()).add(model.space_of[node])
        self._lower: dict[str, set[str]] = {}
        self._lower_types: dict[str, set[str]] = {}
        for upper, lower in model.maps:
            self._lower.setdefault(upper, set()).add(lower)
            types = self._lower_types.setdefault(model.nodes[upper].type, set())
            types.add(model.nodes[lower].type)
        self._reached: dict[str, set[str]] = {}
        self._hops: dict[str, dict[str, int]] = {}

    def measure(self, a: str, b: str) -> Metrics:
        """The metrics of two PDs. UsageError if one of them does not exist."""
        ours, theirs = self.reached(a), self.reached(b)
        rsi: dict[str, tuple[int, int]] = {}
        for res in ours | theirs:
            node = self.model.nodes[res]
            shared, every = rsi.get(node.type, (0, 0))
            weight = weight_of(node)
            both = res in ours and res in theirs
            rsi[node.type] = (shared + (weight if both else 0), every + weight)
        rsi = {name: pair for name, pair in sorted(rsi.items()) if pair[1]}
        near, far = self.hops(a), self.hops(b)
        fr = min((min(near[pd], far[pd]) for pd in near.keys() & far.keys()), default=None)
        return Metrics((a, b), fr, rsi)

    def reached(self, pd: str) -> set[str]:
        """The resources that a PD reaches by one HOLD and then at most three MAP edges."""
        if pd not in self._reached:
            self._need(pd)
            last = {node for node in self._held.get(pd, ()) if node in self.model.space_of}
            found = set(last)
            for _ in range(MAX_MAPS):
                last = {lower for res in last for lower in self._lower.get(res, ())}
                found |= last
            self._reached[pd] = found
        return self._reached[pd]

    def hops(self, pd: str) -> dict[str, int]:
        """The PDs that a PD reaches by requests of followed types, with the least hops."""
        if pd in self._hops:
            return self._hops[pd]
        self._need(pd)
        followed = {self.model.nodes[node].type for node in self._held.get(pd, ())}
        reached = {pd}
        while True:
            spaces = {space for here in reached for space in self._followed(here, followed)}
            types = {self.model.nodes[space].type for space in spaces}
            more_types = {lower for name in types for lower in self._lower_types.get(name, ())}
            more = {self.model.manager[space] for space in spaces}
            if more_types <= followed and more <= reached:
                break
            followed |= more_types
            reached |= more
        hops = {pd: 0}
        last = {pd}
        while last:
            managers = {
                self.model.manager[space]
                for here in last
                for space in self._followed(here, followed)
            }
            last = managers - hops.keys()
            hops.update(dict.fromkeys(last, max(hops.values()) + 1))
        self._hops[pd] = hops
        return hops

    def _followed(self, pd: str, types: set[str]) -> set[str]:
        """The spaces that a PD asks, of these types, whose manager may be met."""
        model = self.model
        return {
            space
            for space in self._asked.get(pd, ())
            if model.nodes[space].type in types
            and (self._with_root or model.manager[space] != ROOT)
        }

    def _need(self, pd: str) -> None:
        node = self.model.nodes.get(pd)
        if node is None or node.kind != "PD":
            raise UsageError(f"there is no PD {pd}")


def metrics(model: Model, a: str, b: str, *, with_root: bool = False) -> Metrics:
    """The metrics of two PDs. UsageError if one of them does not exist."""
    return Measuring(model, with_root=with_root).measure(a, b)
