# SPDX-License-Identifier: BSD-2-Clause
"""Collections: what cannot be reached is destroyed after a cleanup."""

from __future__ import annotations

from typing import ClassVar, Final

from cellreap.model import reference
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.events import Event

COLLECT: Final = "collect"
"""The cause of the cleanup of a collection."""
AFTER_CLEANUP: Final = "after-cleanup"


class Collections(Concern):
    """COLLECTS and COLLECT."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._collects = False
        self._due = False
        self._pending = 0  # PDs that the collection found whose cleanup must begin now
        self._created: set[str] = set()

    # -- for other concerns

    def created(self, pd: str) -> None:
        """A PD was created by another one, so a collection does not keep it for itself."""
        self._created.add(pd)

    def plan(self) -> reference.Plan:
        """The plan of a collection in the current state."""
        model = self.context.model
        return reference.collect(model, set(model.pds()) - self._created)

    def begin(self, cause: str) -> None:
        """A cleanup without a trigger begins."""
        shown = f"CLEANUP: trigger=- cause={cause}"
        if cause != COLLECT or not self._pending:
            self.context.bad("collect.cleanup", f"{shown}: expected it after a COLLECT only")
        self._pending = 0

    def interrupt(self, event: Event) -> None:
        """Checks that the cleanup of a collection comes right after it."""
        if self._pending and event.name != "CLEANUP":
            text = f"{event.name}: expected CLEANUP trigger=- before it: there is something to take"
            self.context.bad("collect.cleanup", text)
            self._pending = 0

    def settled(self, cause: str) -> None:
        """A cleanup has ended. A collection leaves nothing to collect."""
        if cause != COLLECT:
            self._due = self._collects

    def _may_begin(self) -> bool:
        """Whether nothing else is under way or waits: a collection concerns everything."""
        context = self.context
        return not (
            context.cleanups.waits()
            or context.cleanups.current() is not None
            or context.triggers.any_waits()
            or context.residue.of
        )

    def demand_collected(self, event: Event) -> None:
        """Checks, when the root task goes on to something else, that a collection does not wait."""
        if self._due and event.name != "COLLECT" and self._may_begin():
            self._due = False
            text = f"{event.name}: expected COLLECT before it: a cleanup has ended"
            self.context.bad("collect.due", text)

    def at_end(self) -> None:
        """The configuration says whether the root task collects."""
        expected = self.context.expected
        if expected is not None and expected.collects != self._collects:
            what = "a COLLECTS" if expected.collects else "no COLLECTS"
            self.context.bad("config.system", f"END: expected {what}, as the configuration says")

    # -- events

    def collects(self, event: Event) -> None:
        """COLLECTS: the root task collects by itself."""
        before = self.context.previous
        if event["when"] != AFTER_CLEANUP or self._collects:
            self.context.bad("collect.when", f"COLLECTS: expected when={AFTER_CLEANUP}, and once")
        if before is None or before.name != "AWAIT":
            self.context.bad("collect.when", "COLLECTS: expected it right after AWAIT")
        self._collects = True

    def collect(self, event: Event) -> None:
        """COLLECT: the root task looks for what cannot be reached."""
        if not self._due:
            text = "COLLECT: expected it after a cleanup only, and only if there is a COLLECTS"
            self.context.bad("collect.due", text)
        elif not self._may_begin():
            text = "COLLECT: expected it when no cleanup is under way or waits"
            self.context.bad("collect.due", text)
        self._due = False
        found, count = len(self.plan().destroyed_pds), event.number("pds")
        if count != found:
            text = f"COLLECT: pds={count}: expected {found}, as the reference says"
            self.context.bad("collect.found", text)
        self._pending = count

    handlers: ClassVar[Handlers] = {"COLLECTS": collects, "COLLECT": collect}
