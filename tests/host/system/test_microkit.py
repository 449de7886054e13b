# SPDX-License-Identifier: BSD-2-Clause
"""Microkit's system descriptions, as configurations."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from cellreap.errors import InputError
from cellreap.system.config import load_config
from cellreap.system.importing import Imported
from cellreap.system.microkit.board import ANY_BOARD, Board, board_facts
from cellreap.system.microkit.importing import LOST, import_system
from cellreap.system.microkit.reading import read_system
from cellreap.system.microkit.rows import Row
from kit.command_line import cellreap, cellreap_json
from kit.paths import BAD_MICROKIT, MICROKIT
from kit.small_checkout import error_of

STORAGE = MICROKIT / "storage.system"
BAD = sorted(BAD_MICROKIT.glob("*.system"))
BOARDS = {
    "x86_64": Board("x86_64", 0x7FFF_FFFF_EFFF, True, False, None, 1, 2, 4),
    "aarch64": Board("aarch64", 0xFF_FFFF_FFFF, True, False, False, 1, 2, 4),
    "riscv64": Board("riscv64", 0x3F_FFFF_EFFF, False, False, None, 4, 2, 4),
}
"""For the bad descriptions whose names begin with `on_` and one of these."""


@pytest.fixture(scope="module")
def storage() -> Imported:
    return import_system(STORAGE, MICROKIT)


def imported(folder: Path, text: str) -> Imported:
    path = folder / "some.system"
    path.write_text(text)
    return import_system(path, folder)


def pd(name: str, attributes: str = "", within: str = "") -> str:
    return (
        f'<protection_domain name="{name}" {attributes}><program_image path="{name}.elf" />'
        f"{within}</protection_domain>\n"
    )


def test_it_is_the_stored_configuration(storage: Imported, rewrite: bool) -> None:
    stored = STORAGE.with_suffix(".toml")
    notes = STORAGE.with_suffix(".notes")
    said = "".join(f"{note.line}: {note.where}: {note.text}\n" for note in storage.notes)
    if rewrite:
        stored.write_text(storage.text)
        notes.write_text(said)
    assert storage.text == stored.read_text()
    assert said == notes.read_text()
    assert load_config(stored) == storage.config


def test_a_call_is_a_request_and_a_parent_the_fault_handler(storage: Imported) -> None:
    config = storage.config
    asks = {pd.name: pd.requests for pd in config.pds if pd.requests}
    assert asks == {
        "fs": ("block_driver_calls",),
        "app": ("fs_calls",),
        "second_app": ("fs_calls",),
    }
    assert {pd.name: [space.name for space in pd.spaces] for pd in config.pds if pd.spaces} == {
        "block_driver": ["block_driver_calls"],
        "fs": ["fs_calls"],
    }
    assert {pd.name: pd.fault_handler for pd in config.pds if pd.fault_handler} == {
        "block_driver": "monitor",
        "fs": "monitor",
    }
    assert {pd.name: pd.holds_pds for pd in config.pds if pd.holds_pds} == {
        "monitor": ("block_driver", "fs"),
        "app": ("fs",),
    }


def test_a_crash_dooms_who_calls_and_whose_fault_handler_it_is(tmp_path: Path) -> None:
    config = tmp_path / "storage.toml"
    assert cellreap("import", str(STORAGE), "-o", str(config)).returncode == 0
    _, shown = cellreap_json("plan", str(config), "--crash", "block_driver", "--pd-depth", "1")
    assert shown["destroyed_pds"] == [["PD_2", 0], ["PD_3", 1]]  # the driver and fs
    _, shown = cellreap_json("plan", str(config), "--crash", "monitor")
    assert shown["destroyed_pds"] == [["PD_1", 0], ["PD_2", 0], ["PD_3", 0]]


def test_priorities_keep_their_order_and_change_no_more_than_they_must(tmp_path: Path) -> None:
    for told, expected in (
        ((1, 100, 200), (1, 100, 200)),
        ((0, 1, 5), (1, 2, 5)),
        ((254, 253, 7, 0), (200, 199, 7, 1)),
        ((0, 254, 0), (1, 200, 1)),
        (tuple(range(60, 123)), tuple(range(60, 123))),
    ):
        pds = "".join(pd(f"p{i}", f'priority="{n}"') for i, n in enumerate(told))
        found = imported(tmp_path, f"<system>{pds}</system>")
        assert tuple(pd.priority for pd in found.config.pds) == expected
        noted = {note.text.split()[0] for note in found.notes if "priority" in note.where}
        assert noted == {str(a) for a, b in zip(told, expected, strict=True) if a != b}


def test_names_are_made_allowed_and_stay_different(tmp_path: Path) -> None:
    long = "a" * 40
    names = ("A-b", "a_b", "a b", "9lives", "-", long, f"{long}b")
    found = imported(tmp_path, f"<system>{''.join(map(pd, names))}</system>")
    assert list(found.names.values()) == [
        "a_b", "a_b_2", "a_b_3", "pd_9lives", "pd", "a" * 31, f"{'a' * 29}_2",
    ]  # fmt: skip
    assert {p.name for p in found.config.pds} == set(found.names.values())


def test_a_stack_is_given_in_pages_and_cut_to_the_most_there_is(tmp_path: Path) -> None:
    sizes = ("0x1000", "0x40_000", "0x1000000")
    pds = "".join(pd(f"p{i}", f'stack_size="{size}"') for i, size in enumerate(sizes))
    found = imported(tmp_path, f"<system>{pds}{pd('none')}</system>")
    assert [p.stack_pages for p in found.config.pds] == [1, 64, 64, 4]
    assert [note.line for note in found.notes if "stack" in note.where] == [3]


def test_programs_are_found_from_where_the_configuration_is(tmp_path: Path) -> None:
    path = tmp_path / "in" / "some.system"
    path.parent.mkdir()
    path.write_text(f"<system>{pd('a')}</system>")
    for folder, elf in ((path.parent, "a.elf"), (tmp_path, "in/a.elf"), (tmp_path / "b", None)):
        [program] = import_system(path, folder).config.programs
        assert program.elf == (elf or "../in/a.elf")


def test_every_element_and_attribute_is_used_or_noted(tmp_path: Path) -> None:
    """Whatever the table of what is lost lists is in a note."""
    told = """<system>
    <domains><domain name="d" />
        <domain_schedule><schedule_entry domain="d" duration="1 us" /></domain_schedule></domains>
    <memory_region name="m" size="0x1000" />
    <protection_domain name="a" budget="1" period="1" passive="true" smc="true" fpu="false"
        domain="d">
        <program_image path="a.elf" path_for_symbols="b.elf" />
        <map mr="m" vaddr="0" />
        <irq irq="1" id="1" />
        <ioport id="1" addr="0" size="1" />
        <setvar symbol="x" region_paddr="m" />
        <protection_domain name="b" domain="d" id="1" setvar_id="y">
            <program_image path="b.elf" /></protection_domain>
        <cspace><cap_tcb slot="1" pd="b" /><cap_sc slot="2" pd="b" /><cap_vspace slot="3" pd="b" />
        </cspace>
    </protection_domain>
    <channel><end pd="a" id="2" setvar_id="z" /><end pd="b" id="2" /></channel>
    <io_address_space name="e" peripheral_id="0:0.0" domain_id="1" />
</system>
"""
    found = imported(tmp_path, told)
    lost = {note.where for note in found.notes if note.text.startswith("no counterpart")}
    assert lost == set(LOST)


@pytest.mark.behaviour("P-07", "B-03")
def test_budgets_are_waited_for_and_passive_pds_are_passive(tmp_path: Path) -> None:
    """Microkit gives nobody a handler for timeouts, so to use a budget up is no fault there."""
    told = {
        "a": 'budget="1000" period="10_000"',
        "b": 'budget="2000"',
        "c": "",
        "d": 'priority="9" passive="true" budget="500" period="1000"',
        "e": 'budget="7" period="1000"',
        "f": 'period="3000"',
    }
    pds = "".join(pd(name, attributes) for name, attributes in told.items())
    calls = '<channel><end pd="a" id="1" pp="true" /><end pd="d" id="1" /></channel>'
    found = imported(tmp_path, f"<system>{pds}{calls}</system>")
    times = {
        each.name: (each.budget_us, each.period_us, each.overrun, each.passive)
        for each in found.config.pds
    }
    assert times == {
        "a": (1000, 10_000, "wait", False),
        "b": (2000, 2000, None, False),
        "c": (None, None, None, False),
        "d": (None, None, None, True),
        "e": (100, 1000, "wait", False),
        "f": (1000, 3000, "wait", False),
    }
    noted = [(note.where.split(".")[1], note.text) for note in found.notes if " us" in note.text]
    assert noted == [("budget", "7 of 1000 us is 100 of 1000 here: expected 100 to 60000000")]
    left_out = {note.where for note in found.notes if note.text.startswith("is left out")}
    assert left_out == {"protection_domain.budget", "protection_domain.period"}


@pytest.mark.behaviour("P-07")
def test_guests_and_other_processors_are_refused_by_what_cannot_run_them(tmp_path: Path) -> None:
    path = tmp_path / "some.system"
    guest = '<virtual_machine name="v"><vcpu id="0" /></virtual_machine>'
    for told, said in (
        (pd("a", within=guest), "virtual_machine: virtual machines cannot be run"),
        (pd("a", 'cpu="1"'), "protection_domain.cpu: expected 0, got 1: there is one processor"),
    ):
        path.write_text(f"<system>{told}</system>")
        assert read_system(path)
        assert said in error_of(cellreap("import", str(path)))
        assert said in error_of(cellreap("run", str(path)))
    said = error_of(cellreap("build", str(path), "-o", str(tmp_path / "image")))
    assert "a description for Microkit; `cellreap run -o DIR` keeps an image of it, " in said
    said = error_of(cellreap("check", str(path), "--image", str(path)))
    assert said.endswith(f"{path}:1: is XML: expected a TOML file")


def test_a_channel_of_a_pd_with_itself_connects_nobody(tmp_path: Path) -> None:
    itself = '<channel><end pd="a" id="1" /><end pd="a" id="2" /></channel>'
    found = imported(tmp_path, f"<system>{pd('a')}{itself}</system>")
    assert not found.dropped
    assert '"a" cannot notify itself' in [note.text for note in found.notes]


def test_what_is_included_is_read_as_if_it_stood_there(tmp_path: Path) -> None:
    path, inner = tmp_path / "some.system", tmp_path / "sub" / "domains.xml"
    inner.parent.mkdir()
    domains = """
<domains><domain name="d" /><domain_schedule>
    <xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="entry.xml" parse="xml" />
</domain_schedule></domains>
"""
    inner.write_text(domains)
    entry = inner.with_name("entry.xml")
    entry.write_text('<schedule_entry domain="d" duration="1 us" />')
    include = '<xi:include href="sub/domains.xml" />'
    told = '<system xmlns:xi="http://www.w3.org/2001/XInclude">{}{}</system>'
    path.write_text(told.format(include, pd("a", 'domain="d"')))
    found = read_system(path).domains
    assert found is not None
    assert [entry.tag for entry in found.schedule.entries] == ["schedule_entry"]
    for below in (include, include * 2):
        path.write_text(told.format(pd("a", 'domain="d"'), below))
        with pytest.raises(InputError, match=r"above the PD|at most one element domains"):
            read_system(path)
    path.write_text(told.format(include, pd("a", 'domain="d"')))
    entry.write_text('<schedule_entry domain="e" duration="1 us" />')
    with pytest.raises(InputError, match="there is no domain") as caught:
        read_system(path)
    assert (caught.value.path, caught.value.line_number) == (str(entry), 1)
    inner.write_text(
        '<protection_domain name="a"><program_image path="b.elf" /></protection_domain>'
    )
    path.write_text(told.format(pd("a"), include))
    with pytest.raises(InputError, match=f'"a" is also the PD of line 1 of {path}'):
        read_system(path)


def test_the_facts_of_a_board_are_those_of_its_kernel() -> None:
    told = {"SEL4_ARCH": "aarch64", "NUM_DOMAINS": "16", "ALLOW_SMC_CALLS": True}
    expected = Board("aarch64", 0x7FFF_FFFF_FFFF, False, False, True, 1, 16, None)
    assert board_facts(told) == expected
    hypervisor = {"ARM_HYPERVISOR_SUPPORT": True, "ARM_PA_SIZE_BITS_44": True}
    several = {"ENABLE_SMP_SUPPORT": True, "MAX_NUM_NODES": "4", "NUM_DOMAIN_SCHEDULES": "100"}
    expected = Board("aarch64", 0xFFF_FFFF_FFFF, True, False, True, 4, 16, 100)
    assert board_facts({**told, **hypervisor, **several}) == expected


def test_a_board_is_that_of_an_sdk(tmp_path: Path) -> None:
    config = tmp_path / "libsel4" / "include" / "kernel" / "gen_config.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"SEL4_ARCH": "x86_64"}')
    described = BAD_MICROKIT / "on_x86_64_irq_of_arm.system"
    assert cellreap("import", str(described)).returncode == 0
    said = error_of(cellreap("import", str(described), "--sdk", str(tmp_path)))
    assert "irq: is for aarch64 and riscv64 only, not for x86_64" in said


def test_what_a_region_is_filled_from_is_found_where_it_is_searched(tmp_path: Path) -> None:
    path = tmp_path / "some.system"
    region = '<memory_region name="m" prefill_path="f" />'
    a, b = (f'<map mr="m" vaddr="{at}" />' for at in (0, 0x1000))
    path.write_text(f"<system>{region}{pd('a', within=a + b)}</system>")
    assert read_system(path)  # nothing is searched: the region has one page at least
    for size, said in ((None, "none of the folders"), (0, "is empty"), (0x1001, "overlaps")):
        if size is not None:
            (tmp_path / "f").write_bytes(bytes(size))
        with pytest.raises(InputError, match=said):
            read_system(path, prefills=(tmp_path,))
    (tmp_path / "f").write_bytes(bytes(0x1000))
    assert read_system(path, prefills=(tmp_path,))


def test_shared_memory_is_told_with_who_shares_it(storage: Imported) -> None:
    [shared] = [note.text for note in storage.notes if "share it" in note.text]
    assert "block_driver, fs share it" in shared


@pytest.mark.behaviour("P-01")
@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_description_is_refused_with_the_expected_line(path: Path, rewrite: bool) -> None:
    board = ANY_BOARD
    for arch, facts in BOARDS.items():
        if path.stem.startswith(f"on_{arch}"):
            board = facts
            read_system(path)  # what is not known refuses nothing
    with pytest.raises(InputError) as caught:
        import_system(path, path.parent, board)
    said = caught.value.line().replace(str(path), path.name) + "\n"
    if rewrite:
        path.with_suffix(".err").write_text(said)
    assert said == path.with_suffix(".err").read_text()


def test_each_bad_description_has_its_message() -> None:
    assert {path.stem for path in BAD} == {path.stem for path in BAD_MICROKIT.glob("*.err")}
    assert len(BAD) > 120


def test_files_that_are_no_descriptions_are_one_line(tmp_path: Path) -> None:
    assert "No such file" in error_of(cellreap("import", str(tmp_path / "none.system")))
    assert "Is a directory" in error_of(cellreap("import", str(tmp_path)))
    huge = tmp_path / "huge.system"
    with huge.open("wb") as file:
        file.truncate((16 << 20) + 1)
    assert "larger than 16777216 bytes" in error_of(cellreap("import", str(huge)))


def test_nothing_is_written_if_the_description_is_bad(tmp_path: Path) -> None:
    output = tmp_path / "made.toml"
    error_of(cellreap("import", str(BAD[0]), "-o", str(output)))
    assert not list(tmp_path.iterdir())


def test_strict_fails_if_something_has_no_counterpart(tmp_path: Path) -> None:
    done = cellreap("import", str(STORAGE), "--strict", "-o", str(tmp_path / "a.toml"))
    assert done.returncode == 1
    assert (tmp_path / "a.toml").is_file()
    lines = [line.split(":", 2)[1] for line in done.stderr.splitlines()]
    assert lines == sorted(lines, key=int)


def test_the_words_are_those_of_the_file(storage: Imported) -> None:
    waiting: list[Row] = [read_system(STORAGE)]
    told = set()
    while waiting:
        row = waiting.pop()
        told.add(row.line)
        waiting.extend(row.inner())
    assert {note.line for note in storage.notes} <= told
    assert tomllib.loads(storage.text)["system"]["name"] == "storage"
