# SPDX-License-Identifier: BSD-2-Clause
"""Which PDs live, by the events of a trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from cellreap.model.ids import ROOT
from cellreap.trace.events import Event

READS: Final = frozenset({"PD", "STEP", "DOOM", "SETTLED"})
"""The events that `Living` reads."""


@dataclass
class Living:
    """Takes the events of a trace in order.

    A PD that a cleanup could not destroy does not live. It is `left`.
    """

    pds: dict[str, str] = field(default_factory=dict)
    """The PDs that live, without the root task, in the order of creation: id -> name."""
    left: dict[str, str] = field(default_factory=dict)
    """Those that cleanups doomed and did not destroy: id -> name."""
    _doomed: dict[str, dict[str, None]] = field(default_factory=dict)  # cleanup -> nodes

    def take(self, event: Event) -> None:
        """Takes the next event."""
        if event.name not in READS:
            return
        match event.name:
            case "PD" if event["id"] != ROOT:
                self.pds[event["id"]] = event["name"]
            case "STEP" if event["name"] == "destroy-pd":
                self.pds.pop(event["pd"], None)
                self.left.pop(event["pd"], None)
            case "DOOM" if event["spared"] == "0":
                self._doomed.setdefault(event["n"], {})[event["node"]] = None
            case "DOOM":
                self._doomed[event["n"]].pop(event["node"], None)
            case "SETTLED":
                for pd in self._doomed.pop(event["n"], {}):
                    if pd in self.pds:
                        self.left[pd] = self.pds.pop(pd)
