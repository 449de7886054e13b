# SPDX-License-Identifier: BSD-2-Clause
"""A simulated run of a system with about 1,000 nodes and three crashes."""

from __future__ import annotations

import random

from cellreap.trace.writer import Draft
from kit.trace_simulator import Target

SERVERS = 60
CLIENTS = 100
EACH = 12


def large_run(events: int) -> list[Draft]:
    """The events: at least this many, as PDs print lines."""
    order = random.Random(1)
    target = Target(1, 1, "crowd")
    servers = [target.pd(f"server_{number}") for number in range(SERVERS)]
    spaces = [
        target.space(server, "THING", f"things_{number}") for number, server in enumerate(servers)
    ]
    things = [[target.resource(space) for _ in range(EACH)] for space in spaces]
    clients = [target.pd(f"client_{number}") for number in range(CLIENTS)]
    for number, client in enumerate(clients):
        which = number % SERVERS
        target.request(client, spaces[which])
        target.hold(client, things[which][number // SERVERS % EACH])
    for number in range(1, SERVERS, 3):
        target.request(servers[number], spaces[number - 1])
        target.hold(servers[number], things[number - 1][0])
        target.map(spaces[number], spaces[number - 1])
    target.quiet()
    for crash in range(3):
        target.fault(servers[crash * 3])
        target.cleanup()
        target.serve_all()
        target.account()
        alive = [client for client in clients if client in target.bodies]
        while len(target.events) < events * (crash + 1) // 3:
            target.say(order.choice(alive), f"round {len(target.events)}")
    return target.end()
