# SPDX-License-Identifier: BSD-2-Clause
"""Making that fails: what was made before the failure is undone."""

from __future__ import annotations

from typing import ClassVar, Final

from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.events import Event

_CAPABILITY: Final = frozenset({"slot", "parent", "grant"})
_RESOURCE: Final = frozenset({"node", "edge", *_CAPABILITY})
_BODY: Final = frozenset(
    {
        "entry",
        "layout",
        "block",
        "objects",
        "asid",
        "table",
        "page",
        "cap",
        "thread",
        "start",
        "content",
    }
)
STEPS: Final = {
    "pd": _BODY | _RESOURCE,
    "space": _RESOURCE,
    "resource": frozenset({"node", "edge", "slot", "parent"}),
    "request": _CAPABILITY | {"edge"},
    "hold": _RESOURCE,
    "map": frozenset({"edge"}),
    "subscription": frozenset({"edge"}),
    "memory": frozenset({"slot", "block", "objects", "node", "edge"}),
    "region": frozenset({"slot", "block", "objects", "table", "page", "node", "edge"}),
}
"""What is made -> the kinds of steps that this can take."""


class Making(Concern):
    """MAKE_FAILED, MAKE_UNDONE."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._failed: Event | None = None
        self._injected = False
        self.due = False
        """whether the next event may have to be a certain one"""

    def must_fail(self) -> None:
        """An error was injected: the next event says so."""
        self._injected = self.due = True

    def demand_undone(self, event: Event) -> None:
        """Before any other event: what must follow directly has followed."""
        if self._injected and event.name != "MAKE_FAILED":
            self.context.bad("inject.making", f"{event.told}: expected MAKE_FAILED before it")
        self._injected = False
        if self._failed is not None and event.name != "MAKE_UNDONE":
            self.context.bad("making.undone", f"{event.told}: expected MAKE_UNDONE before it")
            self._failed = None
        self.due = self._failed is not None

    def fail(self, event: Event) -> None:
        """MAKE_FAILED: a step was refused."""
        self._failed, self.due = event, True
        if event["kind"] not in STEPS[event["what"]] or event.number("step") == 0:
            text = f"a {event['what']} has no step {event['step']} of the kind {event['kind']}"
            self.context.bad("making.step", f"MAKE_FAILED: {text}")
        if event["status"] == "0":
            self.context.bad("making.step", "MAKE_FAILED: status=0: expected an error")

    def undo(self, event: Event) -> None:
        """MAKE_UNDONE: everything is as before."""
        failed, self._failed = self._failed, None
        fields = ("what", "name")
        if failed is None or any(failed[field] != event[field] for field in fields):
            said = f"{event['what']} {event['name']}: expected it after its MAKE_FAILED"
            self.context.bad("making.undone", f"MAKE_UNDONE: {said}")
        elif event.number("steps") != failed.number("step") - 1 or event["left"] != "0":
            said = f"steps={event['steps']} left={event['left']}"
            wanted = f"steps={failed.number('step') - 1} left=0"
            self.context.bad("making.undone", f"MAKE_UNDONE: {said}: expected {wanted}")
        self.context.memory.check_sums(event)

    handlers: ClassVar[Handlers] = {"MAKE_FAILED": fail, "MAKE_UNDONE": undo}
