# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions that are run: what cannot be yet is refused in one line, before the build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomlkit

from cellreap.errors import InputError, UsageError
from cellreap.system.config import called, ends, fault_badge, hold_slots, override, parse_config
from cellreap.system.microkit.board import Board
from cellreap.system.microkit.importing import import_system
from cellreap.system.microkit.runnable import runnable_system
from cellreap.system.programs import Source
from cellreap.system.toml_lines import KeyPath
from cellreap.testing import validated
from kit.command_line import cellreap
from kit.sdk_kit import make_sdk
from kit.small_checkout import error_of

PD = '<protection_domain name="{}" priority="{}">{}<program_image path="{}"/></protection_domain>'


def described(folder: Path, inner: str = "", more: str = "") -> Path:
    (folder / "a.elf").write_bytes(b"\x7fELF")
    path = folder / "a.system"
    pds = PD.format("a", 254, inner, "a.elf") + PD.format("b-c", 1, "", "a.elf")
    path.write_text(f"<system>{pds}{more}</system>")
    return path


def test_pds_have_programs_of_their_own_and_the_slots_of_microkit(tmp_path: Path) -> None:
    channel = '<channel><end pd="a" id="61"/><end pd="b-c" id="3" notify="false"/></channel>'
    (tmp_path / "policy.toml").write_text(
        '[policy]\npd_depth = 1\n[[pd]]\nname="b-c"\nrespawn = true'
    )
    made = runnable_system(described(tmp_path, more=channel), (), tmp_path / "policy.toml")
    assert [(pd.name, pd.program, pd.abi) for pd in made.config.pds] == [
        ("a", "a", "microkit"),
        ("b_c", "b_c", "microkit"),
    ]
    assert [pd.microkit_name for pd in made.config.pds] == [None, "b-c"]
    assert validated(made.config) == made.config
    assert [program.elf for program in made.config.programs] == ["a.elf", "a.elf"]
    assert made.config.pds[0].priority > made.config.pds[1].priority
    assert [(end.pd, end.id, end.slot) for end in ends(made.config)] == [
        ("a", 61, 71),
        ("b_c", 3, 0),
    ]
    assert (made.config.policy.pd_depth, made.config.pds[1].respawn) == (1, True)


@pytest.mark.behaviour("P-07")
@pytest.mark.parametrize(
    ("inner", "more", "said"),
    [
        (
            '<setvar symbol="s" region_paddr="r"/>',
            '<memory_region name="r" size="0x1000"/>',
            "setvar.region_paddr: needs a board whose memory is known",
        ),
        (
            '<map mr="r" vaddr="0x4000000" perms="rx"/>',
            '<memory_region name="r" size="0x1000"/>',
            "map.perms: regions with code cannot be run yet",
        ),
        (
            '<map mr="r" vaddr="0x10000000"/>',
            '<memory_region name="r" size="0x1000"/>',
            "map.vaddr: a has its own pages and its stack there; expected another address",
        ),
        (
            '<map mr="r" vaddr="0x4000000"/><map mr="r" vaddr="0x5000000"/>',
            '<memory_region name="r" size="0x1000"/>',
            "map: a has it already; expected another PD",
        ),
        (
            '<protection_domain name="c" id="0" stack_size="0x41000"><program_image path="a.elf"/>'
            "</protection_domain>",
            "",
            "protection_domain.stack_size: 0x41000 bytes cannot be run; expected at most 0x40000",
        ),
        (
            "",
            '<channel><end pd="a" id="1"/><end pd="a" id="2"/></channel>',
            "channel: a PD that notifies itself cannot be run yet",
        ),
        (
            '<virtual_machine name="v"><vcpu id="0"/></virtual_machine>',
            "",
            "virtual_machine: virtual machines cannot be run yet",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(
    tmp_path: Path, inner: str, more: str, said: str
) -> None:
    with pytest.raises(InputError) as refused:
        runnable_system(described(tmp_path, inner, more))
    line = refused.value.line()
    assert line.startswith(f"{tmp_path / 'a.system'}:1:")
    assert line.endswith(said)
    assert "\n" not in line


@pytest.mark.behaviour("P-07")
@pytest.mark.parametrize(
    ("time", "said"),
    [
        ('budget="0"', "budget: 0 us cannot be run; expected 100 to 60000000"),
        ('budget="99" period="1000"', "budget: 99 us cannot be run; expected 100 to 60000000"),
        ('period="60000001"', "period: 60000001 us cannot be run; expected 100 to 60000000"),
    ],
)
def test_a_pd_has_the_time_that_it_is_given_or_is_refused(
    tmp_path: Path, time: str, said: str
) -> None:
    path = described(tmp_path)
    path.write_text(path.read_text().replace("<protection_domain", f"<protection_domain {time}", 1))
    with pytest.raises(InputError, match=f":1:[0-9]+: protection_domain.{said}$"):
        runnable_system(path)


@pytest.mark.behaviour("P-07")
def test_that_a_pd_may_not_call_the_firmware_asks_for_nothing(tmp_path: Path) -> None:
    path = described(tmp_path)
    text = path.read_text()
    path.write_text(text.replace("<protection_domain", '<protection_domain smc="false"', 1))
    assert [note for note in import_system(path, tmp_path).notes if "smc" in note.where] == []
    assert runnable_system(path).config.pds
    path.write_text(text.replace("<protection_domain", '<protection_domain smc="true"', 1))
    with pytest.raises(InputError, match=r"smc: calls to the firmware cannot be run yet$"):
        runnable_system(path)


def test_a_run_needs_a_board(tmp_path: Path) -> None:
    path = described(tmp_path)
    said = error_of(cellreap("run", str(path)))
    assert said.endswith(f"{path}: expected --board, which says on what it runs")
    (tmp_path / "sdk" / "board").mkdir(parents=True)
    said = error_of(cellreap("run", str(path), "--sdk", str(tmp_path / "sdk")))
    assert "is Microkit's SDK, which needs --board: " in said


def test_an_architecture_that_is_not_that_of_the_board_is_refused(tmp_path: Path) -> None:
    sdk = make_sdk(tmp_path / "sdk", arch="aarch64")
    said = error_of(
        cellreap("run", str(described(tmp_path)), "--sdk", str(sdk), "--arch", "riscv64")
    )
    assert said.endswith("SEL4_ARCH (KernelSel4Arch): is aarch64: expected riscv64")


def test_a_misspelt_description_is_not_there(tmp_path: Path) -> None:
    described(tmp_path)
    said = error_of(cellreap("run", str(tmp_path / "a.sytem"), "--search", "build"))
    assert "a.sytem: cannot be read: No such file or directory; did you mean" in said


def test_a_program_that_is_not_there_is_named_with_where_it_was_looked_for(tmp_path: Path) -> None:
    path = described(tmp_path)
    (tmp_path / "a.elf").rename(tmp_path / "b.elf")
    with pytest.raises(InputError, match=r'no file "a.elf"; looked in /else, '):
        runnable_system(path, [Path("/else")])
    with pytest.raises(InputError, match=r"; --search names further folders$"):
        runnable_system(path)


@pytest.mark.behaviour("P-07")
@pytest.mark.parametrize(
    ("at", "where"),
    [
        (("program", 1, "elf"), "4:39: program_image.path: wrong"),
        (("pd", 0, "program"), "2:2: protection_domain: wrong"),
        (("region", 0, "map", 1, "address"), "4:68: map.vaddr: wrong"),
        (("region", 0, "physical"), "6:2: memory_region.phys_addr: wrong"),
        (("interrupt", 0, "number"), "3:33: irq.irq: wrong"),
        (("channel", 0), " as a configuration: channel[0]: wrong"),
    ],
)
def test_what_is_wrong_in_a_build_is_told_of_the_description(
    tmp_path: Path, at: KeyPath, where: str
) -> None:
    """And not of the configuration that was made of it, which nobody sees."""
    described(tmp_path).write_text(
        """<system>
 <protection_domain name="a">
   <program_image path="a.elf"/><irq irq="40" id="0"/><map mr="r" vaddr="0x4000000"/>
   <protection_domain name="b" id="1"><program_image path="a.elf"/><map mr="r" vaddr="0x5000000"/>
   </protection_domain></protection_domain><memory_region name="free" size="0x1000"/>
 <memory_region name="r" size="0x1000"/>
</system>"""
    )
    path = tmp_path / "a.system"
    made = runnable_system(path)
    assert str(Source(made.config, made.text, path).refuse(at, "wrong")) == f"{path}:{where}"


@pytest.mark.behaviour("P-04")
def test_a_region_is_filled_from_a_file_of_a_folder_that_is_searched(tmp_path: Path) -> None:
    """Without a size it has that of its file, in whole pages. Its PDs are told both."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "f").write_bytes(bytes(0x1001))
    region = '<memory_region name="r" prefill_path="f"/>'
    inner = '<map mr="r" vaddr="0x4000000" setvar_size="size" setvar_prefill_size="filled"/>'
    path = described(tmp_path, inner, region)
    made = runnable_system(path, (tmp_path / "files",)).config
    assert [(each.size, each.fill) for each in made.regions] == [(0x2000, "files/f")]
    assert made.pds[0].symbols == {"size": 0x2000, "filled": 0x1001}
    with pytest.raises(InputError, match=r'prefill_path: "f" is in none of the folders'):
        runnable_system(path)


def test_nothing_refills_a_region_that_nothing_fills(tmp_path: Path) -> None:
    region = '<memory_region name="r" size="0x1000"/>'
    path = described(tmp_path, '<map mr="r" vaddr="0x4000000"/>', region)
    (tmp_path / "p.toml").write_text('[[region]]\nname = "r"\nafter = "refill"')
    with pytest.raises(InputError) as refused:
        runnable_system(path, (), tmp_path / "p.toml")
    said = 'region[0].after: nothing fills "r"; expected "keep" or "zero"'
    assert refused.value.line() == f"{tmp_path / 'p.toml'}:3: {said}"


@pytest.mark.behaviour("P-07")
def test_another_processor_is_refused(tmp_path: Path) -> None:
    path = described(tmp_path)
    path.write_text(path.read_text().replace('name="a"', 'name="a" cpu="1"'))
    with pytest.raises(InputError, match=r"protection_domain.cpu: expected 0, got 1"):
        runnable_system(path)


def test_who_calls_depends_on_who_is_called(tmp_path: Path) -> None:
    """And a policy may say so of others, too."""
    channel = (
        '<channel><end pd="b-c" id="1" pp="true"/><end pd="a" id="2" notify="false"/></channel>'
    )
    (tmp_path / "policy.toml").write_text(
        '[[serves]]\nserver = "a"\nclients = ["b-c"]\n[[pd]]\nname = "a"\ncallers = "repeat"'
    )
    made = runnable_system(described(tmp_path, more=channel), (), tmp_path / "policy.toml").config
    a, b_c = made.pds
    assert [(space.name, space.type) for space in a.spaces] == [
        ("a_calls", "CALLS"),
        ("a_serves", "SERVES"),
    ]
    assert b_c.requests == ("a_calls", "a_serves")
    assert (a.callers, b_c.callers) == ("repeat", None)
    assert [(end.slot, end.calls) for end in ends(made)] == [(11, 75), (0, 0)]


def test_a_parent_has_the_threads_of_its_children_and_handles_their_faults(tmp_path: Path) -> None:
    """Unless the policy hands their faults over."""
    child = '<protection_domain name="{}" id="{}" setvar_id="{}">{}'
    child += '<program_image path="a.elf"/></protection_domain>'
    inner = child.format("c", 61, "x", child.format("e", 0, "z", ""))
    inner += child.format("d", 1, "y", "")
    (tmp_path / "policy.toml").write_text('[[pd]]\nname = "d"\nfaults = "cellreap"')
    made = runnable_system(described(tmp_path, inner), (), tmp_path / "policy.toml").config
    family = {pd.name: (pd.holds_pds, pd.child_id, pd.fault_handler) for pd in made.pds}
    assert family == {
        "a": (("c", "d"), None, None),
        "c": (("e",), 61, "a"),
        "e": ((), 0, "c"),
        "d": ((), 1, None),
        "b_c": ((), None, None),
    }
    a, c = made.pds[0], made.pds[1]
    assert (a.symbols, hold_slots(made, a)) == ({"x": 61, "y": 1}, {"c": 263, "d": 203})
    assert (1 << a.cspace_bits) > 263
    assert validated(made) == made
    assert called(made) == {"a", "c"}
    assert fault_badge(c) == 1 << 62 | 61


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"child_id": None}, '"c" to have a child_id'),
        ({"fault_handler": "b_c"}, 'expected its parent "a", or none'),
    ],
)
def test_a_child_has_one_parent(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    inner = '<protection_domain name="c" id="1"><program_image path="a.elf"/></protection_domain>'
    made = tomlkit.parse(runnable_system(described(tmp_path, inner)).text).unwrap()
    child = next(pd for pd in made["pd"] if pd["name"] == "c")
    made["pd"].sort(key=lambda pd: pd["name"] == "c")
    changed = {key: value for key, value in (child | changes).items() if value is not None}
    made["pd"][-1] = changed
    with pytest.raises(InputError, match=said):
        parse_config(tomlkit.dumps(made), tmp_path / "a.toml")


def test_interrupts_and_addresses_of_devices(tmp_path: Path) -> None:
    """An interrupt that is asserted when its driver goes is acknowledged for the next instance."""
    inner = (
        '<map mr="r" vaddr="0x4000000" perms="rw" cached="false"/>'
        '<irq irq="34" id="40" trigger="edge" setvar_id="i"/>'
        '<setvar symbol="s" region_paddr="r"/>'
    )
    more = '<memory_region name="r" size="0x1000" phys_addr="0x9010000"/>'
    made = runnable_system(described(tmp_path, inner, more)).config
    (irq,) = made.interrupts
    assert (irq.pd, irq.number, irq.trigger, irq.bit) == ("a", 34, "edge", 40)
    assert irq.acknowledged == "at-start"
    assert made.pds[0].symbols == {"i": 40, "s": 0x9010000}
    assert made.regions[0].physical == 0x9010000


RISCV = Board(arch="riscv64", memory=((0x8000_0000, 0x8010_0000), (0x8020_0000, 0x1_0000_0000)))


def test_memory_has_the_address_that_is_told(tmp_path: Path) -> None:
    """As the description says, or behind each other at the end of memory, which the kernel does not
    use. What that address is not in is a device.
    """
    names = {"clock": 0x10_1000, "ring": 0x9FFF_0000, "end": 0xFBFF_F000, "none": None, "b": None}
    inner = '<map mr="not" vaddr="0x8000000"/>'
    more = '<memory_region name="not" size="0x1000"/>'
    for i, (name, at) in enumerate(names.items()):
        inner += f'<map mr="{name}" vaddr="{0x100_0000 * (i + 1):#x}" cached="false"/>'
        inner += f'<setvar symbol="{name}" region_paddr="{name}"/>'
        said = "" if at is None else f' phys_addr="{at:#x}"'
        size = 0x20_0000 if name == "none" else 0x1000
        more += f'<memory_region name="{name}" size="{size:#x}"{said}/>'
    made = runnable_system(described(tmp_path, inner, more), board=RISCV).config
    places = {**names, "none": 0xFBC0_0000, "b": 0xFBBF_F000}
    assert made.pds[0].symbols == places
    devices = {each.name: each.physical for each in made.regions if each.physical is not None}
    assert devices == {"clock": 0x10_1000}
    del places["clock"]
    assert {each.name: each.memory_at for each in made.regions if each.name in places} == places
    assert all(place.cached is None for region in made.regions for place in region.maps)
    assert [each.page_size for each in made.regions if each.name == "none"] == [0x20_0000]
    assert validated(made) == made


def test_pds_may_depend_on_each_other(tmp_path: Path) -> None:
    """Neither can go on with an instance of the other one that forgot it."""
    (tmp_path / "policy.toml").write_text(
        '[[serves]]\nserver = "a"\nclients = ["b-c"]\n[[serves]]\nserver = "b-c"\nclients = ["a"]\n'
    )
    made = runnable_system(described(tmp_path), (), tmp_path / "policy.toml").config
    assert [pd.requests for pd in made.pds] == [("b_c_serves",), ("a_serves",)]


def test_a_pd_is_killed_by_its_name_of_the_description(tmp_path: Path) -> None:
    """It passes no checkpoint at which it could fault."""
    config = runnable_system(described(tmp_path)).config
    for name in ("b-c", "b_c"):
        (crash,) = override(config, crash=name).crashes
        assert (crash.pd, crash.how) == ("b_c", "kill")
    with pytest.raises(UsageError, match=r"--crash: no PD is named \"bc\""):
        override(config, crash="bc")


def test_pages_are_as_large_as_microkit_makes_them(tmp_path: Path) -> None:
    """As a region says, else the largest that its size and its addresses allow."""
    sizes = {"told": 0x1000, "free": 0x20_0000, "odd": 0x1000, "small": 0x1000}
    inner = (
        '<map mr="told" vaddr="0x4000000"/><map mr="free" vaddr="0x5000000"/>'
        '<map mr="odd" vaddr="0x6001000"/><map mr="small" vaddr="0x7000000"/>'
        '<map mr="large" vaddr="0x8000000"/>'
    )
    more = (
        '<memory_region name="told" size="0x200000" page_size="0x1000"/>'
        '<memory_region name="free" size="0x600000"/>'
        '<memory_region name="odd" size="0x200000"/>'
        '<memory_region name="small" size="0x3000"/>'
        '<memory_region name="large" size="0x200000" page_size="0x200000"/>'
    )
    made = runnable_system(described(tmp_path, inner, more)).config
    assert {each.name: each.page_size for each in made.regions} == {**sizes, "large": 0x20_0000}


def test_a_policy_makes_a_device_quiet_and_clears_it(tmp_path: Path) -> None:
    """What the kernel does not know as memory is a device, also if it is memory."""
    inner = '<map mr="r" vaddr="0x4000000"/><map mr="q" vaddr="0x5000000" cached="false"/>'
    more = (
        '<memory_region name="r" size="0x1000" phys_addr="0x9010000"/>'
        '<memory_region name="q" size="0x2000" phys_addr="0x5fff0000"/>'
    )
    (tmp_path / "policy.toml").write_text(
        '[[region]]\nname = "r"\non_death = [{ offset = 0x70, value = 0, until = 0 }]\n'
        '[[region]]\nname = "q"\nafter = "zero"\n'
    )
    made = runnable_system(described(tmp_path, inner, more), (), tmp_path / "policy.toml").config
    registers, queue = made.regions
    assert [(each.offset, each.value, each.until) for each in registers.on_death] == [(0x70, 0, 0)]
    assert (registers.after, queue.after, queue.physical) == ("keep", "zero", 0x5FFF0000)
    assert [region.caches(region.maps[0]) for region in made.regions] == [True, False]
    assert validated(made) == made
