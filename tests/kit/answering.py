# SPDX-License-Identifier: BSD-2-Clause
"""What a simulated target tells its PDs: the ANSWER events of a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cellreap import headers
from cellreap.model.digest import of_words
from cellreap.model.ids import ROOT, parse_id
from cellreap.trace.writer import Draft

KINDS = headers.printed_names("policy.h", "CR_NOTICE_KIND")
TICKET = ("state", "done", "failed", "dropped", "waiting", "held")
Values = dict[str, object]


def numbers(node: object) -> tuple[int, int, int]:
    """The numbers of space, resource and PD in an id; 0: it has none."""
    parts = parse_id(str(node))
    if parts is None:
        return 0, 0, 0
    if parts.kind == "PD":
        return 0, 0, parts.number
    return (parts.number, 0, 0) if parts.space is None else (parts.space, parts.number, 0)


def answer(pd: object, op: str, words: Sequence[int], space: int = 0, number: int = 0) -> Draft:
    """An ANSWER with these words."""
    told = {"words": len(words), "digest": of_words(words)}
    return "ANSWER", {"pd": pd, "op": op, "space": space, "number": number, **told}


def _int(value: object) -> int:
    return int(str(value))


def _of_notice(queue: Values, merged: bool) -> list[int]:
    space, number, pd = numbers(queue["node"])
    if queue["kind"] in ("free", "disconnect") and queue["from"] != "-":
        pd = numbers(queue["from"])[2]
    if queue["kind"] == "pre-destroy":
        number = _int(queue["number"])
    if merged:
        number = pd = 0
    broken = _int(queue["number"]) if queue["kind"] == "lost" else 0
    return [_int(queue["token"]), space, number, pd, broken]


def _of_work(fetched: Sequence[tuple[Values, bool]]) -> list[int]:
    queue, merged = fetched[0]
    kind = "disconnect" if merged else str(queue["kind"])
    words = [word for each in fetched for word in _of_notice(*each)]
    return [KINDS[kind], len(fetched), *words]


def _asks(name: str, values: Mapping[str, object]) -> bool:
    """Whether a PD asks for something, and has a ticket for it."""
    asked = name == "EXTRACT" or values.get("cause") in ("terminate", "subtree", "collect")
    return asked and values.get("by", "-") not in ("-", ROOT)


def answered(drafts: Sequence[Draft]) -> list[Draft]:
    """The trace with the answers to NOTICE `fetched` and TICKET."""
    if drafts[0][1]["version"] != headers.event_table().version:
        return list(drafts)
    queued: dict[int, Values] = {}
    merged: set[int] = set()
    owners: dict[int, object] = {}
    fetched: list[tuple[Values, bool]] = []
    done: list[Draft] = []
    for at, (name, values) in enumerate(drafts):
        done.append((name, values))
        following = drafts[at + 1] if at + 1 < len(drafts) else ("", {})
        if name == "QUEUE":
            queued[_int(values["token"])] = dict(values)
        elif name == "merged NOTICE":
            merged.add(_int(values["token"]))
        elif _asks(name, values):
            owners[len(owners) + 1] = values["by"]
        elif name == "fetched NOTICE":
            token = _int(values["token"])
            nothing: Values = {
                "kind": "lost",
                "token": token,
                "node": "-",
                "from": "-",
                "number": 0,
            }
            fetched.append((queued.get(token, nothing), token in merged))
            same = following[0] == "fetched NOTICE" and following[1]["pd"] == values["pd"]
            if not same:
                done.append(answer(values["pd"], "get_work", _of_work(fetched)))
                fetched.clear()
        elif name == "TICKET" and not _asks(*drafts[at - 1]):
            owner = owners.get(_int(values["ticket"]), "PD_1")
            done.append(answer(owner, "ticket", [_int(values[field]) for field in TICKET]))
    return done
