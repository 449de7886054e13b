# SPDX-License-Identifier: BSD-2-Clause
"""Writing model states: the output is deterministic and is read back to an equal model."""

from __future__ import annotations

import csv
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellreap.errors import ModelError
from cellreap.model.csvstate import (
    COLUMNS,
    HEADER,
    parse_state,
    read_state,
    state_rows,
    write_state,
)
from cellreap.model.csvstate.columns import CELLULOS_COLUMNS
from cellreap.model.graph import Model
from kit.core_support import random_model, system
from kit.paths import DATA

SCENARIO = DATA / "scenario.csv"

printable = st.text(
    st.characters(exclude_categories=["C", "Z"], include_characters=' ,"'), max_size=20
)
# Two words have a meaning at the start of EXTRA, and the model refuses them there.
extra_text = printable.filter(
    lambda text: text.split(" ")[0] != "PINNED" and not text.startswith("MANAGER=")
)


def read_back(rows: list[str]) -> Model:
    """The model of rows that cellreap wrote, read strictly."""
    return parse_state(enumerate(rows, 1), "written", ours=True)[0]


def cellulos_fields(rows: list[str]) -> list[str]:
    """The rows with CellulOS's columns, which come first."""
    return [",".join(next(csv.reader([row]))[:CELLULOS_COLUMNS]) for row in rows]


@pytest.mark.slow
@pytest.mark.behaviour("M-01")
@settings(max_examples=300)
@given(seed=st.integers(0, 2**32), name=printable, extra=extra_text)
def test_round_trip(seed: int, name: str, extra: str) -> None:
    rng = random.Random(seed)
    model = random_model(rng)
    free = next(f"PD_{n:x}" for n in range(1, 64) if f"PD_{n:x}" not in model.nodes)
    model.add_pd(free, name, pinned=rng.random() < 0.5, extra=extra)
    model.add_space("NOTE_SPACE_7f", free, extra=extra)
    model.add_hold(free, "NOTE_SPACE_7f")
    model.add_resource("NOTE_7f_0", "NOTE_SPACE_7f", extra=extra)
    rows = state_rows(model)
    assert read_back(rows) == model
    assert state_rows(read_back(rows)) == rows


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_equal_states_have_equal_rows_whatever_came_first(seed: int) -> None:
    rng = random.Random(seed)
    rows = state_rows(random_model(rng))
    shuffled = rows[1:]
    rng.shuffle(shuffled)
    assert state_rows(read_back([HEADER, *shuffled])) == rows


@pytest.mark.behaviour("M-01")
def test_rows_have_the_columns_that_cellulos_reads() -> None:
    model, _ = read_state(SCENARIO)
    model.set_pinned("PD_4", True)
    model.add_hold("PD_5", "TABLE_4_1", 2)
    text = write_state(model)
    shown = cellulos_fields(text.splitlines())
    assert shown[0] == "NODE_TYPE,NODE_ID,DATA,EDGE_TYPE,EDGE_FROM,EDGE_TO,EXTRA"
    rows = list(csv.DictReader(text.splitlines()))
    ids = {row["NODE_ID"] for row in rows if row["NODE_TYPE"]}
    for row in rows:
        assert set(row) == set(COLUMNS)
        if row["NODE_TYPE"]:
            assert [row["EDGE_TYPE"], row["EDGE_FROM"], row["EDGE_TO"]] == ["", "", ""]
        else:
            assert not row["NODE_ID"]
            assert {row["EDGE_FROM"], row["EDGE_TO"]} <= ids
    assert "PD,PD_4,db,,,,PINNED" in shown
    assert ",,TABLE,REQUEST,PD_5,PD_4,TABLE_SPACE_4" in shown
    assert shown.count(",,NONE,HOLD,PD_5,TABLE_4_1,") == 3


def test_numbers_are_sorted_as_numbers() -> None:
    model = Model()
    for n in (0x10, 2, 0):
        model.add_pd(f"PD_{n:x}")
    assert cellulos_fields(state_rows(model))[1:] == [
        "PD,PD_0,,,,,",
        "PD,PD_2,,,,,",
        "PD,PD_10,,,,,",
    ]


def test_manager_is_written_only_where_the_edges_do_not_tell() -> None:
    model = system("PD_1 manages DISK_SPACE_1 with DISK_1_1\nPD_2 holds DISK_SPACE_1")
    assert "RESOURCE_SPACE,DISK_SPACE_1,DISK,,,,MANAGER=PD_1" in cellulos_fields(state_rows(model))
    assert read_back(state_rows(model)) == model
    model.add_request("PD_2", "DISK_SPACE_1")
    assert "RESOURCE_SPACE,DISK_SPACE_1,DISK,,,," in cellulos_fields(state_rows(model))
    assert read_back(state_rows(model)) == model
    # Only another PD holds the space, so the edges would name the wrong manager.
    careless = system("PD_1 manages DISK_SPACE_1 with DISK_1_1\nPD_2 holds DISK_SPACE_1")
    careless.drop_hold("PD_1", "DISK_SPACE_1")
    assert read_back(state_rows(careless)) == careless


@pytest.mark.parametrize("text", ["two\nlines", "a\x1b[31m", "\udcff", "x" * 257])
def test_text_that_would_forge_rows_is_refused(text: str) -> None:
    model = Model()
    with pytest.raises(ModelError, match="PD_1: the name"):
        model.add_pd("PD_1", text)
    model.add_pd("PD_1")
    with pytest.raises(ModelError, match="the extra text"):
        model.add_space("DISK_SPACE_1", "PD_1", extra=text)


def test_extra_text_that_means_something_else_is_refused() -> None:
    model = Model()
    with pytest.raises(ModelError, match="cannot begin with PINNED"):
        model.add_pd("PD_1", extra="PINNED down")
    model.add_pd("PD_1")
    with pytest.raises(ModelError, match="cannot begin with MANAGER="):
        model.add_space("DISK_SPACE_1", "PD_1", extra="MANAGER=PD_2")
