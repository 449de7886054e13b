# SPDX-License-Identifier: BSD-2-Clause
"""What subscribers do with what they are told: handlers before and after, and flushing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellreap.testing import Change, Run, Target, together, with_pd
from kit.marks import slow_but, thorough_but

KERNELS = ("x86_64-seL4", "aarch64-seL4", "aarch64-refkernel")
MARK = 0xC1EA4


def heeder(leaves_none: int = 0) -> Change:
    """A change: the watcher is one with handlers. leaves_none: it drops every subscription to the
    space behind the back of its library, after it counted them."""
    return with_pd("watcher", program="heeder", args=(leaves_none,))


def handled(run: Run) -> list[str]:
    """What the handlers of the watcher printed."""
    return [text for text in run.says("watcher") if text.startswith("handler ")]


def checks(run: Run) -> set[str]:
    """The outcomes of the watcher's checks."""
    return {text.split(": ", 1)[1] for text in run.says("watcher") if text.startswith("check ")}


@pytest.mark.behaviour("G-16", "G-29", "G-31", "G-45")
def test_a_doomed_table_writes_its_last_sum_through_a_doomed_server_to_the_disk_that_stays(
    target: Target,
) -> None:
    run = target.run("ledger")
    assert run.doomed() == {"first_disk": "0", "file_server": "1", "table": "2"}
    (added,) = run.says("client")
    last = int(added.removeprefix("added "))
    assert last > 0
    # The disk that goes as well is neither written nor marked.
    assert run.says("table") == [f"files doomed: wrote {last}: ok, disks: 1"]
    assert run.says("file_server") == ["disk1: doomed", "disk2: active, marked: ok"]
    # What was written while the cleanup waited is there when it is over.
    (shown,) = run.of("SAY", text=f"blocks: {last} {MARK}")
    assert run.at(shown) > run.at(run.of("SETTLED", n=1)[0])

    told = [run.at(event) for event in run.of("QUEUE", kind="pre-destroy")]
    answered = [
        run.at(event)
        for queued in run.of("QUEUE", kind="pre-destroy")
        for event in run.of("FINISH_WORK", token=queued["token"])
    ]
    scheduled = [run.at(event) for event in run.of("STEP", n=1, name="mark")]
    destroyed = [run.at(step) for _, step in run.destroys(1)]
    assert len(told) == len(answered) == 2
    assert max(scheduled) < min(told)
    assert max(answered) < min(destroyed)
    assert len(run.destroyed_pds()) == 3


@pytest.mark.behaviour("G-22", "G-23", "G-24", "G-25", "G-26", "G-27", "G-30", "G-32")
def test_each_handler_that_is_subscribed_is_called_once_before_and_once_after(
    target: Target,
) -> None:
    run = target.run("subscribed", change=heeder())
    goods, victim = int(run.id("goods").rsplit("_", 1)[1], 16), int(run.id("victim")[3:], 16)
    assert checks(run) == {"ok"}
    said = handled(run)
    told = {1: f"space {goods}", 3: f"space {goods}", 103: f"space {goods}", 5: f"PD {victim}"}
    assert sorted(said) == sorted(
        f"handler {number}: {when}: {node}, {state}"
        for number, node in told.items()
        for when, state in (("before", "doomed"), ("after", "destroyed"))
    )
    assert all(": before: " in text for text in said[: len(told)])


@pytest.mark.behaviour("G-23", "G-26", "G-28")
def test_surplus_unsubscriptions_drop_nothing_and_who_goes_itself_is_told(target: Target) -> None:
    run = target.run("subscribed", pd_depth=1, change=heeder(leaves_none=1))
    assert run.doomed()["watcher"] == "1"
    assert checks(run) == {"ok"}  # among them, how many subscriptions the root task had
    watcher, victim = int(run.id("watcher")[3:], 16), int(run.id("victim")[3:], 16)
    assert sorted(handled(run)) == [
        f"handler 5: before: PD {victim}, doomed",
        f"handler 6: before: PD {watcher}, doomed",
    ]
    assert not [node for _, node in run.plan()["pre_destroy"] if node == run.id("goods")]


@pytest.mark.behaviour("S-07")
@pytest.mark.parametrize("kernel", thorough_but(KERNELS, KERNELS[1]))
@pytest.mark.parametrize("drops", slow_but((0, 1), 0))
def test_a_handler_for_a_pd_that_is_listed_later_or_came_back_runs(
    target_on: Callable[[str], Target], kernel: str, drops: int
) -> None:
    run = target_on(kernel).run("followed", change=with_pd("follower", args=(drops,)))
    made = [event["id"] for event in run.of("PD", name="hasty")]
    assert len(made) == 3
    assert [text for text in run.says("follower") if text.startswith("handler ")] == [
        f"handler 7 {when} {pd}" for pd in made[:2] for when in ("before", "after")
    ]
    assert {text.split(": ")[1] for text in run.says("follower") if "check " in text} == {"ok"}


PRIORITIES = ((100, 100), (150, 60), (60, 150))
"""Of the table, and of the file server."""


@pytest.mark.behaviour("G-31", "G-45")
@pytest.mark.parametrize("kernel", thorough_but(KERNELS, KERNELS[1]))
@pytest.mark.parametrize(("table", "files"), PRIORITIES)
def test_nothing_is_marked_before_the_last_write_at_any_priority(
    target_on: Callable[[str], Target], kernel: str, table: int, files: int
) -> None:
    change = together(with_pd("table", priority=table), with_pd("file_server", priority=files))
    run = target_on(kernel).run("ledger", change=change)
    (wrote,) = run.of("SAY", pd=run.id("table"))
    assert wrote["text"].endswith(": ok, disks: 1")
    marked = list(run.of("SAY", pd=run.id("file_server")))
    assert [event["text"] for event in marked] == ["disk1: doomed", "disk2: active, marked: ok"]
    assert run.at(wrote) < run.at(marked[0])
