# SPDX-License-Identifier: BSD-2-Clause
"""Tickets: accepted operations that take long, and what their owners are told of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from cellreap import headers
from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Concern, Context, outside
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
_COLLECT: Final = TICKETED["collect"]
_ENDS: Final = {"over", "cancelled", "prevented"}
"""The states of tickets of which nothing will come any more."""


@dataclass
class Asked:
    """A ticket. tag: the account of its notices; None before its cleanup or extraction begins."""

    shown: Ticket
    op: str
    tag: Tag | None = None
    settled: bool = False
    comes_to: str | None = None
    """its state for good: one that was told, or that no account has"""
    may_be_forgotten: bool = False
    """it was over when notices were held, and another one may have taken its place"""
    told_needless: bool = False
    """it was reported that its owner waits needlessly"""


class Tickets(Concern):
    """TICKET, and the tickets for what PDs ask for; CANCEL."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._numbers = headers.names_of("protocol.h", "cr_ticket_state", "CR_TICKET_")
        self._names = {number: name for name, number in self._numbers.items()}
        self._all: dict[int, Asked] = {}
        self._by_tag: dict[Tag, list[Asked]] = {}
        self._by_victim: dict[str, list[Asked]] = {}
        self._collections: list[Asked] = []  # whose collection has not come
        self._open: dict[str, dict[int, None]] = {}  # owner -> its tickets that may not be over

    # -- for other concerns

    def newest(self) -> int:
        """The number of the last ticket. 0: there is none."""
        return len(self._all)

    def get(self, number: int) -> Asked | None:
        """The ticket of this number; None if there is none."""
        return self._all.get(number)

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
            asked.comes_to = "over"
        self._collections = []

    def settle(self, tag: Tag) -> None:
        """The work of an account is done except for its notices."""
        for asked in self._by_tag.get(tag, ()):
            asked.settled = True

    def forget(self, pd: str) -> None:
        """The PD is destroyed."""
        self._by_victim.pop(pd, None)
        self._open.pop(pd, None)

    def may_wait(self, pd: str) -> bool:
        """Whether the PD may be waiting for the end of a cleanup."""
        tickets = (self._all[number] for number in self._open.get(pd, ()))
        return any(
            each.op == _COLLECT
            or (each.tag is not None and each.op != "extract")
            or each in self._by_victim.get(each.shown.what or "", ())
            for each in tickets
            if not each.settled and each.comes_to is None
        )

    def awaits(self, tag: Tag, receiver: str) -> bool:
        """Whether a ticket that was not over awaited this receiver's notices of an account."""
        tickets = self._by_tag.get(tag, ())
        return any(each.comes_to is None and each.shown.pd != receiver for each in tickets)

    def resuming(self, tags: Iterable[Tag]) -> None:
        """Held notices of these accounts are about to be resumed."""
        for tag in tags:
            for asked in self._by_tag.get(tag, ()):
                number, owner = asked.shown.ticket, asked.shown.pd
                there = owner in self.context.model.nodes
                if there and asked.comes_to is None and self._is_over(asked):
                    self._open.setdefault(owner, {})[number] = None
                    asked.may_be_forgotten |= self.newest() > number

    def demand_told(self, event: Event) -> None:
        """Checks that no PD waits for a ticket that is over when a PD acts again."""
        for pd, number in self.context.actors.waiting.items():
            asked = self._all[number]
            if not asked.told_needless and self._is_over(asked):
                asked.told_needless = True
                text = f"expected TICKET ticket={number} before it: {pd} waits for it"
                self.bad("tickets.needless", text)

    def in_use(self) -> tuple[int, int]:
        """The tickets that are not over, at least and at most."""
        fewest = most = 0
        for owner, numbers in list(self._open.items()):
            for number in list(numbers):
                asked = self._all[number]
                if self._is_over(asked):  # until held notices are resumed
                    del numbers[number]
                    if not numbers:
                        del self._open[owner]
                else:
                    fewest += "over" not in self._states(asked) and not asked.may_be_forgotten
                    most += 1
        return fewest, most

    def _is_over(self, asked: Asked) -> bool:
        """Whether nothing will come of the ticket any more, for certain."""
        return self._states(asked) <= _ENDS

    def prevent(self, victim: str) -> None:
        """The PD is not terminated after all."""
        for asked in self._by_victim.pop(victim, []):
            asked.comes_to = "prevented"

    # -- events

    def accept(self, event: Event) -> None:
        """A PD asked for something, and has the next ticket."""
        context, pd = self.context, event["by"]
        victim = event.optional("pd") if event.name == "TRIGGER" else None
        number, op = self.newest() + 1, TICKETED[event.values.get("cause", event.name)]
        asked = self._all[number] = Asked(Ticket(number, pd, victim), op)
        context.report.tickets.append(asked.shown)
        self._open.setdefault(pd, {})[number] = None
        if op == _COLLECT:
            self._collections.append(asked)
        elif victim is None:
            asked.tag = ("extraction", context.extractions.last)
            self._by_tag.setdefault(asked.tag, []).append(asked)
        elif victim in context.model.nodes:
            self._by_victim.setdefault(victim, []).append(asked)
        waits = context.settings.mode == "sync" and op != "extract"
        if waits and pd not in context.actors.silent:
            context.actors.waiting[pd] = number

    @outside("TICKET")
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
            sent = asks(context.previous) and state == self._numbers["queued"]
            if self._names.get(state) not in _ENDS and not late and not sent:
                text = f"ticket={number}: state={state}: {owner} is to be told when it is over"
                self.bad("tickets.wait", text)
        context.actors.may_act(event, owner)

    def _check_state(self, event: Event, asked: Asked) -> None:
        shown = asked.shown
        state = event.number("state")
        expected = dict.fromkeys(COUNTS, 0)
        if asked.tag is not None:
            expected = self.context.notices.work.counts(asked.tag, shown.pd)
        states = {self._numbers[name]: name for name in self._states(asked)}
        if state not in states:
            names = " or ".join(f"{number} ({name})" for number, name in sorted(states.items()))
            text = f"ticket={shown.ticket}: state={state}: expected {names}"
            self.bad("tickets.state", text)
        for name, should in expected.items():
            has = event.number(name)
            setattr(shown, name, has)
            if has != should:
                text = f"ticket={shown.ticket}: {name}={has}: by the events before it {should} are"
                self.bad("tickets.counts", text)
        shown.state = self._names.get(state, str(state))
        if shown.state in _ENDS:
            asked.comes_to = shown.state

    def _states(self, asked: Asked) -> set[str]:
        """The states that the owner may be told now."""
        if asked.comes_to is not None:
            return {asked.comes_to}
        if asked.tag is None:
            # If another cleanup destroyed the PD, the ticket is updated when its own turn comes.
            there = asked.op == _COLLECT or asked.shown.what in self.context.model.nodes
            return {"queued"} if there else {"queued", "over"}
        if not asked.settled:
            return {"running"}
        over = self.context.notices.work.is_over(asked.tag, asked.shown.pd)
        return {"over" if over else "settled"}

    # -- cancellation of what has not taken effect; docs/operations.md says what that is

    @outside("CANCEL")
    def cancel(self, event: Event) -> None:
        """CANCEL: a PD cancels what it, or a PD that it may terminate, asked for."""
        context, number, name = self.context, event.number("ticket"), event["name"]
        pd, of = event["pd"], event.optional("of")
        if not context.actors.may_act(event, pd):
            return
        if pd == ROOT:
            self.bad("cancel.right")
        if of is None:
            wrong = f"of=- ticket={number}: whose ticket?" if number else None
            wrong = wrong or context.respawns.cancel(name)
        else:
            body = context.model.body_of(of) if of in context.model.nodes else None
            if of != pd and (body is None or (pd, body) not in context.model.holds):
                self.bad("cancel.right")
            wrong = self._cancel_ticket(of, number) if number else self._connect(pd, of, name)
            if wrong is None and not number:
                context.actors.refuse_cancelled(of)
        if wrong is not None or (of is not None and number and name != "-"):
            self.bad("cancel.what", wrong or "")

    def _connect(self, pd: str, of: str, name: str) -> str | None:
        """What is wrong if a PD waited for a space until now; None if nothing."""
        actors, model = self.context.actors, self.context.model
        if of == pd or name == "-":
            return "expected the name of a space for which another PD waits"
        if of in actors.silent or of in actors.waiting:
            return f"{of} waits for no space"
        for space, manager in model.manager.items():
            there = self.context.report.names.get(space) == name and not model.is_core(space)
            if there and manager in model.nodes and manager not in actors.silent:
                return f"{space} is there, so nobody waits for it"
        return None

    def _cancel_ticket(self, of: str, number: int) -> str | None:
        """The work of a ticket is cancelled. What is wrong with that; None if nothing."""
        context, asked = self.context, self._all.get(number)
        if asked is None or asked.shown.pd != of:
            return f"ticket={number}: {of} has no such ticket"
        victim = asked.shown.what
        if asked.op == _COLLECT:
            return f"ticket={number}: a collection cannot be cancelled"
        if victim is not None:
            if asked.comes_to or asked.tag or victim not in context.triggers.later:
                return f"ticket={number}: the end of {victim} is not put off"
            context.triggers.cancel(victim)
            self._by_victim[victim].remove(asked)
        else:
            assert asked.tag is not None
            x = asked.tag[1]
            if x not in context.extractions.running:
                return f"ticket={number}: extraction {x} is not under way"
            context.extractions.cancel(x)
        asked.comes_to = "cancelled"
        return None
