# SPDX-License-Identifier: BSD-2-Clause
"""The tombstones of a simulated target: who refers to which destroyed PD or space."""

from __future__ import annotations

from collections.abc import Iterator

from cellreap import headers

EACH = headers.constant("limits.h", "CR_TOMBSTONES_EACH")
Values = dict[str, object]


class Mourning:
    """Sees all events, and says which TOMBSTONE and FORGOTTEN events must follow."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.ends: dict[str, dict[str, str]] = {}
        self.dead: dict[str, int] = {}
        """destroyed node -> its cleanup, while that is not over"""
        self.kept: set[str] = set()
        self.how: str | None = None
        self._stopped: set[str] = set()
        self._graves: list[tuple[str, str, set[str]]] = []
        """(PD, destroyed node, tokens of the notices that are not finished), in order"""

    def see(self, event: str, values: Values) -> None:
        """An event was written."""
        text = {name: str(value) for name, value in values.items()}
        pd = text.get("pd", "")
        if event in ("PD", "SPACE"):
            self.names[text["id"]] = text.get("name", "-")
        elif event in ("FAULT", "FAULT_HELD"):
            fault = {name: text[name] for name in ("kind", "address", "ip")}
            self.ends.setdefault(pd, {}).update(fault)
        elif event == "EXIT":
            self.ends.setdefault(pd, {})["code"] = text["code"]
        elif event == "CLEANUP":
            self.ends.setdefault(text["trigger"], {}).setdefault("how", text["cause"])
            self.how = text["cause"] if text["cause"] in ("collect", "reconcile") else None
        elif event == "DOOM" and text["spared"] == "0" and "_SPACE_" not in text["node"]:
            if self.how is not None:
                self.ends.setdefault(text["node"], {}).setdefault("how", self.how)
        elif event == "STEP" and (pd := text["node"]) in self.names and "destroy" in text["name"]:
            self.dead[pd] = int(text["n"])
            self._graves = [grave for grave in self._graves if grave[0] != pd]
        elif event == "QUEUE":
            self._owed(text)
        elif event in ("MERGE", "WITHDRAW", "FINISH_WORK") and text.get("result") != "failed":
            self._done(pd, text["token"])
        if event == "TERMINATE_TREE":
            self.terminated(pd)
        if event in ("FAULT", "EXIT", "TERMINATE", "LATE"):
            self.ends.setdefault(pd, {})["how"] = event.lower()
        if event == "STOP":
            self._stopped.add(pd)
        if event == "STOP":
            self._graves = [grave for grave in self._graves if grave[0] != pd]

    def terminated(self, pd: str) -> None:
        """The PD was terminated, by itself or with the one that created it."""
        self.ends.setdefault(pd, {})["how"] = "terminate"

    def _owed(self, text: dict[str, str]) -> None:
        node = text["from"] if text["kind"] in ("free", "disconnect") else text["node"]
        if text["kind"] not in ("free", "disconnect", "lost", "destroy") or node not in self.dead:
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

    def _referred(self) -> set[str]:
        return {node for _, node, _ in self._graves}

    def over(self, n: int) -> Iterator[Values]:
        """The cleanup is over: the values of its TOMBSTONE events."""
        for node in [node for node, of in self.dead.items() if of == n]:
            del self.dead[node]
            if node not in self._referred():
                continue
            self.kept.add(node)
            none = {"how": "dependency", "code": "0", "kind": "-", "address": "0x0", "ip": "0x0"}
            end = none | self.ends.get(node, {})
            yield {"n": n, "node": node, "name": self.names[node], **end}

    def forgotten(self) -> list[str]:
        """The nodes to which nobody refers any more, once each."""
        gone = sorted(self.kept - self._referred())
        self.kept.difference_update(gone)
        return gone
