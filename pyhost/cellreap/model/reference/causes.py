# SPDX-License-Identifier: BSD-2-Clause
"""Checks the causes that a plan names."""

from __future__ import annotations

from cellreap.model.graph import Model
from cellreap.model.plan import Plan
from cellreap.model.reference.doom import maps_to, rs_depths
from cellreap.model.reference.metrics import metrics


def check_why(model: Model, plan: Plan) -> list[str]:
    """What is wrong with `doomed_why`.

    Empty if every doomed node has a cause that holds and is not deeper than the node.
    """
    depth = dict(plan.destroyed_pds)
    first = {pd for pd, its_depth in depth.items() if its_depth == 0}
    rs = rs_depths(model, first, plan.rs_depth, {})
    mapped = maps_to(model)
    wrong = [f"{node} has no cause" for node in plan.doomed() - plan.doomed_why.keys()]
    for node, (why, cause) in plan.doomed_why.items():
        by = "" if cause is None else cause
        server = model.manager.get(model.space_of.get(by, by), "")
        holds = {
            "trigger": node == plan.trigger and cause is None and depth.get(node) == 0,
            "own": (by, node) in model.owns
            and depth.get(node) == 0
            and plan.doomed_why.get(by, ("", None))[0] in ("trigger", "own"),
            "unreached": plan.trigger is None and cause is None and node in depth,
            "unnamed": plan.trigger is None and cause is None,
            "link": (min(node, by), max(node, by)) in model.links
            and depth.get(by) == depth.get(node),
            "fault": model.faults.get(node) == by and depth.get(by) == depth.get(node),
            "request": (node, by) in model.requests
            and depth.get(server, -2) + 1 == depth.get(node),
            "hold": (node, by) in model.holds
            and by in model.space_of
            and depth.get(server, -2) + 1 == depth.get(node),
            "managed": model.manager.get(node) == by and by in depth,
            "metric": plan.closeness is not None
            and by == plan.trigger
            and depth.get(node) == 1
            and plan.closeness.holds(metrics(model, plan.trigger, node)),
            "map": (node, by) in mapped and rs.get(by, -2) + 1 == rs.get(node),
        }.get(why, False)
        if not holds or node not in plan.doomed():
            wrong.append(f"{node}: {why} {cause} does not hold")
    return sorted(wrong)
