# SPDX-License-Identifier: BSD-2-Clause
"""Runs whose events have times."""

from __future__ import annotations

from dataclasses import replace

from cellreap.trace.events import Event
from cellreap.trace.writer import Draft, event_of


def timed(drafts: list[Draft], *, fast: bool = False, back: bool = False) -> list[Draft | Event]:
    """A run whose events have times: a second each. fast: a millisecond each. back: the last one
    has the time of the first one.
    """
    made: list[Draft | Event] = []
    for seq, (name, values) in enumerate(drafts):
        clock = {"clock": 1_000_000} if name == "TRACE" else {}
        time = seq * (1_000_000 if fast else 1_000_000_000)
        if back and seq == len(drafts) - 1:
            time = 0
        made.append(replace(event_of(name, {**values, **clock}), time=time if seq else None))
    return made
