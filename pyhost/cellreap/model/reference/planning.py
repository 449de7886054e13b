# SPDX-License-Identifier: BSD-2-Clause
"""The whole plan for a crash, the recomputed plan, and the state after the cleanup."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from cellreap.errors import UsageError
from cellreap.model.closeness import Closeness
from cellreap.model.graph import DESTRUCTOR, Model
from cellreap.model.ids import ROOT
from cellreap.model.plan import Plan
from cellreap.model.reference import order
from cellreap.model.reference.doom import Causes, doomed_pds, near_pds, rs_depths
from cellreap.model.reference.metrics import Measuring
from cellreap.model.reference.rest import core_freed, notices

AnyModel = TypeVar("AnyModel", bound=Model)


def plan(
    model: Model,
    crash: str,
    pd_depth: int | None,
    rs_depth: int | None,
    closeness: Closeness | None = None,
) -> Plan:
    """The plan for the crash of the PD `crash`. Depths: 0, 1, 2, ... or None for unlimited.

    closeness: the policy, if depth alone does not decide.
    UsageError if `crash` is not a PD that can crash, or if a depth is negative.
    """
    _check_trigger(model, crash, pd_depth, rs_depth)
    triggers: Causes = {crash: ("trigger", None)}
    return _planned(model, crash, triggers, pd_depth, rs_depth, closeness)


def subtree(model: Model, top: str, pd_depth: int | None, rs_depth: int | None) -> Plan:
    """The plan for the termination of a PD with all PDs that it created, transitively.

    All of these are triggers. UsageError as for `plan`.
    """
    _check_trigger(model, top, pd_depth, rs_depth)
    triggers: Causes = {top: ("trigger", None)}
    created: dict[str, list[str]] = {}
    for creator, pd in sorted(model.owns):
        created.setdefault(creator, []).append(pd)
    pending = [top]
    for creator in pending:
        for pd in created.get(creator, ()):
            if pd not in triggers:
                triggers[pd] = ("own", creator)
                pending.append(pd)
    return _planned(model, top, triggers, pd_depth, rs_depth)


def _check_trigger(model: Model, crash: str, pd_depth: int | None, rs_depth: int | None) -> None:
    node = model.nodes.get(crash)
    if node is None or node.kind != "PD":
        raise UsageError(f"there is no PD {crash}")
    if crash == ROOT:
        raise UsageError(f"{ROOT} is the root task: it does not crash")
    for name, depth in (("pd", pd_depth), ("rs", rs_depth)):
        if depth is not None and depth < 0:
            raise UsageError(f"a {name} depth of {depth}: expected 0, 1, 2, ... or inf")


def _planned(
    model: Model,
    first: str,
    triggers: Causes,
    pd_depth: int | None,
    rs_depth: int | None,
    closeness: Closeness | None = None,
) -> Plan:
    """The plan for several triggers. first: the one that is named as the trigger, and to which
    the others are close.
    """
    why: Causes = dict(triggers)
    if closeness is None:
        pds = doomed_pds(model, triggers.keys(), pd_depth, why)
    else:
        measuring = Measuring(model)

        def near(pd: str) -> bool:
            return closeness.holds(measuring.measure(first, pd))

        if closeness.policy == "metric":
            pds = near_pds(model, triggers.keys(), near, why)
        else:
            pds = doomed_pds(model, triggers.keys(), pd_depth, why, near)
    at_depth_0 = {pd for pd, depth in pds.items() if depth == 0}
    by_rs = rs_depths(model, at_depth_0, rs_depth, why)
    spaces = by_rs.keys() | {space for space, manager in model.manager.items() if manager in pds}
    return doom(model, pds, spaces, why, Plan(first, pd_depth, rs_depth, closeness=closeness))


def doom(
    model: Model, pds: dict[str, int], spaces: Iterable[str], why: Causes, empty: Plan
) -> Plan:
    """The plan that dooms these PDs, with their depths, and these spaces.

    why: the causes; those of spaces with a doomed manager are added. empty: a plan with the
    trigger and the depths.
    """
    spaces = set(spaces)
    for space in spaces:
        # If the manager is doomed too, it is the better reason: the space would be doomed at any
        # depth.
        if model.manager[space] in pds:
            why[space] = ("managed", model.manager[space])

    survivors = set(model.pds()) - pds.keys() - {ROOT}
    alone = replace(
        empty,
        destroyed_pds=sorted(pds.items()),
        deleted_spaces=sorted(spaces),
        pre_destroy=sorted(
            (subscriber, node)
            for subscriber, node in model.subscribes
            if node in pds.keys() | spaces
            and not _has_only_a_destructor(model, subscriber, node)
            and (subscriber in survivors or pds.get(subscriber, 0) > 0)
        ),
        groups=order.groups(model, set(pds), spaces),
        doomed_why=why,
    )
    return replan(model, alone)


def _has_only_a_destructor(model: Model, subscriber: str, node: str) -> bool:
    """Whether that is all to which the subscriptions amount. It is told in its turn to go."""
    return subscriber == node and set(model.subscriptions(node, node)) == {DESTRUCTOR}


def destructors(model: Model, plan: Plan) -> dict[str, int]:
    """The doomed PDs that run a destructor, each with the number of its group in `plan.groups`.

    Those of one group run theirs side by side, when all groups before theirs are destroyed.
    """
    depths = dict(plan.destroyed_pds)
    return {
        node: group
        for group, nodes in enumerate(plan.groups)
        for node in nodes
        if depths.get(node, 0) > 0 and DESTRUCTOR in model.subscriptions(node, node)
    }


def replan(model: Model, plan: Plan) -> Plan:
    """The plan with its consequences computed anew for the current model.

    A cleanup uses it if survivors acted between the marking and the destroying. The doomed nodes,
    their causes, their groups and the pre-destroy notices stay the same. UsageError if a doomed
    node no longer exists.
    """
    pds = {pd for pd, _ in plan.destroyed_pds}
    spaces = set(plan.deleted_spaces)
    for node in sorted(pds | spaces):
        if node not in model.nodes:
            raise UsageError(f"there is no {node}, which the plan dooms")

    bodies = {body for pd in pds if (body := model.body_of(pd)) is not None}
    survivors = set(model.pds()) - pds
    told = survivors - {ROOT}
    in_doomed_space = {res for res, space in model.space_of.items() if space in spaces}

    removed_requests = {(pd, s) for pd, s in model.requests if pd in survivors and s in spaces}
    revoked = {(pd, res) for pd, res in model.holds if pd in told and res in in_doomed_space}
    revoked_spaces = {(pd, s) for pd, s in model.holds if pd in told and s in spaces}
    revoked_bodies = {(pd, res) for pd, res in model.holds if pd in told and res in bodies}
    return replace(
        plan,
        removed_requests=sorted(removed_requests),
        revoked=sorted(revoked),
        revoked_spaces=sorted(revoked_spaces),
        revoked_bodies=sorted(revoked_bodies),
        core_freed=sorted(core_freed(model, pds, spaces)),
        notices=sorted(
            notices(model, pds, spaces, removed_requests | revoked | revoked_spaces),
            key=lambda notice: (*notice[:3], notice[3] or ""),
        ),
    )


def apply(model: AnyModel, plan: Plan) -> AnyModel:
    """The state after the cleanup. Does not change `model`."""
    after = model.copy()
    after.discard(going(model, plan))
    return after


def going(model: Model, plan: Plan) -> set[str]:
    """All nodes that the cleanup takes out of the state."""
    doomed = plan.doomed()
    bodies = {body for pd, _ in plan.destroyed_pds if (body := model.body_of(pd)) is not None}
    inside = {res for space in plan.deleted_spaces for res in model.resources_in(space)}
    return doomed | inside | set(plan.core_freed) | bodies
