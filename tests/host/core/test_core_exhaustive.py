# SPDX-License-Identifier: BSD-2-Clause
"""Core against reference on every small system: all of 2 PDs and 2 spaces, then, up to renaming and from
the fewest edges up, those of 3 and 3 for as long as `--exhaustive-seconds` says.

PD_1 is always the one that crashes, so renaming may permute the other PDs and all spaces. Each space has
one resource.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from cellreap.model.core import CoreModel
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.reference import order
from kit.core_support import agree

DEPTHS: tuple[int | None, ...] = (0, 1, 2, None)

Edge = tuple[str, int, int]
"""(kind, from, to) with the numbers of PDs and spaces; see `build` for the kinds."""


@dataclass(frozen=True)
class Small:
    """A small system: who manages each space, and the edges beyond what that implies."""

    managers: tuple[int, ...]
    edges: frozenset[Edge]


def build(small: Small, pds: int) -> Model:
    """The model: PD n is PD_n, space n is of a type and a number of its own."""
    model = Model()
    model.add_pd(ROOT)
    for n in range(1, pds + 1):
        model.add_pd(f"PD_{n}", pinned=("pin", n, n) in small.edges)
    for n, manager in enumerate(small.managers, 1):
        model.add_space(f"T_SPACE_{n}", f"PD_{manager}")
        model.add_resource(f"T_{n}_1", f"T_SPACE_{n}")
        model.add_hold(f"PD_{manager}", f"T_SPACE_{n}")
        model.add_hold(f"PD_{manager}", f"T_{n}_1")
    for kind, a, b in small.edges:
        match kind:
            case "pin":
                pass
            case "request":
                model.add_request(f"PD_{a}", f"T_SPACE_{b}")
            case "hold":
                model.add_hold(f"PD_{a}", f"T_{b}_1")
            case "hold-space":
                model.add_hold(f"PD_{a}", f"T_SPACE_{b}")
            case "map-space":
                model.add_map(f"T_SPACE_{a}", f"T_SPACE_{b}")
            case "map-resource":
                model.add_map(f"T_{a}_1", f"T_{b}_1")
            case "link":
                model.add_link(f"PD_{a}", f"PD_{b}")
            case "fault":
                model.set_fault(f"PD_{a}", f"PD_{b}")
            case "own":
                model.add_own(f"PD_{a}", f"PD_{b}")
            case "subscribe-pd":
                model.add_subscribe(f"PD_{a}", f"PD_{b}")
            case "subscribe-space":
                model.add_subscribe(f"PD_{a}", f"T_SPACE_{b}")
            case _:
                raise AssertionError(kind)
    return model


PD_TO_PD = ("pin", "link", "fault", "own", "subscribe-pd")
SPACE_TO_SPACE = ("map-space", "map-resource")


def renamings(pds: int, spaces: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All ways of renaming PDs and spaces (by place, 0 unused) that leave PD_1 what it is."""
    return [
        ((0, 1, *others), (0, *all_spaces))
        for others in itertools.permutations(range(2, pds + 1))
        for all_spaces in itertools.permutations(range(1, spaces + 1))
    ]


def smallest_name(small: Small, ways: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> Small:
    """The same for any two systems that differ in names only."""
    best: tuple[Any, ...] | None = None
    for pd, space in ways:
        managers = [0] * len(small.managers)
        for place, manager in enumerate(small.managers, 1):
            managers[space[place] - 1] = pd[manager]
        edges = []
        for kind, a, b in small.edges:
            x, y = (pd[a], pd[b]) if kind in PD_TO_PD else (0, 0)
            if kind in SPACE_TO_SPACE:
                x, y = space[a], space[b]
            elif kind not in PD_TO_PD:
                x, y = pd[a], space[b]
            if kind == "link" and x > y:
                x, y = y, x
            edges.append((kind, x, y))
        named = (tuple(managers), tuple(sorted(edges)))
        if best is None or named < best:
            best = named
    assert best is not None
    return Small(best[0], frozenset(best[1]))


class Comparison:
    """Compares plans and counts them. Groups are a function of the model and of what is doomed, so the
    reference computes them once for each such set rather than once for each pair of depths."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.models = 0
        self.plans = 0
        self._groups: dict[Any, Any] = {}
        compute = order.groups

        def remembered(model: Model, pds: set[str], spaces: set[str]) -> list[list[str]]:
            key = (frozenset(pds), frozenset(spaces))
            if key not in self._groups:
                self._groups[key] = compute(model, pds, spaces)
            return self._groups[key]

        monkeypatch.setattr(order, "groups", remembered)

    def compare(self, small: Small, pds: int, depths: Iterable[tuple[int | None, int | None]]) -> None:
        """Both planners on one system."""
        model = build(small, pds)
        core = CoreModel.from_model(model)
        self._groups.clear()
        self.models += 1
        for pd_depth, rs_depth in depths:
            agree(core, model, "PD_1", pd_depth, rs_depth)
            self.plans += 1


def report(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Says on the terminal how far it went."""
    with capsys.disabled():
        print(f"\n  {text}", end=" ")


def choices(*kinds: Iterable[Edge | None]) -> Iterator[frozenset[Edge]]:
    """Every way to take one of each; None is none of it."""
    for picked in itertools.product(*(tuple(kind) for kind in kinds)):
        yield frozenset(edge for edge in picked if edge is not None)


def each_or_not(edges: Iterable[Edge]) -> list[tuple[Edge, None]]:
    """Each edge there or not."""
    return [(edge, None) for edge in edges]


TWO = (1, 2)
PAIRS = tuple(itertools.product(TWO, TWO))
ACROSS = ((1, 2), (2, 1))


@pytest.mark.behaviour(
    "C-04", "C-05", "C-06", "C-07", "C-08", "C-09", "C-14", "C-16", "C-22", "D-01", "D-02", "D-04"
)
def test_who_dies_in_every_system_of_two_pds_and_two_spaces(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All managers, REQUESTs, HOLDs, MAPs of spaces and of resources, LINK, FAULT edges and pins, at all
    depths."""
    comparison = Comparison(monkeypatch)
    depths = list(itertools.product(DEPTHS, DEPTHS))
    ways = renamings(2, 2)
    started = time.monotonic()
    for managers in itertools.product(TWO, TWO):
        for edges in choices(
            *each_or_not(("request", pd, space) for pd, space in PAIRS),
            *each_or_not(("hold", pd, space) for pd, space in PAIRS if managers[space - 1] != pd),
            *(((("map-space", a, b)), ("map-resource", a, b), None) for a, b in ACROSS),
            *each_or_not([("link", 1, 2)]),
            *each_or_not(("fault", a, b) for a, b in ACROSS),
            *each_or_not(("pin", pd, pd) for pd in TWO),
        ):
            small = Small(managers, edges)
            if smallest_name(small, ways) == small:
                comparison.compare(small, 2, depths)
    seconds = time.monotonic() - started
    report(
        capsys, f"2 x 2, who dies: all {comparison.models} systems, {comparison.plans} plans, {seconds:.0f} s"
    )
    assert comparison.models > 30_000


@pytest.mark.behaviour("G-02", "G-04", "G-06", "G-07", "G-12", "G-13", "G-14", "G-15")
def test_the_order_in_every_system_of_two_pds_and_two_spaces(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All managers, REQUESTs, OWNs, subscriptions and MAPs, with the two PDs linked so that everything
    goes."""
    comparison = Comparison(monkeypatch)
    ways = renamings(2, 2)
    started = time.monotonic()
    for managers in itertools.product(TWO, TWO):
        for edges in choices(
            [("link", 1, 2)],
            *each_or_not(("request", pd, space) for pd, space in PAIRS if managers[space - 1] != pd),
            *each_or_not(("map-space", a, b) for a, b in ACROSS),
            *each_or_not(("own", a, b) for a, b in ACROSS),
            *each_or_not(("subscribe-pd", a, b) for a, b in ACROSS),
            *each_or_not(("subscribe-space", pd, space) for pd, space in PAIRS),
        ):
            small = Small(managers, edges)
            if smallest_name(small, ways) == small:
                comparison.compare(small, 2, [(0, 0)])
    seconds = time.monotonic() - started
    report(capsys, f"2 x 2, order: all {comparison.models} systems, {seconds:.0f} s")
    assert comparison.models > 4_000


def possible_edges(small: Small, pds: int, spaces: int) -> Iterator[Edge]:
    """Every edge that may be added to the system."""
    for a, b in itertools.product(range(1, pds + 1), repeat=2):
        yield "subscribe-pd", a, b
        if a == b:
            yield "pin", a, b
            continue
        yield "own", a, b
        if a < b:
            yield "link", a, b
        if not any(kind == "fault" and one == a for kind, one, _ in small.edges):
            yield "fault", a, b
    for pd, space in itertools.product(range(1, pds + 1), range(1, spaces + 1)):
        yield "request", pd, space
        yield "subscribe-space", pd, space
        if small.managers[space - 1] != pd:
            yield "hold", pd, space
            yield "hold-space", pd, space
    for a, b in itertools.permutations(range(1, spaces + 1), 2):
        yield "map-space", a, b
        yield "map-resource", a, b


def with_one_more_edge(
    level: list[Small], ways: list[tuple[tuple[int, ...], tuple[int, ...]]], deadline: float
) -> set[Small]:
    """All systems with one edge more, up to renaming; what there was time for, if the deadline passes."""
    following: set[Small] = set()
    for small in level:
        if time.monotonic() > deadline:
            break
        for edge in possible_edges(small, 3, 3):
            if edge not in small.edges:
                following.add(smallest_name(Small(small.managers, small.edges | {edge}), ways))
    return following


@pytest.mark.behaviour("C-08", "C-10", "C-11", "C-12", "C-13", "D-01", "D-02", "D-04", "G-06")
def test_systems_of_three_pds_and_three_spaces(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], exhaustive_seconds: float
) -> None:
    """Up to renaming, all systems with no edge, then with one, then with two, ... until the time is over.
    Within a number of edges the order is shuffled, always the same way, so that a part of them is a fair
    sample."""
    comparison = Comparison(monkeypatch)
    depths = list(itertools.product(DEPTHS, DEPTHS))
    ways = renamings(3, 3)
    deadline = time.monotonic() + exhaustive_seconds
    level = {
        smallest_name(Small(managers, frozenset()), ways)
        for managers in itertools.product((1, 2, 3), repeat=3)
    }
    finished, rest = -1, ""
    while time.monotonic() < deadline:
        ordered = sorted(level, key=lambda small: (small.managers, sorted(small.edges)))
        random.Random(finished).shuffle(ordered)
        done = 0
        for small in ordered:
            if time.monotonic() > deadline:
                break
            comparison.compare(small, 3, depths)
            done += 1
        if done < len(ordered):
            rest = f", {done} of {len(ordered)} with {finished + 1}"
            break
        finished += 1
        level = with_one_more_edge(ordered, ways, deadline)
    report(
        capsys,
        f"3 x 3: all systems of up to {finished} edges{rest}; "
        f"{comparison.models} systems, {comparison.plans} plans, {exhaustive_seconds:.0f} s",
    )
    assert finished >= 1
