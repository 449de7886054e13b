# SPDX-License-Identifier: BSD-2-Clause
"""The events of a trace, the values that their fields hold, and how values stand in a line.

The events are listed in roottask/include/cellreap/trace_events.h. docs/trace-format.md says what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cellreap.model.ids import NodeKind, parse_id

MAX_NUMBER = 2**64 - 1

FAULT_KINDS = ("vm-fault", "cap-fault", "user-exception", "unknown-syscall")
CAUSES = {"FAULT": "fault", "EXIT": "exit", "TERMINATE": "terminate", "LATE": "late"}
"""Trigger event -> the cause that its cleanup names."""
RESULTS = ("ok", "failed", "each")


@dataclass(frozen=True)
class Event:
    """One event, its values percent-decoded and of the form that their fields demand."""

    name: str
    values: Mapping[str, str]
    line: int = 0
    seq: int = -1

    def __getitem__(self, field_name: str) -> str:
        return self.values[field_name]

    def number(self, field_name: str) -> int:
        """A decimal field, or an address."""
        return int(self.values[field_name], 0)

    def depth(self, field_name: str) -> int | None:
        """A depth; None is "inf"."""
        value = self.values[field_name]
        return None if value == "inf" else int(value)

    def optional(self, field_name: str) -> str | None:
        """A field in which "-" stands for nothing."""
        value = self.values[field_name]
        return None if value == "-" else value

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{name}={encode(value)}" for name, value in self.values.items())])


# ----------------------------------------------------------------------------------------------------
# What the fields hold


@dataclass(frozen=True)
class FieldKind:
    """The form of a field's value: how to say it to a person, and a test for it."""

    expected: str
    accepts: Callable[[str], bool]


def _like(expected: str, pattern: str) -> FieldKind:
    compiled = re.compile(pattern, re.DOTALL | re.ASCII)
    return FieldKind(expected, lambda value: compiled.fullmatch(value) is not None)


def _integer(expected: str, pattern: str) -> FieldKind:
    compiled = re.compile(pattern, re.ASCII)
    return FieldKind(
        expected, lambda value: compiled.fullmatch(value) is not None and abs(int(value, 0)) <= MAX_NUMBER
    )


def _one_of(*words: str) -> FieldKind:
    return FieldKind("one of " + ", ".join(words), lambda value: value in words)


def _node(expected: str, *kinds: NodeKind, none: bool = False) -> FieldKind:
    def accepts(value: str) -> bool:
        parts = parse_id(value)
        return parts.kind in kinds if parts is not None else none and value == "-"

    return FieldKind(expected, accepts)


_DECIMAL = r"(?:0|[1-9][0-9]{0,19})"

_NUMBER_KIND = _integer("a decimal number below 2^64", _DECIMAL)
_ADDRESS_KIND = _integer("an address, 0x and hex digits", r"0x[0-9a-f]{1,16}")
_DEPTH_KIND = _like("a decimal number or inf", r"(?:0|[1-9][0-9]{0,8})|inf")
_TEXT_KIND = FieldKind("a text", lambda value: True)
_WORD_KIND = _like("a word of a-z, 0-9 and -", r"[a-z0-9][a-z0-9-]*")
_PD_KIND = _node("a PD", "PD")
_SPACE_KIND = _node("a space", "RESOURCE_SPACE")
_RESOURCE_KIND = _node("a resource", "RESOURCE")
_NODE_KIND = _node("a PD, space or resource", "PD", "RESOURCE_SPACE", "RESOURCE")
_THING_KIND = _node("a space or resource", "RESOURCE_SPACE", "RESOURCE")
_DOOMABLE_KIND = _node("a PD or space", "PD", "RESOURCE_SPACE")
_PD_OR_NONE_KIND = _node("a PD or -", "PD", none=True)

_FIELD_KINDS: dict[str, FieldKind] = {
    "a": _PD_KIND,
    "address": _ADDRESS_KIND,
    "arch": _TEXT_KIND,
    "b": _PD_KIND,
    "by": _PD_KIND,
    "bytes": _NUMBER_KIND,
    "calls": _NUMBER_KIND,
    "cause": _one_of(*CAUSES.values()),
    "code": _integer("a decimal number", rf"-?{_DECIMAL}"),
    "count": _NUMBER_KIND,
    "crash": _NUMBER_KIND,
    "created": _PD_KIND,
    "depth": _NUMBER_KIND,
    "done": _NUMBER_KIND,
    "dropped": _NUMBER_KIND,
    "failed": _NUMBER_KIND,
    "held": _NUMBER_KIND,
    "mode": _one_of("async", "sync"),
    "ms": _NUMBER_KIND,
    "state": _NUMBER_KIND,
    "ticket": _NUMBER_KIND,
    "waiting": _NUMBER_KIND,
    "what": _PD_OR_NONE_KIND,
    "x": _NUMBER_KIND,
    "digest": _like("8 hex digits", r"[0-9a-f]{8}"),
    "group": _NUMBER_KIND,
    "handler": _PD_KIND,
    "cycles": _NUMBER_KIND,
    "ip": _ADDRESS_KIND,
    "kernel": _TEXT_KIND,
    "manager": _PD_KIND,
    "n": _NUMBER_KIND,
    "name": _TEXT_KIND,
    "node": _NODE_KIND,
    "op": _NUMBER_KIND,
    "paddr": _ADDRESS_KIND,
    "pd": _PD_KIND,
    "pd_depth": _DEPTH_KIND,
    "pinned": _one_of("0", "1"),
    "resource": _RESOURCE_KIND,
    "result": _one_of(*RESULTS),
    "row": _TEXT_KIND,
    "rows": _NUMBER_KIND,
    "rs_depth": _DEPTH_KIND,
    "slot": _NUMBER_KIND,
    "slots": _NUMBER_KIND,
    "space": _SPACE_KIND,
    "status": _NUMBER_KIND,
    "system": _TEXT_KIND,
    "text": _TEXT_KIND,
    "token": _NUMBER_KIND,
    "trigger": _PD_KIND,
    "type": _like("a type, of A-Z, 0-9 and _", r"[A-Z][A-Z0-9_]*"),
    "version": _NUMBER_KIND,
}

_OWED_KINDS = ("free", "destroy", "disconnect", "lost")

_EVENT_FIELD_KINDS: dict[tuple[str, str], FieldKind] = {
    ("PD", "id"): _PD_KIND,
    ("SPACE", "id"): _SPACE_KIND,
    ("RESOURCE", "id"): _RESOURCE_KIND,
    ("DELETE", "node"): _THING_KIND,
    ("HOLD", "node"): _THING_KIND,
    ("UNHOLD", "node"): _THING_KIND,
    ("MAP", "from"): _THING_KIND,
    ("MAP", "to"): _THING_KIND,
    ("SUBGRAPH", "from"): _THING_KIND,
    ("SUBGRAPH", "to"): _THING_KIND,
    ("UNMAP", "from"): _THING_KIND,
    ("UNMAP", "to"): _THING_KIND,
    ("SUBSCRIBE", "node"): _DOOMABLE_KIND,
    ("UNSUBSCRIBE", "node"): _DOOMABLE_KIND,
    ("PRE_DESTROY", "node"): _DOOMABLE_KIND,
    ("FAULT", "kind"): _one_of(*FAULT_KINDS),
    ("OWE", "kind"): _one_of(*_OWED_KINDS),
    ("OWE", "to"): _PD_KIND,
    ("OWE", "from"): _PD_OR_NONE_KIND,
    ("QUEUE", "kind"): _one_of(*_OWED_KINDS, "pre-destroy", "extract"),
    ("QUEUE", "to"): _PD_KIND,
    ("QUEUE", "from"): _PD_OR_NONE_KIND,
    ("STEP", "name"): _WORD_KIND,
    ("STEP", "node"): _node("a PD, space, resource or -", "PD", "RESOURCE_SPACE", "RESOURCE", none=True),
    ("STEP", "pd"): _PD_OR_NONE_KIND,
    ("CALLS", "kind"): _WORD_KIND,
}


def field_kind(event: str, field_name: str) -> FieldKind | None:
    """What the values of a field look like; None for a field that nothing is known of."""
    return _EVENT_FIELD_KINDS.get((event, field_name)) or _FIELD_KINDS.get(field_name)


def encode(value: str) -> str:
    """A value as it stands in a line: bytes outside 0x21..0x7e, and '%', as %XX."""
    raw = value.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if 0x21 <= byte <= 0x7E and byte != 0x25 else f"%{byte:02X}" for byte in raw)


_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})|%")


def decode(value: bytes) -> str | None:
    """The value that `encode` made this of; None if an escape in it is broken."""
    if b"%" in value:
        if any(found.group(1) is None for found in _ESCAPE.finditer(value)):
            return None
        value = _ESCAPE.sub(lambda found: bytes((int(found.group(1), 16),)), value)
    return value.decode("utf-8", "surrogateescape")


def printable(text: str, limit: int = 120) -> str:
    """Text that came from a target, safe on a terminal: no control characters, not longer than limit."""
    shown = "".join(char if char.isprintable() and not 0xD800 <= ord(char) < 0xE000 else "?" for char in text)
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."
