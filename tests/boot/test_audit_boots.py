# SPDX-License-Identifier: BSD-2-Clause
"""What an audit says before anything crashes is what boots show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest

import cellreap
from cellreap.model.ids import ROOT
from cellreap.testing import Run, Target
from kit.truth_traces import WITH_SOME_TRUTH

CRASHES = ("block_server_1", "block_server_2", "fs", "db", "app")
DEPTHS: tuple[tuple[int | None, int | None], ...] = (
    (0, 0),
    (0, 1),
    (0, 2),
    (1, 0),
    (1, 1),
    (1, 2),
    (2, 0),
    (2, 1),
    (0, None),
    (None, 0),
)


def boot(target: Target, crash: str, depths: tuple[int | None, int | None]) -> Run:
    pd_depth: int | Literal["inf"] = "inf" if depths[0] is None else depths[0]
    rs_depth: int | Literal["inf"] = "inf" if depths[1] is None else depths[1]
    return target.run("block_fs_db_app", crash=crash, pd_depth=pd_depth, rs_depth=rs_depth)


def broken_after(run: Run) -> set[tuple[str, str]]:
    """(survivor, what it holds) of all that was built, directly or further down, on what went."""
    before, after = run.state(0), run.state(1)
    nodes = {row[1] for row in after if row[0]}
    below: dict[str, set[str]] = {}
    for row in before:
        if row[3] == "MAP":
            below.setdefault(row[4], set()).add(row[5])
    found = set()
    for row in after:
        if row[3] == "HOLD" and row[4] != ROOT:
            chain = {row[5]}
            while more := {lower for node in chain for lower in below.get(node, ())} - chain:
                chain |= more
            if chain - nodes:
                found.add((row[4], row[5]))
    return found


@pytest.mark.thorough
@pytest.mark.behaviour("C-08")
@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_fifty_boots_show_what_the_audit_says(
    target_of: Callable[[str], Target], arch: str
) -> None:
    target = target_of(arch)
    # As the file has it: what a trace is compared with when it is audited.
    state = target.run("block_fs_db_app", crash=CRASHES[0], change=WITH_SOME_TRUTH)
    audit = cellreap.audit(state.trace, max_depth=2, after=0)
    assert audit.smallest == [(0, 2), (2, 0)]
    unbroken = set(DEPTHS)
    for depths in DEPTHS:
        finding = audit.at(*depths)
        for crash in CRASHES:
            run = boot(target, crash, depths)
            found = broken_after(run)
            told = finding.broken.get(run.id(crash), [])
            assert found == {(pd, held) for pd, held, _ in told}, (crash, depths)
            assert found == {(pd, held) for pd, held, _ in run.report.cleanups[0].broken}
            if found:
                unbroken.discard(depths)
            assert len(run.destroyed_pds()) <= finding.destroyed
    assert unbroken == {(0, 2), (1, 2), (2, 0), (2, 1), (0, None), (None, 0)}
