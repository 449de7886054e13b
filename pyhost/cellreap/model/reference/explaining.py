# SPDX-License-Identifier: BSD-2-Clause
"""Explains why a node is doomed, or why it survives."""

from __future__ import annotations

from collections.abc import Iterable

from cellreap.errors import UsageError
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.plan import Plan, depth_text
from cellreap.model.reference.collection import reached
from cellreap.model.reference.doom import Causes, maps_to, rs_depths
from cellreap.model.reference.metrics import metrics


def explain(
    model: Model,
    plan: Plan,
    node: str,
    roots: Iterable[str] | None = (),
    began: str = "crashed",
) -> list[str]:
    """Lines that name the path which doomed a node, or the reason why it survives.

    roots: those of a collection; None: a reconciliation. began: what the trigger did. UsageError if
    the model has no such node.
    """
    found = model.nodes.get(node)
    if found is None:
        raise UsageError(f"there is no {node}")
    if node in plan.doomed():
        return _explain_doomed(model, plan, node, began)
    if found.kind == "RESOURCE":
        return _explain_resource(model, plan, node, began)
    lives = "lives, as far as is told" if model.unknown else "lives"
    if plan.trigger is None:
        lines = _explain_kept(model, model.manager.get(node, node), roots)
        return [f"{label(model, node)} {lives}", *lines]
    lines = (
        _explain_space(model, plan, node)
        if found.kind == "RESOURCE_SPACE"
        else _explain_pd(model, plan, node)
    )
    return [f"{label(model, node)} {lives}", *lines]


def _requests(model: Model, pd: str, space: str) -> str:
    return "may request" if (pd, space) in model.possible else "requests"


def label(model: Model, node: str) -> str:
    """A node as text for people: a PD with its name."""
    name = model.nodes[node].name if node in model.nodes else ""
    return f"{node} ({name})" if name else node


def _explain_kept(model: Model, pd: str, roots: Iterable[str] | None) -> list[str]:
    """Why a PD outlives a collection, namely the path that reaches it, or a reconciliation."""
    if roots is None:
        return [f"the configuration names {label(model, pd)}"]
    steps = reached(model, roots)
    lines: list[str] = []
    here = pd
    while (step := steps[here]) is not None:
        source, kind, other = step
        verb = {
            "request": "requests",
            "hold": "holds",
            "fault": "has its faults handled by",
            "link": "is linked with",
            "own": "created",
        }[kind]
        serves = "" if other == here else f", which needs {label(model, here)}"
        lines.append(f"{label(model, source)} {verb} {label(model, other)}{serves}")
        here = source
    if here == ROOT:
        lines.append(f"{ROOT} is the root task")
    elif model.nodes[here].pinned:
        lines.append(f"{label(model, here)} is pinned")
    else:
        lines.append(f"{label(model, here)} was made by the root task")
    return lines[::-1]


def _explain_doomed(model: Model, plan: Plan, node: str, began: str) -> list[str]:
    """The path from the trigger to a doomed node, one line for each step."""
    depth = dict(plan.destroyed_pds)
    # A path over MAP edges follows MAP edges down to the spaces of the crash, even if a space on
    # the path also has a doomed manager: only the rs depth extends such a path.
    mapped: Causes = {}
    rs_depths(model, {pd for pd in depth if depth[pd] == 0}, plan.rs_depth, mapped)
    lines: list[str] = []
    here: str | None = node
    on_maps = False
    while here is not None:
        why, cause = plan.doomed_why[here]
        if on_maps and here in mapped:
            why, cause = mapped[here]
        by = "" if cause is None else cause
        at = f" (pd depth {depth[here]})" if here in depth else ""
        phrase = {
            "trigger": f"{began}{at}",
            "link": f"is linked with {label(model, by)}{at}",
            "fault": f"has its faults handled by {label(model, by)}{at}",
            "request": f"{_requests(model, here, by)} {by}{at}",
            "hold": f"holds {by} in {model.space_of.get(by, '')}{at}",
            "managed": f"is managed by {label(model, by)}",
            "map": f"maps to {by}",
            "own": f"was created by {label(model, by)}{at}",
            "unreached": "is reached by no root",
            "unnamed": "is not named any more",
            "metric": f"is close to {label(model, by)}{at}",
        }[why]
        lines.append(f"{label(model, here)} {phrase}")
        here = cause
        if why in ("request", "hold"):
            space = model.space_of.get(by, by)
            here = model.manager[space]
            lines.append(f"{space} is managed by {label(model, here)}")
        on_maps = why == "map"
    return [f"{label(model, node)} is doomed", *reversed(lines)]


def _explain_pd(model: Model, plan: Plan, pd: str) -> list[str]:
    if pd == ROOT:
        return [f"{ROOT} is the root task: it never dies"]
    depth = dict(plan.destroyed_pds)
    shown_depth = depth_text(plan.pd_depth)
    lines = [] if plan.closeness is None else _explain_distance(model, plan, pd)
    uses = [
        (_requests(model, pd, space), space, space) for who, space in model.requests if who == pd
    ]
    uses += [
        ("holds", res, model.space_of[res])
        for who, res in model.holds
        if who == pd and res in model.space_of
    ]
    for verb, what, space in sorted(uses):
        manager = model.manager[space]
        shown = what if what == space else f"{what} in {space}"
        if manager in depth:
            tie = f"{pd} {verb} {shown} of {label(model, manager)}"
            if plan.pd_depth is not None and depth[manager] >= plan.pd_depth:
                at = f"doomed at depth {depth[manager]}"
                lines.append(f"{tie}, which is {at}, but pd_depth is {shown_depth}")
            elif model.nodes[pd].pinned:
                lines.append(f"{tie}, but {pd} is pinned")
        elif space in plan.deleted_spaces and manager == pd:
            lines.append(
                f"{pd} manages {space}, which is deleted by rs depth: its manager lives on"
            )
        elif space in plan.deleted_spaces:
            lines.append(
                f"{pd} {verb} {shown}, which is deleted by rs depth: that dooms no client, "
                f"and {label(model, manager)} lives"
            )
    if not lines:
        lines.append(
            f"{pd} has no REQUEST to and no HOLD in a deleted space, no LINK to a doomed PD "
            "and no doomed fault handler"
        )
    return list(dict.fromkeys(lines))


def _explain_distance(model: Model, plan: Plan, pd: str) -> list[str]:
    """How far the PD is from the trigger, if the policy asks."""
    closeness = plan.closeness
    if closeness is None or plan.trigger is None:
        return []
    found = metrics(model, plan.trigger, pd)
    is_close = "is" if closeness.holds(found) else "is not"
    shares = [f"RSI of {name} {found.share(name)}" for name, _, _ in closeness.rsi_min]
    has = ", ".join([f"FR {depth_text(found.fr)}", *shares])
    by = label(model, plan.trigger)
    lines = [f"{pd} {is_close} close to {by}: {has} ({closeness.text()})"]
    if is_close == "is" and model.nodes[pd].pinned:
        lines.append(f"{pd} is pinned")
    return lines


def _explain_space(model: Model, plan: Plan, space: str) -> list[str]:
    if model.is_core(space):
        return [f"{space} is a core space: the root task serves it"]
    manager = model.manager[space]
    lines = [f"its manager {label(model, manager)} lives"]
    first = {pd for pd, depth in plan.destroyed_pds if depth == 0}
    rs = rs_depths(model, first, plan.rs_depth, {})
    for lower in sorted(s for t, s in maps_to(model) if t == space and s in plan.deleted_spaces):
        if lower in rs:
            limit = depth_text(plan.rs_depth)
            lines.append(
                f"{space} maps to {lower} at rs depth {rs[lower]}, but rs_depth is {limit}"
            )
        else:
            server = label(model, model.manager[lower])
            lines.append(
                f"{space} maps to {lower}, which goes only because {server} does: "
                "rs depth counts from the spaces of the crash"
            )
    if len(lines) == 1:
        lines.append(f"{space} maps to no deleted space")
    return lines


def _explain_resource(model: Model, plan: Plan, res: str, began: str) -> list[str]:
    space = model.space_of[res]
    if space in plan.deleted_spaces:
        return [f"{res} goes with {space}", *_explain_doomed(model, plan, space, began)]
    dead = {pd for pd, _ in plan.destroyed_pds}
    for pd in sorted(dead):
        if model.body_of(pd) == res:
            return [
                f"{res} goes with the PD whose body it stands for",
                *_explain_doomed(model, plan, pd, began),
            ]
    uppers = sorted(upper for upper, lower in model.maps if lower == res)
    if res in plan.core_freed:
        freed = [f"{res} is freed: nobody but doomed PDs and the root task holds it"]
        return [*freed, *(f"{upper} maps to it and goes" for upper in uppers)]
    lines = [f"{res} lives", f"{space} is not deleted"]
    lost = sorted(pd for pd, node in model.holds if node == res and pd in dead)
    lines += [f"{label(model, pd)} is doomed and loses its hold of it" for pd in lost]
    if model.is_core(space) and lost:
        gone = {*plan.doomed(), *plan.core_freed, *map(model.body_of, dead)}
        lines += [
            f"{upper} maps to it and stays"
            for upper in uppers
            if not {upper, model.space_of.get(upper)} & gone
        ]
    if not model.is_core(space) and lost and model.manager[space] != ROOT:
        manager = label(model, model.manager[space])
        lines.append(f"its manager {manager} is told and decides what becomes of it")
    return lines
