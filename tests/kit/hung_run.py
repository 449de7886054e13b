# SPDX-License-Identifier: BSD-2-Clause
"""A generated run in which PDs live and answer nobody."""

from __future__ import annotations

from cellreap.trace.writer import Draft
from kit.trace_simulator import Target


def hung_run(word: str = "HELD_UP") -> list[Draft]:
    """A client waits in a call through a middle PD. The last one leaves its probe; later the middle
    one itself only waits for messages. A third PD answers its probe late, as it could not run, and
    leaves another one. A fourth uses its budget up. The client is passive, and stranded once.

    word: what is said when its time is over for the first; "": nothing.
    """
    target = Target(0, 0, "hung")
    last = target.pd("last", deadline_ms=1000)
    middle = target.pd("middle")
    client = target.pd("client", call_ms=200, passive=1)
    busy = target.pd("busy", heartbeat_ms=300)
    spinner = target.pd("spinner", budget_us=1000, period_us=5000)
    target.request(middle, target.space(last, "BLOCK", "disk"))
    target.request(client, target.space(middle, "FILE", "files"))
    target.quiet()
    target.emit("CLOCK", ms=200)
    target.emit("stranded THREAD", pd=client)
    target.probe(busy, None, 300)
    probe = target.queues[busy][-1]
    for ms in (400, 600):
        target.emit("CLOCK", ms=ms)
    if word:
        target.emit(word, pd=busy, token=probe.token, ms=360, ran=100)
    for ms in (800, 1000):
        target.emit("CLOCK", ms=ms)
    for notice in target.fetch(busy):
        target.ack(busy, notice)
    target.probe(last, client, 200)
    for ms in (1200, 1400):
        target.emit("CLOCK", ms=ms)
    target.hung(last, client, target.queues[last][-1].token, 200)
    target.cleanup()
    target.serve_all()
    for ms in (1600, 1800):
        target.emit("CLOCK", ms=ms)
    target.hung(middle, client, 0, 400)
    target.cleanup()
    target.serve_all()
    target.probe(busy, None, 300)
    for ms in (2000, 2200):
        target.emit("CLOCK", ms=ms)
    target.hung(busy, None, target.queues[busy][-1].token, 300)
    target.cleanup()
    target.fault(spinner, "timeout", address=int(spinner.removeprefix("PD_"), 16))
    target.cleanup()
    return target.end()
