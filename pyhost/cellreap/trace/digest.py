# SPDX-License-Identifier: BSD-2-Clause
"""The digest of a model state, as digest.h defines it."""

from __future__ import annotations

import functools
import hashlib
from typing import Final

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


def label(id_: str, data: str) -> int:
    """The label of a node, from the columns of its row."""
    text = f"{id_},{data}".encode("utf-8", "surrogateescape")
    hashed = hashlib.blake2s(text, digest_size=_LABEL_BYTES, key=_KEY)
    return int.from_bytes(hashed.digest(), "little")


def term(kind: str, a: int, b: int) -> int:
    """The term of an edge of that kind between nodes of these labels.

    NODE: that of a node, with its label and whether it is pinned.
    """
    by_kind, first, second = _factors()
    if kind == "LINK" and a > b:
        a, b = b, a
    inner = _stir((a + by_kind * _kinds()[kind]) & _MASK, first, second)
    return _stir((inner + b) & _MASK, first, second)


class Digests:
    """Computes the digests of states. Terms that were computed are kept."""

    def __init__(self) -> None:
        self._labels: dict[tuple[str, str], int] = {}
        self._terms: dict[tuple[str, int, int], int] = {}

    def of(self, model: Model) -> str:
        """The digest of a state, as an event tells it."""
        labels = {node.id: self._label(node) for node in model.nodes.values()}
        total = sum(
            self._term("NODE", labels[node.id], int(node.pinned)) for node in model.nodes.values()
        )
        for kind, source, target, times in model.edges():
            total += times * self._term(kind, labels.get(source, 0), labels.get(target, 0))
        for res, space in model.space_of.items():
            total += self._term("SUBSET", labels.get(res, 0), labels.get(space, 0))
        for space, manager in model.manager.items():
            total += self._term("MANAGE", labels.get(manager, 0), labels.get(space, 0))
        return f"{total & _MASK:016x}"

    def _label(self, node: Node) -> int:
        data = node.name if node.kind == "PD" else node.type
        found = self._labels.get((node.id, data))
        if found is None:
            found = self._labels[node.id, data] = label(node.id, data)
        return found

    def _term(self, kind: str, a: int, b: int) -> int:
        found = self._terms.get((kind, a, b))
        if found is None:
            found = self._terms[kind, a, b] = term(kind, a, b)
        return found
