# SPDX-License-Identifier: BSD-2-Clause
"""Plans without a trigger: what cannot be reached, and what a configuration no longer names."""

from __future__ import annotations

from collections.abc import Iterable

from cellreap.errors import UsageError
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.plan import COLLECTED_DEPTH, Plan
from cellreap.model.reference.doom import Causes
from cellreap.model.reference.planning import doom

_NOTHING = Plan(trigger=None, pd_depth=0, rs_depth=0)


def reached(model: Model, roots: Iterable[str] = ()) -> dict[str, tuple[str, str, str] | None]:
    """The PDs that are reached, each with the last step to it.

    A step is (the PD it was reached from, `request`, `hold`, `fault`, `link` or `own`, and the node
    at the other end of that edge). None: a root. roots: PDs that are kept for a reason that is no
    edge.
    """
    first = [pd for pd in model.pds() if pd == ROOT or model.nodes[pd].pinned]
    found: dict[str, tuple[str, str, str] | None] = dict.fromkeys([*first, *sorted(roots)])
    last = set(found)
    while last:
        steps = sorted(step for step in _steps(model) if step[0] in last)
        last = set()
        for pd, kind, node, to in steps:
            if to not in found:
                found[to] = (pd, kind, node)
                last.add(to)
    return found


def _steps(model: Model) -> Iterable[tuple[str, str, str, str]]:
    """(PD, kind of edge, other end, PD that is reached by it) of every edge that reaches a PD."""
    bodies = {body: pd for pd in model.pds() if (body := model.body_of(pd)) is not None}
    for pd, space in model.requests:
        yield pd, "request", space, model.manager[space]
    for pd, node in model.holds:
        yield pd, "hold", node, model.manager[model.space_of.get(node, node)]
        if node in bodies and pd != ROOT:
            # The root task holds every body, because it made it.
            yield pd, "hold", node, bodies[node]
    for pd, handler in model.faults.items():
        yield pd, "fault", handler, handler
    for a, b in model.links:
        yield a, "link", b, b
        yield b, "link", a, a
    for creator, created in model.owns:
        # A creator that has released its capability has let go. One that has it holds the body.
        if creator == ROOT or model.body_of(created) is None:
            yield creator, "own", created, created


def collect(model: Model, roots: Iterable[str] = ()) -> Plan:
    """The plan of a collection: the PDs that are not reached, and their spaces, are doomed."""
    alive = reached(model, roots)
    return _without_trigger(model, {pd for pd in model.pds() if pd not in alive}, "unreached")


def spare(model: Model, plan: Plan, roots: Iterable[str] = ()) -> Plan:
    """The plan of a collection anew, for the current model, in its notify phase.

    What is reached by now is spared. Nothing is doomed that the first plan did not doom.
    """
    alive = reached(model, roots)
    left = {pd for pd, _ in plan.destroyed_pds if pd not in alive}
    return _without_trigger(model, left, "unreached")


def reconcile(model: Model, unnamed: Iterable[str]) -> Plan:
    """The plan that dooms these PDs and spaces, with the spaces of these PDs.

    UsageError if one of them does not exist, is a resource or a core space, or is the root task.
    """
    nodes = set(unnamed)
    for id_ in sorted(nodes):
        node = model.nodes.get(id_)
        if node is None or node.kind == "RESOURCE" or id_ == ROOT:
            raise UsageError(f"{id_} is no PD and no space that can go")
        if node.kind == "RESOURCE_SPACE" and model.is_core(id_):
            raise UsageError(f"{id_} is a core space: the root task keeps it")
    return _without_trigger(model, nodes, "unnamed")


def _without_trigger(model: Model, nodes: set[str], reason: str) -> Plan:
    why: Causes = dict.fromkeys(nodes, (reason, None))
    pds = {node: COLLECTED_DEPTH for node in nodes if model.nodes[node].kind == "PD"}
    spaces = {space for space, manager in model.manager.items() if manager in pds}
    return doom(model, pds, spaces | (nodes - pds.keys()), why, _NOTHING)
