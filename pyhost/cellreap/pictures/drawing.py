# SPDX-License-Identifier: BSD-2-Clause
"""What a picture of a model state shows: nodes, spaces as clusters, and edges with their kinds.

A drawing says what is shown and not how. `dot` and `mermaid` write it down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.memory import pages_of, size_told, users
from cellreap.model.plan import Plan
from cellreap.trace.events import printable

FOLD: Final = 12
"""By default, the resources of a space with more of them are drawn as one node."""
MAX_LABEL: Final = 40
_FEW: Final = 3
"""The most PDs that are named in a label."""

NodeDrawn = Literal["pd", "space", "resource"]
KINDS: Final = {
    "MANAGE": "manages",
    "REQUEST": "may request",
    "HOLD": "holds",
    "MAP": "is built on",
    "FAULT": "has its faults handled by",
    "LINK": "is linked with",
    "OWN": "created",
    "SUBSCRIBE": "subscribed to",
}
"""Kind of an edge -> what it means. MANAGE stands for the manager's holds of its space and of
what is in it.
"""
BY: Final = {
    "request": ("REQUEST", "{} requests {}"),
    "hold": ("HOLD", "{} holds {}"),
    "metric": ("CLOSE", "{} is close to {}"),
    "managed": ("MANAGE", "{} is managed by {}"),
    "map": ("MAP", "{} is built on {}"),
    "link": ("LINK", "{} is linked with {}"),
    "fault": ("FAULT", "{} has its faults handled by {}"),
    "own": ("OWN", "{} was created by {}"),
}
"""Why a node is doomed -> the kind of the edge that doomed it, and the reason in words."""
LOST: Final = frozenset({"MANAGE", "REQUEST", "HOLD"})
"""The kinds of edges that a survivor loses with a doomed space."""


@dataclass(frozen=True)
class DrawnNode:
    """A node. space: the space in whose cluster it is drawn; None: outside.

    depth: how many hops of clients from the crash it is doomed; None: it is not. A space is doomed
    without a depth: see `doomed`.
    """

    id: str
    kind: NodeDrawn
    label: tuple[str, ...]
    space: str | None = None
    doomed: bool = False
    depth: int | None = None
    pinned: bool = False


@dataclass(frozen=True)
class DrawnEdge:
    """An edge. why: the reason in words, if the edge doomed an end of it. lost: a survivor loses
    it.
    """

    kind: str
    source: str
    target: str
    times: int = 1
    why: str = ""
    lost: bool = False


@dataclass(frozen=True)
class Drawing:
    """A picture of one model state."""

    title: str
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    notes: tuple[str, ...] = ()
    """What the picture leaves out."""

    def spaces(self) -> list[DrawnNode]:
        """The spaces, each of which is a cluster."""
        return [node for node in self.nodes if node.kind == "space"]

    def kinds(self) -> list[str]:
        """The kinds of edges that occur, in the order of `KINDS`."""
        have = {edge.kind for edge in self.edges}
        return [kind for kind in KINDS if kind in have]


def draw(
    model: Model,
    title: str,
    names: Mapping[str, str],
    *,
    plan: Plan | None = None,
    core: bool = False,
    fold: int = FOLD,
) -> Drawing:
    """A drawing of a model state.

    names: names of spaces and PDs, by id, besides those of the model. plan: what a crash dooms in
    this state. core: with the root task and what it serves itself. fold: the resources of a space
    with more of them become one node.
    """
    return _Drawer(model, names, plan, core, fold, users(model)).drawing(title)


@dataclass
class _Drawer:
    model: Model
    names: Mapping[str, str]
    plan: Plan | None
    core: bool
    fold: int
    _users: dict[str, set[str]] = field(default_factory=dict)
    """memory -> the PDs that have it"""
    _shown: dict[str, str] = field(default_factory=dict)
    """node of the model -> the node that stands for it"""

    def drawing(self, title: str) -> Drawing:
        nodes = tuple(self._nodes())
        edges = tuple(self._edges())
        notes = () if self.core or len(self._shown) == len(self.model.nodes) else (_NO_CORE,)
        return Drawing(title, nodes, edges, notes)

    # -- nodes

    def _nodes(self) -> Iterator[DrawnNode]:
        model = self.model
        doomed = self.plan.doomed() if self.plan is not None else set()
        depths = dict(self.plan.destroyed_pds) if self.plan is not None else {}
        for pd in sorted(model.pds(), key=_in_order):
            if pd != ROOT or self.core:
                self._shown[pd] = pd
                told_of = () if self.core else self._memory(pd)
                label = (*self._named(pd), *told_of, *self._told(pd, doomed, depths.get(pd)))
                pinned = model.nodes[pd].pinned
                yield DrawnNode(pd, "pd", label, None, pd in doomed, depths.get(pd), pinned)
        inside: dict[str, list[str]] = {}
        for res, space in model.space_of.items():
            inside.setdefault(space, []).append(res)
        for space in sorted(model.spaces(), key=_in_order):
            if model.is_core(space) and not self.core:
                continue
            self._shown[space] = space
            label = (*self._named(space), *self._told(space, doomed, None))
            yield DrawnNode(space, "space", label, space, space in doomed)
            yield from self._resources(space, inside.get(space, []), space in doomed)

    def _resources(self, space: str, members: list[str], doomed: bool) -> Iterator[DrawnNode]:
        if len(members) > self.fold:
            folded = f"{space} resources"
            self._shown |= dict.fromkeys(members, folded)
            label = (f"{len(members):,} resources",)
            yield DrawnNode(folded, "resource", label, space, doomed)
            return
        for res in sorted(members, key=_in_order):
            self._shown[res] = res
            yield DrawnNode(res, "resource", (res,), space, doomed)

    def _told(self, node: str, doomed: set[str], depth: int | None) -> tuple[str, ...]:
        if self.plan is None or node not in doomed:
            return ()
        if depth == 0:
            return ("crashes",)
        how = "possibly doomed" if node in self.plan.possible else "doomed"
        return (how if depth is None else f"{how} at depth {depth}",)

    def _named(self, node: str) -> tuple[str, ...]:
        name = self.model.nodes[node].name or self.names.get(node, "")
        return (printable(name, MAX_LABEL), node) if name else (node,)

    def _memory(self, pd: str) -> Iterator[str]:
        """What it has of memory, in place of what the root task serves."""
        sizes: Counter[bool] = Counter()
        sharers: set[str] = set()
        for memory, having in self._users.items():
            pages = pages_of(self.model, memory)
            if pd in having and pages is not None:
                others = having - {pd, ROOT}
                sizes[bool(others)] += pages.bytes
                sharers |= others
        if sizes[False]:
            yield f"{size_told(sizes[False])} of memory"
        if sizes[True]:
            yield f"{size_told(sizes[True])} shared with {self._few(sharers)}"

    def _few(self, pds: set[str]) -> str:
        names = [self._named(pd)[0] for pd in sorted(pds, key=_in_order)]
        return ", ".join(names) if len(names) <= _FEW else f"{len(names)} PDs"

    # -- edges

    def _edges(self) -> Iterator[DrawnEdge]:
        doomed = self.plan.doomed() if self.plan is not None else set()
        guilty = self._guilty()
        times: Counter[tuple[str, str, str]] = Counter()
        why: dict[tuple[str, str, str], str] = {}
        lost: dict[tuple[str, str, str], bool] = {}
        for kind, source, target, count in self._all():
            ends = self._shown.get(source), self._shown.get(target)
            if ends[0] is None or ends[1] is None:
                continue
            drawn = (kind, ends[0], ends[1])
            times[drawn] += count
            reason = guilty.get((kind, source, target))
            if reason and drawn not in why:
                why[drawn] = reason
            into = self.model.space_of.get(target, target)
            goes = kind in LOST and into in doomed and source not in doomed
            lost[drawn] = lost.get(drawn, False) or goes
        for drawn in sorted(times, key=lambda drawn: (_in_order(drawn[1]), _in_order(drawn[2]))):
            yield DrawnEdge(*drawn, times[drawn], why.get(drawn, ""), lost[drawn])

    def _all(self) -> Iterator[tuple[str, str, str, int]]:
        for space, manager in self.model.manager.items():
            yield "MANAGE", manager, space, 1
        for edge in self.model.edges():
            space = self.model.space_of.get(edge.target, edge.target)
            if edge.kind != "HOLD" or self.model.manager.get(space) != edge.source:
                yield edge.kind, edge.source, edge.target, edge.times

    def _guilty(self) -> dict[tuple[str, str, str], str]:
        """The edges that doomed a node, with the reason in words."""
        found: dict[tuple[str, str, str], str] = {}
        if self.plan is None:
            return found
        for node, (word, cause) in self.plan.doomed_why.items():
            if cause is None or node not in self.model.nodes or cause not in self.model.nodes:
                continue
            kind, text = BY[word]
            reason = text.format(self._named(node)[0], self._named(cause)[0])
            for edge in self._condemning(kind, node, cause):
                found[edge] = reason
        return found

    def _condemning(self, kind: str, node: str, cause: str) -> list[tuple[str, str, str]]:
        if kind == "MANAGE":
            return [(kind, cause, node)]
        if kind == "LINK":
            return [(kind, min(node, cause), max(node, cause))]
        if kind == "MAP" and (node, cause) not in self.model.maps:
            # A space maps to another one also by what is in them.
            of = self.model.space_of
            return [
                (kind, upper, lower)
                for upper, lower in self.model.maps
                if of.get(upper) == node and of.get(lower) == cause
            ]
        return [(kind, node, cause)]


_NO_CORE: Final = "without the root task and what it serves itself"


def _in_order(id_: str) -> tuple[str, int, str]:
    """Ids by kind and then by number, so that PD_a is behind PD_9."""
    head, _, tail = id_.rpartition("_")
    return head, len(tail), tail


def split(drawing: Drawing, model: Model) -> Drawing:
    """The drawing with each PD that has several address spaces or cores as several nodes.

    A PD with n address spaces and m cores becomes n times m nodes. Each has all edges of the PD
    except those to the other address spaces, to what is in them, and to the other cores. The
    drawing must have been made with `core`. The root task is not split.
    """
    owns: dict[str, tuple[list[str], list[str]]] = {}
    for edge in drawing.edges:
        if edge.kind == "HOLD" and edge.source != ROOT and edge.target in model.nodes:
            node = model.nodes[edge.target]
            spaces, cores = owns.setdefault(edge.source, ([], []))
            if node.kind == "RESOURCE_SPACE" and node.type == "ADS":
                spaces.append(edge.target)
            elif node.kind == "RESOURCE" and node.type in ("VCPU", "CPU"):
                cores.append(edge.target)
    parts = {
        pd: [(ads, core) for ads in spaces or [""] for core in cores or [""]]
        for pd, (spaces, cores) in owns.items()
        if len(spaces) > 1 or len(cores) > 1
    }
    nodes: list[DrawnNode] = []
    for each in drawing.nodes:
        for number, part in enumerate(parts.get(each.id, [])):
            where = " on ".join(filter(None, part))
            nodes.append(
                replace(each, id=f"{each.id}.{number}", label=(*each.label, f"in {where}"))
            )
        if each.id not in parts:
            nodes.append(each)
    edges = [
        replace(edge, source=source, target=target)
        for edge in drawing.edges
        for source in _ends(edge.source, edge.target, parts, model)
        for target in _ends(edge.target, edge.source, parts, model)
    ]
    return replace(drawing, nodes=tuple(nodes), edges=tuple(edges))


def _ends(
    end: str, other: str, parts: Mapping[str, list[tuple[str, str]]], model: Model
) -> Iterator[str]:
    """The nodes that stand for an end of an edge."""
    if end not in parts:
        yield end
        return
    spaces, cores = {ads for ads, _ in parts[end]}, {core for _, core in parts[end]}
    within = model.space_of.get(other, other)
    for number, (ads, core) in enumerate(parts[end]):
        elsewhere = within in spaces and within != ads
        if not elsewhere and not (other in cores and other != core):
            yield f"{end}.{number}"
