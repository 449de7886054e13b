# SPDX-License-Identifier: BSD-2-Clause
"""PDs that lived and answered nobody, in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cellreap.trace.events import Event


class Plain:
    """Has JSON with the names of its fields."""

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass
class Hanging(Plain):
    """A PD that hung. by: the PD whose call it kept; None: it kept its own heartbeat_ms.

    token: of the probe that it did not finish. None: it was in receives all the time, and the same
    call was there. ms: for so long, in milliseconds.
    """

    pd: str
    by: str | None
    token: int | None
    ms: int

    @classmethod
    def of(cls, event: Event) -> Hanging:
        """That of a TRIGGER."""
        token = event.number("token") or None
        return cls(event["pd"], event.optional("by"), token, event.number("ms"))

    def told(self, name: Callable[[str], str] = str) -> str:
        """How it hung. name: gives the name of a PD. Ends with " by " and that if there is one."""
        if self.token is None:
            kept = "only waited for messages" if self.by else "left its endpoint alone while called"
        else:
            kept = "left a probe unanswered"
        by = f", in a call by {name(self.by)}" if self.by is not None else ""
        return f"it {kept} for {self.ms} ms{by}"
