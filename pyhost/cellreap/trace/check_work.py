# SPDX-License-Identifier: BSD-2-Clause
"""Notices on their way, as a trace shows them: which may be fetched and acknowledged now.

docs/trace-format.md has the rules. Version 1 of the trace knew one queue a PD, and failures without effect;
since version 2 each receiver has a lane for each space, strictly in order.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass

from cellreap import headers
from cellreap.model.ids import parse_id, space_id

QUEUED, OUT, FAILED = "queued", "out", "failed"
DONE, DROPPED = "done", "dropped"
NEVER_STOP = ("pre-destroy", "extract")
"""Kinds whose failure stops no lane."""

Tag = tuple[str, int]
"""On whose account a notice is: ("cleanup", n) or ("extraction", x)."""


@dataclass
class Notice:
    """A notice that is not acknowledged, or failed and still at the head of its lane."""

    token: int
    to: str
    kind: str
    node: str
    tag: Tag | None
    state: str = QUEUED
    batch: int = 0
    """the fetch that handed it out"""

    @property
    def lane(self) -> tuple[str, str]:
        return (self.to, lane_of(self.node))


def lane_of(node: str) -> str:
    """The space whose lane a notice about a node is in; "-" for a PD."""
    parts = parse_id(node)
    if parts is None or parts.kind == "PD":
        return "-"
    return node if parts.space is None else space_id(parts.type, parts.space)


class Work:
    """All notices. What changes something returns what is wrong with it, or None."""

    def __init__(self) -> None:
        self.lanes_of_version_1 = False
        self.most = headers.constant("protocol.h", "CR_WORK_MAX")
        self.notices: dict[int, Notice] = {}
        self.lanes: dict[tuple[str, str], deque[int]] = {}
        self.unfetched: dict[str, deque[int]] = {}  # version 1
        self.ends: Counter[tuple[Tag, str, str]] = Counter()
        """(account, receiver, done, failed or dropped) -> how many"""
        self.last_token = 0
        self.batch = 0
        self.fetching: tuple[str, str, int] | None = None
        """(PD, kind, handed out so far) of the fetch under way"""

    # -- looking

    def is_held(self, notice: Notice) -> bool:
        """Does it wait behind one that failed?"""
        head = self.lanes[notice.lane][0] if notice.lane in self.lanes else notice.token
        return head != notice.token and self.notices[head].state == FAILED

    def behind(self, token: int) -> int:
        """How many wait behind a notice that failed."""
        notice = self.notices.get(token)
        return 0 if notice is None or notice.state != FAILED else len(self.lanes[notice.lane]) - 1

    def unfinished(self) -> Iterator[Notice]:
        """Those that somebody still has to acknowledge, held ones not among them."""
        for notice in self.notices.values():
            if notice.state != FAILED and not self.is_held(notice):
                yield notice

    def of(self, tag: Tag, but: str) -> tuple[int, int, int, int, int]:
        """Done, failed, dropped, waiting, and held of these last, but for those to one PD."""
        ends = Counter[str]()
        for (its, to, how), count in self.ends.items():
            if its == tag and to != but:
                ends[how] += count
        mine = [notice for notice in self.notices.values() if notice.tag == tag and notice.to != but]
        mine = [notice for notice in mine if notice.state != FAILED]
        held = sum(self.is_held(notice) for notice in mine)
        return ends[DONE], ends[FAILED], ends[DROPPED], len(mine), held

    # -- what happens

    def queue(self, token: int, to: str, kind: str, node: str, tag: Tag) -> str | None:
        wrong = None
        if token <= self.last_token:
            wrong = f"token={token}: expected more than {self.last_token}"
        self.last_token = max(token, self.last_token)
        if token not in self.notices:
            notice = self.notices[token] = Notice(token, to, kind, node, tag)
            self.lanes.setdefault(notice.lane, deque()).append(token)
            self.unfetched.setdefault(to, deque()).append(token)
        return wrong

    def interrupt(self) -> None:
        """Something else than a fetch happened."""
        self.fetching = None

    def fetch(self, pd: str, token: int) -> str | None:
        notice = self.notices.get(token)
        if notice is None or notice.to != pd or notice.state == FAILED:
            return f"token={token}: no such notice waits for {pd}"
        if notice.state == OUT:
            return f"token={token}: {pd} has fetched it before"
        wrong = self._fetch_1(notice) if self.lanes_of_version_1 else self._fetch_2(notice)
        if wrong is None:
            notice.state = OUT
        return wrong

    def _fetch_1(self, notice: Notice) -> str | None:
        queue = self.unfetched[notice.to]
        if queue[0] != notice.token:
            return f"token={notice.token}: {notice.to} is to fetch {queue[0]} before it"
        queue.popleft()
        return None

    def _fetch_2(self, notice: Notice) -> str | None:
        under_way = self.fetching
        if under_way is None or under_way[:2] != (notice.to, notice.kind) or under_way[2] >= self.most:
            self.batch += 1
            under_way = (notice.to, notice.kind, 0)
        self.fetching = (notice.to, notice.kind, under_way[2] + 1)
        for token in self.lanes[notice.lane]:
            before = self.notices[token]
            if before is notice:
                break
            what = f"token={notice.token}: {notice.to}"
            if before.state == FAILED:
                return f"{what} failed to deal with {token} before it, and has not resumed that"
            if before.state == QUEUED:
                return f"{what} is to fetch {token} before it"
            if before.batch != self.batch:
                return f"{what} has not finished {token}, which it fetched earlier, about the same space"
        notice.batch = self.batch
        return None

    def finish(self, pd: str, token: int, result: str) -> str | None:
        notice = self.notices.get(token)
        if notice is None or notice.to != pd or notice.state != OUT:
            return f"token={token}: {pd} has fetched no such notice, or acknowledged it before"
        parts = parse_id(notice.node)
        of_space = parts is not None and parts.kind == "RESOURCE_SPACE"
        if result == "each" and (notice.kind != "extract" or not of_space):
            return f"token={token}: result=each: expected it only of an extract notice about a space"
        lane = self.lanes[notice.lane]
        if self.lanes_of_version_1:
            lane.remove(token)
            del self.notices[token]
            return None
        if lane[0] != token:
            return f"token={token}: {pd} is to finish {lane[0]}, about the same space, before it"
        if notice.tag is not None:
            self.ends[notice.tag, pd, FAILED if result == "failed" else DONE] += 1
        if result == "failed" and notice.kind not in NEVER_STOP:
            notice.state = FAILED
            for other in lane:
                if self.notices[other].state == OUT:
                    self.notices[other].state = QUEUED  # taken back
            return None
        lane.popleft()
        del self.notices[token]
        return None

    def resume(self, pd: str, token: int) -> str | None:
        """A notice that failed is to be handed out again. Returns what is wrong."""
        notice = self.notices.get(token)
        if notice is None or notice.to != pd or notice.state != FAILED:
            return f"token={token}: no notice of {pd}'s that has failed"
        notice.state, notice.tag = QUEUED, None
        return None

    def forget(self, pd: str) -> None:
        """A receiver is gone."""
        for token in [token for token, notice in self.notices.items() if notice.to == pd]:
            notice = self.notices.pop(token)
            if notice.state != FAILED and notice.tag is not None:
                self.ends[notice.tag, pd, DROPPED] += 1
        self.unfetched.pop(pd, None)
        for lane in [lane for lane in self.lanes if lane[0] == pd]:
            del self.lanes[lane]
