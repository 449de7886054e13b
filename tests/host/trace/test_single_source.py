# SPDX-License-Identifier: BSD-2-Clause
"""Each fact has one place. If a second place is needed, a comparison keeps both equal.

The tests show that each comparison notices an edit of one copy.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cellreap import headers
from cellreap.trace import events
from kit.single_source import (
    COMPARISONS,
    LIMITS_PAGE,
    NUMBERS,
    TRACE_PAGE,
    events_in_docs,
    limits_in_docs,
    types_in_docs,
)

COPIED = sorted(
    {
        "README.md",
        "docs/operations.md",
        "docs/semantics.md",
        TRACE_PAGE,
        LIMITS_PAGE,
        "pyhost/cellreap/model/edges.py",
        "pyhost/cellreap/model/ids.py",
        "pyhost/cellreap/trace/faults.py",
        "pyhost/cellreap/system/config/schema.py",
        "tests/kit/decode_reference.py",
        *(name for name, *_ in NUMBERS),
    }
)
INCLUDE = "roottask/include/cellreap"

# (the comparison that must notice the edit, file, original text, edited text)
EDITS = [
    ("events", f"{INCLUDE}/trace_events.h", '"EXTRACTED"', '"FETCH"'),
    ("events", f"{INCLUDE}/trace_events.h", "FIELD(ms, NUMBER)", "FIELD(msec, NUMBER)"),
    ("events", f"{INCLUDE}/trace_events.h", "FIELD(paddr, ADDRESS)", "FIELD(paddr, NUMBER)"),
    ("events", f"{INCLUDE}/trace_events.h", '"A PD was made."', '"A PD was born."'),
    ("events", TRACE_PAGE, "| `FINISH_WORK` |", "| `ACK` |"),
    ("events", TRACE_PAGE, "token: number", "number: number"),
    ("types", f"{INCLUDE}/trace_events.h", '"late"', '"deadline"'),
    ("types", f"{INCLUDE}/trace_events.h", '"8 hex digits"', '"16 hex digits"'),
    ("types", f"{INCLUDE}/policy.h", '"disconnect"', '"disconnected"'),
    ("types", f"{INCLUDE}/protocol.h", '"cap-fault"', '"capability-fault"'),
    ("types", TRACE_PAGE, "exit, terminate, late", "exit, terminate, deadline"),
    ("limits", f"{INCLUDE}/limits.h", "CR_MAX_TICKETS, 4096", "CR_MAX_TICKETS, 4097"),
    ("limits", LIMITS_PAGE, "| `CR_MAX_SAYS` | 4,096 |", "| `CR_MAX_SAYS` | 4,000 |"),
    ("numbers", f"{INCLUDE}/limits.h", "CR_MAX_TICKETS, 4096", "CR_MAX_TICKETS, 4097"),
    ("numbers", "docs/status.md", "4,096 tickets", "4,069 tickets"),
    ("numbers", "docs/status.md", "32,768 nodes", "32,786 nodes"),
    ("numbers", TRACE_PAGE, "up to 1,000 in a *REFUSED*", "up to 100 in a *REFUSED*"),
    ("numbers", "pyhost/cellreap/system/config/schema.py", "le=200)", "le=255)"),
    ("operations", f"{INCLUDE}/protocol.h", "CR_OP_GIVE, 10", "CR_OP_GIVE, 110"),
    ("operations", "docs/operations.md", "| `GIVE` 10 |", "| `GIVE` 11 |"),
    ("steps", f"{INCLUDE}/steps.h", '"await"', '"wait"'),
    ("steps", TRACE_PAGE, "| `cut-request` |", "| `cut-requests` |"),
    ("core types", f"{INCLUDE}/model.h", '"VCPU"', '"VIRTUAL"'),
    ("core types", "pyhost/cellreap/model/ids.py", '"VCPU"', '"VIRTUAL"'),
    ("core types", "tests/kit/decode_reference.py", "ADS VMR MO VCPU", "ADS VMR MO"),
    ("core types", "docs/semantics.md", "`ADS VMR MO VCPU", "`ADS VMR MO VCPUS"),
    ("edge kinds", f"{INCLUDE}/model.h", '"OWN"', '"OWNS"'),
    ("edge kinds", "pyhost/cellreap/model/edges.py", '"OWN": EdgeKind', '"OWNS": EdgeKind'),
    ("node kinds", f"{INCLUDE}/model.h", '"RESOURCE_SPACE"', '"SPACE"'),
    ("node kinds", "pyhost/cellreap/model/ids.py", '"RESOURCE_SPACE"', '"SPACE"'),
    ("fault kinds", f"{INCLUDE}/protocol.h", '"vm-fault"', '"page-fault"'),
    ("fault kinds", "pyhost/cellreap/trace/faults.py", '"vm-fault"', '"page-fault"'),
    ("modes", f"{INCLUDE}/trace_events.h", '"sync"', '"synchronous"'),
    ("modes", "pyhost/cellreap/system/config/schema.py", '"sync"', '"synchronous"'),
]


def _forget() -> None:
    for cached in (
        headers.enums,
        headers.operations,
        headers.event_table,
        events.field_types,
    ):
        cached.cache_clear()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the files that the comparisons read. They read the copy instead of the checkout."""
    root = headers.source_root()
    shutil.copytree(root / INCLUDE, tmp_path / INCLUDE)
    for name in COPIED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, tmp_path / name)
    monkeypatch.setattr(headers, "source_root", lambda: tmp_path)
    _forget()
    yield tmp_path
    monkeypatch.undo()
    _forget()


@pytest.mark.parametrize("name", COMPARISONS)
def test_all_copies_of_a_fact_are_the_same(name: str) -> None:
    COMPARISONS[name]()


def test_tables_in_the_docs_are_those_of_the_headers(rewrite: bool) -> None:
    """`pytest --rewrite` writes the tables."""
    events_in_docs(rewrite)
    types_in_docs(rewrite)
    limits_in_docs(rewrite)


@pytest.mark.parametrize(("name", "file", "old", "new"), EDITS)
def test_an_edit_of_one_copy_is_noticed(
    tree: Path, name: str, file: str, old: str, new: str
) -> None:
    COMPARISONS[name]()
    text = (tree / file).read_text()
    assert old in text, f"{file}: {old} is not there any more"
    (tree / file).write_text(text.replace(old, new))
    _forget()
    with pytest.raises(AssertionError):
        COMPARISONS[name]()


def test_each_comparison_is_shown_to_work() -> None:
    assert {name for name, *_ in EDITS} == set(COMPARISONS)
