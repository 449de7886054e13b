# SPDX-License-Identifier: BSD-2-Clause
"""Model state as CSV rows with CellulOS's columns: reads what CellulOS wrote and what we write, writes ours.

What is read is never guessed at. A line is a row if its first field says so (a node type, or two empty
fields for an edge); a row that is damaged is an error, because without it the state would be another one.
Every other line is skipped and counted: a console log may surround the CSV.

A file is *ours* if it has anything that CellulOS does not write: a FAULT, LINK, OWN or SUBSCRIBE row, a
REQUEST row with a space in EXTRA, `PINNED` in a PD's EXTRA or `MANAGER=` in a space's. In a state of ours
every edge must end at nodes that are listed.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from cellreap.errors import InputError, ModelError
from cellreap.model.graph import MANAGER, PINNED, Model
from cellreap.model.ids import CORE_TYPES, ROOT, NodeKind, parse_id

COLUMNS: Final = ("NODE_TYPE", "NODE_ID", "DATA", "EDGE_TYPE", "EDGE_FROM", "EDGE_TO", "EXTRA")
HEADER: Final = ",".join(COLUMNS)

MAX_LINE: Final = 64 * 1024
"""Bytes in a line, its end included; longer ones are refused, so that no file is read into memory as one
line."""

MAX_LINES: Final = 8 * 1024 * 1024
"""Lines in a file."""

_NODE_KINDS: Final[dict[str, NodeKind]] = {
    "PD": "PD",
    "RESOURCE_SPACE": "RESOURCE_SPACE",
    "RESOURCE": "RESOURCE",
}

# What may be at either end of an edge, as rows have it: a REQUEST row runs to the manager.
_ENDS: Final[dict[str, tuple[tuple[NodeKind, ...], tuple[NodeKind, ...]]]] = {
    "SUBSET": (("RESOURCE",), ("RESOURCE_SPACE",)),
    "HOLD": (("PD",), ("RESOURCE", "RESOURCE_SPACE")),
    "REQUEST": (("PD",), ("PD",)),
    "MAP": (("RESOURCE", "RESOURCE_SPACE"), ("RESOURCE", "RESOURCE_SPACE")),
    "FAULT": (("PD",), ("PD",)),
    "LINK": (("PD",), ("PD",)),
    "OWN": (("PD",), ("PD",)),
    "SUBSCRIBE": (("PD",), ("PD", "RESOURCE_SPACE")),
}
_ONLY_OURS: Final = frozenset({"FAULT", "LINK", "OWN", "SUBSCRIBE"})
_COUNTED: Final = frozenset({"HOLD", "SUBSCRIBE"})


@dataclass
class ReadReport:
    """What reading a state came upon beside the state."""

    path: str
    ours: bool = False
    rows: int = 0
    skipped: int = 0
    """lines that are no rows; empty lines are not counted"""
    duplicates: int = 0
    """rows that were there before and say nothing new"""
    left_out: list[tuple[int, str]] = field(default_factory=list)
    """(line, what) of edges that name a node which is not listed, and of resources whose space is not"""
    empty_requests: int = 0
    """REQUEST rows for a type of which the named PD manages no space"""

    def notes(self) -> list[str]:
        """The report for a person, a line each; empty if there is nothing to say."""
        lines = []
        if self.skipped:
            lines.append(f"{self.path}: {_many(self.skipped, 'line')} skipped that are no rows")
        if self.left_out:
            line, what = self.left_out[0]
            more = f" (the first of {len(self.left_out)})" if len(self.left_out) > 1 else ""
            lines.append(f"{self.path}:{line}: left out: {what}{more}")
        if self.duplicates:
            lines.append(f"{self.path}: {_many(self.duplicates, 'row')} there more than once")
        if self.empty_requests:
            lines.append(
                f"{self.path}: {_many(self.empty_requests, 'REQUEST row')} for a type of which the named PD "
                "has no space: no edge"
            )
        return lines

    def to_json(self) -> dict[str, Any]:
        """The report as an object: counts, and each thing left out."""
        return {
            "ours": self.ours,
            "rows": self.rows,
            "skipped_lines": self.skipped,
            "duplicate_rows": self.duplicates,
            "empty_requests": self.empty_requests,
            "left_out": [{"line": line, "what": what} for line, what in self.left_out],
        }


@dataclass(frozen=True)
class _NodeRow:
    line: int
    kind: NodeKind
    id: str
    data: str
    extra: str


@dataclass(frozen=True)
class _EdgeRow:
    line: int
    type: str
    source: str
    target: str
    data: str
    extra: str

    def __str__(self) -> str:
        return f"{self.type} from {self.source} to {self.target}"


# -- reading


def read_state(
    path: str | Path, *, strict: bool = False, ours: bool | None = None
) -> tuple[Model, ReadReport]:
    """Reads a state from a file.

    strict: whatever would be left out is an error. ours: whether the file is known to be one of ours; None
    finds out. Raises InputError, which names file, line and field.
    """
    name = str(path)
    try:
        with Path(path).open("rb") as file:
            return parse_state(_lines(name, file), name, strict=strict, ours=ours)
    except OSError as error:
        raise InputError(name, None, None, f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a NUL in the path itself
        raise InputError(name, None, None, f"cannot be read: {error}") from None


def parse_state(
    lines: Iterable[tuple[int, str]], path: str, *, strict: bool = False, ours: bool | None = None
) -> tuple[Model, ReadReport]:
    """Reads a state from (line number, text without line end) pairs; `path` is for messages only.

    Raises InputError.
    """
    report = ReadReport(path)
    node_rows, edge_rows = _split_rows(lines, report)
    if ours is None:
        ours = (
            any(row.type in _ONLY_OURS or (row.type == "REQUEST" and row.extra) for row in edge_rows)
            or any(row.kind == "PD" and _is_pinned(row.extra) for row in node_rows.values())
            or any(
                row.kind == "RESOURCE_SPACE" and row.extra.startswith(MANAGER) for row in node_rows.values()
            )
        )
    report.ours = ours
    return _Builder(path, report, node_rows, exact=strict or ours).build(edge_rows), report


def _lines(path: str, file: io.BufferedReader) -> Iterator[tuple[int, str]]:
    """The lines of a file as text, without their ends and without a byte order mark."""
    number = 0
    while raw := file.readline(MAX_LINE + 1):
        number += 1
        if len(raw) > MAX_LINE:
            raise InputError(path, number, None, f"line too long, expected at most {MAX_LINE} bytes")
        if number > MAX_LINES:
            raise InputError(path, number, None, f"too many lines, expected at most {MAX_LINES}")
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if b"\0" in raw:
            raise InputError(path, number, None, "NUL byte, expected text: is this a binary file?")
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            bad = raw[error.start]
            raise InputError(
                path, number, None, f"byte 0x{bad:02x} at {error.start + 1}, expected UTF-8 text"
            ) from None
        if not text.endswith("\n") and _is_row(text) and text.count(",") < len(COLUMNS) - 1:
            raise InputError(path, number, None, "the file ends within this row: was it cut?")
        yield number, text.rstrip("\r\n")
    if number == 0:
        raise InputError(path, None, None, f"empty file, expected the header {HEADER}")


def _is_row(line: str) -> bool:
    return line.startswith((",,", "PD,", "RESOURCE_SPACE,", "RESOURCE,"))


def _split_rows(
    lines: Iterable[tuple[int, str]], report: ReadReport
) -> tuple[dict[str, _NodeRow], list[_EdgeRow]]:
    """Sorts the lines into node rows by id and edge rows, each valid on its own."""
    path = report.path
    nodes: dict[str, _NodeRow] = {}
    edges: list[_EdgeRow] = []
    header_at: int | None = None
    number = 0
    for number, line in lines:
        if line.strip() == HEADER:
            if header_at is not None:
                raise InputError(
                    path,
                    number,
                    None,
                    f"a second header (the first is in line {header_at}), expected one state",
                )
            header_at = number
            continue
        if not _is_row(line):
            report.skipped += bool(line.strip())
            continue
        if header_at is None:
            raise InputError(path, number, None, f"a row before the header, expected {HEADER} first")
        report.rows += 1
        try:
            fields = next(csv.reader([line], strict=True))
        except csv.Error as error:
            raise InputError(path, number, None, f"bad quoting: {error}") from None
        if len(fields) != len(COLUMNS):
            raise InputError(path, number, None, f"{len(fields)} columns, expected {len(COLUMNS)} ({HEADER})")
        if fields[0]:
            node = _node_row(path, number, fields)
            before = nodes.setdefault(node.id, node)
            if before is not node:
                _same_node(path, before, node)
                report.duplicates += 1
        else:
            edges.append(_edge_row(path, number, fields))
    if header_at is None:
        raise InputError(
            path, None, None, f"no model state in {_many(number, 'line')}, expected the header {HEADER}"
        )
    if not nodes:
        raise InputError(path, header_at, None, "no node rows after the header, expected at least one PD")
    return nodes, edges


def _node_row(path: str, line: int, fields: list[str]) -> _NodeRow:
    kind = _NODE_KINDS[fields[0]]
    parts = parse_id(fields[1])
    if parts is None or parts.kind != kind:
        _bad(path, line, "NODE_ID", fields[1], f"the id of a {kind}, such as {_EXAMPLE[kind]}")
    if kind != "PD" and fields[2] != parts.type:
        _bad(path, line, "DATA", fields[2], f"the type in the id, {parts.type}")
    for column in (3, 4, 5):
        if fields[column]:
            _bad(path, line, COLUMNS[column], fields[column], "nothing in a node row")
    return _NodeRow(line, kind, fields[1], fields[2], fields[6])


_EXAMPLE: Final[dict[NodeKind, str]] = {
    "PD": "PD_1a",
    "RESOURCE_SPACE": "BLOCK_SPACE_2",
    "RESOURCE": "BLOCK_2_1f",
}


def _same_node(path: str, before: _NodeRow, again: _NodeRow) -> None:
    for column, old, new in (("DATA", before.data, again.data), ("EXTRA", before.extra, again.extra)):
        if old != new:
            _bad(
                path,
                again.line,
                column,
                new,
                f"'{old}' as in line {before.line}, which describes {again.id} too",
            )


def _edge_row(path: str, line: int, fields: list[str]) -> _EdgeRow:
    data, type_, source, target, extra = fields[2:7]
    if fields[1]:
        _bad(path, line, "NODE_ID", fields[1], "nothing in an edge row")
    if type_ not in _ENDS:
        _bad(path, line, "EDGE_TYPE", type_, f"one of {', '.join(_ENDS)}")
    kinds = []
    for column, id_, expected in (
        ("EDGE_FROM", source, _ENDS[type_][0]),
        ("EDGE_TO", target, _ENDS[type_][1]),
    ):
        parts = parse_id(id_)
        if parts is None or parts.kind not in expected:
            _bad(path, line, column, id_, f"the id of a {' or '.join(expected)} for a {type_} edge")
        kinds.append(parts.kind)
    if type_ == "MAP" and kinds[0] != kinds[1]:
        _bad(path, line, "EDGE_TO", target, f"a {kinds[0]} like EDGE_FROM, {source}")
    if type_ == "REQUEST":
        # The type obeys the rules of a type within an id.
        if parse_id(f"{data}_SPACE_0") is None:
            _bad(path, line, "DATA", data, "the type requested")
        if extra:
            space = parse_id(extra)
            if space is None or space.kind != "RESOURCE_SPACE" or space.type != data:
                _bad(path, line, "EXTRA", extra, f"nothing, or the id of a space of type {data}")
    else:
        if data not in ("NONE", ""):
            _bad(path, line, "DATA", data, f"NONE for a {type_} edge")
        if extra:
            _bad(path, line, "EXTRA", extra, f"nothing for a {type_} edge")
    return _EdgeRow(line, type_, source, target, data, extra)


def _is_pinned(extra: str) -> bool:
    return extra.split(" ")[0] == PINNED


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _bad(path: str, line: int, column: str, value: str, expected: str) -> NoReturn:
    shown = value if len(value) <= 60 else value[:57] + "..."
    raise InputError(path, line, column, f"'{shown}', expected {expected}")


class _Builder:
    """Puts a model together from rows. exact: nothing may be left out."""

    def __init__(self, path: str, report: ReadReport, nodes: dict[str, _NodeRow], *, exact: bool) -> None:
        self.path = path
        self.report = report
        self.nodes = nodes
        self.exact = exact
        self.model = Model()

    def build(self, rows: list[_EdgeRow]) -> Model:
        edges = self._only_listed(rows)
        for row in self.nodes.values():
            if row.kind == "PD":
                pinned = _is_pinned(row.extra)
                extra = row.extra[len(PINNED) + 1 :] if pinned else row.extra
                self._change(
                    row, lambda m, r=row, p=pinned, x=extra: m.add_pd(r.id, r.data, pinned=p, extra=x)
                )
        self._add_spaces(edges)
        edges = self._add_resources(edges)
        seen: set[tuple[str, ...]] = set()
        for edge in edges:
            ends = (edge.source, edge.target)
            key = (edge.type, *(sorted(ends) if edge.type == "LINK" else ends), edge.extra, edge.data)
            if edge.type not in _COUNTED and key in seen:
                self.report.duplicates += 1
                continue
            seen.add(key)
            if edge.type == "REQUEST":
                self._request(edge)
            elif edge.type != "SUBSET":
                self._change(edge, lambda m, e=edge: _ADD[e.type](m, e.source, e.target))
        return self.model

    def _change(self, row: _NodeRow | _EdgeRow, change: Any) -> None:
        """What the model refuses is wrong in this row."""
        try:
            change(self.model)
        except ModelError as error:
            raise InputError(self.path, row.line, None, f"{error}") from None

    def _leave_out(self, line: int, column: str, what: str) -> None:
        if self.exact:
            raise InputError(self.path, line, column, what)
        self.report.left_out.append((line, what))

    def _only_listed(self, rows: Iterable[_EdgeRow]) -> list[_EdgeRow]:
        listed = []
        for row in rows:
            for column, id_ in (("EDGE_FROM", row.source), ("EDGE_TO", row.target), ("EXTRA", row.extra)):
                if id_ and id_ not in self.nodes:
                    what = f"{row} names {id_}, which the file does not list"
                    self._leave_out(row.line, column, what)
                    break
            else:
                listed.append(row)
        return listed

    def _add_spaces(self, edges: list[_EdgeRow]) -> None:
        holders: dict[str, set[str]] = {}
        requests: dict[tuple[str, str], set[str]] = {}
        for edge in edges:
            if edge.type == "HOLD":
                holders.setdefault(edge.target, set()).add(edge.source)
            elif edge.type == "REQUEST" and edge.source != edge.target:
                requests.setdefault((edge.data, edge.extra), set()).add(edge.target)
        for row in self.nodes.values():
            if row.kind != "RESOURCE_SPACE":
                continue
            manager, extra = self._manager(row, holders.get(row.id, set()), requests)
            self._change(row, lambda m, r=row, p=manager, x=extra: m.add_space(r.id, p, extra=x))

    def _manager(
        self, row: _NodeRow, holders: set[str], requests: dict[tuple[str, str], set[str]]
    ) -> tuple[str, str]:
        """The manager of a space, and the rest of its EXTRA."""
        if row.extra.startswith(MANAGER):
            named, _, extra = row.extra.removeprefix(MANAGER).partition(" ")
            if named not in self.nodes or self.nodes[named].kind != "PD":
                _bad(self.path, row.line, "EXTRA", row.extra, f"{MANAGER} and a PD that the file lists")
            return named, extra
        if row.data in CORE_TYPES:
            if ROOT not in self.nodes:
                raise InputError(
                    self.path, row.line, "NODE_ID", f"{row.id} is served by {ROOT}, expected a row for {ROOT}"
                )
            return ROOT, row.extra
        named_in_requests = requests.get((row.data, ""), set()) | requests.get((row.data, row.id), set())
        candidates = infer_managers(holders, named_in_requests)
        if len(candidates) != 1:
            said = f"{', '.join(sorted(candidates))} hold it" if candidates else "nobody holds it"
            raise InputError(self.path, row.line, "NODE_ID", f"{row.id}: {said}, expected one manager")
        (manager,) = candidates
        return manager, row.extra

    def _add_resources(self, edges: list[_EdgeRow]) -> list[_EdgeRow]:
        """Adds the resources and returns the edges that are left when those without a space are left out."""
        space_of: dict[str, _EdgeRow] = {}
        for edge in edges:
            if edge.type == "SUBSET":
                before = space_of.setdefault(edge.source, edge)
                if before.target != edge.target:
                    expected = f"{before.target} as in line {before.line}: a resource is in one space"
                    _bad(self.path, edge.line, "EDGE_TO", edge.target, expected)
        homeless = set()
        for row in self.nodes.values():
            if row.kind != "RESOURCE":
                continue
            if row.id in space_of:
                space = space_of[row.id].target
                self._change(row, lambda m, r=row, s=space: m.add_resource(r.id, s, extra=r.extra))
            else:
                what = f"{row.id} has no SUBSET row to a space that the file lists"
                self._leave_out(row.line, "NODE_ID", what)
                homeless.add(row.id)
        if not homeless:
            return edges
        for id_ in homeless:
            del self.nodes[id_]
        return self._only_listed(edges)

    def _request(self, edge: _EdgeRow) -> None:
        if edge.extra:
            manager = self.model.manager[edge.extra]
            if manager != edge.target:
                _bad(self.path, edge.line, "EDGE_TO", edge.target, f"{manager}, the manager of {edge.extra}")
            spaces = [edge.extra]
        else:
            spaces = [
                space
                for space in self.model.spaces_of(edge.target)
                if self.model.nodes[space].type == edge.data
            ]
            self.report.empty_requests += not spaces
        # The same edge may also have come from a row that names the type only.
        self.model.requests.update((edge.source, space) for space in spaces)


_ADD: Final[dict[str, Any]] = {
    "HOLD": Model.add_hold,
    "MAP": Model.add_map,
    "FAULT": Model.set_fault,
    "LINK": Model.add_link,
    "OWN": Model.add_own,
    "SUBSCRIBE": Model.add_subscribe,
}


def infer_managers(holders: set[str], named_in_requests: set[str]) -> set[str]:
    """Who may be the manager of a space that is not core: one PD if the edges tell.

    holders: the PDs that hold the space. named_in_requests: the PDs to which others' REQUESTs for it run.
    """
    return holders if len(holders) < 2 else (holders & named_in_requests or holders)


# -- writing


def state_rows(model: Model) -> list[str]:
    """The rows of a state, the header first, without line ends: sorted, so that equal states have equal rows.

    Reads back to an equal model. ModelError if a space that is requested has no manager.
    """
    holders: dict[str, set[str]] = {}
    for pd, held in model.holds:
        holders.setdefault(held, set()).add(pd)
    asked: dict[str, set[str]] = {}
    for pd, space in model.requests:
        if space not in model.manager:
            raise ModelError(f"{space} is requested by {pd} but has no manager")
        if model.manager[space] != pd:
            asked.setdefault(space, set()).add(model.manager[space])

    rows = [HEADER]
    for node in sorted(model.nodes.values(), key=lambda each: (_ORDER[each.kind], _by_number(each.id))):
        extra = node.extra
        if node.kind == "PD" and node.pinned:
            extra = f"{PINNED} {extra}" if extra else PINNED
        elif node.kind == "RESOURCE_SPACE" and node.type not in CORE_TYPES:
            manager = model.manager[node.id]
            if infer_managers(holders.get(node.id, set()), asked.get(node.id, set())) != {manager}:
                extra = f"{MANAGER}{manager} {extra}" if extra else f"{MANAGER}{manager}"
        rows.append(
            _row(node.kind, node.id, node.name if node.kind == "PD" else node.type, "", "", "", extra)
        )

    def edges(
        type_: str, pairs: Iterable[tuple[str, str]], counts: Counter[tuple[str, str]] | None = None
    ) -> None:
        for a, b in sorted(pairs, key=lambda pair: (_by_number(pair[0]), _by_number(pair[1]))):
            rows.extend([_row("", "", "NONE", type_, a, b, "")] * (counts[a, b] if counts else 1))

    edges("SUBSET", model.space_of.items())
    edges("HOLD", model.holds, model.holds)
    for pd, space in sorted(model.requests, key=lambda pair: (_by_number(pair[0]), _by_number(pair[1]))):
        rows.append(_row("", "", model.nodes[space].type, "REQUEST", pd, model.manager[space], space))
    edges("MAP", model.maps)
    edges("FAULT", model.faults.items())
    edges("LINK", model.links)
    edges("OWN", model.owns)
    edges("SUBSCRIBE", model.subscribes, model.subscribes)
    return rows


def write_state(model: Model) -> str:
    """A state as CSV text: `state_rows` with line ends."""
    return "\n".join(state_rows(model)) + "\n"


_ORDER: Final[dict[NodeKind, int]] = {"PD": 0, "RESOURCE_SPACE": 1, "RESOURCE": 2}


def _by_number(id_: str) -> tuple[str, int, int]:
    parts = parse_id(id_)
    if parts is None:
        raise ModelError(f"'{id_}' is no id")
    return parts.type, -1 if parts.space is None else parts.space, parts.number


def _row(*fields: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(fields)
    return text.getvalue()
