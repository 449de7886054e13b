# SPDX-License-Identifier: BSD-2-Clause
"""PDs of Microkit within PDs: who handles their faults, and what becomes of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cellreap.cli.main import cli
from kit.microkit import FRESH, Microkit, pd, spoken

AGAIN = "hello, restarted"


def child(name: str, id_: int, more: str = "") -> str:
    return pd(name, f'id="{id_}" {more}', "", "child")


def family(parent: str) -> str:
    """A parent in another one, with two children, and a bystander."""
    within = child("faulty", 61, more='setvar_id="first_child"') + child("calm", 0)
    inner = pd(parent, 'id="7" priority="9"', within, "parent")
    return pd("outer", 'priority="10"', inner, "parent") + pd("bystander", "", "", "child")


def back(*names: str, more: str = "") -> str:
    """A policy by which these PDs come back."""
    return "".join(f'[[pd]]\nname = "{name}"\nrespawn = true\n{more}' for name in names)


def said_by(shown: dict[str, Any], name: str) -> list[str]:
    return [text for pd_, text in shown["said"] if pd_ == name]


def made(shown: dict[str, Any]) -> Counter[str]:
    """How often each PD was made."""
    names = shown["names"].items()
    return Counter(name for node, name in names if node.startswith("PD_") and node != "PD_0")


def test_a_parent_handles_the_faults_of_its_children(microkit: Microkit, tmp_path: Path) -> None:
    """As under Microkit: a child runs on with what it had, until it is stopped. cellreap knows of
    no fault. The kernel's word has the child's thread in the parent's slot. A child that is stopped
    has not hung.
    """
    policy = '[[pd]]\nname = "faulty"\nheartbeat_ms = 40\n'
    shown = microkit.run(family("parent"), policy, tmp_path)
    assert (shown["verdict"], shown["violations"], shown["cleanups"]) == ("pass", [], [])
    assert said_by(shown, "faulty") == [FRESH, AGAIN, AGAIN]
    handled = ["fault 6", "restarted 61"] * 2 + ["fault 6", "stopped 61"]
    assert said_by(shown, "parent") == ["children 0", *handled]
    assert said_by(shown, "outer") == ["children 0"]
    assert said_by(shown, "calm") == said_by(shown, "bystander") == [FRESH]


@pytest.mark.parametrize("outer", ["parent", "cellreap"])
def test_children_go_with_their_parent(microkit: Microkit, tmp_path: Path, outer: str) -> None:
    """It faults. They come back, and it handles their faults as before; others stay. Its own faults
    are its parent's, which has it run on in its next call, or cellreap's.
    """
    policy = back("fragile", more=f'faults = "{outer}"\n') + back("faulty", "calm")
    shown = microkit.run(family("fragile"), policy, tmp_path)
    assert shown["violations"] == []
    names = shown["names"]
    for cleanup in shown["cleanups"]:
        depths = {names[each]: depth for each, depth in cleanup["destroyed_pds"]}
        assert depths == {"fragile": 0, "faulty": 0, "calm": 0}
    times = len(shown["cleanups"])
    assert (times > 0) == (outer == "cellreap")
    alive = max(times, 1)  # after the last one they stay down
    family_of = {"fragile": alive, "faulty": alive, "calm": alive}
    assert made(shown) == family_of | {"outer": 1, "bystander": 1}


def test_a_policy_hands_the_faults_over(microkit: Microkit, tmp_path: Path) -> None:
    """Then each is a crash: the child comes back fresh. Its parent knows of none, lives, and has
    the thread of the child that is there.
    """
    policy = back("faulty", more='faults = "cellreap"\n')
    shown = microkit.run(family("parent"), policy, tmp_path)
    assert (shown["verdict"], shown["violations"]) == ("pass", [])
    times = len(shown["cleanups"])
    assert times > 1
    assert said_by(shown, "faulty") == [FRESH] * times
    assert said_by(shown, "parent") == ["children 0"]
    assert made(shown) == {"faulty": times, "parent": 1, "calm": 1, "outer": 1, "bystander": 1}


def test_a_child_that_comes_back_without_its_parent_is_cellreaps(
    microkit: Microkit, tmp_path: Path
) -> None:
    """The parent stays down. So each fault of the child is a crash, and it comes back fresh."""
    policy = '[[pd]]\nname = "fragile"\nfaults = "cellreap"\n' + back("faulty", "calm")
    shown = microkit.run(family("fragile"), policy, tmp_path)
    assert shown["violations"] == []
    names, (first, *later) = shown["names"], shown["cleanups"]
    assert {names[each] for each, _ in first["destroyed_pds"]} == {"fragile", "faulty", "calm"}
    assert later
    assert all([names[each] for each, _ in it["destroyed_pds"]] == ["faulty"] for it in later)
    assert made(shown) == {
        "outer": 1, "fragile": 1, "calm": 2, "faulty": 1 + len(later), "bystander": 1
    }  # fmt: skip


@pytest.mark.parametrize(("parent", "comes_back"), [("nag", True), ("frail", False)])
@pytest.mark.behaviour("P-03")
def test_a_parent_outlives_what_it_asks_of_a_child_that_is_down(
    microkit: Microkit, tmp_path: Path, parent: str, comes_back: bool
) -> None:
    """To restart or to stop it has no effect. One that is there is restarted. A parent that comes
    back has neither child, and both are as before.
    """
    children = child("faulty", 0, 'priority="9"') + child("calm", 1, 'priority="8"')
    policy = back("frail") if parent == "frail" else ""
    for name in ("faulty", "calm"):
        again = "respawn = true\n" if comes_back else ""
        policy += f'[[pd]]\nname = "{name}"\nfaults = "cellreap"\n{again}'
    shown = microkit.run(pd(parent, 'priority="1"', children, "nag"), policy, tmp_path)
    assert shown["violations"] == []
    its_own = {fault["address"] for fault in shown["faults"] if fault["name"] == parent}
    assert its_own == ({"0xdead000"} if parent == "frail" else set()), "none of libmicrokit's"
    times, said = made(shown), spoken(tmp_path)  # Lines may begin in the midst of others.
    assert (times[parent] > 1) == (parent == "frail")
    assert (times["faulty"] > 1) == comes_back
    assert said.count(f"faulty: {FRESH}") == times["faulty"]
    assert f"calm: {AGAIN}" in said
    words = ["capdl", str(tmp_path / "out" / "a.trace"), "--after", "1", "-o"]
    assert CliRunner().invoke(cli, [*words, str(tmp_path / "a.cdl")]).exit_code == 0
    assert "0xca: stand_in_faulty\n" in (tmp_path / "a.cdl").read_text()
