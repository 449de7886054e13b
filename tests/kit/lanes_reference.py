# SPDX-License-Identifier: BSD-2-Clause
"""The notices owed to PDs, in lanes: which may be handed out or finished, and which are late.

Written from the comments of roottask/include/cellreap/work.h, to be read beside it, and independent
of the C code. The tests and the replay of a trace compare with it. It is written to be clear and
not fast: every query reads whole lanes.

Receivers and spaces are any hashable values that the caller chooses as names. A lane is one
receiver's notices about one space. Notices about no space (None, for example) form a lane too.
Probes have a lane of their own, and so have the faults of each PD.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from cellreap.errors import CellreapError

PRECEDENCE: Final = (
    "probe", "fault", "pre-destroy", "destroy", "lost", "free", "disconnect", "extract",
)  # fmt: skip
"""The kinds as a trace names them, in the order in which they are handed out."""
STOPPING: Final = frozenset({"destroy", "lost", "free", "disconnect"})
"""The kinds whose failure stops their lane."""
LIMITED: Final = frozenset({"free", "disconnect", "extract"})
"""The kinds of which a receiver may be handed only so many before it finishes them."""

State = Literal["waiting", "out", "failed"]
Verdict = Literal["ok", "absent", "state"]


class NoticeError(CellreapError):
    """The operation is not possible. `reason`: full, absent or state, as the C status is named."""

    def __init__(self, reason: Literal["full", "absent", "state"], text: str) -> None:
        self.reason: Final = reason
        super().__init__(text)


@dataclass
class Notice:
    """One notice. Callers read it. Only Queues writes it."""

    token: int
    receiver: Hashable
    space: Hashable
    kind: str
    about: object = None
    """of the caller: for example the node and the dead PD"""
    tag: int = 0
    """of the caller: the account that the notice belongs to"""
    since: int = 0
    """of the caller: the receiver's clock when it was queued"""
    again: bool = False
    """it failed before and was resumed"""
    pd: Hashable = None
    """the PD of a fault"""
    account: int = 0
    """that has room for it; 0: none is charged"""
    seen: bool = False
    """it was handed out before"""
    state: State = "waiting"

    @property
    def lane(self) -> Hashable:
        """What its lane is about."""
        if self.kind == "probe":
            return "probes"
        return ("faults", self.pd) if self.kind == "fault" else self.space


@dataclass
class _Lane:
    receiver: Hashable
    notices: list[Notice] = field(default_factory=list)
    since: int = 0
    """its place in the queue of lanes that have something to hand out"""

    @property
    def stopped(self) -> bool:
        return bool(self.notices) and self.notices[0].state == "failed"

    @property
    def ready(self) -> bool:
        return bool(self.notices) and all(notice.state == "waiting" for notice in self.notices)


class Queues:
    """All lanes of all receivers."""

    def __init__(self, capacity: int | None = None) -> None:
        """`capacity`: the maximum number of notices at a time. None is unlimited."""
        self.capacity = capacity
        self._lanes: dict[tuple[Hashable, Hashable], _Lane] = {}
        self._limits: dict[Hashable, tuple[int, int]] = {}
        """receiver -> its account, and how many notices of limited kinds it may take"""
        self._tokens = 0
        self._turns = 0

    # -- queries

    def pending(self, receiver: Hashable) -> int:
        """The number of notices that the receiver has not finished.

        Failed ones that are not resumed count.
        """
        return sum(len(lane.notices) for lane in self._of(receiver))

    def room(self) -> int | None:
        """The number of further notices that fit. None is any number."""
        if self.capacity is None:
            return None
        return self.capacity - sum(len(lane.notices) for lane in self._lanes.values())

    def ready(self, receiver: Hashable) -> bool:
        """Whether the receiver has something to fetch."""
        return any(lane.ready and self._may_take(lane.notices[0]) for lane in self._of(receiver))

    def taken(self, receiver: Hashable) -> int:
        """The notices of limited kinds that the receiver was handed and has not finished."""
        return sum(n.seen and n.kind in LIMITED for n in self.notices(receiver))

    def charged(self, account: int) -> int:
        """The notices that count for an account."""
        return sum(n.account == account for lane in self._lanes.values() for n in lane.notices)

    def unseen(self, receiver: Hashable) -> list[Notice]:
        """The notices that the receiver was never handed."""
        return [notice for notice in self.notices(receiver) if not notice.seen]

    def notices(self, receiver: Hashable) -> list[Notice]:
        """All notices that the receiver is owed, by token, including failed ones."""
        return sorted(
            (n for lane in self._of(receiver) for n in lane.notices), key=lambda n: n.token
        )

    def held(self, notice: Notice) -> bool:
        """Whether it waits behind a failed notice."""
        return notice.state == "waiting" and self._lanes[notice.receiver, notice.lane].stopped

    # -- changes

    def put(
        self,
        receiver: Hashable,
        space: Hashable,
        kind: str,
        about: object = None,
        *,
        tag: int = 0,
        since: int = 0,
        pd: Hashable = None,
        account: int = 0,
    ) -> Notice:
        """Appends a notice to its lane.

        Tokens are 1, 2, 3, ... NoticeError "full": there is no room. ValueError: the kind is
        unknown.
        """
        if kind not in PRECEDENCE:
            raise ValueError(f"'{kind}' is no kind of notice")
        if self.room() == 0:
            raise NoticeError(
                "full", f"no room for a notice to {receiver}: {self.capacity} are owed"
            )
        self._tokens += 1
        notice = Notice(
            self._tokens, receiver, space, kind, about, tag, since, pd=pd, account=account
        )
        lane = self._lanes.setdefault((receiver, notice.lane), _Lane(receiver))
        lane.notices.append(notice)
        if len(lane.notices) == 1:
            self._queue_up(lane)
        return notice

    def fetch(self, receiver: Hashable, most: int) -> list[Notice]:
        """Hands out up to `most` notices, all of one kind.

        The kind is the one of highest precedence at the head of a lane that has something to hand
        out. All such lanes come in their turn, each with its longest run of that kind.
        """
        ready = sorted(
            (each for each in self._of(receiver) if each.ready and self._may_take(each.notices[0])),
            key=lambda lane: lane.since,
        )
        heads = [lane.notices[0].kind for lane in ready]
        if not heads:
            return []
        kind = min(heads, key=PRECEDENCE.index)
        out: list[Notice] = []
        for lane in ready:
            for notice in lane.notices:
                if notice.kind != kind or len(out) == most or not self._may_take(notice):
                    break
                out.append(notice)
                self._hand_out(notice)
        return out

    def _hand_out(self, notice: Notice) -> None:
        notice.state = "out"
        account = self._limits.get(notice.receiver, (0, 0))[0]
        if not notice.seen and notice.kind in LIMITED and notice.account and account:
            notice.account = account
        notice.seen = True

    def _may_take(self, notice: Notice) -> bool:
        """Whether its receiver may be handed the notice, now that its turn has come."""
        if notice.seen or notice.kind not in LIMITED or notice.receiver not in self._limits:
            return True
        return self.taken(notice.receiver) < self._limits[notice.receiver][1]

    def limit(self, receiver: Hashable, account: int, most: int) -> None:
        """Sets the account for what the receiver is handed, and how much it may take."""
        self._limits[receiver] = (account, most)

    def withdraw(self, receiver: Hashable, token: int) -> Notice:
        """Removes an unseen notice. NoticeError "absent": the receiver has none with this token."""
        notice = self._unseen(receiver, token)
        self._remove(notice)
        return notice

    def merge(self, receiver: Hashable, token: int, about: object = None) -> Notice:
        """Makes an unseen free or disconnect notice a disconnect notice about its space.

        It counts for its receiver's account. NoticeError "absent": there is no such notice.
        """
        notice = self._unseen(receiver, token)
        if notice.kind not in ("free", "disconnect"):
            raise NoticeError("absent", f"{token} is no notice that can be merged")
        notice.kind, notice.about, notice.pd = "disconnect", about, 0
        account = self._limits.get(receiver, (0, 0))[0]
        if notice.account and account:
            notice.account = account
        lane = self._lanes[receiver, notice.lane]
        if lane.ready and lane.notices[0] is notice:
            self._queue_up(lane)
        return notice

    def _unseen(self, receiver: Hashable, token: int) -> Notice:
        for notice in self.unseen(receiver):
            if notice.token == token:
                return notice
        raise NoticeError("absent", f"{receiver} was handed {token}, or is not owed it")

    def check(self, receiver: Hashable, answers: Sequence[tuple[int, bool]]) -> Verdict:
        """Whether these (token, failed), in this order, can be taken.

        "absent": a token is not handed out to the receiver, or comes twice. "state": an earlier
        notice of the lane has no answer before it, or fails here and stops the lane.
        """
        mine = {notice.token: notice for lane in self._of(receiver) for notice in lane.notices}
        answered: dict[int, bool] = {}
        for token, failed in answers:
            notice = mine.get(token)
            if notice is None or notice.state != "out" or token in answered:
                return "absent"
            for older in self._lanes[receiver, notice.lane].notices:
                if older is notice:
                    break
                if older.token not in answered or (
                    answered[older.token] and older.kind in STOPPING
                ):
                    return "state"
            answered[token] = failed
        return "ok"

    def finish(self, receiver: Hashable, token: int, failed: bool = False) -> Notice:
        """Takes one answer. NoticeError: `check` has another verdict than "ok"."""
        verdict = self.check(receiver, [(token, failed)])
        if verdict != "ok":
            raise NoticeError(verdict, f"{receiver} cannot finish notice {token} now")
        notice = next(notice for notice in self.notices(receiver) if notice.token == token)
        lane = self._lanes[receiver, notice.lane]
        if failed and notice.kind in STOPPING:
            notice.state = "failed"
            for behind in lane.notices[1:]:
                behind.state = "waiting"  # taken back
        else:
            self._remove(notice)
        return notice

    def resume(self, receiver: Hashable, space: Hashable) -> Notice:
        """Resumes a stopped lane. Returns the failed notice, which will be handed out again.

        The notice belongs to no account any more. NoticeError "absent": the lane is not stopped.
        """
        lane = self._lanes.get((receiver, space))
        if lane is None or not lane.stopped:
            raise NoticeError("absent", f"{receiver} has no lane to resume about {space}")
        lane.notices[0].state = "waiting"
        lane.notices[0].tag = 0
        lane.notices[0].again = True
        self._queue_up(lane)
        return lane.notices[0]

    def take(self, receiver: Hashable, token: int | None = None) -> tuple[Notice, bool]:
        """Removes one notice of a receiver that is destroyed. Returns it and whether it had failed.

        It is the one with this token, which must be at the head of its lane, or else the oldest.
        NoticeError "absent": there is none.
        """
        heads = {lane.notices[0].token: lane.notices[0] for lane in self._of(receiver)}
        if not heads or (token is not None and token not in heads):
            raise NoticeError("absent", f"{receiver} is owed nothing that could be taken out")
        notice = heads[min(heads) if token is None else token]
        failed = notice.state == "failed"
        self._remove(notice)
        return notice, failed

    # -- what a receiver has to do

    def can_do(self, receiver: Hashable) -> list[Notice]:
        """The notices that the receiver can fetch or finish, oldest first."""
        can = [n for lane in self._of(receiver) if not lane.stopped for n in lane.notices]
        return sorted(can, key=lambda notice: notice.token)

    def untag(self, receiver: Hashable, token: int) -> None:
        """The notices of the receiver up to this token belong to no account any more."""
        for notice in self.notices(receiver):
            if notice.token <= token:
                notice.tag = 0

    # -- helpers

    def _of(self, receiver: Hashable) -> list[_Lane]:
        return [lane for lane in self._lanes.values() if lane.receiver == receiver]

    def _queue_up(self, lane: _Lane) -> None:
        self._turns += 1
        lane.since = self._turns

    def _remove(self, notice: Notice) -> None:
        """Removes a notice.

        If it was the head of its lane, the rest may now be handed out: the lane moves to the end.
        """
        lane = self._lanes[notice.receiver, notice.lane]
        was_head = lane.notices[0] is notice
        lane.notices.remove(notice)
        if not lane.notices:
            del self._lanes[notice.receiver, notice.lane]
        elif lane.ready and was_head:
            self._queue_up(lane)
