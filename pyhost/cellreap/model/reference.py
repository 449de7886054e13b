# SPDX-License-Identifier: BSD-2-Clause
"""What a crash dooms, what becomes of the rest and in which order, in plain Python.

Written from docs/semantics.md alone, to be read beside it, and independent of the C core: the checker and
the tests compare the two. Clear rather than quick: every step looks at all edges.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cellreap.errors import UsageError
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT

WHYS: Final = ("trigger", "link", "fault", "request", "hold", "managed", "map")
"""Why a node is doomed. The cause that goes with it: nothing; the linked PD; the fault handler; the space
requested; the resource held; the manager; the space mapped to."""


@dataclass(frozen=True)
class Plan:
    """What a cleanup will do. Lists are sorted; `groups` has the group that is destroyed first in front."""

    trigger: str
    pd_depth: int | None
    """None is unlimited"""
    rs_depth: int | None
    """None is unlimited"""
    destroyed_pds: list[tuple[str, int]] = field(default_factory=list)
    """(PD, pd depth), the trigger included"""
    deleted_spaces: list[str] = field(default_factory=list)
    removed_requests: list[tuple[str, str]] = field(default_factory=list)
    """(survivor, space)"""
    revoked: list[tuple[str, str]] = field(default_factory=list)
    """(survivor other than the root task, resource in a deleted space)"""
    revoked_spaces: list[tuple[str, str]] = field(default_factory=list)
    """(survivor other than the root task, deleted space that it held)"""
    revoked_bodies: list[tuple[str, str]] = field(default_factory=list)
    """(survivor other than the root task, capability to a doomed PD's body)"""
    core_freed: list[str] = field(default_factory=list)
    """core resources that nobody but the root task would hold any more"""
    notices: list[tuple[str, str, str, str | None]] = field(default_factory=list)
    """(to, kind, node, dead PD): kind is free, destroy, disconnect or lost; the dead PD for free and
    disconnect"""
    pre_destroy: list[tuple[str, str]] = field(default_factory=list)
    """(subscriber, doomed node)"""
    groups: list[list[str]] = field(default_factory=list)
    doomed_why: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """doomed PD or space -> (one of WHYS, cause). Where several causes hold, any one of them"""

    def doomed(self) -> set[str]:
        """The doomed PDs and spaces."""
        return {pd for pd, _ in self.destroyed_pds} | set(self.deleted_spaces)

    def outcome(self) -> dict[str, Any]:
        """All but `doomed_why`, as an object: equal for two plans that decide the same, whatever cause they
        name."""
        shown = self.to_json()
        del shown["doomed_why"]
        return shown

    def to_json(self) -> dict[str, Any]:
        """The plan as `cellreap plan --json` prints it."""
        return {
            "trigger": self.trigger,
            "pd_depth": depth_text(self.pd_depth),
            "rs_depth": depth_text(self.rs_depth),
            "destroyed_pds": [list(item) for item in self.destroyed_pds],
            "deleted_spaces": list(self.deleted_spaces),
            "removed_requests": [list(item) for item in self.removed_requests],
            "revoked": [list(item) for item in self.revoked],
            "revoked_spaces": [list(item) for item in self.revoked_spaces],
            "revoked_bodies": [list(item) for item in self.revoked_bodies],
            "core_freed": list(self.core_freed),
            "notices": [list(item) for item in self.notices],
            "pre_destroy": [list(item) for item in self.pre_destroy],
            "groups": [list(group) for group in self.groups],
            "doomed_why": {node: list(why) for node, why in sorted(self.doomed_why.items())},
        }

    @classmethod
    def from_json(cls, shown: dict[str, Any]) -> Plan:
        """The inverse of `to_json`. Keys that a plan does not have are ignored; a missing one raises
        KeyError."""
        return cls(
            trigger=shown["trigger"],
            pd_depth=None if shown["pd_depth"] == "inf" else shown["pd_depth"],
            rs_depth=None if shown["rs_depth"] == "inf" else shown["rs_depth"],
            destroyed_pds=[(pd, depth) for pd, depth in shown["destroyed_pds"]],
            deleted_spaces=list(shown["deleted_spaces"]),
            removed_requests=[(pd, space) for pd, space in shown["removed_requests"]],
            revoked=[(pd, res) for pd, res in shown["revoked"]],
            revoked_spaces=[(pd, space) for pd, space in shown["revoked_spaces"]],
            revoked_bodies=[(pd, res) for pd, res in shown["revoked_bodies"]],
            core_freed=list(shown["core_freed"]),
            notices=[(to, kind, node, dead) for to, kind, node, dead in shown["notices"]],
            pre_destroy=[(pd, node) for pd, node in shown["pre_destroy"]],
            groups=[list(group) for group in shown["groups"]],
            doomed_why={node: (why, cause) for node, (why, cause) in shown["doomed_why"].items()},
        )


def depth_text(depth: int | None) -> int | str:
    """A depth as JSON and options have it: a number, or `inf`."""
    return "inf" if depth is None else depth


def plan(model: Model, crash: str, pd_depth: int | None, rs_depth: int | None) -> Plan:
    """What the crash of the PD `crash` dooms. Depths: 0, 1, 2, ... or None for unlimited.

    UsageError if `crash` is no PD that can crash, or a depth is negative.
    """
    node = model.nodes.get(crash)
    if node is None or node.kind != "PD":
        raise UsageError(f"there is no PD {crash}")
    if crash == ROOT:
        raise UsageError(f"{ROOT} is the root task: it does not crash")
    for name, depth in (("pd", pd_depth), ("rs", rs_depth)):
        if depth is not None and depth < 0:
            raise UsageError(f"a {name} depth of {depth}: expected 0, 1, 2, ... or inf")

    why: dict[str, tuple[str, str | None]] = {}
    pds = _doomed_pds(model, crash, pd_depth, why)
    at_depth_0 = {pd for pd, depth in pds.items() if depth == 0}
    by_rs = _rs_depths(model, at_depth_0, rs_depth, why)
    spaces = by_rs.keys() | {space for space, manager in model.manager.items() if manager in pds}
    for space in spaces:
        # Where the manager is doomed as well that is the better reason: no depth could have kept the space.
        if model.manager[space] in pds:
            why[space] = ("managed", model.manager[space])

    survivors = set(model.pds()) - pds.keys() - {ROOT}
    alone = Plan(
        trigger=crash,
        pd_depth=pd_depth,
        rs_depth=rs_depth,
        destroyed_pds=sorted(pds.items()),
        deleted_spaces=sorted(spaces),
        pre_destroy=sorted(
            (subscriber, node)
            for subscriber, node in model.subscribes
            if node in pds.keys() | spaces and (subscriber in survivors or pds.get(subscriber, 0) > 0)
        ),
        groups=_groups(model, set(pds), set(spaces)),
        doomed_why=why,
    )
    return replan(model, alone)


def replan(model: Model, plan: Plan) -> Plan:
    """What becomes of the rest, for the model as it is now: for a cleanup in which time passed between the
    marking and the destroying, and survivors did something in it. Who is doomed and why, in which groups, and
    who is told beforehand stay. UsageError if a doomed node is there no more."""
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
        core_freed=sorted(_core_freed(model, pds) - bodies),
        notices=sorted(
            _notices(model, pds, spaces, removed_requests | revoked | revoked_spaces),
            key=lambda notice: (*notice[:3], notice[3] or ""),
        ),
    )


# -- who is doomed


def _doomed_pds(
    model: Model, crash: str, pd_depth: int | None, why: dict[str, tuple[str, str | None]]
) -> dict[str, int]:
    """The doomed PDs with their depths. Fills in why."""
    depths = {crash: 0}
    why[crash] = ("trigger", None)
    _close(model, depths, 0, why)
    k = 0
    while pd_depth is None or k < pd_depth:
        servers = {pd for pd, depth in depths.items() if depth == k}
        if not servers:
            break
        lost = {space for space, manager in model.manager.items() if manager in servers}
        dependents = [(pd, "request", space) for pd, space in model.requests if space in lost]
        dependents += [(pd, "hold", res) for pd, res in model.holds if model.space_of.get(res) in lost]
        for pd, reason, cause in sorted(dependents):
            if pd not in depths and pd != ROOT and not model.nodes[pd].pinned:
                depths[pd] = k + 1
                why[pd] = (reason, cause)
        _close(model, depths, k + 1, why)
        k += 1
    return depths


def _close(model: Model, depths: dict[str, int], depth: int, why: dict[str, tuple[str, str | None]]) -> None:
    """Adds, at the same depth, all that are linked with a PD at this depth or have it as fault handler."""
    pending = sorted(pd for pd, its_depth in depths.items() if its_depth == depth)
    while pending:
        pd = pending.pop(0)
        partners = [(a if b == pd else b, "link") for a, b in model.links if pd in (a, b)]
        partners += [(client, "fault") for client, handler in model.faults.items() if handler == pd]
        for partner, reason in sorted(partners):
            if partner not in depths and partner != ROOT:
                depths[partner] = depth
                why[partner] = (reason, pd)
                pending.append(partner)


def _maps_to(model: Model) -> set[tuple[str, str]]:
    """(t, s) of two different spaces where t maps to s, itself or by a resource."""
    pairs = {
        (model.space_of.get(upper, upper), model.space_of.get(lower, lower)) for upper, lower in model.maps
    }
    return {(t, s) for t, s in pairs if t != s}


def _rs_depths(
    model: Model,
    at_depth_0: Iterable[str],
    rs_depth: int | None,
    why: dict[str, tuple[str, str | None]],
) -> dict[str, int]:
    """The spaces that rs depth reaches, with the depth. Fills in why for those that are mapped."""
    first = set(at_depth_0)
    depths = {space: 0 for space, manager in model.manager.items() if manager in first}
    maps_to = _maps_to(model)
    j = 0
    while (rs_depth is None or j < rs_depth) and j in depths.values():
        for t, s in sorted(maps_to):
            if depths.get(s) == j and t not in depths and not model.is_core(t):
                depths[t] = j + 1
                why[t] = ("map", s)
        j += 1
    return depths


# -- what happens to the rest


def _core_freed(model: Model, pds: set[str]) -> set[str]:
    """Core resources that doomed PDs hold and, the root task aside, nobody else."""
    holders: dict[str, set[str]] = {}
    for pd, node in model.holds:
        if node in model.space_of and model.is_core(model.space_of[node]):
            holders.setdefault(node, set()).add(pd)
    return {res for res, who in holders.items() if who & pds and who <= pds | {ROOT}}


def _notices(
    model: Model, pds: set[str], spaces: set[str], losses: Iterable[tuple[str, str]]
) -> set[tuple[str, str, str, str | None]]:
    """The notices owed. losses: (survivor, requested or held node) of all REQUESTs and HOLDs that go."""
    notices: set[tuple[str, str, str, str | None]] = set()
    for space in spaces:
        if model.manager[space] not in pds:
            notices.add((model.manager[space], "destroy", space, None))
    for pd, node in model.holds:
        its_space = model.space_of.get(node)
        if pd in pds and its_space is not None and its_space not in spaces and not model.is_core(its_space):
            notices.add((model.manager[its_space], "free", node, pd))
    for pd, space in model.requests:
        if pd in pds and space not in spaces and not model.is_core(space):
            notices.add((model.manager[space], "disconnect", space, pd))
    for pd, node in losses:
        lost = model.space_of.get(node, node)
        if model.manager[lost] != pd:
            notices.add((pd, "lost", lost, None))
    return {notice for notice in notices if notice[0] != ROOT}


# -- in which order


def _groups(model: Model, pds: set[str], spaces: set[str]) -> list[list[str]]:
    """The doomed nodes by group number, the longest path to them over "u before v" edges."""
    import networkx  # takes a while to load, and most commands never need it

    doomed = pds | spaces

    def among_doomed(pairs: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        return {(u, v) for u, v in pairs if u in doomed and v in doomed and u != v}

    explicit = among_doomed((node, subscriber) for subscriber, node in model.subscribes)
    # Opposed explicit edges cancel: they neither order the two nor weaken any other reason to.
    explicit = {(u, v) for u, v in explicit if (v, u) not in explicit}

    ownership = among_doomed((space, manager) for space, manager in model.manager.items())
    ownership |= among_doomed((created, creator) for creator, created in model.owns)

    implicit = among_doomed((model.manager[space], pd) for pd, space in model.requests)
    implicit |= among_doomed(
        (model.manager[model.space_of[node]], pd) for pd, node in model.holds if node in model.space_of
    )
    implicit |= among_doomed((s, t) for t, s in _maps_to(model))

    before = set(explicit)
    before |= {(u, v) for u, v in ownership if (v, u) not in explicit}
    before |= {(u, v) for u, v in implicit if (v, u) not in explicit and (v, u) not in ownership}

    graph = networkx.DiGraph()
    graph.add_nodes_from(doomed)
    graph.add_edges_from(before)
    condensed = networkx.condensation(graph)
    number: dict[Any, int] = {}
    for component in networkx.topological_sort(condensed):
        number[component] = max((number[u] + 1 for u in condensed.predecessors(component)), default=0)
    groups: list[list[str]] = [[] for _ in range(max(number.values()) + 1)]
    for component, group in number.items():
        groups[group].extend(condensed.nodes[component]["members"])
    return [sorted(group) for group in groups]


# -- afterwards


def apply(model: Model, plan: Plan) -> Model:
    """The state after the cleanup. `model` is left as it is."""
    after = model.copy()
    doomed = plan.doomed()
    bodies = {model.body_of(pd) for pd, _ in plan.destroyed_pds} - {None}
    inside = {res for res, space in model.space_of.items() if space in doomed}
    after.discard(doomed | inside | set(plan.core_freed) | {body for body in bodies if body is not None})
    return after


def check_why(model: Model, plan: Plan) -> list[str]:
    """What is wrong with `doomed_why`; empty if every doomed node has a cause that holds and is not
    deeper."""
    depth = dict(plan.destroyed_pds)
    first = {pd for pd, its_depth in depth.items() if its_depth == 0}
    rs = _rs_depths(model, first, plan.rs_depth, {})
    maps_to = _maps_to(model)
    wrong = [f"{node} has no cause" for node in plan.doomed() - plan.doomed_why.keys()]
    for node, (why, cause) in plan.doomed_why.items():
        by = "" if cause is None else cause
        server = model.manager.get(model.space_of.get(by, by), "")
        holds = {
            "trigger": node == plan.trigger and cause is None and depth.get(node) == 0,
            "link": (min(node, by), max(node, by)) in model.links and depth.get(by) == depth.get(node),
            "fault": model.faults.get(node) == by and depth.get(by) == depth.get(node),
            "request": (node, by) in model.requests and depth.get(server, -2) + 1 == depth.get(node),
            "hold": (node, by) in model.holds
            and by in model.space_of
            and depth.get(server, -2) + 1 == depth.get(node),
            "managed": model.manager.get(node) == by and by in depth,
            "map": (node, by) in maps_to and rs.get(by, -2) + 1 == rs.get(node),
        }.get(why, False)
        if not holds or node not in plan.doomed():
            wrong.append(f"{node}: {why} {cause} does not hold")
    return sorted(wrong)


# -- explaining


def explain(model: Model, plan: Plan, node: str) -> list[str]:
    """Lines that say which path doomed a node, or what keeps it alive. UsageError if the model has no such
    node."""
    found = model.nodes.get(node)
    if found is None:
        raise UsageError(f"there is no {node}")
    if node in plan.doomed():
        return _explain_doomed(model, plan, node)
    if found.kind == "RESOURCE":
        return _explain_resource(model, plan, node)
    lines = (
        _explain_space(model, plan, node)
        if found.kind == "RESOURCE_SPACE"
        else _explain_pd(model, plan, node)
    )
    return [f"{label(model, node)} lives", *lines]


def label(model: Model, node: str) -> str:
    """A node for a person: a PD with its name."""
    name = model.nodes[node].name if node in model.nodes else ""
    return f"{node} ({name})" if name else node


def _explain_doomed(model: Model, plan: Plan, node: str) -> list[str]:
    """The path from the trigger to a doomed node, a line a step."""
    depth = dict(plan.destroyed_pds)
    # A path over MAP edges stays on them down to the spaces of the crash, even where a space on it has a
    # doomed manager as well: only rs depth reaches on from there.
    mapped: dict[str, tuple[str, str | None]] = {}
    _rs_depths(model, {pd for pd in depth if depth[pd] == 0}, plan.rs_depth, mapped)
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
            "trigger": f"crashed{at}",
            "link": f"is linked with {label(model, by)}{at}",
            "fault": f"has its faults handled by {label(model, by)}{at}",
            "request": f"requests {by}{at}",
            "hold": f"holds {by} in {model.space_of.get(by, '')}{at}",
            "managed": f"is managed by {label(model, by)}",
            "map": f"maps to {by}",
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
    lines = []
    uses = [("requests", space, space) for who, space in model.requests if who == pd]
    uses += [
        ("holds", res, model.space_of[res]) for who, res in model.holds if who == pd and res in model.space_of
    ]
    for verb, what, space in sorted(uses):
        manager = model.manager[space]
        shown = what if what == space else f"{what} in {space}"
        if manager in depth:
            tie = f"{pd} {verb} {shown} of {label(model, manager)}"
            if plan.pd_depth is not None and depth[manager] >= plan.pd_depth:
                lines.append(
                    f"{tie}, which is doomed at depth {depth[manager]}, but pd_depth is {shown_depth}"
                )
            else:
                lines.append(f"{tie}, but {pd} is pinned")
        elif space in plan.deleted_spaces and manager == pd:
            lines.append(f"{pd} manages {space}, which is deleted by rs depth: its manager lives on")
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


def _explain_space(model: Model, plan: Plan, space: str) -> list[str]:
    if model.is_core(space):
        return [f"{space} is a core space: the root task serves it"]
    manager = model.manager[space]
    lines = [f"its manager {label(model, manager)} lives"]
    first = {pd for pd, depth in plan.destroyed_pds if depth == 0}
    rs = _rs_depths(model, first, plan.rs_depth, {})
    for lower in sorted(s for t, s in _maps_to(model) if t == space and s in plan.deleted_spaces):
        if lower in rs:
            limit = depth_text(plan.rs_depth)
            lines.append(f"{space} maps to {lower} at rs depth {rs[lower]}, but rs_depth is {limit}")
        else:
            server = label(model, model.manager[lower])
            lines.append(
                f"{space} maps to {lower}, which goes only because {server} does: "
                "rs depth counts from the spaces of the crash"
            )
    if len(lines) == 1:
        lines.append(f"{space} maps to no deleted space")
    return lines


def _explain_resource(model: Model, plan: Plan, res: str) -> list[str]:
    space = model.space_of[res]
    if space in plan.deleted_spaces:
        return [f"{res} goes with {space}", *_explain_doomed(model, plan, space)]
    dead = {pd for pd, _ in plan.destroyed_pds}
    for pd in sorted(dead):
        if model.body_of(pd) == res:
            return [f"{res} goes with the PD whose body it stands for", *_explain_doomed(model, plan, pd)]
    if res in plan.core_freed:
        return [f"{res} is freed: nobody but doomed PDs and the root task holds it"]
    lines = [f"{res} lives", f"{space} is not deleted"]
    lost = sorted(pd for pd, node in model.holds if node == res and pd in dead)
    lines += [f"{label(model, pd)} is doomed and loses its hold of it" for pd in lost]
    if not model.is_core(space) and lost and model.manager[space] != ROOT:
        lines.append(
            f"its manager {label(model, model.manager[space])} is told and decides what becomes of it"
        )
    return lines
