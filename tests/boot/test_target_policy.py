# SPDX-License-Identifier: BSD-2-Clause
"""Which PDs are doomed together: dependencies, own depths, pins, links, orders of creation."""

from __future__ import annotations

import itertools

import pytest

from cellreap.system.config import Config
from cellreap.testing import Change, Run, Target, with_pd
from kit.truth_traces import WITH_TRUTH


@pytest.fixture
def dependents(target: Target) -> Run:
    return target.run("dependents")


@pytest.mark.behaviour("C-09", "C-06")
def test_a_request_or_a_hold_alone_makes_a_dependent(dependents: Run) -> None:
    space, server = dependents.id("disk1"), dependents.id("block_server_1")
    before = dependents.state(0)
    requests = {row[4] for row in before if row[3] == "REQUEST" and row[6] == space}
    holds = {
        row[4]
        for row in before
        if row[3] == "HOLD" and dependents.name(row[5]).startswith("disk1:")
    }
    assert dependents.id("request_only") in requests - holds
    assert dependents.id("hold_only") in holds - requests - {server}
    assert dependents.doomed() == {
        "block_server_1": "0",
        "request_only": "1",
        "hold_only": "1",
        "both": "1",
    }


@pytest.mark.behaviour("C-15")
def test_who_gave_up_request_and_hold_before_lives_on(dependents: Run) -> None:
    left = dependents.id("left_before")
    assert dependents.dropped("REQUEST", from_=left)
    assert dependents.dropped("HOLD", from_=left)
    assert dependents.alive() == {"block_server_2", "left_before", "elsewhere"}
    assert dependents.says("left_before")[-1] == "at the end: block: nothing; request: nothing"


def test_the_client_of_another_server_notices_nothing(dependents: Run) -> None:
    assert dependents.says("elsewhere") == [
        "block: ok; request: bad request",
        "at the end: block: ok; request: bad request",
    ]


@pytest.mark.behaviour("C-09", "C-20")
def test_at_depth_0_each_loses_what_it_had_and_is_told(target: Target) -> None:
    run = target.run("dependents", pd_depth=0)
    assert run.doomed() == {"block_server_1": "0"}
    told = {(name, "lost", "disk1", "-") for name in ("request_only", "hold_only", "both")}
    assert run.notices() == told
    assert {run.name(pd) for pd, _ in run.plan()["removed_requests"]} == {"request_only", "both"}
    assert {run.name(pd) for pd, _ in run.plan()["revoked"]} == {"hold_only", "both"}
    ends = {
        "request_only": "block: nothing; request: server died",
        "hold_only": "block: server died; request: nothing",
        "both": "block: server died; request: server died",
        "left_before": "block: nothing; request: nothing",
        "elsewhere": "block: ok; request: bad request",
    }
    for name, end in ends.items():
        assert run.says(name)[-1] == f"at the end: {end}"


# -- own depths of a PD

_BOTH_SERVERS = ("block_server_1", "block_server_2")


def _own(name: str, **depths: object) -> Change:
    return with_pd(name, **depths)


@pytest.mark.slow
@pytest.mark.behaviour("C-08")
@pytest.mark.parametrize("crashed", _BOTH_SERVERS)
def test_a_pds_own_depths_are_those_of_its_own_crash(target: Target, crashed: str) -> None:
    """pd 1, rs 2 for block server 1, and the system's 0, 0 for block server 2."""
    run = target.run("own_depths", crash=crashed)
    (cleanup,) = run.cleanups()
    depths = (cleanup["pd_depth"], cleanup["rs_depth"])
    if crashed == "block_server_1":
        assert depths == ("1", "2")
        assert run.doomed() == {"block_server_1": "0", "fs": "1"}
        assert run.deleted_spaces() == {"disk1", "files", "database"}
    else:
        assert depths == ("0", "0")
        assert run.doomed() == {"block_server_2": "0"}
        assert run.deleted_spaces() == {"disk2"}


@pytest.mark.slow
@pytest.mark.behaviour("C-08")
def test_a_pds_own_depth_may_be_less_than_the_systems(target: Target) -> None:
    def change(config: Config) -> Config:
        policy = config.policy.model_copy(update={"pd_depth": "inf", "rs_depth": "inf"})
        return _own("block_server_1", pd_depth=0, rs_depth=0)(
            config.model_copy(update={"policy": policy})
        )

    run = target.run("block_fs_db_app", change=change)
    assert run.doomed() == {"block_server_1": "0"}
    assert run.deleted_spaces() == {"disk1"}


@pytest.mark.slow
@pytest.mark.behaviour("C-08")
def test_one_of_the_two_depths_may_be_a_pds_own(target: Target) -> None:
    run = target.run("block_fs_db_app", change=_own("block_server_1", rs_depth="inf"))
    (cleanup,) = run.cleanups()
    assert (cleanup["pd_depth"], cleanup["rs_depth"]) == ("0", "inf")
    assert run.deleted_spaces() == {"disk1", "files", "database"}
    assert run.doomed() == {"block_server_1": "0"}


@pytest.mark.slow
@pytest.mark.behaviour("C-08")
@pytest.mark.parametrize(
    ("args", "said", "doomed"),
    [
        ((0, 0), ("0", "0"), {"registry": "0"}),
        ((1, 0), ("1", "0"), {"registry": "0", "tester": "1", "peer": "1"}),
        ((0xFFFFFFFF, 3), ("inf", "3"), {"registry": "0", "tester": "1", "peer": "1"}),
        ((0xFFFFFFFE, 0xFFFFFFFE), ("0", "0"), {"registry": "0"}),
    ],
    ids=["0-0", "1-0", "inf-3", "the systems"],
)
def test_a_depth_set_at_run_time_holds(
    target: Target, args: tuple[int, int], said: tuple[str, str], doomed: dict[str, str]
) -> None:
    """The registry sets its own depths and fails. The peer is a client of its second space."""
    run = target.run("protocol", change=with_pd("tester", args=args))
    (cleanup,) = run.cleanups()
    assert (cleanup["pd_depth"], cleanup["rs_depth"]) == said
    assert run.doomed() == doomed


# -- pins, links


@pytest.mark.slow
@pytest.mark.behaviour("C-14")
def test_a_pin_ends_the_blast(target: Target) -> None:
    """Without the pin, database and app are doomed too: the row inf/inf of the table."""
    run = target.run("pinned")
    assert run.cleanups()[0]["pd_depth"] == "inf"
    assert run.doomed() == {"block_server_1": "0", "fs": "1"}
    assert run.alive() == {"block_server_2", "db", "app"}
    assert run.notices() >= {("db", "lost", "files", "-")}
    assert (
        run.says("app")[-1] == "at the end: table: input/output error; database: input/output error"
    )


@pytest.mark.slow
@pytest.mark.behaviour("C-14")
def test_the_pin_is_what_saved_it(target: Target) -> None:
    run = target.run("pinned", change=with_pd("db", pinned=False))
    assert run.doomed() == {"block_server_1": "0", "fs": "1", "db": "2", "app": "3"}


@pytest.mark.slow
@pytest.mark.behaviour("C-14")
def test_a_pinned_pd_that_crashes_itself_goes(target: Target) -> None:
    run = target.run("pinned", crash="db")
    assert run.doomed() == {"db": "0", "app": "1"}


@pytest.mark.slow
@pytest.mark.behaviour("C-14", "G-11")
def test_the_root_task_outlives_everybody(target: Target) -> None:
    run = target.run("respawn")
    assert "PD_0" not in set(run.dooms())
    assert all("PD_0" in {row[1] for row in run.state(n)} for n in range(1, 51))


@pytest.mark.slow
@pytest.mark.behaviour("C-16")
def test_linked_pds_die_together_at_depth_0_and_a_pin_does_not_help(target: Target) -> None:
    run = target.run("linked")
    assert run.cleanups()[0]["pd_depth"] == "0"
    assert [event["pinned"] for event in run.of("RIGHTS", pd=run.id("app"))] == ["1"]
    assert run.doomed() == {"block_server_1": "0", "app": "0"}
    assert run.notices() == {
        ("db", "free", "database:1", "app"),
        ("db", "disconnect", "database", "app"),
        ("fs", "lost", "disk1", "-"),
    }


@pytest.mark.slow
@pytest.mark.behaviour("C-16")
def test_a_link_holds_in_both_directions(target: Target) -> None:
    run = target.run("linked", crash="app")
    assert run.doomed() == {"block_server_1": "0", "app": "0"}


@pytest.mark.slow
@pytest.mark.behaviour("C-16")
def test_links_of_links_have_the_depth_of_who_took_them_along(target: Target) -> None:
    run = target.run("chain_of_links", change=WITH_TRUTH)
    assert run.doomed() == {"block_server_1": "0", "one": "0", "two": "0", "fs": "1", "three": "1"}
    assert run.alive() == {"db", "app", "four"}


@pytest.mark.slow
@pytest.mark.behaviour("C-16")
def test_links_are_followed_at_the_last_depth_too(target: Target) -> None:
    run = target.run("chain_of_links", pd_depth="inf", change=WITH_TRUTH)
    by_depth = [{"block_server_1", "one", "two"}, {"fs", "three"}, {"db"}, {"app", "four"}]
    assert run.doomed() == {
        name: str(depth) for depth, names in enumerate(by_depth) for name in names
    }
    assert run.alive() == set()


# -- creation order


def _orders() -> list[tuple[int, ...]]:
    """Some of the 120 orders of five PDs: backwards, and every 17th."""
    every = list(itertools.permutations(range(5)))
    return [every[-1], *every[17::34]]


def _reordered(order: tuple[int, ...]) -> Change:
    def change(config: Config) -> Config:
        return config.model_copy(update={"pds": tuple(config.pds[i] for i in order)})

    return change


@pytest.mark.slow
@pytest.mark.behaviour("C-28", "D-04")
@pytest.mark.parametrize("order", _orders(), ids=lambda order: "".join(map(str, order)))
def test_the_order_of_creation_does_not_matter(target: Target, order: tuple[int, ...]) -> None:
    usual = target.run("block_fs_db_app", pd_depth=1, rs_depth=2)
    other = target.run("block_fs_db_app", pd_depth=1, rs_depth=2, change=_reordered(order))
    names = [pd.name for pd in target.load("block_fs_db_app")[1].pds]
    assert [event["name"] for event in other.of("PD")[1:]] == [names[i] for i in order]
    assert other.doomed() == usual.doomed()
    assert other.deleted_spaces() == usual.deleted_spaces()
    assert {notice[:2] for notice in other.notices()} == {notice[:2] for notice in usual.notices()}
    assert other.alive() == usual.alive()
    assert other.calls() == usual.calls()


@pytest.mark.slow
@pytest.mark.behaviour("C-28")
@pytest.mark.parametrize(
    "priorities", [(10, 20, 30, 40, 50), (50, 40, 30, 20, 10), (7, 200, 1, 99, 42)], ids=str
)
def test_who_runs_first_does_not_matter(target: Target, priorities: tuple[int, ...]) -> None:
    """Priorities change the order of calls and change no outcome."""

    def change(config: Config) -> Config:
        pds = tuple(
            pd.model_copy(update={"priority": priority})
            for pd, priority in zip(config.pds, priorities, strict=True)
        )
        return config.model_copy(update={"pds": pds})

    usual = target.run("block_fs_db_app", pd_depth=1, rs_depth=2)
    other = target.run("block_fs_db_app", pd_depth=1, rs_depth=2, change=change)
    assert other.doomed() == usual.doomed()
    assert other.deleted_spaces() == usual.deleted_spaces()
    assert other.alive() == usual.alive()
    assert other.says("app")[-1] == usual.says("app")[-1]


# -- the metric policy


def _close(**policy: object) -> Change:
    def change(config: Config) -> Config:
        return config.model_copy(update={"policy": config.policy.model_copy(update=policy)})

    return change


@pytest.mark.slow
@pytest.mark.behaviour("C-27", "F-07")
@pytest.mark.parametrize(
    ("policy", "doomed"),
    [
        # FS reaches the blocks of both disks. DB and app reach those of the first only.
        (
            {"policy": "metric", "rsi_min": {"BLOCK": "2/3"}},
            {"block_server_1": "0", "db": "1", "app": "1"},
        ),
        # One of the two that FS reaches is enough.
        (
            {"policy": "metric", "rsi_min": {"BLOCK": "1/2"}},
            {"block_server_1": "0", "fs": "1", "db": "1", "app": "1"},
        ),
        (
            {"policy": "metric", "fr_max": 0, "rsi_min": {"TABLE": "1/1"}},
            {"block_server_1": "0", "fs": "1", "db": "1", "app": "1"},
        ),
        # Depth at most 2, and FR of 0.
        (
            {"policy": "both", "fr_max": 0, "pd_depth": 2},
            {"block_server_1": "0", "fs": "1", "db": "2"},
        ),
        # Depth does not go on through FS, which is not close enough.
        (
            {"policy": "both", "rsi_min": {"BLOCK": "2/3"}, "pd_depth": "inf"},
            {"block_server_1": "0"},
        ),
    ],
    ids=["rsi", "rsi at the limit", "fr", "both", "not through"],
)
def test_policy_may_be_a_metric(
    target: Target, policy: dict[str, object], doomed: dict[str, str]
) -> None:
    run = target.run("block_fs_db_app", crash="block_server_1", change=_close(**policy))
    assert run.doomed() == doomed
    assert run.alive() == {"block_server_1", "block_server_2", "fs", "db", "app"} - doomed.keys()
    assert [event["word"] for event in run.of("SETTING", what="policy")] == [policy["policy"]]
