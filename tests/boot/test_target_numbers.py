# SPDX-License-Identifier: BSD-2-Clause
"""Numbers are given once. When none is left, operations are refused, and nothing else happens.

The configurations leave few numbers, so that a run sees the last ones.
"""

from __future__ import annotations

import re

import pytest

from cellreap import headers
from cellreap.model.ids import parse_id
from cellreap.system.config import tables
from cellreap.testing import Run, Target, together, with_bench, with_crashes, with_pd, with_system
from kit.counted import COUNTED
from kit.marks import slow_but, thorough_but

FULL = headers.constant("protocol.h", "CR_RESULT_FULL")
LEFT = 40
PDS, SPACES, RESOURCES = range(3)
LAST = {
    "PD": headers.constant("numbers.h", "CR_LAST_PD"),
    "SPACE": headers.constant("numbers.h", "CR_LAST_SPACE"),
    "RESOURCE": headers.constant("numbers.h", "CR_LAST_OBJECT"),
}


def number(id_: str) -> int:
    """The last number in an id."""
    parts = parse_id(id_)
    assert parts is not None
    return parts.number


def made(run: Run, name: str) -> int:
    """How many a PD made before it was refused with FULL."""
    match = re.search(r"(\d+), then (?:result )?(\d+)$", run.says(name)[0])
    assert match, run.says(name)
    assert int(match[2]) == FULL
    return int(match[1])


@pytest.mark.behaviour("X-06")
@pytest.mark.parametrize(
    ("kind", "event"),
    slow_but([(PDS, "PD"), (SPACES, "SPACE"), (RESOURCES, "RESOURCE")], (SPACES, "SPACE")),
    ids=("PDs", "spaces", "resources"),
)
def test_the_last_number_is_given_and_then_nothing(target: Target, kind: int, event: str) -> None:
    """What is given back makes room, but no number. So the next one is refused too."""
    change = together(
        with_bench(numbers_left=LEFT), with_pd("filler", args=(kind, 1000)), with_crashes()
    )
    run = target.run("fill", change=change, qemu_args=COUNTED)
    assert 0 < made(run, "filler") <= LEFT
    assert run.says("filler")[1].startswith(f"one given back: 0, one made: {FULL}")
    given = [number(e["id"]) for e in run.of(event)]
    assert max(given) == LAST[event]
    assert {"filler", "bystander"} <= run.alive()


@pytest.mark.slow
@pytest.mark.behaviour("X-06", "X-09")
def test_without_a_number_no_pd_is_respawned(target: Target) -> None:
    change = together(with_bench(numbers_left=LEFT), with_pd("filler", args=(PDS, 1000)))
    run = target.run("fill", change=change, qemu_args=COUNTED)
    refused = run.of("REFUSE", pd="PD_0")
    assert refused
    assert {event.number("status") for event in refused} == {FULL}
    assert "filler" not in run.alive()
    assert "bystander" in run.alive()


@pytest.mark.slow
@pytest.mark.behaviour("X-06")
@pytest.mark.parametrize(
    ("kind", "limit"),
    thorough_but(
        [(PDS, "pds"), (SPACES, "nodes"), (RESOURCES, "nodes")],
        (PDS, "pds"),
    ),
    ids=("PDs", "spaces", "resources"),
)
def test_an_entry_that_is_used_up_is_not_used_again(target: Target, kind: int, limit: str) -> None:
    """Each entry of the table is used once here."""
    change = with_pd("cycler", args=(kind, 20_000))
    run = target.run("cycle", change=change, qemu_args=COUNTED)
    sizes = tables(change(target.load("cycle")[1]))
    most = sizes[limit] + (sizes["tombstones"] if limit == "nodes" else 0)
    assert 0.8 * most < made(run, "cycler") < most
    assert {"server", "cycler", "comer"} <= run.alive()


@pytest.mark.behaviour("X-06")
def test_a_pd_comes_back_at_another_place_and_the_kernel_tells_of_it(target: Target) -> None:
    change = together(
        with_bench(generations_left=1),
        with_crashes({"pd": "hasty", "at": 2, "how": "page-fault", "repeat": 3}),
        with_system(truth=True),
    )
    run = target.run("counter", change=change, qemu_args=COUNTED)
    assert len(run.of("PD", name="hasty")) == 4
    assert "hasty" in run.alive()


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("X-06")
def test_a_request_whose_badges_are_used_up_is_not_used_again(target: Target) -> None:
    change = together(with_pd("comer", program="comer"), with_pd("cycler", args=(RESOURCES, 0)))
    run = target.run("cycle", change=change, qemu_args=COUNTED)
    assert made(run, "comer") == tables(change(target.load("cycle")[1]))["requests"]
    assert {"server", "cycler"} <= run.alive()
