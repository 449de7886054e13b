# SPDX-License-Identifier: BSD-2-Clause
"""Injected failures: which are announced, and which happen."""

from __future__ import annotations

from typing import ClassVar, Final

from cellreap.trace.check.context import Concern, Handlers
from cellreap.trace.events import Event

BEFORE: Final = ("AWAIT", "COLLECTS", "INJECT")
"""What INJECT follows, and POLICY after the last one."""


def as_configured(event: Event) -> str:
    """The failure of an INJECT or INJECTED, as a configuration writes it."""
    call = "end" if event["end"] == "1" else event["call"]
    place = event["step"] if call == "0" else f"{event['step']}.{call}"
    always = ":always" if event["always"] == "1" else ""
    times = event.values.get("times", "1")
    always = f":x{times}" if times not in ("0", "1") else always
    return f"{event['chain']}:{place}:{event['how']}{always}"


class Injected(Concern):
    """INJECT, INJECTED."""

    def announce(self, event: Event) -> None:
        """INJECT: something is to fail."""
        before, text = self.context.previous, as_configured(event)
        injected = self.context.report.injected
        if before is None or before.name not in BEFORE or text in injected:
            said = "expected it once, right after AWAIT, COLLECTS or another INJECT"
            self.context.bad("inject.told", f"INJECT: {text}: {said}")
        if event["end"] == "1" and event["call"] != "0":
            self.context.bad("inject.told", f"INJECT: call={event['call']}: expected 0 with end=1")
        self._demand_times(event)
        injected.setdefault(text, 0)

    def _demand_times(self, event: Event) -> None:
        times = event.values.get("times")
        if times is not None and (times == "0") != (event["always"] == "1"):
            text = f"{event.name}: times={times}: expected 0 with always=1, and else more"
            self.context.bad("inject.told", text)

    def happens(self, event: Event) -> None:
        """INJECTED: it fails now."""
        text, injected = as_configured(event), self.context.report.injected
        if text not in injected:
            self.context.bad("inject.happens", f"INJECTED: {text}: no INJECT has it")
        elif event["always"] == "0" and injected[text] >= int(event.values.get("times", "1")):
            self.context.bad("inject.happens", f"INJECTED: {text}: it happened before")
        self._demand_times(event)
        injected[text] = injected.get(text, 0) + 1
        self.context.making.demand_undone(event)
        if event["chain"] == "make":
            self.context.making.must_fail()
        else:
            self.context.takeovers.injected(event)

    handlers: ClassVar[Handlers] = {"INJECT": announce, "INJECTED": happens}
