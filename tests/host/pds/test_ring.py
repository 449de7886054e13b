# SPDX-License-Identifier: BSD-2-Clause
"""Rings in shared memory, whose ends die at any access and whose memory is kept or cleared."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, Final

import cffi
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kit.paths import ROOT

HEADER = ROOT / "pds" / "include" / "cellreap" / "ring.h"
WORDS: Final = 3
ENTRIES: Final = 4
SENDER, RECEIVER = 0, 1
OK, FULL, EMPTY, NEW, BROKEN = range(5)
DIED: Final = -1
SEND, RECEIVE, ACKNOWLEDGE, ASK = range(4)
BYTES: Final = 192 + 8 * WORDS * (2 * ENTRIES - 1)  # not a power of two
CLEARED, KEPT = "cleared", "kept"


def declarations() -> str:
    """What cffi can read of the header."""
    text = re.sub(r"/\*.*?\*/|^#.*?$|_Alignas\(64\) ", "", HEADER.read_text(), flags=re.S | re.M)
    return text.replace("uint64_t entries[];", "") + (
        "int ring_act(cr_ring *ring, int act, uint64_t *entry, int at, void (*what)(void));"
    )


def library(folder: Path, change: tuple[str, str] = ("", "")) -> tuple[Any, Any]:
    """(ffi, lib) of both ends, compiled in the folder, with a change of ring.c."""
    ffi = cffi.FFI()
    ffi.cdef(declarations(), override=True)
    text = (ROOT / "pds" / "ring.c").read_text()
    assert change[0] in text
    (folder / "ring.c").write_text(text.replace(*change))
    built = folder / "ring.so"
    options = ["-std=c11", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra"]
    include = ["-I", str(ROOT / "pds" / "include"), "-I", str(folder)]
    source = ROOT / "tests" / "host" / "pds" / "ring_ends.c"
    subprocess.run(["cc", *options, *include, str(source), "-o", str(built)], check=True)
    return ffi, ffi.dlopen(str(built))


@pytest.fixture(scope="session")
def lib(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    return library(tmp_path_factory.mktemp("ring"))


def entry_of(value: int) -> list[int]:
    return [value * (word + 1) for word in range(WORDS)]


class Pair:
    """Both ends, and what each may see by the words of ring.h."""

    def __init__(self, ffi: Any, lib: Any) -> None:
        self.ffi, self.lib = ffi, lib
        self.memory = ffi.new("uint64_t[]", BYTES // 8 + 8)
        self.shared = ffi.cast("char *", self.memory)
        self.shared += -int(ffi.cast("uintptr_t", self.shared)) % 64
        self.rings = [ffi.new("cr_ring *"), ffi.new("cr_ring *")]
        self.sent: list[int] = []  # and not acknowledged, of this content
        self.got = [0, 0]  # the value that the end was given last, not acknowledged
        self.surprised = [False, False]  # it has not seen yet that the memory was cleared
        self.told = [True, True]  # whether it knows that the other one came back
        self.value = 0
        self.away: int | None = None  # the end that is dead
        self.acts = 0  # of the other one until it is there again
        self._epoch()
        self.open(SENDER)
        self.open(RECEIVER)

    def _epoch(self) -> None:
        self.ffi.cast("uint64_t *", self.shared)[0] += 1

    def open(self, end: int) -> None:
        status = self.lib.cr_ring_open(self.rings[end], self.shared, BYTES, WORDS, end)
        assert status == OK
        assert self.rings[end].entries == ENTRIES
        self.surprised[end], self.told[end], self.got[end] = False, True, 0

    def dies(self, end: int, memory: str, acts: int) -> None:
        """The PD of an end dies, and the memory is cleared or not.

        acts: how often the other end acts before the next instance comes.
        """
        self.arrive()
        if memory == CLEARED:
            epoch = self.ffi.cast("uint64_t *", self.shared)[0]
            self.ffi.buffer(self.shared, BYTES)[:] = bytes(BYTES)
            self.ffi.cast("uint64_t *", self.shared)[0] = epoch
            self.sent, self.surprised[1 - end] = [], True
        self.away, self.acts = end, acts
        if acts == 0:
            self.arrive()

    def arrive(self) -> None:
        """The next instance opens the ring."""
        if self.away is not None:
            end, self.away = self.away, None
            self._epoch()
            self.open(end)
            self.told[1 - end] = False

    def act(self, end: int, act: int, at: int, happens: str | None, acts: int) -> None:
        """An end acts. It dies before access `at`, or the other end dies there."""
        if end == self.away or (act == ACKNOWLEDGE and not self.got[end]):
            return
        self.value += act == SEND
        entry = self.ffi.new("uint64_t[]", entry_of(self.value) if act == SEND else WORDS)
        happened: list[str] = []

        def then() -> None:
            assert happens is not None
            happened.append(happens)
            self.dies(1 - end, happens, acts)

        callback = self.ffi.NULL if happens is None else self.ffi.callback("void(void)", then)
        before, surprised, told = list(self.sent), self.surprised[end], self.told[end]
        status = self.lib.ring_act(self.rings[end], act, entry, at, callback)
        cleared = happened == [CLEARED]
        if status == NEW and act in {SEND, RECEIVE}:
            assert surprised or cleared
            self.open(end)
        elif act == ASK and status != DIED:
            assert status in ({not told} if not happened else {0, 1})
            self.told[end] = bool(status) or told
        elif act == ACKNOWLEDGE and status != DIED:
            if not surprised and not cleared:
                assert self.sent.pop(0) == self.got[end]
            self.got[end] = 0
        elif act == SEND and status != DIED:
            assert not surprised
            assert status == (FULL if len(before) == ENTRIES else OK)
            if status == OK and not cleared:
                self.sent.append(self.value)
        elif act == RECEIVE and status != DIED:
            assert not surprised
            assert status == (OK if before else EMPTY)
            if status == OK:
                assert list(entry) == entry_of(before[0])
                self.got[end] = before[0]
        if self.away == 1 - end:
            self.acts -= 1
            if self.acts <= 0:
                self.arrive()


MEMORY = st.sampled_from([KEPT, CLEARED])
WAYS = [(SENDER, SEND)] * 3 + [(RECEIVER, RECEIVE), (RECEIVER, ACKNOWLEDGE)] * 2
Act = tuple[tuple[int, int], int, str | None, str, int]
ACTS = st.lists(
    st.tuples(
        st.sampled_from([*WAYS, (SENDER, ASK), (RECEIVER, ASK)]),
        st.one_of(st.just(-1), st.integers(0, 9)),
        st.one_of(st.none(), MEMORY),
        MEMORY,
        st.integers(0, 3),
    ),
    max_size=40,
)


def act_all(pair: Pair, tried: list[Act]) -> None:
    """At instant -1 nobody dies."""
    for (end, act), at, happens, memory, acts in tried:
        pair.act(end, act, at, happens, acts)
        if at != -1 and happens is None and pair.away != end:
            pair.dies(end, memory, acts)


@pytest.mark.behaviour("E-03")
@settings(max_examples=300)
@given(ACTS)
def test_what_was_acknowledged_is_neither_lost_nor_done_twice(
    lib: tuple[Any, Any], acts: list[Act]
) -> None:
    act_all(Pair(*lib), acts)


FAULTS = {
    "sent before it is written": (
        "    for (uint32_t i = 0; i < ring->words; i++) {",
        "    store(own_place(ring), ring->content << 32 | (ring->index + 1));\n"
        "    for (uint32_t i = 0; i < ring->words; i++) {",
    ),
    "a full ring is sent to": ("pending == ring->entries", "pending > ring->entries"),
    "the next instance begins anew": ("index_of(ring, own);", "0;"),
    "a place counts for all contents": ("content_of(place) == ring->content ?", "1 ?"),
    "the memory is cleared behind the look": (
        "return status == CR_RING_OK ? cr_ring_pending(ring, &pending) : status",
        "return status",
    ),
    "the epoch does not count": ("larger(ring->epoch, places + 1)", "places + 1"),
    "the places do not count": ("larger(ring->epoch, places + 1)", "ring->epoch"),
    "who comes back is not seen": ("epoch != ring->epoch", "0"),
}


@pytest.mark.behaviour("E-03")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    faulty = library(tmp_path, FAULTS[fault])

    @settings(max_examples=5_000, phases=[Phase.generate], database=None, derandomize=True)
    @given(ACTS)
    def tried(acts: list[Act]) -> None:
        act_all(Pair(*faulty), acts)

    with pytest.raises(AssertionError):
        tried()
