# SPDX-License-Identifier: BSD-2-Clause
"""Which PDs can act, and their actions that do not change the model: SAY, refusals, hanging."""

from __future__ import annotations

from collections import Counter
from typing import Final

from cellreap import headers
from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.events import Event
from cellreap.trace.reader import MAX_PROBLEMS

MAX_REFUSALS: Final = headers.constant("limits.h", "CR_REFUSALS_TOLD")
REFUSALS_SUM: Final = headers.constant("limits.h", "CR_REFUSALS_SUM")
"""Maximum number of refusals in one REFUSED event."""
FROZEN = "is frozen"
SUSPENDED = "was suspended"


class Actors(Concern):
    """SAY, REFUSE, REFUSED, frozen THREAD, UNREACHED."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._refusals = set(headers.names_of("protocol.h", "cr_result", "CR_RESULT_").values()) - {
            0
        }
        self._cancelled = headers.names_of("protocol.h", "cr_result", "CR_RESULT_")["cancelled"]
        operations = headers.names_of("protocol.h", "cr_op", "CR_OP_")
        self._connect, self._spawn = operations["connect"], operations["spawn"]
        self._refused: Counter[str] = Counter()
        self.silent: dict[str, str] = {}
        self._frozen: set[str] = set()
        self.waiting: dict[str, int] = {}
        """The PDs that wait for a ticket, and the ticket."""
        self._last: dict[str, Event] = {}

    # -- for other concerns

    def may_act(self, event: Event, pd: str) -> bool:
        """Whether this PD may act now. If not, the event breaks a rule."""
        context = self.context
        if pd in context.staged.orders:
            context.staged.acts(event, pd)
        if context.saved.unnamed:
            context.saved.demand_begun()
        self._last[pd] = event
        if event.told != "answered THREAD":  # it did nothing until now
            context.hung.acted[pd] = context.timing.now
        if pd == ROOT or pd not in context.model.nodes:
            self.bad("actors.there", f"{pd} is not there, or asks for nothing")
        elif pd in self.silent and (
            self.is_suspended(pd) or event.values.get("kind") != "timeout"  # who hangs by itself
        ):
            self.bad("actors.silent", f"{pd} {self.silent[pd]} and can do nothing any more")
        elif pd in self.waiting:
            self.bad("actors.waiting", f"{pd} waits for ticket {self.waiting[pd]} to be over")
        else:
            return True
        return False

    def last_of(self, pd: str) -> str:
        """What the PD did last, in words."""
        last = self._last.get(pd)
        if last is None:
            return "it did nothing"
        said = f" {last['text'][:80]!r}" if last.name == "SAY" else ""
        return f"the last that it did is {last.told}{said} in line {last.line}"

    def is_suspended(self, pd: str) -> bool:
        """Whether the PD's thread is suspended. That of a PD that hangs by itself is not."""
        return pd in self._frozen or self.silent.get(pd, FROZEN) != FROZEN

    def may_answer(self, pd: str) -> bool:
        """Whether the PD can still answer. A PD that hangs counts until its deadline."""
        return self.silent.get(pd, FROZEN) == FROZEN

    def stop(self, pd: str, why: str) -> None:
        """The PD can no longer act."""
        self.context.staged.went(pd)
        self.silent[pd] = why
        self.waiting.pop(pd, None)

    def suspend(self, pd: str) -> None:
        """The root task suspends a doomed PD."""
        self.stop(pd, SUSPENDED if self.may_answer(pd) else self.silent[pd])

    def refuse_cancelled(self, pd: str) -> None:
        """The CONNECT in which the PD waits was cancelled. It is told so at once."""
        if self._refused[pd] < MAX_REFUSALS:
            self.context.debts.owe("REFUSE", pd, str(self._connect), str(self._cancelled))

    def resume(self, pd: str) -> None:
        """The PD can act again."""
        self.silent.pop(pd, None)

    def forget(self, pd: str) -> None:
        """The PD is destroyed."""
        self.silent.pop(pd, None)
        self._frozen.discard(pd)
        self.waiting.pop(pd, None)

    def at_end(self) -> None:
        """The trace ends."""
        for pd, number in self.waiting.items():
            self.bad("tickets.wait", f"{pd} was never told what became of ticket {number}")

    # -- events

    @outside("SAY")
    def say(self, event: Event) -> None:
        """A PD speaks."""
        self.may_act(event, event["pd"])

    @outside("REFUSE")
    def refuse(self, event: Event) -> None:
        """An operation was refused and changed nothing."""
        pd, status = event["pd"], event.number("status")
        if pd != ROOT or event.number("op") != self._spawn:  # else it could not make a PD
            self.may_act(event, pd)
        self._refused[pd] += 1
        if self._refused[pd] > MAX_REFUSALS:
            self.bad("actors.refusals")
        told = ("REFUSE", pd, event["op"], event["status"])
        if not self.context.debts.settle(*told) and status == self._cancelled:
            self.bad("cancel.answer")
        if status not in self._refusals:
            self.bad("actors.status")

    @outside("REFUSED")
    def refused(self, event: Event) -> None:
        """REFUSED: the sum of further refusals, which are not printed one by one."""
        pd = event["pd"]
        if pd not in self.context.model.nodes:
            self.bad("actors.there")
        elif self._refused[pd] < MAX_REFUSALS:
            self.bad("actors.refusals", f"{pd}: {self._refused[pd]} were told one by one")
        if not 1 <= event.number("count") <= REFUSALS_SUM:
            self.bad("actors.refusals")

    @outside("frozen THREAD")
    def freeze(self, event: Event) -> None:
        """frozen THREAD: the scenario stopped a PD's thread, so the PD hangs."""
        pd = event["pd"]
        self.context.staged.by_root(event)
        if pd == ROOT or pd not in self.context.model.nodes or pd in self.silent:
            self.bad("actors.freeze")
        else:
            self.silent[pd] = FROZEN
            self._frozen.add(pd)

    @outside("UNREACHED")
    def unreached(self, event: Event) -> None:
        """UNREACHED: a crash of the configuration did not happen."""
        if event["crash"] == "0":
            self.bad("actors.unreached")
        reported = self.context.report.unreached
        if len(reported) < MAX_PROBLEMS:
            reported.append(self.context.staged.what_came(event))
        self.context.staged.unreached(event)
