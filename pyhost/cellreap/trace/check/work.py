# SPDX-License-Identifier: BSD-2-Clause
"""Unfinished notices by lane, receiver and account. docs/trace-format.md has the rules.

The cost of an operation depends on what it touches: one notice, the notices fetched with it (at
most 16), and, where a failure stops a lane or a ticket counts them, those of the lane or account.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from cellreap import headers
from cellreap.model.ids import kind_of, parts_of, space_id

QUEUED, OUT, FAILED = "queued", "out", "failed"
"""States of an unfinished notice."""
DONE, DROPPED, WAITING, HELD = "done", "dropped", "waiting", "held"
COUNTS = (DONE, FAILED, DROPPED, WAITING, HELD)
"""The counts in a TICKET event, in this order. Held notices are also counted as waiting, and those
whose receivers were given up.
"""
STRICT = ("probe", "fault")
"""Kinds of notices that have a time of their own each. The time of the others begins when one of
them is finished, or the first one is owed.
"""
NEVER_STOP = ("pre-destroy", "extract", *STRICT)
"""Kinds of notices whose failure does not stop a lane."""
LEFT_BEHIND = ("free", "disconnect")
"""Kinds of notices that a destroyed PD leaves behind. They can be merged."""
LIMITED = (*LEFT_BEHIND, "extract")
"""Kinds of notices of which a receiver may fetch only so many before it finishes them."""

MAX_TAKEN: Final = headers.constant("limits.h", "CR_MAX_TAKEN")

Tag = tuple[str, int]
"""The account of a notice: ("cleanup", n), ("extraction", x), or ("no cleanup", 0)."""


@dataclass
class Notice:
    """A notice that is not finished, or that failed and is still the first of its lane.

    tag: None once it was resumed or given up. given_up: the tag before it was given up. batch: the
    number of the batch in which it was fetched. dead, number: `from` and `number` of its QUEUE.
    seen: it was fetched, be it before it was taken back.
    """

    token: int
    to: str
    kind: str
    node: str
    tag: Tag | None
    state: str = QUEUED
    batch: int = 0
    given_up: Tag | None = None
    dead: str = "-"
    number: int = 0
    seen: bool = False

    def stands_for_several(self) -> bool:
        """Whether it was merged."""
        return self.kind == "disconnect" and self.dead == "-"


def lane_of(node: str, kind: str = "") -> str:
    """The space of the lane for notices about a node; "-" for a PD.

    Probes have a lane of their own, and so have the faults of each PD.
    """
    if kind in STRICT:
        return f"{kind} {node}"
    parts = parts_of(node)
    if parts.kind == "PD":
        return "-"
    return node if parts.space is None else space_id(parts.type, parts.space)


class _Lane(OrderedDict[int, Notice]):
    """The notices of one receiver about one space, by their tokens, in order."""

    def head(self) -> Notice:
        return next(iter(self.values()))

    def stopped(self) -> bool:
        """Whether the first notice of the lane failed."""
        return bool(self) and self.head().state == FAILED


class _Account:
    """The notices of one account."""

    def __init__(self) -> None:
        self.ended: Counter[tuple[str, str]] = Counter()
        """(receiver, what became of them) -> how many no longer wait, or were given up"""
        self.open: dict[int, Notice] = {}
        """by token: unfinished notices"""


@dataclass
class _Receiver:
    """A PD to which a notice was queued."""

    lanes: defaultdict[str, _Lane] = field(default_factory=lambda: defaultdict(_Lane))
    """by space"""
    taken: int = 0
    """number of notices of limited kinds that it has fetched and not finished"""

    def heads(self) -> list[Notice]:
        """The first notices of the lanes that did not stop."""
        heads = (lane.head() for lane in self.lanes.values() if lane)
        return [head for head in heads if head.state != FAILED]

    def is_ready(self) -> bool:
        """Whether it would be handed a notice."""
        full = self.taken >= MAX_TAKEN
        return any(
            head.state == QUEUED and (head.seen or not full or head.kind not in LIMITED)
            for head in self.heads()
        )


class Work:
    """All notices. bad: is told the rule that an operation breaks, with a text. An operation
    returns whether it took place.
    """

    def __init__(self, bad: Callable[[str, str], None]) -> None:
        self._bad = bad
        self._most = headers.constant("protocol.h", "CR_WORK_MAX")
        self._notices: dict[int, Notice] = {}
        self._receivers: defaultdict[str, _Receiver] = defaultdict(_Receiver)
        self._accounts: defaultdict[Tag, _Account] = defaultdict(_Account)
        self._last_token = 0
        self._batch = 0
        self._fetching: tuple[str, str, int] | None = None
        """(PD, kind, number of notices so far) of the current fetch"""

    # -- queries

    def get(self, token: int) -> Notice | None:
        """A notice that is not finished; None if there is none with this token."""
        return self._notices.get(token)

    def _lane(self, notice: Notice) -> _Lane:
        return self._receivers[notice.to].lanes[lane_of(notice.node, notice.kind)]

    def is_held(self, notice: Notice) -> bool:
        """Whether the notice waits behind one that failed."""
        lane = self._lane(notice)
        return notice.state != FAILED and lane.stopped()

    def tags_behind(self, token: int) -> set[Tag]:
        """The accounts of the notices held behind one that failed."""
        notice = self._notices.get(token)
        lane = self._lane(notice).values() if notice is not None else ()
        return {each.tag for each in lane if each.tag is not None}

    def behind(self, token: int) -> int:
        """The number of notices held behind one that failed."""
        notice = self._notices.get(token)
        return 0 if notice is None or notice.state != FAILED else len(self._lane(notice)) - 1

    def unfinished(self, tag: Tag | None = None) -> Iterator[Notice]:
        """The notices that are still to be finished, without held ones. tag: of one account."""
        for notice in (self._notices if tag is None else self._accounts[tag].open).values():
            if not self._lane(notice).stopped():
                yield notice

    def has_work(self, pd: str) -> bool:
        """Whether the PD has a notice that it can still finish."""
        return bool(self._receivers[pd].heads())

    def is_ready(self, pd: str) -> bool:
        """Whether the PD would be handed a notice if it asked for work now."""
        return self._receivers[pd].is_ready()

    def oldest(self, pd: str, but: Callable[[Notice], bool]) -> int | None:
        """The token of the oldest notice that the PD can still finish.

        but: selects notices to leave out. They are alone in their lanes.
        """
        heads = self._receivers[pd].heads()
        return min((head.token for head in heads if not but(head)), default=None)

    def probes(self, pd: str) -> int:
        """The number of probes that the PD has not finished."""
        return len(self._receivers[pd].lanes[lane_of(pd, "probe")])

    def counts(self, tag: Tag, but: str) -> dict[str, int]:
        """COUNTS of an account, without the notices to the PD `but`."""
        account = self._accounts[tag]
        found = Counter[str]()
        for (receiver, what), count in account.ended.items():
            found[what] += count if receiver != but else 0
        for notice in account.open.values():
            found[WAITING] += notice.to != but
            found[HELD] += notice.to != but and self.is_held(notice)
        return {what: found[what] for what in COUNTS}

    def is_over(self, tag: Tag, but: str) -> bool:
        """Whether nothing of an account is awaited, without the notices to the PD `but`."""
        return all(notice.to == but for notice in self.unfinished(tag))

    # -- operations

    def _wrong(self, rule: str, token: int, text: str) -> bool:
        self._bad(rule, f"token={token}: {text}")
        return False

    def queue(self, notice: Notice, tag: Tag) -> None:
        """Queues a notice of an account at the end of its lane."""
        token, to = notice.token, notice.to
        if token <= self._last_token:
            self._wrong("notices.token", token, f"expected more than {self._last_token}")
        self._last_token = max(token, self._last_token)
        if token not in self._notices:
            self._notices[token] = notice
            self._receivers[to].lanes[lane_of(notice.node, notice.kind)][token] = notice
            self._accounts[tag].open[token] = notice

    def fetch(self, pd: str, token: int, goes_on: bool) -> bool:
        """A PD fetches a notice. goes_on: whether the event before was also one."""
        notice = self._notices.get(token)
        if notice is None or notice.to != pd or notice.state == FAILED:
            return self._wrong("notices.fetch", token, f"no such notice waits for {pd}")
        if notice.state == OUT:
            return self._wrong("notices.fetch", token, f"{pd} has fetched it before")
        if not goes_on:
            self._fetching = None
        wrong = self._out_of_order(notice)
        if wrong is not None:
            return self._wrong("notices.order", token, f"{pd} {wrong}")
        notice.state = OUT
        receiver = self._receivers[pd]
        if not notice.seen and notice.kind in LIMITED:
            receiver.taken += 1
            if receiver.taken > MAX_TAKEN:
                text = f"{pd} has {receiver.taken} such notices: expected at most {MAX_TAKEN}"
                self._wrong("notices.taken", token, text)
        notice.seen = True
        return True

    def _out_of_order(self, notice: Notice) -> str | None:
        """What is wrong if an earlier notice of the lane was not fetched in the same batch."""
        fetching = self._fetching
        same = fetching is not None and fetching[:2] == (notice.to, notice.kind)
        if fetching is None or not same or fetching[2] >= self._most:
            self._batch += 1
            fetching = (notice.to, notice.kind, 0)
        self._fetching = (notice.to, notice.kind, fetching[2] + 1)
        for before in self._lane(notice).values():
            if before is notice:
                break
            if before.state == FAILED:
                return f"failed to deal with {before.token} before it, and has not resumed that"
            if before.state == QUEUED:
                return f"is to fetch {before.token} before it"
            if before.batch != self._batch:
                fetched = f"{before.token}, which it fetched earlier, about the same space"
                return f"has not finished {fetched}"
        notice.batch = self._batch
        return None

    def finish(self, pd: str, token: int, result: str) -> bool:
        """A PD acknowledges a notice."""
        notice = self._notices.get(token)
        if notice is None or notice.to != pd or notice.state != OUT:
            text = f"{pd} has fetched no such notice, or acknowledged it before"
            return self._wrong("notices.finish", token, text)
        of_space = kind_of(notice.node) == "RESOURCE_SPACE"
        if result == "each" and (notice.kind != "extract" or not of_space):
            text = "result=each: expected it only of an extract notice about a space"
            return self._wrong("notices.each", token, text)
        lane = self._lane(notice)
        if lane.head() is not notice:
            text = f"{pd} is to finish {lane.head().token}, about the same space, before it"
            return self._wrong("notices.order", token, text)
        failed = result == "failed"
        self._no_longer_waits(notice, FAILED if failed else DONE)
        if failed and notice.kind not in NEVER_STOP:
            self._stop(notice, lane)
        else:
            self._remove(notice, lane)
        return True

    def _remove(self, notice: Notice, lane: _Lane) -> None:
        self._receivers[notice.to].taken -= notice.seen and notice.kind in LIMITED
        del lane[notice.token]
        del self._notices[notice.token]

    def _no_longer_waits(self, notice: Notice, becomes: str | None = None) -> None:
        """Nobody awaits the notice any more. becomes: as what its account counts it."""
        if notice.tag is not None and notice.state != FAILED:
            account = self._accounts[notice.tag]
            del account.open[notice.token]
            if becomes is not None:
                account.ended[notice.to, becomes] += 1

    def _stop(self, notice: Notice, lane: _Lane) -> None:
        """The first notice of a lane failed. Those behind it are held and no longer fetched."""
        notice.state = FAILED
        for other in lane.values():
            if other.state == QUEUED:
                break  # fetched notices stand before all others
            if other.state == OUT:
                other.state = QUEUED

    def resume(self, pd: str, token: int) -> bool:
        """A failed notice is to be delivered again."""
        notice = self._notices.get(token)
        if notice is None or notice.to != pd or notice.state != FAILED:
            return self._wrong("notices.resume", token, f"no notice of {pd}'s that has failed")
        notice.state, notice.tag = QUEUED, None
        return True

    def give_up(self, pd: str, token: int) -> list[Notice]:
        """The notices of a PD up to this token are awaited by nobody any more. Returns them.

        Their accounts count them as waiting for ever, and not as held.
        """
        given_up = []
        for lane in self._receivers[pd].lanes.values():
            for notice in lane.values():
                if notice.token <= token and notice.tag is not None:
                    given_up.append(notice)
                    self._no_longer_waits(notice, WAITING)
                    notice.given_up, notice.tag = notice.tag, None
        return given_up

    def unseen_beside(self, notice: Notice) -> list[Notice]:
        """The notices in the same lane that nobody has fetched, without this one."""
        lane = self._lane(notice).values()
        return [each for each in lane if each is not notice and not each.seen]

    def unseen_questions(self, tag: Tag) -> list[Notice]:
        """The extract notices of an extraction that nobody has fetched."""
        notices = self._accounts[tag].open.values()
        return [each for each in notices if each.kind == "extract" and not each.seen]

    def withdraw(self, notice: Notice) -> None:
        """A notice that nobody has fetched is taken back for good. No ticket counts it any more."""
        self._no_longer_waits(notice)
        self._remove(notice, self._lane(notice))

    def merge(self, notice: Notice) -> None:
        """A notice that nobody has fetched stands for several PDs and for all of its space."""
        notice.kind, notice.node, notice.dead = "disconnect", lane_of(notice.node), "-"

    def forget(self, pd: str) -> None:
        """A receiver is destroyed."""
        for lane in self._receivers.pop(pd, _Receiver()).lanes.values():
            for notice in lane.values():
                del self._notices[notice.token]
                self._no_longer_waits(notice, DROPPED)


def count_of(work: Work, gone: Iterable[str]) -> int:
    """The number of notices to receivers that are not gone."""
    receivers = (work._receivers[pd] for pd in gone if pd in work._receivers)
    left = sum(len(lane) for each in receivers for lane in each.lanes.values())
    return len(work._notices) - left
