# SPDX-License-Identifier: BSD-2-Clause
"""Audits a state before anything crashes: what each single crash would do, at which depths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cellreap.api.states import Depths
from cellreap.model.closeness import Closeness
from cellreap.model.core import CoreCloseness, CoreModel
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.plan import depth_text

Broken = tuple[str, str, str]
"""A survivor, what it holds, and what that was built on and went."""


@dataclass(frozen=True)
class Finding:
    """What all single crashes do at two depths."""

    pd_depth: int | None
    """Hops of clients that are destroyed. None: unlimited."""
    rs_depth: int | None
    """Hops of mapped spaces that are destroyed. None: unlimited."""
    worst: list[str]
    """The PDs whose crash destroys most PDs."""
    destroyed: int
    """How many PDs their crash destroys, with the PD itself."""
    broken: dict[str, list[Broken]]
    """Crash -> survivors that hold something whose chain of maps is broken. Only if there is any.
    """


@dataclass(frozen=True)
class Audit:
    """What single crashes would do to a system."""

    findings: list[Finding]
    """For each pair of depths."""
    smallest: list[Depths]
    """The smallest depths at which no crash leaves a broken chain. Smaller depths do."""
    pins: dict[str, list[str]]
    """Crash -> pinned PDs that only their pin saves at unlimited depth. Only if there is any."""
    single_points: list[str]
    """PDs whose crash destroys every other PD, if no depth limits it and nobody is pinned."""

    def at(self, pd_depth: int | None, rs_depth: int | None) -> Finding:
        """What was found at two depths."""
        return next(
            each for each in self.findings if (each.pd_depth, each.rs_depth) == (pd_depth, rs_depth)
        )

    def worse_than(self, other: Audit) -> list[str]:
        """What got worse against another audit, for people. Empty if nothing did."""
        found = []
        for mine in self.findings:
            for theirs in other.findings:
                if (mine.pd_depth, mine.rs_depth) != (theirs.pd_depth, theirs.rs_depth):
                    continue
                where = f"at {depth_text(mine.pd_depth)}/{depth_text(mine.rs_depth)}"
                if mine.destroyed > theirs.destroyed:
                    text = f"{mine.destroyed} PDs, before {theirs.destroyed}"
                    found.append(f"{where} the worst crash destroys {text}")
                counts = sum(map(len, mine.broken.values())), sum(map(len, theirs.broken.values()))
                if counts[0] > counts[1]:
                    found.append(f"{where} {counts[0]} broken chains are left, before {counts[1]}")
        more = sorted(set(self.single_points) - set(other.single_points))
        found += [f"{pd} is a single point of failure" for pd in more]
        return found

    def to_json(self) -> dict[str, Any]:
        """The audit as `cellreap audit --json` prints it."""
        return {
            "findings": [
                {
                    "pd_depth": depth_text(each.pd_depth),
                    "rs_depth": depth_text(each.rs_depth),
                    "worst": each.worst,
                    "destroyed": each.destroyed,
                    "broken": {pd: [list(b) for b in found] for pd, found in each.broken.items()},
                }
                for each in self.findings
            ],
            "smallest": [[depth_text(pd), depth_text(rs)] for pd, rs in self.smallest],
            "pins": self.pins,
            "single_points": self.single_points,
        }


def audit_model(model: Model, max_depth: int, closeness: Closeness | None = None) -> Audit:
    """Audits a state at the depths 0 to max_depth and unlimited.

    closeness: the policy, if depth alone does not decide. With the policy `metric`, which has no
    pd depth, that depth is 0 throughout.
    """
    depths: list[int | None] = [*range(max_depth + 1), None]
    alone = closeness is not None and closeness.policy == "metric"
    pd_depths: list[int | None] = [0] if alone else depths
    core, chains = _Core(model, closeness), Chains(model)
    crashes = [pd for pd in model.pds() if pd != ROOT]
    findings = []
    for pd_depth in pd_depths:
        for rs_depth in depths:
            sizes, broken = {}, {}
            for crash in crashes:
                pds, spaces, freed = core.doomed(crash, pd_depth, rs_depth)
                sizes[crash] = len(pds)
                if found := chains.broken(pds, spaces, freed):
                    broken[crash] = found
            most = max(sizes.values(), default=0)
            worst = [pd for pd, size in sizes.items() if size == most]
            findings.append(Finding(pd_depth, rs_depth, worst, most, broken))
    good = [(each.pd_depth, each.rs_depth) for each in findings if not each.broken]
    smallest = [one for one in good if not any(_below(other, one) for other in good)]
    pins, single_points = _unpinned(model, crashes, closeness)
    return Audit(findings, smallest, pins, single_points)


def _below(a: Depths, b: Depths) -> bool:
    def at_most(x: int | None, y: int | None) -> bool:
        return y is None or (x is not None and x <= y)

    return a != b and at_most(a[0], b[0]) and at_most(a[1], b[1])


def _unpinned(
    model: Model, crashes: list[str], closeness: Closeness | None
) -> tuple[dict[str, list[str]], list[str]]:
    """What would go if nobody were pinned, at unlimited depth."""
    pinned = {pd for pd in crashes if model.nodes[pd].pinned}
    bare = model.copy()
    for pd in pinned:
        bare.set_pinned(pd, False)
    core, without = _Core(model, closeness), _Core(bare, closeness)
    pins, single_points = {}, []
    for crash in crashes:
        all_pds, _, _ = without.doomed(crash, None, None)
        if pinned:
            saved = (all_pds - core.doomed(crash, None, None)[0]) & pinned
            if saved:
                pins[crash] = sorted(saved)
        if len(crashes) > 1 and len(all_pds) == len(crashes):
            single_points.append(crash)
    return pins, single_points


class _Core:
    """The root task's own planner, for many crashes of one state."""

    def __init__(self, model: Model, closeness: Closeness | None) -> None:
        self._model = model
        self._core = CoreModel.from_model(model)
        self._by = None if closeness is None else CoreCloseness(self._core, model, closeness)

    def doomed(
        self, crash: str, pd_depth: int | None, rs_depth: int | None
    ) -> tuple[set[str], set[str], set[str]]:
        """The PDs and spaces that a crash dooms, and the core resources that it frees."""
        core = self._core
        raw = core.plan_raw(crash, pd_depth, rs_depth, self._by)
        nodes = {core.id_of(each.node) for each in raw.doomed[0 : raw.n_doomed]}
        pds = {node for node in nodes if node not in self._model.manager}
        freed = {core.id_of(ref) for ref in raw.core_freed[0 : raw.n_core_freed]}
        return pds, nodes - pds, freed


class Chains:
    """The chains of maps of a state."""

    def __init__(self, model: Model) -> None:
        self._upper: dict[str, list[str]] = {}
        for upper, lower in sorted(model.maps):
            self._upper.setdefault(lower, []).append(upper)
        self._members: dict[str, list[str]] = {}
        for res, space in model.space_of.items():
            self._members.setdefault(space, []).append(res)
        self._holders: dict[str, list[str]] = {}
        for pd, node in sorted(model.holds):
            if pd != ROOT:
                self._holders.setdefault(node, []).append(pd)

    def broken(self, pds: set[str], spaces: set[str], freed: set[str]) -> list[Broken]:
        """What survivors hold that was built on something that goes, directly or further down."""
        gone = {*spaces, *freed, *(res for s in spaces for res in self._members.get(s, ()))}
        return sorted(set(self._left(gone, pds)))

    def _left(self, gone: set[str], pds: set[str]) -> Iterator[Broken]:
        pending = [(node, node) for node in sorted(gone)]
        seen = set(gone)
        for node, lost in pending:
            for upper in self._upper.get(node, ()):
                if upper not in seen:
                    seen.add(upper)
                    pending.append((upper, lost))
                    for pd in self._holders.get(upper, ()):
                        if pd not in pds:
                            yield pd, upper, lost
