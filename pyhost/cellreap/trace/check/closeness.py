# SPDX-License-Identifier: BSD-2-Clause
"""The policy of the system, if depth alone does not decide."""

from __future__ import annotations

from typing import ClassVar, Literal, cast

from cellreap.errors import UsageError
from cellreap.model.closeness import MAX_FR, Closeness, parse_share
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.check.injected import BEFORE
from cellreap.trace.events import Event


class Close(Concern):
    """POLICY, FR_MAX, RSI_MIN."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.of: Closeness | None = None
        """the policy; None: depth alone decides"""

    # -- for other concerns

    def complete(self, event: Event) -> None:
        """The first PD: the policy is told."""
        if self.of is not None and self.of.fr_max is None and not self.of.rsi_min:
            self._bad(event, "expected FR_MAX or RSI_MIN after POLICY")
            self.of = None

    # -- events

    def policy(self, event: Event) -> None:
        """POLICY: which PDs policy dooms."""
        word = event["policy"]
        if not self._follows(*BEFORE) or word == "depth":
            before = "AWAIT, COLLECTS and INJECT"
            self._bad(event, f"{word}: expected metric or both once, after {before}")
            return
        self.of = Closeness(cast(Literal["metric", "both"], word))

    def fr_max(self, event: Event) -> None:
        """FR_MAX: a threshold."""
        hops = event.number("hops")
        if self.of is None or not self._follows("POLICY") or hops > MAX_FR:
            self._bad(event, f"hops={hops}: expected it after POLICY, and at most {MAX_FR}")
            return
        self.of = Closeness(self.of.policy, hops)

    def rsi_min(self, event: Event) -> None:
        """RSI_MIN: a threshold."""
        name = event["type"]
        known = () if self.of is None else self.of.rsi_min
        if self.of is None or not self._follows("POLICY", "FR_MAX", "RSI_MIN"):
            self._bad(event, f"type={name}: expected it after POLICY, FR_MAX or RSI_MIN")
            return
        try:
            share = parse_share(f"{event['shared']}/{event['all']}")
        except UsageError as error:
            self._bad(event, str(error))
            return
        if name in (each for each, _, _ in known):
            self._bad(event, f"type={name}: told twice")
            return
        self.of = Closeness(self.of.policy, self.of.fr_max, (*known, (name, *share)))

    def _follows(self, *names: str) -> bool:
        before = self.context.previous
        return before is not None and before.name in names

    def _bad(self, event: Event, text: str) -> None:
        self.context.bad("policy.told", f"{event.name}: {text}")

    handlers: ClassVar[Handlers] = {"POLICY": policy, "FR_MAX": fr_max, "RSI_MIN": rsi_min}
