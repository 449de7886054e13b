# SPDX-License-Identifier: BSD-2-Clause
"""The columns of a state as CSV, and one row. To add a column, add a line to `Row`.

roottask/include/cellreap/model_csv.h has the same table for the root task. A test compares the two.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, fields
from typing import Final

_QUOTED: Final = re.compile(r'["\r\n]')
"""Characters for which a cell is quoted, besides the comma."""


@dataclass(frozen=True)
class Row:
    """A row. A node row has `node_type`, an edge row has `edge_type`. See docs/semantics.md.

    The name of a column in the file is the name of its field here, in capitals.
    """

    node_type: str = ""
    node_id: str = ""
    data: str = ""
    edge_type: str = ""
    edge_from: str = ""
    edge_to: str = ""
    extra: str = ""

    def text(self) -> str:
        """The row as it stands in a file, without a line end."""
        cells = (
            self.node_type, self.node_id, self.data, self.edge_type,
            self.edge_from, self.edge_to, self.extra,
        )  # fmt: skip
        plain = ",".join(cells)
        if plain.count(",") == len(cells) - 1 and _QUOTED.search(plain) is None:
            return plain  # much faster
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow(cells)
        return text.getvalue()


COLUMNS: Final = tuple(field.name.upper() for field in fields(Row))
HEADER: Final = ",".join(COLUMNS)

CELLULOS_COLUMNS: Final = 7
"""CellulOS writes this number of columns, the first ones. A file may leave out the others."""

BASE_HEADER: Final = ",".join(COLUMNS[:CELLULOS_COLUMNS])


def columns_of(line: str) -> int | None:
    """The number of columns of a file with this header line. None if the line is not a header."""
    names = tuple(line.split(","))
    count = len(names)
    return count if count >= CELLULOS_COLUMNS and names == COLUMNS[:count] else None


def split(line: str) -> list[str]:
    """The fields of a line. csv.Error for bad quoting."""
    if line and len(line) < csv.field_size_limit() and _QUOTED.search(line) is None:
        return line.split(",")  # the same, and much faster
    return next(csv.reader([line], strict=True))
