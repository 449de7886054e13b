# SPDX-License-Identifier: BSD-2-Clause
"""The machines stand in one table, which C and the host read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest

from cellreap import arches, headers
from cellreap.arches import ArchName
from cellreap.platforms import PLATFORMS, emulated, levels
from kit.arches import ARCHES
from kit.paths import ROOT

FOLDERS = ("roottask", "refkernel", "pds", "examples", "pyhost/cellreap", "tools")
SUFFIXES = {".c", ".h", ".S", ".ld", ".py", ".toml", ".txt", ".cmake"}
NUMBER = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F_]+|[1-9][0-9_]*)[uUlL]*(?![\w.])")
LEAST = 0x100
"""Smaller numbers, and powers of two, stand for other things too."""
STACK = headers.constant("protocol.h", "CR_VADDR_STACK")
"""A virtual address that happens to be the physical one of a UART."""


def addresses() -> set[int]:
    """All addresses of the table."""
    rows = headers.own_table("platforms/platforms.h", "CR_GIC")
    controllers = {int(field) for _, *fields in rows for field in fields}
    controllers |= {address for each in PLATFORMS.values() for address in each.el3 or ()}
    controllers |= {each.timer[0] for each in PLATFORMS.values() if each.timer is not None}
    return controllers | {each.uart.address for each in PLATFORMS.values()}


def numbers_in(text: str) -> set[int]:
    return {int(found[1].replace("_", ""), 0) for found in NUMBER.finditer(text)}


def second_tables(root: Path) -> list[str]:
    """The files below a checkout that have an address or an emulator of the table."""
    wanted = {address for address in addresses() if address >= LEAST and address & (address - 1)}
    wanted.discard(STACK)
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
        f'printf("{names[prefix]} %lu %d %d %u\\n", {prefix}_UART, {uart}_DATA, {uart}_STATUS, '
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


def test_the_names_of_the_architectures_are_those_of_their_table() -> None:
    assert get_args(ArchName) == tuple(arches.ARCHES)


def test_a_new_architecture_touches_few_files_besides_its_own() -> None:
    """Those that name one of them, also in a comment."""
    names = re.compile(r"riscv", re.IGNORECASE)
    own = re.compile(r"/riscv64[/.]")
    found = [
        path
        for folder in (*FOLDERS, "platforms")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in SUFFIXES and not own.search(str(path)) and names.search(path.read_text())
    ]
    assert len(found) <= 15, found


@pytest.mark.parametrize("arch", ARCHES)
def test_each_architecture_has_its_file(arch: str) -> None:
    """The levels of a page table from the widest on, each spanning 512 of the next."""
    spans = [int(row[3]) for row in headers.own_table(f"platforms/{arch}.h", "CR_TABLE_LEVEL")]
    assert len(levels(arch)) == len(spans) + 1
    assert [wide - narrow for wide, narrow in pairwise(spans)] == [9, 9]


BOARD = {
    "CR_PLATFORMS": "    CR_PLATFORM(CR_NEW, CONFIG_PLAT_NEW, "
    '"new", "aarch64", CR_UART_NEW, 0x7f001000) \\\n',
    "CR_UARTS": "    CR_UART(CR_UART_NEW, 4, 8, 0x10, 4, 4, 0xc, 3, 1) \\\n",
    "CR_TIMERS": "    CR_TIMER(CR_NEW, 0x7f002000, 99, 100) \\\n",
    "CR_RAMS": "    CR_RAM(CR_NEW, 0x80000000, 0x40000000) \\\n",
    "CR_QEMUS": '    CR_QEMU(CR_NEW, "qemu-new", "qemu-system-new", "new-board", 0, "") \\\n',
    "CR_QEMU_CPUS": '    CR_QEMU_CPU(CR_NEW, "ARM_CORTEX_A55", "cortex-a55") \\\n',
    "CR_QEMU_FILES": '    CR_QEMU_FILE(CR_NEW, "-kernel", "loader.elf") \\\n',
}
"""A row of a new board in each table."""
ASKED = """
import json
from cellreap.platforms import PLATFORMS
from cellreap.runs.qemu import machine_for
options = {"SEL4_ARCH": "aarch64", "ARM_PLAT": "new", "ARM_CORTEX_A55": True}
print(json.dumps([machine_for(options, "x").arguments, PLATFORMS["new"].uart.address]))
"""
DRIVER = """
#include <stdint.h>
#include <stdio.h>
#define CONFIG_PLAT_NEW 1
%s
int main(void)
{
    printf("%%d %%d %%d %%lx\\n", UART.driven, UART.data, UART.on, (unsigned long)UART.paddr);
    printf("%%lx %%d %%d\\n", (unsigned long)cr_timer_paddr, CR_TIMER_IRQ, CR_TIMER_MHZ);
}
"""
DRIVER_PARTS = (
    ("registers.h", "/* 1 if an option", "/* Maps"),
    ("uart.c", "static const struct", "static _Alignas"),
)
"""Where the drivers take their row from the table."""


@pytest.mark.behaviour("B-07")
def test_a_new_board_is_rows_of_one_file(tmp_path: Path) -> None:
    """The host knows how to emulate it, and the root task drives its UART and its timer."""
    table = tmp_path / "platforms" / "platforms.h"
    shutil.copytree(ROOT / "platforms", table.parent)
    shutil.copytree(ROOT / "roottask" / "include", tmp_path / "roottask" / "include")
    text = table.read_text()
    for name, row in BOARD.items():
        head = re.findall(rf"#define {name} *\\\n", text)
        assert len(head) == 1, name
        text = text.replace(head[0], head[0] + row)
    table.write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", ASKED],
        env={**os.environ, "CELLREAP_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )
    arguments, uart = json.loads(done.stdout)
    assert (arguments[:2], uart) == (["-machine", "new-board"], 0x7F00_1000)
    constants = ""
    for name, start, end in DRIVER_PARTS:
        text = (ROOT / "roottask/kernel/arch/mapped" / name).read_text()
        constants += text[text.index(start) : text.index(end)]
    source = tmp_path / "driver.c"
    source.write_text('#include "platforms/platforms.h"\n' + DRIVER % constants)
    program = tmp_path / "driver"
    subprocess.run(["cc", "-I", str(tmp_path), str(source), "-o", str(program)], check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert said == "1 8 3 7f001000\n7f002000 99 100\n"


# What the kernel gives the root task, and which files use it. What is not here is used by nothing,
# so no PD can get it: seL4_CapSMC, seL4_CapDomain, seL4_CapSMMUSIDControl and the like.
KEPT = {
    "ASIDControl": {f"kernel/arch/{arch}/arch.c" for arch in ("aarch64", "riscv64", "x86_64")},
    "IOPortControl": {f"kernel/arch/x86_64/{name}.c" for name in ("lines", "timer", "uart")},
    "IRQControl": {
        f"kernel/arch/{arch}/{name}.c"
        for arch in ("aarch64", "riscv64", "x86_64")
        for name in ("lines", "timer")
    },
}
DEVICES = {"kernel/devices.c", "kernel/untyped.c"}
"""UART and timer are made of one, and no other becomes anything."""


@pytest.mark.behaviour("B-05")
def test_what_could_end_the_machine_is_used_by_nothing_but_the_kernel_layer() -> None:
    used: dict[str, set[str]] = {}
    devices = set()
    root = ROOT / "roottask"
    for path in sorted(path for path in root.rglob("*.[ch]") if "conformance" not in path.parts):
        text, name = path.read_text(), str(path.relative_to(root))
        for cap in re.findall(r"\bseL4_Cap(\w+(?:Control|SMC|Domain|Port))\b", text):
            used.setdefault(cap, set()).add(name)
        devices |= {name} if "isDevice" in text else set()
    assert used == KEPT
    assert devices == DEVICES
