# SPDX-License-Identifier: BSD-2-Clause
"""What cleanups give back, by what the root task counts before and after them."""

from __future__ import annotations

from cellreap.testing import Run


def freed(run: Run, n: int) -> int:
    """The bytes that are in use before the n-th cleanup, and no more after it."""
    (begin,), (end,) = run.of("CLEANUP", n=n), run.of("SETTLED", n=n)
    before = [each for each in run.events[: run.at(begin)] if each.name in ("USAGE", "SETTLED")]
    return before[-1].number("bytes") - end.number("bytes")


def bodies_of(run: Run, n: int) -> int:
    """The bytes of the bodies of the PDs that the n-th cleanup destroyed."""
    gone = {node for node, _ in run.destroys(n)}
    return sum(body.number("bytes") for body in run.of("BODY") if body["of"] in gone)
