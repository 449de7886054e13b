# SPDX-License-Identifier: BSD-2-Clause
"""The tables in the docs are those of the C headers; `pytest --rewrite` writes them anew."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from cellreap.headers import (
    Operation,
    names_of,
    operations,
    parse_forms,
    parse_table,
    printed_names,
    read_header,
    source_root,
)
from cellreap.model.core import load_core
from kit.docs_tables import check_table, table_lines

DOCS = source_root() / "docs"
TOPICS = {each.topic: None for each in operations()}  # each once, in their order

# Tables of (enumerator, number, name, meaning): marker -> head, header, macro.
NAMED = {
    "look states": ("state", "protocol.h", "CR_LOOK_STATE"),
    "ticket states": ("state", "protocol.h", "CR_TICKET_STATE"),
    "fault kinds": ("kind", "protocol.h", "CR_FAULT_KIND"),
    "work results": ("result", "protocol.h", "CR_WORK_RESULT"),
}

# What an argument is called in the docs, beside its member's name.
SHOWN = {
    "FLAG": "{} (0, 1)",
    "FLAG_OR_NOT": "[{} (0, 1)]",
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


def table(header: str, macro: str) -> list[tuple[str | int, ...]]:
    """The rows of a table in a header."""
    return parse_table(read_header(header), macro)


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


@pytest.mark.parametrize("topic", TOPICS)
def test_operations(topic: str, rewrite: bool) -> None:
    check_table(DOCS / "operations.md", f"operations on {topic}", _of_topic(topic), rewrite)


@pytest.mark.parametrize("each", operations(), ids=lambda each: each.word)
def test_each_operation_has_its_words_and_its_rules(each: Operation) -> None:
    """One word in C, and in the docs one entry that says who may ask, and what else is answered."""
    assert each.word.upper() == each.name
    page = (DOCS / "operations.md").read_text()
    section = page.split(f"<!-- end of table: operations on {each.topic} -->")[1].split("\n## ")[0]
    assert len(re.findall(rf"^- `{each.name}`: ", section, re.MULTILINE)) == 1


def test_operations_that_doomed_pds_may_ask_for(rewrite: bool) -> None:
    names = [f"`{each.name}`" for each in operations() if each.asker == "CR_FROM_ANY"]
    lines = textwrap.wrap(", ".join(names) + ".", 100)
    check_table(DOCS / "operations.md", "operations for doomed PDs", lines, rewrite)


def test_results(rewrite: bool) -> None:
    rows = []
    for enumerator, number, meaning in table("protocol.h", "CR_RESULT"):
        rows.append((f"`{str(enumerator).removeprefix('CR_RESULT_')}` {number}", str(meaning)))
    check_table(DOCS / "protocol.md", "results", table_lines(("result", "meaning"), rows), rewrite)


def test_limits(rewrite: bool) -> None:
    rows = [(f"`{name}`", str(number), str(what)) for name, number, what in table("protocol.h", "CR_LIMIT")]
    check_table(DOCS / "protocol.md", "limits", table_lines(("limit", "", "what it limits"), rows), rewrite)


@pytest.mark.parametrize("marker", NAMED)
def test_names_and_numbers(marker: str, rewrite: bool) -> None:
    head, header, macro = NAMED[marker]
    rows = [(f"`{name}` {number}", str(meaning)) for _, number, name, meaning in table(header, macro)]
    check_table(DOCS / "operations.md", marker, table_lines((head, "meaning"), rows), rewrite)


def test_notice_kinds(rewrite: bool) -> None:
    """In the order in which the core hands them out."""
    _, lib = load_core(("status.h", "model.h", "policy.h", "work.h"))
    kinds = {number: row for _, number, *row in table("policy.h", "CR_NOTICE_KIND")}
    order = [int(kind) for kind in lib.cr_work_precedence]
    assert sorted(order) == sorted(kinds)
    rows = [(f"`{kinds[kind][0]}` {kind}", *map(str, kinds[kind][1:])) for kind in order]
    lines = table_lines(("kind", "about", "meaning"), rows)
    check_table(DOCS / "operations.md", "notice kinds", lines, rewrite)


@pytest.mark.parametrize(
    ("header", "macro", "tag"),
    [
        ("policy.h", "CR_NOTICE_KIND", "cr_notice_kind"),
        ("protocol.h", "CR_LOOK_STATE", "cr_look_state"),
        ("protocol.h", "CR_TICKET_STATE", "cr_ticket_state"),
    ],
)
def test_names_are_those_of_the_enumerators(header: str, macro: str, tag: str) -> None:
    assert names_of(header, tag, f"{macro.removesuffix('_KIND').removesuffix('_STATE')}_") == printed_names(
        header, macro
    )
