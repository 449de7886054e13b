# SPDX-License-Identifier: BSD-2-Clause
"""Core against reference on every small system.

These are all systems of 2 PDs and 2 spaces, those of 3 PDs and 3 spaces with one edge, and, with
more edges, as many of the latter as `--exhaustive-seconds` allows.

Systems that differ only in names are compared once. PD_1 always crashes, so a renaming may permute
the other PDs and all spaces. Each space has one resource.

The systems are divided into shards. Each shard is a test, so that processes can share the work.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from cellreap.model.core import CoreModel
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.reference import order
from kit.core_support import agree
from kit.marks import slow_but, thorough_but

DEPTHS: tuple[int | None, ...] = (0, 1, 2, None)

Edge = tuple[str, int, int]
"""(kind, from, to) with the numbers of PDs and spaces. `build` defines the kinds."""


@dataclass(frozen=True)
class Small:
    """A small system: the manager of each space, and the edges beyond those of a manager."""

    managers: tuple[int, ...]
    edges: frozenset[Edge]


def build(small: Small, pds: int) -> Model:
    """The model: PD n is PD_n. Each space has its own type and number."""
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
    """All renamings of PDs and spaces (by index, 0 unused) that leave PD_1 unchanged."""
    return [
        ((0, 1, *others), (0, *all_spaces))
        for others in itertools.permutations(range(2, pds + 1))
        for all_spaces in itertools.permutations(range(1, spaces + 1))
    ]


def smallest_name(small: Small, ways: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> Small:
    """A name that is equal for any two systems that differ only in names."""
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
    """Compares plans and counts the compared models.

    The groups are a function of the model and of the doomed nodes. The reference therefore computes
    them once for each set of doomed nodes and not for each pair of depths.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.models = 0
        self.plans = 0
        self._groups: dict[tuple[frozenset[str], frozenset[str]], list[list[str]]] = {}
        compute = order.groups

        def remembered(model: Model, pds: set[str], spaces: set[str]) -> list[list[str]]:
            key = (frozenset(pds), frozenset(spaces))
            if key not in self._groups:
                self._groups[key] = compute(model, pds, spaces)
            return self._groups[key]

        monkeypatch.setattr(order, "groups", remembered)

    def compare(
        self, small: Small, pds: int, depths: Iterable[tuple[int | None, int | None]]
    ) -> None:
        """Compares both planners on one system."""
        model = build(small, pds)
        core = CoreModel.from_model(model)
        self._groups.clear()
        self.models += 1
        for pd_depth, rs_depth in depths:
            agree(core, model, "PD_1", pd_depth, rs_depth)
            self.plans += 1


def report(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Prints the progress on the terminal."""
    with capsys.disabled():
        print(f"\n  {text}", end=" ")


def choices(*kinds: Iterable[Edge | None]) -> Iterator[frozenset[Edge]]:
    """All ways to choose one item of each argument. None stands for no item."""
    for picked in itertools.product(*(tuple(kind) for kind in kinds)):
        yield frozenset(edge for edge in picked if edge is not None)


def each_or_not(edges: Iterable[Edge]) -> list[tuple[Edge, None]]:
    """Each edge, present or absent."""
    return [(edge, None) for edge in edges]


TWO = (1, 2)
PAIRS = tuple(itertools.product(TWO, TWO))
ACROSS = ((1, 2), (2, 1))
SHARDS = 16
"""The number of tests that share the systems of 2 PDs and 2 spaces."""
WHO_DIES = 37_632
"""The number of systems, up to renaming, for which the doomed nodes are compared."""
ORDER = 8_448
"""The number of systems, up to renaming, for which the order of destruction is compared."""


def who_dies() -> Iterator[Small]:
    """All managers, REQUESTs, HOLDs, MAPs of spaces and resources, LINK, FAULT edges and pins."""
    for managers in itertools.product(TWO, TWO):
        for edges in choices(
            *each_or_not(("request", pd, space) for pd, space in PAIRS),
            *each_or_not(("hold", pd, space) for pd, space in PAIRS if managers[space - 1] != pd),
            *(((("map-space", a, b)), ("map-resource", a, b), None) for a, b in ACROSS),
            *each_or_not([("link", 1, 2)]),
            *each_or_not(("fault", a, b) for a, b in ACROSS),
            *each_or_not(("pin", pd, pd) for pd in TWO),
        ):
            yield Small(managers, edges)


def in_which_order() -> Iterator[Small]:
    """All managers, REQUESTs, OWNs, subscriptions and MAPs.

    The two PDs are linked, so both are doomed.
    """
    for managers in itertools.product(TWO, TWO):
        for edges in choices(
            [("link", 1, 2)],
            *each_or_not(
                ("request", pd, space) for pd, space in PAIRS if managers[space - 1] != pd
            ),
            *each_or_not(("map-space", a, b) for a, b in ACROSS),
            *each_or_not(("own", a, b) for a, b in ACROSS),
            *each_or_not(("subscribe-pd", a, b) for a, b in ACROSS),
            *each_or_not(("subscribe-space", pd, space) for pd, space in PAIRS),
        ):
            yield Small(managers, edges)


def of_shard(systems: Iterable[Small], shard: int) -> Iterator[Small]:
    """The systems of a shard. Of those that differ only in names, one is taken."""
    ways = renamings(2, 2)
    for small in itertools.islice(systems, shard, None, SHARDS):
        if smallest_name(small, ways) == small:
            yield small


@pytest.mark.slow
@pytest.mark.parametrize(("systems", "count"), [(who_dies, WHO_DIES), (in_which_order, ORDER)])
def test_the_shards_have_all_systems_of_two_pds_and_two_spaces(
    systems: Callable[[], Iterator[Small]], count: int
) -> None:
    """Every system is, up to renaming, in exactly one shard."""
    dealt = [small for shard in range(SHARDS) for small in of_shard(systems(), shard)]
    ways = renamings(2, 2)
    assert len(dealt) == len(set(dealt)) == count
    assert set(dealt) == {smallest_name(small, ways) for small in systems()}


@pytest.mark.behaviour(
    "C-04", "C-05", "C-06", "C-07", "C-08", "C-09", "C-14", "C-16", "C-22", "D-01", "D-02", "D-04"
)
@pytest.mark.parametrize("shard", thorough_but(range(SHARDS), 0, 10))
def test_who_dies_in_every_system_of_two_pds_and_two_spaces(
    monkeypatch: pytest.MonkeyPatch, shard: int
) -> None:
    """Compared at depths 0, 1 and without a limit.

    No chain of two nodes has a second hop. The test of some systems compares depth 2 as well.
    """
    comparison = Comparison(monkeypatch)
    shallow: tuple[int | None, ...] = (0, 1, None)
    depths = list(itertools.product(shallow, shallow))
    for small in of_shard(who_dies(), shard):
        comparison.compare(small, 2, depths)
    assert comparison.models > WHO_DIES // SHARDS // 2


@pytest.mark.behaviour(
    "C-04", "C-05", "C-06", "C-07", "C-08", "C-09", "C-14", "C-16", "C-22", "D-01", "D-02", "D-04"
)
def test_who_dies_in_some_systems_of_two_pds_and_two_spaces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every 293rd system, for runs without the slow tests."""
    comparison = Comparison(monkeypatch)
    depths = list(itertools.product(DEPTHS, DEPTHS))
    for small in itertools.islice(who_dies(), 0, None, 293):
        comparison.compare(small, 2, depths)
    assert comparison.models == 252


@pytest.mark.behaviour("G-02", "G-04", "G-06", "G-07", "G-12", "G-13", "G-14", "G-15")
@pytest.mark.parametrize("shard", slow_but(range(SHARDS), 0))
def test_the_order_in_every_system_of_two_pds_and_two_spaces(
    monkeypatch: pytest.MonkeyPatch, shard: int
) -> None:
    comparison = Comparison(monkeypatch)
    for small in of_shard(in_which_order(), shard):
        comparison.compare(small, 2, [(0, 0)])
    assert comparison.models > ORDER // SHARDS // 2


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


def with_one_more_edge(level: Iterable[Small]) -> set[Small]:
    """All systems of 3 PDs and 3 spaces with one edge more than these, up to renaming."""
    ways = renamings(3, 3)
    return {
        smallest_name(Small(small.managers, small.edges | {edge}), ways)
        for small in level
        for edge in possible_edges(small, 3, 3)
        if edge not in small.edges
    }


def of_three() -> list[Small]:
    """The systems of 3 PDs and 3 spaces that have no edges, up to renaming."""
    ways = renamings(3, 3)
    managers = itertools.product((1, 2, 3), repeat=3)
    return in_order({smallest_name(Small(each, frozenset()), ways) for each in managers})


def in_order(systems: Iterable[Small]) -> list[Small]:
    """The order is always the same."""
    return sorted(systems, key=lambda small: (small.managers, sorted(small.edges)))


SHARDS_OF_THREE = 4
"""The number of tests that share the systems of 3 PDs and 3 spaces."""


@pytest.mark.behaviour("C-08", "C-10", "C-11", "C-12", "C-13", "D-01", "D-02", "D-04", "G-06")
def test_all_systems_of_three_pds_and_three_spaces_with_at_most_one_edge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    comparison = Comparison(monkeypatch)
    none = of_three()
    for small in [*none, *in_order(with_one_more_edge(none))]:
        comparison.compare(small, 3, list(itertools.product(DEPTHS, DEPTHS)))
    assert comparison.models == 264


@pytest.mark.slow
@pytest.mark.behaviour("C-08", "C-10", "C-11", "C-12", "C-13", "D-01", "D-02", "D-04", "G-06")
@pytest.mark.parametrize("shard", range(SHARDS_OF_THREE))
def test_systems_of_three_pds_and_three_spaces_with_more_edges(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    exhaustive_seconds: float,
    shard: int,
) -> None:
    """Each shard starts with its part of the systems of one edge and adds edges, one at a time.

    The edges are added in random order, so that the first of them are of different kinds. The order
    is the same in every run. A system that two shards reach is compared in both. Each shard gets
    its part of --exhaustive-seconds, in processor time. A few systems are compared however short
    that is.
    """
    comparison = Comparison(monkeypatch)
    depths = list(itertools.product(DEPTHS, DEPTHS))
    deadline = time.process_time() + exhaustive_seconds / SHARDS_OF_THREE
    level = in_order(with_one_more_edge(of_three()))[shard::SHARDS_OF_THREE]
    ways = renamings(3, 3)
    seen: set[Small] = set()
    at_least = 50
    for edges in itertools.count(2):
        rng = random.Random(edges)
        rng.shuffle(level)
        following: list[Small] = []
        for small in level:
            for edge in possible_edges(small, 3, 3):
                more = smallest_name(Small(small.managers, small.edges | {edge}), ways)
                if edge in small.edges or more in seen:
                    continue
                seen.add(more)
                following.append(more)
                comparison.compare(more, 3, depths)
                if comparison.models >= at_least and time.process_time() > deadline:
                    report(
                        capsys,
                        f"3 x 3, shard {shard}: up to {edges} edges, {comparison.models} systems, "
                        f"{comparison.plans} plans, {exhaustive_seconds / SHARDS_OF_THREE:g} s",
                    )
                    return
        level = following
