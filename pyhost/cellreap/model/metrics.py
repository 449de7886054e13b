# SPDX-License-Identifier: BSD-2-Clause
"""What the metrics say of a pair of PDs. The C core and the Python reference both compute it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from cellreap.model.nodes import Node

MAX_MAPS: Final = 3
"""RSI follows at most so many MAP edges after a HOLD."""

_PAGES: Final = re.compile(r"[^_]+_([0-9]{1,9})_[0-9]+\Z")


@dataclass(frozen=True)
class Metrics:
    """How close two PDs are.

    >>> metrics = cellreap.metrics("tests/data/scenario.csv", "fs", "db")
    >>> metrics.fr, metrics.rsi
    (0, {'BLOCK': (1, 2), 'FILE': (1, 2), 'TABLE': (0, 1)})
    """

    pds: tuple[str, str]
    """The two PDs."""
    fr: int | None
    """Hops to the nearest PD that both depend on. None: there is none."""
    rsi: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Type -> the resources of it that both reach, and those that at least one of them reaches.

    It has the types of which the second number is not 0.
    """

    def share(self, type_name: str) -> Fraction:
        """RSI of a type as a fraction. 0 for a type of which neither PD reaches a resource."""
        shared, every = self.rsi.get(type_name, (0, 0))
        return Fraction(shared, every) if every else Fraction(0)

    def to_json(self) -> dict[str, Any]:
        """The pair as `cellreap metrics --json` prints it."""
        return {
            "pds": list(self.pds),
            "fr": "inf" if self.fr is None else self.fr,
            "rsi": {name: list(pair) for name, pair in sorted(self.rsi.items())},
        }


def weight_of(node: Node) -> int:
    """How much a resource counts in RSI: an MO as many times as it has pages, others once.

    An MO whose extra text is not `address_pages_sizebits` counts as one page.
    """
    if node.type != "MO":
        return 1
    found = _PAGES.match(node.extra)
    return 1 if found is None else int(found[1])
