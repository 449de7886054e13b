# SPDX-License-Identifier: BSD-2-Clause
"""Changes of the model for which nobody has the authority, planted in simulated runs.

The run goes on from the changed model: its states, accounts and cleanups follow from it. So nothing
in the trace contradicts anything but the authority.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from cellreap.errors import ModelError
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT, space_id
from cellreap.trace.writer import Draft
from kit import configured_story, simulated_runs
from kit.configured_story import Configured
from kit.trace_simulator import Target


class UnfitError(Exception):
    """The model has nothing here with which the change could be made."""


class Scene:
    """A run at the point at which something is planted."""

    def __init__(self, target: Target, seed: int) -> None:
        self.target = target
        self.random = random.Random(seed)
        self.model = target.model

    def one_of(self, found: Iterator[Any]) -> Any:
        """One of these, by the seed."""
        choice = sorted(found)
        if not choice:
            raise UnfitError
        return self.random.choice(choice)

    def live(self) -> list[str]:
        """The PDs that can act."""
        gone = {ROOT, *self.target.silent, *self.target.doomed}
        return [pd for pd, node in self.model.nodes.items() if node.kind == "PD" and pd not in gone]

    def spaces(self) -> list[str]:
        """The spaces that PDs manage."""
        live = self.live()
        return [space for space, manager in self.model.manager.items() if manager in live]

    def resources(self) -> list[str]:
        """The resources in them."""
        spaces = self.spaces()
        return [res for res, space in self.model.space_of.items() if space in spaces]

    def manager(self, node: str) -> str:
        return self.model.manager[self.model.space_of.get(node, node)]

    def serves(self, manager: str, pd: str) -> bool:
        requests, managers = self.model.requests, self.model.manager
        return any(asker == pd and managers[space] == manager for asker, space in requests)

    def has_body(self, holder: str, pd: str) -> bool:
        return (holder, self.model.body_of(pd)) in self.model.holds

    def depends(self, pd: str, space: str) -> bool:
        asks = (pd, space) in self.model.requests
        holds = any(a == pd and self.model.space_of.get(r) == space for a, r in self.model.holds)
        return asks or holds or self.model.manager[space] == pd

    # -- what the change needs besides authority

    def consent(self, pd: str, by: str) -> None:
        self.target.emit("ALLOW", pd=pd, by=by, count=1)

    def hold(self, pd: str, node: str, asker: str, op: str) -> None:
        target = self.target
        if asker not in ("-", pd):
            self.consent(pd, asker)
        self.model.add_hold(pd, node)
        slot = 0 if self.manager(node) == pd else target._slot(pd, "HOLD", node)
        target.edge("made", "HOLD", pd, node, slot, asker=asker, op=op)

    def request(self, pd: str, space: str, asker: str, op: str) -> None:
        target = self.target
        if asker not in ("-", pd):
            self.consent(pd, asker)
        self.model.add_request(pd, space)
        slot = 0 if self.model.is_core(space) else target._slot(pd, "REQUEST", space)
        target.edge("made", "REQUEST", pd, space, slot, asker=asker, op=op)


def _pairs(scene: Scene) -> Iterator[tuple[str, str]]:
    """Two PDs that can act."""
    live = scene.live()
    return ((a, b) for a in live for b in live if a != b)


def _space(scene: Scene) -> None:
    """A PD that has no request to RESSPC makes a space."""
    target, model = scene.target, scene.model
    core = target.core_spaces.get("RESSPC")
    pd = scene.one_of(pd for pd in scene.live() if (pd, core) not in model.requests)
    target.n_spaces += 1
    space = space_id("CAVE", target.n_spaces)
    model.add_space(space, pd)
    target.objects[space] = 0
    target.emit("SPACE", id=space, type="CAVE", manager=pd, name="-")
    scene.hold(pd, space, pd, "create_space")


def _space_of_another(scene: Scene) -> None:
    """A PD asks, and another one gets the space."""
    target = scene.target
    core = target.core_spaces.get("RESSPC")
    a, b = scene.one_of(p for p in _pairs(scene) if (p[1], core) in scene.model.requests)
    at = len(target.events)
    target.space(b, "CAVE")
    for i, (event, values) in enumerate(target.events[at:], at):
        target.events[i] = (event, {**values, "asker": a})


def _resource(scene: Scene) -> None:
    """A resource in a space of another PD."""
    space = scene.one_of(iter(scene.spaces()))
    pd = scene.one_of(pd for pd in scene.live() if pd != scene.manager(space))
    at = len(scene.target.events)
    scene.target.resource(space)
    event, values = scene.target.events[at]
    scene.target.events[at] = (event, {**values, "asker": pd})


def _give(scene: Scene) -> None:
    """A PD gives what another PD manages."""
    node = scene.one_of(iter(scene.resources()))
    manager = scene.manager(node)
    by, pd = scene.one_of(
        (a, b) for a, b in _pairs(scene)
        if manager not in (a, b) and (a, node) not in scene.model.holds
    )  # fmt: skip
    scene.hold(pd, node, by, scene.random.choice(("give", "send")))


def _give_a_stranger(scene: Scene) -> None:
    """A manager gives to a PD that it cannot name."""
    node = scene.one_of(iter(scene.resources()))
    by = scene.manager(node)
    pd = scene.one_of(
        pd for pd in scene.live()
        if pd != by and not scene.serves(by, pd) and not scene.has_body(by, pd)
    )  # fmt: skip
    scene.hold(pd, node, by, scene.random.choice(("give", "send")))


def _send(scene: Scene) -> None:
    """A holder sends to a PD whose capability it has not."""
    by, node, pd = scene.one_of(
        (by, node, pd) for by, node in scene.model.holds for pd in scene.live()
        if node in scene.resources() and by in scene.live()
        and pd not in (by, scene.manager(node)) and scene.manager(node) != by
        and not scene.has_body(by, pd)
    )  # fmt: skip
    scene.hold(pd, node, by, "send")


def _take(scene: Scene) -> None:
    """A PD helps itself to a hold."""
    node = scene.one_of(iter(scene.resources()))
    pd = scene.one_of(pd for pd in scene.live() if pd != scene.manager(node))
    op = scene.random.choice(("-", "give", "connect", "create_resource", "spawn"))
    scene.hold(pd, node, "-" if op == "-" else pd, op)


def _unhold(scene: Scene) -> None:
    """A hold is dropped for which another PD asked."""
    pd, node = scene.one_of(
        (pd, node) for pd, node in scene.model.holds
        if pd in scene.live() and node in scene.resources() and scene.manager(node) != pd
    )  # fmt: skip
    asker = scene.one_of(a for a in scene.live() if a not in (pd, scene.manager(node)))
    at = len(scene.target.events)
    scene.target.unhold(pd, node, scene.random.choice((pd, scene.manager(node))))
    event, values = scene.target.events[at]
    scene.target.events[at] = (event, {**values, "asker": asker})


def _unrequest(scene: Scene) -> None:
    """A request is dropped for which another PD asked."""
    pd, space = scene.one_of(
        (pd, space) for pd, space in scene.model.requests
        if pd in scene.live() and space in scene.spaces()
    )  # fmt: skip
    asker = scene.one_of(a for a in scene.live() if a != pd)
    at = len(scene.target.events)
    scene.target.unrequest(pd, space)
    event, values = scene.target.events[at]
    scene.target.events[at] = (event, {**values, "asker": asker})


def _unrequest_by_nobody(scene: Scene) -> None:
    """The root task drops a request by itself."""
    pd, space = scene.one_of(
        (pd, space) for pd, space in scene.model.requests
        if pd in scene.live() and space in scene.spaces()
    )  # fmt: skip
    at = len(scene.target.events)
    scene.target.unrequest(pd, space)
    event, values = scene.target.events[at]
    scene.target.events[at] = (event, {**values, "asker": "-", "op": "-"})


def _delete(scene: Scene) -> None:
    """The root task, or a PD that does not manage it, deletes something."""
    node = scene.one_of(iter([*scene.spaces(), *scene.resources()]))
    others = [pd for pd in scene.live() if pd != scene.manager(node)]
    scene.target.delete(node, scene.random.choice([ROOT, *others]))


def _leads_to(model: Model, start: str, end: str) -> bool:
    """Whether maps lead from the space of one node to that of the other: a map back is a cycle."""
    space = model.space_of
    edges = [(space.get(a, a), space.get(b, b)) for a, b in model.maps]
    seen = {space.get(start, start)}
    while found := {b for a, b in edges if a in seen} - seen:
        seen |= found
    return space.get(end, end) in seen


def _map(scene: Scene) -> None:
    """A map of what another PD manages, or to what its manager has not."""
    model = scene.model
    nodes = [*scene.spaces(), *scene.resources()]
    upper, lower = scene.one_of(
        (a, b) for a in nodes for b in nodes
        if (a in model.manager) == (b in model.manager) and not _leads_to(model, b, a)
    )  # fmt: skip
    manager, its = scene.manager(upper), model.space_of.get(lower, lower)
    may = (manager, lower) in model.holds or (manager, its) in model.requests
    asker = manager
    if may:
        asker = scene.one_of(pd for pd in scene.live() if pd != manager)
    model.add_map(upper, lower)
    scene.target.edge("made", "MAP", upper, lower, asker=asker, op="map")


def _unmap(scene: Scene) -> None:
    """A map is dropped for which another PD asked."""
    upper, lower = scene.one_of(pair for pair in scene.model.maps if pair[0] in scene.model.nodes)
    asker = scene.one_of(pd for pd in scene.live() if pd != scene.manager(upper))
    scene.model.drop_map(upper, lower)
    scene.target.edge("dropped", "MAP", upper, lower, asker=asker, op="unmap")


def _subscribe(scene: Scene) -> None:
    """A PD subscribes to what it has nothing of."""
    pd, node = scene.one_of(
        (pd, node) for pd in scene.live() for node in [*scene.spaces(), *scene.live()]
        if (node in scene.model.manager and not scene.depends(pd, node))
        or (node not in scene.model.manager and node != pd and not scene.has_body(pd, node))
    )  # fmt: skip
    scene.target.subscribe(pd, node)


def _subscribe_another(scene: Scene) -> None:
    """A PD subscribes another one."""
    asker, pd = scene.one_of(_pairs(scene))
    scene.model.add_subscribe(pd, pd)
    scene.target.edge("made", "SUBSCRIBE", pd, pd, asker=asker, op="subscribe")


def _link(scene: Scene) -> None:
    """Two PDs are linked, or one gets a fault handler, while they run."""
    a, b = scene.one_of(
        (a, b) for a, b in _pairs(scene)
        if (min(a, b), max(a, b)) not in scene.model.links and a not in scene.model.faults
    )  # fmt: skip
    if scene.random.random() < 0.5:
        scene.target.link(a, b)
    else:
        scene.target.handler(a, b)


def _own(scene: Scene) -> None:
    """A PD is said to have created another one."""
    a, b = scene.one_of(
        (a, b) for a, b in _pairs(scene)
        if not any(created == b for _, created in scene.model.owns)
    )  # fmt: skip
    scene.model.add_own(a, b)
    scene.target.edge("made", "OWN", a, b, asker=a, op="spawn")


def _spawn(scene: Scene) -> None:
    """A PD that has no request to PD spawns."""
    target = scene.target
    core = target.core_spaces.get("PD")
    pd = scene.one_of(pd for pd in scene.live() if (pd, core) not in scene.model.requests)
    at = len(target.events)
    target.pd("stray", creator=pd, deadline_ms=_deadline_of(target, pd))
    asked = [
        i for i, (_, values) in enumerate(target.events)
        if i >= at and values.get("kind") == "REQUEST"
    ]  # fmt: skip
    for i in asked:
        scene.model.drop_request(pd, target.core_spaces["PD"])
        del target.events[i]


def _spawned_for_another(scene: Scene) -> None:
    """The capability to a spawned PD goes to somebody else."""
    a, b = scene.one_of(_pairs(scene))
    target = scene.target
    target.pd("stray", creator=a, deadline_ms=_deadline_of(target, a))
    event, values = target.events.pop()
    node = str(values["to"])
    scene.model.drop_hold(a, node)
    del target.slots[a][int(str(values["number"]))]
    scene.model.add_hold(b, node)
    slot = target._slot(b, "HOLD", node)
    target.events.append((event, {**values, "from": b, "number": slot}))


def _deadline_of(target: Target, pd: str) -> int:
    told = (v for event, v in target.events if event == "RIGHTS" and v["pd"] == pd)
    return int(str(next(told)["deadline_ms"]))


def _connect_another(scene: Scene) -> None:
    """A PD gets a request that another one asked for."""
    space = scene.one_of(iter(scene.spaces()))
    asker, pd = scene.one_of(
        (a, b) for a, b in _pairs(scene)
        if b != scene.manager(space) and (b, space) not in scene.model.requests
    )  # fmt: skip
    scene.request(pd, space, asker, "connect")


def _share(scene: Scene) -> None:
    """A PD shares a request that it has not, or with a PD that it cannot name."""
    space = scene.one_of(iter(scene.spaces()))
    manager, requests = scene.manager(space), scene.model.requests
    by, pd = scene.one_of(
        (a, b) for a, b in _pairs(scene)
        if b != manager and (b, space) not in requests
        and not ((a == manager or (a, space) in requests) and scene.has_body(a, b))
    )  # fmt: skip
    scene.request(pd, space, by, scene.random.choice(("share_request", "create_space")))


def _request_by_nobody(scene: Scene) -> None:
    """The root task gives a request to a server's space by itself."""
    space = scene.one_of(iter(scene.spaces()))
    pd = scene.one_of(
        pd for pd in scene.live()
        if pd != scene.manager(space) and (pd, space) not in scene.model.requests
    )  # fmt: skip
    scene.request(pd, space, "-", "-")


def _core_resource(scene: Scene) -> None:
    """A resource of the root task that is made for nobody."""
    target = scene.target
    target.resource(target.core_space("PD"), 200 + len(scene.model.space_of))


def _allow_for_another(scene: Scene) -> None:
    """A PD allows something in the name of another one."""
    asker, pd = scene.one_of(_pairs(scene))
    scene.target.emit("ALLOW", pd=pd, by=asker, count=3, asker=asker, op="allow")


def _depths(scene: Scene) -> None:
    """The depths of a PD change by themselves, or by a PD without a capability to it."""
    asker, pd = scene.one_of(pair for pair in _pairs(scene) if not scene.has_body(*pair))
    op = scene.random.choice(("-", "set_depth"))
    asker = "-" if op == "-" else asker
    scene.target.new_policy(pd, asker, op, pd_depth=7, rs_depth=7)


def _pin(scene: Scene) -> None:
    """A PD without a capability to another one pins it, or drops its pin."""
    asker, pd = scene.one_of(pair for pair in _pairs(scene) if not scene.has_body(*pair))
    scene.target.pin(asker, pd, not scene.model.nodes[pd].pinned)


def _asked_by_the_root_task(scene: Scene) -> None:
    """The root task asks itself."""
    pd = scene.one_of(iter(scene.live()))
    scene.model.add_subscribe(pd, pd)
    scene.target.edge("made", "SUBSCRIBE", pd, pd, asker=ROOT, op="subscribe")


def _far_slot(scene: Scene) -> None:
    """A capability in a slot beyond every CSpace."""
    space = scene.one_of(iter(scene.spaces()))
    pd = scene.one_of(
        pd for pd in scene.live()
        if pd != scene.manager(space) and (pd, space) not in scene.model.requests
    )  # fmt: skip
    scene.model.add_request(pd, space)
    scene.target.slots[pd][1024] = ("REQUEST", space)
    cause = {"asker": pd, "op": "connect"}
    scene.target.edge("made", "REQUEST", pd, space, 1024, **cause)


Plant = Callable[[Scene], None]

PLANTS: Final[dict[str, Plant]] = {
    plant.__name__.strip("_"): plant
    for plant in (
        _space, _space_of_another, _resource, _give, _give_a_stranger, _send, _take, _unhold,
        _unrequest, _unrequest_by_nobody, _delete, _map, _unmap, _subscribe,
        _subscribe_another, _link, _own, _spawn, _spawned_for_another, _connect_another, _share,
        _request_by_nobody, _core_resource, _allow_for_another, _depths, _pin,
        _asked_by_the_root_task, _far_slot,
    )
}  # fmt: skip
"""Changes while all PDs can act, by name."""


def _late_say(scene: Scene, pd: str) -> None:
    scene.target.say(pd, "still here")


def _late_space(scene: Scene, pd: str) -> None:
    scene.target.core_request(pd, "RESSPC")
    scene.target.space(pd, "CAVE")


def _late_request(scene: Scene, pd: str) -> None:
    space = scene.one_of(s for s in scene.spaces() if (pd, s) not in scene.model.requests)
    scene.request(pd, space, pd, "connect")


def _late_unrequest(scene: Scene, pd: str) -> None:
    space = scene.one_of(s for a, s in scene.model.requests if a == pd and s in scene.spaces())
    scene.target.unrequest(pd, space)


def _late_unhold(scene: Scene, pd: str) -> None:
    node = scene.one_of(
        n for a, n in scene.model.holds
        if a == pd and n in scene.model.space_of and scene.manager(n) != pd
    )  # fmt: skip
    scene.target.unhold(pd, node)


def _late_unmap(scene: Scene, pd: str) -> None:
    ends = scene.one_of(ends for ends in scene.model.maps if scene.manager(ends[0]) == pd)
    scene.target.unmap(*ends)


def _late_delete(scene: Scene, pd: str) -> None:
    model = scene.model
    scene.target.delete(scene.one_of(r for r in model.space_of if scene.manager(r) == pd))


def _late_gift(scene: Scene, pd: str) -> None:
    node = scene.one_of(r for r in scene.model.space_of if scene.manager(r) == pd)
    client = scene.one_of(a for a in scene.live() if scene.serves(pd, a))
    scene.target.hold(client, node)


AFTERWARDS: Final[dict[str, Callable[[Scene, str], None]]] = {
    plant.__name__.strip("_"): plant
    for plant in (
        _late_say, _late_space, _late_request, _late_unrequest, _late_unhold, _late_unmap,
        _late_delete, _late_gift,
    )
}  # fmt: skip
"""What a PD does after its trigger, by name."""


class Planting:
    """Mixed into a `Target`: plants one change at a point of the run."""

    plant: str
    point: int
    seed: int
    planted: bool
    _points: int

    @classmethod
    def of(cls, base: type[Target], plant: str, point: int, seed: int) -> type[Target]:
        """A kind of `base` whose runs have the change at this point, the `point`-th that fits."""
        values = {"plant": plant, "point": point, "seed": seed, "planted": False, "_points": 0}
        return type("Planted", (cls, base), values)

    def _here(self) -> bool:
        kind = type(self)
        kind._points += 1
        return kind._points == self.point

    def quiet(self) -> None:
        assert isinstance(self, Target)
        if self.plant in PLANTS and self._here():
            PLANTS[self.plant](Scene(self, self.seed))
            type(self).planted = True
            if isinstance(self, Configured):
                Target.quiet(self)
                return
        super().quiet()  # type: ignore[misc]

    def _stopped(self, pd: str, cause: str) -> None:
        assert isinstance(self, Target)
        super()._stopped(pd, cause)  # type: ignore[misc]
        if self.plant in AFTERWARDS and self._here():
            before = self.used()
            at = len(self.events)
            AFTERWARDS[self.plant](Scene(self, self.seed), pd)
            type(self).planted = True
            if self.used() != before:
                self.account()
            if {event for event, _ in self.events[at:]} != {"SAY"}:
                self.snapshot()


def run_with(
    run: Callable[[], list[Draft]], plant: str, point: int, seed: int
) -> list[Draft] | None:
    """The events of a run with the change. None if it does not fit there."""
    with pytest.MonkeyPatch.context() as patch:
        kinds: list[Any] = []
        for module, base in ((simulated_runs, Target), (configured_story, Configured)):
            kinds.append(Planting.of(base, plant, point, seed))
            patch.setattr(module, base.__name__, kinds[-1])
        try:
            drafts = run()
        except (UnfitError, ModelError, LookupError, StopIteration, ValueError, AssertionError):
            return None  # the change does not fit, or the run cannot go on from it
        return drafts if any(kind.planted for kind in kinds) else None
