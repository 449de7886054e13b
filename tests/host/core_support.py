# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of the core: systems written as text, random ones, and both planners at once."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from cellreap.core import CoreModel
from cellreap.ids import ROOT, parse_id
from cellreap.model import Model
from cellreap.reference import check_why
from cellreap.reference import plan as reference_plan

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
    """A model from lines `<id> <verb> <id>...`; PDs come to be by being named, managers hold what is
    theirs."""
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
            adders = {
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
    """The plan's JSON, after asserting that core and reference agree on every key of it."""
    return agree(CoreModel.from_model(model), model, crash, pd_depth, rs_depth)


def agree(
    core: CoreModel, model: Model, crash: str, pd_depth: int | None, rs_depth: int | None
) -> dict[str, Any]:
    """As `both`, with the core's model at hand. Of several true explanations each may name another: those
    of the core are held against the model instead."""
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
        f"{model.manager[s]} manages {s} with {' '.join(model.resources_in(s))}" for s in model.spaces()
    ]
    lines += [f"{a} holds {b} ({n} times)" for (a, b), n in model.holds.items()]
    lines += [f"{a} subscribes {b} ({n} times)" for (a, b), n in model.subscribes.items()]
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
    """A system of up to 7 * scale PDs with every kind of node and edge, cycles included, legal but for
    managers that (one in ten) do not hold what they manage. Densities vary from model to model."""
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
        """Ends for a random number of edges of one kind."""
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
    return model
