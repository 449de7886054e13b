# SPDX-License-Identifier: BSD-2-Clause
"""Writes a state as rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from cellreap.errors import ModelError
from cellreap.model.csvstate.building import infer_managers
from cellreap.model.csvstate.columns import HEADER, Row, split
from cellreap.model.csvstate.version import with_version
from cellreap.model.edges import EDGE_KINDS
from cellreap.model.graph import Edge, Model
from cellreap.model.ids import CORE_TYPES, NodeKind, parse_id
from cellreap.model.nodes import HANDLER, MANAGER, PINNED, READ_ONLY
from cellreap.model.tombstones import Tombstone


def state_rows(model: Model) -> list[str]:
    """The rows of a state, the header first, without line ends.

    The rows are sorted, so that equal states have equal rows. Reading them yields an equal model.
    ModelError if a space that is requested has no manager.
    """
    return [HEADER, *(row.text() for row in (*_node_rows(model), *_edge_rows(model)))]


def _node_rows(model: Model) -> list[Row]:
    holders: dict[str, set[str]] = {}
    for pd, held in model.holds:
        holders.setdefault(held, set()).add(pd)
    asked: dict[str, set[str]] = {}
    for pd, space in model.requests:
        if space not in model.manager:
            raise ModelError(f"{space} is requested by {pd} but has no manager")
        if model.manager[space] != pd:
            asked.setdefault(space, set()).add(model.manager[space])
    rows = []
    for node in sorted(
        model.nodes.values(), key=lambda each: (_ORDER[each.kind], _by_number(each.id))
    ):
        words = [node.extra] if node.extra else []
        if node.kind == "PD" and node.pinned:
            words.insert(0, PINNED)
        elif node.kind == "RESOURCE_SPACE" and node.type not in CORE_TYPES:
            manager = model.manager[node.id]
            told = infer_managers(holders.get(node.id, set()), asked.get(node.id, set()))
            if told != {manager}:
                words.insert(0, f"{MANAGER}{manager}")
        data = node.name if node.kind == "PD" else node.type
        rows.append(Row(node_type=node.kind, node_id=node.id, data=data, extra=" ".join(words)))
    return rows


def _edge_rows(model: Model) -> list[Row]:
    order = {name: place for place, name in enumerate(EDGE_KINDS)}
    subsets = (Edge("SUBSET", res, space) for res, space in model.space_of.items())
    rows = []
    for edge in sorted(
        (*subsets, *model.edges()),
        key=lambda edge: (
            order[edge.kind],
            _by_number(edge.source),
            _by_number(edge.target),
            edge.handler,
        ),
    ):
        rows += _rows_of(model, edge)
    return rows


def _rows_of(model: Model, edge: Edge) -> list[Row]:
    kind, source, target, times, handler, read_only = edge
    row = Row(data="NONE", edge_type=kind, edge_from=source, edge_to=target)
    if kind == "REQUEST":
        type_name, manager = model.nodes[target].type, model.manager[target]
        row = replace(row, data=type_name, edge_to=manager, extra=target)
    if handler:
        row = replace(row, extra=f"{HANDLER}{handler}")
    if read_only:
        row = replace(row, extra=READ_ONLY)
    return [row] * times


def write_state(model: Model) -> str:
    """A state as the text of a file: `state_rows` with the version and line ends."""
    return state_text([*state_rows(model)[1:], *tombstone_rows(model.tombstones.values())])


def tombstone_rows(tombstones: Iterable[Tombstone]) -> list[str]:
    """The rows of destroyed nodes, sorted."""
    rows = []
    for each in sorted(tombstones, key=lambda one: _by_number(one.id)):
        parts = parse_id(each.id)
        if parts is None:
            raise ModelError(f"'{each.id}' is no id")
        data = each.name if parts.kind == "PD" else parts.type
        rows.append(Row(parts.kind, each.id, data, extra=each.words()).text())
    return rows


def state_text(rows: Iterable[str]) -> str:
    """The text of a file with these rows, the header not among them."""
    told = list(rows)
    first = next((at for at, row in enumerate(told) if row.startswith("PD,")), None)
    if first is not None:
        row = Row(*split(told[first]))
        told[first] = replace(row, extra=with_version(row.extra)).text()
    return "\n".join([HEADER, *told]) + "\n"


_ORDER: Final[dict[NodeKind, int]] = {"PD": 0, "RESOURCE_SPACE": 1, "RESOURCE": 2}


def _by_number(id_: str) -> tuple[str, int, int]:
    parts = parse_id(id_)
    if parts is None:
        raise ModelError(f"'{id_}' is no id")
    return parts.type, -1 if parts.space is None else parts.space, parts.number
