# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap audit`: what single crashes would do, against plans of the reference."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

import cellreap
from cellreap.api.chains import Chains
from cellreap.api.crashes import Crashes
from cellreap.model.csvstate import write_state
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.reference import Broken, apply, hanging, plan
from kit.command_line import cellreap as run
from kit.command_line import cellreap_json
from kit.core_support import SCENARIO, describe, random_model, system
from kit.paths import BOOT_CONFIGS, DATA
from kit.small_checkout import error_of

STATE = DATA / "scenario.csv"
ON_DEATH = "\n[[region.on_death]]\noffset = 0xe70\nvalue = 0\nuntil = 0\n"


def broken_by_definition(
    model: Model, crash: str, pd_depth: int | None, rs_depth: int | None
) -> set[Broken]:
    """(survivor, what it holds, what went): every path of maps from every hold is walked."""
    made = plan(model, crash, pd_depth, rs_depth)
    dead = made.doomed()
    gone = dead | {res for res, space in model.space_of.items() if space in dead}
    gone |= set(made.core_freed)
    found = set()
    for pd, held in model.holds:
        if pd == ROOT or pd in dead or held in gone:
            continue
        below = {held}
        while more := {b for a, b in model.maps if a in below} - below:
            below |= more
        found |= {(pd, held, node) for node in below & gone}
    return found


@pytest.mark.behaviour("C-08")
def test_an_audit_says_what_plans_of_the_reference_say() -> None:
    seen = 0
    for seed in range(60):
        model = random_model(random.Random(seed))
        audit = cellreap.audit(model, max_depth=1)
        for finding in audit.findings:
            sizes = {}
            for crash in (pd for pd in model.pds() if pd != ROOT):
                depths = finding.pd_depth, finding.rs_depth
                sizes[crash] = len(plan(model, crash, *depths).destroyed_pds)
                want = broken_by_definition(model, crash, *depths)
                got = finding.broken.get(crash, [])
                diagnosed = hanging(model, plan(model, crash, *depths))
                assert {one[:2] for one in diagnosed} == {one[:2] for one in want}
                assert set(diagnosed) <= want
                assert len(diagnosed) == len(got)
                # One thing that went is named for each, and every broken hold is there.
                assert {one[:2] for one in got} == {one[:2] for one in want}, describe(model)
                assert set(got) <= want
                seen += len(got)
                assert finding.chains.get(crash, 0) == len(got)
            most = max(sizes.values())
            left = {one[0] for found in finding.broken.values() for one in found}
            assert set(finding.survivors) == left
            assert finding.destroyed == most
            assert finding.worst == [pd for pd, size in sizes.items() if size == most]
    assert seen > 100


@pytest.mark.behaviour("C-08")
def test_what_is_built_on_a_node_is_found_through_cycles_and_on_bodies() -> None:
    cycles = bodies_built = 0
    for seed in range(400):
        model = random_model(random.Random(seed))
        chains = Chains(model)
        place = {hold: 1 << number for number, hold in enumerate(sorted(model.holds))}
        upper = {b: {a for a, below in model.maps if below == b} for _, b in model.maps}
        for node in model.nodes:
            built = upper.get(node, set())
            while more := {one for each in built for one in upper.get(each, ())} - built:
                built = built | more
            cycles += node in built
            holds = sum(place[pd, on] for pd, on in place if on in built and pd != ROOT)
            own = sum(place[pd, on] for pd, on in place if on == node and pd != ROOT)
            assert chains.over(node) == (holds, own)
        bodies = {model.body_of(pd): pd for pd in model.pds()}
        assert chains.bodies == {pd: res for res, pd in bodies.items() if res in upper}
        bodies_built += len(chains.bodies)
    assert cycles > 100
    assert bodies_built > 3


def test_the_smallest_depths_of_the_scenario() -> None:
    audit = cellreap.audit(STATE)
    assert audit.smallest == [(0, 2), (2, 0)]
    assert {pd for pd, _, _ in audit.at(0, 0).broken["PD_1"]} == {"PD_3", "PD_4", "PD_5"}
    assert audit.at(1, 0).destroyed == 2
    code, shown = cellreap_json("audit", str(STATE))
    assert (code, shown["smallest"]) == (0, [[0, 2], [2, 0]])
    assert "smallest depths that leave no broken chain: 0/2, 2/0" in run("audit", str(STATE)).stdout


def test_survivors_that_keep_what_is_built_on_what_went_are_told() -> None:
    code, shown = cellreap_json("plan", str(STATE), "--crash", "block_server_1")
    assert (code, len(shown["broken"])) == (0, 5)
    assert ["PD_5", "TABLE_4_1", "BLOCK_1_1"] in shown["broken"]
    told = run("plan", str(STATE), "--crash", "block_server_1").stdout
    assert "  PD_5 (app)  TABLE_4_1, built on BLOCK_1_1\n" in told
    trace = DATA / "goldens" / "block_fs_db_app-0-0.trace"
    crash = cellreap.state(trace, after=0).find_pd("block_server_1")
    audit = cellreap.audit(trace, after=0)
    code, shown = cellreap_json("show", str(trace))
    assert (code, shown["cleanups"][0]["broken"]) == (
        0,
        [list(each) for each in audit.at(0, 0).broken[crash]],
    )
    told = run("show", str(trace)).stdout
    assert "broken     fs (PD_3) keeps FILE_5_1, built on BLOCK_4_1; files" in told
    assert "app (PD_5) keeps TABLE_6_1, built on BLOCK_4_1" in told


def test_pins_and_single_points() -> None:
    audit = cellreap.audit(
        system("""
            PD_1 manages FILE_SPACE_1 with FILE_1_1
            PD_2 requests FILE_SPACE_1
            PD_3 requests FILE_SPACE_1
            PD_3 pinned
        """)
    )
    assert audit.pins == {"PD_1": ["PD_3"]}
    assert audit.single_points == ["PD_1"]


def test_a_state_that_got_worse_fails(tmp_path: Path) -> None:
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    model = system(SCENARIO)
    before.write_text(write_state(model), encoding="utf-8")
    model.add_request("PD_2", "FILE_SPACE_3")
    after.write_text(write_state(model), encoding="utf-8")
    code, shown = cellreap_json("audit", str(after), "--diff", str(before))
    assert code == 1
    assert "PD_1 is a single point of failure" in shown["worse"]
    code, shown = cellreap_json("audit", str(before), "--diff", str(after))
    assert (code, shown["worse"]) == (0, [])
    assert error_of(run("audit", "none.csv")).count("\n") <= 1


@pytest.mark.behaviour("E-05")
def test_memory_that_a_device_may_write_for_ever_is_told_beforehand(tmp_path: Path) -> None:
    """Not if something makes the device quiet."""
    text = (BOOT_CONFIGS / "dma.toml").read_text()
    quiet, quiets_nothing = tmp_path / "quiet.toml", tmp_path / "loud.toml"
    quiet.write_text(text)
    cuts = (ON_DEATH, '\n[[region.map]]\npd = "heir"\naddress = 0x80000000\n')
    assert all(text.count(cut) == 1 for cut in cuts)
    quiets_nothing.write_text(text.replace(cuts[0], "").replace(cuts[1], ""))
    said = "buffers is kept from others: disk, which may write there, has no on_death"
    for path, told in ((quiet, False), (quiets_nothing, True)):
        assert (said in run("audit", str(path), "--incomplete").stderr) is told


@pytest.mark.behaviour("C-08")
def test_two_crashes_are_two_plans_of_the_reference_one_after_the_other() -> None:
    touched = 0
    for seed in range(25):
        model = random_model(random.Random(seed))
        pds = [pd for pd in model.pds() if pd != ROOT]
        audit = cellreap.audit(model, max_depth=1, pairs=True).pairs
        assert audit is not None
        crashes = Crashes(model, None, 1)
        for finding in audit.findings:
            depths = finding.pd_depth, finding.rs_depth
            most, pairs, chains = 0, 0, 0
            for a, b in combinations(pds, 2):
                size, left = 0, 0
                for first, second in ((a, b), (b, a)):
                    gone = one_after_the_other(model, first, second, depths)
                    size = max(size, sum(model.nodes[node].kind == "PD" for node in gone))
                    holds = {(pd, held) for pd, held in model.holds if pd != ROOT}
                    hanging = {
                        (pd, held)
                        for pd, held in holds
                        if pd not in gone and held not in gone and below(model, held) & gone
                    }
                    left = max(left, len(hanging))
                    touched += crashes.of(first, depths).touches(crashes.of(second, depths))
                most, chains, pairs = max(most, size), max(chains, left), pairs + bool(left)
            found = finding.destroyed, finding.broken_pairs, finding.chains
            assert found == (most, pairs, chains), f"{depths} {describe(model)}"
    assert touched > 100


def below(model: Model, node: str) -> set[str]:
    """What a node is built on, directly or further down."""
    found = {node}
    while more := {b for a, b in model.maps if a in found} - found:
        found |= more
    return found


def one_after_the_other(
    model: Model, first: str, second: str, depths: tuple[int | None, int | None]
) -> set[str]:
    """All nodes that are gone after two crashes."""
    bodies = {model.body_of(pd) for pd in model.pds()}
    left = apply(model, plan(model, first, *depths))
    if second in left.nodes:
        left = apply(left, plan(left, second, *depths))
    return model.nodes.keys() - left.nodes.keys() - bodies


def test_a_pair_is_a_point_of_failure_only_if_neither_alone_is() -> None:
    audit = cellreap.audit(STATE, pairs=True).pairs
    assert audit is not None
    assert audit.points == [("PD_1", "PD_2")]
    assert audit.smallest == [(0, 2), (2, 0)]
    code, shown = cellreap_json("audit", str(STATE), "--pairs", "--list")
    assert (code, shown["pairs"]["points"]) == (0, [["PD_1", "PD_2"]])
    assert ["PD_3", "FILE_3_1", "BLOCK_1_1"] in shown["findings"][0]["broken"]["PD_1"]
    told = run("audit", str(STATE), "--pairs", "--list").stdout
    assert "together they destroy all others: PD_1 (block_server_1) and PD_2" in told
    assert "  PD_3 (fs) holds FILE_3_1, which is built on BLOCK_1_1" in told


def test_a_difference_compares_pds_by_their_names(tmp_path: Path) -> None:
    audits = []
    for top in ("PD_1", "PD_3"):
        model = system(f"{top} manages FILE_SPACE_1 with FILE_1_1\nPD_2 requests FILE_SPACE_1")
        model.nodes[top] = replace(model.nodes[top], name="top")
        audits.append(cellreap.audit(model))
    before, after = audits
    assert before.single_points != after.single_points
    assert after.difference(before).worse == []


def test_an_audit_walks_every_crash_of_a_thousand_pds() -> None:
    """A tree of servers: what each crash does follows from how many PDs are below it."""
    model, rng = Model(), random.Random(1)
    model.add_pd(ROOT)
    clients: dict[int, list[int]] = {number: [] for number in range(1, 1001)}
    for number in clients:
        pd, space, res = f"PD_{number:x}", f"FILE_SPACE_{number:x}", f"FILE_{number:x}_1"
        model.add_pd(pd)
        model.add_space(space, pd)
        model.add_resource(res, space)
        for node in (space, res):
            model.add_hold(pd, node)
        if number > 1:
            server = max(1, number - rng.randint(1, 40))
            clients[server].append(number)
            model.add_request(pd, f"FILE_SPACE_{server:x}")
            model.add_hold(pd, f"FILE_{server:x}_1")
            model.add_map(res, f"FILE_{server:x}_1")
    audit = cellreap.audit(model)
    below: dict[int, int] = {}
    for number in reversed(clients):
        below[number] = sum(1 + below[client] for client in clients[number])
    # Each PD below keeps its own file, and a hold of its server's unless that is what crashed.
    left = {number: 2 * below[number] - len(clients[number]) for number in clients}
    none, spaces, pds = audit.at(0, 0), audit.at(0, None), audit.at(None, 0)
    assert {number: none.chains.get(f"PD_{number:x}", 0) for number in clients} == left
    assert sum(left.values()) > 50_000
    assert (none.destroyed, len(none.worst)) == (1, 1000)
    assert not spaces.chains
    assert not pds.chains
    assert (pds.destroyed, pds.worst) == (1000, ["PD_1"])
    assert audit.single_points == ["PD_1"]
    assert audit.smallest == [(0, None), (None, 0)]
