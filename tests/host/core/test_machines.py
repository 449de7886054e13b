# SPDX-License-Identifier: BSD-2-Clause
"""The state machines equal their tables, and one function changes each state."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from cellreap import headers
from cellreap.model.core.library import library_path
from kit.docs_tables import check_table, table_lines
from kit.paths import ROOT

HEADER = "machines.h"


@dataclass(frozen=True)
class Machine:
    """One machine: its states in order, with name and meaning, and its edges with their reasons."""

    prefix: str
    states: dict[str, tuple[str, str]]
    edges: dict[tuple[str, str], str]


def machine(name: str) -> Machine:
    """The machine of that name, read from the header."""
    text = headers.read_header(HEADER)
    rows = headers.parse_table(text, f"CR_{name}")
    edges = headers.parse_table(text, f"CR_{name}_EDGE")
    assert len({(row[0], row[1]) for row in edges}) == len(edges)
    return Machine(
        f"cr_{name.lower()}",
        {str(row[0]): (str(row[1]), str(row[2])) for row in rows},
        {(str(row[0]), str(row[1])): str(row[2]) for row in edges},
    )


MACHINES = ("LIFE", "WAIT", "PHASE")


@pytest.mark.parametrize("name", MACHINES)
def test_every_state_can_be_reached_and_left(name: str) -> None:
    table = machine(name)
    start, *others = table.states
    assert all(a in table.states and b in table.states for a, b in table.edges)
    reached = {start}
    for _ in table.states:
        reached |= {b for a, b in table.edges if a in reached}
    assert reached == set(table.states)
    assert {a for a, _ in table.edges} == {start, *others}
    assert all(reason for reason in table.edges.values())


@pytest.mark.parametrize("name", MACHINES)
def test_the_core_allows_exactly_the_edges_of_the_table(name: str) -> None:
    """Also for numbers that are no states."""
    table = machine(name)
    may = getattr(ctypes.CDLL(str(library_path())), f"{table.prefix}_may")
    may.argtypes, may.restype = [ctypes.c_uint32, ctypes.c_uint32], ctypes.c_int
    states = list(table.states)
    for a in (*range(len(states) + 2), 2**32 - 1):
        for b in (*range(len(states) + 2), 2**32 - 1):
            known = a < len(states) and b < len(states)
            assert bool(may(a, b)) == (known and (states[a], states[b]) in table.edges)


@pytest.mark.parametrize(
    ("field", "place"),
    [("life", "system/life.c"), ("wait", "system/life.c"), ("phase", "supervisor/cleaner.c")],
)
def test_one_place_changes_a_state(field: str, place: str) -> None:
    assigned = re.compile(rf"(?:\bpd->|\.cleaner\.|\bcleaner->)(?:now\.)?{field} = ")
    found = {
        str(path.relative_to(ROOT / "roottask")): len(assigned.findall(path.read_text()))
        for path in sorted((ROOT / "roottask").rglob("*.c"))
        if assigned.search(path.read_text())
    }
    assert found == {place: 1}


@pytest.mark.parametrize("name", MACHINES)
def test_the_page_shows_the_tables(name: str, request: pytest.FixtureRequest) -> None:
    table = machine(name)
    rewrite = bool(request.config.getoption("--rewrite"))
    shown = {state: name for state, (name, _) in table.states.items()}
    page: Path = ROOT / "docs" / "states.md"
    states = table_lines(("state", "meaning"), list(table.states.values()))
    edges = table_lines(
        ("from", "to", "when"), [(shown[a], shown[b], why) for (a, b), why in table.edges.items()]
    )
    check_table(page, f"{name.lower()} states", states, rewrite)
    check_table(page, f"{name.lower()} edges", edges, rewrite)
