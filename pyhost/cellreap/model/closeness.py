# SPDX-License-Identifier: BSD-2-Clause
"""When policy dooms a PD because it is close to the one that goes down."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from cellreap.errors import UsageError
from cellreap.model.metrics import Metrics

MAX_FR: Final = 0xFFFF_FFFE
MAX_TYPES: Final = 16
"""As many types have a least RSI at most."""

_SHARE: Final = re.compile(r"([1-9][0-9]{0,9})/([1-9][0-9]{0,9})\Z")
_MAX_TERM: Final = 0xFFFF_FFFF


@dataclass(frozen=True)
class Closeness:
    """A policy other than depth alone, with its thresholds. At least one threshold is there."""

    policy: Literal["metric", "both"]
    """`metric`: PDs that are close, whatever their depth. `both`: dependents that are close."""
    fr_max: int | None = None
    """A PD is close if FR is at most this. None: FR makes no PD close."""
    rsi_min: tuple[tuple[str, int, int], ...] = ()
    """(type, shared, all): a PD is close if RSI of the type is at least shared / all."""

    def holds(self, metrics: Metrics) -> bool:
        """Whether two PDs with these metrics are close."""
        if self.fr_max is not None and metrics.fr is not None and metrics.fr <= self.fr_max:
            return True
        return any(
            metrics.share(name) >= Fraction(shared, every) for name, shared, every in self.rsi_min
        )

    def text(self) -> str:
        """The policy for people."""
        parts = [] if self.fr_max is None else [f"FR at most {self.fr_max}"]
        parts += [f"RSI of {name} at least {a}/{b}" for name, a, b in self.rsi_min]
        return f"policy {self.policy}: {' or '.join(parts)}"

    def to_json(self) -> dict[str, Any]:
        """The policy as `plan --json` prints it."""
        return {
            "policy": self.policy,
            "fr_max": self.fr_max,
            "rsi_min": {name: [shared, every] for name, shared, every in self.rsi_min},
        }

    @classmethod
    def from_json(cls, shown: dict[str, Any]) -> Closeness:
        """The inverse of `to_json`."""
        least = tuple((name, a, b) for name, (a, b) in shown["rsi_min"].items())
        return cls(shown["policy"], shown["fr_max"], least)


def policy_text(closeness: Closeness | None) -> str:
    """A policy for people. None: depth alone decides."""
    return "policy depth" if closeness is None else closeness.text()


def parse_share(text: str) -> tuple[int, int]:
    """A least RSI: two numbers with a / between them. UsageError if it is none."""
    found = _SHARE.match(text)
    pair = (0, 0) if found is None else (int(found[1]), int(found[2]))
    if not 1 <= pair[0] <= pair[1] <= _MAX_TERM:
        raise UsageError(f'expected a share such as "1/2", above 0 and at most "1/1", got "{text}"')
    return pair
