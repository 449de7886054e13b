# SPDX-License-Identifier: BSD-2-Clause
"""Which cleanups touch each other, and so come one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeVar

from cellreap.model import reference
from cellreap.model.closeness import Closeness
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.indexed import IndexedModel
from cellreap.model.plan import Plan

Depths = tuple[int | None, int | None]
AnyModel = TypeVar("AnyModel", bound=Model)


def beyond(start: str, following: Callable[[str], Iterable[str]]) -> set[str]:
    """What is reached from there in one step or more."""
    found: set[str] = set()
    front = [start]
    while front:
        for each in following(front.pop()):
            if each not in found:
                found.add(each)
                front.append(each)
    return found


def touched(model: IndexedModel, doomed: Iterable[str]) -> set[str]:
    """What a cleanup that dooms these nodes concerns.

    These are the doomed nodes and what an edge joins to one of them, to a resource in a doomed
    space, or to the body of a doomed PD. A space stands for its manager too, a resource of a server
    for its space and server, and a region for its memory object. The root task and its spaces
    concern nobody.
    """
    ends: set[str] = set()
    for node in doomed:
        parts = model.resources_in(node) if node in model.manager else [model.body_of(node)]
        for part in (node, *parts):
            if part is not None:
                ends.add(part)
                for _, *both in model.edges_at(part):
                    ends.update(both)
    return set[str]().union(*(stands_for(model, end) for end in ends)) - {ROOT}


def stands_for(model: IndexedModel, node: str) -> set[str]:
    """What a node stands for: a space for its manager too, a resource for its space and server, and
    a region for its memory object.
    """
    space = model.space_of.get(node, node)
    manager = model.manager.get(space)
    if manager is None:
        return {node}
    if model.is_core(space):
        return set() if node == space else {node, *model.built_on(node)}
    return {space, manager}


def without(model: AnyModel, doomed: Iterable[str]) -> AnyModel:
    """The model without these nodes, their resources and bodies, for the plan of a cleanup beside
    theirs: what is doomed already is not doomed again.
    """
    rest = model.copy()
    for node in doomed:
        body = model.body_of(node) if model.nodes[node].kind == "PD" else None
        inside = model.resources_in(node) if node in model.manager else []
        rest.discard([node, *inside, *([] if body is None else [body])])
    return rest


def concerns(
    model: IndexedModel,
    queue: Iterable[tuple[str, Depths]],
    doomed: set[str],
    closeness: Closeness | None = None,
    trees: Collection[str] = (),
) -> Iterator[tuple[str, bool, set[str]]]:
    """The PDs in the queue, whether the cleanup of each may have to wait, and what it concerns.

    doomed: by the cleanups that wait. The PDs have the depths of their cleanups. closeness: the
    policy, if depth alone does not decide. trees: the PDs that are terminated with all that they
    created.
    """
    rest = without(model, doomed)
    for pd, depths in queue:
        if pd in trees:
            plan = reference.subtree(rest, pd, *depths)
        else:
            plan = reference.plan(rest, pd, *depths, closeness)
        may_wait = bool(plan.pre_destroy or reference.destructors(rest, plan))
        yield pd, may_wait, touched(model, plan.doomed())


def first_independent(
    queue: Iterable[tuple[str, bool, set[str]]], taken: set[str], room: bool
) -> str | None:
    """The first PD in the queue whose cleanup touches neither `taken` nor an earlier one's.

    queue: as `concerns` has it. taken: what the cleanups that wait concern. room: whether one more
    can wait; if not, only a cleanup that tells nobody begins.
    """
    taken = set(taken)
    for pd, may_wait, its in queue:
        if not its & taken and (room or not may_wait):
            return pd
        taken |= its
    return None


def spared(
    model: IndexedModel, plannable: IndexedModel, plan: Plan, roots: Collection[str]
) -> Plan:
    """The plan of a collection made anew. plannable: the model without what others doom."""
    kept = reference.reached(model, roots).keys() & plannable.nodes.keys()
    return reference.spare(plannable, plan, kept)


def collection(model: IndexedModel, roots: set[str], left: set[str]) -> Plan:
    """The plan of a collection beside what cleanups left: that is in use, with all it refers to."""
    kept = reference.reached(model, roots | (left & set(model.pds())))
    return reference.collect(without(model, left), kept.keys() - left)
