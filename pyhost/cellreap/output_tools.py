# SPDX-License-Identifier: BSD-2-Clause
"""What `--json` prints of the commands that neither build, boot nor check (output.py)."""

from __future__ import annotations

from typing import Literal, NotRequired

from cellreap.output_parts import (
    CacheEntry,
    DroppedPart,
    ImportNote,
    PageShown,
    Program,
    SymbolFile,
    Versioned,
)


class ImportOutput(Versioned):
    """`cellreap import --json`."""

    command: Literal["import"]
    """The command."""
    names: dict[str, str]
    """Name of a PD in the description -> its name in the configuration."""
    notes: list[ImportNote]
    """What the configuration has otherwise, or not at all, in the order of the lines."""
    dropped: list[DroppedPart]
    """Connections that the configuration does not have, in the order of the lines."""
    config: str
    """The configuration."""


class ProgramsOutput(Versioned):
    """`cellreap programs --json`."""

    command: Literal["programs"]
    """The command."""
    programs: list[Program]
    """All programs, or the one that was named."""
    headers: list[str]
    """The folders with the headers that programs include."""


class CacheOutput(Versioned):
    """`cellreap cache --json`."""

    command: Literal["cache"]
    """The command."""
    folder: str
    """Where it is."""
    entries: NotRequired[list[CacheEntry]]
    """What is there. Without --prune."""
    deleted: NotRequired[list[CacheEntry]]
    """What was deleted. With --prune."""


class InitOutput(Versioned):
    """`cellreap init --json`."""

    command: Literal["init"]
    """The command."""
    folder: str
    """The folder of the project."""
    name: str
    """The name of its system."""
    files: list[str]
    """The files that were made."""


class DebugOutput(Versioned):
    """`cellreap debug --json`. It is printed when a debugger can attach."""

    command: Literal["debug"]
    """The command."""
    system: str
    """The system's name."""
    arch: str
    """Its architecture."""
    debugger: str
    """The debugger for it, such as `gdb-multiarch`."""
    remote: str
    """Host and port of the stub."""
    script: str
    """A script for gdb that attaches."""
    root_task: SymbolFile
    """The root task."""
    programs: list[SymbolFile]
    """The programs of the PDs."""


class CompletionOutput(Versioned):
    """`cellreap completion --json`."""

    command: Literal["completion"]
    """The command."""
    shell: str
    """The shell."""
    script: str
    """The script for it."""


class DocsOutput(Versioned):
    """`cellreap docs --json`."""

    command: Literal["docs"]
    """The command."""
    pages: list[PageShown]
    """All pages, or the one that was named."""
    text: str | None
    """The text of the page that was named, in Markdown."""


class CapdlOutput(Versioned):
    """`cellreap capdl --json`."""

    command: Literal["capdl"]
    """The command."""
    after: int
    """The number of the cleanup."""
    writer: Literal["own", "tool"] | None
    """What wrote the text. null: there is none."""
    compared: bool
    """Whether the text was compared with a snapshot of the kernel."""
    problems: list[str]
    """Why the trace does not pass its check, or what the snapshot has otherwise."""
    capdl: str | None
    """The description. null: the trace does not pass."""
