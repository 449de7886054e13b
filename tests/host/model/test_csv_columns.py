# SPDX-License-Identifier: BSD-2-Clause
"""The columns of a state: one table in Python, one in C, and files with CellulOS's columns only."""

from __future__ import annotations

from dataclasses import dataclass, fields

import pytest

from cellreap.errors import InputError
from cellreap.headers import parse_table, read_header, source_root
from cellreap.model.csvstate import COLUMNS, HEADER, Row, parse_state
from cellreap.model.csvstate.columns import BASE_HEADER, CELLULOS_COLUMNS, columns_of


def test_c_and_python_and_the_docs_have_the_same_columns() -> None:
    """A column that is added, renamed or moved in only one of them fails here."""
    in_c = [row[0] for row in parse_table(read_header("model_csv.h"), "column")]
    assert in_c == list(COLUMNS)
    assert f"`{HEADER}`" in (source_root() / "docs" / "semantics.md").read_text()


def test_cellulos_columns_are_the_first() -> None:
    """CellulOS's files must be readable whatever columns cellreap adds."""
    assert BASE_HEADER == "NODE_TYPE,NODE_ID,DATA,EDGE_TYPE,EDGE_FROM,EDGE_TO,EXTRA"
    assert columns_of(BASE_HEADER) == CELLULOS_COLUMNS == 7


@pytest.mark.parametrize(
    "line",
    [
        "NODE_TYPE,NODE_ID",
        BASE_HEADER.removesuffix(",EXTRA"),
        HEADER + ",COLOUR",
        HEADER.lower(),
        BASE_HEADER.replace("DATA,EDGE_TYPE", "EDGE_TYPE,DATA"),
        "",
    ],
)
def test_no_other_line_is_a_header(line: str) -> None:
    assert columns_of(line) is None


@dataclass(frozen=True)
class Wider(Row):
    """A row with one extra column."""

    colour: str = ""


@pytest.fixture
def wider(monkeypatch: pytest.MonkeyPatch) -> str:
    """A header with one extra column. Files without it stay valid."""
    columns = tuple(field.name.upper() for field in fields(Wider))
    monkeypatch.setattr("cellreap.model.csvstate.columns.COLUMNS", columns)
    for module in ("rows", "columns"):
        monkeypatch.setattr(f"cellreap.model.csvstate.{module}.Row", Wider)
    return ",".join(columns)


def test_a_file_may_leave_out_columns_that_cellulos_does_not_have(wider: str) -> None:
    """Each row of a file has as many fields as the header has columns."""
    short = parse_state(enumerate([BASE_HEADER, "PD,PD_1,a,,,,PINNED"], 1), "f")[0]
    long = parse_state(enumerate([wider, "PD,PD_1,a,,,,PINNED,red"], 1), "f")[0]
    assert short == long
    for header, row in ((BASE_HEADER, "PD,PD_1,a,,,,,red"), (wider, "PD,PD_1,a,,,,")):
        with pytest.raises(InputError, match=f"expected {header.count(',') + 1} "):
            parse_state(enumerate([header, row], 1), "f")


def test_a_row_is_written_as_it_is_read() -> None:
    row = Row(node_type="PD", node_id="PD_1", data='a "b", c', extra="x")
    ours = "," * (len(COLUMNS) - CELLULOS_COLUMNS)
    assert row.text() == 'PD,PD_1,"a ""b"", c",,,,x' + ours
