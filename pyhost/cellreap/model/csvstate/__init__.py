# SPDX-License-Identifier: BSD-2-Clause
"""Model state as CSV rows: reads what CellulOS wrote and what we write, writes ours.

Nothing that is read is guessed at. A line is a row if its first field says so: a node type, or two
empty fields for an edge. A damaged row is an error, because the state would be another one without
it. Every other line is skipped and counted: a console log may surround the CSV.

A file is *ours* if it has anything that CellulOS does not write: a FAULT, LINK, OWN or SUBSCRIBE
row, a REQUEST row with a space in EXTRA, `PINNED` in a PD's EXTRA or `MANAGER=` in a space's. In a
state of ours every edge must end at nodes that are listed.
"""

from cellreap.model.csvstate.columns import COLUMNS, HEADER, Row
from cellreap.model.csvstate.reading import MAX_LINE, MAX_LINES, parse_state, read_state
from cellreap.model.csvstate.report import ReadReport
from cellreap.model.csvstate.writing import state_rows, write_state

__all__ = [
    "COLUMNS",
    "HEADER",
    "MAX_LINE",
    "MAX_LINES",
    "ReadReport",
    "Row",
    "parse_state",
    "read_state",
    "state_rows",
    "write_state",
]
