# SPDX-License-Identifier: BSD-2-Clause
"""Causes: every change of the model names the operation that makes it and the PD that asked.

The PD must have the authority for the operation in the model before the change. Changes that no PD
asked for are those of the configuration. What a cleanup changes follows from its plan. Consent: no
PD gets an edge by the act of another PD alone.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from cellreap import headers
from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.check.powers import CHANGES, OPERATIONS, Making, Powers
from cellreap.trace.events import NOBODY, Event
from cellreap.trace.events import RECONCILED as SAVED

MAKING: Final = frozenset({"BODY", "RIGHTS", "TRUST", "EDGE", "ALLOW", "RESOURCE"})
"""Events by which a PD is made, besides PD."""

_MOST: Final = headers.constant("limits.h", "CR_MAX_CONSENTS")


class Causes(Concern):
    """The last two fields of events that change the model. Has no events of its own."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.powers = Powers(context)
        self._asked: str | None = None
        """the PD that asked for the last change"""
        self._found: list[tuple[str, str]] = []

    # -- for the frame

    def judge(self, event: Event) -> None:
        """Takes an event before the model has it."""
        if self.powers.needs is not None or self.powers.making is not None:
            self._follow(event)
        if event.name not in CHANGES:
            return
        ops = OPERATIONS.get(event.told, frozenset())
        asker, op = event["asker"], event["op"]
        if op not in ops or (op in (NOBODY, SAVED)) != (asker == NOBODY):
            self._found.append(("causes.operation", ""))
        else:
            self._asked = event.optional("asker")
            if not self.powers.allow(event, asker):
                rule = {NOBODY: "configured", SAVED: "saved"}.get(op, "authority")
                self._found.append((f"causes.{rule}", ""))
        if event.name == "PD":
            lacks = ["made OWN", "made HOLD"] if op == "spawn" else []
            self.powers.making = Making(event["id"], asker, op, lacks)

    def report(self, event: Event) -> None:
        """Reports what is wrong with the event. The model has it by now."""
        asked, self._asked = self._asked, None
        found, self._found = self._found, []
        if asked is not None:
            self._may_ask(event, asked)
        for rule, text in found:
            self.bad(rule, text)

    # -- what must follow

    def _follow(self, event: Event) -> None:
        needs, self.powers.needs = self.powers.needs, None
        if needs is not None:
            wanted = (needs["id"], needs["asker"], needs["op"])
            if event.name == "BODY" and event["of"] == needs["id"]:
                self.powers.needs = needs
            elif not event.made("HOLD") or (event["to"], event["asker"], event["op"]) != wanted:
                text = f"expected the HOLD for which {needs['id']} was made"
                self._found.append(("causes.core", text))
        making = self.powers.making
        if making is not None and not self._belongs(event, making):
            self.powers.making = None
            if making.lacks:
                text = f"{making.asker} spawned {making.pd}: expected {making.lacks[0]} before it"
                self._found.append(("causes.spawn", text))

    def _belongs(self, event: Event, making: Making) -> bool:
        """Whether the event can be part of making the PD."""
        if event.name not in MAKING:
            return False
        cause = (making.asker, making.op)
        return event.name not in CHANGES or (event["asker"], event["op"]) == cause

    # -- the PD that asked

    def _may_ask(self, event: Event, asker: str) -> None:
        context = self.context
        if asker == ROOT or (
            context.actors.may_act(event, asker) and context.cleanups.dooms_pd(asker)
        ):
            self.bad("causes.asker")


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

    @outside("ALLOW")
    def allow(self, event: Event) -> None:
        """ALLOW: a PD allows another to make edges for it."""
        pd, by = event["pd"], event["by"]
        if by in (pd, ROOT) or by not in self.context.model.nodes:
            self.bad("consent.allow")
        count = event.number("count")
        takes_back = count == 0 and self._allowed.get((pd, by), 0) > 0
        self._allowed[pd, by] = count
        if not takes_back and event["asker"] == pd:
            self.given(pd)
