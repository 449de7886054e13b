# SPDX-License-Identifier: BSD-2-Clause
"""What Microkit's tool writes into a program is written into a copy of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("order", ["heap,before,after", "before,heap,after"])
@pytest.mark.behaviour("P-02")
def test_what_is_zero_at_first_makes_no_file_large(tmp_path: Path, order: str) -> None:
    """Symbols are set on both sides of it. All memory of the program stays as it was."""
    (tmp_path / "a.c").write_text(SOURCE)
    inner = " ".join(f"*(.bss.{name});" for name in order.split(","))
    (tmp_path / "a.ld").write_text(
        "SECTIONS { . = 0x200000; .text : { *(.text*) } . = ALIGN(0x1000);"
        f" .data : {{ *(.data*) }} .bss : {{ {inner} }} }}"
    )
    options = ["-ffreestanding", "-nostdlib", "-static", "-fdata-sections", "-no-pie"]
    words = ["gcc", *options, "-Wl,--build-id=none", f"-Wl,-T,{tmp_path / 'a.ld'}"]
    subprocess.run([*words, str(tmp_path / "a.c"), "-o", str(tmp_path / "a.elf")], check=True)
    raw = (tmp_path / "a.elf").read_bytes()
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
