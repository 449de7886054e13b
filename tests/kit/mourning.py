# SPDX-License-Identifier: BSD-2-Clause
"""The tombstones of a simulated target: who refers to which destroyed PD or space."""

from __future__ import annotations

from cellreap import headers

EACH = headers.constant("limits.h", "CR_TOMBSTONES_EACH")
Values = dict[str, object]


class Mourning:
    """Sees all events, and says how many destroyed nodes are known."""

    def __init__(self) -> None:
        self._nodes: set[str] = set()
        """the PDs and spaces that were made"""
        self._dead: dict[str, int] = {}
        """destroyed node -> its cleanup, while that is not over"""
        self._kept: set[str] = set()
        self._stopped: set[str] = set()
        self._graves: list[tuple[str, str, set[str]]] = []
        """(PD, destroyed node, tokens of the notices that are not finished), in order"""

    def see(self, event: str, values: Values) -> None:
        """An event was written."""
        text = {name: str(value) for name, value in values.items()}
        pd = text.get("pd", "")
        if event in ("PD", "SPACE"):
            self._nodes.add(text["id"])
        elif event == "STEP" and text["node"] in self._nodes and "destroy" in text["name"]:
            self._dead[text["node"]] = int(text["n"])
            self._graves = [grave for grave in self._graves if grave[0] != text["node"]]
        elif event == "QUEUE":
            self._owed(text)
        elif (
            event in ("merged NOTICE", "withdrawn NOTICE", "FINISH_WORK")
            and text.get("result") != "failed"
        ):
            self._done(pd, text["token"])
        elif event == "stopped THREAD":
            self._stopped.add(pd)
            self._graves = [grave for grave in self._graves if grave[0] != pd]

    def _owed(self, text: dict[str, str]) -> None:
        node = text["from"] if text["kind"] in ("free", "disconnect") else text["node"]
        if text["kind"] not in ("free", "disconnect", "lost", "destroy") or node not in self._dead:
            return
        if text["to"] in self._stopped:
            return
        mine = [grave for grave in self._graves if grave[0] == text["to"]]
        for _, of, tokens in mine:
            if of == node:
                tokens.add(text["token"])
                return
        if len(mine) == EACH:
            self._graves.remove(mine[0])
        self._graves.append((text["to"], node, {text["token"]}))

    def _done(self, pd: str, token: str) -> None:
        for grave in self._graves:
            if grave[0] == pd:
                grave[2].discard(token)
        self._graves = [grave for grave in self._graves if grave[2]]

    def over(self, n: int) -> None:
        """The cleanup is over."""
        self._kept |= {node for node, of in self._dead.items() if of == n}
        self._dead = {node: of for node, of in self._dead.items() if of != n}

    def count(self) -> int:
        """The destroyed nodes of cleanups that are over to which PDs refer."""
        self._kept &= {node for _, node, _ in self._graves}
        return len(self._kept)
