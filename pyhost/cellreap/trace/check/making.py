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
    """MAKE_FAILED."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.due = False
        """an error was injected: the next event says so"""

    def demand(self, event: Event) -> None:
        """Any other event, or INJECTED."""
        if self.due and event.name != "MAKE_FAILED":
            self.bad("inject.making", "expected MAKE_FAILED before it")
        self.due = False

    def fail(self, event: Event) -> None:
        """MAKE_FAILED: a step was refused. Everything is as before."""
        known = event["kind"] in STEPS[event["what"]] and event["step"] != "0"
        if not known or event["status"] == "0":
            self.bad("making.step")
        self.compare("making.undone", undone=event.number("step") - 1)
        self.context.memory.check_sums(event)

    handlers: ClassVar[Handlers] = {"MAKE_FAILED": fail}
