# SPDX-License-Identifier: BSD-2-Clause
"""The model state that a configuration, a description, a trace or a CSV file describes."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cellreap.errors import ModelError, UsageError, closest
from cellreap.inputs import opened
from cellreap.model.closeness import Closeness
from cellreap.model.csvstate import ReadReport, read_state
from cellreap.model.graph import Model
from cellreap.trace.frames import MARK
from cellreap.trace.lines import Lines

if TYPE_CHECKING:  # the check is imported for traces alone
    from cellreap.trace.report import Report

CONFIGURATION: Final = "configuration"
DESCRIPTION: Final = "description"
TRACE: Final = "trace"
CSV: Final = "csv"

_BLOCK: Final = 1 << 20
_MAX_LINE: Final = 1 << 16  # a longer line is read in pieces

Depths = tuple[int | None, int | None]
"""pd_depth and rs_depth. None: unlimited."""


@dataclass(frozen=True)
class State:
    """A model state, and what is to be known of it."""

    model: Model
    kind: str
    """`configuration`, `description`, `trace` or `csv`."""
    depths_of: Callable[[str], Depths] = lambda pd: (0, 0)
    """The depths that the source gives the crash of a PD, by its id."""
    kept: frozenset[str] = frozenset()
    """PDs that a collection keeps although no edge tells it: those that the root task made."""
    closeness: Closeness | None = None
    """The policy that the source gives, if depth alone does not decide."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The names of spaces, by id, if the source has them."""
    notes: tuple[str, ...] = ()
    """What its reader should know: what was left out, or is not in such a source."""
    violations: tuple[str, ...] = ()
    """Why the state is illegal."""
    report: ReadReport | None = None
    """What the reader of a CSV file noticed."""
    check: Report | None = None
    """The check of a trace."""
    gone: Mapping[str, str] = field(default_factory=dict)
    """What became of the PDs that a trace had and the state has no more, by id and by name."""

    def find_pd(self, name_or_id: str) -> str:
        """The id of the PD with this id or name. ModelError if no PD or several PDs have it."""
        try:
            return self.model.find_pd(name_or_id)
        except ModelError as error:
            names = {self.model.nodes[pd].name for pd in self.model.pds()}
            near = None if name_or_id in names else closest(name_or_id, names)
            what = self.gone.get(name_or_id)
            also = f": {what}" if what else f'; did you mean "{near}"?' if near else ""
            raise ModelError(f"{error}{also}") from None


def state_of(
    path: Path, *, after: int | None = None, strict: bool = False, policy: Path | None = None
) -> State:
    """The state in a file. The suffix .toml means a configuration, .system a description for
    Microkit, a line with TRACE a trace.

    after: of a trace, the state after this cleanup; 0: before the first; None: at the end. strict:
    a state is refused if something must be left out or if it is illegal. policy: the one beside a
    description. InputError, UsageError.
    """
    if policy is not None and path.suffix != ".system":
        raise UsageError(f"--policy {policy}: {path} is no description for Microkit (.system)")
    # What only one of the kinds needs is imported for it alone: a CSV file is planned at once.
    if path.suffix == ".toml":
        from cellreap.api.configured import of_system
        from cellreap.api.systems import System

        found = of_system(System.read(path))
    elif path.suffix == ".system":
        from cellreap.api.described import of_description

        found = of_description(path, policy)
    elif has_trace(path):
        from cellreap.api.traced import of_trace

        found = of_trace(path, after, strict=strict)
    else:
        found = _of_csv(path, strict=strict)
    if after is not None and found.kind != TRACE:
        raise UsageError(f"--after {after}: {path} is no trace: only a trace has cleanups")
    return checked(found, str(path), strict=strict)


def checked(state: State, source: str, *, strict: bool = False) -> State:
    """The state with a note if it is illegal. strict: UsageError in this case."""
    found = state.model.check_legal()
    if not found:
        return state
    first = found[0]
    more = f" (the first of {len(found)} findings)" if len(found) > 1 else ""
    if strict:
        raise UsageError(f"{source}: no legal state: {first.rule}: {first.text}{more}")
    note = f"{source}: no legal state: {first.text}{more}"
    told = tuple(finding.text for finding in found)
    return replace(state, violations=told, notes=(*state.notes, note))


def limit(depth: int | str) -> int | None:
    """A depth as planners take it: None if it is `inf`."""
    return None if depth == "inf" else int(depth)


def _of_csv(path: Path, *, strict: bool) -> State:
    model, report = read_state(path, strict=strict)
    return State(model, CSV, notes=tuple(report.notes()), report=report)


def has_trace(path: Path) -> bool:
    """Whether a trace begins in a file."""
    lines = Lines()
    with opened(path) as stream:
        while block := stream.read(_BLOCK):
            block += stream.readline(_MAX_LINE)  # the rest of its last line
            for line in io.BytesIO(block) if MARK in block else ():
                for at in range(0, len(line), _MAX_LINE):
                    piece = line[at : at + _MAX_LINE]
                    if MARK in piece and lines.find(piece.rstrip(b"\n")):
                        return True
    return False
