# SPDX-License-Identifier: BSD-2-Clause
"""Descriptions of boards: those in the package, wrong ones, and the page about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest
from pydantic import WrapValidator

from cellreap.boards import description
from cellreap.boards.description import (
    KNOWN,
    Description,
    find_board,
    known_boards,
    load_description,
    parse_description,
)
from cellreap.errors import InputError, UsageError
from cellreap.system.toml_tables import Expecting, Table
from kit.docs_tables import check_table, table_lines
from kit.docstrings import attribute_docs
from kit.paths import ROOT

PAGE = ROOT / "docs" / "boards.md"
GOOD = """\
[board]
driver = "command"
platform = "odroidc4"
[power]
on = "true"
off = "true"
[console]
device = "/dev/ttyUSB0"
[uboot]
address = 0x20000000
[tftp]
folder = "/srv/tftp"
server = "10.0.0.1"
"""


def parsed(text: str) -> Description:
    return parse_description(text, Path("b.toml"))


@pytest.mark.parametrize("name", known_boards())
def test_descriptions_in_the_package_are_right_and_say_whether_they_were_run(name: str) -> None:
    found = load_description(find_board(name, {"HOME": "/nowhere"}))
    assert found.board.tested == (name == "qemu-uboot")
    text = (KNOWN / f"{name}.toml").read_text()
    assert found.board.tested or "not run by" in text.replace("\n# ", " ").lower()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"command"', '"relay"', '2: board.driver: expected "qemu-uboot", "command" or "labgrid"'),
        ("[power]", "[powers]", '4: powers: unknown key; did you mean "power"? expected one'),
        ("off =", "of =", '6: power.of: unknown key; did you mean "off"? expected one of on, off'),
        ('on = "true"', 'on = ""', "5: power.on: expected a command for the shell"),
        ('device = "/dev/ttyUSB0"', "baud = 0", "8: console.baud: expected an integer from 1"),
        ('device = "/dev/ttyUSB0"', "", "7: console: expected either device or command"),
        ("0x20000000", '"0x20000000"', "10: uboot.address: expected an address of at most 48"),
        ("address = 0x20000000", "", "9: uboot.address: missing: this key is required"),
        ("0x20000000", '1\nboot = "go 1"', "11: uboot.boot: expected {address} in it"),
        ("0x20000000", '1\nprompt = " "', "11: uboot.prompt: expected more than spaces"),
        ('"10.0.0.1"', '"lab"', "13: tftp.server: expected an IPv4 address"),
        ('"command"', '"labgrid"', '2: board.driver: "labgrid" needs a table [labgrid]'),
        ('"command"', '"qemu-uboot"', '4: power: is not for the driver "qemu-uboot"'),
        ('[tftp]\nfolder = "/srv/tftp"\nserver = "10.0.0.1"\n', "", '9: uboot.load: "tftp" needs'),
        (
            "[tftp]",
            "[limits]\nretries = -1\n[tftp]",
            "12: limits.retries: expected an integer",
        ),
        ("[board]", "board]", "1: not valid TOML"),
        (GOOD, "", "1: the file is empty: expected [board] and [uboot]"),
    ],
)
def test_a_wrong_description_is_refused_with_line_and_key(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as error:
        parsed(GOOD.replace(old, new, 1))
    assert str(error.value).startswith(f"b.toml:{message}")


def test_a_name_is_a_file_the_users_or_one_in_the_package(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert find_board("x.toml", env) == Path("x.toml")
    assert find_board("odroid-c4", env) == KNOWN / "odroid-c4.toml"
    mine = tmp_path / "cellreap" / "boards" / "odroid-c4.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text(GOOD)
    assert find_board("odroid-c4", env) == mine
    with pytest.raises(UsageError, match=r"--board beagle: expected a file NAME\.toml, or"):
        find_board("beagle", env)


def rows() -> Iterator[tuple[str, str, str, str]]:
    for (name,), table in description._TABLES.items():
        docs, hints = attribute_docs(table), get_type_hints(table, include_extras=True)
        for key, field in table.model_fields.items():
            default = "required" if field.is_required() else shown(field.default)
            yield f"`{name}.{key}`", expected(hints[key]), default, docs[key]


def shown(value: object) -> str:
    """A default as the file would have it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, (int, float)):
        return f"`{value:g}`"
    if isinstance(value, str):
        return f'`"{value}"`'
    assert value == (), value
    return "`[]`"


def expected(hint: object) -> str:
    for part in (hint, *getattr(hint, "__args__", ())):
        for extra in getattr(part, "__metadata__", ()):
            if isinstance(extra, WrapValidator) and isinstance(extra.func, Expecting):
                return extra.func.what
    raise AssertionError(hint)


def test_the_page_has_every_key(rewrite: bool) -> None:
    lines = table_lines(("key", "value", "default", "meaning"), list(rows()))
    check_table(PAGE, "keys of boards", lines, rewrite)


def test_every_table_is_known_to_messages() -> None:
    assert {name for (name,) in description._TABLES} == set(Description.model_fields)
    assert all(issubclass(table, Table) for table in description._TABLES.values())
