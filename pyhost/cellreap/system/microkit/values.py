# SPDX-License-Identifier: BSD-2-Clause
"""What the attributes of a description may say, as Microkit reads them.

Each has `read`, which makes the value of the text, and raises ValueError with what it expected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from cellreap.model.nodes import MAX_TEXT

_DECIMAL = re.compile(r"\+?([0-9]{1,40})")
_ANY_BASE = re.compile(r"0x([0-9a-fA-F]{1,40})|\+?([0-9]{1,40})")
_PCI = re.compile(r"([0-9a-fA-F]{1,8}):([0-9a-fA-F]{1,8})\.([0-9a-fA-F]{1,8})")
_MOST = {"bus": 255, "device": 31, "function": 7}


class Value(Protocol):
    """How the text of an attribute is read."""

    def read(self, text: str) -> object:
        """Its value. ValueError: what is expected instead."""


@dataclass(frozen=True)
class Word:
    """A text that is not empty."""

    def read(self, text: str) -> str:
        if not text:
            raise ValueError("empty: this attribute is required")
        return text


@dataclass(frozen=True)
class Name(Word):
    """A text that can be told in a line. Microkit takes others, too."""

    def read(self, text: str) -> str:
        if len(text) > MAX_TEXT or not text.isprintable():
            raise ValueError(f"expected at most {MAX_TEXT} characters that can be printed")
        return super().read(text)


@dataclass(frozen=True)
class Number:
    """A number, whose digits _ may divide: decimal, or with 0x. plain: decimal digits only."""

    least: int = 0
    most: int = (1 << 64) - 1
    plain: bool = False

    def read(self, text: str) -> int:
        digits = text if self.plain else text.replace("_", "")
        found = (_DECIMAL if self.plain else _ANY_BASE).fullmatch(digits)
        if found is not None:
            number = int(digits, 16 if digits.startswith("0x") else 10)
            if self.least <= number <= self.most:
                return number
        raise ValueError(f'expected a number from {self.least} to {self.most}, got "{text}"')


@dataclass(frozen=True)
class Choice:
    """One of some words."""

    words: tuple[str, ...]

    def read(self, text: str) -> str:
        if text not in self.words:
            raise ValueError(f'expected {" or ".join(self.words)}, got "{text}"')
        return text


@dataclass(frozen=True)
class Boolean:
    """true or false."""

    def read(self, text: str) -> bool:
        return Choice(("true", "false")).read(text) == "true"


@dataclass(frozen=True)
class Rights:
    """Letters for rights. refused: the combinations that are not allowed."""

    letters: str
    refused: tuple[str, ...]

    def read(self, text: str) -> str:
        given = "".join(letter for letter in self.letters if letter in text)
        if set(text) - set(self.letters) or given in self.refused:
            but = " or ".join(f'"{rights}"' for rights in self.refused)
            raise ValueError(f'expected letters of "{self.letters}" but not {but}, got "{text}"')
        return given


@dataclass(frozen=True)
class Pci:
    """bus:device.function, in hexadecimal. The value is in one spelling."""

    def read(self, text: str) -> str:
        found = _PCI.fullmatch(re.sub(r"\s", "", text))
        parts = [] if found is None else [int(part, 16) for part in found.groups()]
        if not parts or any(a > b for a, b in zip(parts, _MOST.values(), strict=True)):
            limits = ", ".join(f"{part} up to {most}" for part, most in _MOST.items())
            raise ValueError(
                f'expected bus:device.function in hexadecimal ({limits}), got "{text}"'
            )
        return "{:02x}:{:02x}.{:x}".format(*parts)


@dataclass(frozen=True)
class Duration:
    """A number that is not 0, a space and a unit."""

    def read(self, text: str) -> tuple[int, str]:
        number, _, unit = text.partition(" ")
        if unit not in ("us", "ticks"):
            raise ValueError(f'expected a number and us or ticks, such as "1000 us", got "{text}"')
        return Number(1).read(number), unit
