# SPDX-License-Identifier: BSD-2-Clause
"""Cleanups side by side: which triggers must wait, which must not, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from kit import broken_apart
from kit.broken_traces import of_drafts
from kit.trace_simulator import Target

LAWFUL: list[Callable[[], Target]] = [
    partial(broken_apart.unrelated, talks=False),
    partial(broken_apart.after_all, talks=False),
    partial(broken_apart.overtaken, in_turn=True),
    partial(broken_apart.idle, talks=False),
    partial(broken_apart.crowd, waits=broken_apart.MOST),
    partial(broken_apart.crowd, waits=broken_apart.MOST, lone_first=True),
    broken_apart.doomed_in_the_queue,
    broken_apart.beyond_the_doomed,
]


def _name(run: object) -> str:
    of = run.func if isinstance(run, partial) else run
    return str(getattr(of, "__name__", of))


@pytest.mark.behaviour("J-14")
@pytest.mark.parametrize("run", LAWFUL, ids=map(_name, LAWFUL))
def test_who_waits_no_longer_than_it_must_breaks_no_rule(run: Callable[[], Target]) -> None:
    assert [str(problem) for problem in of_drafts(run().events).violations] == []


@pytest.mark.behaviour("J-14", "C-26")
@pytest.mark.parametrize(
    ("run", "rules"),
    [
        (broken_apart.unrelated, {"triggers.needless"}),
        (broken_apart.after_all, {"triggers.needless"}),
        (broken_apart.idle, {"cleanup.needless"}),
        (broken_apart.overtaken, {"triggers.order"}),
        (broken_apart.crowd, {"cleanup.independent", "triggers.order"}),
    ],
)
def test_who_waits_needlessly_or_not_at_all_breaks_a_rule(
    run: Callable[[], Target], rules: set[str]
) -> None:
    assert {problem.rule for problem in of_drafts(run().events).violations} == rules
