# SPDX-License-Identifier: BSD-2-Clause
"""Sections and symbols of ELF files are those that pyelftools reads, and are read once a build."""

from __future__ import annotations

import io
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from cellreap.cached import digest_of
from cellreap.progress import Progress
from cellreap.system import sections
from cellreap.system.build import build_image
from cellreap.system.config import parse_config
from cellreap.system.sdk import load_sdk
from cellreap.system.sections import Sections, SectionsError
from cellreap.system.toolchain import find_toolchain, run_tool
from kit.sdk_kit import make_sdk
from kit.small_checkout import NEEDS_TOOLCHAIN, make_checkout

SOURCE = """
static int counted[3] = {1, 2, 3};
char space[100];
int used(int i) { return counted[i] + space[i]; }
void _start(void) { used(1); }
"""

pytestmark = NEEDS_TOOLCHAIN


@pytest.fixture
def program(tmp_path: Path) -> bytes:
    (tmp_path / "a.c").write_text(SOURCE)
    compiler = find_toolchain("x86_64").compiler
    options = ("-O2", "-g", "-static", "-nostdlib", "-fno-pie", "-no-pie")
    run_tool([compiler, *options, "a.c", "-o", "a.elf"], tmp_path)
    return (tmp_path / "a.elf").read_bytes()


def test_they_are_those_of_pyelftools(program: bytes) -> None:
    elf, ours = ELFFile(io.BytesIO(program)), Sections(program)
    theirs = list(elf.iter_sections())
    assert [each.name for each in ours.all] == [each.name for each in theirs]
    for own, other in zip(ours.all, theirs, strict=True):
        assert (own.address, own.bytes) == (other["sh_addr"], other["sh_size"])
        if own.name not in ("", ".bss"):
            assert ours.data(own) == other.data()
    table: Any = elf.get_section_by_name(".symtab")
    assert {"counted", "space", "used", "_start"} <= ours.symbols.keys()
    for name, symbol in ours.symbols.items():
        first = table.get_symbol_by_name(name)[0]
        assert (symbol.value, symbol.bytes) == (first["st_value"], first["st_size"])
    assert ours.symbols.keys() == {symbol.name for symbol in table.iter_symbols()}


def test_damaged_ones_are_read_or_refused(program: bytes) -> None:
    chance, refused = random.Random(5), 0
    for _ in range(500):
        changed = bytearray(program)
        start = chance.choice((0, int.from_bytes(program[40:48], "little")))
        changed[start + chance.randrange(min(64 * 10, len(program) - start))] = 255
        try:
            assert isinstance(Sections(bytes(changed)).symbols, dict)
        except SectionsError:
            refused += 1
    assert 0 < refused < 500
    for length in range(64, len(program), 97):
        with pytest.raises(SectionsError):
            Sections(program[:length])


def test_a_build_reads_the_symbols_of_a_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_checkout(tmp_path / "checkout")
    monkeypatch.setattr("cellreap.system.parts.source_root", lambda: tmp_path / "checkout")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    read: Counter[str] = Counter()

    class Counted:
        """The form of a symbol, which counts the tables that are read with it."""

        size = sections._SYMBOL.size

        def iter_unpack(self, data: bytes) -> Any:
            read[digest_of(data)] += 1
            return form.iter_unpack(data)

    form = sections._SYMBOL
    sections.sections_of.cache_clear()
    monkeypatch.setattr(sections, "_SYMBOL", Counted())
    text = '[system]\nname = "s"\n[[pd]]\nname = "a"\nprogram = "server"\n'
    config = parse_config(text, tmp_path / "s.toml")
    sdk = load_sdk(make_sdk(tmp_path / "sdk"), "x86_64")
    build_image(config, text, sdk, tmp_path / "s.img", Progress(quiet=True))
    assert len(read) >= 1  # the object file with the kernel's sizes
    assert set(read.values()) == {1}
