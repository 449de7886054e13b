# SPDX-License-Identifier: BSD-2-Clause
"""A run in which a trusted PD changes policies and reads the memory of a PD that went down."""

from __future__ import annotations

from cellreap.trace.writer import Draft
from kit.trace_simulator import Target


def govern_run() -> list[Draft]:
    """Pins and depths change before a crash, while its cleanup waits, and before the next one."""
    target = Target(0, 0, "govern")
    server, client, other, watcher = (
        target.pd(name, pinned=name == "client", reader=5 if name == "server" else 0)
        for name in ("server", "client", "other", "watcher")
    )
    governor = target.pd("governor", rights={"set_depth"}, trusts=(1, 2, 3, 5))
    disk = target.space(server, "BLOCK", "disk")
    files = target.space(other, "FILE", "files")
    for pd in (client, other, watcher):
        target.request(pd, disk)
    target.request(governor, files)
    for pd in (server, client, other):
        target.body_cap(governor, pd)
    target.subscribe(watcher, disk)
    target.quiet()
    target.set_depths(governor, server, (None, 0))
    target.pin(governor, client, False)
    target.pin(governor, other, True)
    target.pin(governor, governor, True)

    def meanwhile(target: Target) -> None:
        target.pin(governor, other, False)
        target.set_depths(governor, other, (1, 2))
        target.say(other, "the plan does not change")
        target.emit("DUMP", pd=server, by=governor, address="0x401f00", words=32)

    target.depths = (None, 0)
    target.fault(server)
    target.cleanup(meanwhile=meanwhile)
    target.serve_all()
    target.pin(governor, governor, False)
    target.depths = (1, 2)
    target.exit(other)
    target.cleanup()
    target.serve_all()
    return target.end()
