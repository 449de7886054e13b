# SPDX-License-Identifier: BSD-2-Clause
"""The entries of the root task's tables of PDs and requests, which its badges name.

They are not in the trace, but they follow from it: the root task always takes the lowest free entry
for a PD, and the entry that was given back last for a request. An entry has a generation, the
number of its uses.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from cellreap import headers
from cellreap.model.ids import ROOT, parse_id
from cellreap.trace.events import Event


@dataclass(frozen=True)
class Entry:
    """An entry in use."""

    index: int
    generation: int


class Entries:
    """The entries in use after the events so far."""

    def __init__(self, generations_left: int) -> None:
        """generations_left: of each entry, from the configuration; 0: all."""
        self._last = headers.constant("numbers.h", "CR_LAST_GENERATION")
        self._used = self._last - generations_left if 0 < generations_left < self._last else 0
        self._pd_uses: Counter[int] = Counter()
        self._request_uses: Counter[int] = Counter()
        self._free: list[int] = []
        """the requests that were given back, the last one last"""
        self._fresh = 0
        """all requests from this one on were never used"""
        self.pds: dict[str, Entry] = {}
        self.requests: dict[tuple[str, str], Entry] = {}
        """by (PD, space), the oldest first"""

    def see(self, event: Event) -> None:
        """Takes an event. It must come after all events before it."""
        name = event.name
        if name == "PD" and event["id"] != ROOT:
            self._add_pd(event["id"])
        elif event.made("REQUEST") and event["number"] != "0":
            self._add_request(event["from"], event["to"])
        elif event.dropped("REQUEST"):
            self._drop([(event["from"], event["to"])])
        elif name == "DELETE" and _is_space(event["node"]):
            self._drop([each for each in reversed(self.requests) if each[1] == event["node"]])
        elif name == "STEP" and event["name"] == "cut-request":
            self._drop([(event["pd"], event["node"])])
        elif name == "STEP" and event["name"] == "destroy-pd":
            self._drop([each for each in reversed(self.requests) if each[0] == event["pd"]])
            self.pds.pop(event["pd"], None)

    def _add_pd(self, pd: str) -> None:
        taken = {entry.index for entry in self.pds.values()}
        index = 1
        while index in taken or self._used + self._pd_uses[index] >= self._last:
            index += 1
        self._pd_uses[index] += 1
        self.pds[pd] = Entry(index, self._used + self._pd_uses[index])

    def _add_request(self, pd: str, space: str) -> None:
        if self._free:
            index = self._free.pop()
        else:
            index, self._fresh = self._fresh, self._fresh + 1
        self._request_uses[index] += 1
        self.requests[pd, space] = Entry(index, self._used + self._request_uses[index])

    def _drop(self, requests: list[tuple[str, str]]) -> None:
        """Gives the entries of requests back, in this order."""
        for request in requests:
            entry = self.requests.pop(request, None)
            if entry is not None and entry.generation < self._last:
                self._free.append(entry.index)


def _is_space(node: str) -> bool:
    parts = parse_id(node)
    return parts is not None and parts.kind == "RESOURCE_SPACE"
