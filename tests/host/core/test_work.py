# SPDX-License-Identifier: BSD-2-Clause
"""The lanes of notices in C against those in Python, and the behaviour of both."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellreap.headers import enums
from cellreap.model.core import HEADERS, load_core
from kit.lanes_reference import PRECEDENCE, STOPPING, NoticeError, Queues

STATUS = enums("status.h")["cr_status"]
OK, BAD, FULL = STATUS["CR_OK"], STATUS["CR_ERR_ARG"], STATUS["CR_ERR_FULL_NODES"]
REASONS = {
    "ok": OK,
    "absent": STATUS["CR_ERR_ABSENT"],
    "state": STATUS["CR_ERR_STATE"],
    "full": FULL,
}
KINDS = {
    name.removeprefix("CR_NOTICE_").lower().replace("_", "-"): number
    for name, number in enums("policy.h")["cr_notice_kind"].items()
    if not name.endswith("_COUNT")
}
KIND_NAMES = {number: name for name, number in KINDS.items()}
ITEMS, RECEIVERS, SPACES = 12, 3, 3


class Got(NamedTuple):
    """A notice as either side reports it."""

    token: int
    kind: str
    space: int
    object: int
    pd: int
    tag: int
    again: int
    since: int
    account: int = 0


class Side(Protocol):
    """The operations of both sides. Statuses are numbers of cr_status."""

    def put(self, to: int, got: Got) -> tuple[int, int]:
        """(status, token)"""

    def fetch(self, to: int, most: int) -> list[Got]: ...

    def check(self, to: int, answers: Sequence[tuple[int, bool]]) -> int: ...

    def finish(self, to: int, token: int, failed: bool) -> tuple[int, Got | None]: ...

    def resume(self, to: int, space: int) -> int: ...

    def untag(self, to: int, token: int) -> None: ...

    def limit(self, to: int, account: int, most: int) -> None: ...

    def withdraw(self, to: int, token: int) -> tuple[int, Got | None]: ...

    def merge(self, to: int, token: int) -> int: ...

    def look(
        self,
        tags: Sequence[int],
        spaces: Sequence[int] = (),
        tokens: Sequence[int] = (),
    ) -> dict[str, Any]:
        """All results of the queries, which change nothing."""


class InC:
    """The core's lanes."""

    def __init__(self, items: int = ITEMS, receivers: int = RECEIVERS) -> None:
        self.ffi, self.lib = load_core((*HEADERS, "work.h"))
        size = self.lib.cr_work_bytes(items, receivers)
        # Memory that was used before, so that fields which init leaves out show.
        self.memory = self.ffi.new("uint64_t[]", [0xDEADBEEFDEADBEEF] * (size // 8))
        out = self.ffi.new("cr_work **")
        assert size % 8 == 0
        assert self.lib.cr_work_init(self.memory, size, items, receivers, out) == OK
        self.work, self.receivers = out[0], receivers

    def put(self, to: int, got: Got) -> tuple[int, int]:
        fields = got._asdict() | {"kind": KINDS[got.kind]}
        notice = self.ffi.new("cr_work_notice *", fields)
        return self.lib.cr_work_put(self.work, to, notice), notice.token

    def fetch(self, to: int, most: int) -> list[Got]:
        out = self.ffi.new("cr_work_notice[]", max(most, 1))
        count = self.ffi.new("uint32_t *", 99)
        assert self.lib.cr_work_fetch(self.work, to, most, out, count) == OK
        return [self.got(out[i]) for i in range(count[0])]

    def check(self, to: int, answers: Sequence[tuple[int, bool]]) -> int:
        return int(self.lib.cr_work_check(self.work, to, self.answers(answers), len(answers)))

    def finish(self, to: int, token: int, failed: bool) -> tuple[int, Got | None]:
        out = self.ffi.new("cr_work_notice *")
        status = self.lib.cr_work_finish(self.work, to, self.answers([(token, failed)]), out)
        return status, self.got(out) if status == OK else None

    def resume(self, to: int, space: int) -> int:
        return int(self.lib.cr_work_resume(self.work, to, space))

    def untag(self, to: int, token: int) -> None:
        assert self.lib.cr_work_untag(self.work, to, token) == OK

    def limit(self, to: int, account: int, most: int) -> None:
        assert self.lib.cr_work_set_receiver(self.work, to, account, most) == OK

    def withdraw(self, to: int, token: int) -> tuple[int, Got | None]:
        out = self.ffi.new("cr_work_notice *")
        status = self.lib.cr_work_withdraw(self.work, to, token, out)
        return status, self.got(out) if status == OK else None

    def merge(self, to: int, token: int) -> int:
        return int(self.lib.cr_work_merge(self.work, to, token))

    def unseen(self, to: int) -> list[Got]:
        return self._walk(self.lib.cr_work_next_unseen, to)

    def take(self, to: int) -> tuple[Got, bool] | None:
        out, failed = self.ffi.new("cr_work_notice *"), self.ffi.new("uint32_t *", 99)
        status = self.lib.cr_work_take(self.work, to, out, failed)
        assert status in (OK, REASONS["absent"])
        assert failed[0] in (0, 1, 99)
        return (self.got(out), bool(failed[0])) if status == OK else None

    def look(
        self,
        tags: Sequence[int],
        spaces: Sequence[int] = (),
        tokens: Sequence[int] = (),
    ) -> dict[str, Any]:
        lib, everyone = self.lib, range(self.receivers)
        return {
            "room": lib.cr_work_room(self.work),
            "pending": [sum(self.pending_of(to, kind) for kind in KINDS) for to in everyone],
            "pending of": [[self.pending_of(to, kind) for kind in KINDS] for to in everyone],
            "ready": [bool(lib.cr_work_ready(self.work, to)) for to in everyone],
            "count of": [[self.count_of(to, tag) for to in everyone] for tag in tags],
            "failed": [
                [self.one(lib.cr_work_failed, to, space) for to in everyone] for space in spaces
            ],
            "handed out": [
                [self.one(lib.cr_work_look, to, token) for to in everyone] for token in tokens
            ],
            "unseen": [self.unseen(to) for to in everyone],
            "charged": [lib.cr_work_charged(self.work, to) for to in everyone],
            "can do": [self.can_do(to) for to in everyone],
        }

    def pending_of(self, to: int, kind: str) -> int:
        return int(self.lib.cr_work_pending_of(self.work, to, KINDS[kind]))

    def count_of(self, to: int, tag: int) -> tuple[int, int]:
        waiting, held = self.ffi.new("uint32_t *", 99), self.ffi.new("uint32_t *", 99)
        self.lib.cr_work_count_of(self.work, to, tag, waiting, held)
        return waiting[0], held[0]

    def one(self, find: Callable[..., int], to: int, which: int) -> Got | None:
        """The notice of a receiver that a function finds, if there is one."""
        out = self.ffi.new("cr_work_notice *")
        status = find(self.work, to, which, out)
        assert status in (OK, REASONS["absent"])
        return self.got(out) if status == OK else None

    def can_do(self, to: int) -> list[Got]:
        """The order of the lanes is the core's affair."""
        return self._walk(self.lib.cr_work_next, to)

    def _walk(self, step: Any, to: int) -> list[Got]:
        """All that a cursor comes to, sorted."""
        at, out = self.ffi.new("cr_work_cursor *"), self.ffi.new("cr_work_notice *")
        found = []
        while step(self.work, to, at, out) == OK:
            found.append(self.got(out))
        assert step(self.work, to, at, out) == REASONS["absent"]
        return sorted(found)

    def answers(self, answers: Sequence[tuple[int, bool]]) -> Any:
        return self.ffi.new(
            "cr_work_answer[]", [{"token": t, "failed": f} for t, f in answers] or 1
        )

    def got(self, notice: Any) -> Got:
        return Got(
            notice.token,
            KIND_NAMES[notice.kind],
            notice.space,
            notice.object,
            notice.pd,
            notice.tag,
            notice.again,
            notice.since,
            notice.account,
        )


class InPython:
    """The reference's lanes."""

    def __init__(self, items: int = ITEMS, receivers: int = RECEIVERS) -> None:
        self.queues, self.receivers = Queues(items), receivers

    def put(self, to: int, got: Got) -> tuple[int, int]:
        about = got.object, got.pd
        try:
            notice = self.queues.put(
                to,
                got.space,
                got.kind,
                about,
                tag=got.tag,
                since=got.since,
                pd=got.pd,
                account=got.account,
            )
        except NoticeError as error:
            return REASONS[error.reason], 0
        return OK, notice.token

    def fetch(self, to: int, most: int) -> list[Got]:
        return [self.got(notice) for notice in self.queues.fetch(to, most)]

    def check(self, to: int, answers: Sequence[tuple[int, bool]]) -> int:
        return REASONS[self.queues.check(to, answers)]

    def finish(self, to: int, token: int, failed: bool) -> tuple[int, Got | None]:
        try:
            return OK, self.got(self.queues.finish(to, token, failed))
        except NoticeError as error:
            return REASONS[error.reason], None

    def resume(self, to: int, space: int) -> int:
        try:
            self.queues.resume(to, space)
        except NoticeError as error:
            return REASONS[error.reason]
        return OK

    def untag(self, to: int, token: int) -> None:
        self.queues.untag(to, token)

    def limit(self, to: int, account: int, most: int) -> None:
        self.queues.limit(to, account, most)

    def withdraw(self, to: int, token: int) -> tuple[int, Got | None]:
        try:
            return OK, self.got(self.queues.withdraw(to, token))
        except NoticeError as error:
            return REASONS[error.reason], None

    def merge(self, to: int, token: int) -> int:
        try:
            self.queues.merge(to, token, (0, 0))
        except NoticeError as error:
            return REASONS[error.reason]
        return OK

    def look(
        self,
        tags: Sequence[int],
        spaces: Sequence[int] = (),
        tokens: Sequence[int] = (),
    ) -> dict[str, Any]:
        queues, everyone = self.queues, range(self.receivers)
        return {
            "room": queues.room(),
            "pending": [queues.pending(to) for to in everyone],
            "pending of": [
                [sum(n.kind == kind for n in queues.notices(to)) for kind in KINDS]
                for to in everyone
            ],
            "ready": [queues.ready(to) for to in everyone],
            "count of": [[self.count_of(to, tag) for to in everyone] for tag in tags],
            "failed": [[self.one(to, _of_space(space)) for to in everyone] for space in spaces],
            "handed out": [[self.one(to, _of_token(token)) for to in everyone] for token in tokens],
            "unseen": [[self.got(each) for each in queues.unseen(to)] for to in everyone],
            "charged": [queues.charged(to) if to else 0 for to in everyone],
            "can do": [self.can_do(to) for to in everyone],
        }

    def count_of(self, to: int, tag: int) -> tuple[int, int]:
        waiting = [n for n in self.queues.notices(to) if n.tag == tag and n.state != "failed"]
        return len(waiting), sum(map(self.queues.held, waiting))

    def one(self, to: int, which: Callable[[Any], bool]) -> Got | None:
        notice = next(filter(which, self.queues.notices(to)), None)
        return None if notice is None else self.got(notice)

    def got(self, notice: Any) -> Got:
        object_, pd = notice.about
        return Got(
            notice.token,
            notice.kind,
            notice.space,
            object_,
            pd,
            notice.tag,
            notice.again,
            notice.since,
            notice.account,
        )

    def can_do(self, to: int) -> list[Got]:
        return [self.got(notice) for notice in self.queues.can_do(to)]


def _of_space(space: int) -> Callable[[Any], bool]:
    """Whether a notice is about this space and was answered as failed."""
    return lambda notice: (notice.space, notice.state) == (space, "failed")


def _of_token(token: int) -> Callable[[Any], bool]:
    """Whether a notice has this token and is handed out."""
    return lambda notice: (notice.token, notice.state) == (token, "out")


def new(
    kind: str,
    space: int = 1,
    object_: int = 0,
    pd: int = 0,
    tag: int = 0,
    since: int = 0,
    account: int = 0,
) -> Got:
    return Got(0, kind, space, object_, pd, tag, 0, since, account)


# -- C against Python


class Both:
    """Applies each operation to both sides and compares every answer and all visible state."""

    def __init__(self) -> None:
        self.c, self.py = InC(), InPython()

    def same(self, do: Callable[[Side], Any]) -> Any:
        c, py = do(self.c), do(self.py)
        assert c == py
        return c

    def put(self, to: int, kind: str, space: int, tag: int, since: int) -> None:
        got = new(
            kind,
            space,
            object_=7 * tag + since,
            pd=tag ^ since,
            tag=tag,
            since=since,
            account=since % RECEIVERS,
        )
        status, c = self.c.put(to, got)
        wanted, py = self.py.put(to, got)
        assert status == wanted
        assert status == FULL or c == py

    def fetch(self, to: int, most: int) -> None:
        self.same(lambda side: side.fetch(to, most))

    def answer(self, to: int, count: int, failures: int) -> None:
        """Answers as a correct receiver does, except for lanes that fail within a message."""
        out = [notice.token for notice in self.py.queues.notices(to) if notice.state == "out"][
            :count
        ]
        self.message(to, [(token, bool(failures >> place & 1)) for place, token in enumerate(out)])

    def anything(self, to: int, answers: list[tuple[int, bool]]) -> None:
        """Answers arbitrary tokens, counted from the newest."""
        newest = self.py.queues._tokens
        self.message(to, [(max(newest - back, 0), failed) for back, failed in answers])

    def message(self, to: int, answers: list[tuple[int, bool]]) -> None:
        before = bytes(self.c.ffi.buffer(self.c.memory))
        allowed = self.same(lambda side: side.check(to, answers)) == OK
        assert bytes(self.c.ffi.buffer(self.c.memory)) == before
        for token, failed in answers:
            before = bytes(self.c.ffi.buffer(self.c.memory))
            status, _ = self.same(
                lambda side, t=token, f=failed: side.finish(to, t, f)  # type: ignore[misc]
            )
            if status != OK:
                assert not allowed, "a message that may be taken can be taken whole"
                assert bytes(self.c.ffi.buffer(self.c.memory)) == before, (
                    "what is refused changes nothing"
                )

    def resume(self, to: int, space: int) -> None:
        self.same(lambda side: side.resume(to, space))

    def untag(self, to: int, back: int) -> None:
        """Up to a token, counted from the newest."""
        token = max(self.py.queues._tokens - back, 0)
        self.same(lambda side: side.untag(to, token))

    def limit(self, to: int, account: int, most: int) -> None:
        for side in (self.c, self.py):
            side.limit(to, account, most)

    def withdraw(self, to: int, back: int) -> None:
        """A token, counted from the newest."""
        token = max(self.py.queues._tokens - back, 0)
        self.same(lambda side: side.withdraw(to, token))

    def merge(self, to: int, back: int) -> None:
        """A token, counted from the newest."""
        token = max(self.py.queues._tokens - back, 0)
        self.same(lambda side: side.merge(to, token))

    def sweep(self, to: int, part: int) -> None:
        """Walks over the unseen notices and withdraws or merges some of them meanwhile."""
        lib, at = self.c.lib, self.c.ffi.new("cr_work_cursor *")
        out, met = self.c.ffi.new("cr_work_notice *"), []
        wanted = [notice.token for notice in self.py.queues.unseen(to)]
        while lib.cr_work_next_unseen(self.c.work, to, at, out) == OK:
            token = int(out.token)
            met.append(token)
            if token % 3 == part:
                self.same(lambda side, t=token: side.withdraw(to, t))  # type: ignore[misc]
            elif token % 3 == 0:
                self.same(lambda side, t=token: side.merge(to, t))  # type: ignore[misc]
        assert sorted(met) == wanted

    def take(self, to: int, count: int) -> None:
        """The core chooses the lane. The notice must be the oldest of some lane."""
        for _ in range(count):
            taken = self.c.take(to)
            if taken is None:
                assert self.py.queues.pending(to) == 0
                return
            notice, failed = self.py.queues.take(to, taken[0].token)
            assert taken == (self.py.got(notice), failed)

    def compare(self) -> None:
        newest = self.py.queues._tokens
        tokens = range(max(newest - 6, 0), newest + 2)
        self.same(lambda side: side.look(range(4), range(SPACES), tokens))


TO = st.integers(0, RECEIVERS - 1)
SINCE = st.integers(0, 9)
SPACE = st.integers(0, SPACES - 1)
PUT = st.tuples(st.just("put"), TO, st.sampled_from(PRECEDENCE), SPACE, st.integers(0, 3), SINCE)
ACTION = st.one_of(
    PUT,
    PUT,
    PUT,
    st.tuples(st.just("fetch"), TO, st.integers(0, 6)),
    st.tuples(st.just("fetch"), TO, st.just(16)),
    st.tuples(st.just("answer"), TO, st.integers(1, 6), st.sampled_from([0, 0, 0, 1, 2, 5])),
    st.tuples(st.just("answer"), TO, st.integers(1, 6), st.just(0)),
    st.tuples(
        st.just("anything"),
        TO,
        st.lists(st.tuples(st.integers(0, 14), st.booleans()), min_size=1, max_size=4),
    ),
    st.tuples(st.just("resume"), TO, SPACE),
    st.tuples(st.just("untag"), TO, st.integers(0, 14)),
    st.tuples(st.just("take"), TO, st.integers(1, 3)),
    st.tuples(st.just("limit"), TO, TO, st.integers(1, 3)),
    st.tuples(st.just("withdraw"), TO, st.integers(0, 14)),
    st.tuples(st.just("merge"), TO, st.integers(0, 14)),
    st.tuples(st.just("sweep"), TO, st.integers(0, 2)),
)


@pytest.mark.slow
@pytest.mark.behaviour("N-05", "A-07", "A-10")
@settings(max_examples=400)
@given(st.lists(ACTION, max_size=80))
def test_lanes_in_c_are_lanes_in_python(actions: list[tuple[Any, ...]]) -> None:
    both = Both()
    for name, *arguments in actions:
        getattr(both, name)(*arguments)
        both.compare()


@pytest.mark.parametrize("seed", range(2))
def test_so_are_thousands_of_them(seed: int) -> None:
    """Long enough that slots, lanes and tokens are reused often and tables have chains."""
    rng = random.Random(seed)
    both = Both()
    both.c, both.py = InC(300, RECEIVERS), InPython(300, RECEIVERS)
    fills = 0
    for step in range(6_000):
        to, what = rng.randrange(RECEIVERS), rng.random()
        if what < (0.62 if step % 2000 < 1200 else 0.3):
            both.put(
                to, rng.choice(PRECEDENCE), rng.randrange(40), rng.randrange(4), rng.randrange(10)
            )
        elif what < 0.8:
            both.fetch(to, rng.choice([1, 5, 16]))
        elif what < 0.97:
            both.answer(to, rng.randrange(1, 17), rng.choice([0, 0, 0, 0, 1, 8]))
        else:
            both.resume(to, rng.randrange(40))
            if rng.random() < 0.1:
                both.untag(to, rng.randrange(300))
            both.take(to, rng.randrange(2))
            if rng.random() < 0.2:
                both.sweep(to, rng.randrange(3))
                both.limit(to, rng.randrange(RECEIVERS), rng.choice([3, 9, 300]))
        fills += both.py.queues.room() == 0
        if step % 50 == 0:
            both.compare()
    both.compare()
    assert fills > 0
    for to in range(RECEIVERS):
        both.take(to, 300)
    both.compare()
    assert both.c.look([])["room"] == 300


# -- the behaviour of both


@pytest.fixture(params=[InC, InPython])
def side(request: pytest.FixtureRequest) -> Side:
    made: Side = request.param()
    return made


def put(side: Side, *notices: Got, to: int = 0) -> list[int]:
    """The tokens of the notices."""
    tokens = []
    for notice in notices:
        status, token = side.put(to, notice)
        assert status == OK
        tokens.append(token)
    return tokens


def tokens(got: list[Got]) -> list[int]:
    return [notice.token for notice in got]


def drain(side: Side, to: int = 0, most: int = 16) -> list[Got]:
    """One worker: fetches and finishes until no notice is left."""
    done: list[Got] = []
    while got := side.fetch(to, most):
        for notice in got:
            assert side.finish(to, notice.token, False)[0] == OK
        done += got
    return done


@pytest.mark.behaviour("N-06")
def test_a_fetch_gives_one_kind_and_no_more_than_asked_for(side: Side) -> None:
    lost = [put(side, new("lost", space))[0] for space in range(1, 4)]
    free = put(side, new("free", 9, 5, pd=0x2A), new("free", 9, 6, pd=0x2A))
    assert side.fetch(0, 2) == [
        Got(lost[0], "lost", 1, 0, 0, 0, 0, 0),
        Got(lost[1], "lost", 2, 0, 0, 0, 0, 0),
    ]
    assert tokens(side.fetch(0, 16)) == lost[2:], "the rest of that kind, and nothing of another"
    assert side.fetch(0, 16) == [
        Got(free[0], "free", 9, 5, 0x2A, 0, 0, 0),
        Got(free[1], "free", 9, 6, 0x2A, 0, 0, 0),
    ]
    assert side.fetch(0, 16) == []


@pytest.mark.behaviour("N-06")
def test_kinds_come_by_precedence_whatever_the_order_in_which_they_were_put(side: Side) -> None:
    for space, kind in enumerate(reversed(PRECEDENCE)):
        put(side, new(kind, space))
    order = [notice.kind for notice in drain(side)]
    wanted = "probe fault pre-destroy destroy lost free disconnect extract"
    assert order == wanted.split()


def test_the_core_and_the_reference_name_the_same_precedence() -> None:
    c = InC()
    kinds = [KIND_NAMES[c.lib.cr_work_precedence[place]] for place in range(len(KINDS))]
    assert kinds == list(PRECEDENCE)


@pytest.mark.behaviour("A-07")
def test_a_lane_is_strictly_in_order_even_against_precedence(side: Side) -> None:
    """A `destroy` behind a `free` of the same space waits until the free is finished.

    It is not enough that the free is fetched.
    """
    first, second, third, last = put(
        side, new("free", 1, 1), new("free", 1, 2), new("destroy"), new("lost")
    )
    assert tokens(side.fetch(0, 16)) == [first, second]
    assert side.fetch(0, 16) == []
    assert side.check(0, [(second, False)]) == REASONS["state"]
    assert side.finish(0, second, False)[0] == REASONS["state"]
    assert side.finish(0, first, False)[0] == OK
    assert side.fetch(0, 16) == []
    assert side.finish(0, second, False)[0] == OK
    assert tokens(side.fetch(0, 16)) == [third]
    assert side.finish(0, third, False)[0] == OK
    assert tokens(side.fetch(0, 16)) == [last]


@pytest.mark.behaviour("A-08")
def test_one_worker_drains_all_lanes_until_nothing_is_left(side: Side) -> None:
    put_ = [put(side, new(PRECEDENCE[n % len(PRECEDENCE)], n % 5, n))[0] for n in range(ITEMS)]
    assert side.put(0, new("free"))[0] == FULL
    assert sorted(tokens(drain(side, most=3))) == put_
    state = side.look([])
    assert (state["room"], state["pending"][0], state["ready"][0]) == (ITEMS, 0, False)


@pytest.mark.behaviour("A-08")
def test_of_a_lane_nothing_is_handed_out_twice_at_a_time(side: Side) -> None:
    """A worker on a lane therefore needs no lock against a second worker on it."""
    mine = put(side, *(new("free", 1, n) for n in range(1, 6)))
    assert tokens(side.fetch(0, 2)) == mine[:2]
    assert side.fetch(0, 2) == [], (
        "not even what was not asked for, until the first two are finished"
    )
    assert [side.finish(0, token, False)[0] for token in mine[:2]] == [OK, OK]
    assert tokens(side.fetch(0, 16)) == mine[2:]


@pytest.mark.behaviour("A-09")
def test_a_slow_lane_holds_up_no_other_nor_another_receiver(side: Side) -> None:
    slow = put(side, new("free", 1, 1), new("free", 1, 2))
    assert tokens(side.fetch(0, 16)) == slow
    other = put(side, new("free", 2, 1), new("free", 3, 1))
    theirs = put(side, new("free", 1, 1), to=1)
    assert tokens(drain(side)) == other
    assert tokens(drain(side, 1)) == theirs
    assert side.look([])["pending"][:2] == [2, 0]
    assert [side.finish(0, token, False)[0] for token in slow] == [OK, OK]


@pytest.mark.behaviour("A-09")
def test_lanes_take_turns(side: Side) -> None:
    """A lane that always has more notices does not keep the other lanes from their turn."""
    for object_ in range(4):
        put(side, new("free", 1, object_))
    for object_ in range(3):
        put(side, new("free", 2, object_))
    assert [notice.space for notice in side.fetch(0, 2)] == [1, 1]
    assert side.finish(0, 1, False)[0] == side.finish(0, 2, False)[0] == OK
    assert [(notice.space, notice.object) for notice in drain(side, most=3)] == [
        (2, 0),
        (2, 1),
        (2, 2),
        (1, 2),
        (1, 3),
    ]


@pytest.mark.behaviour("A-10")
def test_what_arrives_while_a_lane_is_worked_on_comes_in_order_of_time(side: Side) -> None:
    first = put(side, new("free", 1, 1))
    assert tokens(side.fetch(0, 16)) == first
    late = put(side, new("free", 1, 2), new("destroy", 1), new("free", 1, 3))
    assert late == sorted(late)
    assert side.fetch(0, 16) == []
    assert side.finish(0, first[0], False)[0] == OK
    assert tokens(drain(side)) == late


@pytest.mark.behaviour("A-11")
@pytest.mark.parametrize("kind", sorted(STOPPING))
def test_a_failure_stops_its_lane_and_no_other(side: Side, kind: str) -> None:
    lane = put(side, *(new(kind, 1, n, tag=6, since=50) for n in range(1, 4)))
    assert tokens(side.fetch(0, 16)) == lane
    put(side, new("lost", 1, tag=6, since=40))
    other = put(side, new("free", 2, 1))
    assert side.check(0, [(lane[0], True), (lane[1], False)]) == REASONS["state"]
    assert side.finish(0, lane[0], True)[0] == OK
    assert side.check(0, [(lane[1], False)]) == REASONS["absent"], "taken back"
    assert tokens(drain(side)) == other
    state = side.look([6])
    assert ([counts[0] for counts in state["count of"]], state["pending"][0]) == ([(3, 3)], 4)
    assert state["can do"][0] == [], "held notices wait"


@pytest.mark.behaviour("A-11")
def test_a_resumed_lane_starts_with_the_one_that_failed(side: Side) -> None:
    lane = put(side, *(new("free", 1, n, tag=6, since=50) for n in range(1, 4)))
    side.fetch(0, 16)
    assert side.finish(0, lane[0], False)[0] == OK
    assert side.finish(0, lane[1], True)[0] == OK
    assert side.resume(0, 2) == side.resume(1, 1) == REASONS["absent"]
    assert side.resume(0, 1) == OK
    assert side.resume(0, 1) == REASONS["absent"]
    state = side.look([6, 0])
    assert [counts[0] for counts in state["count of"]] == [(1, 0), (1, 0)], (
        "the one that failed is on nobody's account now"
    )
    assert tokens(state["can do"][0]) == lane[1:]
    assert side.fetch(0, 16) == [
        Got(lane[1], "free", 1, 2, 0, 0, 1, 50),
        Got(lane[2], "free", 1, 3, 0, 6, 0, 50),
    ]
    assert [side.finish(0, token, False)[0] for token in lane[1:]] == [OK, OK]


@pytest.mark.parametrize("kind", sorted(set(PRECEDENCE) - STOPPING))
def test_kinds_that_are_finished_either_way_stop_nothing(side: Side, kind: str) -> None:
    lane = put(side, new(kind, 1, 1), new(kind, 1, 2), new("free", 1, 3))
    assert tokens(side.fetch(0, 16)) == lane[:2]
    assert side.check(0, [(lane[0], True), (lane[1], True)]) == OK
    assert [side.finish(0, token, True)[0] for token in lane[:2]] == [OK, OK]
    assert tokens(drain(side)) == lane[2:]
    assert side.resume(0, 1) == REASONS["absent"]


@pytest.mark.behaviour("J-08")
@pytest.mark.parametrize("kind", ["probe", "fault"])
def test_no_failure_holds_a_probe_or_a_fault(side: Side, kind: str) -> None:
    """Not even a failed notice that is also about no space, or an earlier fault of another PD."""
    (lost,) = put(side, new("lost", 0))
    assert tokens(side.fetch(0, 16)) == [lost]
    assert side.finish(0, lost, True)[0] == OK
    first = put(side, new(kind, 0, pd=7))
    assert tokens(side.fetch(0, 16)) == first
    second = put(side, new("fault", 0, pd=8))
    assert tokens(side.fetch(0, 16)) == second


@pytest.mark.behaviour("N-14", "N-10")
def test_a_notice_is_handed_out_and_finished_once(side: Side) -> None:
    absent = REASONS["absent"]
    (token,) = put(side, new("free", 1, 1))
    assert side.finish(0, token, False)[0] == absent, "not handed out yet"
    assert tokens(side.fetch(0, 16)) == [token]
    assert side.fetch(0, 16) == []
    assert side.finish(1, token, False)[0] == absent, "somebody else's"
    assert side.finish(0, token + 1, False)[0] == absent, "never given"
    assert side.check(0, [(token, False), (token, False)]) == absent, "twice"
    assert side.finish(0, token, False)[0] == OK
    assert side.finish(0, token, False)[0] == absent, "over"
    assert put(side, new("free", 1, 1)) == [token + 1], "a number is never used again"


@pytest.mark.behaviour("N-10")
def test_a_message_with_one_answer_too_many_is_refused_whole(side: Side) -> None:
    mine = put(side, new("free", 1, 1), new("free", 1, 2))
    side.fetch(0, 16)
    right = [(token, False) for token in mine]
    before = side.look([0])
    for wrong in ([*right, (mine[-1] + 1, False)], [*right, right[0]], [right[1], right[0]]):
        assert side.check(0, wrong) != OK
        assert side.look([0]) == before
    assert side.check(0, right) == side.check(0, right) == OK


def test_notices_up_to_a_token_go_off_their_accounts(side: Side) -> None:
    mine = put(side, new("free", 1, 1, tag=6), new("free", 2, 1, tag=7), new("free", 1, 2, tag=6))
    put(side, new("free", 1, 1, tag=6), to=1)
    side.fetch(0, 16)
    assert side.finish(0, mine[0], True)[0] == OK
    side.untag(0, mine[1])
    assert side.look([6, 7, 0])["count of"] == [
        [(1, 1), (1, 0), (0, 0)],
        [(0, 0)] * 3,
        [(1, 0), (0, 0), (0, 0)],
    ]
    side.untag(0, mine[2])
    assert side.look([6])["count of"] == [[(0, 0), (1, 0), (0, 0)]], (
        "only the other receiver's is left"
    )
    assert side.resume(0, 1) == OK
    assert [(notice.tag, notice.again) for notice in drain(side)] == [(0, 1), (0, 0)]


# -- limits of the C interface


def test_memory_that_does_not_do_is_refused() -> None:
    ffi, lib = load_core((*HEADERS, "work.h"))
    out = ffi.new("cr_work **")
    size = lib.cr_work_bytes(4, 2)
    memory = ffi.new("uint64_t[]", size // 8 + 1)
    memory[size // 8] = 0x5EA1
    few = STATUS["CR_ERR_MEMORY"]
    assert lib.cr_work_init(memory, size - 1, 4, 2, out) == few
    assert lib.cr_work_init(ffi.cast("char *", memory) + 4, size, 4, 2, out) == few
    assert lib.cr_work_init(ffi.NULL, size, 4, 2, out) == BAD
    assert lib.cr_work_init(memory, size, 4, 2, ffi.NULL) == BAD
    for items, receivers in ((0, 1), (1, 0), (1 << 30, 1), (1, 1 << 30), (1 << 31, 1 << 31)):
        assert lib.cr_work_bytes(items, receivers) == 0
        assert lib.cr_work_init(memory, size, items, receivers, out) == BAD
    assert lib.cr_work_init(memory, size, 4, 2, out) == OK
    assert memory[size // 8] == 0x5EA1
    assert lib.cr_work_bytes(1, 1) > 0


def test_exactly_as_many_as_stated_fit_and_the_memory_behind_is_left_alone() -> None:
    ffi, lib = load_core((*HEADERS, "work.h"))
    for items in (1, 2, 3, 4, 5, 8, 9):
        size = lib.cr_work_bytes(items, 1)
        memory = ffi.new("uint64_t[]", [0x5EA1] * (size // 8 + 1))
        out = ffi.new("cr_work **")
        assert lib.cr_work_init(memory, size, items, 1, out) == OK
        for turn in range(3):
            for n in range(items):
                notice = ffi.new("cr_work_notice *", {"kind": 0, "space": n})
                assert lib.cr_work_put(out[0], 0, notice) == OK
                assert notice.token == turn * items + n + 1
            assert lib.cr_work_put(out[0], 0, ffi.new("cr_work_notice *")) == FULL
            for _ in range(items):
                taken, failed = ffi.new("cr_work_notice *"), ffi.new("uint32_t *")
                assert lib.cr_work_take(out[0], 0, taken, failed) == OK
        assert memory[size // 8] == 0x5EA1


def test_a_receiver_that_is_not_there_is_refused() -> None:
    c = InC()
    lib, work, out = c.lib, c.work, c.ffi.new("cr_work_notice *")
    number = c.ffi.new("uint32_t *")
    for to in (RECEIVERS, 0xFFFFFFFF):
        assert lib.cr_work_put(work, to, out) == BAD
        assert lib.cr_work_fetch(work, to, 1, out, number) == BAD
        assert lib.cr_work_check(work, to, c.answers([(1, False)]), 1) == BAD
        assert lib.cr_work_finish(work, to, c.answers([(1, False)]), out) == BAD
        assert lib.cr_work_resume(work, to, 1) == BAD
        assert lib.cr_work_take(work, to, out, number) == BAD
        assert lib.cr_work_next(work, to, c.ffi.new("cr_work_cursor *"), out) == BAD
        assert lib.cr_work_untag(work, to, 99) == BAD
        assert (lib.cr_work_pending_of(work, to, 0), lib.cr_work_ready(work, to)) == (0, 0)


def test_a_kind_that_is_none_is_refused() -> None:
    c = InC()
    notice = c.ffi.new("cr_work_notice *")
    notice.kind = len(KINDS)
    assert c.lib.cr_work_put(c.work, 0, notice) == BAD
    assert c.look([])["room"] == ITEMS
    with pytest.raises(ValueError, match="no kind of notice"):
        Queues().put(0, 1, "wish")
