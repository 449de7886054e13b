# SPDX-License-Identifier: BSD-2-Clause
"""The machines stand in one table, which C and the host read."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from cellreap import headers
from cellreap.arches import ARCHES
from cellreap.platforms import PLATFORMS, emulated, levels
from kit.paths import ROOT

FOLDERS = ("roottask", "refkernel", "pds", "examples", "pyhost/cellreap", "tools")
SUFFIXES = {".c", ".h", ".S", ".ld", ".py", ".toml", ".txt", ".cmake"}
NUMBER = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F_]+|[1-9][0-9_]*)[uUlL]*(?![\w.])")
LEAST = 0x100
"""Smaller numbers stand for other things too."""


def addresses() -> set[int]:
    """All addresses of the table."""
    rows = headers.own_table("platforms/platforms.h", "CR_GIC")
    controllers = {int(field) for _, *fields in rows for field in fields}
    controllers |= {address for each in PLATFORMS.values() for address in each.el3 or ()}
    return controllers | {each.uart.address for each in PLATFORMS.values()}


def numbers_in(text: str) -> set[int]:
    return {int(found[1].replace("_", ""), 0) for found in NUMBER.finditer(text)}


def second_tables(root: Path) -> list[str]:
    """The files below a checkout that have an address or an emulator of the table."""
    wanted = {address for address in addresses() if address >= LEAST}
    programs = {each.emulation.program for each in PLATFORMS.values() if each.emulation is not None}
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                text = path.read_text(encoding="utf-8")
                has = numbers_in(text) & wanted or [name for name in programs if name in text]
                found += [str(path.relative_to(root))] if has else []
    return found


def test_no_other_file_has_the_address_or_the_emulator_of_a_machine() -> None:
    assert len(addresses()) >= len(PLATFORMS)
    assert second_tables(ROOT) == []


@pytest.mark.parametrize("copy", ["0x09000000ull", "0x0900_0000", "150994944", "0XFF80_3000"])
def test_a_second_table_is_found(tmp_path: Path, copy: str) -> None:
    for folder in FOLDERS:
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "refkernel" / "machine.c").write_text(f"enum {{ UART = {copy} }};\n")
    assert second_tables(tmp_path) == ["refkernel/machine.c"]


def test_c_and_the_host_read_the_same_rows(tmp_path: Path) -> None:
    uarts = {str(prefix): str(uart) for prefix, _, _, _, uart, _ in _rows("CR_PLATFORM")}
    names = {str(prefix): str(name) for prefix, _, name, *_ in _rows("CR_PLATFORM")}
    lines = [
        f'printf("{names[prefix]} %lu %d %d %d\\n", {prefix}_UART, {uart}_DATA, {uart}_STATUS, '
        f"{uart}_BIT);"
        for prefix, uart in uarts.items()
    ]
    source = tmp_path / "say.c"
    source.write_text(
        '#include "platforms/platforms.h"\n#include "platforms/arch.h"\n#include <stdio.h>\n'
        f'int main(void) {{ {" ".join(lines)} printf("%d\\n", CR_ARCH_TABLE_LEVELS); }}\n'
    )
    program = tmp_path / "say"
    subprocess.run(["cc", "-I", str(ROOT), str(source), "-o", str(program)], check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    *rows, depth = said.splitlines()
    assert rows == [
        f"{name} {uart.address} {uart.data} {uart.status} {uart.mask}"
        for name, uart in ((name, each.uart) for name, each in PLATFORMS.items())
    ]
    assert int(depth) == 3 == len(levels("x86_64")) - 1


def _rows(macro: str) -> list[tuple[str | int, ...]]:
    return headers.own_table("platforms/platforms.h", macro)


def test_the_first_machine_of_an_architecture_that_is_emulated_stands_for_it() -> None:
    assert {arch: emulated(arch).name for arch in ARCHES} == {
        "x86_64": "pc99",
        "aarch64": "qemu-arm-virt",
    }


@pytest.mark.parametrize("arch", ARCHES)
def test_each_architecture_has_its_file(arch: str) -> None:
    """The levels of a page table from the widest on, each spanning 512 of the next."""
    spans = [int(row[3]) for row in headers.own_table(f"platforms/{arch}.h", "CR_TABLE_LEVEL")]
    assert len(levels(arch)) == len(spans) + 1
    assert [wide - narrow for wide, narrow in pairwise(spans)] == [9, 9]
