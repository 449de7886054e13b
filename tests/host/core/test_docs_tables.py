# SPDX-License-Identifier: BSD-2-Clause
"""The tables in the docs equal those of the C headers. `pytest --rewrite` writes them anew."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from cellreap.headers import (
    HOME_VARIABLE,
    Operation,
    enums,
    names_of,
    operations,
    parse_forms,
    printed_names,
    source_root,
    table,
)
from cellreap.model.core.library import LIBRARY_VARIABLE, library_path, load_core
from kit.docs_tables import check_table, table_lines

# Tables of (enumerator, number, name, meaning): marker -> head, macro.
NAMED = {
    "look states": ("state", "CR_LOOK_STATE"),
    "ticket states": ("state", "CR_TICKET_STATE"),
    "fault kinds": ("kind", "CR_FAULT_KIND"),
    "work results": ("result", "CR_WORK_RESULT"),
    "reports": ("report", "CR_REPORT"),
    "endings": ("how", "CR_ENDING"),
}

# The docs' name for an argument, beside the name of its member.
SHOWN = {
    "FLAG": "{} (0, 1)",
    "FLAG_OR_NOT": "[{} (0, 1)]",
    "HANDLER_OR_NOT": "[{}]",
    "TEXT": "bytes, {}",
    "PD": "PD",
    "PD_OR_NOT": "[PD]",
}

PAGE = """\
before
<!-- table: one -->
| a | b |
| --- | --- |
| 1 | x |
<!-- end of table: one -->
after
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A page with one table."""
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_a_table_that_is_right_is_left_alone(page: Path) -> None:
    for rewrite in (False, True):
        check_table(page, "one", table_lines(("a", "b"), [("1", "x")]), rewrite)
        assert page.read_text() == PAGE


def test_a_table_that_differs_is_an_error_and_can_be_rewritten(page: Path) -> None:
    lines = table_lines(("a", "b"), [("1", "x|y")])
    with pytest.raises(AssertionError, match=r"\+\| 1 \| x\\\|y \|"):
        check_table(page, "one", lines, rewrite=False)
    assert page.read_text() == PAGE
    check_table(page, "one", lines, rewrite=True)
    check_table(page, "one", lines, rewrite=False)
    assert page.read_text() == PAGE.replace("| x |", "| x\\|y |")


@pytest.mark.parametrize(("old", "new"), [(": one", ": two"), ("after", "<!-- table: one -->")])
def test_a_marker_must_be_there_once(page: Path, old: str, new: str) -> None:
    page.write_text(PAGE.replace(old, new))
    with pytest.raises(AssertionError, match=r"found it [02] times"):
        check_table(page, "one", [], rewrite=True)


def _argument(form: str, member: str) -> str:
    """An argument as the docs show it."""
    if form == "ROWS":
        (fields,) = (str(row[3]) for row in table("protocol.h", "CR_ROW_FORM") if row[0] == member)
        names = ", ".join(field.replace("_", " ") for _, field in parse_forms(fields))
        return f"count, then {names} each"
    return SHOWN.get(form, "{}").format(member.replace("_", " "))


def _of_topic(topic: str) -> list[str]:
    rows = []
    for each in operations():
        if each.topic == topic:
            arguments = ", ".join(_argument(*form) for form in parse_forms(each.arguments))
            form = f"{arguments} → {each.results}".strip()
            rows.append((f"`{each.name}` {each.number}", form, each.sentence))
    return table_lines(("operation", "arguments → results", "what it does"), rows)


def _for_doomed_pds() -> list[str]:
    names = [f"`{each.name}`" for each in operations() if each.asker == "CR_FROM_ANY"]
    return textwrap.wrap(", ".join(names) + ".", 98)


def _results() -> list[str]:
    rows = []
    for enumerator, number, meaning in table("protocol.h", "CR_RESULT"):
        rows.append((f"`{str(enumerator).removeprefix('CR_RESULT_')}` {number}", str(meaning)))
    return table_lines(("result", "meaning"), rows)


def _limits() -> list[str]:
    rows = [(f"`{name}`", str(n), str(what)) for name, n, what in table("protocol.h", "CR_LIMIT")]
    return table_lines(("limit", "", "what it limits"), rows)


def _named(head: str, macro: str) -> list[str]:
    rows = [(f"`{name}` {n}", str(meaning)) for _, n, name, meaning in table("protocol.h", macro)]
    return table_lines((head, "meaning"), rows)


def _notice_kinds() -> list[str]:
    """The kinds in the order in which the core hands notices out."""
    _, lib = load_core(("status.h", "model.h", "metrics.h", "policy.h", "work.h"))
    kinds = {number: row for _, number, *row in table("policy.h", "CR_NOTICE_KIND")}
    order = [int(kind) for kind in lib.cr_work_precedence]
    assert sorted(order) == sorted(kinds)
    rows = [(f"`{kinds[kind][0]}` {kind}", *map(str, kinds[kind][1:])) for kind in order]
    return table_lines(("kind", "about", "meaning"), rows)


def tables() -> dict[str, tuple[str, list[str]]]:
    """Every table: marker -> page, and its lines according to the headers."""
    topics = dict.fromkeys(each.topic for each in operations())
    found = {f"operations on {topic}": ("operations.md", _of_topic(topic)) for topic in topics}
    found["operations for doomed PDs"] = ("operations.md", _for_doomed_pds())
    found["results"] = ("protocol.md", _results())
    found["limits"] = ("protocol.md", _limits())
    found["notice kinds"] = ("operations.md", _notice_kinds())
    for marker, (head, macro) in NAMED.items():
        found[marker] = ("operations.md", _named(head, macro))
    steps = [
        (f"`{name}`", str(what), str(undone))
        for _, _, name, what, undone in table("make_steps.h", "CR_MAKE_STEP")
    ]
    lines = table_lines(("step", "what it does", "how it is undone"), steps)
    found["steps of making"] = ("architecture.md", lines)
    words = [(str(number), str(what)) for _, number, what in table("protocol.h", "CR_REPORT_WORD")]
    found["words of a report"] = ("operations.md", table_lines(("word", "what it is"), words))
    words = [(str(number), str(what)) for _, number, what in table("protocol.h", "CR_MORTEM_WORD")]
    lines = table_lines(("word", "what it is"), words)
    found["words of a post-mortem"] = ("operations.md", lines)
    rows = [(f"`{word}`", str(what)) for _, _, word, what in table("limits.h", "CR_QUOTA")]
    found["quotas"] = ("architecture.md", table_lines(("quota", "what is counted"), rows))
    return found


@pytest.mark.parametrize("marker", tables())
def test_the_docs_have_what_the_headers_have(marker: str, rewrite: bool) -> None:
    page, lines = tables()[marker]
    check_table(source_root() / "docs" / page, marker, lines, rewrite)


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout of headers and docs alone, which all functions under test then read."""
    caches = (source_root, enums, operations)
    monkeypatch.setenv(LIBRARY_VARIABLE, str(library_path()))
    for folder in ("roottask/include", "docs"):
        shutil.copytree(source_root() / folder, tmp_path / folder)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    for cache in caches:
        cache.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


def _check_all() -> None:
    for marker, (page, lines) in tables().items():
        check_table(source_root() / "docs" / page, marker, lines, rewrite=False)


HEADER, POLICY = "roottask/include/cellreap/protocol.h", "roottask/include/cellreap/policy.h"
OPERATIONS, PROTOCOL = "docs/operations.md", "docs/protocol.md"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (HEADER, "CR_OP_GIVE, 10,", "CR_OP_GIVE, 31,"),
        (HEADER, "CR_OP_GIVE, 10,", "CR_OP_GRANT, 10,"),
        (HEADER, "WORD(ticket) FLAG(wait)", "FLAG(wait) WORD(ticket)"),
        (HEADER, "WORD(ticket) FLAG(wait)", "WORD(ticket)"),
        (HEADER, "NAME(name) FLAG_OR_NOT(no_wait)", "NAME(name) FLAG(no_wait)"),
        (HEADER, "PD_OR_NOT(pd)", "PD(pd)"),
        (HEADER, "RESULT(holds_left)", "RESULT(slot)"),
        (
            HEADER,
            "RESULT(holds_left), PLAIN, TOLD_SOME, CR_FROM_LIVE",
            "RESULT(holds_left), PLAIN, TOLD_SOME, CR_FROM_ANY",
        ),
        (HEADER, "CR_RESULT_FULL, 8,", "CR_RESULT_FULL, 14,"),
        (HEADER, "CR_RESULT_FULL, 8,", "CR_RESULT_ENOUGH, 8,"),
        (HEADER, "CR_WORK_MAX, 16,", "CR_WORK_MAX, 17,"),
        (HEADER, '"each"', '"every"'),
        (HEADER, '"vm-fault"', '"page-fault"'),
        (HEADER, "CR_TICKET_SETTLED, 2,", "CR_TICKET_SETTLED, 4,"),
        (HEADER, "CR_LOOK_DOOMED, 1,", "CR_LOOK_DOOMED, 3,"),
        (POLICY, '"pre-destroy"', '"before"'),
        (OPERATIONS, "| `GIVE` 10 |", "| `GIVE` 11 |"),
        (OPERATIONS, "| space, object, badge, [read only", "| space, badge, [read only"),
        (OPERATIONS, "| `failed` 1 |", "| `failed` 2 |"),
        (OPERATIONS, "`LOOK`,", ""),
        (PROTOCOL, "| `FULL` 8 |", "| `FULL` 9 |"),
        (PROTOCOL, "| `CR_SAY_MAX` | 400 |", "| `CR_SAY_MAX` | 401 |"),
    ],
)
def test_one_copy_edited_is_found(copy: Path, file: str, old: str, new: str) -> None:
    _check_all()
    path = copy / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    for cache in (enums, operations):
        cache.cache_clear()
    with pytest.raises(AssertionError):
        _check_all()


@pytest.mark.parametrize("each", operations(), ids=lambda each: each.word)
def test_each_operation_has_its_words_and_its_rules(each: Operation) -> None:
    """One word in C stands for one entry in the docs: the permitted PDs and the further results."""
    assert each.word.upper() == each.name
    page = (source_root() / "docs" / "operations.md").read_text()
    section = page.split(f"<!-- end of table: operations on {each.topic} -->")[1].split("\n## ")[0]
    assert len(re.findall(rf"^- `{each.name}`: ", section, re.MULTILINE)) == 1


@pytest.mark.parametrize(
    ("header", "macro", "tag"),
    [
        ("policy.h", "CR_NOTICE_KIND", "cr_notice_kind"),
        ("protocol.h", "CR_LOOK_STATE", "cr_look_state"),
        ("protocol.h", "CR_TICKET_STATE", "cr_ticket_state"),
    ],
)
def test_names_are_those_of_the_enumerators(header: str, macro: str, tag: str) -> None:
    assert names_of(
        header, tag, f"{macro.removesuffix('_KIND').removesuffix('_STATE')}_"
    ) == printed_names(header, macro)
