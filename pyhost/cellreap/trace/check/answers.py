# SPDX-License-Identifier: BSD-2-Clause
"""What PDs are told: each answer has the words that follow from the events before it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Final

from cellreap import headers
from cellreap.model.digest import of_words
from cellreap.model.ids import ROOT, parse_id, parts_of, resource_id
from cellreap.platforms import register_names
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.check.tickets import TICKETED
from cellreap.trace.check.work import COUNTS, LEFT_BEHIND, Notice
from cellreap.trace.events import Event, asks

ANSWERED: Final = {"fetched NOTICE": "get_work", "TICKET": "ticket"}
"""Event -> the operation whose ANSWER follows it directly."""
_TICKET: Final = ("state", *COUNTS)

Words = list[int]
Wanted = list[Words] | None
"""The answers that may be given; None: nobody can know."""


_numbers: Final = functools.cache(headers.printed_names)
_QUESTIONS: Final = frozenset(each.word for each in headers.operations() if each.asks)
"""Operations of whose answers the trace tells what they are about."""


def _packed(text: str, words: int) -> Words:
    """A text in words of 8 bytes, padded with NUL."""
    data = text.encode("utf-8", "surrogateescape").ljust(8 * words, b"\0")
    return [int.from_bytes(data[8 * i : 8 * i + 8], "little") for i in range(words)]


def _place(node: str) -> tuple[int, int, int]:
    """The numbers of the space, of the resource in it and of the PD that an id has; 0: none."""
    parts = parse_id(node)
    if parts is None:
        return 0, 0, 0
    if parts.kind == "PD":
        return 0, 0, parts.number
    return (parts.number, 0, 0) if parts.space is None else (parts.space, parts.number, 0)


def _told(notice: Notice) -> Words:
    """What the receiver of a notice is told."""
    space, number, pd = _place(notice.node)
    if notice.kind == "pre-destroy":
        number = notice.number
    elif notice.kind in LEFT_BEHIND and notice.dead != "-":
        pd = _place(notice.dead)[2]
    broken = notice.number if notice.kind == "lost" else 0
    return [notice.token, space, number, pd, broken]


class Answers(Concern):
    """ANSWER."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.due: tuple[str, str] | None = None
        """(PD, operation): whose answer must come next"""
        self._fetched: list[int] = []
        """the tokens of the last GET_WORKs"""
        self._told: Event | None = None
        """the last TICKET"""

    # -- for other concerns

    def see(self, event: Event) -> None:
        """One of ANSWERED, or the event after it."""
        due, name, before = self.due, event.told, self.context.previous
        if name == "ANSWER":
            return
        self.due = None
        goes_on = name == "fetched NOTICE" and due == (event["pd"], ANSWERED[name])
        if due is not None and not goes_on:
            self.bad("answers.each", f"expected the ANSWER pd={due[0]} op={due[1]} before it")
        if name == "fetched NOTICE":
            self._fetched = [*(self._fetched if goes_on else ()), event.number("token")]
            self.due = event["pd"], ANSWERED[name]
        elif name == "TICKET":
            self._told = event
        if name == "TICKET" and not asks(before):
            # One directly after what it is for is of a PD that does not wait for an answer.
            asked = self.context.tickets.get(event.number("ticket"))
            self.due = ROOT if asked is None else asked.shown.pd, ANSWERED[name]

    # -- ANSWER

    @outside("ANSWER")
    def answer(self, event: Event) -> None:
        """ANSWER: a PD is told something."""
        context, pd, op = self.context, event["pd"], event["op"]
        due, self.due = self.due, None
        if due is None and op in ANSWERED.values():
            self.bad("answers.each", f"pd={pd} op={op}: expected it after its event")
            return
        if due is not None and (pd, op) != due and due != (pd, self._waits(op)):
            self.bad("answers.each", f"pd={pd} op={op}: expected pd={due[0]} op={due[1]}")
            return
        if due is None and not context.actors.may_act(event, pd):
            return
        derive = _WORDS.get(op)
        asks = op in _QUESTIONS
        if asks:
            context.interleaved.told(event)
        if derive is None or (not asks and (event["space"], event["number"]) != ("0", "0")):
            self.bad("answers.each", f"{op} tells nothing, or not of that")
            return
        wanted = derive(self, event, due is not None)
        if wanted is None and op in _MADE:
            self.compare("answers.words", words=_MADE[op][1])
        if wanted is not None and not any(
            (event.number("words"), event["digest"]) == (len(words), of_words(words))
            for words in wanted
        ):
            shown = " or ".join(" ".join(map(str, words)) for words in wanted) or "a refusal"
            self.bad("answers.words", f"{pd} was told by {op} something else than {shown}")

    def _work(self, event: Event, due: bool) -> Wanted:
        work = self.context.notices.work
        told = [notice for token in self._fetched if (notice := work.get(token)) is not None]
        if len(told) != len(self._fetched) or not told:
            return []
        number = _numbers("policy.h", "CR_NOTICE_KIND")[told[0].kind]
        return [[number, len(told), *(word for notice in told for word in _told(notice))]]

    def _state(self, ticket: Event) -> Words:
        return [ticket.number(field) for field in _TICKET]

    def _ticket(self, event: Event, due: bool) -> Wanted:
        return [] if self._told is None else [self._state(self._told)]

    def _accepted(self, event: Event, due: bool) -> Wanted:
        """At once: the ticket, which is queued. Later: the ticket and its state."""
        if due and self._told is not None:
            return [[self._told.number("ticket"), *self._state(self._told)]]
        number = self.context.tickets.newest()
        newest = self.context.tickets.get(number)
        if newest is None or (newest.shown.pd, newest.op) != (event["pd"], event["op"]):
            return []
        state = [] if event["op"] == "extract" else [0] * len(_TICKET)
        return [[number, *state]]

    def _waits(self, op: str) -> str:
        """What is due if this operation waits for its ticket, in mode sync."""
        number = 0 if self._told is None else self._told.number("ticket")
        asked = self.context.tickets.get(number)
        return "ticket" if asked is not None and asked.op == op else ""

    def _report(self, event: Event, due: bool) -> Wanted:
        self.context.authority.demand(event["pd"], "listen")
        number, told = self.context.reports.after(event.number("number"))
        if told is None or event["space"] != "0":
            return []
        space, object_, _ = _place(told.node)
        step = 0
        if told.what == "unmade":
            step = _numbers("make_steps.h", "CR_MAKE_STEP").get(told.name, 0)
            object_ = _numbers("make_steps.h", "CR_MADE")[told.node]
        elif told.name != "-":
            step = headers.names_of("steps.h", "cr_step_kind", "CR_STEP_").get(told.name, 0)
        what, about = _numbers("protocol.h", "CR_REPORT")[told.what], _place(told.about)[2]
        first = [number, what, int(told.n), about, int(told.step), int(told.steps)]
        return [[*first, step, space, object_, int(told.attempts), int(told.result)]]

    def _progress(self, event: Event, due: bool) -> Wanted:
        under_way = [running.result.number for running in self.context.cleanups.under_way()]
        n = event.number("number") or max(under_way, default=0)
        if n not in under_way:
            return []
        return [[n, *self.context.reports.progress(n)]]

    def _fault(self, event: Event, due: bool) -> Wanted:
        notice = self.context.notices.work.get(event.number("number"))
        fault = None if notice is None else self.context.tombstones.end_of(notice.node).fault
        if notice is None or (notice.to, notice.kind) != (event["pd"], "fault") or fault is None:
            return []
        return [self._fault_words(fault)]

    def _fault_words(self, fault: Event) -> Words:
        kind = _numbers("protocol.h", "CR_FAULT_KIND")[fault["kind"]]
        return [kind, fault.number("address"), fault.number("ip")]

    def _holds(self, event: Event, due: bool) -> Wanted:
        model, space = self.context.model, self._about(event)
        node = "" if space is None else _inside(space, event)
        if node not in model.space_of:
            return []
        return [[model.holds.get((event["pd"], node), 0), model.counted_holds(node)]]

    # -- what was made or dropped just now

    def _just(self, event: Event, told: str) -> Event | None:
        """The event before the ANSWER, if it is the change that the PD asked for.

        If others came in between, nobody can know which change it was.
        """
        before = self.context.previous
        asked = before.told == told and before["op"] == event["op"]
        return before if asked and before["asker"] == event["pd"] else None

    def _made(self, event: Event, due: bool) -> Wanted:
        told, _, words = _MADE[event["op"]]
        made = self._just(event, told)
        return None if made is None else [words(made, self.context)]

    def _connected(self, event: Event, due: bool) -> Wanted:
        """The slot and the space of a request, which is new or is there already."""
        made = self._just(event, "made REQUEST")
        slots = self.context.slots.of(event["pd"]).items()
        requests = [(slot, node) for slot, (kind, node) in slots if kind == "REQUEST"]
        return [
            [slot, _place(node)[0]]
            for slot, node in requests
            if made is None or (slot, node) == (made.number("number"), made["to"])
        ]

    # -- what was asked

    def _look(self, event: Event, due: bool) -> Wanted:
        context = self.context
        states = _numbers("protocol.h", "CR_LOOK_STATE")
        active, doomed, gone = (states[name] for name in ("active", "doomed", "destroyed"))
        node = self._about(event)
        if node is None:  # Behind a saved state not all smaller numbers were used here.
            used, asked = self._asked(event)
            return [[gone]] if 0 < asked < max(used, default=0) else []
        if node not in context.model.nodes:
            return [[gone]]
        if node in context.cleanups.doomed():
            # A later run may have destroyed some of what an earlier one left.
            return [[doomed], [gone]] if node in context.residue.doomed() else [[doomed]]
        there = "0" in (event["space"], event["number"])
        there = there or _inside(node, event) in context.model.space_of
        return [[active if there else gone]]

    def _mortem(self, event: Event, due: bool) -> Wanted:
        node = self._about(event)
        if node is None or not self.context.tombstones.may_ask(event["pd"], node):
            return []
        end = self.context.tombstones.end_of(node)
        fault = [1, *self._fault_words(end.fault)] if end.fault else [0, 0, 0, 0]
        name = self.context.report.names.get(node, "-")
        words = [
            _numbers("protocol.h", "CR_ENDING")[end.how], end.code, *fault,
            *_packed(parts_of(node).type or "PD", headers.constant("protocol.h", "CR_TYPE_WORDS")),
            *_packed(name, headers.constant("protocol.h", "CR_NAME_WORDS")),
        ]  # fmt: skip
        if end.fault is None:
            return [words]
        if end.fault.optional("registers") is None:
            return None
        registers = end.fault.registers()
        names = register_names(self.context.report.arch)
        return [[*words, *(registers.get(name, 0) for name in names)]]

    def _about(self, event: Event) -> str | None:
        """The PD or space that was asked about. None: none was ever made that has this number."""
        used, asked = self._asked(event)
        return used.get(asked)

    def _asked(self, event: Event) -> tuple[Mapping[int, str], int]:
        """The PDs or spaces that there are or were, by number, and the number of the one."""
        of_pd = event["space"] == "0"
        used = self.context.used["PD" if of_pd else "RESOURCE_SPACE"]
        return used, event.number("number" if of_pd else "space")


def _inside(space: str, event: Event) -> str:
    """The resource of the space that was asked about."""
    parts = parts_of(space)
    return resource_id(parts.type, parts.number, event.number("number"))


def _slot(made: Event, _context: Context) -> Words:
    return [made.number("number")]


_MADE: Final[Mapping[str, tuple[str, int, Callable[[Event, Context], Words]]]] = {
    **dict.fromkeys(("give", "send", "save"), ("made HOLD", 1, _slot)),
    "share_request": ("made REQUEST", 1, _slot),
    "create_resource": ("made HOLD", 1, lambda made, _: [_place(made["to"])[1]]),
    "spawn": ("made HOLD", 2, lambda made, _: [made.number("number"), _place(made["to"])[1]]),
    "allocate": ("made HOLD", 2, lambda made, _: [*_place(made["to"])[:2]]),
    "attach": ("made MAP", 2, lambda made, _: [*_place(made["from"])[:2]]),
    "release": (
        "dropped HOLD", 1,
        lambda made, context: [context.model.holds.get((made["from"], made["to"]), 0)],
    ),
}  # fmt: skip
"""Operation -> the change that it makes, how many words its answer has, and what they are. Nobody
may know them.
"""
_WORDS: Final[Mapping[str, Callable[[Answers, Event, bool], Wanted]]] = {
    "get_work": Answers._work,
    "ticket": Answers._ticket,
    **dict.fromkeys(TICKETED.values(), Answers._accepted),
    "listen": Answers._report,
    "progress": Answers._progress,
    "fault_info": Answers._fault,
    "holds": Answers._holds,
    **dict.fromkeys(_MADE, Answers._made),
    "connect": Answers._connected,
    "look": Answers._look,
    "post_mortem": Answers._mortem,
}
"""Operation -> the answers that its PD may get now."""
