# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of the core: systems written as text, random systems, and both planners."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from cellreap.model.core import CoreModel
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT, parse_id
from cellreap.model.nodes import Node
from cellreap.model.reference import check_why
from cellreap.model.reference import plan as reference_plan

DEPTHS: tuple[int | None, ...] = (0, 1, 2, 3, None)

SCENARIO = """
PD_1 manages BLOCK_SPACE_1 with BLOCK_1_1
PD_2 manages BLOCK_SPACE_2 with BLOCK_2_1
PD_3 manages FILE_SPACE_3 with FILE_3_1 FILE_3_2
PD_3 requests BLOCK_SPACE_1 BLOCK_SPACE_2
PD_3 holds BLOCK_1_1 BLOCK_2_1
FILE_SPACE_3 maps BLOCK_SPACE_1 BLOCK_SPACE_2
FILE_3_1 maps BLOCK_1_1
FILE_3_2 maps BLOCK_2_1
PD_4 manages TABLE_SPACE_4 with TABLE_4_1
PD_4 requests FILE_SPACE_3
TABLE_SPACE_4 maps FILE_SPACE_3
TABLE_4_1 maps FILE_3_1
PD_5 requests TABLE_SPACE_4
PD_5 holds TABLE_4_1
"""
"""The reference scenario: block servers 1 and 2, file system 3, database 4, app 5."""


def system(text: str) -> Model:
    """A model from lines `<id> <verb> <id>...`.

    A PD is created when a line first names it. A manager holds its own spaces and resources.
    """
    model = Model()
    model.add_pd(ROOT)
    lines = [line.split() for line in text.splitlines() if line.strip()]
    for word in sorted({word for line in lines for word in line}):
        parts = parse_id(word)
        if parts is not None and parts.kind == "PD" and word != ROOT:
            model.add_pd(word)
    for subject, verb, *objects in sorted(lines, key=lambda line: line[1] != "manages"):
        if verb == "manages":
            space, *rest = objects
            model.add_space(space, subject)
            if subject != ROOT:
                model.add_hold(subject, space)
            for resource in rest[1:]:  # after the word "with"
                model.add_resource(resource, space)
                if subject != ROOT:
                    model.add_hold(subject, resource)
        elif verb == "pinned":
            model.set_pinned(subject, True)
        else:
            adders: dict[str, Callable[[str, str], None]] = {
                "holds": model.add_hold,
                "requests": model.add_request,
                "maps": model.add_map,
                "faults-to": model.set_fault,
                "links": model.add_link,
                "owns": model.add_own,
                "subscribes": model.add_subscribe,
            }
            for object_ in objects:
                adders[verb](subject, object_)
    return model


def both(model: Model, crash: str, pd_depth: int | None, rs_depth: int | None) -> dict[str, Any]:
    """The plan's JSON. Asserts that core and reference agree on every key of it."""
    return agree(CoreModel.from_model(model), model, crash, pd_depth, rs_depth)


def agree(
    core: CoreModel, model: Model, crash: str, pd_depth: int | None, rs_depth: int | None
) -> dict[str, Any]:
    """Plans as `both` does, and also returns the core's model.

    Core and reference may give different explanations that are both true. The core's are therefore
    compared with the model instead.
    """
    want = reference_plan(model, crash, pd_depth, rs_depth).outcome()
    plan = core.plan(crash, pd_depth, rs_depth)
    got = plan.outcome()
    where = f"crash of {crash} at {pd_depth}/{rs_depth}"
    if got != want:
        differing = {
            key: {"core": got.get(key), "reference": want.get(key)}
            for key in got.keys() | want.keys()
            if got.get(key) != want.get(key)
        }
        raise AssertionError(f"{where}: {json.dumps(differing, indent=1)}\nin\n{describe(model)}")
    assert check_why(model, plan) == [], f"{where} in\n{describe(model)}"
    return plan.to_json()


def describe(model: Model) -> str:
    """The model as `system` reads it, for messages."""
    lines = [f"{pd} pinned" for pd in model.pds() if model.nodes[pd].pinned]
    lines += [
        f"{model.manager[s]} manages {s} with {' '.join(model.resources_in(s))}"
        for s in model.spaces()
    ]
    lines += [f"{a} holds {b} ({n} times)" for (a, b), n in model.holds.items()]
    lines += [f"{a} subscribes {b} ({n} times)" for (a, b), n in model.subscribes.items()]
    lines += [f"{n} of them for handler {h}: {a}, {b}" for (a, b, h), n in model.handlers.items()]
    for verb, pairs in (
        ("requests", model.requests),
        ("maps", model.maps),
        ("links", model.links),
        ("owns", model.owns),
        ("faults-to", model.faults.items()),
    ):
        lines += [f"{a} {verb} {b}" for a, b in pairs]
    return "\n".join(lines)


def random_model(rng: random.Random, scale: int = 1) -> Model:
    """A system of up to 7 * scale PDs with every kind of node and edge, cycles included.

    It is legal, except that one in ten managers does not hold what it manages. Densities vary from
    model to model.
    """
    model = Model()
    model.add_pd(ROOT)
    pds = [f"PD_{n:x}" for n in rng.sample(range(1, 40 * scale), rng.randint(1, 7 * scale))]
    for pd in pds:
        model.add_pd(pd, pinned=rng.random() < 0.15)
    spaces: list[str] = []
    resources: list[str] = []
    bodiless = [int(pd[3:], 16) for pd in pds]  # a PD has one body
    careless = rng.random() < 0.1
    types = ["BLOCK", "FILE", "TOY_BLOCK"]
    for _ in range(rng.randint(0, 6 * scale)):
        core = rng.random() < 0.25
        type_name = rng.choice(["MO", "PD", "EP"] if core else types)
        number = rng.randrange(12 * scale)  # spaces of different types may share a number
        manager = ROOT if core or rng.random() < 0.03 else rng.choice(pds)
        space = f"{type_name}_SPACE_{number:x}"
        if space in model.nodes:
            continue
        model.add_space(space, manager)
        spaces.append(space)
        if manager != ROOT and not (careless and rng.random() < 0.5):
            model.add_hold(manager, space)
        if type_name == "PD":
            numbers = rng.sample(bodiless, rng.randint(0, len(bodiless)))
            bodiless = [number for number in bodiless if number not in numbers]
        else:
            numbers = rng.sample(range(40), rng.randint(0, 3))
        for object_ in numbers:
            resource = f"{type_name}_{number:x}_{object_:x}"
            model.add_resource(resource, space)
            resources.append(resource)
            if manager != ROOT and not (careless and rng.random() < 0.5):
                model.add_hold(manager, resource)
    everyone = [ROOT, *pds]

    def some(things: Sequence[str], per_pd: float) -> list[str]:
        """Targets for a random number of edges of one kind."""
        most = round(per_pd * rng.random() * len(pds) + 0.5) if things else 0
        return [rng.choice(things) for _ in range(rng.randint(0, most))]

    for node in some(resources, 3) + some(spaces, 0.7):
        model.add_hold(rng.choice(everyone), node, rng.choice([1, 1, 1, 2, 5]))
    for space in some(spaces, 2):
        pair = (rng.choice(everyone), space)
        if pair not in model.requests:
            model.add_request(*pair)
    for nodes in (spaces, resources):
        for lower in some(nodes, 2):
            upper = rng.choice(nodes)
            if upper != lower and (upper, lower) not in model.maps:
                model.add_map(upper, lower)
    for pd in some(pds, 1):
        handler = rng.choice(everyone)
        if handler != pd and pd not in model.faults:
            model.set_fault(pd, handler)
    for pd in some(pds, 0.8):
        other = rng.choice(pds)
        if other != pd and (min(pd, other), max(pd, other)) not in model.links:
            model.add_link(pd, other)
    for pd in some(pds, 1.5):
        creator = rng.choice(everyone)
        if creator != pd and (creator, pd) not in model.owns:
            model.add_own(creator, pd)
    for node in some([*pds, *spaces], 2.5):
        model.add_subscribe(rng.choice(pds), node, rng.choice([1, 1, 3]))
    by_handler = random.Random(repr(sorted(model.subscribes)))
    for pd, node in sorted(model.subscribes):
        count = model.subscribes[pd, node]
        if by_handler.random() < 0.4:  # none of them is without a handler
            model.drop_subscribe(pd, node, count)
            model.add_subscribe(pd, node, count, handler=by_handler.choice([1, 31]))
        if by_handler.random() < 0.3:
            model.add_subscribe(pd, node, handler=by_handler.choice([2, 31]))
    _add_memory(model, random.Random(repr(sorted(model.holds))))
    return model


def _add_memory(model: Model, rng: random.Random) -> None:
    """Address spaces over shared memory, to half of the models: MOs, and VMRs that map them.

    A VMR may also map another VMR. PDs hold either, and some are held by nobody.
    """
    pds = [pd for pd in model.pds() if pd != ROOT]
    if ROOT not in model.nodes or rng.random() < 0.5:
        return
    memory: list[str] = []
    for type_name in ("MO", "VMR", "VMR"):
        space = f"{type_name}_SPACE_{0x1000 + len(memory):x}"
        model.add_space(space, ROOT)
        for number in range(rng.randint(1, 2 + len(pds))):
            res = f"{type_name}_{space.rpartition('_')[2]}_{number:x}"
            model.add_resource(res, space)
            for pd in rng.sample(pds, rng.choice([0, 1, 1, min(2, len(pds))])):
                model.add_hold(pd, res)
            if rng.random() < 0.3:
                model.add_hold(ROOT, res)
            for lower in {rng.choice(memory) for _ in range(rng.randint(1, 2)) if memory}:
                if type_name == "VMR":
                    model.add_map(res, lower)
            memory.append(res)


class Survivors:
    """What live PDs do while a cleanup waits, applied to both the core's model and the reference's.

    The core needs room for it.
    """

    def __init__(self, model: Model, core: CoreModel, doomed: set[str]) -> None:
        self.model, self.core, self.doomed = model, core, doomed
        self.fresh = 0x100

    def alive(self, kind: str) -> list[str]:
        """Nodes that are neither doomed nor in a doomed space."""
        model, doomed = self.model, self.doomed
        return [
            id_
            for id_, node in model.nodes.items()
            if node.kind == kind and id_ not in doomed and model.space_of.get(id_) not in doomed
        ]

    def survivors(self) -> list[str]:
        return [pd for pd in self.alive("PD") if pd != ROOT]

    def add_request(self, pd: str, space: str) -> None:
        if (pd, space) not in self.model.requests:
            self.model.add_request(pd, space)
            self.core.add_edge("REQUEST", pd, space)

    def add_hold(self, pd: str, node: str) -> None:
        self.model.add_hold(pd, node)
        self.core.add_edge("HOLD", pd, node)

    def add_map(self, upper: str, lower: str) -> None:
        if upper != lower and (upper, lower) not in self.model.maps:
            self.model.add_map(upper, lower)
            self.core.add_edge("MAP", upper, lower)

    def add_pd(self, creator: str) -> None:
        self.fresh += 1
        pd = f"PD_{self.fresh:x}"
        self.model.add_pd(pd)
        self.core.add_pd(pd)
        self.model.add_own(creator, pd)
        self.core.add_edge("OWN", creator, pd)

    def add_space(self, manager: str) -> None:
        self.fresh += 1
        space, resource = f"FILE_SPACE_{self.fresh:x}", f"FILE_{self.fresh:x}_1"
        self.model.add_space(space, manager)
        self.core.add_space(space, manager)
        self.model.add_resource(resource, space)
        self.core.add_resource(resource, space)
        self.add_hold(manager, space)
        self.add_hold(manager, resource)

    def subscribe(self, pd: str, node: str) -> None:
        """It is too late for a notice about a doomed node."""
        self.model.add_subscribe(pd, node)
        self.core.add_edge("SUBSCRIBE", pd, node)

    def drop(self, rng: random.Random) -> None:
        """Drops one hold or request of a survivor."""
        mine = set(self.survivors())
        holds = sorted(pair for pair in self.model.holds if pair[0] in mine)
        requests = sorted(pair for pair in self.model.requests if pair[0] in mine)
        if holds and rng.random() < 0.6:
            pair = rng.choice(holds)
            self.model.cut_hold(*pair)
            self.core.cut_edge("HOLD", *pair)
        elif requests:
            pair = rng.choice(requests)
            self.model.drop_request(*pair)
            self.core.drop_edge("REQUEST", *pair)

    def delete_resource(self, resource: str) -> None:
        self.model.remove_resource(resource)
        self._gone(resource)

    def delete_space(self, space: str) -> None:
        for resource in self.model.resources_in(space):
            self.delete_resource(resource)
        self.model.remove_space(space)
        assert self.core.lib.cr_model_doom(self.core.model, self.core.ref(space)) == 0
        self._gone(space)

    def _gone(self, node: str) -> None:
        lib, ref = self.core.lib, self.core.refs.pop(node)
        assert lib.cr_model_destroy(self.core.model, ref) == 0
        assert lib.cr_model_release(self.core.model, ref) == 0

    def something(self, rng: random.Random) -> None:
        """One operation of some survivor, or nothing if no survivor can do it."""
        pds, spaces, resources = (
            self.survivors(),
            self.alive("RESOURCE_SPACE"),
            self.alive("RESOURCE"),
        )
        own = [space for space in spaces if self.model.manager[space] != ROOT]
        theirs = [resource for resource in resources if self.model.space_of[resource] in own]
        do: list[Callable[[], None]] = [lambda: self.drop(rng)]
        if pds:
            do += [lambda: self.add_pd(rng.choice(pds)), lambda: self.add_space(rng.choice(pds))]
            do += [lambda: self.subscribe(rng.choice(pds), rng.choice([*self.doomed]))]
        if pds and spaces:
            do += [lambda: self.add_request(rng.choice(pds), rng.choice(spaces))] * 2
        if pds and resources:
            do += [lambda: self.add_hold(rng.choice(pds), rng.choice(resources))] * 3
            do += [lambda: self.add_map(rng.choice(resources), rng.choice(resources))]
        if theirs:
            do += [lambda: self.delete_resource(rng.choice(theirs))] * 2
        if own:
            do += [lambda: self.delete_space(rng.choice(own))]
        rng.choice(do)()


def with_pages(model: Model, rng: random.Random) -> Model:
    """The model with MO of several pages, some of them malformed."""
    for id_, node in list(model.nodes.items()):
        if node.type == "MO" and node.kind == "RESOURCE":
            extra = rng.choice(["", "0x1000_7_12", "0_0_12", "1000_3_21", "elevated", "0x1_x_12"])
            model.nodes[id_] = Node(id_, "RESOURCE", type="MO", extra=extra)
    return model
