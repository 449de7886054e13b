# SPDX-License-Identifier: BSD-2-Clause
"""The queues of notices in C against lists in Python."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellreap.core import HEADERS, load_core
from cellreap.headers import enums

STATUS = enums("status.h")["cr_status"]
ITEMS, RECEIVERS = 12, 3


class Pair:
    """A queue in C and what it should be."""

    def __init__(self) -> None:
        self.ffi, self.lib = load_core((*HEADERS, "work.h"))
        self.items = self.ffi.new("cr_work_item[]", ITEMS)
        self.queues = self.ffi.new("cr_work_queue[]", RECEIVERS)
        self.work = self.ffi.new("cr_work *")
        self.lib.cr_work_init(self.work, self.items, ITEMS, self.queues, RECEIVERS)
        self.waiting: list[deque[tuple[int, int]]] = [deque() for _ in range(RECEIVERS)]
        self.fetched: list[list[tuple[int, int]]] = [[] for _ in range(RECEIVERS)]
        self.tokens = 0

    def put(self, to: int, kind: int) -> None:
        notice = self.ffi.new("cr_work_notice *", {"kind": kind, "space": to + 1})
        status = self.lib.cr_work_put(self.work, to, notice)
        if self.pending() == ITEMS:
            assert status == STATUS["CR_ERR_FULL_NODES"]
            return
        assert status == 0
        self.tokens += 1
        assert notice.token == self.tokens
        self.waiting[to].append((self.tokens, kind))

    def fetch(self, to: int, most: int) -> None:
        out = self.ffi.new("cr_work_notice[]", 16)
        count = self.ffi.new("uint32_t *")
        assert self.lib.cr_work_fetch(self.work, to, most, out, count) == 0
        wanted: list[tuple[int, int]] = []
        queue = self.waiting[to]
        while queue and len(wanted) < most and (not wanted or queue[0][1] == wanted[0][1]):
            wanted.append(queue.popleft())
        assert [(out[i].token, out[i].kind) for i in range(count[0])] == wanted
        self.fetched[to] += wanted

    def finish(self, to: int, token: int) -> None:
        out = self.ffi.new("cr_work_notice *")
        checked = self.lib.cr_work_check(self.work, to, token)
        status = self.lib.cr_work_finish(self.work, to, token, out)
        assert checked == status
        known = [each for each in self.fetched[to] if each[0] == token]
        if not known:
            assert status == STATUS["CR_ERR_ABSENT"]
            return
        assert (status, out.token, out.kind, out.space) == (0, token, known[0][1], to + 1)
        self.fetched[to].remove(known[0])

    def drop(self, to: int) -> None:
        assert self.lib.cr_work_drop(self.work, to) == len(self.waiting[to]) + len(self.fetched[to])
        self.waiting[to].clear()
        self.fetched[to].clear()

    def pending(self) -> int:
        return sum(map(len, self.waiting)) + sum(map(len, self.fetched))

    def check(self) -> None:
        assert self.work.pending == self.pending()
        assert self.lib.cr_work_room(self.work) == ITEMS - self.pending()
        out = self.ffi.new("uint32_t *")
        status = self.lib.cr_work_oldest(self.work, out)
        left = [(token, to) for to in range(RECEIVERS) for token, _ in [*self.waiting[to], *self.fetched[to]]]
        # A receiver is judged by the notice at the head of its queue.
        heads = [min(token for token, owner in left if owner == to) for to in {owner for _, owner in left}]
        assert (status == 0) == bool(heads)
        if heads:
            assert (min(heads), out[0]) in left


ACTION = st.one_of(
    st.tuples(st.just("put"), st.integers(0, RECEIVERS - 1), st.integers(0, 2)),
    st.tuples(st.just("fetch"), st.integers(0, RECEIVERS - 1), st.integers(0, 5)),
    st.tuples(st.just("finish"), st.integers(0, RECEIVERS - 1), st.integers(0, 30)),
    st.tuples(st.just("drop"), st.integers(0, RECEIVERS - 1), st.just(0)),
)


@given(st.lists(ACTION, max_size=80))
def test_queues_are_what_lists_are(actions: list[tuple[str, int, int]]) -> None:
    pair = Pair()
    for name, to, value in actions:
        method: Any = getattr(pair, name)
        method(to) if name == "drop" else method(to, value)
        pair.check()


@pytest.mark.behaviour("N-14", "N-10")
def test_a_notice_is_handed_out_and_finished_once() -> None:
    pair = Pair()
    pair.put(0, 1)
    pair.finish(0, 1)  # not handed out yet
    pair.fetch(0, 16)
    pair.fetch(0, 16)  # nothing more
    pair.finish(1, 1)  # somebody else's
    pair.finish(0, 1)
    pair.finish(0, 1)  # over
    assert pair.pending() == 0


def test_a_receiver_that_is_not_there_is_refused() -> None:
    pair = Pair()
    notice = pair.ffi.new("cr_work_notice *")
    count = pair.ffi.new("uint32_t *")
    bad = STATUS["CR_ERR_ARG"]
    assert pair.lib.cr_work_put(pair.work, RECEIVERS, notice) == bad
    assert pair.lib.cr_work_fetch(pair.work, RECEIVERS, 1, notice, count) == bad
    assert pair.lib.cr_work_finish(pair.work, RECEIVERS, 1, notice) == bad
    assert pair.lib.cr_work_drop(pair.work, RECEIVERS) == 0
