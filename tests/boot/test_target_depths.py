# SPDX-License-Identifier: BSD-2-Clause
"""Block server 1 of the reference scenario crashes at ten pairs of depths.

The tests check which PDs are doomed, which are told, and which continue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from cellreap.system.config import Depth
from cellreap.testing import Run, Target, dangling
from kit.command_line import cellreap_json
from kit.freed import bodies_of, freed
from kit.marks import WITH_MCS, slow_but
from kit.paths import CONFIGS

pytestmark = pytest.mark.acceptance("depths")

_OK = "ok"
_IO = "input/output error"
_DIED = "server died"
_LOST_DISK1 = ("fs", "lost", "disk1", "-")
_LOST_FILES = ("db", "lost", "files", "-")
_LOST_DATABASE = ("app", "lost", "database", "-")
_FS_GONE = {
    ("block_server_2", "free", "disk2:1", "fs"),
    ("block_server_2", "disconnect", "disk2", "fs"),
}


@dataclass(frozen=True)
class Row:
    """The expected result of one pair of depths."""

    pd_depth: Depth
    rs_depth: Depth
    pds: Mapping[str, str]  # PDs doomed beside block server 1, and their depths
    spaces: frozenset[str]  # spaces deleted beside disk1
    notices: frozenset[tuple[str, str, str, str]]
    calls: Mapping[str, int]  # kernel calls of the cleanup, by kind
    # of the table and of the database in the round of the crash and at the end, or None if the app
    # is doomed
    outcomes: tuple[tuple[str, str], tuple[str, str]] | None

    @property
    def id(self) -> str:
        return f"{self.pd_depth}-{self.rs_depth}"

    @property
    def alive(self) -> set[str]:
        return {"block_server_2", "fs", "db", "app"} - self.pds.keys()


def _row(
    depths: tuple[Depth, Depth],
    pds: Mapping[str, str],
    spaces: set[str],
    notices: set[tuple[str, str, str, str]],
    calls: Mapping[str, int],
    outcomes: tuple[tuple[str, str], tuple[str, str]] | None,
) -> Row:
    return Row(*depths, pds, frozenset(spaces), frozenset(notices), calls, outcomes)


# The outcomes, in the round of the crash and at the end. If only its space goes, the database still
# answers the call that it has received, but not the next one.
_TABLE_LOST = ((_IO, _OK), (_IO, _OK))
_FILES_LOST = ((_IO, _IO), (_IO, _IO))
_SPACE_LOST = ((_IO, _DIED), (_DIED, _DIED))
_DB_LOST = ((_DIED, _DIED), (_DIED, _DIED))

# Calls: each destroyed PD costs one suspend, two revokes (of its endpoint and its memory) and one
# delete (of its endpoint), whatever it held. A space or resource that its live manager loses costs
# cancel-sends, revoke and delete, and so does each request to such a space. The registers of each
# client of a PD are read when the PD is stopped, and a client that called it is resumed. Each PD
# that is told something gets one signal.
_FS = {"fs": "1"}
_FS_DB = {"fs": "1", "db": "2"}
_ALL = {"fs": "1", "db": "2", "app": "3"}
_BOTH = {"files", "database"}
_ONE_PD = {"suspend": 1, "revoke": 2, "delete": 1, "read-registers": 1, "resume": 1}
_TWO_PDS = {
    "suspend": 2, "revoke": 4, "delete": 2, "read-registers": 2, "resume": 2, "signal": 2
}  # fmt: skip
_THREE_PDS = {
    "suspend": 3, "revoke": 6, "delete": 3, "read-registers": 3, "resume": 3, "signal": 2
}  # fmt: skip
_FOUR_PDS = {
    "suspend": 4, "revoke": 8, "delete": 4, "read-registers": 3, "resume": 3, "signal": 1
}  # fmt: skip

_AT_0_1 = {_LOST_DISK1, ("fs", "destroy", "files", "-"), _LOST_FILES}
_AT_0_2 = _AT_0_1 | {("db", "destroy", "database", "-"), _LOST_DATABASE}
_AT_1_2 = _FS_GONE | {_LOST_FILES, ("db", "destroy", "database", "-"), _LOST_DATABASE}

ROWS = [
    _row((0, 0), {}, set(), {_LOST_DISK1}, {**_ONE_PD, "signal": 1}, _TABLE_LOST),
    _row(
        (0, 1),
        {},
        {"files"},
        _AT_0_1,
        {**_ONE_PD, "signal": 2, "revoke": 5, "cancel-sends": 3, "delete": 4},
        _FILES_LOST,
    ),
    _row(
        (0, 2),
        {},
        _BOTH,
        _AT_0_2,
        {**_ONE_PD, "signal": 3, "revoke": 7, "cancel-sends": 5, "delete": 6},
        _SPACE_LOST,
    ),
    _row((1, 0), _FS, {"files"}, _FS_GONE | {_LOST_FILES}, _TWO_PDS, _FILES_LOST),
    _row((1, 1), _FS, {"files"}, _FS_GONE | {_LOST_FILES}, _TWO_PDS, _FILES_LOST),
    _row(
        (1, 2),
        _FS,
        _BOTH,
        _AT_1_2,
        {**_TWO_PDS, "signal": 3, "revoke": 6, "cancel-sends": 2, "delete": 4},
        _SPACE_LOST,
    ),
    _row((2, 0), _FS_DB, _BOTH, _FS_GONE | {_LOST_DATABASE}, _THREE_PDS, _DB_LOST),
    _row((2, "inf"), _FS_DB, _BOTH, _FS_GONE | {_LOST_DATABASE}, _THREE_PDS, _DB_LOST),
    _row((3, 0), _ALL, _BOTH, _FS_GONE, _FOUR_PDS, None),
    _row(("inf", "inf"), _ALL, _BOTH, _FS_GONE, _FOUR_PDS, None),
]
BY_DEPTHS = {(row.pd_depth, row.rs_depth): row for row in ROWS}


def boot(target: Target, depths: tuple[Depth, Depth]) -> Run:
    return target.run("block_fs_db_app", pd_depth=depths[0], rs_depth=depths[1])


@pytest.fixture(params=slow_but(ROWS, ROWS[0], ROWS[5], ROWS[-1]), ids=lambda row: str(row.id))
def row(request: pytest.FixtureRequest) -> Row:
    assert isinstance(request.param, Row)
    return request.param


@pytest.fixture
def run(target: Target, row: Row) -> Run:
    return boot(target, (row.pd_depth, row.rs_depth))


@pytest.mark.behaviour(
    "C-04", "C-05", "C-06", "C-07", "C-08", "C-10", "C-11", "C-12", "D-01", "H-01"
)
def test_what_goes_is_what_the_table_says(run: Run, row: Row) -> None:
    (cleanup,) = run.cleanups()
    assert run.names[cleanup["trigger"]] == "block_server_1"
    assert (cleanup["pd_depth"], cleanup["rs_depth"]) == (str(row.pd_depth), str(row.rs_depth))
    assert run.doomed() == {"block_server_1": "0", **row.pds}
    assert run.destroyed_pds() == {"block_server_1", *row.pds}
    assert run.deleted_spaces() == {"disk1", *row.spaces}
    assert run.alive() == row.alive


def test_it_was_the_sdks_kernel_that_ran(run: Run, target: Target) -> None:
    (trace,) = run.of("TRACE")
    assert trace["kernel"] == f"{target.sdk.kernel.name} {target.sdk.kernel.version}"
    assert trace["arch"] == target.sdk.kernel.arch


@pytest.mark.behaviour("N-01", "N-02", "N-03", "N-14")
def test_who_is_told_what(run: Run, row: Row) -> None:
    assert run.notices() == row.notices
    tokens = [event["token"] for event in run.of("QUEUE")]
    for handled in ("fetched NOTICE", "FINISH_WORK"):
        assert sorted(event["token"] for event in run.of(handled)) == sorted(tokens)


_WORDS = {
    "lost": "told: I have lost {node}",
    "destroy": "told: my {node} is destroyed",
    "free": "told: {node} is no longer held by {from_}",
    "disconnect": "told: my {node} has lost its client {from_}",
}


def _thing(run: Run, name: str) -> str:
    """The name that PDs print for a space or resource, made of its numbers."""
    space, _, object_ = name.partition(":")
    number = run.id(space).rpartition("_")[2]
    return f"space {number} object {object_}" if object_ else f"space {number}"


def test_survivors_say_what_they_were_told_and_nothing_else(run: Run, row: Row) -> None:
    for name in row.alive:
        told = [text for text in run.says(name) if text.startswith("told: ")]
        expected = [
            _WORDS[kind].format(node=_thing(run, node), from_=run.id(from_) if from_ != "-" else "")
            for to, kind, node, from_ in row.notices
            if to == name
        ]
        assert sorted(told) == sorted(expected)


@pytest.mark.behaviour("C-21", "D-07", "C-13")
def test_survivors_go_on_and_what_they_lost_is_an_error(run: Run, row: Row) -> None:
    """The app prints its state in each round in which the state changes, and at the end.

    What it prints is compared in full, so no round had another outcome.
    """
    says = [f"round 1: table: {_OK}; database: {_OK}"]
    if row.outcomes is not None:
        crashed, last = row.outcomes
        says.append("round 4: table: {}; database: {}".format(*crashed))
        if _LOST_DATABASE in row.notices:
            says.append(_WORDS["lost"].format(node=_thing(run, "database")))
        if last != crashed:
            says.append("round 5: table: {}; database: {}".format(*last))
        says.append("at the end: table: {}; database: {}".format(*last))
    assert run.says("app") == says


@pytest.mark.behaviour("D-05")
def test_what_they_were_made_of_is_free_again(run: Run, row: Row) -> None:
    assert run.destroyed_pds() == {"block_server_1", *row.pds}
    assert freed(run, 1) == bodies_of(run, 1) > 0


@pytest.mark.behaviour("D-03", "M-07", "M-05")
def test_the_state_after_it_names_nobody_who_is_gone(run: Run, row: Row) -> None:
    rows = run.state(1)
    assert dangling(rows) == []
    text = {column for columns in rows for column in columns}
    gone = {run.id(name) for name in ("block_server_1", "disk1", *row.pds, *row.spaces)}
    assert not gone & text
    assert {run.id(name) for name in row.alive} <= text


@pytest.mark.behaviour("N-04")
def test_kernel_calls_of_the_cleanup_are_these_and_no_more(run: Run, row: Row) -> None:
    assert run.calls() == row.calls
    doomed = 1 + len(row.pds)
    callers = row.calls["read-registers"] + row.calls["resume"]
    assert sum(run.step_calls(1, "suspend")) == 3 * doomed + callers
    assert run.step_calls(1, "destroy-pd") == [1] * doomed


@pytest.mark.kernels.with_args(*WITH_MCS)
def test_the_smallest_cleanup_takes_seven_kernel_calls(target: Target) -> None:
    assert sum(boot(target, (0, 0)).calls().values()) == 7


@pytest.mark.behaviour("N-04")
def test_one_signal_for_each_who_is_told(run: Run, row: Row) -> None:
    """The root task neither sends nor calls. It only signals, which never blocks."""
    assert run.calls()["signal"] == len({to for to, _, _, _ in row.notices})
    waiting_for_nobody = {
        "suspend", "resume", "read-registers", "signal", "revoke", "delete", "cancel-sends"
    }  # fmt: skip
    assert set(run.calls()) <= waiting_for_nobody


@pytest.mark.slow
@pytest.mark.behaviour("D-01")
@pytest.mark.parametrize(
    ("less", "more"),
    [
        (less, more)
        for less in BY_DEPTHS
        for more in BY_DEPTHS
        if less != more and all(float(a) <= float(b) for a, b in zip(less, more, strict=True))
    ],
    ids=str,
)
def test_more_depth_never_takes_less(
    target: Target, less: tuple[Depth, Depth], more: tuple[Depth, Depth]
) -> None:
    smaller, larger = boot(target, less), boot(target, more)
    assert smaller.destroyed_pds() <= larger.destroyed_pds()
    assert smaller.deleted_spaces() <= larger.deleted_spaces()


@pytest.mark.slow
@pytest.mark.behaviour("C-12")
def test_a_space_lost_with_its_server_starts_no_traversal_of_its_own(target: Target) -> None:
    assert (
        "database"
        not in boot(target, (1, 0)).deleted_spaces() | boot(target, (1, 1)).deleted_spaces()
    )
    assert "database" in boot(target, (1, 2)).deleted_spaces()


@pytest.mark.slow
@pytest.mark.behaviour("C-13", "D-02")
def test_a_space_lost_by_depth_of_spaces_dooms_neither_client_nor_manager(target: Target) -> None:
    run = boot(target, (1, 2))
    assert "database" in run.deleted_spaces()
    assert {"db", "app"} <= run.alive()
    assert boot(target, (0, 1)).alive() >= {"fs"}


@pytest.mark.slow
@pytest.mark.behaviour("C-17")
@pytest.mark.parametrize("crashed", ["block_server_1", "block_server_2"])
def test_a_space_on_two_disks_goes_whole_with_either(target: Target, crashed: str) -> None:
    run = target.run("block_fs_db_app", pd_depth=0, rs_depth=1, crash=crashed)
    assert {e["id"] for e in run.of("RESOURCE") if run.names[e["space"]] == "files"} == {
        node for node, _ in run.destroys() if run.name(node).startswith("files:")
    }
    assert len([name for name in run.destroyed() if name.startswith("files:")]) == 2
    other = "disk2" if crashed == "block_server_1" else "disk1"
    assert other not in run.deleted_spaces()


@pytest.mark.slow
@pytest.mark.behaviour("C-18")
def test_servers_hold_all_that_they_serve_so_a_clients_crash_orphans_nothing(
    target: Target,
) -> None:
    run = target.run("block_fs_db_app", crash="app")
    assert run.doomed() == {"app": "0"}
    assert run.deleted_spaces() == set()
    assert run.notices() == {
        ("db", "free", "database:1", "app"),
        ("db", "disconnect", "database", "app"),
    }
    holds = {(row[4], row[5]) for row in run.state(1) if row[3] == "HOLD"}
    manager = {event["id"]: event["manager"] for event in run.of("SPACE")}
    resources = run.of("RESOURCE")
    assert len(resources) == 5
    for resource in resources:
        assert (manager[resource["space"]], resource["id"]) in holds


@pytest.mark.behaviour("N-05", "C-21")
def test_a_server_in_the_middle_of_a_request_to_the_dead_one_is_told_too(target: Target) -> None:
    """fs has called block server 1 and waits. Its call is ended, then it reads its notices."""
    run = boot(target, (0, 0))
    (freed,) = run.of("answered THREAD")
    assert (freed["pd"], freed["by"]) == (run.id("fs"), run.id("block_server_1"))
    assert run.at(freed) < run.at(run.cleanups()[0])
    (settled,) = run.of("SETTLED", n=1)
    (fetch,) = run.of("fetched NOTICE")
    assert run.at(fetch) > run.at(settled)
    assert run.says("app")[1] == f"round 4: table: {_IO}; database: {_OK}"


@pytest.mark.behaviour("N-05")
def test_a_server_that_waits_is_told(target: Target) -> None:
    """After fs is gone no PD calls block server 2, and yet it prints that it was told."""
    run = boot(target, (3, 0))
    assert run.alive() == {"block_server_2"}
    assert len([text for text in run.says("block_server_2") if text.startswith("told: ")]) == 2


@pytest.mark.slow
@pytest.mark.behaviour("N-05")
def test_a_client_that_does_not_wait_for_notices_yet_finds_them_when_it_looks(
    target: Target,
) -> None:
    """At the crash the app waits for the database's answer and not for notices.

    It is told once it looks.
    """
    run = boot(target, (0, 2))
    (lost,) = [event for event in run.of("QUEUE") if event["to"] == run.id("app")]
    (fetch,) = run.of("fetched NOTICE", token=lost["token"])
    between = run.events[run.at(lost) : run.at(fetch)]
    assert any(event.name == "SAY" and event["pd"] == run.id("app") for event in between)


@pytest.mark.behaviour("G-07", "G-10", "C-28", "G-14")
def test_groups_are_destroyed_one_after_the_other(run: Run) -> None:
    group = run.groups()
    order = [group[node] for node, _ in run.destroys() if node in group]
    assert order == sorted(order)
    assert len(order) == len(group)


@pytest.mark.slow
@pytest.mark.behaviour("M-06", "H-10", "H-03")
@pytest.mark.parametrize("row", ROWS[::6], ids=lambda row: str(row.id))
def test_the_command_line_says_the_same(target: Target, row: Row) -> None:
    """`run --json` of every third pair, in a process of its own, with exit code and plan."""
    options = ["--arch", target.sdk.kernel.arch, "--sdk", str(target.sdk.root)]
    options += ["--pd-depth", str(row.pd_depth), "--rs-depth", str(row.rs_depth)]
    code, shown = cellreap_json("run", str(CONFIGS / "block_fs_db_app.toml"), *options)
    assert code == 0
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    assert shown["kernel"] == {
        "name": target.sdk.kernel.name,
        "version": target.sdk.kernel.version,
        "arch": target.sdk.kernel.arch,
    }
    names: dict[str, str] = shown["names"]
    cleanups: list[dict[str, Any]] = shown["cleanups"]
    (cleanup,) = cleanups
    assert {names[pd]: str(depth) for pd, depth in cleanup["destroyed_pds"]} == {
        "block_server_1": "0", **row.pds
    }  # fmt: skip
    assert {names[space] for space in cleanup["deleted_spaces"]} == {"disk1", *row.spaces}
    assert cleanup["cause"] == "fault"
    assert cleanup["kernel_calls"] == row.calls
