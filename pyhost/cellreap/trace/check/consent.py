# SPDX-License-Identifier: BSD-2-Clause
"""Consent: no PD gets an edge by the act of another PD alone."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

from cellreap import headers
from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.events import Event

_MOST: Final = headers.constant("limits.h", "CR_MAX_CONSENTS")


class Consent(Concern):
    """ALLOW, and the makers of HOLD and REQUEST edges."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._allowed: dict[tuple[str, str], int] = {}
        """(PD, maker) -> how many more edges the maker may make for the PD"""
        self._given: Counter[str] = Counter()
        """PD -> its ALLOWs and SUBSCRIBEs since a cleanup ended, less the edges made by them"""

    # -- for other concerns

    def edge(self, event: Event, pd: str) -> None:
        """A PD gets a HOLD or REQUEST. Another PD asked for it, the PD, or nobody."""
        by = event.optional("asker")
        if by is None or by == pd:
            return
        left = self._allowed.get((pd, by), 0)
        if left == 0:
            self.bad("consent.allowed")
        else:
            self._allowed[pd, by] = left - 1
            self._given[pd] -= self._given[pd] > 0

    def given(self, pd: str) -> None:
        """The PD allows or subscribes."""
        self._given[pd] += 1
        if self._given[pd] > _MOST:
            self.bad("consent.many")

    def settled(self) -> None:
        """A cleanup has ended."""
        self._given.clear()

    def forget(self, gone: str) -> None:
        """The PD is destroyed. Nothing is allowed to it, and nobody may make edges for it."""
        self._allowed = {pair: left for pair, left in self._allowed.items() if gone not in pair}
        del self._given[gone]

    # -- events

    def allow(self, event: Event) -> None:
        """ALLOW: a PD allows another to make edges for it."""
        pd, by = event["pd"], event["by"]
        if not self.context.actors.may_act(event, pd):
            return
        if by in (pd, ROOT) or by not in self.context.model.nodes:
            self.bad("consent.allow")
        count = event.number("count")
        takes_back = count == 0 and self._allowed.get((pd, by), 0) > 0
        self._allowed[pd, by] = count
        if not takes_back and event["asker"] == pd:
            self.given(pd)

    handlers: ClassVar[Handlers] = {"ALLOW": allow}
