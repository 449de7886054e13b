# SPDX-License-Identifier: BSD-2-Clause
"""What Microkit's tool writes into a program is written into a copy of it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from cellreap.errors import CellreapError
from cellreap.system.config import parse_config
from cellreap.system.elf import read_executable
from cellreap.system.microkit.patching import patched
from cellreap.system.sections import sections_of

LARGE = 16 << 20
SOURCE = f"""
unsigned long __sel4_ipc_buffer = 1;
unsigned long before, after;
char heap[{LARGE}];
void _start(void) {{ before = after = heap[0]; }}
"""
CONFIG = """
[system]
name = "a"
[[program]]
name = "a"
elf = "a.elf"
[[pd]]
name = "a"
program = "a"
abi = "microkit"
cspace_bits = 8
symbols = {before = 0x1122334455667788, after = 7}
"""


def linked(folder: Path, source: str, options: tuple[str, ...] = ()) -> bytes:
    """A program of this source and those that the folder has."""
    (folder / "a.c").write_text(source)
    words = ["gcc", "-ffreestanding", "-nostdlib", "-static", "-fdata-sections", "-no-pie"]
    words += ["-Wl,--build-id=none", *options, *map(str, sorted(folder.glob("*.c")))]
    subprocess.run([*words, "-o", str(folder / "a.elf")], check=True)
    return (folder / "a.elf").read_bytes()


@pytest.mark.parametrize("order", ["heap,before,after", "before,heap,after"])
@pytest.mark.behaviour("P-02")
def test_what_is_zero_at_first_makes_no_file_large(tmp_path: Path, order: str) -> None:
    """Symbols are set on both sides of it. All memory of the program stays as it was."""
    inner = " ".join(f"*(.bss.{name});" for name in order.split(","))
    (tmp_path / "a.ld").write_text(
        "SECTIONS { . = 0x200000; .text : { *(.text*) } . = ALIGN(0x1000);"
        f" .data : {{ *(.data*) }} .bss : {{ {inner} }} }}"
    )
    raw = linked(tmp_path, SOURCE, (f"-Wl,-T,{tmp_path / 'a.ld'}",))
    config = parse_config(CONFIG, tmp_path / "a.toml")
    made = patched(config, config.pds[0], read_executable(raw, "a.elf", "x86_64"))
    assert len(made) < len(raw) + 0x10000
    program = read_executable(made, "a.elf", "x86_64")
    found = {}
    for name in ("before", "after", "heap"):
        at = sections_of(raw).symbols[name].value
        (segment,) = (each for each in program.segments if 0 <= at - each.vaddr < each.memory_bytes)
        content = made[segment.offset :][: segment.file_bytes].ljust(at - segment.vaddr + 8, b"\0")
        found[name] = int.from_bytes(content[at - segment.vaddr :][:8], "little")
    assert found == {"before": 0x1122334455667788, "after": 7, "heap": 0}
    ends = [
        max(each.vaddr + each.memory_bytes for each in read_executable(it, "", "x86_64").segments)
        for it in (raw, made)
    ]
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("source", "other", "said"),
    [
        (SOURCE.replace("unsigned long before,", "unsigned before; unsigned long"), "",
         '"before" has 4 bytes; expected at least 8, which are set'),
        (SOURCE, "static unsigned long before; unsigned long *get(void) { return &before; }",
         'has 2 symbols "before"; expected one'),
    ],
)  # fmt: skip
@pytest.mark.behaviour("P-07")
def test_a_symbol_that_is_no_place_for_its_value_is_refused(
    tmp_path: Path, source: str, other: str, said: str
) -> None:
    """Another variable would be overwritten, or the wrong one set."""
    (tmp_path / "other.c").write_text(other)
    raw = linked(tmp_path, source)
    config = parse_config(CONFIG, tmp_path / "a.toml")
    with pytest.raises(CellreapError, match=re.escape(f"a.elf: {said}")):
        patched(config, config.pds[0], read_executable(raw, "a.elf", "x86_64"))
