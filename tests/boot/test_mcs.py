# SPDX-License-Identifier: BSD-2-Clause
"""Kernels with scheduling contexts (MCS): cleanups do what they do without.

The kernel is the installed one of $XDG_DATA_HOME/cellreap/sdk/<arch>-mcs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cellreap.headers import constant, source_root
from cellreap.system.config import Config, Pd
from cellreap.testing import Run, Target, together, with_crashes, with_pd
from kit.arches import ARCHES
from kit.counted import COUNTED
from kit.marks import thorough_but
from kit.outcomes import ALL, LONG, compare
from kit.paths import BOOT_CONFIGS
from kit.planted import run_planted
from kit.truth_traces import WITH_SOME_TRUTH, WITH_TRUTH
from mutation.copies import Copy, files_of
from mutation.faults import Edit, Fault, edited

SCENARIO = "block_fs_db_app"
TIMED = LONG | {"spawn"}
"""What happens first depends on when the kernel lets another PD run."""
ALWAYS = (SCENARIO, "extract", "handler", "protocol", "second_crash", "subscribed")
"""Those that stand for the others: they use all operations and ways to wait."""
SYSTEMS = [f"{name}-{arch}" for name in ALL if name not in TIMED for arch in ARCHES]


@pytest.fixture
def mcs(target_on: Callable[[str], Target]) -> Callable[[str], Target]:
    """Returns the target of an architecture."""
    return lambda arch: target_on(f"{arch}-mcs")


@pytest.mark.parametrize(
    "system",
    thorough_but(SYSTEMS, *(f"{name}-{ARCHES[1]}" for name in ALWAYS)),
)
def test_every_configuration_does_the_same(
    mcs: Callable[[str], Target], target_of: Callable[[str], Target], system: str
) -> None:
    name, arch = system.rsplit("-", 1)
    run = mcs(arch).run(name)
    assert run.cleanups()
    compare(run, target_of(arch).run(name))


@pytest.mark.parametrize("depth", thorough_but(range(5), 2))
@pytest.mark.parametrize("arch", thorough_but(ARCHES, ARCHES[1]))
def test_the_kernel_agrees_with_the_model_at_every_depth(
    mcs: Callable[[str], Target], arch: str, depth: int
) -> None:
    """The check compares what the kernel says it has with what it should have."""
    run = mcs(arch).run(SCENARIO, change=WITH_TRUTH, pd_depth=depth, rs_depth=depth)
    assert run.of("TRUTH")


@pytest.mark.parametrize("name", sorted(TIMED))
@pytest.mark.slow
def test_who_hangs_is_found_and_who_is_made_again_is_there(
    mcs: Callable[[str], Target], name: str
) -> None:
    assert mcs(ARCHES[1]).run(name).cleanups()


@pytest.mark.behaviour("B-02", "B-03")
@pytest.mark.parametrize("arch", thorough_but(ARCHES, ARCHES[1]))
def test_who_computes_for_ever_goes_by_its_budget_or_its_heartbeat_and_nobody_else_is_late(
    mcs: Callable[[str], Target], arch: str
) -> None:
    run = mcs(arch).run("budget", change=WITH_SOME_TRUTH)
    faults = run.of("FAULT")
    assert [(run.name(e["pd"]), e["kind"]) for e in faults] == [("bounded", "timeout")] * 4
    assert all(e.number("address") == int(e["pd"].removeprefix("PD_"), 16) for e in faults)
    # Its fault handler lets the first one go on twice, with the budget of the next period.
    assert len(run.of("resumed THREAD")) == 2
    assert run.says("nurse")[0] == "fault of PD_4: kind 4, address 0x4"
    hung = [run.name(e["pd"]) for e in run.of("TRIGGER", cause="hung")]
    assert hung == ["unbounded", "borrower"]
    assert len(run.cleanups()) == 6
    assert not run.of("TRIGGER", cause="late") + run.of("GIVE_UP")
    # Who computes on the time of its client goes, and not the client, whose budget it used up.
    assert [run.name(e["pd"]) for e in run.of("answered THREAD")] == ["lender"]
    assert run.says("lender")[0] == "answer: server died"
    lent = [e for e in run.of("TIME", pd=run.id("lender")) if e["at"] == run.id("borrower")]
    assert {e["calls"] for e in lent} == {run.id("borrower")}
    assert run.alive() == {"server", "client", "nurse", "lender"}
    assert len(run.says("client")) == 2


DENIED = constant("protocol.h", "CR_RESULT_DENIED")
SERVERS = ("first", "middle", "last")
CLIENTS = ("client", "other")


def lent(run: Run, server: str) -> set[tuple[str, str]]:
    """Whose time was at whom when the kernel was asked before a cleanup of this server."""
    triggers = {cleanup["n"]: run.name(cleanup["trigger"]) for cleanup in run.cleanups()}
    found: set[tuple[str, str]] = set()
    told: set[tuple[str, str]] = set()
    for event in run.events:
        if event.name == "TRUTH":
            told = set()
        elif event.name == "TIME" and event["calls"] != "-":
            told.add((run.name(event["pd"]), run.name(event["at"])))
        elif event.name == "SETTLED" and triggers.get(event["n"]) == server:
            found |= told
    return found


def check_chain(run: Run, *clients: str) -> None:
    """Each call has its answer, and the kernel says that everybody has his own time at the end."""
    assert run.alive() == {*SERVERS, *clients}
    for client in clients:
        calls, answers = map(int, re.findall(r"\d+", run.says(client)[-1]))
        assert calls == answers > 0
    last = run.events[max(map(run.at, run.of("TRUTH"))) :]
    has = {run.name(e["pd"]): e["at"] for e in last if e.name == "TIME"}
    if has.get("other") == "PD_0":  # It waits, and has used up its budget.
        has["other"] = run.id("other")
    assert has == {**dict.fromkeys(SERVERS, "-"), **{each: run.ids(each)[-1] for each in clients}}


@pytest.mark.behaviour("B-03", "B-04")
@pytest.mark.parametrize("overrun", thorough_but(["fault", "wait"], "fault"))
def test_nobody_is_sent_what_would_have_another_use_up_its_budget(
    mcs: Callable[[str], Target], overrun: str
) -> None:
    """If that is a fault. The resource is of a passive PD."""
    change = together(
        with_pd("registry", passive=True),
        with_pd("peer", budget_us=10_000, period_us=20_000, overrun=overrun),
    )
    said = mcs(ARCHES[1]).run("protocol", change=change).says("tester")
    answer = "ok" if overrun == "wait" else f"FAILED, got {DENIED:x}, wanted 0"
    assert f"check a resource is sent: {answer}" in said
    assert f"check a request is shared: {answer}" in said


@pytest.mark.behaviour("B-02", "B-04")
@pytest.mark.parametrize(
    ("arch", "times"),
    thorough_but([(arch, times) for times in (3, 100) for arch in ARCHES], (ARCHES[1], 3)),
)
def test_whoever_dies_in_a_chain_of_passive_servers_the_time_goes_back_to_whose_it_is(
    mcs: Callable[[str], Target], arch: str, times: int
) -> None:
    """A client that lost its time would call no more, and a server without any answer nobody. Each
    dies at so many instants, and the kernel is asked before and after each.
    """
    who = (*SERVERS, "client")
    at: dict[str, object] = {"at": 2, "how": "kill", "spread_ns": 1_000_000, "repeat": times}
    crashes = [{"pd": pd, "seed": seed, **at} for seed, pd in enumerate(who)]
    change = together(WITH_SOME_TRUTH, with_crashes(*crashes))
    run = mcs(arch).run("passive", change=change, qemu_args=COUNTED)
    assert [run.name(e["trigger"]) for e in run.cleanups()] == [
        p for p in who for _ in range(times)
    ]
    assert not run.of("TRIGGER", cause="late") + run.of("GIVE_UP")
    check_chain(run, *CLIENTS)
    for i, server in enumerate(SERVERS):  # It had the time of a client, or had lent it on.
        assert lent(run, server) & {(client, at) for client in CLIENTS for at in SERVERS[i:]}


@pytest.mark.behaviour("B-02", "B-04")
@pytest.mark.parametrize("arch", thorough_but(ARCHES, ARCHES[1]))
def test_the_time_of_a_client_may_go_while_the_last_of_a_chain_runs_on_it(
    mcs: Callable[[str], Target], arch: str
) -> None:
    """That one terminates the client. All three servers have their own time then."""

    def alone(config: Config) -> Config:
        return config.model_copy(update={"pds": tuple(p for p in config.pds if p.name != "other")})

    ends = {"pd": "client", "by": "last", "how": "terminate", "at": 2}
    holds = with_pd("last", holds_pds=("client",))
    change = together(WITH_SOME_TRUTH, alone, holds, with_crashes(ends))
    run = mcs(arch).run("passive", change=change)
    (cleanup,) = run.cleanups()
    assert lent(run, run.name(cleanup["trigger"])) >= {("client", "last")}
    check_chain(run, "client")


@pytest.mark.behaviour("B-04", "H-10")
@pytest.mark.slow
@pytest.mark.thorough
def test_time_that_is_not_taken_back_is_found(mcs: Callable[[str], Target], tmp_path: Path) -> None:
    """The middle one dies when it has lent the time on: the last one keeps it."""
    root = source_root()
    files = files_of(root)
    copy = Copy(root, files, tmp_path)
    file, old = "roottask/system/lent.c", b"    return_time(from);\n"
    edit = Edit(file, files[file].index(old), old, b"    (void)return_time, (void)from;\n")
    copy.plant(edited(files, Fault("time is not taken back", (edit,), named=True)))
    text = (BOOT_CONFIGS / "passive.toml").read_text()
    config = copy.folder / "kept.toml"
    config.write_text(text + KEPT)
    sdk = mcs(ARCHES[0]).sdk.root
    shown = run_planted(copy, config, "--arch", ARCHES[0], "--sdk", str(sdk))
    assert any(": truth.time: " in found for found in shown["violations"])


KEPT = """
[[crash]]
pd = "middle"
at = 2
how = "kill"
spread_ns = 1000000
seed = 1
repeat = 5
"""


@pytest.mark.behaviour("B-02", "B-04", "S-05")
@pytest.mark.parametrize("arch", thorough_but(ARCHES, ARCHES[1]))
def test_a_message_that_is_no_call_leaves_a_passive_server_without_time_for_a_moment_only(
    mcs: Callable[[str], Target], arch: str
) -> None:
    stranger = Pd(name="stranger", program="stranger", requests=("first_space",), args=(3,))

    def change(config: Config) -> Config:
        return config.model_copy(update={"pds": (*config.pds, stranger)})

    run = mcs(arch).run("passive", change=change)
    assert {run.name(e["pd"]) for e in run.of("stranded THREAD")} == {"first"}
    assert not run.cleanups()
    for client in CLIENTS:
        calls, answers = map(int, re.findall(r"\d+", run.says(client)[-1]))
        assert calls == answers > 0


@pytest.mark.behaviour("B-02", "B-04")
@pytest.mark.parametrize("arch", thorough_but(ARCHES, ARCHES[1]))
def test_the_sample_servers_may_be_passive(mcs: Callable[[str], Target], arch: str) -> None:
    """Their code does not change, and neither does what becomes of whom."""
    servers = ("block_server_1", "block_server_2", "fs", "db")
    passive = together(*(with_pd(name, passive=True) for name in servers))
    target = mcs(arch)
    for depth in (0, 2):
        run = target.run(SCENARIO, change=passive, pd_depth=depth, rs_depth=depth)
        compare(run, target.run(SCENARIO, pd_depth=depth, rs_depth=depth))


def test_each_pd_has_time_of_its_own_and_a_place_for_its_callers(
    mcs: Callable[[str], Target],
) -> None:
    run = mcs(ARCHES[1]).run(SCENARIO)
    for body in run.of("BODY"):
        objects = body.counts("objects")
        assert (objects["sched-context"], objects["reply"]) == (1, 1)
