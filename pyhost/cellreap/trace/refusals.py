# SPDX-License-Identifier: BSD-2-Clause
"""The operations that the root task refused, in words. The words are those of protocol.h."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from cellreap import headers
from cellreap.trace.events import Event, printable
from cellreap.trace.hanging import Plain

if TYPE_CHECKING:
    from cellreap.trace.report import Report

PAGE: Final = "`cellreap docs operations`"
"""What shows the page that says what each operation demands."""
READS: Final = frozenset({"REFUSE", "REFUSED"})
"""The events that `Refusals` reads."""
_SHOWN: Final = 12


@dataclass
class Refusal(Plain):
    """An operation that was refused to the PDs of one name, always with the same result.

    operation, result: their names in protocol.h, or their numbers if it has none. Both are None for
    refusals that the trace only counts.
    """

    name: str
    operation: str | None
    result: str | None
    meaning: str
    """What the result means, without a full stop."""
    pds: list[str] = field(default_factory=list)
    count: int = 0

    def why(self) -> str:
        """What was refused, how often and why."""
        if self.operation is None:
            return f"{self.count} further operations, which the trace only counts"
        often = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.operation}{often}: {self.result}, {self.meaning}"


class Refusals:
    """Adds the refused operations of a trace to its report. Equal ones are one."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._found: dict[tuple[str, str | None, str | None], Refusal] = {}

    def take(self, event: Event) -> None:
        """Takes the next event."""
        told = event.name == "REFUSE"
        refusal = refusal_of(event) if told else Refusal("", None, None, "")
        pd = event["pd"]
        refusal.name = self._report.names.get(pd, pd)
        key = (refusal.name, refusal.operation, refusal.result)
        known = self._found.setdefault(key, refusal)
        if known is refusal:
            self._report.refusals.append(refusal)
        known.count += 1 if told else event.number("count")
        if pd not in known.pds:
            known.pds.append(pd)


def refusal_of(event: Event) -> Refusal:
    """A REFUSE event in words."""
    operations, results = _words()
    op, status = event.number("op"), event.number("status")
    result, meaning = results.get(status, (f"result {status}", "no such result is known"))
    return Refusal(event["pd"], operations.get(op, f"operation {op}"), result, meaning)


@functools.cache
def _words() -> tuple[dict[int, str], dict[int, tuple[str, str]]]:
    """Number -> the name of the operation; number -> the name of the result and its meaning."""
    operations = {each.number: each.name for each in headers.operations()}
    results = {}
    for enumerator, number, meaning in headers.table("protocol.h", "CR_RESULT"):
        text = str(meaning)
        told = f"{text[0].lower()}{text[1:].removesuffix('.')}"
        results[int(number)] = (str(enumerator).removeprefix("CR_RESULT_"), told)
    return operations, results


def refusals_told(refusals: Sequence[Refusal], label: Callable[[str], str]) -> Iterator[str]:
    """The lines of a summary. label: a PD for people."""
    if not refusals:
        return
    yield f"Refused operations ({PAGE} says what each demands):"
    for refusal in refusals[:_SHOWN]:
        pds = refusal.pds
        who = label(pds[0])
        if len(pds) > 1:
            who = f"{printable(refusal.name)} ({pds[0]} and {len(pds) - 1} more)"
        yield f"  {who}: {refusal.why()}"
    if len(refusals) > _SHOWN:
        yield f"  ... and {len(refusals) - _SHOWN} others"
