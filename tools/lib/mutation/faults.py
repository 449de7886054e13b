# SPDX-License-Identifier: BSD-2-Clause
"""Faults, and the files that name them: edits of source text."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellreap.errors import CellreapError, InputError


class FaultError(CellreapError):
    """A fault does not fit the sources."""


@dataclass(frozen=True)
class Edit:
    """Replaces `old`, which begins at byte `start` of a file, by `new`."""

    file: str  # relative to the checkout
    start: int
    old: bytes
    new: bytes


@dataclass(frozen=True)
class Fault:
    """A change of the sources that something should notice.

    name: unique among the faults of its file; for a named fault, among the named ones. The file of
    a fault is that of its first edit. checks: what is tried before what its file's rule has.
    """

    name: str
    edits: tuple[Edit, ...]
    named: bool = False
    checks: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The file that decides which checks run."""
        return self.edits[0].file

    @property
    def key(self) -> str:
        """The name of the fault in results and reports."""
        return self.name if self.named else f"{self.file}: {self.name}"


def edited(files: Mapping[str, bytes], fault: Fault) -> dict[str, bytes]:
    """The contents of the files that the fault changes, with the fault."""
    contents: dict[str, bytes] = {}
    for edit in sorted(fault.edits, key=lambda edit: -edit.start):
        text = contents.get(edit.file, files[edit.file])
        end = edit.start + len(edit.old)
        if text[edit.start : end] != edit.old:
            raise FaultError(f"{fault.key}: the text to replace is not in {edit.file}")
        contents[edit.file] = text[: edit.start] + edit.new + text[end:]
    return contents


# -- named faults


def read_named(path: Path, files: Mapping[str, bytes]) -> list[Fault]:
    """The named faults of a TOML file, for these sources.

    Raises FaultError if a text to replace is not in its file exactly once: the sources were
    changed, and the fault must be changed with them.
    """
    faults = []
    for entry in _tables(path, "fault", {"name", "edit", "checks"}):
        name = _text(path, entry, "name")
        checks = entry.get("checks", [])
        edits = [_edit(path, files, name, each) for each in entry.get("edit", [])]
        if not edits:
            raise InputError(str(path), None, f"fault {name!r}", "at least one edit is expected")
        faults.append(Fault(name, tuple(edits), named=True, checks=tuple(checks)))
    _once(path, [fault.name for fault in faults])
    return faults


def _edit(path: Path, files: Mapping[str, bytes], name: str, entry: Mapping[str, Any]) -> Edit:
    file, old = _text(path, entry, "file"), _text(path, entry, "old").encode()
    new = _text(path, entry, "new").encode()
    text = files.get(file)
    if text is None:
        raise FaultError(f"{path}: fault {name!r}: there is no file {file}")
    count = text.count(old)
    if count != 1:
        raise FaultError(
            f"{path}: fault {name!r}: its text is {count} times in {file}, expected once; "
            "the sources were changed, so the fault must be changed, too"
        )
    return Edit(file, text.index(old), old, new)


# -- reasons


def read_reasons(path: Path) -> dict[str, str]:
    """Fault -> why it changes nothing that a check could notice. The keys are those of faults."""
    reasons: dict[str, str] = {}
    for entry in _tables(path, "reason", {"file", "fault", "reason"}):
        key = _text(path, entry, "fault")
        if "file" in entry:  # a named fault is known by its name alone
            key = f"{_text(path, entry, 'file')}: {key}"
        if key in reasons:
            raise InputError(str(path), None, None, f"two reasons for {key!r}")
        reasons[key] = _text(path, entry, "reason")
    return reasons


# -- TOML


def read_toml(path: Path) -> dict[str, Any]:
    """The contents of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CellreapError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(str(path), None, None, f"is not TOML: {error}") from None


def _tables(path: Path, name: str, keys: set[str]) -> list[dict[str, Any]]:
    found = read_toml(path)
    unknown = found.keys() - {name}
    entries = found.get(name, [])
    if unknown or not isinstance(entries, list):
        raise InputError(str(path), None, None, f"only [[{name}]] is expected")
    for entry in entries:
        if not isinstance(entry, dict) or entry.keys() - keys:
            raise InputError(
                str(path), None, f"[[{name}]]", f"only the keys {sorted(keys)} are expected"
            )
    return entries


def _text(path: Path, entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str):
        raise InputError(str(path), None, key, "a text is expected")
    return value


def _once(path: Path, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(str(path), None, None, f"two faults are named {name!r}")
        seen.add(name)
