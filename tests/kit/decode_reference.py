# SPDX-License-Identifier: BSD-2-Clause
"""What a message of a PD asks for, written from docs/protocol.md, to compare the root task's decoder with.

It goes by what an operation's arguments are called, one word after the other, and by bytes for text. Nothing
of the core's is used here: numbers, limits and results are written once more.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Final

MAGIC: Final = 0x6372700000000002
NO_NUMBER: Final = 2**32 - 1
CORE: Final = frozenset(b"ADS VMR MO VCPU PCPU CPU EP PD RESSPC".split())

Value = int | bytes | list[tuple[int, ...]]


@dataclass(frozen=True)
class Message:
    """A message as it arrives. caps: capabilities along; badge: the first one's, if to the root task."""

    label: int
    words: tuple[int, ...]
    caps: int = 0
    badge: int = 0


class Refused(Exception):
    """A request that is answered with an error: its name in cr_result without the prefix."""


# Operation -> its arguments in their order. "pd!": a capability must come along, "pd?": it may.
# A name that begins with # is a word of 64 bits, any other one a number out of an id.
FORMS: Final[dict[int, str]] = {
    1: "say",
    2: "#code",
    3: "round_boundary",
    4: "TYPE NAME pd?",
    5: "space",
    6: "space",
    7: "space object",
    8: "name unless_nowait",
    9: "space",
    10: "space object #badge",
    11: "space object pd!",
    12: "space pd!",
    13: "space object",
    14: "space object #badge",
    15: "space object target_space target_object both",
    16: "space object target_space target_object both",
    17: "",
    18: "answers",
    19: "name",
    20: "pd!",
    21: "pd_depth rs_depth",
    22: "#badge fault_kind #address #ip",
    23: "space object",
    24: "space alone pd?",
    25: "space alone pd?",
    26: "space object alone whole pd?",
    27: "space",
    28: "#ticket wait",
    29: "",
    30: "#token edges",
}

# How many words an argument takes at least; those that are no words of their own take none.
WIDTH: Final = {"TYPE": 2, "NAME": 4, "name": 4, "unless_nowait": 0, "both": 0, "alone": 0, "whole": 0} | {
    "pd?": 0,
    "pd!": 0,
}


def _text(words: tuple[int, ...]) -> bytes | None:
    whole = struct.pack(f"<{len(words)}Q", *words)
    text, nul, _ = whole.partition(b"\0")
    return text if nul and re.fullmatch(rb"[!-~]+", text) else None


def _number(word: int) -> int:
    return min(word, NO_NUMBER)


def decode(message: Message) -> dict[str, Value]:
    """Returns the arguments that are neither 0 nor empty, by the names in cr_operation_args.

    Raises Refused.
    """
    if not message.words or message.words[0] != MAGIC:
        raise Refused("BAD_MAGIC")
    form = FORMS.get(message.label)
    if form is None:
        raise Refused("BAD_OP")
    names = form.split()
    needed = 1 + sum(WIDTH.get(name, 1) for name in names)
    allowed = {"pd!": (1,), "pd?": (0, 1)}.get(names[-1] if names else "", (0,))
    if len(message.words) < needed or message.caps not in allowed:
        raise Refused("BAD_LENGTH")
    out: dict[str, Value] = {"op": message.label, "has_pd": message.caps}
    out["pd_badge"] = message.badge if message.caps else 0
    rest = message.words[1:]
    for name in names:
        rest = _take(name, rest, out)
    return out


def _take(name: str, rest: tuple[int, ...], out: dict[str, Value]) -> tuple[int, ...]:
    """Takes one argument off the words and returns those behind it."""
    if name == "say":
        size, *words = rest
        whole = struct.pack(f"<{len(words)}Q", *words)
        if size > 400 or size > len(whole):
            raise Refused("BAD_LENGTH")
        out["count"], out["text"] = size, whole[:size]
    elif name in ("TYPE", "NAME", "name"):
        text = _text(rest[: WIDTH[name]])
        if text is None:
            raise Refused("NO_SUCH" if name == "name" else "FAILED")
        out[name.lower()] = text
        if name == "TYPE" and (text in CORE or not re.fullmatch(rb"[A-Z][A-Z0-9_]*", text)):
            raise Refused("FAILED")
    elif name == "unless_nowait":
        out["wait"] = int(not rest or rest[0] == 0)
    elif name in ("round_boundary", "wait"):
        out[name] = int(rest[0] != 0)
    elif name == "both":
        if (out["object"] == 0) is not (out["target_object"] == 0):
            raise Refused("FAILED")
    elif name == "alone":
        if out["space"] != 0 and out["has_pd"]:
            raise Refused("BAD_LENGTH")
    elif name == "whole":
        if out["object"] != 0 and out["has_pd"]:  # a PD's number and a PD
            raise Refused("BAD_LENGTH")
    elif name == "answers":
        answers = _rows(rest, most=16, width=2)
        if any(result not in (0, 1, 2) for _, result in answers):
            raise Refused("FAILED")
        if len({token for token, _ in answers}) != len(answers):
            raise Refused("NO_SUCH")
        out["count"], out["answers"] = len(answers), answers
    elif name == "edges":
        items = [tuple(map(_number, row)) for row in _rows(rest, most=32, width=3)]
        if any((object_ == 0) is not (target == 0) for object_, _, target in items):
            raise Refused("FAILED")
        out["count"], out["items"] = len(items), items
    elif name in ("pd_depth", "rs_depth"):
        if rest[0] >= 2**32:
            raise Refused("FAILED")
        out[name] = rest[0]
    elif name == "fault_kind":
        if rest[0] not in (0, 1, 2, 3):
            raise Refused("BAD_BADGE")
        out[name] = rest[0]
    elif name.startswith("#"):
        out[name[1:]] = rest[0]
    elif name not in ("pd?", "pd!"):
        out[name] = _number(rest[0])
    return rest[WIDTH.get(name, 1) :]


def _rows(rest: tuple[int, ...], most: int, width: int) -> list[tuple[int, ...]]:
    """As many rows as the first word says."""
    count, *words = rest
    if not 1 <= count <= most or len(words) < count * width:
        raise Refused("BAD_LENGTH")
    return [tuple(words[i * width : (i + 1) * width]) for i in range(count)]
