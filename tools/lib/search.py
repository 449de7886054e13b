# SPDX-License-Identifier: BSD-2-Clause
"""`search.py STATE.csv PD`: how many PDs a crash reaches, with csv and a breadth-first search.

The plainest program for that question, for comparison: it checks nothing, and has no order, no
causes and no notices.
"""

from __future__ import annotations

import csv
import sys
from collections import deque
from pathlib import Path


def reached(path: str, crash: str) -> int:
    """How many PDs depend on a PD, directly or not, with itself."""
    holds: list[tuple[str, str]] = []
    requests: list[tuple[str, str]] = []
    space_of: dict[str, str] = {}
    manager: dict[str, str] = {}
    with Path(path).open(newline="", encoding="utf-8") as file:
        for _, _, _, kind, source, target, _ in csv.reader(file):
            if kind == "SUBSET":
                space_of[source] = target
            elif kind == "HOLD":
                holds.append((source, target))
                if "_SPACE_" in target:
                    manager[target] = source
            elif kind == "REQUEST":
                requests.append((source, target))
    clients: dict[str, list[str]] = {}
    for client, server in requests:
        clients.setdefault(server, []).append(client)
    for client, held in holds:
        if held in space_of:
            clients.setdefault(manager[space_of[held]], []).append(client)
    found, pending = {crash}, deque([crash])
    while pending:
        for client in clients.get(pending.popleft(), ()):
            if client not in found and client != "PD_0":
                found.add(client)
                pending.append(client)
    return len(found)


if __name__ == "__main__":
    print(reached(*sys.argv[1:]))
