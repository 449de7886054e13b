# SPDX-License-Identifier: BSD-2-Clause
"""The terms of which the digest of a model state is the sum, as digest.h defines them."""

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
_NO_DEPTH: Final = headers.constant("policy.h", "CR_DEPTH_INF")
"""The depth of a doomed space whose manager survives."""


_BY_KIND, _FIRST, _SECOND = (
    int(number) for _, number in headers.table("digest.h", "CR_DIGEST_FACTOR")
)


@functools.cache
def _kind(kind: str, handler: int) -> int:
    """What an edge of a kind with this handler adds to the label of its first end."""
    rows = headers.table("model.h", "CR_EDGE_KIND")
    kinds = {str(name).removeprefix("CR_EDGE_"): int(number) for name, number, *_ in rows}
    kinds["NODE"] = headers.constant("digest.h", "CR_DIGEST_NODE")
    return _BY_KIND * (kinds[kind] + headers.constant("digest.h", "CR_DIGEST_HANDLER") * handler)


def _stir(x: int) -> int:
    x = ((x ^ x >> 32) * _FIRST) & _MASK
    x = ((x ^ x >> 29) * _SECOND) & _MASK
    return x ^ x >> 32


@functools.lru_cache(maxsize=1 << 14)
def label(id_: str, data: str) -> int:
    """The label of a node, from the columns of its row."""
    text = f"{id_},{data}".encode("utf-8", "surrogateescape")
    hashed = hashlib.blake2s(text, digest_size=_LABEL_BYTES, key=_KEY)
    return int.from_bytes(hashed.digest(), "little")


@functools.lru_cache(maxsize=1 << 14)
def term(kind: str, a: int, b: int, handler: int = 0) -> int:
    """The term of an edge of that kind between nodes of these labels. handler: of a SUBSCRIBE.

    NODE: that of a node, with its label and whether it is pinned.
    """
    if kind == "LINK" and a > b:
        a, b = b, a
    return _stir((_stir((a + _kind(kind, handler)) & _MASK) + b) & _MASK)


def stirred(x: int, *words: int) -> int:
    """A number into which words were stirred, one after the other."""
    for word in words:
        x = _stir((x + word) & _MASK)
    return x


def _of_words(*words: int) -> int:
    return stirred((_BY_KIND * (len(words) + 1)) & _MASK, *words)


def of_words(words: Iterable[int]) -> str:
    """The digest of words that somebody is told, as an event tells it."""
    return f"{_of_words(*words):016x}"


@functools.cache
def _plan_rows() -> dict[str, int]:
    """Key of `plan --json` -> the kind of its rows."""
    return {str(key): int(number) for _, number, key, _ in headers.table("digest.h", "CR_PLAN_ROW")}


@functools.cache
def _notice_kinds() -> Mapping[str, int]:
    return headers.printed_names("policy.h", "CR_NOTICE_KIND")


def _of_row(kind: int, *columns: int) -> int:
    return stirred((_BY_KIND * kind) & _MASK, *columns)


def of_plan(plan: Mapping[str, Any], model: Model) -> tuple[int, str]:
    """The number of the rows of a plan, and their digest, as PLAN tells them.

    plan: as `plan --json` has it, for this state.
    """
    count = total = 0
    kinds = _notice_kinds()
    depth = dict(plan["destroyed_pds"])
    for at, nodes in enumerate(plan["groups"]):
        for node in nodes:
            deep = depth.get(model.manager.get(node, node), _NO_DEPTH)
            its = label(node, _data(model.nodes[node]))
            total += _of_row(_plan_rows()["groups"], its, deep, at)
            count += 1
    for key, number in _plan_rows().items():
        for row in plan[key] if key != "groups" else ():
            kind, ids = number, [row] if isinstance(row, str) else list(row[:2])
            if key == "notices":
                to, word, node, dead = row
                kind, ids = number + kinds[word], [to, node, dead]
            labels = [label(id_, _data(model.nodes[id_])) if id_ else 0 for id_ in ids]
            total += _of_row(kind, *labels, *[0] * (2 - len(labels)))
            count += 1
    return count, f"{total & _MASK:016x}"


def _data(node: Node) -> str:
    return node.name if node.kind == "PD" else node.type
