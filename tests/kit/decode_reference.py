# SPDX-License-Identifier: BSD-2-Clause
"""The decoder in Python, written from docs/operations.md. The C decoder is compared with it.

The arguments of an operation are read from the table in protocol.h that the docs show.
test_docs_tables.py keeps table and docs equal. The meaning of each form is written here again, from
its description. Numbers, limits and results are from the docs, and no code of the core is used.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Final

from cellreap.headers import operation_forms

MAGIC: Final = 0x6372700000000001
NO_NUMBER: Final = 2**32 - 1
CORE: Final = frozenset(b"ADS VMR MO VCPU PCPU CPU EP PD RESSPC IRQ PORT CHANNEL".split())

Value = int | bytes | list[tuple[int, ...]]


@dataclass(frozen=True)
class Message:
    """A message as it arrives.

    caps: the number of capabilities in the message. badge: that of the first one, if it is a
    capability to the root task.
    """

    label: int
    words: tuple[int, ...]
    caps: int = 0
    badge: int = 0


class Refused(Exception):
    """An operation that is answered with an error: its name in cr_result without the prefix."""


# Number of an operation -> its arguments in order: (form, member of cr_operation_args).
FORMS: Final = operation_forms()

# The minimum number of words of an argument.
WIDTH: Final = {
    "TYPE": 2, "NEW_NAME": 4, "NAME": 4, "FLAG_OR_NOT": 0, "HANDLER_OR_NOT": 0, "PD": 0,
    "PD_OR_NOT": 0,
}  # fmt: skip

# Rows: the maximum number of rows, and the forms of a row.
ROWS: Final = {
    "answers": (16, ("WORD", "WORK_RESULT")),
    "items": (32, ("NUMBER", "NUMBER", "NUMBER")),
}

# Conditions between the arguments of an operation.
BOTH_OR_NONE: Final = (15, 16)  # MAP, UNMAP
HANDLERS: Final = 32
ONE_OF_TWO: Final = (24, 25, 26)  # SUBSCRIBE, UNSUBSCRIBE, LOOK: a space, or a PD
ALLOW: Final = 31  # a space, or the number of a PD


def _text(words: tuple[int, ...]) -> bytes | None:
    whole = struct.pack(f"<{len(words)}Q", *words)
    text, nul, _ = whole.partition(b"\0")
    return text if nul and re.fullmatch(rb"[!-~]+", text) else None


def decode(message: Message) -> dict[str, Value]:
    """Returns the arguments that are neither 0 nor empty, by the names in cr_operation_args.

    Raises Refused.
    """
    if not message.words or message.words[0] != MAGIC:
        raise Refused("BAD_MAGIC")
    forms = FORMS.get(message.label)
    if forms is None:
        raise Refused("BAD_OP")
    names = {form for form, _ in forms}
    allowed = (1,) if "PD" in names else (0, 1) if "PD_OR_NOT" in names else (0,)
    needed = 1 + sum(WIDTH.get(form, 1) for form, _ in forms)
    if len(message.words) < needed or message.caps not in allowed:
        raise Refused("BAD_LENGTH")
    out: dict[str, Value] = {"op": message.label, "has_pd": message.caps}
    out["pd"] = message.badge if message.caps else 0
    rest = message.words[1:]
    for form, member in forms:
        rest = _take(form, member, rest, out)
    if message.label in BOTH_OR_NONE and (out["object"] == 0) is not (out["target_object"] == 0):
        raise Refused("FAILED")
    if message.label == ALLOW and out["space"] and out["pd_number"]:
        raise Refused("FAILED")
    if message.label in ONE_OF_TWO and out["has_pd"] and (out["space"] or out.get("object")):
        raise Refused("BAD_LENGTH")
    return out


def _take(form: str, member: str, rest: tuple[int, ...], out: dict[str, Value]) -> tuple[int, ...]:
    """Takes one argument from the words and returns the remaining words."""
    if form == "TEXT":
        size, *words = rest
        whole = struct.pack(f"<{len(words)}Q", *words)
        if size > 400 or size > len(whole):
            raise Refused("BAD_LENGTH")
        out["count"], out[member] = size, whole[:size]
        return rest[1 + (size + 7) // 8 :]
    if form == "ROWS":
        most, forms = ROWS[member]
        rows = _rows(rest, most, len(forms))
        out["count"] = len(rows)
        out[member] = [tuple(map(_word, forms, row)) for row in rows]
        if member == "items" and any((row[0] == 0) is not (row[2] == 0) for row in rows):
            raise Refused("FAILED")
        return rest[1 + len(forms) * len(rows) :]
    if form in ("TYPE", "NEW_NAME", "NAME"):
        text = _text(rest[: WIDTH[form]])
        if text is None:
            raise Refused("NO_SUCH" if form == "NAME" else "FAILED")
        if form == "TYPE" and (text in CORE or not re.fullmatch(rb"[A-Z][A-Z0-9_]*", text)):
            raise Refused("FAILED")
        out[member] = text
    elif form == "FLAG_OR_NOT":
        out[member] = int(bool(rest) and rest[0] != 0)
    elif form == "HANDLER_OR_NOT":
        handler = rest[0] if rest else 0
        if handler >= HANDLERS:
            raise Refused("FAILED")
        out[member] = handler
        return rest[1:]
    elif form not in ("PD", "PD_OR_NOT"):
        out[member] = _word(form, rest[0])
    return rest[WIDTH.get(form, 1) :]


def _word(form: str, word: int) -> int:
    """An argument of one register."""
    match form:
        case "NUMBER":
            return min(word, NO_NUMBER)
        case "WORD":
            return word
        case "FLAG":
            return int(word != 0)
        case "DEPTH" | "COUNT" if word >= 2**32:
            raise Refused("FAILED")
        case "WORK_RESULT" if word not in (0, 1, 2):
            raise Refused("FAILED")
        case "DEPTH" | "COUNT" | "WORK_RESULT":
            return word
    raise ValueError(f"no form {form}")


def _rows(rest: tuple[int, ...], most: int, width: int) -> list[tuple[int, ...]]:
    """As many rows as the first word says."""
    count, *words = rest
    if not 1 <= count <= most or len(words) < count * width:
        raise Refused("BAD_LENGTH")
    return [tuple(words[i * width : (i + 1) * width]) for i in range(count)]
