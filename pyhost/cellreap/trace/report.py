# SPDX-License-Identifier: BSD-2-Clause
"""The result of checking a trace: what the trace records, and which rules it violates; and the
verdict in words, which every command has from here.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cellreap.model.csvstate import state_text
from cellreap.model.ids import ROOT, kind_of
from cellreap.model.indexed import IndexedModel
from cellreap.trace.events import printable
from cellreap.trace.faults import FaultSeen
from cellreap.trace.hanging import Hanging, Plain
from cellreap.trace.reader import Problem
from cellreap.trace.refusals import Refusal
from cellreap.trace.silence import Silence, Standing


@dataclass
class Cleanup:
    """A cleanup of a run. Nodes have their ids: `Run.names` has the names.

    >>> [cleanup] = cellreap.check("tests/data/goldens/block_fs_db_app-0-0.trace").cleanups
    >>> cleanup.trigger, cleanup.cause, cleanup.plan["deleted_spaces"]
    ('PD_1', 'fault', ['BLOCK_SPACE_4'])
    """

    number: int
    """The number, from 1."""
    line: int
    """The line of the console at which it begins."""
    trigger: str
    """The PD with which it began. -: a collection."""
    cause: str
    """Why it began, as in the event CLEANUP."""
    plan: dict[str, Any]
    """The plan, with the keys of `cellreap plan --json`."""
    kernel_calls: dict[str, int] = field(default_factory=dict)
    """The kernel calls by kind."""
    destroyed: list[str] = field(default_factory=list)
    """What it destroyed, in order."""
    freed: tuple[int, int] = (0, 0)
    """The bytes and slots of the PDs that it destroyed."""
    cycles: int = 0
    """Its duration by the counter of the machine. 0: there is no counter."""
    lefts: list[list[list[str]]] = field(default_factory=list)
    """The steps (name, node, pd) that each of its runs left, the first run first."""
    for_good: bool = False
    """Whether no later run carries out what it left."""
    memory: list[tuple[str, str, int, tuple[str, ...]]] = field(default_factory=list)
    """What becomes of memory: (freed, keeps or loses; a PD; bytes; the others that have or had it).
    A survivor loses what was lent to it when it has acknowledged that."""
    broken: list[tuple[str, str, str]] = field(default_factory=list)
    """What survivors hold that is built on what it destroys: (survivor, held, lost)."""

    @property
    def left(self) -> list[list[str]]:
        """The steps (name, node, pd) that it left at the end of its last run."""
        return self.lefts[-1] if self.lefts else []


@dataclass
class Failure(Plain):
    """A notice that its receiver could not deal with.

    space: the space of the notice's lane, or `-` for notices about PDs. waiting: the number of
    notices held behind it at the end of the trace.
    """

    pd: str
    space: str
    token: int
    kind: str
    node: str
    waiting: int = 0
    resumed: bool = False


@dataclass
class Lateness(Plain):
    """A PD that missed its deadline for a notice.

    deadline: in milliseconds. ms: the time that the PD took, in milliseconds.
    """

    pd: str
    token: int
    kind: str
    node: str
    deadline: int
    ms: int


@dataclass
class Ticket(Plain):
    """An accepted termination, extraction or collection, with the words of TICKET.

    what: the PD to be terminated; None for the others. state: the last state that the owner was
    told; None if it was told nothing.
    """

    ticket: int
    pd: str
    what: str | None
    state: str | None = None
    done: int = 0
    failed: int = 0
    dropped: int = 0
    waiting: int = 0
    held: int = 0


@dataclass
class Extraction:
    """The model state with the edges that managers reported. rows: CSV rows without the header."""

    number: int
    by: str
    subgraphs: int = 0
    """number of SUBGRAPH events: MAP edges that managers reported"""
    rows: list[str] = field(default_factory=list)
    tombstones: list[str] = field(default_factory=list)
    """the rows of destroyed nodes that were still known then"""
    done: bool = False

    def to_json(self) -> dict[str, Any]:
        shown = {"x": self.number, "by": self.by, "subgraphs": self.subgraphs}
        return {**shown, "rows": list(self.rows)}

    def csv(self) -> str:
        """The model state as the text of a file."""
        return state_text([*self.rows, *self.tombstones])


@dataclass(frozen=True)
class Unreached:
    """A crash of the configuration that did not happen, or not as often as it was to.

    crash: its place in the configuration, from 1. name: its PD. times: how often it happened, and
    repeat: how often it was to, or None if no configuration is known. why: what ended it.
    """

    crash: int
    name: str
    times: int
    repeat: int | None
    why: str

    def __str__(self) -> str:
        came = "never came about"
        if self.times:
            of = "" if self.repeat is None else f" of {self.repeat}"
            came = f"came about {self.times}{of} times"
        return f"crash {self.crash} of the configuration, of {self.name}, {came}: {self.why}"


class Word(enum.StrEnum):
    """What is unexpected. Messages begin with it."""

    UNSTAGED = "unstaged crash"
    NEVER_RAN = "never ran"
    NOBODY_LEFT = "nobody left"
    NOT_ALIVE = "not alive"
    STILL_ALIVE = "still alive"
    NOT_SAID = "not said"
    EXIT_CODE = "exit code"
    CLEANUPS = "cleanups"
    WAITS = "waits"
    NOT_CRASHED = "not crashed"
    LEFT = "not cleaned up"


@dataclass(frozen=True)
class Undone(Plain):
    """What a PD did not do until the end of the run, for which the root task is not to blame."""

    pd: str
    what: str
    """The words behind the PD's name."""


@dataclass(frozen=True)
class Unexpected:
    """A way in which a run was not as expected. line: of the trace; 0: none in particular."""

    word: Word
    text: str
    line: int = 0

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.word}: {self.text}"


@dataclass
class Report:
    """What a trace records, and which rules it violates."""

    path: str
    kernel: str = ""
    arch: str = ""
    system: str = ""
    violations: list[Problem] = field(default_factory=list)
    more_violations: int = 0
    """violations that are counted but not kept"""
    cleanups: list[Cleanup] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    late: list[Lateness] = field(default_factory=list)
    hung: list[Hanging] = field(default_factory=list)
    tickets: list[Ticket] = field(default_factory=list)
    extractions: list[Extraction] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """id -> name in the configuration, for PDs and spaces, including destroyed ones"""
    spawned: set[str] = field(default_factory=set)
    """the PDs that PDs created, including destroyed ones"""
    unreached: list[Unreached] = field(default_factory=list)
    """crashes of the configuration that did not happen as often as they were to"""
    unexpected: list[Unexpected] = field(default_factory=list)
    """how the run was not what its configuration expects"""
    faults: list[FaultSeen] = field(default_factory=list)
    """all faults, in order"""
    refusals: list[Refusal] = field(default_factory=list)
    """operations that were refused, in the order in which they first happened"""
    silence: Silence | None = None
    """what is known of the PDs when a trace without END breaks off"""
    waits: list[Standing] = field(default_factory=list)
    """the PDs that wait in a call or for a fault handler when the run ends, and whom they wait for;
    see `Standing.waits`"""
    stay_down: dict[str, int] = field(default_factory=dict)
    """name of a PD that is not created anew any more -> its budget of respawns, which is used up"""
    undone: list[Undone] = field(default_factory=list)
    """what PDs did not do: the rest of their rounds, their notices"""
    events: int = 0
    unverified: list[str] = field(default_factory=list)
    """what the check could not verify with what it was given"""
    cut_off: bool = False
    """the trace has no END, and was sound so far"""
    broken_off: bool = False
    """the trace has no END, and that was no violation"""
    injected: dict[str, int] = field(default_factory=dict)
    """failure to inject, as a configuration writes it -> how often it happened"""
    asked: int = 0
    """how often the kernel was asked for its capabilities"""
    snapshots: int = 0
    """how often it printed a snapshot; else the root task only walked its own CNodes"""
    stopped: str = ""
    """the message with which the kernel or the root task stopped before END"""
    foreign_lines: int = 0
    """lines that look like trace lines and that the root task did not print"""
    model: IndexedModel = field(default_factory=IndexedModel)
    """the state after the last replayed event"""

    @property
    def passed(self) -> bool:
        """Whether it violates no rule, and neither kernel nor root task stopped."""
        return not violation_count(self)

    def pds(self) -> list[str]:
        """The PDs that ever were, without the root task, in the order of creation."""
        return [node for node in self.names if kind_of(node) == "PD" and node != ROOT]

    def alive(self) -> list[str]:
        """Those of them that live at the end. What a cleanup left lives no more."""
        gone = set[str]()
        for cleanup in self.cleanups:
            gone.update(cleanup.destroyed)
            gone.update(pd for pd, _ in cleanup.plan["destroyed_pds"] if cleanup.lefts)
        return [pd for pd in self.pds() if pd not in gone]

    def kernel_parts(self) -> tuple[str, str]:
        """The kernel's name and version."""
        name, _, version = self.kernel.rpartition(" ")
        return (name, version) if name else (self.kernel, "")


class Verdict(enum.StrEnum):
    """What a trace comes to. The first one that applies is the verdict."""

    FAIL = "fail"
    """The trace violates a rule, or the kernel or the root task stopped."""
    UNEXPECTED = "not as expected"
    """It violates none, and is not what its configuration demands of a run."""
    NO_END = "no end"
    """It breaks off, and is right as far as it goes."""
    PASS = "pass"
    """All of it is as the reference model has it."""


def verdict_of(report: Report) -> Verdict:
    """The verdict about a trace. All commands have it from here."""
    if not report.passed:
        return Verdict.FAIL
    if report.unexpected:
        return Verdict.UNEXPECTED
    return Verdict.NO_END if report.broken_off else Verdict.PASS


def verdict_json(report: Report) -> dict[str, Any]:
    """The verdict for --json, with what was not looked at, if there is any."""
    return {
        "verdict": verdict_of(report),
        **({"no_end": True} if report.broken_off else {}),
        **({"unverified": list(report.unverified)} if report.unverified else {}),
    }


def counted(count: int, what: str) -> str:
    """A number of things: "1 respawn", "2 respawns"."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def foreign_told(count: int) -> str:
    """A sentence about foreign lines."""
    if count == 1:
        return "1 line looks like a trace line and is not the root task's"
    return f"{count} lines look like trace lines and are not the root task's"


def kernels_word_told(report: Report) -> str:
    """A sentence about the kernel's word."""
    walks = "once" if report.asked == 1 else f"{report.asked} times"
    snapshots = "1 snapshot" if report.snapshots == 1 else f"{report.snapshots or 'no'} snapshots"
    return f"the kernel was asked for its capabilities {walks}, with {snapshots}"


def injected_told(report: Report) -> str:
    """A sentence about the injected failures."""
    often = {0: "never happened", 1: "happened"}
    each = [
        f"{text} ({often.get(count, f'happened {count} times')})"
        for text, count in report.injected.items()
    ]
    return f"injected: {', '.join(each)}"


def violation_count(report: Report) -> int:
    """How many things are wrong with a trace. 0: it violates no rule, and nothing stopped."""
    return len(report.violations) + report.more_violations + bool(report.stopped)


def violation_lines(report: Report) -> list[str]:
    """Why a trace fails: a line for each violation, and one for the number of those that are not
    kept. The first says that the kernel or the root task stopped, if it did.
    """
    lines = []
    if report.stopped:
        told = printable(report.stopped, 200)
        lines.append(f"{report.path}: the kernel or the root task stopped: {told}")
    lines += [f"{report.path}:{problem}" for problem in report.violations]
    if report.more_violations:
        lines.append(f"{report.path}: {report.more_violations} more")
    return lines


def report_json(report: Report) -> dict[str, Any]:
    """The report as `check --json` and `run --json` print it.

    `unexpected`, `faults`, `refused`, `silence`, `waits`, `undone`, `no_end`, `unverified`,
    `foreign_lines` and `kernels_word` are there only if there are any.
    """
    name, version = report.kernel_parts()
    verdict = verdict_json(report)
    told = verdict.pop("verdict")
    word = {"asked": report.asked, "snapshots": report.snapshots} if report.asked else {}
    if_any = {
        "unexpected": [{"word": each.word, "text": each.text} for each in report.unexpected],
        "faults": [fault.to_json() for fault in report.faults],
        "refused": [refusal.to_json() for refusal in report.refusals],
        "silence": report.silence and report.silence.to_json(),
        "waits": [each.to_json() for each in report.waits],
        "undone": [each.to_json() for each in report.undone],
        **verdict,
        "kernels_word": word,
        "foreign_lines": report.foreign_lines,
    }
    return {
        "kernel": {"name": name, "version": version, "arch": report.arch},
        "verdict": told,
        "violations": violation_lines(report),
        "names": dict(sorted(report.names.items())),
        "cleanups": [
            {
                **cleanup.plan,
                "broken": [list(each) for each in cleanup.broken],
                "left": [list(each) for each in cleanup.left],
                "cause": cleanup.cause,
                "kernel_calls": cleanup.kernel_calls,
            }
            for cleanup in report.cleanups
        ],
        "failures": [failure.to_json() for failure in report.failures],
        "late": [late.to_json() for late in report.late],
        "hung": [hung.to_json() for hung in report.hung],
        "tickets": [ticket.to_json() for ticket in report.tickets],
        "extractions": [each.to_json() for each in report.extractions if each.done],
        **{key: value for key, value in if_any.items() if value},
    }


_SHOWN = 10


def verdict_lines(report: Report, seconds: float | None = None, ended: bool = False) -> list[str]:
    """The last lines of a summary: what was not verified, the verdict, and its reasons.

    seconds: the duration of the run; None: it is not known. ended: the user ended it.
    """
    lines = []
    for what in report.unverified:
        lines += [f"Not verified: {what}.", ""]
    verdict = verdict_of(report)
    complaints = violation_lines(report)
    took = "" if seconds is None else f" in {seconds:.1f} s"
    count = f"{report.events} events{took}"
    findings = list(map(str, report.unexpected))
    match verdict:
        case Verdict.FAIL:
            lines.append(f"FAIL: {counted(violation_count(report), 'violation')}, {count}")
            lines += _reasons(complaints)
        case Verdict.NO_END:
            how = "ENDED AS ASKED" if ended else "NO END"
            lines.append(f"{how}: right as far as it goes; {count}")
        case Verdict.PASS:
            waits = sum(each.waits for each in report.waits)
            also = f"; {counted(waits, 'PD')} still waiting for an answer" if waits else ""
            lines.append(f"PASS: everything as the reference model has it{also}; {count}")
    if findings:
        so_far = " so far" if report.broken_off else ""
        also = f"; the cleanups are as the reference model has them{so_far}; {count}"
        also = "" if complaints else also
        lines.append(f"NOT AS EXPECTED: {counted(len(findings), 'finding')}{also}")
        lines += _reasons(findings)
    return lines


def _reasons(texts: Sequence[str]) -> list[str]:
    return [f"  {printable(text, 400)}" for text in first_of(texts)]


def first_of(lines: Sequence[str]) -> list[str]:
    """The first ten lines, and how many there are more."""
    more = [f"... and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return [*lines[:_SHOWN], *more]


def found_in(report: Report) -> list[Unexpected]:
    """How a run was not what its configuration demands, as its trace alone shows it."""
    found = [Unexpected(Word.NOT_CRASHED, str(each)) for each in report.unreached]
    for cleanup in report.cleanups:
        if cleanup.left:
            text = f"cleanup {cleanup.number} left {counted(len(cleanup.left), 'step')}"
            text += " for good" if cleanup.for_good else ""
            steps = ", ".join(_step(report, *step) for step in cleanup.left[:_SHOWN])
            more = ", ..." if len(cleanup.left) > _SHOWN else ""
            found.append(Unexpected(Word.LEFT, f"{text}: {steps}{more}"))
    return found


def _step(report: Report, name: str, node: str, pd: str) -> str:
    """A step that was left: "destroy-pd server (PD_1)"."""
    about = pd if node == "-" else node
    named = report.names.get(about)
    return f"{name} {named} ({about})" if named else f"{name} {about}"
