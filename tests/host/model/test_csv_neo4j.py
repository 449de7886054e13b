# SPDX-License-Identifier: BSD-2-Clause
"""States load in Neo4j as CellulOS's import loads them.

That import reads the file with LOAD CSV WITH HEADERS, so a value that is empty is null. It makes a
node for each row whose NODE_TYPE is PD, RESOURCE or RESOURCE_SPACE, with the ID from NODE_ID; its
DATA may become a part of the label. It makes an edge for each row with an EDGE_TYPE, from each node
with the ID EDGE_FROM to each with the ID EDGE_TO, and none where there is no such node. So an ID
that is there twice doubles edges, and an edge whose end is no node is lost without a word.
"""

from __future__ import annotations

import csv
import io
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from cellreap.model.csvstate import read_state, write_state
from cellreap.model.graph import Model
from kit.core_support import describe, random_model, with_pages
from kit.paths import CELLULOS, DATA

COLUMNS = ["NODE_TYPE", "NODE_ID", "DATA", "EDGE_TYPE", "EDGE_FROM", "EDGE_TO", "EXTRA"]
STATES = [DATA / "scenario.csv", *sorted(CELLULOS.glob("*.csv"))]

Loaded = tuple[dict[str, str], Counter[tuple[str, str, str, str]]]


def loaded(text: str) -> Loaded:
    """The nodes, ID -> label, and the edges (type, from, to, DATA) that the import makes."""
    rows = csv.DictReader(io.StringIO(text))
    assert rows.fieldnames == COLUMNS
    nodes: dict[str, str] = {}
    edges: Counter[tuple[str, str, str, str]] = Counter()
    for row in rows:
        assert None not in row, row  # no row has further columns
        assert bool(row["NODE_TYPE"]) != bool(row["EDGE_TYPE"]), row
        if row["NODE_TYPE"]:
            assert row["NODE_TYPE"] in ("PD", "RESOURCE", "RESOURCE_SPACE"), row
            assert row["NODE_ID"], row
            assert row["NODE_ID"] not in nodes, row
            assert row["NODE_TYPE"] == "PD" or re.fullmatch("[A-Z0-9_]+", row["DATA"]), row
            nodes[row["NODE_ID"]] = row["NODE_TYPE"]
        else:
            assert re.fullmatch("[A-Z_]+", row["EDGE_TYPE"]), row
            edges[row["EDGE_TYPE"], row["EDGE_FROM"], row["EDGE_TO"], row["DATA"]] += 1
    lost = [edge for edge in edges if not {edge[1], edge[2]} <= nodes.keys()]
    assert lost == []
    return nodes, edges


def agrees(model: Model) -> set[str]:
    """Asserts that the import makes the model's graph. Returns the types of its edges."""
    nodes, edges = loaded(write_state(model))
    assert nodes == {node.id: node.kind for node in model.nodes.values()}, describe(model)
    of: dict[str, Counter[tuple[str, str]]] = {}
    for (kind, source, target, _), times in edges.items():
        of.setdefault(kind, Counter())[source, target] += times
    assert of.get("HOLD", Counter()) == model.holds
    assert of.get("MAP", Counter()) == Counter(model.maps)
    assert of.get("SUBSET", Counter()) == Counter(model.space_of.items())
    # CellulOS's REQUEST runs to the manager, with the type in DATA.
    assert of.get("REQUEST", Counter()) == Counter(
        (pd, model.manager[space]) for pd, space in model.requests
    )
    asked = Counter(
        (pd, model.manager[space], model.nodes[space].type) for pd, space in model.requests
    )
    assert asked == {
        (source, target, data): times
        for (kind, source, target, data), times in edges.items()
        if kind == "REQUEST"
    }
    return set(of)


@pytest.mark.behaviour("M-13")
@pytest.mark.parametrize("path", STATES, ids=lambda path: path.stem)
def test_a_state_loads_as_it_is(path: Path) -> None:
    model, _ = read_state(path)
    assert {"HOLD", "SUBSET"} <= agrees(model)


@pytest.mark.behaviour("M-13")
def test_random_states_load_as_they_are() -> None:
    seen: set[str] = set()
    for seed in range(150):
        rng = random.Random(seed)
        seen |= agrees(with_pages(random_model(rng), rng))
    assert {"HOLD", "MAP", "SUBSET", "REQUEST", "FAULT", "LINK", "OWN", "SUBSCRIBE"} == seen
