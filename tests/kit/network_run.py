# SPDX-License-Identifier: BSD-2-Clause
"""Runs with destructors: machines, and the network that they are on, use a server that crashes."""

from __future__ import annotations

from collections.abc import Callable

from cellreap.model.graph import DESTRUCTOR
from kit.trace_simulator import Target

NET, MACHINES = "PD_4", ("PD_2", "PD_3")


def network(target: Target) -> Target:
    """PD_1 serves PD_2 and PD_3, the machines, and PD_4, the network, which goes after them.

    All have destructors. PD_4 has a handler for its own end too. PD_5 and PD_6 survive: each
    machine holds something of PD_5's, and PD_6 holds the capability to PD_2.
    """
    app, *machines, net, store, watcher = (
        target.pd(name, deadline_ms=100, pinned=name == "watcher")
        for name in ("app", "vm1", "vm2", "net", "store", "watcher")
    )
    apps, rooms = target.space(app, "APP"), target.space(store, "ROOM")
    for pd in (*machines, net, watcher):
        target.request(pd, apps)
    for pd in (*machines, net, app):
        target.subscribe(pd, pd, DESTRUCTOR)
    for machine in machines:
        target.body_cap(net, machine)
        target.subscribe(net, machine)
        target.request(machine, rooms)
        target.hold(machine, target.resource(rooms))
    target.subscribe(net, net, 2)
    target.body_cap(watcher, machines[0])
    target.quiet()
    return target


def ended(target: Target, meanwhile: Callable[[Target], None] | None = None) -> Target:
    """The run after PD_1 crashed. meanwhile: what PDs do whenever the cleanup waits."""
    target.fault("PD_1")
    target.cleanup(meanwhile=meanwhile)
    target.serve_all()
    return target


class Forgetful(Target):
    """It forgets one of several PDs of a group."""

    def told_of_their_turn(self, pds: list[str]) -> list[str]:
        return pds[:1]
