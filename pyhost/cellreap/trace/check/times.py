# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's word about scheduling contexts: each is where calls have taken it."""

from __future__ import annotations

from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Context
from cellreap.trace.events import Event


class Times:
    """The TIME events of one answer of the kernel."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._told: dict[str, tuple[str, str]] = {}  # PD -> who has its time, whom it calls
        self._tells: bool | None = None  # whether this kernel tells it

    def told(self, event: Event) -> None:
        """TIME."""
        if event["pd"] in self._told:
            self._context.bad("truth.form", f"TIME: pd={event['pd']}: told twice")
        self._told[event["pd"]] = event["at"], event["calls"]

    def compare(self) -> None:
        """The answer is complete."""
        pds, bad = set(self._context.model.pds()) - {ROOT}, self._context.bad
        if self._tells is None and pds:
            self._tells = bool(self._told)
        for pd in sorted(self._told.keys() ^ (pds if self._tells else set())):
            bad("truth.form", f"TIME: {pd}: expected it of each PD that is there, or of none")
        for pd in sorted(self._told.keys() & pds):
            at, lent = self._told[pd][0], self._lent_to(pd)
            if at not in lent and not self._may_be(pd, at):
                calls = f", and it calls {', '.join(lent)}" if lent else ""
                bad("truth.time", f"TIME: the time of {pd} is at {at}{calls}")
        self._told = {}

    def _may_be(self, pd: str, at: str) -> bool:
        number = self._context.authority.number
        if at == "-":  # it waits, or never runs any more
            return bool(number(pd, "passive")) or self._context.actors.is_suspended(pd)
        return at == pd or (at == ROOT and number(pd, "budget_us") < number(pd, "period_us"))

    def _lent_to(self, pd: str) -> list[str]:
        """The passive PDs along the chain of its calls."""
        found: list[str] = []
        at = self._told[pd][1]
        while (
            at in self._told and at not in found and self._context.authority.number(at, "passive")
        ):
            found.append(at)
            at = self._told[at][1]
        return found
