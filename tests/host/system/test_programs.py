# SPDX-License-Identifier: BSD-2-Clause
"""Programs of a configuration: built one by one, used again, and refused with file, line and key.

The root task built here is one function. The boot tests show that such programs run.
"""

from __future__ import annotations

import ctypes
import io
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from cellreap.errors import CellreapError, InputError
from cellreap.progress import Progress
from cellreap.system.build import build_image
from cellreap.system.config import load_config
from cellreap.system.elf import read_executable, without_sections
from cellreap.system.parts import build_pd_library
from cellreap.system.programs import (
    Source,
    build_programs,
    build_samples,
    described,
    keep_programs,
    loadable,
    samples,
)
from cellreap.system.refkernel import build_refkernel
from cellreap.system.sdk import Sdk, load_sdk
from cellreap.system.toolchain import find_toolchain
from kit.paths import BAD_PROGRAMS, ROOT
from kit.sdk_kit import make_elf, make_sdk
from kit.small_checkout import MAIN, NEEDS_TOOLCHAIN, make_checkout

BAD = sorted(BAD_PROGRAMS.glob("*.toml"))
QUIET = Progress(quiet=True)
CONFIG = """\
[system]
name = "own"

[[program]]
name = "one"
sources = ["one.c", "shared.c"]
include = ["include"]

[[program]]
name = "two"
sources = ["two.c"]
flags = ["-DVALUE=2"]

[[pd]]
name = "a"
program = "one"

[[pd]]
name = "b"
program = "two"
"""
ONE = '#include "shared.h"\nvoid _start(void);\nvoid _start(void)\n{\n    shared(SHARED);\n}\n'
SHARED = '#include "shared.h"\nint kept;\nvoid shared(int n)\n{\n    kept = n;\n}\n'
TWO = "int _start(void);\nint _start(void)\n{\n    return VALUE;\n}\n"
HEADER = "#define SHARED 1\nvoid shared(int n);\n"

pytestmark = NEEDS_TOOLCHAIN


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sdk:
    """An SDK. The code under test finds a small checkout, and an empty cache."""
    root = tmp_path / "checkout"
    make_checkout(root)
    monkeypatch.setattr("cellreap.system.parts.source_root", lambda: root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return load_sdk(make_sdk(tmp_path / "sdk"), "x86_64")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The configuration of a project with two programs."""
    return make_project(tmp_path / "project")


def make_project(folder: Path) -> Path:
    (folder / "include").mkdir(parents=True)
    for name, text in (("one.c", ONE), ("shared.c", SHARED), ("two.c", TWO), ("own.toml", CONFIG)):
        (folder / name).write_text(text)
    (folder / "include" / "shared.h").write_text(HEADER)
    return folder / "own.toml"


def build(path: Path, sdk: Sdk, progress: Progress = QUIET) -> dict[str, bytes]:
    toolchain = find_toolchain("x86_64")
    library = build_pd_library(sdk, toolchain, QUIET)
    source = Source(load_config(path), path.read_text(), path)
    return build_programs(source, sdk, toolchain, library, progress)


def made(tmp_path: Path) -> set[str]:
    """The object files and programs in the cache."""
    cache = tmp_path / "cache" / "cellreap"
    return {path.name for path in cache.rglob("*") if path.suffix in (".o", ".elf")} - {
        "capdl_facts.o"
    }


@pytest.mark.behaviour("Y-01", "X-25")
@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_program_is_refused_with_the_expected_line(path: Path, sdk: Sdk) -> None:
    with pytest.raises(InputError) as caught:
        build(path, sdk)
    said = caught.value.line().replace(str(path), path.name)
    assert said + "\n" == path.with_suffix(".err").read_text()


@pytest.mark.behaviour("Y-01")
def test_one_changed_line_compiles_its_source_and_links_its_program_alone(
    sdk: Sdk, project: Path, tmp_path: Path
) -> None:
    first = build(project, sdk)
    before = made(tmp_path)
    assert len(before) == 4 + 2  # one.c, shared.c, two.c, start.S; one, two
    assert build(project, sdk) == first
    assert made(tmp_path) == before
    (project.parent / "one.c").write_text(ONE.replace("SHARED)", "SHARED + 1)"))
    said = io.StringIO()
    second = build(project, sdk, Progress(stream=said))
    assert len(made(tmp_path) - before) == 2
    assert second["two"] == first["two"]
    assert second["one"] != first["one"]
    assert [line for line in said.getvalue().splitlines() if line.endswith("...")] == [
        "compiling one ..."
    ]


@pytest.mark.behaviour("Y-01")
@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("include/shared.h", "SHARED 1", "SHARED 7", {"one"}),
        ("own.toml", "VALUE=2", "VALUE=3", {"two"}),
        ("two.c", "VALUE;", "VALUE + 1;", {"two"}),
    ],
)
def test_what_a_program_is_made_from_is_noticed(
    sdk: Sdk, project: Path, file: str, old: str, new: str, changed: set[str]
) -> None:
    first = build(project, sdk)
    path = project.parent / file
    path.write_text(path.read_text().replace(old, new))
    second = build(project, sdk)
    assert {
        name
        for name in first
        if loadable(first, "x86_64")[name] != loadable(second, "x86_64")[name]
    } == changed


def test_a_header_that_comes_to_stand_before_another_is_noticed(sdk: Sdk, project: Path) -> None:
    first = build(project, sdk)
    (project.parent / "shared.h").write_text(HEADER.replace("1", "9"))  # beside the source: first
    assert build(project, sdk)["one"] != first["one"]


def test_a_file_that_the_assembler_reads_is_noticed(sdk: Sdk, project: Path) -> None:
    folder = project.parent
    (folder / "two.c").write_text(f'__asm__(".incbin \\"data.bin\\"");\n{TWO}')
    (folder / "data.bin").write_bytes(b"12345678")
    first = build(project, sdk)
    (folder / "data.bin").write_bytes(b"87654321")
    assert b"87654321" not in first["two"]
    assert b"87654321" in build(project, sdk)["two"]


@pytest.mark.behaviour("Y-01")
def test_a_warning_is_shown_each_time_and_stops_nothing(sdk: Sdk, project: Path) -> None:
    (project.parent / "two.c").write_text(TWO.replace("{\n", "{\n    int unused;\n"))
    for _ in range(2):
        said = io.StringIO()
        assert set(build(project, sdk, Progress(stream=said))) == {"one", "two"}
        assert "two: the compiler says:\n" in said.getvalue()
        assert "two.c:4:9: warning: unused variable 'unused'" in said.getvalue()
        assert "one.c" not in said.getvalue()


@pytest.mark.behaviour("Y-01")
def test_an_error_in_one_program_does_not_make_another_be_built_again(
    sdk: Sdk, project: Path, tmp_path: Path
) -> None:
    (project.parent / "one.c").write_text("int broken(\n")
    said = io.StringIO()
    with pytest.raises(InputError, match=r"own.toml:6: program\[0\].sources\[0\]: one.c:1:"):
        build(project, sdk, Progress(stream=said))
    assert "one: the compiler says:\none.c:1:" in said.getvalue()
    before = made(tmp_path)
    (project.parent / "one.c").write_text(ONE)
    said = io.StringIO()
    build(project, sdk, Progress(stream=said))
    assert "compiling one ..." in said.getvalue()
    assert before < made(tmp_path)


def test_a_program_has_the_same_bytes_wherever_its_project_is(
    sdk: Sdk, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build(project, sdk)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other cache"))
    other = make_project(tmp_path / "another place")
    assert build(other, sdk) == first
    assert str(tmp_path).encode() not in b"".join(first.values())


def test_a_program_has_debug_information_and_the_image_has_it_without(
    sdk: Sdk, project: Path, tmp_path: Path
) -> None:
    text = project.read_text()
    image = tmp_path / "a.img"
    built = build_image(load_config(project), text, sdk, image, QUIET, path=project).programs
    keep_programs(tmp_path / "kept", built)
    elf = ELFFile(io.BytesIO((tmp_path / "kept" / "one.elf").read_bytes()))
    names = {
        die.attributes["DW_AT_name"].value
        for unit in elf.get_dwarf_info().iter_CUs()
        for die in [unit.get_top_DIE()]
        if "DW_AT_name" in die.attributes
    }
    assert {b"one.c", b"shared.c"} <= {name.split(b"/")[-1] for name in names}
    assert built["one"] not in image.read_bytes()
    assert loadable(built, "x86_64")["one"] in image.read_bytes()


def test_what_a_loader_needs_stays_when_sections_go(sdk: Sdk, project: Path) -> None:
    raw = build(project, sdk)["one"]
    whole = read_executable(raw, "whole", "x86_64")
    stripped = read_executable(without_sections(whole), "stripped", "x86_64")
    assert len(stripped.raw) < len(whole.raw)
    assert stripped.entry == whole.entry
    assert stripped.segments == tuple(
        segment if segment.file_bytes else replace(segment, offset=0) for segment in whole.segments
    )
    assert all(segment.offset <= len(stripped.raw) for segment in stripped.segments)
    for segment in whole.segments:
        place = slice(segment.offset, segment.offset + segment.file_bytes)
        assert stripped.raw[place] == whole.raw[place]
    assert list(ELFFile(io.BytesIO(stripped.raw)).iter_sections()) == []


@pytest.mark.behaviour("Y-01")
@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (make_elf(arch="aarch64"), "two.elf: e_machine: is EM_AARCH64: expected EM_X86_64"),
        (make_elf(kind=3), "two.elf: e_type: is ET_DYN: expected ET_EXEC, a static executable"),
        (make_elf()[:-1], "two.elf: p_offset: is cut"),
    ],
)
def test_an_elf_file_of_another_kind_is_refused_by_its_key(
    sdk: Sdk, project: Path, raw: bytes, said: str
) -> None:
    project.write_text(
        CONFIG.replace('sources = ["two.c"]\nflags = ["-DVALUE=2"]', 'elf = "two.elf"')
    )
    (project.parent / "two.elf").write_bytes(raw)
    with pytest.raises(InputError) as caught:
        build(project, sdk)
    assert caught.value.line().startswith(f"{project}:11: program[1].elf: {said}")


@pytest.mark.behaviour("Y-01")
def test_an_elf_file_for_which_there_is_no_room_is_refused_by_its_pd(
    sdk: Sdk, project: Path, tmp_path: Path
) -> None:
    text = CONFIG.replace('sources = ["two.c"]\nflags = ["-DVALUE=2"]', 'elf = "two.elf"')
    project.write_text(text)
    crowded = [(0x40_0000, 0, b"code", 4), (0x40_0100, 0, b"data", 4)]
    (project.parent / "two.elf").write_bytes(make_elf(crowded, entry=0x40_0000))
    with pytest.raises(InputError) as caught:
        build_image(load_config(project), text, sdk, tmp_path / "a.img", QUIET, path=project)
    said = caught.value.line()
    assert said.startswith(f"{project}:19: pd[1].program: two.elf, ")
    assert "expected pages that no other one is on" in said


def test_a_program_of_the_file_comes_before_a_sample_of_that_name(sdk: Sdk, project: Path) -> None:
    text = CONFIG.replace('"two"', '"server"')
    project.write_text(text)
    assert set(samples()) == {"server"}
    own = loadable(build(project, sdk), "x86_64")["server"]
    project.write_text(text.replace('name = "server"', 'name = "other"'))
    assert loadable(build(project, sdk), "x86_64")["server"] != own


def test_a_sample_that_does_not_build_is_named_and_the_others_build(
    sdk: Sdk, tmp_path: Path
) -> None:
    examples = tmp_path / "checkout" / "examples"
    (examples / "other.c").write_text("int broken(\n")
    toolchain = find_toolchain("x86_64")
    library = build_pd_library(sdk, toolchain, QUIET)
    assert set(build_samples(["server"], sdk, toolchain, library, QUIET)) == {"server"}
    with pytest.raises(CellreapError, match=r"other: examples/other.c:1:"):
        build_samples(["server", "other"], sdk, toolchain, library, QUIET)
    before = made(tmp_path)
    (examples / "server.c").write_text(f"{MAIN}int more = 1;\n")
    assert build_pd_library(sdk, toolchain, QUIET).use.reused
    build_samples(["server"], sdk, toolchain, library, QUIET)
    assert len(made(tmp_path) - before) == 2


@pytest.mark.slow
def test_every_sample_builds_without_a_warning() -> None:
    sdk = load_sdk(build_refkernel("x86_64", QUIET), "x86_64")
    toolchain = find_toolchain("x86_64")
    said = io.StringIO()
    library = build_pd_library(sdk, toolchain, QUIET)
    built = build_samples(samples(), sdk, toolchain, library, Progress(stream=said))
    assert len(built) > 40
    assert "warning" not in said.getvalue()


def test_every_sample_for_users_says_what_it_is_and_names_each_argument() -> None:
    found = {sample.name: sample for sample in described()}
    assert set(found) == {path.stem for path in (ROOT / "examples").glob("*.c")}
    for sample in found.values():
        assert sample.summary, sample.name
        source = (ROOT / "examples" / f"{sample.name}.c").read_text()
        told = sample.text.lower()
        for number in range(4):
            assert (f"args[{number}]" in source) <= (f"argument {number}" in told), sample


# -- the string functions, which this machine can run too


@pytest.fixture(scope="module")
def strings(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The functions of pds/string.c under names of their own."""
    library = tmp_path_factory.mktemp("strings") / "strings.so"
    command = [
        *("gcc", "-shared", "-fPIC", "-O2", "-ffreestanding", "-fno-builtin"),
        *("-fno-tree-loop-distribute-patterns", "-Wl,-Bsymbolic", f"-I{ROOT / 'pds' / 'libc'}"),
        *(str(ROOT / "pds" / "string.c"), "-o", str(library)),
    ]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


TEXT = st.binary(max_size=12).map(lambda raw: raw.replace(b"\0", b""))
FEW = st.text("abc", max_size=12).map(str.encode)


def at(strings: ctypes.CDLL, name: str, text: bytes, *more: object) -> int:
    """Where in `text` the function points to. -1 for a null pointer."""
    buffer = ctypes.create_string_buffer(text)
    function = getattr(strings, name)
    function.restype = ctypes.c_void_p
    found = function(buffer, *more)
    return -1 if found is None else int(found) - ctypes.addressof(buffer)


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


@pytest.mark.behaviour("Y-01")
@given(a=TEXT | FEW, b=TEXT | FEW, count=st.integers(0, 14), letter=st.integers(1, 255))
def test_strings_are_handled_as_c_says(
    strings: ctypes.CDLL, a: bytes, b: bytes, count: int, letter: int
) -> None:
    one = bytes([letter])
    size = ctypes.c_size_t(count)
    assert strings.strlen(a) == len(a)
    assert strings.strnlen(a, size) == min(len(a), count)
    assert sign(strings.strcmp(a, b)) == sign((a > b) - (a < b))
    x, y = a[:count], b[:count]
    assert sign(strings.strncmp(a, b, size)) == sign((x > y) - (x < y))
    assert at(strings, "strchr", a, letter) == a.find(one)
    assert at(strings, "strchr", a, 0) == len(a)
    assert at(strings, "strrchr", a, letter) == a.rfind(one)
    assert at(strings, "strrchr", a, 0) == len(a)
    assert at(strings, "strstr", a, b) == a.find(b)
    assert at(strings, "strstr", a + b, b) == (a + b).find(b)
    assert at(strings, "memchr", a, letter, ctypes.c_size_t(min(count, len(a)))) == x.find(one)
    assert strings.strspn(a, b) == len(a) - len(a.lstrip(b) if b else a)
    assert strings.strcspn(a, b) == next((i for i, c in enumerate(a) if c in b), len(a))
    room = ctypes.create_string_buffer(a, 40)
    strings.strcat(room, b)
    assert room.value == a + b
    room = ctypes.create_string_buffer(a, 40)
    strings.strncat(room, b, size)
    assert room.value == a + b[:count]
    room = ctypes.create_string_buffer(b"x" * 20, 20)
    strings.strncpy(room, a, size)
    assert room.raw == a[:count] + bytes(max(0, count - len(a))) + b"x" * (20 - count)


# -- the memory functions, which root task and PDs share


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The functions of kernel/string.c under names of their own."""
    library = tmp_path_factory.mktemp("memory") / "memory.so"
    names = ("memcpy", "memmove", "memset", "memcmp", "strcpy")
    command = [
        *("gcc", "-shared", "-fPIC", "-O2", "-ffreestanding", "-fno-builtin"),
        *(f"-D{name}=own_{name}" for name in names),
        *("-fsanitize=undefined,alignment", "-fno-sanitize-recover=all"),
        *(str(ROOT / "roottask" / "kernel" / "string.c"), "-o", str(library)),
    ]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.behaviour("Y-01")
@given(
    raw=st.binary(min_size=64, max_size=64),
    to=st.integers(0, 24),
    start=st.integers(0, 24),
    count=st.integers(0, 40),
    value=st.integers(0, 255),
)
def test_memory_is_copied_and_set_as_c_says(
    memory: ctypes.CDLL, raw: bytes, to: int, start: int, count: int, value: int
) -> None:
    """At every alignment, and for memmove also where the two overlap."""
    block = ctypes.create_string_buffer(raw, 64)
    other = ctypes.create_string_buffer(raw, 64)
    here, there = ctypes.addressof(block), ctypes.addressof(other)
    size = ctypes.c_size_t(count)

    def at(address: int, offset: int) -> ctypes.c_void_p:
        return ctypes.c_void_p(address + offset)

    moved = raw[:to] + raw[start : start + count] + raw[to + count :]
    memory.own_memcpy(at(there, to), at(here, start), size)
    assert (other.raw, block.raw) == (moved, raw)
    memory.own_memmove(at(here, to), at(here, start), size)
    assert block.raw == moved
    memory.own_memset(at(here, to), ctypes.c_int(value - 256), size)
    assert block.raw == moved[:to] + bytes([value]) * count + moved[to + count :]
