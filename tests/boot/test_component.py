# SPDX-License-Identifier: BSD-2-Clause
"""The structure of the root task, read from its object files, and a run without a scenario."""

from __future__ import annotations

import io
import itertools
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cellreap.progress import Progress
from cellreap.runs.boot import End, Watch, boot_image
from cellreap.system.image import read_image
from cellreap.system.parts import build_parts
from cellreap.system.sdk import Sdk
from cellreap.system.sections import Sections
from cellreap.system.toolchain import find_toolchain
from cellreap.testing import Target
from cellreap.trace.check import check_stream
from cellreap.trace.reader import Reader, read
from kit.architecture import PAGE, code_lines, named_in
from kit.docs_tables import check_table, table_lines
from kit.paths import ROOT

LAYERS = ("core", "kernel", "system", "supervisor", "scenario")
"""The folders of the root task. Each folder uses only those before it."""


FROM_THE_COMPILER = {"memcpy", "memset", "memmove", "memcmp"}
"""What a compiler calls by itself. kernel/string.c has it, for all folders."""


@dataclass(frozen=True)
class Object:
    """An object file: the symbols that it defines and needs, and its mutable data."""

    folder: str
    name: str
    defines: frozenset[str]
    needs: frozenset[str]
    variables: frozenset[str]
    code: int
    """Bytes of instructions."""


def read_object(path: Path, folder: str) -> Object:
    """What `nm` says about an object file."""
    listed = subprocess.run(["nm", "-P", str(path)], capture_output=True, text=True, check=True)
    rows = [line.split()[:2] for line in listed.stdout.splitlines()]
    rows = [row for row in rows if not row[0].startswith("$")]  # marks on Arm
    sized = subprocess.run(["size", "-A", str(path)], capture_output=True, text=True, check=True)
    sections = [line.split() for line in sized.stdout.splitlines() if line.startswith(".text")]
    return Object(
        folder,
        path.name.split(".")[0],
        frozenset(name for name, kind in rows if kind in "TDBRVWC"),
        frozenset(name for name, kind in rows if kind == "U") - FROM_THE_COMPILER,
        frozenset(name for name, kind in rows if kind in "bdBDC"),
        sum(int(section[1]) for section in sections),
    )


@pytest.fixture(scope="module")
def all_objects(sdk: Sdk) -> list[Object]:
    """The root task's objects, also those that are in no folder, such as setup."""
    parts = build_parts(sdk, find_toolchain(sdk.kernel.arch), Progress(quiet=True))
    found = []
    for target in ("cellreap_core", "cellreap_component", "cellreap_root"):
        top = parts.folder / "CMakeFiles" / f"{target}.dir"
        for path in sorted(top.rglob("*.c.obj")):
            found.append(read_object(path, path.relative_to(top).parts[0]))
    return found


@pytest.fixture(scope="module")
def objects(all_objects: list[Object]) -> list[Object]:
    """Those in its folders."""
    found = [thing for thing in all_objects if thing.folder in LAYERS]
    assert {thing.folder for thing in found} == set(LAYERS)
    return found


def uses(objects: list[Object]) -> Iterator[tuple[Object, Object, str]]:
    """(using folder, used folder, symbol)"""
    definer = {symbol: thing for thing in objects for symbol in thing.defines}
    for thing in objects:
        for symbol in sorted(thing.needs & definer.keys()):
            yield thing, definer[symbol], symbol


def test_no_folder_uses_one_above_it(objects: list[Object]) -> None:
    wrong = [
        f"{who.folder}/{who.name} uses {symbol} of {whom.folder}/{whom.name}"
        for who, whom, symbol in uses(objects)
        if LAYERS.index(whom.folder) > LAYERS.index(who.folder)
    ]
    assert wrong == []


def test_the_supervisors_parts_call_only_those_above_them_in_the_page(
    objects: list[Object],
) -> None:
    order = {name: place for place, name in enumerate(named_in("supervisor"))}

    def place(thing: Object) -> int:
        return order["operations" if thing.name.startswith("operations_") else thing.name]

    below = [
        f"{who.name} uses {symbol} of {whom.name}"
        for who, whom, symbol in uses(objects)
        if who.folder == whom.folder == "supervisor"
        and symbol != "cr_sup"
        and place(who) < place(whom)
    ]
    assert below == []


def test_the_supervisors_state_is_in_one_arena(objects: list[Object]) -> None:
    kept = {
        f"{thing.name}: {symbol}"
        for thing in objects
        if thing.folder == "supervisor"
        for symbol in thing.variables
    }
    assert kept == {"supervisor: cr_sup"}


@pytest.mark.behaviour("L-07")
def test_a_deployed_image_has_no_symbol_that_only_tests_use(
    objects: list[Object], all_objects: list[Object], target: Target
) -> None:
    """That is all that the scenario defines, and what of other folders it alone uses. The functions
    of root.h are in bare.c, too.
    """
    scenario = [thing for thing in objects if thing.folder == "scenario"]
    others = [thing for thing in all_objects if thing.folder != "scenario"]
    only = {symbol for thing in scenario for symbol in thing.defines | thing.needs}
    only -= {symbol for thing in others for symbol in thing.needs}
    only -= {"cr_root_begin", "cr_root_hooks", "cr_root_ready"}

    def symbols(name: str) -> set[str]:
        return set(Sections(read_image(target.image(name)).roottask).symbols)

    assert symbols("bare") & only == set()
    assert only <= symbols("block_fs_db_app")


def test_only_the_scenario_uses_what_only_tests_turn(objects: list[Object]) -> None:
    """Linkers leave out what nothing needs, so a root task without a scenario has none of it."""
    users = {
        (thing.folder, symbol)
        for thing in objects
        for symbol in thing.needs
        if symbol.startswith("cr_inject") or symbol == "cr_model_age"
    }
    assert {folder for folder, _ in users} == {"scenario"}
    assert {"cr_injector_init", "cr_inject_step", "cr_model_age"} <= {name for _, name in users}


@pytest.mark.behaviour("L-05")
def test_what_must_be_trusted_does_not_grow_unnoticed(
    objects: list[Object], sdk: Sdk, arch: str, rewrite: bool
) -> None:
    """The page has the sizes on seL4, right to 4 %. --rewrite writes them anew."""
    if arch != "x86_64":
        pytest.skip("the page has the sizes for x86_64")
    lines, code = Counter[str](), Counter[str]()
    for path in (ROOT / "roottask").rglob("*.c"):
        folder, *below = path.relative_to(ROOT / "roottask").parts
        if "aarch64" not in below:
            lines[folder] += code_lines(path)
    for thing in objects:
        code[thing.folder] += thing.code
    sizes = [(f"`{name}/`", lines[name], code[name]) for name in LAYERS if name != "scenario"]
    sizes.append(("all", sum(row[1] for row in sizes), sum(row[2] for row in sizes)))
    if rewrite:
        rows = [(name, f"{many:,}", f"{size:,}") for name, many, size in sizes]
        head = ("folder", "lines of C", "bytes of instructions")
        check_table(PAGE, "sizes of the root task", table_lines(head, rows), rewrite=True)
    text = PAGE.read_text(encoding="utf-8")
    for name, *found in sizes:
        row = rf"^\| {re.escape(name)} \| ([\d,]+) \| ([\d,]+) \|$"
        (cells,) = re.findall(row, text, re.MULTILINE)
        said = [int(cell.replace(",", "")) for cell in cells]
        if sdk.kernel.name != "seL4":  # its calls are other instructions
            found, said = found[:1], said[:1]
        assert found == [pytest.approx(number, rel=0.04) for number in said], name


def test_a_system_without_a_scenario_runs_and_is_cleaned_up(target: Target) -> None:
    """The run does not end by itself, so its trace has no END.

    Everything before that passes the check.
    """
    console = io.BytesIO()
    seen, lines = Reader("bare"), itertools.count(1)
    rest = b""

    def settles_twice(data: bytes) -> bool:
        nonlocal rest
        *whole, rest = (rest + data).split(b"\n")
        found = [event for line in whole for event in seen.feed(next(lines), line)]
        return any(event.name == "SETTLED" and event["n"] == "2" for event in found)

    boot = boot_image(
        read_image(target.image("bare")),
        console,
        timeout=600,
        idle=90,
        watch=Watch(settles_twice),
    )
    assert boot.end is End.ASKED
    raw = console.getvalue()
    raw = raw[: raw.rfind(b"\n") + 1]  # the emulator was ended in the midst of a line, perhaps
    events = list(read(Reader("bare"), io.BytesIO(raw)))
    gone = [(event["trigger"], event["cause"]) for event in events if event.name == "CLEANUP"]
    names = {event["id"]: event["name"] for event in events if event.name == "PD"}
    assert {(names[pd], cause) for pd, cause in gone} == {("quitter", "exit"), ("crasher", "fault")}
    report = check_stream(io.BytesIO(raw), "bare")
    assert [v.text for v in report.violations if "END" not in v.text] == []
