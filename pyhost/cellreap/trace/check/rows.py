# SPDX-License-Identifier: BSD-2-Clause
"""Printed rows of a model state, compared with those of the replay's model."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator

from cellreap.model.graph import MANAGER, PINNED
from cellreap.model.ids import ROOT
from cellreap.trace.check.context import Context
from cellreap.trace.check.nodes import ROOT_NAME


def normal_rows(rows: Iterable[str]) -> Iterator[str]:
    """State rows in a form in which equal states have equal rows whoever wrote them.

    A space's MANAGER= is left out: it is derived from the holds, and the replay knows the manager.
    The root task need not say that it is pinned. The ends of a LINK have no order.
    """
    for row in rows:
        if row.startswith("RESOURCE_SPACE,") and MANAGER in row:
            head, _, extra = row.rpartition(",")
            row = f"{head},{extra.partition(' ')[2]}" if extra.startswith(MANAGER) else row
        elif row == f"PD,{ROOT},{ROOT_NAME},,,,{PINNED}":
            row = row.removesuffix(PINNED)
        elif row.startswith(",,NONE,LINK,"):
            fields = row.split(",")
            if len(fields) == 7:
                row = ",".join([*fields[:4], *sorted(fields[4:6]), fields[6]])
        yield row


def claimed_managers(rows: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(space, PD) of the rows that name a space's manager."""
    for row in rows:
        if row.startswith("RESOURCE_SPACE,") and MANAGER in row:
            fields = next(csv.reader([row]))
            if len(fields) == 7 and fields[6].startswith(MANAGER):
                yield fields[1], fields[6].removeprefix(MANAGER).partition(" ")[0]


def compare_rows(context: Context, event: str, rows: Counter[str], expected: list[str]) -> None:
    """The rows that these events printed must be the expected ones, in any order."""
    wanted = Counter(normal_rows(expected))
    has = Counter[str]()
    for row, count in rows.items():
        for normal in normal_rows([row]):
            has[normal] += count
    for row in sorted(wanted - has):
        context.bad("state.rows", f"{event}: the row {row} is missing")
    for row in sorted(has - wanted):
        text = f"the row {row} is not in the state that the events make"
        context.bad("state.rows", f"{event}: {text}")
    managers = context.model.manager
    for space, manager in claimed_managers(rows):
        if managers.get(space, manager) != manager:
            text = f"{space} is managed by {managers[space]}, not by {manager}"
            context.bad("state.rows", f"{event}: {text}")
