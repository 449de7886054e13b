# SPDX-License-Identifier: BSD-2-Clause
"""The public names of the package, without booting."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cellreap
from cellreap.api.states import state_of
from cellreap.model.csvstate import write_state
from cellreap.model.graph import Model
from kit.docs_tables import check_table
from kit.docstrings import attribute_docs, markdown, signature_lines
from kit.paths import CONFIGS, DATA, ROOT

BOOTS = {"run"}
"""Their examples boot. tests/boot/test_api_boots.py runs them."""
SCENARIO = DATA / "scenario.csv"
RECORDED = DATA / "goldens"
TRACE = RECORDED / "block_fs_db_app-0-0.trace"


def public() -> dict[str, Any]:
    return {name: getattr(cellreap, name) for name in cellreap.__all__}


# -- the page


def test_the_page_is_made_of_the_docstrings(rewrite: bool) -> None:
    check_table(ROOT / "docs" / "api.md", "public names", list(page()), rewrite)


def page() -> Iterator[str]:
    """The reference: functions, classes, errors, each in the order of `__all__`."""
    names = public()
    errors = {n for n, v in names.items() if inspect.isclass(v) and issubclass(v, Exception)}
    classes = {n for n, v in names.items() if inspect.isclass(v)} - errors
    for title, which in (
        ("Functions", names.keys() - classes - errors),
        ("Classes", classes),
        ("Errors", errors),
    ):
        yield from ("", f"## {title}")
        for name in cellreap.__all__:
            if name in which:
                yield from entry(name, names[name], signature=title == "Functions")
    yield ""


def entry(name: str, thing: Any, *, signature: bool) -> Iterator[str]:
    yield from ("", f"### {name}", "")
    if signature:
        yield from ("```python", *signature_lines(f"cellreap.{name}", thing), "```", "")
    yield from markdown(thing.__doc__)
    if not inspect.isclass(thing):
        return
    own = [each for each in thing.__mro__ if each.__module__.startswith("cellreap")]
    is_error = issubclass(thing, Exception)
    rows = [row for each in reversed(own) for row in attributes(each)]
    methods = [row for each in own[: 1 if is_error else None] for row in methods_of(each)]
    if is_error and len(own) > 1:
        yield from ("", f"It is a `{own[1].__name__}`.")
    if rows:
        yield from ("", "| attribute | meaning |", "| --- | --- |")
        yield from (f"| `{key}` | {text} |".replace(" | None", " \\| None") for key, text in rows)
    for shown, text in methods:
        yield from ("", "```python", *shown, "```", "", *markdown(text))


def attributes(cls: type) -> list[tuple[str, str]]:
    """Fields and properties. Every one must have a docstring."""
    found = attribute_docs(cls)
    for key, value in vars(cls).items():
        if isinstance(value, property) or type(value).__name__ == "cached_property":
            found[key] = " ".join(inspect.cleandoc(value.__doc__ or "").split())
    shown = [(key, text) for key, text in found.items() if not key.startswith("_")]
    assert [key for key, text in shown if not text] == [], f"{cls}: no docstring"
    return shown


def methods_of(cls: type) -> list[tuple[list[str], str]]:
    found = []
    for key, value in vars(cls).items():
        function = value.__func__ if isinstance(value, classmethod) else value
        if key.startswith("_") or not inspect.isfunction(function):
            continue
        assert function.__doc__, f"{cls}.{key}: no docstring"
        start = f"{cls.__name__}.{key}" if isinstance(value, classmethod) else key
        found.append((signature_lines(start, function), function.__doc__))
    return found


# -- examples


@pytest.mark.parametrize("name", sorted(set(cellreap.__all__) - BOOTS))
def test_the_examples_are_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed = run_examples(name)
    assert failed == 0


def run_examples(name: str) -> int:
    """The number of failed examples of a public name. doctest prints them."""
    found = doctest.DocTestFinder(recurse=False).find(
        getattr(cellreap, name), name, globs={"cellreap": cellreap}
    )
    runner = doctest.DocTestRunner()
    for test in found:
        runner.run(test)
    return runner.failures


def test_the_main_names_have_examples() -> None:
    shown = {name for name, thing in public().items() if ">>> " in (thing.__doc__ or "")}
    assert shown >= {"plan", "run", "state", "System", "Run"}


# -- names


def test_an_import_is_cheap() -> None:
    """It takes nothing but the standard library. A name is imported when it is used."""
    text = (
        "import sys, cellreap; before = set(sys.modules); cellreap.CellreapError; "
        "heavy = ('pydantic', 'rich', 'click', 'cffi', 'elftools', 'tree_sitter'); "
        "print(sorted(name for name in before if name.startswith('cellreap')), "
        "[name for name in heavy if name in sys.modules]); "
        "assert set(cellreap.__all__) <= set(dir(cellreap))"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "['cellreap'] []\n"


def test_the_names_stay_after_everything_was_imported() -> None:
    """A module of the same name would replace a function."""
    for path in (ROOT / "pyhost" / "cellreap").rglob("*.py"):
        parts = path.relative_to(ROOT / "pyhost").with_suffix("").parts
        assert len(parts) != 2 or parts[1] not in cellreap.__all__, path
        assert len(parts) < 3 or parts[1] not in cellreap.__all__, path


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'plans'"):
        _ = cellreap.plans  # type: ignore[attr-defined]


# -- plans


def edges_by_name(model: Model, names: dict[str, str]) -> set[tuple[str, ...]]:
    """The nodes and edges that a configuration tells. Space numbers depend on who was first."""
    known = {node.id: node.name for node in model.nodes.values() if node.kind == "PD"} | names
    bodies = {res: model.body_of(pd) for pd in model.pds() if (res := model.body_of(pd))}
    known |= {body: f"body {body}" for body in bodies if body is not None}
    found: set[tuple[str, ...]] = {
        ("PD", known[pd], str(model.nodes[pd].pinned)) for pd in model.pds()
    }
    found |= {("SPACE", known.get(s, s), known[m]) for s, m in model.manager.items()}
    for edge in model.edges():
        ends = known.get(edge.source, edge.source), known.get(edge.target, edge.target)
        made = edge.kind == "MAP" or (edge.kind == "HOLD" and edge.target in model.space_of)
        if not made or edge.target in bodies:
            found.add((edge.kind, *ends))
    return found


@pytest.mark.behaviour("Y-08")
@pytest.mark.parametrize("recorded", ["block_fs_db_app-1-2", "hang", "extract"])
def test_the_state_of_a_configuration_is_that_of_its_run(recorded: str) -> None:
    config = CONFIGS / f"{recorded.partition('-1')[0]}.toml"
    told, ran = state_of(config), state_of(RECORDED / f"{recorded}.trace", after=0)
    assert told.model.check_legal() == []
    # What the run has besides was made by its programs: subscriptions, for example.
    assert edges_by_name(told.model, dict(told.names)) <= edges_by_name(ran.model, dict(ran.names))
    kinds = {edge.kind for edge in told.model.edges()}
    extra = edges_by_name(ran.model, dict(ran.names)) - edges_by_name(told.model, dict(told.names))
    assert not {row for row in extra if row[0] in {"PD", "SPACE", "FAULT", "LINK"} | kinds}


@pytest.mark.behaviour("Y-08", "X-22")
def test_the_depths_are_those_of_the_source() -> None:
    deep = RECORDED / "block_fs_db_app-1-2.trace"

    def depths(source: Path, crash: str, **how: Any) -> tuple[int | None, int | None]:
        made = cellreap.plan(source, crash, engine="reference", incomplete=True, **how)
        return made.pd_depth, made.rs_depth

    assert depths(SCENARIO, "block_server_1") == (0, 0)
    assert depths(deep, "block_server_1", after=0) == (1, 2)
    assert depths(deep, "block_server_1", after=0, rs_depth="inf") == (1, None)
    config = cellreap.System.read(CONFIGS / "pinned.toml").config
    own = {pd.name: (pd.pd_depth, pd.rs_depth) for pd in config.pds}
    for name, (pd_depth, _) in own.items():
        wanted = config.policy.pd_depth if pd_depth is None else pd_depth
        found = depths(CONFIGS / "pinned.toml", name)[0]
        assert found == (None if wanted == "inf" else wanted)


@pytest.mark.behaviour("Y-08", "X-22")
def test_a_plan_from_a_trace_is_what_the_root_task_planned() -> None:
    for trace in sorted(RECORDED.glob("*/block_fs_db_app-*.trace")):
        made = cellreap.plan(trace, "block_server_1", after=0, engine="reference")
        told = cellreap.check(trace).reading.report.cleanups[0].plan
        assert made.outcome() == {key: told[key] for key in made.outcome()}


@pytest.mark.behaviour("Y-08")
def test_a_state_at_the_end_has_what_is_left() -> None:
    left = cellreap.state(TRACE)
    assert left == cellreap.state(TRACE, after=1)
    before = cellreap.state(TRACE, after=0)
    assert before.nodes.keys() - left.nodes.keys() == {"PD_1", "BLOCK_SPACE_4", "BLOCK_4_1"}
    run = cellreap.check(TRACE)
    assert cellreap.state(run) == left
    assert {left.nodes[pd].name for pd in left.pds()} - {"ROOT_TASK"} == run.alive


def test_a_source_may_be_an_object(tmp_path: Path) -> None:
    model = cellreap.state(SCENARIO)
    plan = cellreap.plan(model, "fs", engine="reference")
    assert plan == cellreap.plan(str(SCENARIO), "fs", engine="reference")
    system = cellreap.System.read(CONFIGS / "hang.toml")
    assert cellreap.state(system) == cellreap.state(CONFIGS / "hang.toml")
    saved = tmp_path / "saved.csv"
    saved.write_text(write_state(cellreap.state(system)))
    assert cellreap.plan(saved, "server", engine="reference") == cellreap.plan(
        system, "server", pd_depth=0, rs_depth=0, engine="reference", incomplete=True
    )


@pytest.mark.parametrize(
    ("source", "how", "said"),
    [
        (SCENARIO, {"after": 1}, "only a trace has cleanups"),
        (CONFIGS / "hang.toml", {"after": 0}, "only a trace has cleanups"),
        (TRACE, {"after": 2}, "expected cleanup 2 in .*, which has 1 cleanup"),
        (TRACE, {"crash": "nobody"}, "no PD has the id or name 'nobody'"),
        (TRACE, {"crash": "PD_0"}, "is the root task, expected another PD"),
        (DATA / "none.csv", {}, "cannot be read: No such file"),
        (CONFIGS / "none.toml", {}, "No such file"),
    ],
)
def test_what_cannot_be_planned_is_an_error(source: Path, how: dict[str, Any], said: str) -> None:
    with pytest.raises(cellreap.CellreapError, match=said):
        cellreap.plan(source, **{"crash": "server", "engine": "reference", **how})


def test_a_damaged_trace_is_planned_with_a_note(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.trace"
    lines = TRACE.read_text().splitlines(keepends=True)
    damaged.write_text("".join(lines[:-3] + lines[-2:]))  # all of the system is made by then
    (note,) = state_of(damaged).notes
    assert note.startswith(f"{damaged}:")
    assert note.endswith("the state may be wrong")
    with pytest.raises(cellreap.UsageError, match="may be wrong"):
        cellreap.state(damaged, strict=True)


def test_an_input_error_names_file_line_and_field(tmp_path: Path) -> None:
    config = tmp_path / "wrong.toml"
    config.write_text('[system]\nname = "wrong"\n[[pd]]\nname = "a"\n')
    with pytest.raises(cellreap.InputError) as caught:
        cellreap.System.read(config)
    error = caught.value
    assert (error.path, error.line_number, error.field) == (str(config), 3, "pd[0].program")


# -- checks


@pytest.mark.behaviour("Y-08")
def test_a_check_against_a_configuration_says_more() -> None:
    """Of two runs, which pass, one was made with the depths that the configuration has."""
    config = CONFIGS / "block_fs_db_app.toml"
    assert cellreap.check(TRACE, config).passed
    deep = RECORDED / "block_fs_db_app-1-2.trace"
    plain = cellreap.check(deep)
    assert plain.passed
    assert "PASS" in plain.story
    assert len(plain.events) == plain.reading.report.events
    other = cellreap.check(deep, config)
    assert not other.passed
    assert "config.system" in other.findings[0]
    assert "FAIL" in other.story
    assert repr(other).startswith("<block_fs_db_app on refkernel 0.1 (x86_64): ")
    assert cellreap.check(deep, cellreap.System.read(config)).findings == other.findings


def test_an_output_that_cannot_be_made_is_an_error_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(cellreap.UsageError, match=r"output=.*/file/out: Not a directory"):
        cellreap.run(CONFIGS / "pinned.toml", output=tmp_path / "file" / "out")
