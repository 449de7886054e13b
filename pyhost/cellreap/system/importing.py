# SPDX-License-Identifier: BSD-2-Clause
"""What the importers of other tools' descriptions have in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.items import Table

from cellreap.errors import InputError
from cellreap.system.config import Config, parse_config

MAX_NAME = 31
PRIORITIES = range(1, 201)
CALLS = "CALLS"
"""The type of the space that stands for what a PD can be called for."""


@dataclass(frozen=True)
class Note:
    """Something of the description that the configuration does not have, or has otherwise."""

    line: int
    """The line in the description."""
    where: str
    """The element, or the element and its attribute: `end.id`."""
    text: str
    """What becomes of it, and why."""


@dataclass(frozen=True)
class Dropped:
    """A connection of the description that the configuration does not have."""

    line: int
    """The line in the description."""
    kind: str
    """As in `[[dropped]]`."""
    name: str
    """Its name in the description; empty: it has none."""
    between: tuple[str, ...]
    """The PDs that it connects, by their names in the configuration."""

    def table(self) -> Table:
        """Its table in the configuration."""
        named = {"name": self.name} if self.name else {}
        return table({"kind": self.kind, **named, "between": list(self.between)})


def counted(dropped: Sequence[Dropped]) -> str:
    """How many connections there are, with their kinds, for people."""
    kinds = Counter(each.kind for each in dropped)
    some = ", ".join(f"{kind}: {count}" for kind, count in sorted(kinds.items()))
    many = "1 connection is" if len(dropped) == 1 else f"{len(dropped)} connections are"
    return f"{many} not in the configuration ({some}): audits of it cannot conclude"


@dataclass(frozen=True)
class Imported:
    """A configuration that was made of a description."""

    text: str
    """The configuration."""
    config: Config
    """What it says."""
    names: dict[str, str]
    """Name of a PD in the description -> its name in the configuration."""
    notes: tuple[Note, ...]
    """What is not in it, in the order of the lines."""
    dropped: tuple[Dropped, ...] = ()
    """The connections that are not in it, in the order of the lines."""


class Names:
    """Gives names that configurations allow. A name that was given is not given again."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def give(self, wanted: str) -> str:
        """A name that is like `wanted`."""
        plain = re.sub(r"[^a-z0-9]+", "_", wanted.lower()).strip("_")
        if not plain[:1].isalpha():
            plain = f"pd_{plain}".strip("_")
        name, count = plain[:MAX_NAME], 1
        while name in self._given:
            count += 1
            name = f"{plain[: MAX_NAME - len(str(count)) - 1]}_{count}"
        self._given.add(name)
        return name


def ranked(priorities: Iterable[int]) -> dict[int, int] | None:
    """Priority -> the priority here: in the same order, and the same where that can be.

    None: there are too many.
    """
    told = sorted(set(priorities))
    if len(told) > len(PRIORITIES):
        return None
    new: dict[int, int] = {}
    above = PRIORITIES.stop
    for priority in reversed(told):
        above = new[priority] = min(priority, above - 1)
    below = PRIORITIES.start - 1
    for priority in told:
        below = new[priority] = max(new[priority], below + 1)
    return new


def table(values: Mapping[str, object]) -> Table:
    """A table of TOML."""
    made = tomlkit.table()
    for key, value in values.items():
        made.add(key, value)
    return made


def configuration(
    document: TOMLDocument,
    path: Path,
    names: dict[str, str],
    notes: Iterable[Note],
    dropped: Iterable[Dropped],
    refuse: Callable[[str, str], InputError] | None = None,
) -> Imported:
    """What was made of the description at `path`: a document, to which what was dropped is added.

    InputError if no configuration allows it. refuse: makes it of the key and of what is wrong.
    """
    left_out = tuple(sorted(dropped, key=lambda each: each.line))
    if left_out:
        tables = tomlkit.aot()
        for each in left_out:
            tables.append(each.table())
        document.add("dropped", tables)
    text = tomlkit.dumps(document).rstrip() + "\n"
    try:
        config = parse_config(text, path)
    except InputError as error:
        if refuse is not None and error.field is not None:
            raise refuse(error.field, error.expected) from None
        what = f"{error.field}: {error.expected}" if error.field else error.expected
        raise InputError(str(path), None, None, f"as a configuration: {what}") from None
    noted = tuple(sorted(notes, key=lambda note: note.line))
    return Imported(text, config, names, noted, left_out)
