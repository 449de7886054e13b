# SPDX-License-Identifier: BSD-2-Clause
"""What PDs are told: each answer has the words that follow from the events before it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import ClassVar, Final

from cellreap import headers
from cellreap.model.digest import of_words
from cellreap.model.ids import ROOT, parse_id, resource_id
from cellreap.platforms import register_names
from cellreap.trace.check.context import Concern, Context, Handlers
from cellreap.trace.check.tickets import TICKETED
from cellreap.trace.check.work import COUNTS, LEFT_BEHIND, Notice
from cellreap.trace.events import Event, asks

ANSWERED: Final = {"fetched NOTICE": "get_work", "TICKET": "ticket"}
"""Event -> the operation whose ANSWER follows it directly."""
SEES: Final = frozenset({*ANSWERED, "FAULT", "FAULT_HELD"})
"""Events from which answers follow."""
_TICKET: Final = ("state", *COUNTS)

Words = list[int]
Wanted = list[Words] | None
"""The answers that may be given; None: nobody can know."""


@functools.cache
def _questions() -> frozenset[str]:
    """Operations of whose answers the trace tells what they are about."""
    return frozenset(operation.word for operation in headers.operations() if operation.asks)


@functools.cache
def _numbers(header: str, macro: str) -> Mapping[str, int]:
    return headers.printed_names(header, macro)


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
        self._last: dict[str, Event] = {}
        """the last event of each name"""
        self._faults: dict[str, Event] = {}  # PD -> its last FAULT or FAULT_HELD
        self._by_number: dict[str, dict[int, str]] = {"PD": {}, "RESOURCE_SPACE": {}}
        self._known_ids = 0

    # -- for other concerns

    def see(self, event: Event) -> None:
        """One of SEES, or the event after it."""
        due, name, before = self.due, event.told, self.context.previous
        if name == "ANSWER":
            return
        self.due = None
        goes_on = name == "fetched NOTICE" and due == (event["pd"], ANSWERED[name])
        if due is not None and not goes_on:
            self.bad("answers.each", f"expected the ANSWER pd={due[0]} op={due[1]} before it")
        if name in ("FAULT", "FAULT_HELD"):
            self._faults[event["pd"]] = event
        if name not in SEES:
            return
        self._last[name] = event
        if name == "fetched NOTICE":
            self._fetched = [*(self._fetched if goes_on else ()), event.number("token")]
            self.due = event["pd"], ANSWERED[name]
        elif name == "TICKET" and (before is None or not asks(before)):
            # One directly after what it is for is of a PD that does not wait for an answer.
            self.due = self._owner(event), ANSWERED[name]

    def _owner(self, ticket: Event) -> str:
        owner = self.context.tickets.owner(ticket.number("ticket"))
        return owner or ROOT

    # -- ANSWER

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
        asks = op in _questions()
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
        return [self._state(self._last["TICKET"])]

    def _accepted(self, event: Event, due: bool) -> Wanted:
        """At once: the ticket, which is queued. Later: the ticket and its state."""
        if due:
            ticket = self._last["TICKET"]
            return [[ticket.number("ticket"), *self._state(ticket)]]
        newest = self.context.tickets.newest()
        if newest is None or newest[1:] != (event["pd"], event["op"]):
            return []
        state = [] if event["op"] == "extract" else [0] * len(_TICKET)
        return [[newest[0], *state]]

    def _waits(self, op: str) -> str:
        """What is due if this operation waits for its ticket, in mode sync."""
        ticket = self._last.get("TICKET")
        asked = ticket is not None and self.context.tickets.op(ticket.number("ticket")) == op
        return "ticket" if asked else ""

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
        fault = None if notice is None else self._faults.get(notice.node)
        if notice is None or (notice.to, notice.kind) != (event["pd"], "fault") or fault is None:
            return []
        kind = _numbers("protocol.h", "CR_FAULT_KIND")[fault["kind"]]
        return [[kind, fault.number("address"), fault.number("ip")]]

    def _holds(self, event: Event, due: bool) -> Wanted:
        space = self._used("RESOURCE_SPACE").get(event.number("space"))
        parts = None if space is None else parse_id(space)
        if space is None or parts is None:
            return []
        model = self.context.model
        node = resource_id(parts.type, parts.number, event.number("number"))
        if node not in model.space_of:
            return []
        return [[model.holds.get((event["pd"], node), 0), model.counted_holds(node)]]

    # -- what was made or dropped just now

    def _just(self, event: Event, told: str) -> Event | None:
        """The event before the ANSWER, if it is the change that the PD asked for.

        If others came in between, nobody can know which change it was.
        """
        before = self.context.previous
        asked = before is not None and before.told == told and before["op"] == event["op"]
        return before if asked and before is not None and before["asker"] == event["pd"] else None

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
        context, number = self.context, event.number("number")
        states = _numbers("protocol.h", "CR_LOOK_STATE")
        active, doomed, gone = (states[name] for name in ("active", "doomed", "destroyed"))
        is_pd = event["space"] == "0"
        asked = number if is_pd else event.number("space")
        used = self._used("PD" if is_pd else "RESOURCE_SPACE")
        node = used.get(asked)
        if node is None:  # Behind a saved state not all smaller numbers were used here.
            return [[gone]] if 0 < asked < max(used, default=0) else []
        if node not in context.model.nodes:
            return [[gone]]
        if node in context.cleanups.doomed():
            # A later run may have destroyed some of what an earlier one left.
            return [[doomed], [gone]] if node in context.residue.doomed() else [[doomed]]
        if is_pd or number == 0:
            return [[active]]
        parts = parse_id(node)
        assert parts is not None
        there = resource_id(parts.type, parts.number, number) in context.model.space_of
        return [[active if there else gone]]

    def _mortem(self, event: Event, due: bool) -> Wanted:
        is_pd = event["space"] == "0"
        number = event.number("number")
        node = self._used("PD" if is_pd else "RESOURCE_SPACE").get(
            number if is_pd else event.number("space")
        )
        end = None if node is None else self.context.tombstones.end_of(node, event["pd"])
        if node is None or end is None:
            return []
        faulted = end.kind != "-"
        kind = _numbers("protocol.h", "CR_FAULT_KIND")[end.kind] if faulted else 0
        parts = parse_id(node)
        assert parts is not None
        type_ = "PD" if is_pd else parts.type
        name = self.context.report.names.get(node, "-")
        words = [
            _numbers("protocol.h", "CR_ENDING")[end.how], int(end.code), int(faulted), kind,
            int(end.address, 0), int(end.ip, 0),
            *_packed(type_, headers.constant("protocol.h", "CR_TYPE_WORDS")),
            *_packed(name, headers.constant("protocol.h", "CR_NAME_WORDS")),
        ]  # fmt: skip
        if not faulted:
            return [words]
        fault = self._faults.get(node)
        if fault is None or fault.optional("registers") is None:
            return None
        registers = fault.registers()
        names = register_names(self.context.report.arch)
        return [[*words, *(registers.get(name, 0) for name in names)]]

    def _used(self, kind: str) -> dict[int, str]:
        """The PDs or spaces that there are or were, by number."""
        used = self.context.used_ids
        if len(used) != self._known_ids:
            self._known_ids = len(used)
            self._by_number = {"PD": {}, "RESOURCE_SPACE": {}}
            for node in used:
                if (parts := parse_id(node)) is not None:
                    self._by_number[parts.kind][parts.number] = node
        return self._by_number[kind]

    handlers: ClassVar[Handlers] = {"ANSWER": answer}


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
