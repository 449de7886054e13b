# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions for Microkit as model states: every connection is in them, or told.

The tests read the XML themselves, with another reader.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cellreap.api.planning import ENGINES, collect_state, plan_state
from cellreap.api.states import State, state_of
from cellreap.errors import InputError
from kit.command_line import cellreap, cellreap_json
from kit.paths import MICROKIT

STORAGE = MICROKIT / "storage.system"
_CHECKOUT = "CELLREAP_MICROKIT"
_OTHERS = "CELLREAP_DESCRIPTIONS"
_REFUSED = (
    "Microkit has it in the element domains",
    "since Microkit 2.0, the end that calls has it",
    "not valid XML",
    "no protection_domain",
)
"""Why descriptions of other projects may be refused, as Microkit refuses them."""
DRIVER = """<system>
    <memory_region name="ring" size="0x3000" />
    <memory_region name="guest" size="0x1000" />
    <memory_region name="own" size="0x200000" page_size="0x200000" phys_addr="0x600000" />
    <protection_domain name="driver" priority="200">
        <program_image path="driver.elf" />
        <map mr="ring" vaddr="0x4000000" /><map mr="ring" vaddr="0x5000000" perms="r" />
        <map mr="own" vaddr="0x6000000" />
        <irq irq="33" id="0" />
    </protection_domain>
    <protection_domain name="client" priority="100">
        <program_image path="client.elf" />
        <map mr="ring" vaddr="0x4000000" perms="r" /><map mr="guest" vaddr="0x6000000" />
        <cspace><cap_sc pd="driver" slot="1" /></cspace>
    </protection_domain>
    <protection_domain name="VMM" priority="100" cpu="1">
        <program_image path="vmm.elf" />
        <virtual_machine name="linux">
            <vcpu id="0" /><map mr="guest" vaddr="0x40000000" perms="rwx" />
        </virtual_machine>
    </protection_domain>
    <channel><end pd="client" id="1" /><end pd="driver" id="1" /></channel>
    <channel><end pd="VMM" id="1" /><end pd="VMM" id="2" /></channel>
</system>
"""


@pytest.fixture
def driver(tmp_path: Path) -> Path:
    path = tmp_path / "driver.system"
    path.write_text(DRIVER)
    return path


def told(state: State) -> list[str]:
    assert {each.kind for each in state.model.unknown} <= {"connection"}
    return [each.text for each in state.model.unknown]


@pytest.mark.behaviour("P-01")
def test_calls_and_parents_are_edges_with_a_direction() -> None:
    state = state_of(STORAGE)
    model, ids = state.model, state.find_pd
    spaces = {name: space for space, name in state.names.items()}
    assert model.requests == {
        (ids("fs"), spaces["block-driver_calls"]),
        (ids("app"), spaces["fs_calls"]),
        (ids("second_app"), spaces["fs_calls"]),
    }
    assert not model.possible  # they are declared, so they count as made
    assert {model.manager[space] for space in spaces.values()} == {ids("block-driver"), ids("fs")}
    monitor = ids("Monitor")
    assert model.faults == {ids("block-driver"): monitor, ids("fs"): monitor}
    assert model.body_of(ids("fs")) is not None
    holders = {pd for pd, held in model.holds if held == model.body_of(ids("fs"))}
    assert holders == {monitor, ids("app")}
    assert told(state) == []  # who shares something there calls or is called


@pytest.mark.behaviour("P-01")
def test_what_has_no_direction_is_named_and_no_depth_follows_it(driver: Path) -> None:
    state = state_of(driver)
    assert told(state) == [
        'memory "ring" of driver and client, in no direction',
        'memory "guest" of client and VMM, in no direction',
        "channel of client and driver, in no direction",
    ]
    for engine in ENGINES:
        plan = plan_state(state, driver, "driver", "inf", "inf", engine)
        assert plan.destroyed_pds == [("PD_1", 0)]
    [note] = state.notes
    assert note.endswith(':18: virtual machine "linux" is part of "VMM"')


def test_memory_is_as_large_as_told_and_stays_with_who_survives(driver: Path) -> None:
    model = state_of(driver).model
    memory = {res: node.extra for res, node in model.nodes.items() if res.startswith("MO_2_")}
    assert memory == {"MO_2_1": "0x0_3_12", "MO_2_2": "0x0_1_12", "MO_2_3": "0x600000_1_21"}
    plan = plan_state(state_of(driver), driver, "driver")
    # Both of its maps of the ring go and what it had alone, not the ring; the channel stays, too.
    assert sorted(plan.core_freed) == ["IRQ_5_1", "MO_2_3", "VMR_3_1", "VMR_3_2", "VMR_3_3"]


def test_a_collection_keeps_what_is_described() -> None:
    assert not collect_state(state_of(STORAGE)).doomed()


def test_the_commands_take_a_description(driver: Path, tmp_path: Path) -> None:
    code, shown = cellreap_json("plan", str(STORAGE), "--crash", "block-driver", "--pd-depth", "1")
    assert (code, shown["destroyed_pds"]) == (0, [["PD_2", 0], ["PD_3", 1]])
    assert shown["input"]["kind"] == "description"
    code, shown = cellreap_json("plan", str(driver), "--crash", "client")
    assert (code, [each["kind"] for each in shown["unknown"]]) == (1, ["connection"] * 3)
    code, shown = cellreap_json("audit", str(STORAGE))
    assert (code, shown["unknown"]) == (0, [])
    code, shown = cellreap_json("metrics", str(driver), "driver", "client", "--incomplete")
    assert code == 0
    assert shown["pairs"][0]["rsi"]["MO"] == [3, 5]
    picture = tmp_path / "a.dot"
    drawn = cellreap("graph", str(driver), "--core", "-o", str(picture))
    assert 'memory "ring" of driver and client, in no direction' in drawn.stdout
    assert "CHANNEL" in picture.read_text()
    bad = tmp_path / "bad.system"
    bad.write_text(DRIVER.replace('vaddr="0x5000000"', 'vaddr="0x5000001"'))
    assert "map.vaddr: expected a multiple" in cellreap("audit", str(bad)).stderr


# -- against another reader


def pairs_of(path: Path) -> Iterator[tuple[str, str, str]]:
    """(why, PD, PD) for every two PDs that the file connects. A call is from the first."""
    root = ElementTree.parse(path).getroot()
    users: dict[str, set[str]] = {}
    for pd in root.iter("protection_domain"):
        name = pd.attrib["name"]
        for child in pd.findall("protection_domain"):
            yield "parent", name, child.attrib["name"]
        for mapping in (*pd.findall("map"), *pd.findall("virtual_machine/map")):
            users.setdefault(mapping.attrib["mr"], set()).add(name)
        for cap in pd.findall("cspace/*"):
            if cap.attrib["pd"] != name:
                yield "capability", name, cap.attrib["pd"]
    for names in users.values():
        for first, second in combinations(sorted(names), 2):
            yield "memory", first, second
    for channel in root.findall("channel"):
        ends = channel.findall("end")
        first, second = (end.attrib["pd"] for end in ends)
        for end, caller, callee in zip(ends, (first, second), (second, first), strict=True):
            if end.get("pp") == "true":
                yield "call", caller, callee
        if first != second and any(end.get("notify") != "false" for end in ends):
            yield "channel", first, second


def kept(state: State, why: str, first: str, second: str) -> bool:
    """Whether the model has a connection."""
    model, a, b = state.model, state.find_pd(first), state.find_pd(second)
    if why == "parent":
        return model.faults[b] == a and (a, model.body_of(b)) in model.holds
    if why == "capability":
        return (a, model.body_of(b)) in model.holds
    if why == "call":
        return any((a, space) in model.requests for space in model.spaces_of(b))
    kind = {"memory": "MO_", "channel": "CHANNEL_"}[why]
    held = [{res for pd, res in model.holds if pd == it and res.startswith(kind)} for it in (a, b)]
    directed = (
        any((x, s) in model.requests for x, y in ((a, b), (b, a)) for s in model.spaces_of(y))
        or model.faults.get(a) == b
        or model.faults.get(b) == a
    )
    named = any(
        text.startswith(why) and {first, second} <= set(text.replace(",", "").split())
        for text in told(state)
    )
    return bool(held[0] & held[1]) and (directed or named)


def lost_of(path: Path) -> tuple[int, list[tuple[str, str, str]]]:
    """How many connections a description has, and those that are not in its model."""
    state = state_of(path)
    pairs = list(pairs_of(path))
    return len(pairs), [pair for pair in pairs if not kept(state, *pair)]


@pytest.mark.behaviour("P-01")
def test_every_connection_is_in_the_model(driver: Path) -> None:
    assert lost_of(STORAGE) == (10, [])
    assert lost_of(driver) == (4, [])


@pytest.mark.behaviour("P-01")
@pytest.mark.parametrize("variable", [_CHECKOUT, _OTHERS])
def test_every_connection_of_real_descriptions_is_in_the_model(variable: str) -> None:
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} names no folder with descriptions")
    count = 0
    told: list[str] = []
    for path in sorted(Path(folder).rglob("*.system")):
        if path.name.startswith("."):
            continue  # AADL's properties
        try:
            pairs, lost = lost_of(path)
        except InputError as error:
            told.append(str(error))
            continue
        assert not lost, path
        count += pairs
    assert count > 20
    if variable == _OTHERS:  # which of Microkit's own are to be refused is another test's
        assert [each for each in told if not any(reason in each for reason in _REFUSED)] == []
