# SPDX-License-Identifier: BSD-2-Clause
"""What a run came to, and whether that is what its configuration expects.

A run can be legal and still not be what its author wanted: a program of the system crashed, and the
root task cleaned up after it as it must. Such findings are no violations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from cellreap.trace.events import Event
from cellreap.trace.expected import Expected
from cellreap.trace.faults import describe_fault
from cellreap.trace.hanging import Hanging
from cellreap.trace.refusals import PAGE, Refusal, refusal_of
from cellreap.trace.report import Report, Unexpected, Word
from cellreap.trace.silence import WAITS

READS: Final = frozenset(
    {
        "STANDS", "END", "SAY", "STAGE", "resumed THREAD", "REFUSE", "FAULT", "EXIT", "TRIGGER",
    }
)  # fmt: skip
_MAX_SAID: Final = 1 << 20  # characters of a PD's lines that are kept
_SHOWN: Final = 80


@dataclass(frozen=True)
class Crash:
    """A crash that no STAGE ordered."""

    pd: str
    name: str
    how: str
    line: int
    refused: Refusal | None = None
    """What was last refused to it before it exited."""


@dataclass
class Outcome:
    """What a run came to. Takes the events of its trace in order, behind the check, whose report
    this is. PDs have their names.
    """

    report: Report
    crashes: list[Crash] = field(default_factory=list)
    """Those that nobody staged: a fault, an exit with a code other than 0, a missed deadline, a PD
    that hung.
    """
    exits: dict[str, int] = field(default_factory=dict)
    """Name -> the last exit code."""
    said: dict[str, str] = field(default_factory=dict)
    """Name -> its lines."""
    waits: dict[str, str] = field(default_factory=dict)
    """Name of a PD that waits in a call or for its fault handler at the end -> for whom."""
    ended: bool = False
    _staged: dict[str, str] = field(default_factory=dict)
    _refused: dict[str, Refusal] = field(default_factory=dict)

    @property
    def created(self) -> set[str]:
        """The names of the PDs that ever were."""
        return {self.report.names[pd] for pd in self.report.pds()}

    def take(self, event: Event) -> None:
        """Takes the next event."""
        match event.told:
            case "STANDS" if event["ms"] == "0" and event["state"] in WAITS:
                self.waits[self._name(event["pd"])] = self._name(event["on"])
            case "END":
                self.ended = True
            case "SAY":
                name = self._name(event["pd"])
                self.said[name] = (self.said.get(name, "") + event["text"] + "\n")[-_MAX_SAID:]
            case "STAGE" if event["how"] != "terminate":
                self._staged[event["pd"]] = event["how"]
            case "resumed THREAD":
                self._staged.pop(event["pd"], None)
            case "REFUSE":
                self._refused[event["pd"]] = refusal_of(event)
            case "FAULT":
                self._crash(event, describe_fault(event, self.report.arch))
            case "EXIT":
                code = event.number("code")
                self.exits[self._name(event["pd"])] = code
                if code != 0:
                    refused = self._refused.get(event["pd"])
                    self._crash(event, f"exit with code {code}", refused)
            case "TRIGGER" if event["cause"] == "late":
                self._crash(event, f"it missed its deadline for notice {event['token']}")
            case "TRIGGER" if event["cause"] == "hung":
                self._crash(event, f"it hung: {Hanging.of(event).told(self._name)}")

    def _name(self, pd: str) -> str:
        return self.report.names.get(pd, pd)

    def _crash(self, event: Event, how: str, refused: Refusal | None = None) -> None:
        pd = event["pd"]
        if self._staged.pop(pd, None) is None:
            self.crashes.append(Crash(pd, self._name(pd), how, event.line, refused))


def unexpected(outcome: Outcome, expected: Expected) -> list[Unexpected]:
    """The ways in which a run was not what its configuration expects. Empty: it was.

    If its trace breaks off, [expect] is held against what there is of it.
    """
    alive = [outcome.report.names[pd] for pd in outcome.report.alive()]
    return [
        *_crashes(outcome, expected),
        *(_implied(outcome, expected, alive) if outcome.ended else ()),
        *_lives(expected, alive),
        *_rest(outcome, expected),
    ]


def _crashes(outcome: Outcome, expected: Expected) -> Iterator[Unexpected]:
    for crash in outcome.crashes:
        if crash.name not in expected.outcome.crashes:
            text = f"{crash.name} ({crash.pd}): {crash.how}"
            if crash.refused is not None:
                text += f"; it was last refused {crash.refused.why()} ({PAGE})"
            yield Unexpected(Word.UNSTAGED, text, crash.line)


def _implied(outcome: Outcome, expected: Expected, alive: Collection[str]) -> Iterator[Unexpected]:
    """What every run is to come to by its end."""
    wanted = expected.outcome
    for pd in expected.pds:
        if pd.name not in outcome.created:
            late = ": it starts after the first cleanup" if pd.late else ""
            yield Unexpected(Word.NEVER_RAN, f"{pd.name}{late}")
    if wanted.alive is None and not wanted.nobody_left and not alive:
        yield Unexpected(Word.NOBODY_LEFT, "only the root task lives at the end")


def _lives(expected: Expected, alive: Collection[str]) -> Iterator[Unexpected]:
    wanted = expected.outcome
    for name in sorted((wanted.alive or frozenset()).difference(alive)):
        yield Unexpected(Word.NOT_ALIVE, f"{name}: expected it to live at the end")
    gone = wanted.dead if wanted.alive is None else set(alive) - wanted.alive
    for name in sorted(gone.intersection(alive)):
        yield Unexpected(Word.STILL_ALIVE, f"{name}: expected it to be dead at the end")


def _rest(outcome: Outcome, expected: Expected) -> Iterator[Unexpected]:
    wanted = expected.outcome
    for name, texts in wanted.said.items():
        for text in texts:
            if not any(text in line for line in outcome.said.get(name, "").splitlines()):
                yield Unexpected(Word.NOT_SAID, f"{name}: expected {text!r}{_last(outcome, name)}")
    for name, code in wanted.exits.items():
        found = outcome.exits.get(name)
        if found != code:
            said = "it did not exit" if found is None else f"it exited with {found}"
            yield Unexpected(Word.EXIT_CODE, f"{name}: {said}: expected {code}")
    if wanted.waits is not None:
        for name in sorted(outcome.waits.keys() - wanted.waits):
            text = f"{name}: it still waits for {outcome.waits[name]}: expected it not to"
            yield Unexpected(Word.WAITS, text)
        for name in sorted(wanted.waits - outcome.waits.keys()):
            yield Unexpected(Word.WAITS, f"{name}: expected it to wait at the end")
    cleanups = len(outcome.report.cleanups)
    if wanted.cleanups is not None and cleanups != wanted.cleanups:
        yield Unexpected(Word.CLEANUPS, f"{cleanups}: expected {wanted.cleanups}")


def _last(outcome: Outcome, name: str) -> str:
    lines = outcome.said.get(name, "").splitlines()
    return f"; it last said {lines[-1][:_SHOWN]!r}" if lines else "; it said nothing"
