# SPDX-License-Identifier: BSD-2-Clause
"""The events of a trace, the values of their fields, and the text form of values.

roottask/include/cellreap/trace_events.h lists the events. docs/trace-format.md explains them.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from cellreap import headers
from cellreap.headers import HeaderError
from cellreap.model.ids import ROOT, NodeKind, parse_id
from cellreap.trace.statements import Statement

MAX_NUMBER = 2**64 - 1


@dataclass(slots=True, init=False)
class Event:
    """An event. Its values are percent-decoded and have the form of their fields.

    Nobody changes one. It is not frozen because that triples the cost to make one, and a trace has
    millions.
    """

    name: str
    values: Mapping[str, str]
    line: int
    seq: int
    text: tuple[str, ...]
    """The snapshot that the kernel printed before this event, if the event before announced one."""
    time: int | None
    """Nanoseconds since the first event, which has none. None: the trace has no times."""
    said: tuple[Statement, ...]
    """What PDs said themselves between this event and the one before."""
    told: str = field(init=False, repr=False, compare=False)
    """What it tells: its name; if something became of something, `<change> <name>`, but of an
    edge `<change> <kind>`.
    """

    def __init__(
        self,
        name: str,
        values: Mapping[str, str],
        line: int = 0,
        seq: int = -1,
        text: tuple[str, ...] = (),
        time: int | None = None,
        said: tuple[Statement, ...] = (),
    ) -> None:
        self.name, self.values, self.line, self.seq = name, values, line, seq
        self.text, self.time, self.said = text, time, said
        change = values.get("change")
        self.told = name if change is None else f"{change} {values.get('kind', name)}"

    def __getitem__(self, field_name: str) -> str:
        return self.values[field_name]

    def made(self, *kinds: str) -> bool:
        """Whether it tells of an edge of one of these kinds that was made."""
        return self.name == "EDGE" and self["change"] == "made" and self["kind"] in kinds

    def dropped(self, *kinds: str) -> bool:
        """Whether it tells of an edge of one of these kinds that was dropped."""
        return self.name == "EDGE" and self["change"] == "dropped" and self["kind"] in kinds

    def number(self, field_name: str) -> int:
        """The value of a decimal field or of an address."""
        value = self.values[field_name]
        return int(value) if value.isdecimal() else int(value, 16)

    def depth(self, field_name: str) -> int | None:
        """The value of a depth field. None: "inf"."""
        return depth_in(self.values[field_name])

    def optional(self, field_name: str) -> str | None:
        """The value of a field in which "-" means none; None for "-"."""
        value = self.values[field_name]
        return None if value == "-" else value

    def counts(self, field_name: str) -> Counter[str]:
        """The value of a field with kinds of kernel calls or objects: their numbers by kind."""
        return Counter(counts_in(self.values[field_name]))

    def registers(self) -> dict[str, int]:
        """The value of the field `registers`: register -> value. Those that are 0 are left out."""
        each = (self.optional("registers") or "").split(",")
        parts = (one.partition(":") for one in each if one)
        return {name: int(value, 16) for name, _, value in parts}

    def __str__(self) -> str:
        return " ".join(
            [self.name, *(f"{name}={encode(value)}" for name, value in self.values.items())]
        )


def without_text(event: Event) -> Event:
    """The event without the snapshot, which takes much memory."""
    return replace(event, text=()) if event.text else event


def record_text(event: Event) -> str:
    """An event with its number and time, as people read it: `7 SAY pd=PD_1 text=hello at=1200`."""
    return f"{event.seq} {event}" + ("" if event.time is None else f" at={event.time}")


def depth_in(value: str) -> int | None:
    """What `Event.depth` makes of a value."""
    return None if value == "inf" else int(value)


@functools.lru_cache(maxsize=1 << 10)
def counts_in(value: str) -> Mapping[str, int]:
    """What `Event.counts` makes of a value, without the kinds that are not there."""
    counts: dict[str, int] = {}
    for kind, _, count in (each.partition(":") for each in value.split(",") if value != "-"):
        counts[kind] = counts.get(kind, 0) + int(count)
    return MappingProxyType(counts)


# ------------------------------------------------------------------------------------------------
# The values of fields


@dataclass(frozen=True)
class FieldType:
    """The form of a field's value: its description for people, and a test for it."""

    name: str
    expected: str
    accepts: Callable[[str], bool]
    words: tuple[str, ...] = ()
    """All allowed values, if a table of words lists them."""


def _like(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.DOTALL | re.ASCII)
    return lambda value: compiled.fullmatch(value) is not None


def _integer(pattern: str) -> Callable[[str], bool]:
    like = _like(pattern)
    return lambda value: like(value) and int(value, 0) <= MAX_NUMBER


def _node(*kinds: NodeKind, none: bool = False) -> Callable[[str], bool]:
    def accepts(value: str) -> bool:
        parts = parse_id(value)
        return parts.kind in kinds if parts is not None else none and value == "-"

    return accepts


_REGISTER = "[a-z][a-z0-9_]*:0x[0-9a-f]{1,16}"
_COUNTS = "[a-z0-9][a-z0-9-]*:[1-9][0-9]{0,18}"
_IDS: dict[str, Callable[[str], bool]] = {
    "PD": _node("PD"),
    "PD_OR_NONE": _node("PD", none=True),
    "SPACE": _node("RESOURCE_SPACE"),
    "RESOURCE": _node("RESOURCE"),
    "THING": _node("RESOURCE_SPACE", "RESOURCE"),
    "NODE": _node("PD", "RESOURCE_SPACE", "RESOURCE"),
    "NODE_OR_NONE": _node("PD", "RESOURCE_SPACE", "RESOURCE", none=True),
    "NAME_OR_NODE": lambda value: True,
}
"""The types with ids among their values."""
_FORMS: dict[str, Callable[[str], bool]] = {
    "NUMBER": _integer(r"0|[1-9][0-9]{0,19}"),
    "FLAG": _like("[01]"),
    "ADDRESS": _integer(r"0x[0-9a-f]{1,16}"),
    "DEPTH": _like(r"0|[1-9][0-9]{0,8}|inf"),
    "DIGEST": _like(r"[0-9a-f]{8}"),
    "KEY": _like(r"[0-9a-f]{32}"),
    "STATE_DIGEST": _like(r"[0-9a-f]{16}"),
    "TEXT": lambda value: True,
    "SPACE_TYPE": _like(r"[A-Z][A-Z0-9_]*"),
    **_IDS,
    "CALLS": _like(rf"-|{_COUNTS}(,{_COUNTS})*"),
    "OBJECTS": _like(rf"-|{_COUNTS}(,{_COUNTS})*"),
    "REGISTERS": _like(rf"-|{_REGISTER}(,{_REGISTER})*"),
}
"""Type in the table CR_TRACE_TYPES -> whether a value has the form of the type."""


NOBODY = "-"
"""The operation of a change that the configuration makes."""
RECONCILED = "reconcile"
"""The operation of changes that make a saved state. No PD asks for them."""


_WITH_WORDS: Final = (
    "trace_events.h", "model.h", "protocol.h", "policy.h", "steps.h", "make_steps.h"
)  # fmt: skip
"""The headers with tables of words. Those of the type CAUSE are in the table CR_CAUSE."""


def _words(name: str) -> tuple[str, ...]:
    """The words that a type allows, from its table in C. Empty: it has none."""
    if name == "OP_OR_NONE":
        return (*(operation.word for operation in headers.operations()), RECONCILED, NOBODY)
    macro = "CR_CRASH_WAY" if name == "CRASH" else f"CR_{name}"
    header = next((each for each in _WITH_WORDS if headers.has_table(each, macro)), None)
    return () if header is None else tuple(filter(None, headers.printed_names(header, macro)))


@functools.cache
def field_types() -> dict[str, FieldType]:
    """The types of fields, by name. HeaderError if C has a type that this module does not know."""
    types: dict[str, FieldType] = {}
    for name, _, expected in headers.table("trace_events.h", "CR_TRACE_TYPE"):
        form = _FORMS.get(str(name))
        words = _words(str(name)) if form is None else ()
        if form is not None:
            types[str(name)] = FieldType(str(name), str(expected), form)
        elif words:
            one_of = "one of " + ", ".join(words)
            types[str(name)] = FieldType(str(name), one_of, frozenset(words).__contains__, words)
        else:
            raise HeaderError(
                f"trace_events.h: CR_TRACE_TYPES has {name}, which {__name__} does not know"
            )
    return types


@functools.cache
def id_fields(event: str) -> tuple[str, ...]:
    """The fields of an event of this name whose values can be ids. Others only look like ids."""
    table = headers.event_table()
    return tuple(each for each in table.fields[event] if table.types[event, each] in _IDS)


def cause_of(event: Event) -> str | None:
    """The cause of the cleanup that an event brings about now. None: it brings about none."""
    if event.name == "TRIGGER":
        return event["cause"] if event["when"] == "now" else None
    return event.name.lower() if event.name in ("FAULT", "EXIT") else None


def asks(event: Event) -> bool:
    """Whether a PD asks for something with the event, and has a ticket for it."""
    if event.name == "TRIGGER":
        asked = event["cause"] in ("terminate", "subtree", "collect")
        return asked and event["by"] not in ("-", ROOT)
    return event.name == "EXTRACT" and event["by"] != ROOT


def encode(value: str) -> str:
    """A value as it stands in a trace line: bytes outside 0x21..0x7e, and '%', become %XX."""
    raw = value.encode("utf-8", "surrogateescape")
    return "".join(
        chr(byte) if 0x21 <= byte <= 0x7E and byte != 0x25 else f"%{byte:02X}" for byte in raw
    )


def printable(text: str, limit: int = 120) -> str:
    """Text of a target, safe for terminals: at most `limit` characters, no control characters."""
    shown = "".join(
        char if char.isprintable() and not 0xD800 <= ord(char) < 0xE000 else "?" for char in text
    )
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."
