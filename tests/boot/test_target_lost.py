# SPDX-License-Identifier: BSD-2-Clause
"""Survivors use what they lost before they are told, and the kernel itself refuses.

The slot is empty at once, whoever the server is and whatever the PD knows. A call that waited at a
live server when its capability was revoked never arrives there.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.testing import Run, Target
from kit.arches import ARCHES
from kit.marks import thorough_but

REFUSED = "kernel error 2"
"""seL4_InvalidCapability: the slot is empty."""


@pytest.fixture(params=thorough_but(sorted(ARCHES), "x86_64"))
def each(request: pytest.FixtureRequest, target_of: Callable[[str], Target]) -> Target:
    """The target of each architecture."""
    return target_of(str(request.param))


@pytest.fixture
def touched(each: Target) -> Run:
    return each.run("touched")


def touches(when: str, disk: str, database: str, passed_on: str, table: str = "") -> list[str]:
    """What the toucher prints in a round. A disk or database refuses its request and its block."""
    block = "ok" if disk != REFUSED else REFUSED
    return [
        f"{when}: disk: {disk}, block: {block}",
        f"database: {database}, table: {table or database}",
        f"shared database: {passed_on}, sent table: {passed_on}",
    ]


@pytest.mark.behaviour("R-06", "C-21", "D-03", "R-03", "W-06")
def test_what_is_lost_is_refused_by_the_kernel_before_anybody_is_told(touched: Run) -> None:
    """The block server is dead. The database's server lives on without its space.

    Every line of every round is compared, so no call over a lost capability was ever answered.
    """
    says = touched.says("toucher")
    told = [text for text in says if text.startswith("told: ")]
    serves = ("bad request", "ok", "bad request", "ok")
    refused = (REFUSED, REFUSED, "server died")
    assert [text for text in says if text not in told] == [
        *touches("round 1", *serves),
        *touches("round 2", *serves),
        *touches("round 3", *refused),
        *touches("round 4", *refused),
        *touches("round 5", *refused),
        *touches("at the end", *refused),
    ]
    assert len(told) == 2
    assert says[4 * 3 : 4 * 3 + 2] == told  # after the three lines of each of four rounds
    assert touched.alive() == {"fs", "db", "peer", "toucher"}
    assert touched.deleted_spaces() == {"disk", "files", "database"}


@pytest.mark.behaviour("C-20", "C-21")
def test_the_toucher_used_them_before_it_fetched_the_notices(touched: Run) -> None:
    """Otherwise the test above would show less than it says."""
    toucher = touched.id("toucher")
    losses = touched.of("QUEUE", to=toucher, kind="lost")
    fetched = min(touched.at(event) for event in touched.of("fetched NOTICE", pd=toucher))
    (settled,) = touched.of("SETTLED", n=1)
    used = [
        event
        for event in touched.of("SAY", pd=toucher)
        if touched.at(settled) < touched.at(event) < fetched
    ]
    assert {touched.name(event["node"]) for event in losses} == {"disk", "database"}
    assert len([event for event in used if REFUSED in event["text"]]) == 4


@pytest.fixture
def jammed(each: Target) -> Run:
    return each.run("jammed")


CLIENTS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
"""The clients of the jammed server, and the words that they send."""


def received_first(jammed: Run) -> str:
    """The client whose call the server received. It depends on the kernel which runs first."""
    word = jammed.says("jammed")[0].split()[1]
    (name,) = (name for name, its in CLIENTS.items() if str(its) == word)
    return name


@pytest.mark.behaviour("C-21", "R-06", "D-03")
def test_a_call_that_waited_at_a_live_server_never_arrives(jammed: Run) -> None:
    """The server received one call only, and answers it although its space is gone."""
    space = jammed.id("jam").rpartition("_")[2]
    below = jammed.id("disk").rpartition("_")[2]
    says = jammed.says("jammed")
    assert [text for text in says if text.startswith("received ")] == says[:1]
    assert says[1] == f"the server below: {REFUSED}"
    assert sorted(says[2:]) == [
        f"told: I have lost space {below}",
        f"told: my space {space} is destroyed",
    ]
    first = received_first(jammed)
    answer = f"answer: {REFUSED}"
    lost = [f"told: I have lost space {space}", f"at the end: {REFUSED}"]
    for name in CLIENTS:
        answers = ["answer: ok" if name == first else answer, answer, answer]
        assert jammed.says(name) == [*answers, *lost]
    assert jammed.alive() == {"jammed", *CLIENTS}


@pytest.mark.behaviour("C-21")
def test_the_calls_waited_when_the_server_below_crashed(jammed: Run) -> None:
    """Otherwise the test above would show nothing.

    Nobody printed an answer before the crash. Both kinds of capability were among those that
    waited, and the kernel restarted those calls in the cleanup.
    """
    (fault,) = jammed.of("FAULT")
    said = [event["text"] for event in jammed.of("SAY") if jammed.at(event) < jammed.at(fault)]
    assert said == jammed.says("jammed")[:1]
    (settled,) = jammed.of("SETTLED", n=1)
    for name in CLIENTS.keys() - {received_first(jammed)}:
        refused = jammed.of("SAY", pd=jammed.id(name))[0]
        assert jammed.at(refused) > jammed.at(settled)
    held = {pd for pd, _ in jammed.plan()["revoked"]}
    assert {jammed.id(name) for name in CLIENTS} <= held
