# SPDX-License-Identifier: BSD-2-Clause
"""The engine of making, with chains whose steps fail and cannot be undone as the tests say."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from cellreap import headers
from cellreap.model.core import load_core

MOST = headers.constant("make_steps.h", "CR_MAKE_STEPS_MAX")
STATUS = headers.enums("status.h")["cr_status"]
FULL, CORRUPT, ARG = (STATUS[f"CR_ERR_{name}"] for name in ("FULL_NODES", "CORRUPT", "ARG"))


class Chain:
    """A chain of steps 0, 1, ... . Records what the engine does."""

    def __init__(self, length: int, fails: int | None = None, stuck: Collection[int] = ()) -> None:
        """fails: the step that fails. stuck: steps that cannot be undone."""
        ffi, lib = load_core(("status.h", "make_steps.h"))
        self.did: list[str] = []
        self.known: list[tuple[Any, ...]] = []
        """What each undo is told: context, step, error, failed step, steps done and undone so far,
        first error of an undo.
        """

        def step(_: Any, at: int, out: Any) -> int:
            out.what = at
            return int(at < length)

        def apply(_: Any, step: Any) -> int:
            self.did.append(f"apply {step.what}")
            return FULL if step.what == fails else 0

        def undo(context: Any, step: Any, why: Any) -> int:
            self.did.append(f"undo {step.what}")
            self.known.append(
                (context, step.what, why.status, why.step.what, why.done, why.undone, why.residue)
            )
            return CORRUPT + step.what if step.what in stuck else 0

        def commit(_: Any, step: Any) -> None:
            self.did.append(f"commit {step.what}")

        takes = "void *, const cr_make_step *"
        kept = [
            ffi.callback("int(void *, uint32_t, cr_make_step *)", step),
            ffi.callback(f"cr_status({takes})", apply),
            ffi.callback(f"cr_status({takes}, const cr_make_result *)", undo),
            ffi.callback(f"void({takes})", commit),
        ]
        self.context = ffi.cast("void *", 0x1234)
        chain = ffi.new("cr_make_chain *", (*kept, self.context))
        self.result = lib.cr_make_run(chain)


@pytest.mark.behaviour("T-04")
def test_steps_are_applied_and_then_committed_in_their_order() -> None:
    chain = Chain(3)
    assert chain.did == [f"{what} {i}" for what in ("apply", "commit") for i in range(3)]
    assert (chain.result.status, chain.result.done, chain.result.undone) == (0, 3, 0)


@pytest.mark.behaviour("T-01", "T-05", "T-06")
@pytest.mark.parametrize("fails", range(4))
def test_a_failure_undoes_the_steps_before_it_in_reverse(fails: int) -> None:
    """The step that failed is not undone, and nothing is committed."""
    chain = Chain(4, fails)
    assert chain.did == [
        *(f"apply {i}" for i in range(fails + 1)),
        *(f"undo {i}" for i in reversed(range(fails))),
    ]
    assert (chain.result.done, chain.result.undone) == (fails, fails)
    assert chain.result.step.what == fails


@pytest.mark.behaviour("T-03")
def test_an_undo_knows_what_failed_why_and_how_far_the_others_are() -> None:
    chain = Chain(5, 3, stuck=(1,))
    told = [(chain.context, 2, FULL, 3, 3, 0, 0), (chain.context, 1, FULL, 3, 3, 1, 0)]
    assert chain.known == [*told, (chain.context, 0, FULL, 3, 3, 1, CORRUPT + 1)]


@pytest.mark.behaviour("T-07", "T-08", "T-09")
def test_the_first_error_is_kept_and_a_failing_undo_is_recorded() -> None:
    chain = Chain(5, 4, stuck=(3, 1))
    assert chain.did[-4:] == ["undo 3", "undo 2", "undo 1", "undo 0"]
    result = chain.result
    assert (result.status, result.done, result.undone) == (FULL, 4, 2)
    assert result.residue == CORRUPT + 3


def test_a_chain_without_end_is_refused_and_undone() -> None:
    chain = Chain(MOST + 5)
    assert chain.result.status == ARG
    assert chain.result.undone == MOST
    assert chain.did[-1] == "undo 0"
