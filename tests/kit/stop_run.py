# SPDX-License-Identifier: BSD-2-Clause
"""A run that ends with the cleanup of all PDs: a subscriber is told."""

from __future__ import annotations

from cellreap.model import reference
from cellreap.model.ids import ROOT
from cellreap.trace.writer import Draft
from kit.trace_simulator import Target


class Ending(Target):
    """A target whose PDs are all stopped at the end."""

    def stop_all(self) -> None:
        """Ends the system."""
        self.account()
        pds = set(self.model.pds()) - {ROOT}
        plan = reference.reconcile(self.model, pds)
        self.trigger("stop")
        self.cleanup_alone(plan, "stop")


def stop_run() -> list[Draft]:
    """A crash, and then the end: a server, a client that subscribed, and another PD."""
    target = Ending(0, 0)
    disk, client, other, _ = (target.pd(name) for name in ("disk", "client", "other", "fourth"))
    target.core_request(disk, "RESSPC")
    blocks = target.space(disk, "BLOCK", "blocks")
    target.request(client, blocks)
    target.subscribe(client, blocks)
    target.quiet()
    target.fault(other)
    target.cleanup()
    target.stop_all()
    target.quiet()
    return target.end()
