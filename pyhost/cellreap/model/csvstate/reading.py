# SPDX-License-Identifier: BSD-2-Clause
"""Reads a state from a file."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from cellreap.errors import InputError
from cellreap.inputs import opened
from cellreap.model.bulk import no_collection
from cellreap.model.csvstate.building import Builder
from cellreap.model.csvstate.columns import BASE_HEADER, CELLULOS_COLUMNS
from cellreap.model.csvstate.report import ReadReport
from cellreap.model.csvstate.rows import EdgeRow, NodeRow, bad, is_pinned, is_row, split_rows
from cellreap.model.edges import EDGE_KINDS
from cellreap.model.graph import Model
from cellreap.model.nodes import MANAGER
from cellreap.model.tombstones import (
    FORM,
    Tombstone,
    is_tombstone,
    parse_tombstone,
)
from cellreap.unknown import Unknown

MAX_LINE: Final = 64 * 1024
"""Bytes in a line, its end included. Longer lines are refused, so that memory use is bounded."""

_BLOCK: Final = 1 << 20

MAX_LINES: Final = 8 * 1024 * 1024
"""Lines in a file. Longer files are refused."""


def read_state(
    path: str | Path, *, strict: bool = False, ours: bool | None = None
) -> tuple[Model, ReadReport]:
    """Reads a state from a file.

    strict: leaving anything out is an error. ours: whether the file is one of ours; None: decide
    from its content. Raises InputError, which names file, line and field.
    """
    name = str(path)
    with opened(path) as file:
        return parse_state(_lines(name, file), name, strict=strict, ours=ours)


def parse_state(
    lines: Iterable[tuple[int, str]], path: str, *, strict: bool = False, ours: bool | None = None
) -> tuple[Model, ReadReport]:
    """Reads a state from (line number, text without line end) pairs; `path` is for messages only.

    Raises InputError.
    """
    report = ReadReport(path)
    with no_collection():
        node_rows, edge_rows = split_rows(lines, report)
        tombstones = _take_tombstones(report, node_rows)
        if ours is None:
            told = report.version is not None or bool(tombstones)
            ours = told or _is_ours(node_rows.values(), edge_rows)
        report.ours = ours
        model = Builder(path, report, node_rows, exact=strict or ours).build(edge_rows)
        model.tombstones = tombstones
        if report.missing:
            line, what = report.missing[0]
            more = f" (the first of {len(report.missing)})" if len(report.missing) > 1 else ""
            text = f"rows that the file has not: in line {line}, {what}{more}"
            model.unknown = (Unknown("rows", text),)
        return model, report


def _take_tombstones(report: ReadReport, rows: dict[str, NodeRow]) -> dict[str, Tombstone]:
    """The destroyed nodes, whose rows are taken out."""
    found: dict[str, Tombstone] = {}
    for row in [row for row in rows.values() if is_tombstone(row.extra)]:
        tombstone = parse_tombstone(row.id, row.extra)
        if tombstone is None or row.kind == "RESOURCE":
            expected = f"{FORM}, of a PD or space"
            bad(report.path, row.line, "EXTRA", row.extra, expected)
        found[row.id] = tombstone
        del rows[row.id]
    return found


def _is_ours(nodes: Iterable[NodeRow], edges: Iterable[EdgeRow]) -> bool:
    """Whether the rows contain something that CellulOS does not write."""
    return (
        any(EDGE_KINDS[row.type].ours or (row.type == "REQUEST" and row.extra) for row in edges)
        or any(row.kind == "PD" and is_pinned(row.extra) for row in nodes)
        or any(row.kind == "RESOURCE_SPACE" and row.extra.startswith(MANAGER) for row in nodes)
    )


def _plain_lines(file: io.BufferedReader, most: int) -> Iterator[list[str]]:
    """The next lines of a file, in lists, as long as nothing is wrong with one or rare."""
    while True:
        at = file.tell() if file.seekable() else None
        if at is None:
            return
        block = file.read(_BLOCK)
        block = block[: block.rfind(b"\n") + 1]
        plain = block and b"\0" not in block and b"\r" not in block
        lines: list[str] = []
        if plain:
            with contextlib.suppress(UnicodeDecodeError):
                lines = block[:-1].decode("utf-8").split("\n")
        if not lines or len(lines) > most or max(map(len, lines)) > MAX_LINE // 8:
            file.seek(at)
            return
        file.seek(at + len(block))
        most -= len(lines)
        yield lines


def _lines(path: str, file: io.BufferedReader) -> Iterator[tuple[int, str]]:
    """The lines of a file as text, without line ends and without a byte order mark."""
    number = 0
    while True:
        if number:  # the first line may begin with a byte order mark
            for texts in _plain_lines(file, MAX_LINES - number):
                yield from enumerate(texts, number + 1)
                number += len(texts)
        raw = file.readline(MAX_LINE + 1)
        if not raw:
            break
        number += 1
        if len(raw) > MAX_LINE:
            raise InputError(
                path, number, None, f"line too long, expected at most {MAX_LINE} bytes"
            )
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
        if not text.endswith("\n") and is_row(text) and text.count(",") < CELLULOS_COLUMNS - 1:
            raise InputError(path, number, None, "the file ends within this row: was it cut?")
        yield number, text.rstrip("\r\n")
    if number == 0:
        raise InputError(path, None, None, f"empty file, expected the header {BASE_HEADER}")
