# SPDX-License-Identifier: BSD-2-Clause
"""Trace versions: the table of each, and the conversion of older events to the current version.

Only this module knows the names of older versions. The reader verifies a line by the table of the
version that wrote it and then upgrades the event. Checker, report, story and tests use current
names.

Upgrading renames events, fields and words. It adds no events, because what an older root task did
not record cannot be derived. A field that a newer version added gets the value that says so.

- Version 1 has no MODE, DEADLINE, LATE, FREEZE, REFUSED, WAIT, CONTINUE, RESUME_WORK, ACCEPT,
  TICKET, EXTRACT, SUBGRAPH, MODEL and EXTRACTED, and no QUEUE with n=0. Its root task had no such
  behaviour. TRACE keeps the version that was written, so that the checker can apply the rules of
  that version.
- Version 2 has everything that version 3 has, under other names.
- Version 3 has the step `unblock`, which version 4 has not.
- Versions 3 to 7 lack the events and fields that the next version added. Their root tasks had no
  such behaviour.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cellreap import headers
from cellreap.headers import EventTable
from cellreap.trace.events import Event

_OLD_TABLES = Path(__file__).with_name("versions")


class NotOfVersionError(Exception):
    """A value does not exist in the trace's version."""

    def __init__(self, field_name: str, expected: str) -> None:
        super().__init__(f"{field_name}: expected {expected}")
        self.field = field_name
        self.expected = expected


@dataclass(frozen=True)
class Change:
    """What the next version renames and adds. All other names stay the same."""

    events: Mapping[str, str] = field(default_factory=dict)
    """The old name of an event -> its new one."""
    fields: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(old name of the event, old name of the field) -> the field's new name."""
    words: Mapping[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    """(old name of the event, old name of the field) -> each old value -> its new value."""
    added: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(new name of the event, new field) -> its value in older traces. New fields are the last."""


_OF_THE_MODEL = (
    "PD", "SPACE", "RESOURCE", "DELETE", "HOLD", "UNHOLD", "REQUEST", "UNREQUEST", "MAP", "UNMAP",
    "HANDLER", "LINK", "OWN", "SUBSCRIBE", "UNSUBSCRIBE",
)  # fmt: skip
"""Events of version 3 that change the model. Version 4 adds their cause."""
_WITH_OBJECTS = ("BASE", "BODY", "FREED", "SETTLED", "MAKE_UNDONE")
"""Events of version 4 to which version 5 adds the kernel objects."""
CHANGES: dict[int, Change] = {
    2: Change(
        events={
            "FETCH": "GET_WORK",
            "ACK": "FINISH_WORK",
            "AGAIN": "RESUME_WORK",
            "PIECE": "SUBGRAPH",
            "TICKET": "ACCEPT",
            "TOLD": "TICKET",
            "RESUME": "CONTINUE",
        },
        words={
            ("CLEANUP", "cause"): {
                "fault": "fault",
                "exit": "exit",
                "terminate": "terminate",
                "deadline": "late",
            }
        },
    ),
    3: Change(
        added={
            ("TRACE", "key"): "-",
            ("HOLD", "by"): "-",
            ("REQUEST", "by"): "-",
            **{(event, cause): "-" for event in _OF_THE_MODEL for cause in ("asker", "op")},
            ("STEP", "kinds"): "-",
            ("FAULT", "registers"): "-",
        },
    ),
    4: Change(
        added={
            **{(event, "objects"): "-" for event in _WITH_OBJECTS},
            ("RIGHTS", "listen"): "0",
            ("CLEANUP", "steps"): "0",
            ("SETTLED", "whole"): "1",
            **{(event, "digest"): "-" for event in ("CLEANUP", "RECOVER", "SETTLED")},
            ("TAKEOVER", "number"): "0",
            ("RESIDUE", "number"): "0",
            **{("IN_USE", use): "-" for use in ("tickets", "own", "parents", "bodies")},
        },
    ),
    5: Change(
        added={
            ("RIGHTS", "reader"): "0",
            ("RIGHTS", "collect"): "0",
            ("SUBSCRIBE", "handler"): "0",
            ("UNSUBSCRIBE", "handler"): "0",
            ("QUEUE", "broken"): "0",
            ("QUEUE", "handlers"): "0",
        }
    ),
    6: Change(added={("TRACE", "clock"): "0"}),
    7: Change(added={("STEP", "count"): "1", ("EXIT", "registers"): "-", ("PROBE", "ms"): "0"}),
}
"""Version -> what the next version renames and adds to events. Others are not listed."""


def upgrade(event: Event, version: int) -> Event:
    """The event of a trace of that version, in the form of the current version.

    NotOfVersionError if a value does not exist in that version.
    """
    for older in range(version, headers.event_table().version):
        if older in CHANGES:
            event = _changed(event, CHANGES[older])
    return event


def _changed(event: Event, change: Change) -> Event:
    values: dict[str, str] = {}
    for name, value in event.values.items():
        words = change.words.get((event.name, name))
        if words is not None and value not in words:
            raise NotOfVersionError(name, "one of " + ", ".join(words))
        values[change.fields.get((event.name, name), name)] = words[value] if words else value
    new_name = change.events.get(event.name, event.name)
    values |= {name: value for (of, name), value in change.added.items() if of == new_name}
    return Event(new_name, values, event.line, event.seq, event.text, event.time)


def written_in(event: Event, version: int) -> Event:
    """The inverse of `upgrade`: the event in the form of a trace of that version.

    An event, a field or a value that the version does not have keeps its current name.
    """
    for older in range(headers.event_table().version - 1, version - 1, -1):
        if older in CHANGES:
            event = _undone(event, CHANGES[older])
    return event


def _undone(event: Event, change: Change) -> Event:
    name = _key_of(change.events, event.name)
    values: dict[str, str] = {}
    for new_field, new_value in event.values.items():
        if change.added.get((event.name, new_field)) == new_value:
            continue
        olds = {old: new for (of, old), new in change.fields.items() if of == name}
        old_field = _key_of(olds, new_field)
        values[old_field] = _key_of(change.words.get((name, old_field), {}), new_value)
    return Event(name, values, event.line, event.seq, event.text, event.time)


def _key_of(renamed: Mapping[str, str], new: str) -> str:
    return next((old for old, name in renamed.items() if name == new), new)


@functools.cache
def table_of(version: int) -> EventTable | None:
    """The events of a trace version, under the names of that version. None for an unknown version.

    The table of the current version is the header of the C sources. When the version is raised, the
    previous header must be copied to versions/v<version>.h beside this module, and CHANGES must
    list what the new version renames.
    """
    current = headers.event_table()
    if version == current.version:
        return current
    old = _OLD_TABLES / f"v{version}.h"
    if not old.is_file():
        return None
    return headers.parse_event_table(headers.strip(old.read_text(encoding="utf-8")), str(old))


def known_versions() -> list[int]:
    """The versions that table_of knows, in ascending order."""
    kept = {int(path.stem[1:]) for path in _OLD_TABLES.glob("v*.h") if path.stem[1:].isdecimal()}
    return sorted(kept | {headers.event_table().version})


def events_of(version: int) -> frozenset[str]:
    """The events that this version has, by their current names; empty for an unknown version."""
    table = table_of(version)
    if table is None:
        return frozenset()
    return frozenset(_current_name(name, version) for name in table.fields)


def _current_name(name: str, version: int) -> str:
    for older in range(version, headers.event_table().version):
        if older in CHANGES:
            name = CHANGES[older].events.get(name, name)
    return name
