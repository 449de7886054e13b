# SPDX-License-Identifier: BSD-2-Clause
"""Audits a state before anything crashes: what each crash would do, at which depths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

from cellreap.api.crashes import Blast, Crashes
from cellreap.api.states import CSV, Depths, State
from cellreap.model.ids import ROOT
from cellreap.model.plan import depth_text
from cellreap.model.reference import Broken
from cellreap.unknown import Unknown

Lister = Callable[[str], list[Broken]]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What all single crashes do."""

    worst: list[str]
    """The PDs whose crash destroys most PDs."""
    destroyed: int
    """How many PDs their crash destroys, with the PD itself."""
    certain: int
    """How many of them go with the first of `worst` whatever the PDs request."""
    chains: dict[str, int]
    """Crash -> how many chains it leaves broken: things that a survivor holds and that are built,
    directly or further down, on something that went. Only if there is any."""
    survivors: list[str]
    """The PDs that some crash leaves with a broken chain."""
    lister: Lister = field(repr=False, compare=False)

    @cached_property
    def broken(self) -> dict[str, list[Broken]]:
        """Crash -> its broken chains, each as (survivor, what it holds, what went)."""
        return {crash: self.lister(crash) for crash in self.chains}

    def to_json(self, listed: bool = False) -> dict[str, Any]:
        """The outcome as `cellreap audit --json` prints it. listed: with all broken chains."""
        shown = {
            "worst": self.worst,
            "destroyed": self.destroyed,
            "certain": self.certain,
            "chains": self.chains,
            "survivors": self.survivors,
        }
        if listed:
            shown["broken"] = {pd: [list(b) for b in found] for pd, found in self.broken.items()}
        return shown


@dataclass(frozen=True, kw_only=True)
class Finding(Outcome):
    """What all single crashes do at two depths."""

    pd_depth: int | None
    """Hops of clients that are destroyed. None: unlimited."""
    rs_depth: int | None
    """Hops of mapped spaces that are destroyed. None: unlimited."""


@dataclass(frozen=True)
class PairFinding:
    """What all crashes of two PDs, one after the other, do at two depths."""

    pd_depth: int | None
    """Hops of clients that are destroyed. None: unlimited."""
    rs_depth: int | None
    """Hops of mapped spaces that are destroyed. None: unlimited."""
    worst: tuple[str, str] | None
    """The first of the pairs whose crashes destroy most PDs. None: there are no two PDs."""
    destroyed: int
    """How many PDs that is."""
    broken_pairs: int
    """How many pairs leave a broken chain."""
    chains: int
    """How many broken chains the worst of them leaves."""


@dataclass(frozen=True)
class PairAudit:
    """What the crashes of two PDs, one after the other, would do to a system."""

    findings: list[PairFinding]
    """For each pair of depths."""
    smallest: list[Depths]
    """The smallest depths at which no two crashes leave a broken chain."""
    points: list[tuple[str, str]]
    """Pairs whose crashes destroy every other PD, if no depth limits them and nobody is pinned.
    Neither alone does."""

    def to_json(self) -> dict[str, Any]:
        """The audit as `cellreap audit --pairs --json` prints it."""
        return {
            "findings": [
                {
                    "pd_depth": depth_text(each.pd_depth),
                    "rs_depth": depth_text(each.rs_depth),
                    "worst": None if each.worst is None else list(each.worst),
                    "destroyed": each.destroyed,
                    "broken_pairs": each.broken_pairs,
                    "chains": each.chains,
                }
                for each in self.findings
            ],
            "smallest": _texts(self.smallest),
            "points": [list(pair) for pair in self.points],
        }


@dataclass(frozen=True)
class Difference:
    """What is different between two audits, for people."""

    worse: list[str]
    """What got worse."""
    better: list[str]
    """What got better."""
    other: list[str]
    """What is only different."""


@dataclass(frozen=True)
class Audit:
    """What crashes would do to a system."""

    findings: list[Finding]
    """For each pair of depths."""
    smallest: list[Depths]
    """The smallest depths at which no crash leaves a broken chain. Smaller depths do."""
    pins: dict[str, list[str]]
    """Crash -> pinned PDs that only their pin saves at unlimited depth. Only if there is any."""
    single_points: list[str]
    """PDs whose crash destroys every other PD, if no depth limits it and nobody is pinned."""
    configured: Outcome | None = None
    """What crashes do at the depths that the configuration or the trace gives each PD."""
    pairs: PairAudit | None = None
    """What two crashes do, if that was asked for."""
    policy: str = "depth"
    """The policy: `depth`, `metric` or `both`."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The names of PDs that have one, by id."""
    unknown: tuple[Unknown, ...] = ()
    """What the source leaves open. If it is not empty, there may be more broken chains, and the
    smallest depths may be larger."""

    def at(self, pd_depth: int | None, rs_depth: int | None) -> Finding:
        """What was found at two depths."""
        return next(
            each for each in self.findings if (each.pd_depth, each.rs_depth) == (pd_depth, rs_depth)
        )

    def difference(self, other: Audit) -> Difference:
        """What is different against an earlier audit. PDs are compared by their names."""
        found = list(_differences(self, other))
        return Difference(*([text for how, text in found if how == kind] for kind in _KINDS))

    def worse_than(self, other: Audit) -> list[str]:
        """What got worse against an earlier audit, for people. Empty if nothing did."""
        return self.difference(other).worse

    def problems(
        self,
        *,
        max_destroyed: int | None = None,
        unbroken: bool = True,
        before: Audit | None = None,
    ) -> list[str]:
        """What is wrong with the system as it is configured, for people. Empty if nothing is.

        `max_destroyed`: no crash may destroy more PDs. `unbroken`: no crash may leave a broken
        chain. `before`: nothing may be worse than in this audit. Without a configuration the depths
        are 0 and 0. What is unknown is a problem: then there is no conclusion.
        """
        now = self.at(0, 0) if self.configured is None else self.configured
        left_open = (*self.unknown, *(() if before is None else before.unknown))
        found = [f"unknown: {each.text}" for each in dict.fromkeys(left_open)]
        if max_destroyed is not None and now.destroyed > max_destroyed:
            worst = self.label(now.worst[0])
            found.append(f"the crash of {worst} destroys {now.destroyed} PDs, not {max_destroyed}")
        if unbroken:
            for crash, broken in now.broken.items():
                pd, held, lost = broken[0]
                found.append(
                    f"the crash of {self.label(crash)} leaves {len(broken)} broken chains: "
                    f"{self.label(pd)} holds {held}, which is built on {lost}"
                )
        return found + ([] if before is None else self.worse_than(before))

    def label(self, pd: str) -> str:
        """A PD as text for people: its id with its name."""
        return f"{pd} ({self.names[pd]})" if pd in self.names else pd

    def to_json(self, listed: bool = False) -> dict[str, Any]:
        """The audit as `cellreap audit --json` prints it. listed: with all broken chains."""
        shown: dict[str, Any] = {
            "policy": self.policy,
            "findings": [
                {
                    "pd_depth": depth_text(each.pd_depth),
                    "rs_depth": depth_text(each.rs_depth),
                    **self._outcome_json(each, listed),
                }
                for each in self.findings
            ],
            "smallest": None if self.unknown else _texts(self.smallest),
            "pins": self.pins,
            "single_points": self.single_points,
            "names": dict(self.names),
            "unknown": [each.to_json() for each in self.unknown],
        }
        if self.configured is not None:
            shown["configured"] = self._outcome_json(self.configured, listed)
        if self.pairs is not None:
            shown["pairs"] = self.pairs.to_json()
            if self.unknown:
                shown["pairs"]["smallest"] = None
        return shown

    def _outcome_json(self, outcome: Outcome, listed: bool) -> dict[str, Any]:
        """An outcome. That there is no broken chain is not told if something is unknown."""
        shown = outcome.to_json(listed)
        if self.unknown and not outcome.chains:
            shown |= dict.fromkeys(("chains", "survivors"))
        return shown


def audit_state(state: State, max_depth: int, *, pairs: bool = False) -> Audit:
    """Audits a state at the depths 0 to max_depth and unlimited.

    With the policy `metric`, which has no pd depth, that depth is 0 throughout. pairs: the crashes
    of two PDs too.
    """
    model, close = state.model, state.closeness
    given = state.kind != CSV
    own = {pd: state.depths_of(pd) for pd in model.pds() if pd != ROOT and given}
    finite = [depth for both in own.values() for depth in both if depth is not None]
    deepest = max([max_depth, *finite])
    crashes = Crashes(model, close, deepest)
    sure = Crashes(model.certain(), None, deepest) if model.possible else crashes
    depths: list[int | None] = [*range(max_depth + 1), None]
    every: list[Depths] = [(k, j) for k in ([0] if crashes.alone else depths) for j in depths]
    findings = [
        Finding(
            pd_depth=both[0],
            rs_depth=both[1],
            **_outcome(crashes, sure, dict.fromkeys(crashes.pds, both)),
        )
        for both in every
    ]
    pins, single_points = _unpinned(state, crashes)
    return Audit(
        findings,
        _smallest((each.pd_depth, each.rs_depth) for each in findings if not each.chains),
        pins,
        single_points,
        Outcome(**_outcome(crashes, sure, own)) if given else None,
        _pairs(state, crashes, every, single_points) if pairs else None,
        "depth" if close is None else close.policy,
        {pd: name for pd in crashes.pds if (name := model.nodes[pd].name)},
        model.unknown,
    )


def _outcome(crashes: Crashes, sure: Crashes, depths: dict[str, Depths]) -> dict[str, Any]:
    """What the crash of each PD does at its depths. sure: without requests that may not be made."""
    sizes: dict[str, int] = {}
    chains: dict[str, int] = {}
    holds = 0
    for crash, both in depths.items():
        blast = crashes.of(crash, both)
        sizes[crash] = blast.pds.bit_count()
        if broken := crashes.broken(blast):
            chains[crash] = broken.bit_count()
            holds |= broken
    most = max(sizes.values(), default=0)
    worst = [pd for pd, size in sizes.items() if size == most]
    return {
        "worst": worst,
        "destroyed": most,
        "certain": sum(sure.of(pd, depths[pd]).pds.bit_count() for pd in worst[:1]),
        "chains": chains,
        "survivors": crashes.holders(holds),
        "lister": lambda crash: crashes.listed(crashes.of(crash, depths[crash])),
    }


def _smallest(good: Iterable[Depths]) -> list[Depths]:
    """Those than which no others are smaller."""
    found = list(good)
    return [one for one in found if not any(_below(other, one) for other in found)]


def _below(a: Depths, b: Depths) -> bool:
    def at_most(x: int | None, y: int | None) -> bool:
        return y is None or (x is not None and x <= y)

    return a != b and at_most(a[0], b[0]) and at_most(a[1], b[1])


def _texts(depths: list[Depths]) -> list[list[int | str]]:
    return [[depth_text(pd), depth_text(rs)] for pd, rs in depths]


def _unpinned(state: State, crashes: Crashes) -> tuple[dict[str, list[str]], list[str]]:
    """What would go if nobody were pinned, at unlimited depth."""
    bare = _without_pins(state, crashes)
    pinned = crashes.pinned()
    pins, single_points = {}, []
    for crash in crashes.pds:
        all_pds = bare.of(crash, (None, None)).pds
        if saved := all_pds & ~crashes.of(crash, (None, None)).pds & pinned:
            pins[crash] = sorted(crashes.names(saved))
        if len(crashes.pds) > 1 and all_pds.bit_count() == len(crashes.pds):
            single_points.append(crash)
    return pins, single_points


def _without_pins(state: State, crashes: Crashes) -> Crashes:
    if not crashes.pinned():
        return crashes
    bare = state.model.copy()
    for pd in crashes.pds:
        bare.set_pinned(pd, False)
    return Crashes(bare, state.closeness, 0)


def _pairs(
    state: State, crashes: Crashes, every: list[Depths], single_points: list[str]
) -> PairAudit:
    findings = [_pairs_at(crashes, both) for both in every]
    bare = _without_pins(state, crashes)
    unlimited = {pd: bare.of(pd, (None, None)).pds for pd in crashes.pds}
    alone = set(single_points)
    points = [
        (a, b)
        for a, b in combinations(crashes.pds, 2)
        if not alone & {a, b} and (unlimited[a] | unlimited[b]).bit_count() == len(crashes.pds)
    ]
    good = ((each.pd_depth, each.rs_depth) for each in findings if not each.broken_pairs)
    return PairAudit(findings, _smallest(good), points if len(crashes.pds) > 2 else [])


def _pairs_at(crashes: Crashes, depths: Depths) -> PairFinding:
    single = {pd: crashes.of(pd, depths) for pd in crashes.pds}
    worst: tuple[str, str] | None = None
    destroyed = broken_pairs = chains = 0
    for a, b in combinations(crashes.pds, 2):
        most = broken = 0
        for blast in _both(crashes, single, a, b, depths):
            most = max(most, blast.pds.bit_count())
            broken = max(broken, crashes.broken(blast).bit_count())
        if most > destroyed:
            worst, destroyed = (a, b), most
        broken_pairs += bool(broken)
        chains = max(chains, broken)
    return PairFinding(*depths, worst, destroyed, broken_pairs, chains)


def _both(
    crashes: Crashes, single: dict[str, Blast], a: str, b: str, depths: Depths
) -> Iterator[Blast]:
    """What goes when two PDs crash one after the other, in both orders.

    The second crash does what it does alone unless the first has taken something of it.
    """
    if not crashes.measured and not single[a].touches(single[b]):
        yield single[a] | single[b]
        return
    for first, second in ((a, b), (b, a)):
        gone = single[first]
        if gone.pds & crashes.only(second):
            yield gone  # the second PD went with the first
        else:
            yield gone | crashes.after(gone, second, depths)


_KINDS = ("worse", "better", "other")


def _differences(mine: Audit, theirs: Audit) -> Iterator[tuple[str, str]]:
    """(one of _KINDS, text)."""
    if mine.policy != theirs.policy:
        yield "other", f"the policy is {mine.policy}, before {theirs.policy}"
    before = {(each.pd_depth, each.rs_depth): each for each in theirs.findings}
    for each in mine.findings:
        both = each.pd_depth, each.rs_depth
        if both in before:
            where = f"at {depth_text(both[0])}/{depth_text(both[1])}"
            yield from _outcomes(where, each, before[both])
    if mine.configured is not None and theirs.configured is not None:
        yield from _outcomes("as configured", mine.configured, theirs.configured)
    if mine.smallest != theirs.smallest:
        yield (
            "other",
            f"smallest depths: {listed(mine.smallest)}, before {listed(theirs.smallest)}",
        )
    for how, audit, other in (("worse", mine, theirs), ("better", theirs, mine)):
        verb = "is" if how == "worse" else "is no longer"
        known = {other.names.get(pd, pd) for pd in other.single_points}
        for pd in audit.single_points:
            if audit.names.get(pd, pd) not in known:
                yield how, f"{audit.label(pd)} {verb} a single point of failure"
    hit, hit_before = (
        {audit.label(pd) for pds in audit.pins.values() for pd in pds} for audit in (mine, theirs)
    )
    for pd in sorted(hit - hit_before):
        yield "other", f"only its pin saves {pd}"
    for pd in sorted(hit_before - hit):
        yield "other", f"{pd} needs no pin, or has none"


def _outcomes(where: str, mine: Outcome, theirs: Outcome) -> Iterator[tuple[str, str]]:
    if mine.destroyed != theirs.destroyed:
        how = "worse" if mine.destroyed > theirs.destroyed else "better"
        text = f"{mine.destroyed} PDs, before {theirs.destroyed}"
        yield how, f"{where} the worst crash destroys {text}"
    now, then = sum(mine.chains.values()), sum(theirs.chains.values())
    if now != then:
        how = "worse" if now > then else "better"
        yield how, f"{where} {now} broken chains are left, before {then}"


def listed(depths: list[Depths]) -> str:
    """Depths in words."""
    return ", ".join(f"{depth_text(pd)}/{depth_text(rs)}" for pd, rs in depths) or "none"
