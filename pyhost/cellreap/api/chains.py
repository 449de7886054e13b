# SPDX-License-Identifier: BSD-2-Clause
"""The chains of maps of a state, and which holds hang on what. A set of holds is an integer."""

from __future__ import annotations

from collections.abc import Iterator

from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.reference import Broken, built_on, uppers


class Chains:
    """The chains of maps of a state."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._upper = uppers(model)
        self._members: dict[str, list[str]] = {}
        for res, space in model.space_of.items():
            self._members.setdefault(space, []).append(res)
        self._holders: dict[str, list[str]] = {}
        self._holds_by: dict[str, int] = {}
        self._holds_of: dict[str, int] = {}
        for place, (pd, node) in enumerate(sorted(model.holds)):
            if pd != ROOT:
                self._holders.setdefault(node, []).append(pd)
                self._holds_by[pd] = self._holds_by.get(pd, 0) | 1 << place
                self._holds_of[node] = self._holds_of.get(node, 0) | 1 << place
        self._above = self._closed()
        self.bodies = dict(self._find_bodies())
        """The bodies on which something is built, by PD. Of the other core resources that go,
        whatever is built on them goes too."""

    def by(self, pd: str) -> int:
        """The holds that a PD has."""
        return self._holds_by.get(pd, 0)

    def over(self, node: str) -> tuple[int, int]:
        """The holds of all that is built on a node, directly or further up, and those of itself."""
        return self._above.get(node, 0), self._holds_of.get(node, 0)

    def on(self, space: str) -> tuple[int, int]:
        """The same for a space with all that is in it."""
        above, held = self.over(space)
        for res in self._members.get(space, ()):
            its_above, its_held = self.over(res)
            above, held = above | its_above, held | its_held
        return above, held

    def _find_bodies(self) -> Iterator[tuple[str, str]]:
        model = self._model
        built = [res for res in self._above if res in model.space_of]
        if any(model.is_core(model.space_of[res]) for res in built):
            for pd in model.pds():
                if (body := model.body_of(pd)) in self._above:
                    yield pd, body

    def broken(self, pds: set[str], spaces: set[str]) -> list[Broken]:
        """What survivors hold that was built on something that goes, directly or further down."""
        gone = {*spaces, *(res for s in spaces for res in self._members.get(s, ()))}
        gone |= {body for pd, body in self.bodies.items() if pd in pds}
        return sorted(
            (pd, held, lost)
            for held, lost in built_on(self._upper, gone).items()
            for pd in self._holders.get(held, ())
            if pd not in pds
        )

    def _closed(self) -> dict[str, int]:
        """The holds above each node on which something is built. Maps may form cycles."""
        above, order = dict.fromkeys(self._upper, 0), self._highest_first()
        changed = True
        while changed:
            changed = False
            for node in order:
                holds = above[node]
                for upper in self._upper[node]:
                    holds |= self._holds_of.get(upper, 0) | above.get(upper, 0)
                if holds != above[node]:
                    above[node] = holds
                    changed = True
        return above

    def _highest_first(self) -> list[str]:
        """The nodes with something above them, each after what is above it unless in a cycle."""
        order: list[str] = []
        seen: set[str] = set()
        for first in self._upper:
            pending = [(first, False)]
            while pending:
                node, done = pending.pop()
                if done:
                    order.append(node)
                elif node not in seen:
                    seen.add(node)
                    pending.append((node, True))
                    pending += [(up, False) for up in self._upper[node] if up in self._upper]
        return order
