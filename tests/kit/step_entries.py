# SPDX-License-Identifier: BSD-2-Clause
"""The steps of a cleanup one thing at a time, however many of them one step did."""

from __future__ import annotations

from cellreap.testing import Run
from cellreap.trace.events import Event

Step = tuple[str, str, str]
"""(name, node, pd)"""


def entries_of(run: Run, step: Event) -> list[Step]:
    """A step, as one for each notice that it queued and for each resource that it destroyed."""
    if step["count"] == "1":
        return [(step["name"], step["node"], step["pd"])]
    if step["name"] != "notify":
        return [(step["name"], node, "-") for node, of in run.destroys() if of is step]
    before = [each for each in run.of("QUEUE", n=step["n"]) if run.at(each) < run.at(step)]
    return [(step["name"], each["node"], each["to"]) for each in before[-step.number("count") :]]
