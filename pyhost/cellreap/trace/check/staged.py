# SPDX-License-Identifier: BSD-2-Clause
"""Crashes that the scenario stages: each is the configured one, and happens as it was ordered."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from cellreap import headers
from cellreap.arches import ARCHES
from cellreap.trace.check.actors import FROZEN
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.events import Event, cause_of
from cellreap.trace.faults import STAGED
from cellreap.trace.report import Unreached, counted

BY_ROOT = {"kill": "TRIGGER", "freeze": "frozen THREAD"}
"""Way to crash -> the event, if the root task causes it at some instruction of the PD."""
SILENT = ("hang", "block")
"""Ways to crash after which the PD does nothing."""


@dataclass
class Order:
    """A STAGE event that nothing has followed yet."""

    crash: int
    how: str
    pd: str
    line: int

    def __str__(self) -> str:
        return f"the {self.how} of {self.pd} that line {self.line} stages"


class Staged(Concern):
    """STAGE, and what follows from it."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.orders: dict[str, Order] = {}
        """the PD whose next action it is -> the order"""
        self._alarm: Order | None = None
        """a crash that the root task will cause"""
        self._excused = False
        """the PD of the alarm went down by itself"""
        self._index = 0
        self._fired = 0
        self._times: Counter[int] = Counter()
        """crash -> how often it was staged"""

    # -- for other concerns

    def acts(self, event: Event, pd: str) -> None:
        """A PD does something. If it was ordered to crash, this must be the crash."""
        order = self.orders.pop(pd, None)
        if order is not None and not self._is_it(order, event):
            self.bad("staged.follows", f"expected {order}")

    def went(self, pd: str) -> None:
        """The PD is stopped, or its fault is held."""
        self.orders.pop(pd, None)
        for actor in [actor for actor, order in self.orders.items() if order.pd == pd]:
            del self.orders[actor]
        if self._alarm is not None and self._alarm.pd == pd:
            self._excused = True

    def by_root(self, event: Event) -> None:
        """The root task terminates or freezes a PD."""
        alarm, names = self._alarm, self.context.report.names
        its_name = names.get(event["pd"])
        if alarm is None or (BY_ROOT[alarm.how], names.get(alarm.pd)) != (event.told, its_name):
            self.bad("staged.root")
        self._alarm = None

    def unreached(self, event: Event) -> None:
        """UNREACHED: the present crash and those after it do not happen."""
        expected = self.context.expected
        if expected is not None:
            due = expected.crashes[self._index] if self._index < len(expected.crashes) else None
            if due is None or (event.number("crash"), event["name"]) != (self._index + 1, due.pd):
                self._not_due()
            self._index = len(expected.crashes)

    def what_came(self, event: Event) -> Unreached:
        """UNREACHED: how often the crash came about, and what ended it."""
        crash, name, report = event.number("crash"), event["name"], self.context.report
        expected = self.context.expected
        known = expected is not None and 0 < crash <= len(expected.crashes)
        due = expected.crashes[crash - 1] if expected is not None and known else None
        actor = name if due is None or due.by is None else due.by
        alive = {report.names.get(pd) for pd in self.context.model.pds()}
        for pd in (name, actor):
            if pd in report.stay_down:
                budget = report.stay_down[pd]
                why = f"{pd} stays down, its budget of {counted(budget, 'respawn')} is used up"
                break
            if pd not in alive:
                why = f"{pd} is not there"
                break
        else:
            why = f"{actor} did not come to that checkpoint"
        repeat = None if due is None else due.repeat
        return Unreached(crash, name, self._times[crash], repeat, why)

    def demand_none_left(self) -> None:
        """PDs are dismissed, and the run ends, only after the last crash."""
        expected = self.context.expected
        if expected is not None and self._index < len(expected.crashes):
            self._not_due()

    def at_end(self) -> None:
        """The trace ends."""
        self._alarm_is_over()
        for actor, order in self.orders.items():
            if actor not in self.context.actors.silent:
                self.bad("staged.follows", f"expected {order}")
        self.demand_none_left()

    # -- events

    @outside("STAGE")
    def stage(self, event: Event) -> None:
        """STAGE: the scenario makes a PD crash."""
        context, how, pd, by = self.context, event["how"], event["pd"], event["by"]
        self._alarm_is_over()
        self._configured(event)
        self._times[event.number("crash")] += 1
        if event["crash"] == "0" or (how == "terminate") == (pd == by):
            self.bad("staged.order")
        if not context.actors.may_act(event, by):
            return
        if pd not in context.model.nodes:
            self.bad("actors.there")
            return
        order = Order(event.number("crash"), how, pd, event.line)
        if how in BY_ROOT:
            self._alarm, self._excused = order, False
        elif how in SILENT:
            context.actors.silent[pd] = FROZEN
        else:
            self.orders[by] = order

    def _alarm_is_over(self) -> None:
        alarm, self._alarm = self._alarm, None
        if alarm is not None and not self._excused:
            self.bad("staged.follows", f"expected {alarm}")

    def _is_it(self, order: Order, event: Event) -> bool:
        """Whether the event is what was ordered."""
        if order.how == "terminate" and event.name == "REFUSE":
            return self._may_be_refused(order, event)
        if order.how == "terminate":
            return cause_of(event) == "terminate" and event["pd"] == order.pd
        if order.how == "exit":
            code = headers.constant("image.h", "CR_STAGED_CODE")
            return event.name == "EXIT" and event.number("code") == code
        return (
            event.name in ("FAULT", "FAULT_HELD")
            and event["kind"] == STAGED[order.how]
            and event.number("address") == self._address(order.how)
        )

    def _may_be_refused(self, order: Order, event: Event) -> bool:
        """Whether the root task may refuse the termination: it would destroy a protected PD, the
        PD is doomed, or there is no room for the ticket.
        """
        operations = headers.names_of("protocol.h", "cr_op", "CR_OP_")
        results = headers.names_of("protocol.h", "cr_result", "CR_RESULT_")
        if event.number("op") != operations["terminate"]:
            return False
        if event.number("status") == results["prevented"]:
            return self.context.authority.would_destroy(order.pd) is not None
        return event.number("status") in (results["gone"], results["full"])

    def _address(self, how: str) -> int:
        if how == "page-fault":
            return headers.constant("image.h", "CR_STAGED_ADDRESS")
        if how == "cap-fault":
            return 1 << headers.constant("image.h", "CR_STAGED_SLOT_BIT")
        if how == "unknown-syscall":
            return (1 << 64) - headers.constant("image.h", "CR_STAGED_SYSCALL")
        return ARCHES[self.context.report.arch].illegal_instruction

    # -- the configuration

    def _configured(self, event: Event) -> None:
        expected, names = self.context.expected, self.context.report.names
        if expected is None:
            return
        if self._index == len(expected.crashes):
            self._not_due()
            return
        due = expected.crashes[self._index]
        by = due.pd if due.by is None else due.by
        has = (event.number("crash"), event["how"], names.get(event["pd"]), names.get(event["by"]))
        if has != (self._index + 1, due.how, due.pd, by):
            self._not_due()
        self._fired += 1
        if self._fired == due.repeat:
            self._index, self._fired = self._index + 1, 0

    def _not_due(self) -> None:
        """Reports that another crash of the configuration is due, or none."""
        expected, due = self.context.expected, "no further crash"
        if expected is not None and self._index < len(expected.crashes):
            crash = expected.crashes[self._index]
            times = f", time {self._fired + 1} of {crash.repeat}" if crash.repeat > 1 else ""
            due = f"crash {self._index + 1}, {crash.how} of {crash.pd}{times}"
        self.bad("config.crash", f"expected {due}")
