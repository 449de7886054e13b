# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions in capDL, as configurations."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cellreap.errors import InputError
from cellreap.system.capdl_import import import_capdl
from cellreap.system.config import load_config
from cellreap.system.importing import Imported
from kit.command_line import cellreap, cellreap_json
from kit.paths import CAPDL

STORAGE = CAPDL / "storage.cdl"


def imported(folder: Path, text: str) -> Imported:
    path = folder / "some.cdl"
    path.write_text(text)
    return import_capdl(path, folder)


def test_it_is_the_stored_configuration(rewrite: bool) -> None:
    found = import_capdl(STORAGE, CAPDL)
    stored, notes = STORAGE.with_suffix(".toml"), STORAGE.with_suffix(".notes")
    said = "".join(f"{note.line}: {note.where}: {note.text}\n" for note in found.notes)
    if rewrite:
        stored.write_text(found.text)
        notes.write_text(said)
    assert found.text == stored.read_text()
    assert said == notes.read_text()
    assert load_config(stored) == found.config


def test_threads_endpoints_and_fault_endpoints_are_edges() -> None:
    config = import_capdl(STORAGE, CAPDL).config
    pds = {pd.name: pd for pd in config.pds}
    spaces = {space.name: pd.name for pd in config.pds for space in pd.spaces}
    asks = {name: {spaces[space] for space in pd.requests} for name, pd in pds.items()}
    assert asks == {
        "monitor": set(),
        "driver": {"fs_0"},
        "fs_0": {"driver"},
        "fs_1": {"driver"},
        "app": {"fs_0"},
        "shell": {"fs_0"},
        "bare": set(),
    }
    handled = {name for name, pd in pds.items() if pd.fault_handler == "monitor"}
    assert handled == {"driver", "fs_0", "app"}, "by a slot, by an address, by one of two CNodes"
    assert [link.between for link in config.links] == [("fs_0", "fs_1")]
    assert {name: pd.holds_pds for name, pd in pds.items() if pd.holds_pds} == {
        "monitor": ("driver",),
        "fs_0": ("fs_1",),
    }


def test_the_command_plans_what_a_crash_takes_along(tmp_path: Path) -> None:
    made = str(tmp_path / "s.toml")
    code, shown = cellreap_json("import", str(STORAGE), "-o", made)
    assert (code, shown["names"]["App_tcb"]) == (0, "app")
    assert cellreap("import", str(STORAGE), "--strict").returncode == 1
    _, plan = cellreap_json("plan", made, "--crash", "driver", "--pd-depth", "1")
    # fs_0 asks it; fs_1 asks it, too, and has the same address space.
    assert [depth for _, depth in plan["destroyed_pds"]] == [0, 1, 1]


SHORT = """\
arch x86_64
objects {
a_tcb = tcb (prio: 5)
c = cnode (4 bits)
}
caps {
a_tcb { cspace: c }
}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("arch", "<system>", "1: '<': expected a description in capDL"),
        ("arch", "objects", '1: expected "arch"'),
        ("caps {", "caps { b {} ", "6: b: is not among the objects of this file"),
        ("cspace: c", "cspace: d", "7: d: is not among the objects of this file"),
        ("{ cspace: c }", "{ 1: c 0x1: c }", "7: a_tcb: slot 1 is filled in line 7"),
        ("c = cnode", "a_tcb = cnode", "4: a_tcb: is also the object of line 3"),
        ("c = cnode", "c[2] = cnode", "4: expected an object: arrays are not read, got '['"),
        ("(4 bits)", "(4 bits]", "4: expected \")\", got ']'"),
        ("(4 bits)", "(4 bits", "5: expected \")\", got '}'"),
        ("caps {", "wires {", "6: wires: unknown section"),
        ("a_tcb = tcb", "a_tcb = ep", "no tcb: expected at least one"),
        ("}\n\n", "", "expected"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, said: str, tmp_path: Path) -> None:
    text = SHORT.replace(old, new) if old in SHORT else SHORT.rstrip()[:-1]
    assert imported(tmp_path, SHORT).names == {"a_tcb": "a"}
    with pytest.raises(InputError) as caught:
        imported(tmp_path, text)
    assert caught.value.line().startswith(f"{tmp_path}/some.cdl:")
    assert said in caught.value.line()


def test_no_text_makes_it_fail_otherwise(tmp_path: Path) -> None:
    words = STORAGE.read_text().split(" ")
    chosen = random.Random(1)
    read = 0
    for _ in range(150):
        changed = list(words)
        for _ in range(chosen.randint(1, 3)):
            at = chosen.randrange(len(changed))
            what = chosen.choice(("", changed[chosen.randrange(len(changed))], "{", "0x3)", "ep"))
            changed[at] = what
        try:
            imported(tmp_path, " ".join(changed))
            read += 1
        except InputError:
            continue
    assert 10 < read < 140
