# SPDX-License-Identifier: BSD-2-Clause
"""Model state as CSV rows: reads states written by CellulOS and by cellreap, writes cellreap's.

The reader does not guess. A line is a row if it begins with a node type, or with two empty fields
(an edge). A damaged row is an error, because leaving it out would change the state. All other lines
are skipped and counted, because the CSV may stand inside a console log.

A file is *ours* if it contains something that CellulOS does not write: a version, a FAULT, LINK,
OWN or SUBSCRIBE row, a REQUEST row with a space in EXTRA, `PINNED` in a PD's EXTRA or `MANAGER=` in
a space's EXTRA. In a state of ours, every edge must end at nodes that are listed.
"""

from cellreap.model.csvstate.columns import COLUMNS, HEADER, Row
from cellreap.model.csvstate.reading import MAX_LINE, MAX_LINES, parse_state, read_state
from cellreap.model.csvstate.report import ReadReport
from cellreap.model.csvstate.version import STATE_VERSION
from cellreap.model.csvstate.writing import (
    state_rows,
    state_text,
    tombstone_rows,
    write_state,
)

__all__ = [
    "COLUMNS",
    "HEADER",
    "MAX_LINE",
    "MAX_LINES",
    "STATE_VERSION",
    "ReadReport",
    "Row",
    "parse_state",
    "read_state",
    "state_rows",
    "state_text",
    "tombstone_rows",
    "write_state",
]
