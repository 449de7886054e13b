# SPDX-License-Identifier: BSD-2-Clause
"""The capabilities of a run in capDL: what PDs were given, and what went with stopped ones."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from cellreap.errors import CellreapError
from cellreap.runs.entries import Entries, Entry
from cellreap.system.capdl.checking import problems
from cellreap.system.capdl.objects import Cap, Description
from cellreap.system.capdl.rendering import render
from cellreap.system.capdl.running import Given, RunningPd, describe_running
from cellreap.system.capdl.target import Target
from cellreap.system.capdl.writing import TOOL, write
from cellreap.system.capdl_import import import_capdl
from cellreap.system.config import Pd
from cellreap.trace.events import Event
from kit.capdl_reader import Held, Spec, read_capdl
from kit.sdk_kit import make_elf

X86_64 = Target("x86_64", 5, 11, 5, 4, 12, 12, (12, 12, 12), (39, 30, 21))
PROGRAMS = {"small": make_elf([(0x40_0000, 0x40_0000, b"code", 4096)], entry=0x40_0000)}
SLOTS = 4096
"""of the root task's CNode of bodies"""
REQUEST, RESOURCE, BODY = "CR_BADGE_REQUEST", "CR_BADGE_RESOURCE", "CR_BADGE_BODY"


def pd(number: int, name: str, *given: Given, stopped: bool = False) -> RunningPd:
    config = Pd(name=name, program="small", cspace_bits=6)
    return RunningPd(
        f"PD_{number:x}", config, number, 3, number << 20, stopped=stopped, given=given
    )


def described() -> Description:
    """A server, a client of it, and a PD that was stopped."""
    server = pd(1, "server")
    client = pd(
        2,
        "client",
        Given(9, "PD_1", (RESOURCE, 5, 7)),
        Given(8, "PD_1", (REQUEST, 4, 2), request=True),
        Given(10, None, (BODY, 3, 3)),
    )
    gone = pd(3, "gone", stopped=True)
    return describe_running([server, client, gone], PROGRAMS, X86_64, ("A run.",), SLOTS)


def spec() -> Spec:
    return read_capdl(render(described()))


@pytest.mark.behaviour("H-10")
def test_a_client_has_what_it_was_given() -> None:
    found = spec()
    slots = found.caps["cspace_client"]
    assert slots[8] == Held("ep_server", "PW", {"badge": 4 << 60 | 2 << 32 | 4})
    assert slots[9] == Held("ep_server", "PW", {"badge": 5 << 60 | 7 << 32 | 5})
    assert slots[10] == Held("root_ep", "P", {"badge": 3 << 60 | 3 << 32 | 3})
    assert slots[1].numbers == {"badge": 1 << 60 | 3 << 32 | 2}  # its own entry and generation
    assert sorted(slot for slot in slots if isinstance(slot, int)) == [1, 2, 3, 4, 8, 9, 10]


@pytest.mark.behaviour("H-10")
def test_it_comes_back_as_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "left.cdl"
    path.write_text(render(described()))
    pds = import_capdl(path, tmp_path).config.pds
    spaces = [[space.name for space in pd.spaces] for pd in pds]
    assert [(pd.name, pd.program, pd.requests) for pd in pds] == [
        ("server", "small", ()),
        ("client", "small", ("server_calls",)),
        ("gone", "small", ()),
    ]
    assert spaces == [["server_calls"], [], []]


@pytest.mark.behaviour("H-10")
def test_what_it_was_given_derives_from_its_server() -> None:
    found = spec()
    ((parent, held),) = [
        (slot, held)
        for slot, held in found.caps["body_client"].items()
        if held.target == "ep_server"
    ]
    assert held == Held("ep_server", "GPRW", {"badge": 4 << 60 | 2 << 32 | 4})
    assert found.derived["body_client", parent] == [("cspace_client", 8)]
    assert found.derived["body_server", 4] == [
        ("cspace_server", 2),
        ("body_client", parent),
        ("cspace_client", 9),
    ]


@pytest.mark.behaviour("H-10")
def test_untypeds_have_addresses_and_the_root_task_has_the_cnodes() -> None:
    found = spec()
    assert found.paddrs == {"ut_server": 1 << 20, "ut_client": 2 << 20, "ut_gone": 3 << 20}
    assert {slot: held.target for slot, held in found.caps["root_cspace"].items()} == {
        4: "body_server",
        5: "body_client",
        6: "body_gone",
    }


@pytest.mark.behaviour("H-10")
def test_a_stopped_pd_has_no_endpoint() -> None:
    found = spec()
    assert "ep_gone" not in found.objects
    assert "ep_client" in found.objects
    assert 2 not in found.caps["cspace_gone"]
    assert 4 not in found.caps["body_gone"]
    assert ("body_gone", 4) not in found.derived
    assert ("body_gone", 2) in found.derived


@pytest.mark.behaviour("H-10")
def test_what_no_kernel_could_hold_is_refused() -> None:
    assert list(problems(described())) == []
    beyond = pd(1, "server", Given(64, None, (BODY, 1, 1)))
    with pytest.raises(CellreapError, match=r"cspace_server, 0x40\): cspace_server has 64 slots"):
        describe_running([beyond], PROGRAMS, X86_64, (), SLOTS)
    twice = pd(1, "server", Given(8, None, (BODY, 1, 1)), Given(8, None, (BODY, 1, 2)))
    with pytest.raises(CellreapError, match="is filled 2 times"):
        describe_running([twice], PROGRAMS, X86_64, (), SLOTS)


# -- who writes


@pytest.mark.behaviour("H-10")
@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_python_capdl_tool_writes_the_same(arch: str) -> None:
    if importlib.util.find_spec("capdl") is None:
        pytest.skip(f"{TOOL} is not installed: no package index has it")
    program = make_elf([(0x40_0000, 0x40_0000, b"code", 4096)], entry=0x40_0000, arch=arch)
    made = describe_running(
        [pd(1, "server"), pd(2, "client", Given(8, "PD_1", (REQUEST, 4, 2), request=True))],
        {"small": program},
        replace(X86_64, arch=arch),
        ("A run.",),
        SLOTS,
    )
    text, used = write(made, "tool")
    assert used == TOOL
    assert text != render(made)
    assert read_capdl(text) == read_capdl(render(made))


@pytest.mark.behaviour("H-10")
@pytest.mark.parametrize("package", [None, ModuleType("capdl")], ids=["none", "an older one"])
def test_without_the_tool_we_write(
    package: ModuleType | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "capdl", package)
    monkeypatch.setitem(sys.modules, "capdl.Object", ModuleType("capdl.Object"))
    made = described()
    assert write(made) == (render(made), "own")
    assert write(made, "own") == (render(made), "own")
    with pytest.raises(CellreapError, match=f"{TOOL} cannot be imported: "):
        write(made, "tool")


def test_a_capability_in_another_slot_is_another_text() -> None:
    made = described()
    caps = dict(made.caps)
    caps["cspace_gone"] = (*caps["cspace_gone"], Cap(20, "root_ep", ("WP", "badge: 0x1")))
    assert read_capdl(render(replace(made, caps=caps))) != spec()


# -- the root task's tables


def _event(name: str, /, **values: object) -> Event:
    return Event(name, {key.rstrip("_"): str(value) for key, value in values.items()})


def _request(pd_: str, space: str, slot: int = 8) -> Event:
    return _edge("made", pd_, space, slot)


def _edge(change: str, pd_: str, space: str, slot: int) -> Event:
    ends = {"from_": pd_, "to": space}
    return _event("EDGE", change=change, kind="REQUEST", **ends, number=slot)


def _step(name: str, node: str, pd_: str) -> Event:
    return _event("STEP", n=1, name=name, node=node, pd=pd_, kinds="-")


@pytest.mark.behaviour("W-05")
def test_the_lowest_free_entry_is_that_of_the_next_pd() -> None:
    entries = Entries(0)
    for number in (1, 2, 3):
        entries.see(_event("PD", id=f"PD_{number}", name="x", pinned=0))
    entries.see(_step("destroy-pd", "PD_2", "PD_2"))
    for number in (4, 5):
        entries.see(_event("PD", id=f"PD_{number}", name="x", pinned=0))
    assert entries.pds == {
        "PD_1": Entry(1, 1),
        "PD_3": Entry(3, 1),
        "PD_4": Entry(2, 2),
        "PD_5": Entry(4, 1),
    }


@pytest.mark.behaviour("W-05")
def test_the_entry_that_was_given_back_last_is_that_of_the_next_request() -> None:
    entries = Entries(0)
    for pd_, space in (("PD_1", "A_SPACE_1"), ("PD_1", "A_SPACE_2"), ("PD_2", "A_SPACE_1")):
        entries.see(_request(pd_, space))
    entries.see(_request("PD_1", "PD_SPACE_9", slot=0))  # the root task's own needs none
    entries.see(_edge("dropped", "PD_1", "A_SPACE_1", 8))
    entries.see(_step("destroy-pd", "PD_2", "PD_2"))
    for space in ("A_SPACE_3", "A_SPACE_4", "A_SPACE_5"):
        entries.see(_request("PD_3", space))
    assert entries.requests == {
        ("PD_1", "A_SPACE_2"): Entry(1, 1),
        ("PD_3", "A_SPACE_3"): Entry(2, 2),
        ("PD_3", "A_SPACE_4"): Entry(0, 2),
        ("PD_3", "A_SPACE_5"): Entry(3, 1),
    }


@pytest.mark.behaviour("W-05")
def test_the_newest_of_several_requests_is_given_back_first() -> None:
    for gone in (
        _event("DELETE", node="A_SPACE_1", by="PD_9", part=0),
        _step("destroy-pd", "PD_1", "PD_1"),
    ):
        entries = Entries(0)
        for number in (1, 2):
            space = "A_SPACE_1" if gone.name == "DELETE" else f"A_SPACE_{number}"
            entries.see(_request(f"PD_{number}" if gone.name == "DELETE" else "PD_1", space))
        entries.see(gone)
        entries.see(_request("PD_3", "A_SPACE_7"))
        assert entries.requests == {("PD_3", "A_SPACE_7"): Entry(0, 2)}


@pytest.mark.behaviour("W-05")
def test_an_entry_without_generations_is_not_used_again() -> None:
    entries = Entries(1)
    last = (1 << 28) - 1
    for number in (1, 2):
        entries.see(_event("PD", id=f"PD_{number}", name="x", pinned=0))
        entries.see(_request(f"PD_{number}", "A_SPACE_1"))
        assert entries.pds[f"PD_{number}"] == Entry(number, last)
        assert entries.requests[f"PD_{number}", "A_SPACE_1"] == Entry(number - 1, last)
        entries.see(_step("destroy-pd", f"PD_{number}", f"PD_{number}"))
