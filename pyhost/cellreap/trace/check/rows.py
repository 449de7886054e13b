# SPDX-License-Identifier: BSD-2-Clause
"""Compares the printed rows of a model state with those of the replay's model."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from cellreap.model.graph import DOOMED, MANAGER, PINNED
from cellreap.model.ids import ROOT
from cellreap.model.indexed import IndexedModel
from cellreap.trace.check.context import Context
from cellreap.trace.check.nodes import ROOT_NAME


def normal_rows(rows: Iterable[str]) -> Iterator[str]:
    """State rows in a normal form: equal states have equal rows, whichever program wrote them.

    MANAGER= of a space is left out: it is derived from the holds, and the replay knows the manager.
    The pin of the root task is left out because it is optional. The ends of a LINK are sorted.
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


def with_doomed(model: IndexedModel, doomed: Collection[str]) -> IndexedModel:
    """The model with the nodes marked that a cleanup under way has doomed."""
    if not doomed:
        return model
    marked = model.copy()
    for node in doomed:
        extra = marked.nodes[node].extra
        extra = f"{extra} {DOOMED}" if extra else DOOMED
        marked.nodes[node] = replace(marked.nodes[node], extra=extra)
    return marked


def claimed_managers(rows: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(space, PD) of the rows that name the manager of a space."""
    for row in rows:
        if row.startswith("RESOURCE_SPACE,") and MANAGER in row:
            fields = next(csv.reader([row]))
            if len(fields) == 7 and fields[6].startswith(MANAGER):
                yield fields[1], fields[6].removeprefix(MANAGER).partition(" ")[0]


def compare_rows(context: Context, event: str, rows: Counter[str], expected: list[str]) -> None:
    """Checks that the rows printed by these events are the expected ones, in any order."""
    if Counter(expected).items() != rows.items():
        wanted, has = Counter(normal_rows(expected)), Counter(normal_rows(rows.elements()))
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
