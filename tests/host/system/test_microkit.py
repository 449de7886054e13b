# SPDX-License-Identifier: BSD-2-Clause
"""Microkit's system descriptions, as configurations."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from cellreap.errors import InputError
from cellreap.system.config import load_config
from cellreap.system.microkit import Imported, import_system
from cellreap.system.microkit.elements import KINDS
from cellreap.system.microkit.reading import read_system
from kit.command_line import cellreap, cellreap_json
from kit.paths import BAD_MICROKIT, MICROKIT
from kit.small_checkout import error_of

STORAGE = MICROKIT / "storage.system"
BAD = sorted(BAD_MICROKIT.glob("*.system"))


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
    """Whatever the table of elements lists is either in the configuration or in a note."""
    for tag, kind in KINDS.items():
        assert not set(kind.used) & set(kind.lost), tag
        for inner in kind.within:
            assert inner in KINDS
    within = "".join(
        "<{} {} />".format(tag, " ".join(f'{name}="x"' for name in kind.lost))
        for tag, kind in KINDS.items()
        if tag in KINDS["protection_domain"].within
        and kind.reason
        and tag not in ("map", "virtual_machine")
    )
    odd = pd("a", 'passive="true" cpu="1"', within)
    found = imported(tmp_path, f"<system>\n{odd}</system>")
    noted = {note.where for note in found.notes}
    assert {"irq", "ioport", "setvar", "protection_domain.passive"} <= noted
    assert "protection_domain.cpu" in noted


def test_shared_memory_is_told_with_who_shares_it(storage: Imported) -> None:
    [shared] = [note.text for note in storage.notes if "share it" in note.text]
    assert "block_driver, fs share it" in shared


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_description_is_refused_with_the_expected_line(path: Path) -> None:
    with pytest.raises(InputError) as caught:
        import_system(path, path.parent)
    said = caught.value.line().replace(str(path), path.name)
    assert said + "\n" == path.with_suffix(".err").read_text()


def test_each_bad_description_has_its_message() -> None:
    assert {path.stem for path in BAD} == {path.stem for path in BAD_MICROKIT.glob("*.err")}
    assert len(BAD) > 30


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
    root = read_system(STORAGE)
    told = {element.line for element in root.walk()}
    assert {note.line for note in storage.notes} <= told
    assert tomllib.loads(storage.text)["system"]["name"] == "storage"
