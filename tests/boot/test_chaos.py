# SPDX-License-Identifier: BSD-2-Clause
"""Several hostile PDs at once beside honest ones: none of the honest notices.

Each seed is one system (kit/chaos.py). Its run passes the check of the trace, no honest PD goes
except by the crashes of the scenario, and each honest call is answered exactly once. At the end the
honest have what they would have without the others.

Under -icount a seed always gives the same run: `--chaos-seeds N` runs the first N seeds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import chaos_runs
from cellreap.system.config import Config
from cellreap.testing import Run, Target
from kit.arches import ARCHES
from kit.chaos import CAUGHT, CLIENTS, DEADLINE_MS, ECHOES, HONEST, chaos, counted
from kit.kernels import prefix_of
from kit.marks import thorough_but
from kit.muted import pds_print

BOARD, A_FEW = "qemu_virt_aarch64/debug", 3
"""Of systems for Microkit: where they run, and how many for each seed."""
TOTAL = re.compile(r"asked (\d+): answered (\d+), lost (\d+)")
WRONG = re.compile(r"WRONG|BROKEN|TWICE|OUT OF ORDER|FAILED")
CHECKED = re.compile(r"check .*: (?!ok$)")
Edge = tuple[str, str, str]

# (kind of edge, its PD, space or resource, what it leads to) -> how often. A resource has the name
# of its space and a colon.
KEPT: Counter[Edge] = Counter(
    {
        **{("REQUEST", name, "RESSPC_SPACE_1"): 1 for name in ("disk_server", "store", "fs", "db")},
        **{("REQUEST", name, "RESSPC_SPACE_1"): 1 for name in (*ECHOES, "tenant")},
        ("REQUEST", "tenant", "PD_SPACE_2"): 1,
        ("REQUEST", "tenant", "disk"): 1,
        ("REQUEST", "fs", "disk"): 1,
        ("REQUEST", "db", "files"): 1,
        ("REQUEST", "app", "database"): 1,
        **{("REQUEST", name, f"{e}_space"): 1 for name in CLIENTS for e in ECHOES},
        ("HOLD", "disk_server", "disk"): 1,
        ("HOLD", "store", "disk2"): 1,
        ("HOLD", "fs", "files"): 1,
        ("HOLD", "fs", "files:"): 1,
        ("HOLD", "fs", "disk:"): 1,
        ("HOLD", "db", "database"): 1,
        ("HOLD", "db", "database:"): 1,
        ("HOLD", "app", "database:"): 1,
        ("HOLD", "tenant", "tenant_space"): 1,
        **{("HOLD", e, f"{e}_space"): 1 for e in ECHOES},
        **{("HOLD", e, f"{e}_space:"): 8 for e in ECHOES},
        ("MAP", "files", "disk"): 1,
        ("MAP", "files:", "disk:"): 1,
        ("MAP", "database", "files"): 1,
        ("MAP", "database:", "files:"): 1,
    }
)
WATCHED: Counter[Edge] = Counter(
    {
        ("REQUEST", "watch", f"{ECHOES[0]}_space"): 1,
        ("SUBSCRIBE", "watch", f"{ECHOES[0]}_space"): 1,
    }
)
POOLS = {("HOLD", "disk_server", "disk:"), ("HOLD", "store", "disk2:")}
"""These two servers make a resource for each client that asks for one."""


def crashes_of(config: Config) -> Counter[str]:
    """PD -> how often the scenario crashes it."""
    return Counter(crash.pd for crash in config.crashes)


def edges_of(run: Run, names: set[str]) -> Counter[Edge]:
    """The edges from these PDs, and from their spaces and resources, in the last printed state.

    Without SUBSET, which follows from the HOLDs of the managers.
    """
    rows = run.last_state()

    def name(id_: str) -> str:
        return run.names.get(id_) or f"{run.name(id_).partition(':')[0]}:"

    managers = {run.names[e["id"]]: run.names[e["manager"]] for e in run.of("SPACE")}
    edges: Counter[Edge] = Counter()
    for _, _, _, kind, start, end, extra in rows:
        if kind not in ("", "SUBSET"):
            # A REQUEST is printed to the manager, with the space behind.
            edge = (kind, name(start), name(extra if kind == "REQUEST" else end))
            if managers.get(edge[1].rstrip(":"), edge[1]) in names:
                edges[edge] += 1
    return edges


def check_who_goes(run: Run, config: Config, caught: list[str]) -> None:
    """No honest PD goes or is blamed, except by the crashes of the scenario."""
    crashes = crashes_of(config)
    honest = [*HONEST, *caught]
    ids = {id_ for name in honest for id_ in run.ids(name)}
    assert set(honest) <= run.alive()
    assert {name: len(run.ids(name)) for name in honest} == {
        name: 1 + crashes[name] for name in honest
    }
    triggers = Counter(run.names[event["trigger"]] for event in run.cleanups())
    assert {name: triggers[name] for name in honest} == {name: crashes[name] for name in honest}
    deadlines = {
        e["pd"]: e.number("deadline_ms")
        for e in run.of("RIGHTS")
        if e["pd"] in ids and e["deadline_ms"] != "0"
    }
    assert deadlines == dict.fromkeys(ids, DEADLINE_MS)
    assert not [event for event in run.of("TRIGGER", cause="late") if event["pd"] in ids]
    # A cleanup may go on without the answer of a PD that hangs in a call.
    hang = {id_ for name in caught for id_ in run.ids(name)}
    assert not [event for event in run.of("GIVE_UP") if event["pd"] in ids - hang]


def check_calls(run: Run, config: Config) -> None:
    """Each call of the honest PDs is answered once, and no answer is wrong."""
    crashes = crashes_of(config)
    said = [event["text"] for event in run.of("SAY")]
    assert not [text for text in said if WRONG.search(text) or CHECKED.match(text)]
    (per_round,) = {pd.args[0] for pd in config.pds if pd.name in CLIENTS}
    for name, servers in CLIENTS.items():
        (totals,) = [text for text in run.says(name) if TOTAL.search(text)]
        found = {
            server: tuple(map(int, values))
            for server, values in zip(servers, TOTAL.findall(totals), strict=True)
        }
        asked = found[ECHOES[0]][0]
        assert found == {s: (asked, asked - crashes[s], crashes[s]) for s in servers}
        # It asked as often as it should in each round, and there was more than one.
        assert asked >= 2 * per_round
        assert asked % per_round == 0
    assert run.says("app")[-1] == "at the end: table: ok; database: ok"
    told = [text for text in run.says("watch") if "about to be destroyed" in text]
    assert len(told) == min(crashes[ECHOES[0]], 1)
    (rounds,) = run.says("tenant")
    assert int(rounds.removeprefix("rounds: ")) >= 2


def blamed(run: Run) -> dict[str, str]:
    """Each late PD, and the kind of the notice that it did not finish."""
    return {
        run.names[event["pd"]]: run.of("QUEUE", token=event["token"])[0]["kind"]
        for event in run.of("TRIGGER", cause="late")
    }


def check_hostile(run: Run, config: Config, *, may_print: bool) -> None:
    """The hostile PDs did what they are there for, as far as it must show in every run.

    may_print: whether the kernel prints what a PD asks it to print.
    """
    programs = {pd.name: pd.program for pd in config.pds}
    hogs = {name for name, program in programs.items() if program == "hog"}
    assert {name: blamed(run).get(name) for name in hogs} == dict.fromkeys(hogs, "disconnect")
    assert not hogs & run.alive()
    prints = may_print and "counterfeiter" in programs.values()
    assert (run.report.foreign_lines > 0) == prints


def check_caught(run: Run, config: Config, name: str) -> None:
    """It hangs in a call. When somebody that waits for the same PD is owed a notice, that PD goes.

    A crash of a server that it connected to owes it one. Without such a crash another PD may be the
    cause: an extraction asks all managers.
    """
    pd = config.pd(name)
    assert pd is not None
    keepers = [p.name for p in config.pds if pd.requests[0] in [s.name for s in p.spaces]]
    answers = [text for text in run.says(name) if text.startswith("answer")]
    probed = {run.names[event["to"]] for event in run.of("QUEUE", kind="probe")} & set(keepers)
    if not config.crashes and not probed:
        assert not answers
        assert set(keepers) <= run.alive()
        return
    assert answers == ["answer: server died"]
    assert not set(keepers) & run.alive()
    # With an extraction it also has a question of its own that it does not answer.
    assert {blamed(run).get(keeper) for keeper in keepers} <= {"probe", "extract"}
    (totals,) = [text for text in run.says(name) if TOTAL.search(text)]
    for server, values in zip(ECHOES, TOTAL.findall(totals), strict=True):
        asked, answered, lost = map(int, values)
        assert asked == answered + lost
        assert lost <= crashes_of(config)[server]
        assert answered > 1


def check(run: Run, config: Config, *, may_print: bool) -> None:
    """Raises AssertionError if an honest PD noticed anything but a staged crash."""
    assert run.report.passed
    assert not run.of("UNREACHED")
    caught = [pd.name for pd in config.pds if CAUGHT in pd.name]
    check_who_goes(run, config, caught)
    check_calls(run, config)
    check_hostile(run, config, may_print=may_print)
    for name in caught:
        check_caught(run, config, name)
    kept = edges_of(run, set(HONEST))
    for pool in POOLS:
        del kept[pool]
    expected = KEPT + (Counter() if crashes_of(config)[ECHOES[0]] else WATCHED)
    assert (kept - expected, expected - kept) == (Counter(), Counter())


@pytest.mark.behaviour("J-07", "J-10", "J-13")
@pytest.mark.parametrize("mode", thorough_but(["async", "sync"], "async"))
@pytest.mark.parametrize("arch", ARCHES)
def test_the_honest_do_not_notice(
    target_of: Callable[[str], Target], arch: str, mode: str, chaos_seed: int
) -> None:
    config = Config.model_validate(chaos(chaos_seed, mode))
    target = target_of(arch)
    run = target.run("block_fs_db_app", change=lambda _: config, qemu_args=counted(chaos_seed))
    check(run, config, may_print=pds_print(target.sdk))


@pytest.mark.behaviour("S-15")
@pytest.mark.parametrize("arch", ARCHES)
def test_a_sound_run_never_fails(tmp_path: Path, arch: str, chaos_seed: int) -> None:
    """Whatever the PDs of a system do. tools/chaos runs more of them, on all kernels."""
    outcome = chaos_runs.run_seed(chaos_seed, arch, "refkernel", tmp_path)
    assert outcome.end in ("ended", "still", "cut"), outcome.said


@pytest.mark.behaviour("S-15")
def test_a_system_for_microkit_neither(tmp_path: Path, chaos_seed: int) -> None:
    """Its PDs look, besides, whether all that they find is right. tools/chaos --microkit runs more
    of them.
    """
    prefix_of(BOARD)
    seeds = range(A_FEW * (chaos_seed - 1) + 1, A_FEW * chaos_seed + 1)
    outcomes = [chaos_runs.run_seed(seed, "aarch64", BOARD, tmp_path) for seed in seeds]
    assert [each.said for each in outcomes if each.end == "failed"] == []
    assert any(each.end == "ended" for each in outcomes)
