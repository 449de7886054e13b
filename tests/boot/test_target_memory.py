# SPDX-License-Identifier: BSD-2-Clause
"""Crashes leave nothing behind. Bytes and slots are those that the root task counts as in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from cellreap.system.config import Config
from cellreap.testing import Change, Run, Target, with_crashes, with_pd
from cellreap.trace.events import Event
from kit.freed import bodies_of, freed
from kit.marks import thorough_but

ROUNDS = 10
MANY = 72
"""For 1,000 respawns."""
PDS = ["block_server_1", "block_server_2", "fs", "db", "app"]


def _accounts(run: Run) -> list[tuple[Event, frozenset[str]]]:
    """Each USAGE of a quiet system, with the names of the PDs that are alive then.

    A USAGE that is made only because a cleanup follows at once is left out.
    """
    alive: dict[str, str] = {}
    found = []
    for event, following in zip(run.events[2:], run.events[3:], strict=False):
        if event.name == "PD":
            alive[event["id"]] = event["name"]
        elif event.name == "STEP" and event["name"] == "destroy-pd":
            alive.pop(event["pd"])
        elif event.name == "USAGE" and following.name != "CLEANUP":
            found.append((event, frozenset(alive.values())))
    return found


def _used(event: Event) -> tuple[int, int]:
    return event.number("bytes"), event.number("slots")


def crashing(rounds: int) -> Change:
    """A change: each PD crashes so often, and may."""

    def change(config: Config) -> Config:
        pds = [pd.model_copy(update={"respawn_budget": 14 * rounds}) for pd in config.pds]
        crashes = [crash.model_copy(update={"repeat": rounds}) for crash in config.crashes]
        return config.model_copy(update={"pds": tuple(pds), "crashes": tuple(crashes)})

    return change


@pytest.fixture
def respawn(target: Target) -> Run:
    return target.run("respawn")


@pytest.mark.behaviour("D-05", "D-06", "M-05")
@pytest.mark.acceptance("respawns")
@pytest.mark.kernels.with_args("x86_64", *thorough_but(["aarch64-mcs", "x86_64-mcs"]))
@pytest.mark.parametrize("rounds", thorough_but([ROUNDS, MANY], ROUNDS))
def test_crashes_of_each_leave_bytes_slots_and_objects_exactly_as_before(
    target: Target, rounds: int
) -> None:
    """The other PDs that go with each PD are made again, too: 14 in each round."""
    respawn = target.run("respawn", change=crashing(rounds))
    crashed = Counter(respawn.names[event["trigger"]] for event in respawn.cleanups())
    assert crashed == dict.fromkeys(PDS, rounds)
    assert len(respawn.of("due RESPAWN")) == 14 * rounds
    assert {event["kind"] for event in respawn.of("FAULT")} == {"vm-fault"}
    accounts = _accounts(respawn)
    started = respawn.at(respawn.cleanups()[0])
    before = [each for each in accounts if respawn.at(each[0]) < started]
    first, everybody = before[-1]
    assert everybody == {*PDS, "ROOT_TASK"}
    later = accounts[len(before) :]
    settled = [_used(account) for account, alive in later if alive == everybody]
    assert len(settled) >= len(respawn.cleanups())
    assert set(settled) == {_used(first)}
    usages = [respawn.of("SETTLED")[i]["objects"] for i in (0, -1)]
    assert usages[0] == usages[1]


@pytest.mark.slow
@pytest.mark.behaviour("D-05")
def test_every_cleanup_frees_the_bodies_that_it_destroys(respawn: Run) -> None:
    assert len(respawn.of("STEP", name="destroy-pd")) > 5 * ROUNDS
    for cleanup in respawn.cleanups():
        n = cleanup.number("n")
        assert freed(respawn, n) == bodies_of(respawn, n) > 0


@pytest.mark.slow
@pytest.mark.behaviour("D-06")
def test_memory_that_was_freed_is_given_to_who_comes_next(respawn: Run) -> None:
    """In 50 crashes no PD gets memory beyond that of the first five crashes."""
    first = {event["paddr"] for event in respawn.of("BODY")[: len(PDS)]}
    later = [event["paddr"] for event in respawn.of("BODY")[len(PDS) :]]
    assert len(later) == len(respawn.of("STEP", name="destroy-pd"))
    assert set(later) <= first


@pytest.mark.slow
@pytest.mark.behaviour("X-06")
def test_no_number_is_ever_given_twice(respawn: Run) -> None:
    for kind in ("PD", "SPACE"):
        ids = [event["id"] for event in respawn.of(kind)]
        assert len(ids) == len(set(ids))
        assert len(ids) > 5 * ROUNDS
    assert len(respawn.ids("app")) == 1 + 5 * ROUNDS  # the app is doomed in each of them


@pytest.mark.slow
def test_the_respawned_system_works_after_each_crash(respawn: Run) -> None:
    good = [text for text in respawn.says("app") if text.endswith("table: ok; database: ok")]
    assert len(good) >= 1 + 5 * ROUNDS
    assert respawn.alive() == set(PDS)


@pytest.mark.behaviour("D-05", "J-10")
def test_a_latecomer_gets_the_memory_that_was_set_aside_for_it(target: Target) -> None:
    """Not that of the PD that crashed before. That memory is counted as free, whoever may come."""
    run = target.run("second_crash")
    (freed,) = run.of("STEP", name="destroy-pd", n=1)
    (late,) = run.of("BODY", of=run.id("late"))
    assert run.names[freed["pd"]] == "block_server_1"
    assert run.at(late) > run.at(freed)
    others = [(e.number("paddr"), e.number("bytes")) for e in run.of("BODY") if e is not late]
    start, end = late.number("paddr"), late.number("paddr") + late.number("bytes")
    assert all(end <= paddr or paddr + size <= start for paddr, size in others)
    before, after = (_used(e)[0] for e, alive in _accounts(run)[:1] + _accounts(run)[-1:])
    gone = [e for e in run.of("BODY") if run.name(e["of"]) not in run.alive()]
    made = sum(event.number("bytes") for event in [late])
    assert before - after == sum(event.number("bytes") for event in gone) - made


def test_a_second_unrelated_crash_is_cleaned_up_too(target: Target) -> None:
    run = target.run("second_crash")
    assert [run.names[event["trigger"]] for event in run.cleanups()] == ["block_server_1", "db"]
    assert (run.destroyed_pds(1), run.deleted_spaces(1)) == ({"block_server_1"}, {"disk1"})
    assert (run.destroyed_pds(2), run.deleted_spaces(2)) == ({"db"}, {"database"})
    assert run.notices(2) == {("fs", "disconnect", "files", "db"), ("app", "lost", "database", "-")}
    assert run.alive() == {"block_server_2", "fs", "app", "late"}
    assert run.says("app")[-1] == "at the end: table: server died; database: server died"


@pytest.mark.slow
@pytest.mark.behaviour("C-02", "D-04")
@pytest.mark.parametrize("rs_depth", [0, 1])
@pytest.mark.parametrize(
    ("first", "second"),
    thorough_but(
        [
            ("block_server_1", "block_server_2"),
            ("block_server_2", "fs"),
            ("block_server_1", "db"),
            ("fs", "db"),
            ("block_server_2", "app"),
            ("db", "app"),
        ],
        ("block_server_1", "block_server_2"),
        ("fs", "db"),
    ),
)
def test_one_crash_after_the_other_in_a_system_that_is_broken_already(
    target: Target, first: str, second: str, rs_depth: int
) -> None:
    """If no PD calls the second server any more, it is not brought down, and the trace says so."""
    crashes = with_crashes(
        {"pd": first, "at": 3, "how": "page-fault"},
        {"pd": second, "at": 1, "how": "illegal-instruction"},
    )
    run = target.run("block_fs_db_app", rs_depth=rs_depth, change=crashes)
    unreached = [event["name"] for event in run.of("UNREACHED")]
    spaceless = {("block_server_1", "block_server_2"), ("block_server_2", "fs"), ("fs", "db")}
    nobody_asks = rs_depth == 1 and (first, second) in spaceless
    assert unreached == ([second] if nobody_asks else [])
    gone = [first] if nobody_asks else [first, second]
    assert [run.names[event["trigger"]] for event in run.cleanups()] == gone
    assert run.alive() == {*PDS} - {*gone}
    if "app" in run.alive():
        assert run.says("app")[-1].startswith("at the end: ")


CHILDREN = 40


@pytest.fixture
def spawn(target: Target) -> Run:
    return target.run("spawn")


@pytest.mark.slow
@pytest.mark.behaviour("D-06", "D-05")
def test_one_pd_creates_and_loses_forty_others(spawn: Run) -> None:
    assert spawn.says("spawner") == [f"children lost: {CHILDREN}, in the same slot: {CHILDREN}"]
    assert len(spawn.made("OWN", from_=spawn.id("spawner"))) == CHILDREN
    assert Counter(event["cause"] for event in spawn.cleanups()) == {
        "fault": CHILDREN // 2,
        "terminate": CHILDREN // 2,
    }
    assert spawn.alive() == {"spawner", "app_idler"}


@pytest.mark.slow
@pytest.mark.behaviour("D-05")
def test_a_childs_memory_is_free_though_its_creator_held_capabilities_to_it(spawn: Run) -> None:
    spawner = spawn.id("spawner")
    for n in range(1, CHILDREN + 1):
        ((pd, revoked),) = spawn.plan(n)["revoked_bodies"]
        (child,) = spawn.dooms(n)
        held = spawn.made("HOLD", from_=spawner, to=revoked)
        assert pd == spawner
        assert len(held) == 1
        assert revoked.rpartition("_")[2] == child.rpartition("_")[2]
    children = [
        event for event in spawn.of("BODY") if spawn.names[event["of"]] in ("crasher", "idler")
    ]
    assert len(children) == CHILDREN
    places = {(event["bytes"], event["paddr"]) for event in children}
    assert len(places) == len({size for size, _ in places}), "each size has one place"
    base = {_used(event) for event in spawn.of("SETTLED") if event["n"] != "0"}
    assert len(base) == 1
    assert _used(spawn.of("USAGE")[-1]) in base


@pytest.mark.behaviour("X-06", "C-01")
def test_a_dead_childs_capability_names_nobody(spawn: Run) -> None:
    """After each loss the spawner names the child once more and is refused (terminate)."""
    refused = spawn.of("REFUSE", pd=spawn.id("spawner"))
    assert len(refused) == CHILDREN
    assert {(event["op"], event["status"]) for event in refused} == {("20", "3")}


@pytest.mark.slow
def test_destroying_a_pd_takes_four_kernel_calls_however_long_the_run(
    respawn: Run, spawn: Run
) -> None:
    for run in (respawn, spawn):
        for event in run.cleanups():
            n = event.number("n")
            doomed = len(run.doomed(n))
            calls = run.calls(n)
            callers = calls.get("read-registers", 0) + calls.get("resume", 0)
            assert sum(run.step_calls(n, "suspend")) == 3 * doomed + callers
            assert run.step_calls(n, "destroy-pd") == [1] * doomed


@pytest.mark.slow
def test_destroying_a_pd_costs_the_same_whatever_it_held(target: Target) -> None:
    """55 blocks and a request: the same four calls, and one signal to the server that is told."""
    run = target.run("hoard")
    assert run.says("hoarder")[0] == "resources: 55"
    assert [run.names[event["trigger"]] for event in run.cleanups()] == ["hoarder"] * 3
    for n in (1, 2, 3):
        assert run.calls(n) == {"suspend": 1, "revoke": 2, "delete": 1, "signal": 1}
        assert len(run.notices(n)) == 56


MEMORY = "10"  # CR_RESULT_MEMORY
SPAWN = "19"  # CR_OP_SPAWN


@pytest.mark.slow
def test_a_pd_that_memory_does_not_suffice_for_leaves_nothing_behind(
    target_of: Callable[[str], Target],
) -> None:
    """The machine has little memory. A refused SPAWN is one event; it uses no number and no byte.

    Always on x86_64: a kernel for Arm has the size of its memory built in.
    """
    change = with_pd("filler", args=(0, 1000))
    target = target_of("x86_64")
    if int(target.sdk.options["ROOT_CNODE_SIZE_BITS"]) > 16:
        pytest.skip("the root task's CNode alone takes most of so small a machine")
    run = target.run("fill", change=change, qemu_args=("-m", "30"))
    filler = run.ids("filler")[0]
    refused = run.of("REFUSE", pd=filler, op=SPAWN)
    assert {event["status"] for event in refused} == {MEMORY}
    assert len(refused) == 2
    made = len(run.made("OWN", from_=filler))
    assert 20 < made < 100
    assert run.says("filler")[0] == f"made: {made - 1}, then result {MEMORY}"
    assert run.says("filler")[1] == f"one given back: 0, one made: 0, one more: {MEMORY}"
    ids = [int(event["id"].removeprefix("PD_"), 16) for event in run.of("PD")]
    assert ids == list(range(len(ids)))
    full = [event for event in run.of("USAGE") if run.at(event) > run.at(refused[0])][:1]
    again = [event for event in run.of("USAGE") if run.at(event) > run.at(refused[1])][:1]
    assert [event["bytes"] for event in full] == [event["bytes"] for event in again]


@pytest.mark.slow
@pytest.mark.behaviour("M-11")
def test_bodies_may_use_the_largest_untyped_when_nothing_else_is_left(target: Target) -> None:
    run = target.run("big")
    bodies = run.of("BODY")
    assert len(bodies) == 20
    base = run.of("USAGE")[0]
    assert sum(map(_bytes, bodies)) > 256 << 20 > base.number("bytes")
    assert run.of("UNREACHED") == []


def _bytes(event: Event) -> int:
    return event.number("bytes")
