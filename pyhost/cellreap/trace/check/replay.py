# SPDX-License-Identifier: BSD-2-Clause
"""The frame of a replay: the order of events, and the concern that handles each event."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from cellreap.arches import ARCHES
from cellreap.errors import CellreapError
from cellreap.headers import HeaderError, event_table
from cellreap.model.ids import ROOT
from cellreap.model.indexed import IndexedModel
from cellreap.trace.check.accounts import USES
from cellreap.trace.check.answers import ANSWERED
from cellreap.trace.check.concerns import Context
from cellreap.trace.check.context import OUTSIDE, WITHIN, handler_of
from cellreap.trace.check.independent import without
from cellreap.trace.check.powers import CHANGES as CAUSED
from cellreap.trace.check.reports import REPORTED
from cellreap.trace.check.running import Running
from cellreap.trace.check.state import CHANGES
from cellreap.trace.check.statements import SEES as STATED_SEES
from cellreap.trace.check.statements import Stated
from cellreap.trace.check.steps import TOLD as SERVED_TOLD
from cellreap.trace.check.tombstones import SEES as TOMBSTONE_SEES
from cellreap.trace.check.triggers import TREE
from cellreap.trace.check.truth import EVENTS as TRUTH_EVENTS
from cellreap.trace.check.truth import SEES as TRUTH_SEES
from cellreap.trace.events import Event, asks
from cellreap.trace.expected import Expected, unverified
from cellreap.trace.report import Report

NEED_BODIES: Final = frozenset({"PD", "USAGE", "FAULT", "FAULT_HELD", "EXIT", "TRIGGER", "CLEANUP"})
"""Events before which the BODY of the last PD must have come."""
ANSWERS: Final = frozenset({"EXTRACT", "stopped THREAD", "withdrawn NOTICE"})
"""Events that may come while other events are required, as may QUEUE with n=0, and the TICKET of a
terminator that used a plain send.
"""
FAULT_ANSWERS: Final = ("FAULT", "resumed THREAD")
"""Events that may come while they are required, for their PD: a fault handler answered."""
STOPPING: Final = frozenset({"stopped THREAD", "answered THREAD"})
"""Events that may come within a cleanup, but are not numbered."""
SAME_MESSAGE: Final = frozenset(
    {
        *ANSWERS, *FAULT_ANSWERS, *STOPPING,
        "EXIT", "TRIGGER", "CLEANUP", "RECOVER",
        "GIVE_UP", "QUEUE", "TICKET", "USAGE", "REFUSE", "REFUSED",
        "EXTRACTED", "MAKE_FAILED",
    }
)  # fmt: skip
"""Events that the root task may write between an event and what follows from it at once, such as
cleanups, but for a TRIGGER that only a message can bring about. All others show that it went on to
another message, except GRANTED by the root task.
"""
GRANTED: Final = frozenset({"RESOURCE", "made HOLD"})
"""What tells of a PD capability that the configuration gives. One that was refused is given after
the next message, before what follows from that.
"""
MARKS: Final[Mapping[str, Collection[str]]] = {
    "stated": STATED_SEES,
    "reported": REPORTED,
    "among steps": frozenset({"INJECTED", "TAKEOVER"}),
    "between": SERVED_TOLD | {"STEP"},
    "answered": ANSWERED,
    "aside": TRUTH_EVENTS | {"ANSWER"},
    "ends": TOMBSTONE_SEES,
    "true": TRUTH_SEES,
    "judged": CAUSED,
    "stopping": STOPPING,
    "same message": SAME_MESSAGE,
    "needs a body": NEED_BODIES,
    "changes": CHANGES,
}
"""What is done with the events of one name, or of what they tell. Those `among steps` may stand
among those of a step, and those `aside` between events that must follow each other. Both change
nothing.
"""


@dataclass(slots=True)
class _Kind:
    """What is done with the events of one name: who handles them, and who else reads them."""

    outside: Callable[[Event], None] | None
    within: Callable[[Running, Event], None] | None
    uses: Callable[[Event], None] | None
    """Counts what an event uses. The model has the event already."""
    marks: frozenset[str]
    """Of MARKS."""


class Replay:
    """The state of a replay. Feed it all events in order, then call finish."""

    def __init__(self, report: Report, expected: Expected | None = None) -> None:
        """expected: what the configuration demands, if it is known."""
        self.report = report
        report.unverified = unverified(expected)
        self._context = context = Context(report, expected)
        self._demands = (
            (context.cleanups.awaiting, context.cleanups.demand_continued),
            (context.residue.to_retry, context.residue.demand_retried),
            (context.extractions.running, context.extractions.demand_over),
            (context.actors.waiting, context.tickets.demand_told),
        )
        """What waits for something, and the demand that it does not wait needlessly."""
        self._kinds: dict[str, _Kind] = {}
        """What is done with the events that tell the same."""
        self._stated = Stated(context)
        self._goes_on = False  # whether the second event came, and END did not
        self._ended = False
        self._finisher: str | None = None  # the PD of the last FINISH_WORK, if of this message
        self._timed = False  # whether an interrupt of the timer brought a trigger about

    @property
    def context(self) -> Context:
        """What the concerns know."""
        return self._context

    @property
    def model(self) -> IndexedModel:
        """The model state that the events so far make."""
        return self.report.model

    def feed(self, event: Event) -> None:
        """Takes the next event."""
        context, told = self._context, event.told
        kind = self._kinds.get(told)
        if kind is None:
            kind = self._kinds[told] = self._kind(event.name, told)
        context.event = event
        self.report.events += 1
        for said in event.said:
            self._stated.take(said)
        if "stated" in kind.marks:
            self._stated.see(event)
        if event.time is not None or context.timing.clocked:
            context.timing.see(event)
        if (not self._goes_on or event.name == "TRACE") and not self._in_place(event):
            context.previous = event
            return
        if "reported" in kind.marks:
            context.reports.see(event)
        if "among steps" in kind.marks:
            self._dispatch(event, kind)
        else:
            self._take(event, kind)

    def _take(self, event: Event, kind: _Kind) -> None:
        """Takes an event that is in place, and that does not stand anywhere among others."""
        context, marks = self._context, kind.marks
        if context.making.due:
            context.making.demand(event)
        if context.answers.due is not None or "answered" in marks:
            context.answers.see(event)
        if "aside" in marks:
            context.truth.alert |= event.name != "ANSWER"
            self._dispatch(event, kind)
            return
        if context.takeovers.death is not None or context.takeovers.step is not None:
            context.takeovers.see(event)
        if "ends" in marks:
            context.tombstones.see(event)
        if context.interleaved.open is not None or "between" in marks:
            context.interleaved.see(event)
        if context.truth.alert or "true" in marks:
            context.truth.see(event)
        self._in_order(event)
        if context.quiet.due or context.quiet.told:
            context.quiet.see(event)
        causes, powers = context.causes, context.causes.powers
        judged = "judged" in marks or powers.making is not None or powers.needs is not None
        if judged:
            causes.judge(event)
        try:
            self._handle(event, kind)
            if kind.uses is not None:
                kind.uses(event)
            if context.rounds.ending:
                context.rounds.see(event)
            if context.expected is not None:
                context.configured.see(event)
        except CellreapError as error:
            context.breaks("model.possible", error.line())
        if judged:
            causes.report(event)
        context.previous = event

    def _kind(self, name: str, told: str) -> _Kind:
        """What is done with the events of this name that tell this."""
        its = partial(handler_of, self._context, told)
        marks = frozenset(mark for mark, whose in MARKS.items() if name in whose or told in whose)
        return _Kind(its(OUTSIDE), its(WITHIN), its(USES), marks)

    def finish(self) -> None:
        """Ends the replay."""
        self._context.notices.count_held()
        if self._ended:
            self._stated.finish()
        else:
            self._context.bad("order.end", "the trace ends without END")

    # -- the order of events

    def _in_place(self, event: Event) -> bool:
        """Whether the event can be handled at all."""
        count, name = self.report.events, event.name
        if (count == 1) != (name == "TRACE"):
            self._context.breaks("order.trace")
            return False
        if count == 2 and name != "USAGE":
            self._context.breaks("order.usage")
        if self._ended:
            self._context.breaks("order.end")
            return False
        self._goes_on = count > 1
        return True

    def _in_order(self, event: Event) -> None:
        """Checks events that must follow another directly, or must stand together."""
        context, name = self._context, event.told
        freed, collections = context.freed, context.collections
        of_no_cleanup = name == "STATE" or (name in ("QUEUE", "SETTLED") and event["n"] == "0")
        if context.debts and not self._answers(event, of_no_cleanup):
            for owed in sorted(context.debts):
                context.bad("order.answer", f"{name}: expected {' '.join(owed)} before it")
            context.debts.clear()
        if context.nodes.deleting is not None:
            context.nodes.interrupt(event)
        if freed.beginning or freed.suspending or context.triggers.to_stop:
            freed.interrupt(event)
        if context.blame.taken is not None:
            context.blame.interrupt(event)
        if collections.pending or collections.stops:
            collections.interrupt(event)
        if context.state.rows is not None and (name == "QUEUE" or not of_no_cleanup):
            context.state.interrupt()

    def _answers(self, event: Event, of_no_cleanup: bool) -> bool:
        """Whether the event may come while others are required."""
        context, name = self._context, event.told
        if name == "REFUSE":
            return (name, event["pd"], event["op"], event["status"]) in context.debts
        if name in FAULT_ANSWERS:
            return (name, event["pd"]) in context.debts
        if name == "TICKET" and asks(context.previous):
            return True
        deletes = name == "DELETE" and context.nodes.deleting is not None
        owed = name == "QUEUE" and of_no_cleanup and event["kind"] != "probe"
        return deletes or name in ANSWERS or owed

    # -- dispatch

    def _handle(self, event: Event, kind: _Kind) -> None:
        context, name = self._context, event.name
        if name == "STATE" or (name == "SETTLED" and event["n"] == "0"):
            context.state.snapshot(event)
        elif kind.within is not None and (name != "QUEUE" or event["n"] != "0"):
            running = context.cleanups.enter(event)
            if running is not None:
                kind.within(running, event)
        elif name == "END":
            self._end(event)
        else:
            self._outside(event, kind)

    def _outside(self, event: Event, kind: _Kind) -> None:
        context, name, marks = self._context, event.told, kind.marks
        cleanups = context.cleanups
        under_way = cleanups.number is not None or cleanups.awaiting or context.residue.of
        if under_way and "stopping" not in marks:
            context.cleanups.see_outside(event)
        if event.name == "THREAD" and (name == "answered THREAD") == (event["by"] == "-"):
            context.breaks("order.change", f"by={event['by']}: only who answered has one")
        self._message(event, kind)
        if "needs a body" in marks:
            context.memory.demand_body()
            context.authority.demand_rights()
        if "changes" in marks:
            context.state.note(event)
        if name == "TRACE":
            self._trace(event)
        elif kind.outside is not None:
            kind.outside(event)
        elif "change" in event.values:  # it is a word of another kind of event
            context.breaks("order.change")
        else:
            raise HeaderError(
                "trace_events.h has this event, and no concern in trace/check handles it"
            )

    def _dispatch(self, event: Event, kind: _Kind) -> None:
        assert kind.outside is not None
        kind.outside(event)

    def _message(self, event: Event, kind: _Kind) -> None:
        """Checks, when the root task goes on to another message, that nothing waits needlessly."""
        context, name = self._context, event.name
        asked = name == "TRIGGER" and (event["when"] == "later" or event["cause"] == TREE)
        granted = event.told in GRANTED and event["asker"] == "-"
        same = granted or ("same message" in kind.marks and not asked)
        if same or (self._timed and name == "HELD_UP"):
            # One interrupt kills for the scenario, and finds all who are late or held up.
            timed = name == "TRIGGER" and (
                event["cause"] in ("late", "hung") or event["by"] == ROOT
            )
            self._timed |= timed
            return
        if context.interleaved.open is not None:
            return  # what is served between two steps
        self._timed = False
        finisher = event["pd"] if name == "FINISH_WORK" else None
        goes_on = finisher is not None and finisher == self._finisher
        self._finisher = finisher
        if not goes_on:
            for waits, demand in self._demands:
                if waits:
                    demand(event)
            if context.triggers.looks:
                context.triggers.demand_begun()
            if context.collections.due:
                context.collections.demand_collected(event)
        if context.tombstones.stale:
            context.tombstones.release()

    def _trace(self, event: Event) -> None:
        context, report = self._context, self.report
        report.kernel, report.arch, report.system = event["kernel"], event["arch"], event["system"]
        context.authority.begin(event)
        context.timing.clocked = event["clock"] != "0"
        if event.number("version") != event_table().version:
            context.breaks("order.version")
        if report.arch not in ARCHES or not all(report.kernel_parts()):
            context.breaks("order.header")

    def _end(self, event: Event) -> None:
        context = self._context
        self._ended, self._goes_on = True, False
        for concern in (
            context.cleanups, context.staged, context.rounds, context.quiet, context.configured,
            context.triggers, context.collections, context.respawns, context.notices,
            context.extractions, context.actors,
        ):  # fmt: skip
            concern.at_end()
        context.memory.demand_body()
        context.authority.demand_rights()
        context.state.demand_printed(event)
        context.legal("at the end")


Look = Callable[[Literal["before", "after"], Event, IndexedModel], None]
"""Gets a state, without what a cleanup that runs beside dooms, and the event CLEANUP or SETTLED."""


class AroundCleanups(Replay):
    """Calls `look` before and after each cleanup."""

    def __init__(self, report: Report, look: Look, expected: Expected | None = None) -> None:
        super().__init__(report, expected)
        self._look = look

    def feed(self, event: Event) -> None:
        if event.name == "CLEANUP":
            self._look("before", event, self._state())
        super().feed(event)
        if event.name == "SETTLED":
            self._look("after", event, self._state())

    def _state(self) -> IndexedModel:
        return without(self.model, self.context.cleanups.doomed())
