# SPDX-License-Identifier: BSD-2-Clause
"""Rows of a state, each checked on its own."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import Final, NamedTuple, NoReturn

from cellreap.errors import InputError
from cellreap.model.csvstate.columns import (
    BASE_HEADER,
    CELLULOS_COLUMNS,
    COLUMNS,
    HEADER,
    Row,
    columns_of,
    split,
)
from cellreap.model.csvstate.report import ReadReport, many
from cellreap.model.csvstate.version import take_version
from cellreap.model.edges import EDGE_KINDS
from cellreap.model.graph import HANDLERS
from cellreap.model.ids import NodeKind, is_id, is_object, parse_id
from cellreap.model.nodes import HANDLER, PINNED, READ_ONLY

_NODE_KINDS: Final[dict[str, NodeKind]] = {
    "PD": "PD",
    "RESOURCE_SPACE": "RESOURCE_SPACE",
    "RESOURCE": "RESOURCE",
}


class NodeRow(NamedTuple):
    """A row of a node, with its line number."""

    line: int
    kind: NodeKind
    id: str
    data: str
    extra: str


class EdgeRow(NamedTuple):
    """A row of an edge, with its line number."""

    line: int
    type: str
    source: str
    target: str
    data: str
    extra: str

    def __str__(self) -> str:
        return f"{self.type} from {self.source} to {self.target}"


def is_row(line: str) -> bool:
    """Whether a line is a row of a state. Other lines belong to a log around it."""
    return line.startswith((",,", "PD,", "RESOURCE_SPACE,", "RESOURCE,"))


def split_rows(
    lines: Iterable[tuple[int, str]], report: ReadReport
) -> tuple[dict[str, NodeRow], list[EdgeRow]]:
    """Sorts the lines into node rows by id and edge rows. Each row is valid on its own."""
    path = report.path
    nodes: dict[str, NodeRow] = {}
    edges: list[EdgeRow] = []
    header_at: int | None = None
    columns = 0
    number = plain = 0
    for number, line in lines:
        if columns == CELLULOS_COLUMNS:
            fields = line.split(",")
            if len(fields) == CELLULOS_COLUMNS:
                if not fields[0]:
                    if (edge := _plain_edge(number, fields, nodes)) is not None:
                        plain += 1
                        edges.append(edge)
                        continue
                elif (node := _plain_node(number, fields, nodes)) is not None:
                    plain += 1
                    nodes[node.id] = node
                    continue
        if not line.lstrip().startswith(COLUMNS[0]):
            pass  # no header, and most lines are none
        elif (count := columns_of(line.strip())) is not None:
            if header_at is not None:
                raise InputError(
                    path,
                    number,
                    None,
                    f"a second header (the first is in line {header_at}), expected one state",
                )
            header_at, columns = number, count
            continue
        if line.startswith(f"{HEADER},"):
            unknown = line.strip().removeprefix(f"{HEADER},")
            message = f"this program does not know the column {unknown}, expected {HEADER}"
            raise InputError(path, number, None, f"{message}, or a later cellreap")
        if not is_row(line):
            report.skipped += bool(line.strip())
            continue
        if header_at is None:
            raise InputError(
                path, number, None, f"a row before the header, expected {BASE_HEADER} first"
            )
        report.rows += 1
        try:
            fields = split(line)
        except csv.Error as error:
            raise InputError(path, number, None, f"bad quoting: {error}") from None
        if len(fields) != columns:
            names = ",".join(COLUMNS[:columns])
            said = f"{len(fields)} columns, expected {columns} ({names})"
            raise InputError(path, number, None, said)
        row = Row(*fields)
        if row.node_type:
            node = _node_row(report, number, row)
            before = nodes.setdefault(node.id, node)
            if before is not node:
                _same_node(path, before, node)
                report.duplicates += 1
        else:
            edges.append(_edge_row(path, number, row))
    report.rows += plain
    if header_at is None:
        raise InputError(
            path,
            None,
            None,
            f"no model state in {many(number, 'line')}, expected the header {BASE_HEADER}",
        )
    if not nodes:
        raise InputError(
            path, header_at, None, "no node rows after the header, expected at least one PD"
        )
    return nodes, edges


def _plain_edge(line: int, fields: list[str], nodes: dict[str, NodeRow]) -> EdgeRow | None:
    """The edge of a row that is as most are: its ends are listed before it.

    None for every other row, also for each that is wrong: `_edge_row` then decides. What this
    function returns is what `_edge_row` would return. It holds no text of the line: the ids are
    those of the node rows.
    """
    _, node_id, data, name, source, target, extra = fields
    a, b = nodes.get(source), nodes.get(target)
    if node_id or a is None or b is None:
        return None
    fitting = _FITTING.get((name, a[1], b[1]))
    if fitting is None:
        return None
    if fitting == "REQUEST":
        space = nodes.get(extra)
        if space is None or space.kind != "RESOURCE_SPACE" or space.data != data:
            return None
        data, extra = space.data, space.id
    elif extra or data not in ("NONE", ""):
        return None
    else:
        data = "NONE" if data else ""
    return tuple.__new__(EdgeRow, (line, fitting, a[2], b[2], data, extra))


def _plain_node(line: int, fields: list[str], nodes: dict[str, NodeRow]) -> NodeRow | None:
    """The node of a row that is as most are: no other row is about it, and EXTRA tells nothing.

    None for every other row, also for each that is wrong: `_node_row` then decides. What this
    function returns is what `_node_row` would return.
    """
    node_type, node_id, data, name, source, target, extra = fields
    if name or source or target or extra or node_id in nodes:
        return None
    if '"' in data or not data.isprintable():
        return None  # quotes, or a line end within a field
    kind = _NODE_KINDS.get(node_type)
    if kind is None or not is_id(node_id, kind, data):
        return None
    return NodeRow(line, kind, node_id, data, extra)


_FITTING: Final = {
    (name, source, target): name
    for name, kind in EDGE_KINDS.items()
    for source in kind.sources
    for target in (("PD",) if name == "REQUEST" else kind.targets)
    if name != "MAP" or source == target
}
"""The edges whose ends fit: (type, kind of the source, kind of the target) -> type."""


def _node_row(report: ReadReport, line: int, row: Row) -> NodeRow:
    path, kind = report.path, _NODE_KINDS[row.node_type]
    parts = parse_id(row.node_id)
    if parts is None or parts.kind != kind:
        bad(path, line, "NODE_ID", row.node_id, f"the id of a {kind}, such as {_EXAMPLE[kind]}")
    if kind != "PD" and row.data != parts.type:
        bad(path, line, "DATA", row.data, f"the type in the id, {parts.type}")
    for column in ("edge_type", "edge_from", "edge_to"):
        if value := getattr(row, column):
            bad(path, line, column.upper(), value, "nothing in a node row")
    extra = take_version(report, line, row.extra) if kind == "PD" else row.extra
    return NodeRow(line, kind, row.node_id, row.data, extra)


_EXAMPLE: Final[dict[NodeKind, str]] = {
    "PD": "PD_1a",
    "RESOURCE_SPACE": "BLOCK_SPACE_2",
    "RESOURCE": "BLOCK_2_1f",
}


def _same_node(path: str, before: NodeRow, again: NodeRow) -> None:
    for column, old, new in (
        ("DATA", before.data, again.data),
        ("EXTRA", before.extra, again.extra),
    ):
        if old != new:
            bad(
                path,
                again.line,
                column,
                new,
                f"'{old}' as in line {before.line}, which describes {again.id} too",
            )


def _edge_row(path: str, line: int, row: Row) -> EdgeRow:
    name = row.edge_type
    if row.node_id:
        bad(path, line, "NODE_ID", row.node_id, "nothing in an edge row")
    if name not in EDGE_KINDS:
        bad(path, line, "EDGE_TYPE", name, f"one of {', '.join(EDGE_KINDS)}")
    # A REQUEST row ends at the manager of the space, not at the space.
    targets: tuple[NodeKind, ...] = ("PD",) if name == "REQUEST" else EDGE_KINDS[name].targets
    kinds = []
    for column, id_, expected in (
        ("EDGE_FROM", row.edge_from, EDGE_KINDS[name].sources),
        ("EDGE_TO", row.edge_to, targets),
    ):
        parts = parse_id(id_)
        if parts is None or parts.kind not in expected:
            bad(path, line, column, id_, f"the id of a {' or '.join(expected)} for a {name} edge")
        kinds.append(parts.kind)
    if name == "MAP" and kinds[0] != kinds[1]:
        bad(path, line, "EDGE_TO", row.edge_to, f"a {kinds[0]} like EDGE_FROM, {row.edge_from}")
    if name == "REQUEST":
        _check_request(path, line, row)
    elif row.data not in ("NONE", ""):
        bad(path, line, "DATA", row.data, f"NONE for a {name} edge")
    elif row.extra and not (
        handler_in(row.extra) if name == "SUBSCRIBE" else is_read_only(name, row.edge_to, row.extra)
    ):
        nothing = f"nothing for a {name} edge"
        if is_read_only(name, row.edge_to, READ_ONLY):
            nothing = f"nothing, or {READ_ONLY}"
        if name == "SUBSCRIBE":
            nothing = f"nothing, or {HANDLER} and a number from 1 to {HANDLERS - 1}"
        bad(path, line, "EXTRA", row.extra, nothing)
    return EdgeRow(line, name, row.edge_from, row.edge_to, row.data, row.extra)


def _check_request(path: str, line: int, row: Row) -> None:
    """Checks a REQUEST row: the type obeys the rules for types in ids. EXTRA may name one space."""
    if parse_id(f"{row.data}_SPACE_0") is None:
        bad(path, line, "DATA", row.data, "the type requested")
    if row.extra:
        space = parse_id(row.extra)
        if space is None or space.kind != "RESOURCE_SPACE" or space.type != row.data:
            expected = f"nothing, or the id of a space of type {row.data}"
            bad(path, line, "EXTRA", row.extra, expected)


def handler_in(extra: str) -> int:
    """The handler in the EXTRA column of a SUBSCRIBE row; 0 if the column names none."""
    word = extra.removeprefix(HANDLER)
    if word == extra or not re.fullmatch("[1-9][0-9]?", word) or int(word) >= HANDLERS:
        return 0
    return int(word)


def is_read_only(kind: str, target: str, extra: str) -> bool:
    """Whether a row is of an edge to a memory object that comes without the right to write."""
    return kind in ("HOLD", "MAP") and extra == READ_ONLY and is_object(target)


def is_pinned(extra: str) -> bool:
    """Whether a PD with this EXTRA column is pinned."""
    return extra.split(" ")[0] == PINNED


def bad(path: str, line: int, column: str, value: str, expected: str) -> NoReturn:
    """Raises the InputError for a field with a wrong value."""
    shown = value if len(value) <= 60 else value[:57] + "..."
    raise InputError(path, line, column, f"'{shown}', expected {expected}")
