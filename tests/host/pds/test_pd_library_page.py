# SPDX-License-Identifier: BSD-2-Clause
"""The page about the library of PDs is made of its headers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cellreap import headers
from kit.c_reference import groups_of, page_of, uses_in
from kit.docs_tables import check_table
from kit.paths import ROOT

HEADERS = ROOT / "pds" / "include" / "cellreap"
PROGRAMS = sorted((ROOT / "examples").glob("*.c"))
OTHERS = {
    "FAULT_INFO": "cr_handle_faults",
    "FINISH_WORK": "cr_do_work",
    "GET_WORK": "cr_do_work",
    "PROGRESS": "cr_cleanup_progress",
}
"""Operation -> the function that asks for it, if that has another name."""


def meanings() -> dict[str, str]:
    """Function of an operation -> what that does. docs/operations.md has its errors."""
    return {
        f"cr_{each.word}": f"{each.sentence} [{each.name}](operations.md)"
        for each in headers.operations()
    }


def page() -> Iterator[str]:
    for name in ("client.h", "ring.h", "epoch.h", "device.h"):
        yield from page_of(HEADERS / name, meanings(), uses_in(PROGRAMS), "../examples")


@pytest.mark.behaviour("V-03")
def test_the_page_is_made_of_the_headers(rewrite: bool) -> None:
    check_table(ROOT / "docs" / "pd-library.md", "headers", list(page()), rewrite)


@pytest.mark.behaviour("V-03")
@pytest.mark.parametrize("name", sorted(path.name for path in HEADERS.glob("*.h")))
def test_every_function_is_explained(name: str) -> None:
    _, groups = groups_of(HEADERS / name)
    bare = [
        function
        for group in groups
        for function in group.functions
        if not group.comment and function not in meanings()
    ]
    assert bare == []
    assert sum(len(group.functions) for group in groups) >= 1


@pytest.mark.behaviour("V-03")
def test_every_operation_has_a_function() -> None:
    functions = {
        function
        for path in HEADERS.glob("*.h")
        for group in groups_of(path)[1]
        for function in group.functions
    }
    named = {each.name: OTHERS.get(each.name, f"cr_{each.word}") for each in headers.operations()}
    assert {name: function for name, function in named.items() if function not in functions} == {}
