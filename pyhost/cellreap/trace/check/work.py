# SPDX-License-Identifier: BSD-2-Clause
"""Unfinished notices by lane, receiver and account. docs/trace-format.md has the rules.

The cost of an operation depends on what it touches: one notice, the notices fetched with it (at
most 16), and, where a failure stops a lane, the accounts with notices in that lane.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from cellreap import headers
from cellreap.model.ids import parse_id, space_id

QUEUED, OUT, FAILED = "queued", "out", "failed"
"""States of an unfinished notice."""
DONE, DROPPED, WAITING, HELD = "done", "dropped", "waiting", "held"
COUNTS = (DONE, FAILED, DROPPED, WAITING, HELD)
"""The counts in a TICKET event, in this order. Held notices are also counted as waiting."""
GIVEN_UP = "given up"
"""The notices whose receivers were given up. They are also counted as waiting."""
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
Wrong = tuple[str, str]
"""(rule, text) of a violation."""


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
    parts = parse_id(node)
    if parts is None or parts.kind == "PD":
        return "-"
    return node if parts.space is None else space_id(parts.type, parts.space)


class _Lane:
    """The notices of one receiver about one space, in order."""

    def __init__(self) -> None:
        self.notices: OrderedDict[int, Notice] = OrderedDict()
        self.waiting: Counter[Tag] = Counter()
        """account -> the number of its notices here, without one that failed"""

    def head(self) -> Notice:
        return next(iter(self.notices.values()))

    def stopped(self) -> bool:
        """Whether the first notice of the lane failed."""
        return bool(self.notices) and self.head().state == FAILED


class _Account:
    """Counts of the notices of one account, in total and by receiver."""

    def __init__(self) -> None:
        self._total: Counter[str] = Counter()
        self._by_receiver: Counter[tuple[str, str]] = Counter()
        self.open: dict[int, Notice] = {}
        """by token: unfinished notices"""

    def add(self, receiver: str, what: str, count: int = 1) -> None:
        self._total[what] += count
        self._by_receiver[receiver, what] += count

    def _without(self, receiver: str, what: str) -> int:
        return self._total[what] - self._by_receiver[receiver, what]

    def without(self, receiver: str) -> tuple[int, ...]:
        """COUNTS of the notices to all receivers but this one."""
        counts = {what: self._without(receiver, what) for what in COUNTS}
        counts[WAITING] += self._without(receiver, GIVEN_UP)
        return tuple(counts.values())

    def is_over(self, receiver: str) -> bool:
        """Whether no receiver but this one has a notice of it that is awaited and not held."""
        return self._without(receiver, WAITING) == self._without(receiver, HELD)


@dataclass
class _Receiver:
    """A PD to which a notice was queued."""

    lanes: dict[str, _Lane] = field(default_factory=dict)
    """by space"""
    can_do: int = 0
    """number of notices that it can fetch or finish: neither failed nor held"""
    taken: int = 0
    """number of notices of limited kinds that it has fetched and not finished"""

    def is_ready(self) -> bool:
        """Whether it would be handed a notice."""
        if self.can_do == 0:
            return False
        full = self.taken >= MAX_TAKEN
        heads = (lane.head() for lane in self.lanes.values() if lane.notices)
        return any(
            head.state == QUEUED and (head.seen or not full or head.kind not in LIMITED)
            for head in heads
        )

    def take(self, notice: Notice) -> Wrong | None:
        """It fetches a notice."""
        if notice.seen:
            return None
        notice.seen = True
        if notice.kind not in LIMITED:
            return None
        self.taken += 1
        if self.taken <= MAX_TAKEN:
            return None
        text = f"{notice.to} has {self.taken} such notices: expected at most {MAX_TAKEN}"
        return "notices.taken", f"token={notice.token}: {text}"


class Work:
    """All notices. An operation returns the rule that it breaks with a text, or None."""

    def __init__(self) -> None:
        self._most = headers.constant("protocol.h", "CR_WORK_MAX")
        self._notices: dict[int, Notice] = {}
        self._receivers: dict[str, _Receiver] = {}
        self._accounts: dict[Tag, _Account] = {}
        self._changed: set[Tag] = set()
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

    def behind(self, token: int) -> int:
        """The number of notices held behind one that failed."""
        notice = self._notices.get(token)
        if notice is None or notice.state != FAILED:
            return 0
        return len(self._lane(notice).notices) - 1

    def unfinished(self) -> Iterator[Notice]:
        """All notices that are still to be finished, without held ones."""
        for notice in self._notices.values():
            if notice.state != FAILED and not self.is_held(notice):
                yield notice

    def unfinished_of(self, tag: Tag) -> Iterator[Notice]:
        """The notices of one account that are still to be finished, without held ones."""
        account = self._accounts.get(tag)
        for notice in account.open.values() if account is not None else ():
            if not self.is_held(notice):
                yield notice

    def has_work(self, pd: str) -> bool:
        """Whether the PD has a notice that it can still finish."""
        receiver = self._receivers.get(pd)
        return receiver is not None and receiver.can_do > 0

    def is_ready(self, pd: str) -> bool:
        """Whether the PD would be handed a notice if it asked for work now."""
        receiver = self._receivers.get(pd)
        return receiver is not None and receiver.is_ready()

    def oldest(self, pd: str, but: Callable[[Notice], bool]) -> int | None:
        """The token of the oldest notice that the PD can still finish.

        but: selects notices to leave out. They are alone in their lanes.
        """
        receiver = self._receivers.get(pd)
        lanes = receiver.lanes.values() if receiver is not None else ()
        heads = (lane.head() for lane in lanes if lane.notices and not lane.stopped())
        return min((head.token for head in heads if not but(head)), default=None)

    def probes(self, pd: str) -> int:
        """The number of probes that the PD has not finished."""
        receiver = self._receivers.get(pd)
        lane = receiver.lanes.get(lane_of(pd, "probe")) if receiver is not None else None
        return len(lane.notices) if lane is not None else 0

    def counts(self, tag: Tag, but: str) -> tuple[int, ...]:
        """COUNTS of an account, without the notices to the PD `but`."""
        account = self._accounts.get(tag)
        return (0,) * len(COUNTS) if account is None else account.without(but)

    def is_over(self, tag: Tag, but: str) -> bool:
        """Whether nothing of an account is awaited, without the notices to the PD `but`."""
        account = self._accounts.get(tag)
        return account is None or account.is_over(but)

    def take_changed(self) -> set[Tag]:
        """The accounts whose counts changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    # -- operations

    def queue(self, notice: Notice, tag: Tag) -> Wrong | None:
        """Queues a notice of an account at the end of its lane."""
        token, to = notice.token, notice.to
        wrong = None
        if token <= self._last_token:
            wrong = ("notices.token", f"token={token}: expected more than {self._last_token}")
        self._last_token = max(token, self._last_token)
        if token in self._notices:
            return wrong
        self._notices[token] = notice
        receiver = self._receivers.setdefault(to, _Receiver())
        lane = receiver.lanes.setdefault(lane_of(notice.node, notice.kind), _Lane())
        stopped = lane.stopped()
        lane.notices[token] = notice
        lane.waiting[tag] += 1
        account = self._accounts.setdefault(tag, _Account())
        account.open[token] = notice
        account.add(to, WAITING)
        if stopped:
            account.add(to, HELD)
        else:
            receiver.can_do += 1
        return wrong

    def fetch(self, pd: str, token: int, goes_on: bool) -> Wrong | None:
        """A PD fetches a notice. goes_on: whether the event before was also one."""
        notice = self._notices.get(token)
        if notice is None or notice.to != pd or notice.state == FAILED:
            return "notices.fetch", f"token={token}: no such notice waits for {pd}"
        if notice.state == OUT:
            return "notices.fetch", f"token={token}: {pd} has fetched it before"
        if not goes_on:
            self._fetching = None
        wrong = self._out_of_order(notice)
        if wrong is not None:
            return "notices.order", f"token={token}: {pd} {wrong}"
        notice.state = OUT
        return self._receivers[pd].take(notice)

    def _out_of_order(self, notice: Notice) -> str | None:
        """What is wrong if an earlier notice of the lane was not fetched in the same batch."""
        fetching = self._fetching
        same = fetching is not None and fetching[:2] == (notice.to, notice.kind)
        if fetching is None or not same or fetching[2] >= self._most:
            self._batch += 1
            fetching = (notice.to, notice.kind, 0)
        self._fetching = (notice.to, notice.kind, fetching[2] + 1)
        for before in self._lane(notice).notices.values():
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

    def finish(self, pd: str, token: int, result: str) -> Wrong | None:
        """A PD acknowledges a notice."""
        notice = self._notices.get(token)
        if notice is None or notice.to != pd or notice.state != OUT:
            text = f"{pd} has fetched no such notice, or acknowledged it before"
            return "notices.finish", f"token={token}: {text}"
        parts = parse_id(notice.node)
        of_space = parts is not None and parts.kind == "RESOURCE_SPACE"
        if result == "each" and (notice.kind != "extract" or not of_space):
            text = "result=each: expected it only of an extract notice about a space"
            return "notices.each", f"token={token}: {text}"
        lane = self._lane(notice)
        if lane.head() is not notice:
            text = f"{pd} is to finish {lane.head().token}, about the same space, before it"
            return "notices.order", f"token={token}: {text}"
        failed = result == "failed"
        if notice.tag is not None:
            account = self._accounts[notice.tag]
            account.add(pd, FAILED if failed else DONE)
            self._no_longer_waits(notice, lane, account)
        if failed and notice.kind not in NEVER_STOP:
            self._stop(notice, lane)
            return None
        self._receivers[pd].can_do -= 1
        self._remove(notice, lane)
        return None

    def _remove(self, notice: Notice, lane: _Lane) -> None:
        self._receivers[notice.to].taken -= notice.seen and notice.kind in LIMITED
        del lane.notices[notice.token]
        del self._notices[notice.token]

    def _no_longer_waits(self, notice: Notice, lane: _Lane, account: _Account) -> None:
        assert notice.tag is not None
        account.add(notice.to, WAITING, -1)
        del account.open[notice.token]
        lane.waiting[notice.tag] -= 1
        if not lane.waiting[notice.tag]:
            del lane.waiting[notice.tag]
        self._changed.add(notice.tag)

    def _stop(self, notice: Notice, lane: _Lane) -> None:
        """The first notice of a lane failed. Those behind it are held and no longer fetched."""
        notice.state = FAILED
        self._hold(notice.to, lane, 1)
        for other in lane.notices.values():
            if other.state == QUEUED:
                break  # fetched notices stand before all others
            if other.state == OUT:
                other.state = QUEUED

    def _hold(self, pd: str, lane: _Lane, sign: int) -> None:
        """A lane stops (sign 1) or continues (sign -1)."""
        for tag, count in lane.waiting.items():
            self._accounts[tag].add(pd, HELD, sign * count)
            self._changed.add(tag)
        self._receivers[pd].can_do -= sign * len(lane.notices)

    def resume(self, pd: str, token: int) -> Wrong | None:
        """A failed notice is to be delivered again."""
        notice = self._notices.get(token)
        if notice is None or notice.to != pd or notice.state != FAILED:
            return "notices.resume", f"token={token}: no notice of {pd}'s that has failed"
        notice.state, notice.tag = QUEUED, None
        self._hold(pd, self._lane(notice), -1)
        return None

    def give_up(self, pd: str, token: int) -> list[Notice]:
        """The notices of a PD up to this token are awaited by nobody any more. Returns them.

        Their accounts count them as waiting for ever, and not as held.
        """
        receiver = self._receivers.get(pd)
        given_up = []
        for lane in receiver.lanes.values() if receiver is not None else ():
            for notice in lane.notices.values():
                if notice.token > token or notice.tag is None:
                    continue
                given_up.append(notice)
                notice.given_up = notice.tag
                if notice.state == FAILED:
                    notice.tag = None
                    continue
                account = self._accounts[notice.tag]
                if lane.stopped():
                    account.add(pd, HELD, -1)
                self._no_longer_waits(notice, lane, account)
                account.add(pd, GIVEN_UP)
                notice.tag = None
        return given_up

    def unseen_beside(self, notice: Notice) -> list[Notice]:
        """The notices in the same lane that nobody has fetched, without this one."""
        lane = self._lane(notice).notices.values()
        return [each for each in lane if each is not notice and not each.seen]

    def unseen_questions(self, tag: Tag) -> list[Notice]:
        """The extract notices of an extraction that nobody has fetched."""
        account = self._accounts.get(tag)
        notices = account.open.values() if account is not None else ()
        return [each for each in notices if each.kind == "extract" and not each.seen]

    def withdraw(self, notice: Notice) -> None:
        """A notice that nobody has fetched is taken back for good. No ticket counts it any more."""
        lane = self._lane(notice)
        if not lane.stopped():
            self._receivers[notice.to].can_do -= 1
        if notice.tag is not None:
            account = self._accounts[notice.tag]
            if lane.stopped():
                account.add(notice.to, HELD, -1)
            self._no_longer_waits(notice, lane, account)
        self._remove(notice, lane)

    def merge(self, notice: Notice) -> None:
        """A notice that nobody has fetched stands for several PDs and for all of its space."""
        notice.kind, notice.node, notice.dead = "disconnect", lane_of(notice.node), "-"

    def forget(self, pd: str) -> None:
        """A receiver is destroyed."""
        receiver = self._receivers.get(pd)
        if receiver is None:
            return
        for lane in receiver.lanes.values():
            if lane.stopped():
                self._hold(pd, lane, -1)
            for notice in lane.notices.values():
                del self._notices[notice.token]
                if notice.state != FAILED and notice.tag is not None:
                    account = self._accounts[notice.tag]
                    account.add(pd, DROPPED)
                    self._no_longer_waits(notice, lane, account)
        del self._receivers[pd]


def count_of(work: Work, gone: Iterable[str]) -> int:
    """The number of notices to receivers that are not gone."""
    receivers = (work._receivers[pd] for pd in gone if pd in work._receivers)
    left = sum(len(lane.notices) for each in receivers for lane in each.lanes.values())
    return len(work._notices) - left
