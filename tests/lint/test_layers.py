# SPDX-License-Identifier: BSD-2-Clause
"""The permitted uses between the folders of the package, and between those of the root task."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cellreap.headers import source_root

PACKAGE = source_root() / "pyhost" / "cellreap"
ROOTTASK = source_root() / "roottask"

# Folder -> the folders it may import from. All may use the package's own modules, such as `errors`.
ROOMS: dict[str, set[str]] = {
    "model": set(),
    "trace": {"model"},
    "system": {"model"},
    "runs": {"model", "system", "trace"},
    "api": {"model", "trace", "system", "runs"},
    "boards": {"system", "runs"},
    "campaign": {"model", "system", "runs", "api", "boards"},
    "pictures": {"model", "trace", "runs"},
    "cli": {"model", "trace", "system", "runs", "boards", "api", "pictures", "testing", "campaign"},
    "testing": {"model", "trace", "system", "runs", "api", "cli"},
    "template": set(),  # is copied into projects by `cellreap init`
}
COMMAND_LINE = {"__init__", "__main__", "pytest_plugin"}
"""Modules of the package itself that are its public face. They may use all folders."""

# Folder -> the folders it may include from. All may include public headers (cellreap/...).
FOLDERS: dict[str, set[str]] = {
    "core": set(),
    "host": {"core"},
    "kernel": set(),
    "system": {"kernel"},
    "supervisor": {"kernel", "system"},
    "scenario": {"kernel", "system", "supervisor"},
    "conformance": {"kernel"},
    "loader": set(),
}


def imported_modules(tree: ast.AST, package: str) -> Iterator[str]:
    """The modules of `package` that a module imports, dotted, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == package)


def forbidden_imports(source: str, room: str) -> list[str]:
    """The modules that a module of `room` may not import.

    room "": the module is in the package itself.
    """
    allowed = ROOMS.get(room, set()) | {room}
    found = []
    for name in imported_modules(ast.parse(source), "cellreap"):
        used = name.split(".")[1] if "." in name else ""
        if used in ROOMS and used not in allowed:
            found.append(name)
    return found


def test_every_folder_of_the_package_is_a_room() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if any(path.glob("*.py"))}
    assert rooms <= ROOMS.keys()


def test_rooms_import_only_what_they_may() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).parts
        if len(parts) == 1 and path.stem in COMMAND_LINE:
            continue
        room = parts[0] if len(parts) > 1 else ""
        found += [f"{path.name}: {name}" for name in forbidden_imports(path.read_text(), room)]
    assert found == []


SHARED_WITH_CORE = ("closeness", "graph", "ids", "metrics", "plan", "reference")
"""Modules of the model that the reference may use: the state, and the shapes of results."""


def test_the_reference_never_calls_the_core() -> None:
    """The reference may share the model and the shape of a plan with the core, and nothing else."""
    for path in sorted((PACKAGE / "model" / "reference").glob("*.py")):
        tree = ast.parse(path.read_text())
        modules = {".".join(name.split(".")[:3]) for name in imported_modules(tree, "cellreap")}
        allowed = {f"cellreap.model.{name}" for name in SHARED_WITH_CORE}
        assert modules <= allowed | {"cellreap.errors.UsageError"}, path.name
        assert not set(imported_modules(tree, "cffi")), path.name


@pytest.mark.parametrize(
    ("room", "line", "bad"),
    [
        ("model", "from cellreap.trace.check import check_file", True),
        ("model", "def f():\n    import cellreap.cli.main", True),
        ("trace", "from cellreap import runs", True),
        ("trace", "from cellreap.model.graph import Model", False),
        ("system", "from cellreap.trace import reader", True),
        ("runs", "from cellreap.cli.main import main", True),
        ("cli", "from cellreap.runs.boot import End", False),
        ("", "from cellreap.model.graph import Model", True),
        ("", "from cellreap.errors import UsageError", False),
        ("model", "import json", False),
    ],
)
def test_the_rules_tell_good_imports_from_bad(room: str, line: str, bad: bool) -> None:
    assert bool(forbidden_imports(line, room)) == bad


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def forbidden_includes(root: Path) -> set[str]:
    """The includes that a folder of the root task's sources may not have."""
    found = set()
    for path in sorted(path for path in root.rglob("*") if path.suffix in (".c", ".h", ".S")):
        here = path.relative_to(root)
        for quoted, angled in INCLUDE.findall(path.read_text(encoding="utf-8")):
            name = quoted or angled
            beside = (path.parent / name).resolve()
            if beside.is_file() and not angled:
                name = beside.relative_to(root.resolve()).as_posix()
            used, mine = name.split("/")[0], here.parts[0]
            if used == "sel4":
                bad = here.as_posix() != "kernel/compat.h"
            else:
                bad = used in FOLDERS and used != mine and used not in FOLDERS.get(mine, FOLDERS)
            if bad:
                found.add(f"{here.as_posix()} includes {name}")
    return found


def test_folders_of_the_root_task_include_only_what_they_may() -> None:
    assert forbidden_includes(ROOTTASK) == set()


def test_every_folder_of_the_root_task_has_its_rule() -> None:
    folders = {path.name for path in ROOTTASK.iterdir() if any(path.rglob("*.[ch]"))}
    assert folders == FOLDERS.keys() | {"include"}


@pytest.mark.parametrize(
    ("file", "line", "bad"),
    [
        ("core/model/model.c", '#include "kernel/kernel.h"', True),
        ("core/model/model.c", "#include <cellreap/model.h>", False),
        ("kernel/kernel.c", '#include "system/system.h"', True),
        ("kernel/kernel.c", "#include <sel4/sel4.h>", True),
        ("kernel/compat.h", "#include <sel4/sel4.h>", False),
        ("system/body.c", '  #  include "supervisor/supervisor.h"', True),
        ("system/body.c", '#include "../supervisor/supervisor.h"', True),
        ("supervisor/cleaner.c", '#include "supervisor.h"', False),
        ("supervisor/cleaner.c", '#include "scenario/director.h"', True),
        ("scenario/director.c", '#include "supervisor/supervisor.h"', False),
        ("main.c", '#include "scenario/director.h"', False),
        ("supervisor/cleaner.c", '#include "system/text.h"', False),
    ],
)
def test_the_rules_tell_good_includes_from_bad(
    tmp_path: Path, file: str, line: str, bad: bool
) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(f"{line}\n")
    (tmp_path / "supervisor").mkdir(exist_ok=True)
    (tmp_path / "supervisor" / "supervisor.h").touch()
    assert bool(forbidden_includes(tmp_path)) == bad


_ROW_CHANGES = re.compile(r"\bcr_model_(add_edge|drop_edge|cut_edge|set_pinned|destroy)\s*\(")


@pytest.mark.behaviour("H-10")
def test_only_one_file_of_the_root_task_changes_rows_of_the_state() -> None:
    """Every other change would miss the digest of the state."""
    found = {
        str(path.relative_to(ROOTTASK))
        for folder in ("system", "supervisor", "scenario")
        for path in (ROOTTASK / folder).glob("*.c")
        if _ROW_CHANGES.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"system/rows.c"}
