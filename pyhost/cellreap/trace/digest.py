# SPDX-License-Identifier: BSD-2-Clause
"""The digest of a model state, as digest.h defines it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from cellreap import headers
from cellreap.model.graph import Model
from cellreap.model.nodes import Node

_MASK: Final = 2**64 - 1
_LABEL_BYTES: Final = 8
_KEY: Final = bytes(16)


@functools.cache
def _factors() -> tuple[int, int, int]:
    rows = headers.table("digest.h", "CR_DIGEST_FACTOR")
    factors = {str(name): int(number) for name, number in rows}
    by_kind, first, second = (
        factors[f"CR_DIGEST_{name}"] for name in ("BY_KIND", "FIRST", "SECOND")
    )
    return by_kind, first, second


@functools.cache
def _kinds() -> dict[str, int]:
    """The number of each kind of term."""
    rows = headers.table("model.h", "CR_EDGE_KIND")
    kinds = {str(name).removeprefix("CR_EDGE_"): int(number) for name, number, *_ in rows}
    return {**kinds, "NODE": headers.constant("digest.h", "CR_DIGEST_NODE")}


def _stir(x: int, first: int, second: int) -> int:
    x = ((x ^ x >> 32) * first) & _MASK
    x = ((x ^ x >> 29) * second) & _MASK
    return x ^ x >> 32


@functools.lru_cache(maxsize=1 << 14)
def label(id_: str, data: str) -> int:
    """The label of a node, from the columns of its row."""
    text = f"{id_},{data}".encode("utf-8", "surrogateescape")
    hashed = hashlib.blake2s(text, digest_size=_LABEL_BYTES, key=_KEY)
    return int.from_bytes(hashed.digest(), "little")


def term(kind: str, a: int, b: int, handler: int = 0) -> int:
    """The term of an edge of that kind between nodes of these labels. handler: of a SUBSCRIBE.

    NODE: that of a node, with its label and whether it is pinned.
    """
    by_kind, first, second = _factors()
    if kind == "LINK" and a > b:
        a, b = b, a
    number = _kinds()[kind] + headers.constant("digest.h", "CR_DIGEST_HANDLER") * handler
    inner = _stir((a + by_kind * number) & _MASK, first, second)
    return _stir((inner + b) & _MASK, first, second)


def stirred(x: int, *words: int) -> int:
    """A number into which words were stirred, one after the other."""
    _, first, second = _factors()
    for word in words:
        x = _stir((x + word) & _MASK, first, second)
    return x


def _of_words(*words: int) -> int:
    return stirred((_factors()[0] * (len(words) + 1)) & _MASK, *words)


def of_words(words: Iterable[int]) -> str:
    """The digest of words that somebody is told, as an event tells it."""
    return f"{_of_words(*words):016x}"


@functools.cache
def _plan_rows() -> dict[str, int]:
    """Key of `plan --json` -> the kind of its rows."""
    return {
        str(key): int(number) for _, number, key, _ in headers.table("digest.h", "CR_PLAN_ROW")
    }


def of_plan(plan: Mapping[str, Any], model: Model) -> tuple[int, str]:
    """The number of the rows that follow from a plan, and their digest, as PLAN tells them.

    plan: as `plan --json` has it, for this state.
    """
    count = total = 0
    kinds = headers.printed_names("policy.h", "CR_NOTICE_KIND")
    for key, number in _plan_rows().items():
        for row in plan[key]:
            kind, ids = number, [row] if isinstance(row, str) else list(row[:2])
            if key == "notices":
                to, word, node, dead = row
                kind, ids = number + kinds[word], [to, node, dead]
            labels = [label(id_, _data(model.nodes[id_])) if id_ else 0 for id_ in ids]
            total += _of_words(kind, *labels, *[0] * (3 - len(labels)))
            count += 1
    return count, f"{total & _MASK:016x}"


class Digests:
    """Computes the digests of states that follow each other.

    A digest is a sum over all nodes and edges. So only those are counted that one state has and the
    other has not.
    """

    def __init__(self) -> None:
        self._last = Model()
        self._total = 0

    def of(self, model: Model) -> str:
        """The digest of a state, as an event tells it."""
        changed = self._changed(model)
        if changed is None:
            self._last, self._total = Model(), 0
            changed = list(model.nodes)
        last = self._last
        self._total += _sum(model, last, changed) - _sum(last, model, changed)
        self._last = model.plain_copy()
        return f"{self._total & _MASK:016x}"

    def _changed(self, model: Model) -> list[str] | None:
        """The nodes that came, went or changed. None: what both states have has other labels."""
        last, nodes, known = self._last, model.nodes, self._last.nodes
        fresh, gone = nodes.keys() - known.keys(), known.keys() - nodes.keys()
        for new, other in ((fresh, last), (gone, model)):
            of_other = (other.manager.values(), other.space_of.values())
            if new and not all(map(new.isdisjoint, of_other)):
                return None
        changed = [id_ for id_, node in nodes.items() if known.get(id_) is not node]
        if any(id_ in known and _data(nodes[id_]) != _data(known[id_]) for id_ in changed):
            return None
        return [*changed, *gone]


def _data(node: Node) -> str:
    return node.name if node.kind == "PD" else node.type


def _sum(model: Model, other: Model, changed: Iterable[str]) -> int:
    """The terms of the nodes and edges of a state that another state has not. changed: the nodes
    that are not the same in both.
    """

    def of(id_: str) -> int:
        node = model.nodes.get(id_)
        return 0 if node is None else label(id_, _data(node))

    total = 0
    for id_ in changed:
        node, same = model.nodes.get(id_), other.nodes.get(id_)
        if node is not None and (same is None or same.pinned != node.pinned):
            total += term("NODE", of(id_), int(node.pinned))
    for (source, target), times in model.holds.items() - other.holds.items():
        total += times * term("HOLD", of(source), of(target))
    for source, target in model.subscribes:
        had = other.subscriptions(source, target)
        for handler, times in model.subscriptions(source, target).items():
            if had.get(handler) != times:
                total += times * term("SUBSCRIBE", of(source), of(target), handler)
    for kind, pairs, before_pairs in (
        ("REQUEST", model.requests, other.requests),
        ("MAP", model.maps, other.maps),
        ("LINK", model.links, other.links),
        ("OWN", model.owns, other.owns),
        ("FAULT", model.faults.items(), other.faults.items()),
        ("SUBSET", model.space_of.items(), other.space_of.items()),
    ):
        for source, target in pairs - before_pairs:
            total += term(kind, of(source), of(target))
    for space, manager in model.manager.items() - other.manager.items():
        total += term("MANAGE", of(manager), of(space))
    return total
