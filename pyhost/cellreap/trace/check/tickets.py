# SPDX-License-Identifier: BSD-2-Clause
"""Tickets: accepted operations that take long, and what their owners are told of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from cellreap import headers
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.check.work import COUNTS, Tag
from cellreap.trace.events import Event, asks
from cellreap.trace.report import Ticket

TICKETED: Final[Mapping[str, str]] = {
    "terminate": "terminate",
    "subtree": "terminate_tree",
    "collect": "collect",
    "EXTRACT": "extract",
}
"""EXTRACT, or the cause of a TRIGGER -> the operation whose answer is its ticket, perhaps with its
state.
"""


@dataclass
class _Asked:
    """A ticket.

    tag: the account of its notices; None before its cleanup or extraction begins. delays: its owner
    may be waiting for the destruction of a PD that still exists, and so does nothing else.
    """

    shown: Ticket
    op: str
    tag: Tag | None = None
    collects: bool = False
    """it is of a collection"""
    nothing: bool = False
    """it is of a collection that found nothing"""
    settled: bool = False
    cancelled: bool = False
    prevented: bool = False
    was_over: bool = False
    delays: bool = False
    told_needless: bool = False
    """it was reported that its owner waits needlessly"""


class Tickets(Concern):
    """TICKET, and the tickets for what PDs ask for."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        states = headers.names_of("protocol.h", "cr_ticket_state", "CR_TICKET_")
        self._names = {number: name for name, number in states.items()}
        self._queued, self._running = states["queued"], states["running"]
        self._settled, self._over = states["settled"], states["over"]
        self._cancelled, self._prevented = states["cancelled"], states["prevented"]
        self._all: dict[int, _Asked] = {}
        self._by_tag: dict[Tag, list[_Asked]] = {}
        self._by_victim: dict[str, list[_Asked]] = {}
        self._collections: list[_Asked] = []  # whose collection has not come
        self._delayed: Counter[str] = Counter()
        self._open: dict[str, dict[int, None]] = {}  # owner -> its tickets that may not be over

    # -- for other concerns

    def newest(self) -> tuple[int, str, str] | None:
        """The last ticket: its number, its owner and the operation. None: there is none."""
        if not self._all:
            return None
        number = len(self._all)
        return number, self._all[number].shown.pd, self._all[number].op

    def op(self, number: int) -> str | None:
        """The operation that made the ticket; None if there is no such ticket."""
        asked = self._all.get(number)
        return None if asked is None else asked.op

    def owner(self, number: int) -> str | None:
        """The PD that has the ticket; None if there is no such ticket."""
        asked = self._all.get(number)
        return None if asked is None else asked.shown.pd

    def begin(self, victim: str, tag: Tag) -> None:
        """The cleanup of a PD begins."""
        for asked in self._by_victim.get(victim, ()):
            if asked.tag is None:
                asked.tag = tag
                self._by_tag.setdefault(tag, []).append(asked)

    def begin_collection(self, tag: Tag) -> None:
        """The cleanup of a collection begins."""
        for asked in self._collections:
            asked.tag = tag
            self._by_tag.setdefault(tag, []).append(asked)
        self._collections = []

    def nothing_to_collect(self) -> None:
        """A collection found nothing."""
        for asked in self._collections:
            asked.nothing = True
            self._delays_no_more(asked)
        self._collections = []

    def settle(self, tag: Tag) -> None:
        """The work of an account is done except for its notices."""
        for asked in self._by_tag.get(tag, ()):
            asked.settled = True
            self._delays_no_more(asked)

    def forget(self, pd: str) -> None:
        """The PD is destroyed."""
        for asked in self._by_victim.pop(pd, ()):
            self._delays_no_more(asked)
        self._open.pop(pd, None)

    def _delay(self, asked: _Asked) -> None:
        asked.delays = True
        self._delayed[asked.shown.pd] += 1

    def _delays_no_more(self, asked: _Asked) -> None:
        if asked.delays:
            asked.delays = False
            self._delayed[asked.shown.pd] -= 1

    def may_wait(self, pd: str) -> bool:
        """Whether the PD may be waiting for the destruction of a PD that still exists."""
        return self._delayed[pd] > 0

    def awaits(self, tag: Tag, receiver: str) -> bool:
        """Whether a ticket that was not over awaited this receiver's notices of an account."""
        return any(asked.shown.pd != receiver for asked in self._by_tag.get(tag, ()))

    def note(self, tags: Iterable[Tag]) -> None:
        """The counts of these accounts changed.

        A ticket that is over stays over, even if held notices are resumed.
        """
        for tag in tags:
            for asked in self._by_tag.get(tag, ()):
                if asked.settled:
                    asked.was_over |= self.context.notices.work.is_over(tag, asked.shown.pd)

    def demand_told(self, event: Event) -> None:
        """Checks that no PD waits for a ticket that is over when a PD acts again."""
        for pd, number in self.context.actors.waiting.items():
            asked = self._all[number]
            if not asked.told_needless and self._is_over(asked):
                asked.told_needless = True
                text = f"expected TICKET ticket={number} before it: {pd} waits for it"
                self.bad("tickets.needless", text)

    def in_use(self) -> tuple[int, int]:
        """The tickets that are not over, at least and at most. Called when the root task counts.

        What is over at a count stays over. In between, one that was over and awaits resumed notices
        may be over for the root task or not.
        """
        fewest = most = 0
        for owner, numbers in list(self._open.items()):
            for number in list(numbers):
                states = self._states(self._all[number])
                if self._is_over(self._all[number]):
                    del numbers[number]
                    if not numbers:
                        del self._open[owner]
                else:
                    fewest += self._over not in states
                    most += 1
        return fewest, most

    def cancel(self, of: str, number: int) -> str | None:
        """CANCEL: the work of a ticket is cancelled. What is wrong with that; None if nothing."""
        context, asked = self.context, self._all.get(number)
        if asked is None or asked.shown.pd != of:
            return f"ticket={number}: {of} has no such ticket"
        victim = asked.shown.what
        if asked.collects:
            return f"ticket={number}: a collection cannot be cancelled"
        if victim is not None:
            if asked.cancelled or asked.tag is not None or victim not in context.triggers.later:
                return f"ticket={number}: the end of {victim} is not put off"
            context.triggers.cancel(victim)
            self._by_victim[victim].remove(asked)
            self._delays_no_more(asked)
        else:
            assert asked.tag is not None
            x = asked.tag[1]
            if x not in context.extractions.running:
                return f"ticket={number}: extraction {x} is not under way"
            context.extractions.cancel(x)
        asked.cancelled = True
        return None

    def _is_over(self, asked: _Asked) -> bool:
        """Whether nothing will come of the ticket any more, for certain."""
        return self._states(asked) in ({self._over}, {self._cancelled}, {self._prevented})

    def prevent(self, victim: str) -> None:
        """The PD is not terminated after all."""
        for asked in self._by_victim.pop(victim, []):
            asked.prevented = True
            self._delays_no_more(asked)

    # -- events

    def accept(self, event: Event) -> None:
        """A PD asked for something, and has the next ticket."""
        context, pd = self.context, event["by"]
        victim = event.optional("pd") if event.name == "TRIGGER" else None
        number, op = len(self._all) + 1, TICKETED[event.values.get("cause", event.name)]
        asked = self._all[number] = _Asked(Ticket(number, pd, victim), op)
        context.report.tickets.append(asked.shown)
        self._open.setdefault(pd, {})[number] = None
        if op == "collect":
            asked.collects = True
            self._collections.append(asked)
            self._delay(asked)
        elif victim is None:
            asked.tag = ("extraction", context.extractions.last)
            self._by_tag.setdefault(asked.tag, []).append(asked)
        else:
            self._by_victim.setdefault(victim, []).append(asked)
            if victim in context.model.nodes:
                self._delay(asked)
        is_extraction = victim is None and not asked.collects
        waits = context.settings.mode == "sync" and not is_extraction
        if waits and context.actors.silence(pd) is None:
            context.actors.waiting[pd] = number

    def ticket(self, event: Event) -> None:
        """TICKET: the owner of a ticket is told its state."""
        context = self.context
        number, state = event.number("ticket"), event.number("state")
        asked = self._all.get(number)
        if asked is None:
            self.bad("tickets.number", f"ticket={number}: there is no such ticket")
            return
        self._check_state(event, asked)
        owner = asked.shown.pd
        if context.actors.waiting.get(owner) == number:
            context.actors.waiting.pop(owner, None)
            late = context.notices.work.has_work(owner)
            # A PD that used a plain send does not wait for the answer. The root task notices that
            # at once.
            before = context.previous
            sent = before is not None and asks(before) and state == self._queued
            ends = (self._over, self._cancelled, self._prevented)
            if state not in ends and not late and not sent:
                text = f"ticket={number}: state={state}: {owner} is to be told when it is over"
                self.bad("tickets.wait", text)
        context.actors.may_act(event, owner)

    def _check_state(self, event: Event, asked: _Asked) -> None:
        shown = asked.shown
        state = event.number("state")
        expected: tuple[int, ...] = (0,) * len(COUNTS)
        if asked.tag is not None:
            expected = self.context.notices.work.counts(asked.tag, shown.pd)
        states = self._states(asked)
        if state not in states:
            names = " or ".join(f"{each} ({self._names[each]})" for each in sorted(states))
            text = f"ticket={shown.ticket}: state={state}: expected {names}"
            self.bad("tickets.state", text)
        for name, should in zip(COUNTS, expected, strict=True):
            has = event.number(name)
            setattr(shown, name, has)
            if has != should:
                text = f"ticket={shown.ticket}: {name}={has}: by the events before it {should} are"
                self.bad("tickets.counts", text)
        shown.state = self._names.get(state, str(state))

    def _states(self, asked: _Asked) -> set[int]:
        """The states that the owner may be told now."""
        if asked.cancelled:
            return {self._cancelled}
        if asked.prevented:
            return {self._prevented}
        if asked.collects and asked.tag is None:
            return {self._over} if asked.nothing else {self._queued}
        if asked.tag is None:
            # If another cleanup destroyed the PD, the ticket is updated when its own turn comes.
            there = asked.shown.what in self.context.model.nodes
            return {self._queued} if there else {self._queued, self._over}
        if not asked.settled:
            return {self._running}
        if self.context.notices.work.is_over(asked.tag, asked.shown.pd):
            return {self._over}
        return {self._settled, self._over} if asked.was_over else {self._settled}

    handlers: ClassVar[Handlers] = {"TICKET": ticket}
