# SPDX-License-Identifier: BSD-2-Clause
"""The counting of steps and kernel calls at which the configuration has something fail."""

from __future__ import annotations

from typing import Any

import pytest

from cellreap import headers
from cellreap.model.core import load_core

STEP, MAKE = 0, 1
END = headers.constant("image.h", "CR_IMAGE_STEP_END")
MOST = headers.constant("image.h", "CR_IMAGE_MAX_INJECTIONS")
HOWS = headers.printed_names("inject.h", "CR_INJECTION")
OK = 0
BAD = headers.constant("status.h", "CR_ERR_ARG")


class Injector:
    """An injector with its rows: (chain, step, call, how, always)."""

    def __init__(self, *rows: tuple[int, int, int, str, bool]) -> None:
        self.ffi, self.lib = load_core(("status.h", "image.h", "inject.h"))
        self.rows = self.ffi.new("cr_image_injection[]", max(len(rows), 1))
        for row, (chain, step, call, how, always) in zip(self.rows, rows, strict=False):
            row.chain, row.step, row.call = chain, step, call
            row.how, row.always = HOWS[how], always
        self.injector = self.ffi.new("cr_injector *")
        self.status = self.lib.cr_injector_init(self.injector, self.rows, len(rows))

    def _how(self, row: Any) -> str:
        if row == self.ffi.NULL:
            return "-"
        return str(self.ffi.string(self.lib.cr_injected_name(row.how)).decode())

    def step(self, chain: int = STEP, again: bool = False) -> str:
        return self._how(self.lib.cr_inject_step(self.injector, chain, again))

    def call(self, chain: int = STEP) -> str:
        return self._how(self.lib.cr_inject_call(self.injector, chain))

    def end(self, chain: int = STEP) -> str:
        return self._how(self.lib.cr_inject_end(self.injector, chain))


def test_steps_are_counted_for_each_chain() -> None:
    it = Injector((STEP, 3, 0, "fault", False), (MAKE, 2, 0, "error", False))
    assert [it.step(chain) for chain in (STEP, MAKE, STEP, MAKE, STEP, STEP)] == [
        "-", "-", "-", "error", "fault", "-",
    ]  # fmt: skip


def test_calls_are_counted_from_the_beginning_of_each_attempt() -> None:
    it = Injector((STEP, 2, 2, "hang", True), (STEP, 2, END, "error", False))
    assert [it.step(), it.call(), it.call(), it.end()] == ["-"] * 4
    assert [it.step(), it.call(), it.call(), it.call(), it.end()] == [
        "-", "-", "hang", "-", "error",
    ]  # fmt: skip
    assert [it.step(again=True), it.call(), it.call(), it.end()] == ["-", "-", "hang", "-"]
    assert [it.step(), it.call(), it.call()] == ["-", "-", "-"]


@pytest.mark.parametrize("always", [False, True])
def test_a_step_that_is_attempted_again_fails_again_only_for_always(always: bool) -> None:
    it = Injector((STEP, 1, 0, "error", always))
    again = "error" if always else "-"
    assert [it.step(), it.step(again=True), it.step()] == ["error", again, "-"]


def test_making_for_always_fails_from_a_step_on() -> None:
    it = Injector((MAKE, 2, 0, "error", True))
    assert [it.step(MAKE) for _ in range(4)] == ["-", "error", "error", "error"]
    assert it.step(STEP) == "-"


def test_one_that_another_hides_does_not_happen_later() -> None:
    it = Injector((STEP, 1, 0, "fault", False), (STEP, 1, 0, "error", False))
    assert [it.step(), it.step(again=True)] == ["fault", "-"]


def test_what_names_no_chain_step_or_failure_is_refused() -> None:
    assert Injector((MAKE, 1, 7, "hang", True)).status == OK
    assert Injector((2, 1, 0, "error", False)).status == BAD
    assert Injector((STEP, 0, 0, "error", False)).status == BAD
    wrong = Injector((STEP, 1, 0, "error", False))
    wrong.rows[0].how = len(HOWS)
    assert wrong.lib.cr_injector_init(wrong.injector, wrong.rows, 1) == BAD
    row = (STEP, 1, 0, "error", False)
    assert Injector(*[row] * MOST).status == OK
    assert Injector(*[row] * (MOST + 1)).status == BAD
