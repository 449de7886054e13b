# SPDX-License-Identifier: BSD-2-Clause
"""A run that begins with what an update left of a saved state."""

from __future__ import annotations

from cellreap.model import reference
from cellreap.trace.writer import Draft
from kit.trace_simulator import Target

MAKE_SAVED = ("PD", "RIGHTS", "SPACE", "RESOURCE", "EDGE")
"""The events by which a saved state is made."""


class Updated(Target):
    """A target whose image carries a saved state."""

    saves = False
    """What is made is of the saved state."""

    def emit(self, event: str, /, **values: object) -> None:
        """Writes an event. Nobody asked for what makes the saved state."""
        if self.saves and event in MAKE_SAVED:
            values |= {"asker": "-", "op": "reconcile"}
        super().emit(event, **values)

    def core_request(self, pd: str, type_: str) -> None:
        """A PD of the saved state asks for nothing."""
        if not self.saves:
            super().core_request(pd, type_)

    def hold(self, pd: str, node: str) -> None:
        """Without the consent of a PD that never runs."""
        if not self.saves:
            super().hold(pd, node)
            return
        self.model.add_hold(pd, node)
        self.edge("made", "HOLD", pd, node, self._slot(pd, "HOLD", node))

    def first_client(self, manager: str, client: str, space: str) -> None:
        """The manager creates a space of the saved state, with a first client."""
        self.emit("ALLOW", pd=client, by=manager, count=1)
        self.model.add_request(client, space)
        slot = self._slot(client, "REQUEST", space)
        cause = {"asker": manager, "op": "create_space"}
        self.edge("made", "REQUEST", client, space, slot, **cause)

    def gone(self, name: str) -> str:
        """A PD that the configuration does not name."""
        return self.pd(name, account=0, priority=1, rights=())

    def reconcile(self, nodes: set[str]) -> None:
        """Carries out the cleanup of these nodes."""
        self.account()
        plan = reference.reconcile(self.model, nodes)
        self.trigger("reconcile")
        self.cleanup_alone(plan, "reconcile")


def reconcile_run() -> list[Draft]:
    """Gone: a server with a client that is named, a client of a server that is named, and a space
    of that server.
    """
    target = Updated(0, 0)
    target.saves = True
    old, guest = target.gone("old"), target.gone("guest")
    target.saves = False
    disk, client = target.pd("disk"), target.pd("client")
    for pd in (disk, client):
        target.core_request(pd, "RESSPC")
    target.saves = True
    blocks = target.space(disk, "BLOCK", "blocks")
    logs = target.space(disk, "LOG", "-")
    things = target.space(old, "THING", "-")
    block, log, thing = (target.resource(space) for space in (blocks, logs, things))
    target.request(guest, blocks)
    target.hold(guest, block)
    target.request(client, things)
    target.hold(client, thing)
    target.hold(guest, log)
    target.map(logs, things)
    target.subscribe(client, old)
    target.saves = False
    target.state(0)
    target.reconcile({old, guest, logs})
    target.serve_all()
    target.body_cap(disk, client)
    target.first_client(disk, client, blocks)
    target.quiet()
    return target.end()
