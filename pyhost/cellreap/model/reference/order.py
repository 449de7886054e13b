# SPDX-License-Identifier: BSD-2-Clause
"""The order in which doomed nodes are destroyed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cellreap.model.graph import Model
from cellreap.model.reference.doom import maps_to


def groups(model: Model, pds: set[str], spaces: set[str]) -> list[list[str]]:
    """The doomed nodes by group number: the longest path to them over "u before v" edges.

    Nodes on a cycle of such edges share a group.
    """
    doomed = pds | spaces

    def among_doomed(pairs: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        return {(u, v) for u, v in pairs if u in doomed and v in doomed and u != v}

    explicit = among_doomed((node, subscriber) for subscriber, node in model.subscribes)
    # Opposed explicit edges cancel each other. They do not order the two nodes and do not weaken
    # any other reason for an order.
    explicit = {(u, v) for u, v in explicit if (v, u) not in explicit}

    ownership = among_doomed((space, manager) for space, manager in model.manager.items())
    ownership |= among_doomed((created, creator) for creator, created in model.owns)

    implicit = among_doomed(
        (model.manager[space], pd) for pd, space in model.requests if pd in doomed
    )
    implicit |= among_doomed(
        (model.manager[model.space_of[node]], pd)
        for pd, node in model.holds
        if pd in doomed and node in model.space_of
    )
    implicit |= among_doomed((s, t) for t, s in maps_to(model))

    before = set(explicit)
    before |= {(u, v) for u, v in ownership if (v, u) not in explicit}
    before |= {(u, v) for u, v in implicit if (v, u) not in explicit and (v, u) not in ownership}

    predecessors: dict[str, set[str]] = {node: set() for node in doomed}
    for u, v in before:
        predecessors[v].add(u)
    components = _components(predecessors)
    component_of = {node: i for i, component in enumerate(components) for node in component}
    number: list[int] = []
    for i, component in enumerate(components):
        earlier = {component_of[u] for v in component for u in predecessors[v]} - {i}
        number.append(max((number[j] + 1 for j in earlier), default=0))
    listed: list[list[str]] = [[] for _ in range(max(number, default=-1) + 1)]
    for component, group in zip(components, number, strict=True):
        listed[group].extend(component)
    return [sorted(group) for group in listed]


def _components(predecessors: Mapping[str, set[str]]) -> list[list[str]]:
    """The strongly connected components (Tarjan). Each follows the components with an edge to it.

    predecessors: node -> the nodes with an edge to it. The search follows these edges backwards, so
    it completes a component only after all components that come before it.
    """
    components: list[list[str]] = []
    found_at: dict[str, int] = {}
    lowest: dict[str, int] = {}
    done: set[str] = set()
    open_nodes: list[str] = []
    for start in sorted(predecessors):
        if start in found_at:
            continue
        path = [(start, iter(sorted(predecessors[start])))]
        found_at[start] = lowest[start] = len(found_at)
        open_nodes.append(start)
        while path:
            node, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == found_at[node]:
                    component = [open_nodes.pop()]
                    while component[-1] != node:
                        component.append(open_nodes.pop())
                    done.update(component)
                    components.append(component)
            elif following not in found_at:
                found_at[following] = lowest[following] = len(found_at)
                open_nodes.append(following)
                path.append((following, iter(sorted(predecessors[following]))))
            elif following not in done:
                lowest[node] = min(lowest[node], found_at[following])
    return components
