# SPDX-License-Identifier: BSD-2-Clause
"""Respawns: PDs that are made anew from the configuration, within their budgets."""

from __future__ import annotations

from dataclasses import dataclass

from cellreap import headers
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.events import Event


@dataclass
class _Entry:
    """A configured PD that respawns."""

    pd: str
    """Its id, or the last one that it had."""
    budget: int
    window_ms: int
    """0: the window is the whole run."""
    delay_ms: int
    count: int = 0
    """Its respawns in the present window."""
    due: bool = False
    stays_down: bool = False

    def delay(self, count: int, longest: int) -> int:
        """The delay of the respawn with this count."""
        return 0 if count < 2 else min(self.delay_ms * 2 ** min(count - 2, 32), longest)


class Respawns(Concern):
    """RESPAWN, and the respawns of RIGHTS."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._entries: dict[str, _Entry] = {}  # by name
        self._longest = headers.constant("image.h", "CR_RESPAWN_DELAY_MAX_MS")

    def at_end(self) -> None:
        """The trace ends."""
        over = self.context.collections.stops
        for name, entry in self._entries.items():
            if not (over or self._is_there(entry) or entry.due or entry.stays_down):
                self.bad("respawn.end", f"{name} was destroyed")

    def _is_there(self, entry: _Entry) -> bool:
        return entry.pd in self.context.model.nodes

    def gave_up(self, name: str) -> bool:
        """Whether the PD of this name does not come back any more."""
        return name in self._entries and self._entries[name].stays_down

    # -- events

    def rule(self, event: Event) -> None:
        """RIGHTS of a new PD: it may be made anew later, or was just now."""
        pd, timed = event["pd"], self.context.settings.await_ms > 0
        if event["respawns"] == "0":
            if (event["window_ms"], event["delay_ms"]) != ("0", "0"):
                self.bad("respawn.rule")
            return
        window, delay = (event.number(each) * timed for each in ("window_ms", "delay_ms"))
        made = _Entry(pd, event.number("respawns"), window, delay)
        name = self.context.report.names.get(pd, pd)
        before = self._entries.setdefault(name, made)
        if before is made:
            return
        had = (before.budget, before.window_ms, before.delay_ms)
        if not before.due or had != (made.budget, window, delay):
            self.bad("respawn.rule")
        before.pd, before.due = pd, False

    @outside("due RESPAWN")
    def due(self, event: Event) -> None:
        """due RESPAWN: a PD was destroyed and will be made anew."""
        name, count = event["name"], event.number("count")
        entry = self._gone(name)
        if entry is None:
            return
        anew = count == 1 and (entry.window_ms > 0 or entry.count == 0)
        if (not anew and count != entry.count + 1) or count > entry.budget:
            had = f"{entry.count} of {entry.budget} before it"
            self.bad("respawn.budget", f"name={name} count={count}: {had}")
        self.compare("respawn.delay", delay_ms=entry.delay(count, self._longest))
        entry.count, entry.due = count, True

    @outside("over RESPAWN")
    def stays_down(self, event: Event) -> None:
        """over RESPAWN: a PD was destroyed and its budget is used up."""
        name = event["name"]
        entry = self._gone(name)
        idle = (event["count"], event["delay_ms"]) == ("0", "0")
        if not idle or (entry is not None and entry.count != entry.budget):
            self.bad("respawn.budget")
        if entry is not None:
            entry.stays_down = True
            self.context.report.stay_down[name] = entry.budget

    def cancel(self, name: str) -> str | None:
        """CANCEL: a PD is not made anew. What is wrong with that; None if nothing."""
        entry = self._entries.get(name)
        if entry is None or not entry.due or self._is_there(entry):
            return f"name={name}: no respawn of it is due"
        entry.due, entry.stays_down = False, True
        return None

    def _gone(self, name: str) -> _Entry | None:
        """The entry of a PD that was destroyed and for which nothing was decided yet."""
        entry = self._entries.get(name)
        if entry is None or self._is_there(entry) or entry.due or entry.stays_down:
            self.bad("respawn.due")
        return entry
