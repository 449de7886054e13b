# SPDX-License-Identifier: BSD-2-Clause
"""Reads the trace in a raw console log.

docs/trace-format.md describes the format. A console log also contains other output: kernel messages
before, between and inside lines, carriage returns, noise, and what PDs print. The reader skips
lines that are not trace lines and reports each damaged trace line. A line with a
wrong checksum is damage only if an event is missing in its place. Otherwise the root task
did not print it, and the reader counts it as foreign.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from cellreap.errors import InputError
from cellreap.headers import event_table
from cellreap.trace import frames
from cellreap.trace.events import Event, printable
from cellreap.trace.frames import MARK, Cut, Damage, Frame, NoDigit
from cellreap.trace.lines import FATAL, Lines, key_in
from cellreap.trace.statements import Statement, Statements

MAX_LINE = 65536
"""Bytes in a line, without its newline. A SAY of the longest text takes less than 2 KiB."""
MAX_SNAPSHOT = 1 << 18
"""Lines of a snapshot that are kept. That of a system with the most PDs has fewer."""
MAX_OTHERS = 1 << 8
"""Lines of others behind an event that are kept before they are looked at."""
MAX_PROBLEMS = 1000
"""Number of problems that are kept. Further ones are only counted."""

_CHUNK = 1 << 15


@dataclass(frozen=True)
class Problem:
    """A fault in a trace. line: in the console log, from 1. rule: a key of `rules.RULES`.

    event: the number of the event at which it was found; None: it is a fault of the line.
    """

    line: int
    text: str
    rule: str
    event: int | None = None

    def __str__(self) -> str:
        return f"{self.line}: {self.rule}: {self.text}"


@dataclass(frozen=True)
class _Suspect:
    """A line with a mark and a wrong checksum: damaged, or not the root task's.

    what: what is wrong with it, and the rule; None: that was not looked at yet. claims: the numbers
    of its events, if it has them.
    """

    line: int
    text: bytes
    what: tuple[str, str] | None
    claims: range | None

    def ends(self, following: int, last_line: int) -> bool:
        """Whether it may be what is left of the last events, of which `following` is the first."""
        return self.line == last_line if not self.claims else self.claims[-1] >= following

    def is_in(self, missing: range) -> bool:
        """Whether it may be what is left of some of these events."""
        return self.claims is None or any(each in missing for each in self.claims)


_MAX_SUSPECTS = 1000
_INTERRUPT = re.compile(rb"(?:Undelivered|Received disabled) IRQ: [0-9]{1,9}\r?\Z")
"""What a debug kernel prints at once of an interrupt of a driver that is being destroyed, also
within a line of the root task's, and several times.
"""


def _check_version(path: str, number: int, frame: Frame) -> None:
    """InputError if a TRACE names another version than that of this cellreap."""
    head = frames.head_of(frame)
    assert head is not None  # the frame has a key
    version, known = head[0], event_table().version
    if version != known:
        newer = ", so a newer cellreap wrote it" if version > known else ""
        expected = f"{version} is no version that this cellreap reads ({known}){newer}"
        raise InputError(path, number, "TRACE: version", expected)


def split_lines(
    stream: BinaryIO, progress: Callable[[int], None] | None = None
) -> Iterator[tuple[int, bytes, bool, bool]]:
    """The lines of a console log, as (line number, line, dropped, whole).

    whole: whether the line has an end; all but the last have. dropped: whether a trace line that
    was too long was dropped before this line. Of a line longer than MAX_LINE, only the end is
    returned, beginning at its last mark if that fits. progress:
    called with the number of bytes after each piece that was read.
    """
    rest = bytearray()
    number = 1
    overlong = False
    while chunk := stream.read(_CHUNK):
        if progress is not None:
            progress(len(chunk))
        rest += chunk
        start = 0
        if len(rest) <= MAX_LINE:  # so is each line in it
            *lines, last = bytes(rest).split(b"\n")
            for line in lines:
                yield number, line, overlong, True
                overlong = False
                number += 1
            rest = bytearray(last)
            continue
        while (end := rest.find(b"\n", start)) >= 0:
            overlong |= end - start > MAX_LINE and MARK in rest[start : end - MAX_LINE]
            yield number, bytes(rest[max(start, end - MAX_LINE) : end]), overlong, True
            overlong = False
            number += 1
            start = end + 1
        del rest[:start]
        if len(rest) > MAX_LINE:
            at = rest.rfind(MARK)
            keep = len(rest) - at if at >= 0 else len(MARK) - 1
            if keep > MAX_LINE:
                keep = len(MARK) - 1
            overlong |= MARK in rest[: len(rest) - keep]
            del rest[: len(rest) - keep]
    if rest:
        yield number, bytes(rest), overlong, False


def read(
    reader: Reader, stream: BinaryIO, progress: Callable[[int], None] | None = None
) -> Iterator[Event]:
    """The events in a console log, up to the first that is missing or out of place.

    Later events cannot be interpreted. The rest of the log is still read for damage, which `reader`
    reports. InputError if there is no trace in the log.
    """
    events = Events(reader)
    number = 0
    for number, line, overlong, whole in split_lines(stream, progress):
        yield from events.feed(number, line, overlong)
        reader.ends_within = not whole
    yield from events.finish(number)
    reader.finish()


class Events:
    """The events in lines of a console, with the snapshots that the kernel prints before them."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._snapshot: list[str] | None = None
        """The lines of the one that the kernel prints."""
        self._statements = Statements()
        self._said: list[Statement] = []
        self._begun = b""
        """What there is of a line within which the kernel told of an interrupt."""

    def feed(self, number: int, line: bytes, overlong: bool = False) -> list[Event]:
        """The events in a line, if the trace is sound so far."""
        if not self._begun and b" IRQ: " not in line:
            return self._feed(number, line, overlong)
        found = _INTERRUPT.search(line)
        before = line[: found.start()] if found is not None else b""
        goes_on = self._begun and not line.startswith(MARK)
        if found and goes_on and len(self._begun) + len(before) <= MAX_LINE:
            self._begun += before
            return []
        if MARK in before or before.endswith(MARK[:1]):
            events = self.finish(number - 1)
            self._begun = before
            return events
        if goes_on:  # the rest of it
            begun, self._begun = self._begun, b""
            return self._feed(number, begun + line, overlong)
        return [*self.finish(number - 1), *self._feed(number, line, overlong)]

    def finish(self, number: int) -> list[Event]:
        """The events in what was begun and did not go on."""
        begun, self._begun = self._begun, b""
        return self._feed(number, begun, False) if begun else []

    def _feed(self, number: int, line: bytes, overlong: bool) -> list[Event]:
        events = self._reader.feed(number, line, overlong)
        if not events or not line.startswith(MARK):
            self._hear(number, line, not events)
        snapshot = self._snapshot
        if events:
            last = events[-1]
            if self._said:
                events[0].said = tuple(self._said)
                self._said.clear()
            announced = last.name == "TRUTH" and last["snapshot"] == "1"
            self._snapshot = [] if announced else None
            if snapshot is not None:
                events[0] = replace(events[0], text=tuple(snapshot))
        elif snapshot is not None and MARK not in line and len(snapshot) < MAX_SNAPSHOT:
            snapshot.append(line.rstrip(b"\r").decode("latin-1"))
        return events

    def _hear(self, number: int, line: bytes, whole: bool) -> None:
        """Keeps what a PD says in a line, or in front of the event in it, for the next event."""
        key = self._reader.key
        if key is not None:
            text = line if whole else line[: line.rfind(MARK)]
            said = self._statements.feed(number, text, key, whole)
            if said is not None and len(self._said) < MAX_PROBLEMS:
                self._said.append(said)


@dataclass
class Reader:
    """Finds the trace in the lines of a console log.

    Feed it all lines, call finish, then read `problems`. It keeps no lines.
    """

    path: str
    problems: list[Problem] = field(default_factory=list)
    more_problems: int = 0
    """Number of problems beyond MAX_PROBLEMS."""
    broken_at: int | None = None
    """The line of the first damage. The replay ends there."""
    last_line: int = 0
    cut_off: bool = False
    """There is no END. Valid after finish."""
    foreign: int = 0
    """Number of lines that look like trace lines and are not the root task's."""

    at_end: set[int] = field(default_factory=set)
    """Lines of a trace without END that may be what is left of its last events, or a PD's."""
    ends_within: bool = False
    """Whether the last line has no end."""
    _begun: bool = False  # the TRACE event came
    _lines: Lines = field(default_factory=Lines)
    _suspects: list[_Suspect] = field(default_factory=list)  # since the last sound line
    _restarted: int | None = None  # a later line that begins another trace
    _next: int = 0
    _count: int = 0
    _digest: int = 0
    _gaps: list[tuple[range, int]] = field(default_factory=list)
    """numbers that are missing, and the line at which that was noticed"""
    _first_damage: Problem | None = None
    _ended: int | None = None
    _marked: bool = False
    _records: frames.Records = field(default_factory=frames.Records)
    _before: int = 0  # the number of the event before which the others are
    _others: list[bytes] = field(default_factory=list)  # last lines that are of no event
    _stopped: str = ""  # the first fatal message in those before them

    @property
    def key(self) -> bytes | None:
        """The key of the trace, once its first line was fed."""
        return self._lines.key

    def feed(self, number: int, line: bytes, overlong: bool = False) -> list[Event]:
        """The events in a line. It has none that count if it or an earlier line is damaged."""
        self.last_line = number
        if overlong:
            self._marked = True
            what = f"a trace line is longer than {MAX_LINE} bytes"
            self._unsound(number, b"", (what, "line.long"))
        at = line.find(MARK)
        if at < 0:
            self._keep(line)
            return []
        self._marked = True
        events = self._line(number, line[at:].rstrip(b"\r"))
        return events if self.broken_at is None else []

    def _keep(self, line: bytes) -> None:
        """Keeps a line that is of no event. It is looked at when no event follows: most of them are
        of snapshots.
        """
        if self._before != self._next:
            self._before, self._stopped = self._next, ""
            self._others.clear()
        self._others.append(line)
        if len(self._others) >= MAX_OTHERS:
            self._stopping()

    def _stopping(self) -> str:
        """The first fatal message since the last event."""
        found = (FATAL.search(line) for line in self._others if not self._stopped)
        first = next((match for match in found if match is not None), None)
        self._others.clear()
        if first is not None:
            self._stopped = first[0].decode("ascii", "replace")
        return self._stopped

    # -- lines

    def _line(self, number: int, line: bytes) -> list[Event]:
        """The events in a line that begins with the mark. Records damage."""
        place = self._lines.find(line)
        if place is None:
            self._unsound(number, line[len(MARK) :], None)
            return []
        at, found = place
        if at > 0:
            # The beginning of a cut line may stand directly before the next line, which begins with
            # the later mark.
            cut = line[len(MARK) : at]
            self._unsound(number, cut, ("cut line: the next one begins within it", "line.cut"))
        return self._accept(number, found)

    def _unsound(self, number: int, text: bytes, what: tuple[str, str] | None) -> None:
        """Notes text with a mark that is no sound line.

        If the trace has a key, the next sound line decides whether the text stands for an event.
        """
        suspect = _Suspect(number, text, what, frames.claims(text))
        if not self._lines.keyed:
            self._damaged(suspect)
            return
        self.foreign += 1
        if len(self._suspects) < _MAX_SUSPECTS:
            self._suspects.append(suspect)
        if self._restarted is None:
            frame = frames.parse(text)
            if frame is not None and key_in(frame) is not None:
                self._restarted = number

    def _blame(self, suspects: list[_Suspect]) -> None:
        """Records as damaged what stands in the place of missing events."""
        for suspect in suspects:
            self.foreign -= 1
            self._damaged(suspect)
        self._suspects.clear()

    # -- order

    def _accept(self, number: int, frame: Frame) -> list[Event]:
        """Takes an undamaged line: checks its place in the sequence, then reads its records."""
        first, following = frame.first, frame.first + frame.count
        if self._ended is not None:
            again = "; did the machine start again?" if frame.is_trace else ""
            what = f"{self._told(frame)} after END in line {self._ended}{again}"
            self._problem(number, what, "line.after_end")
            return []
        if first < self._next:
            self._late(number, frame)
            return []
        if first > self._next:
            self._missing(number, range(self._next, first))
        self._suspects.clear()
        self._next = following
        if not self._begun:
            _check_version(self.path, number, frame)  # the first line with a key is TRACE
            self._begun = True
        events = self._read(number, frame) if self.broken_at is None else []
        if frame.is_end:
            self._ended = number
            if events:
                self._check_end(events[0])
        else:
            self._count += frame.count
            self._digest = frames.next_digest(self._digest, frame.checksum)
        return events

    def _told(self, frame: Frame) -> str:
        """The events of a frame, as messages name them."""
        try:
            return _told(frame.first, frames.shape(frame, self._records.timed))
        except (Cut, NoDigit, Damage):
            return f"event {frame.first}"

    def _read(self, number: int, frame: Frame) -> list[Event]:
        try:
            events = self._records.read(frame, number)
        except Damage as damage:
            self._break(number)
            self._problem(number, damage.text, damage.rule)
            return []
        if frame.is_trace:
            self._records.timed = events[0]["clock"] != "0"
        return events

    def _late(self, number: int, frame: Frame) -> None:
        first, following = frame.first, frame.first + frame.count
        one = frame.count == 1
        for at, (gap, line) in enumerate(self._gaps):
            if gap.start <= first and following <= gap.stop:
                rest = _without(gap, range(first, following))
                self._gaps[at : at + 1] = [(part, line) for part in rest]
                self._break(number)
                verb = "comes" if one else "come"
                what = f"reordered: {self._told(frame)} {verb} after event {self._next - 1}"
                self._problem(number, what, "line.reordered")
                return
        again = "; did the machine start again?" if frame.is_trace else ""
        what = f"doubled: {self._told(frame)} {'was' if one else 'were'} there already{again}"
        self._problem(number, what, "line.doubled")

    def _missing(self, number: int, missing: range) -> None:
        """Handles missing numbers. Damaged lines explain some, the others are a gap."""
        damaged = [suspect for suspect in self._suspects if suspect.is_in(missing)]
        self._blame(damaged)
        self._break(number)
        near = range(missing.start, missing.start + 1000)
        claims = [each.claims for each in damaged if each.claims and each.claims[0] in near]
        claimed = {each for numbers in claims for each in numbers}
        pieces = [missing]
        for each in sorted(claimed):
            pieces += _without(pieces.pop(), range(each, each + 1)) if pieces else []
        unknown = len(damaged) - len(claims) + len(claimed.difference(missing))
        if sum(each.stop - each.start for each in pieces) > unknown:
            room = max(0, MAX_PROBLEMS - len(self._gaps))
            self._gaps += [(each, number) for each in pieces[:room]]
            self.more_problems += len(pieces[room:])

    def _damaged(self, suspect: _Suspect) -> None:
        self._break(suspect.line)
        text, rule = suspect.what or _diagnose(suspect.text, self._records.timed)
        self._first_damage = self._first_damage or Problem(suspect.line, text, rule)
        self._problem(suspect.line, text, rule)

    # -- meaning

    def _check_end(self, end: Event) -> None:
        if end.number("count") != self._count + 1:
            what = f"END: count={end['count']}, but it is event number {self._count + 1}"
            self._problem(end.line, what, "line.end")
        if int(end["digest"], 16) != self._digest:
            what = f"END: digest={end['digest']}, but the events have {self._digest:08x}"
            self._problem(end.line, what, "line.end")

    def finish(self) -> None:
        """Ends the input. InputError if there was no trace in the lines."""
        if not self._begun:
            raise _no_trace(self)
        for gap, line in self._gaps:
            what = f"events {gap.start} to {gap.stop - 1} are"
            what = f"event {gap.start} is" if gap.stop - gap.start == 1 else what
            self._problem(line, f"lost: {what} missing before this line", "line.lost")
        self.cut_off = self._ended is None
        if self.cut_off:
            _cut_off(self)
        self.problems.sort(key=lambda problem: problem.line)

    def _break(self, number: int) -> None:
        if self.broken_at is None:
            self.broken_at = number

    def _problem(self, number: int, text: str, rule: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(number, text, rule))
        else:
            self.more_problems += 1


def _without(numbers: range, gone: range) -> list[range]:
    """The numbers but for those that are gone, in at most two parts."""
    before = range(numbers.start, min(gone.start, numbers.stop))
    behind = range(max(gone.stop, numbers.start), numbers.stop)
    return [part for part in (before, behind) if part]


def _diagnose(text: bytes, timed: bool) -> tuple[str, str]:
    """(what is wrong with a damaged line, the rule that it breaks). text: what follows the mark.

    timed: records have times.
    """
    frame = frames.parse(text, damaged=True)
    shown = printable(text.decode("latin-1"), 60)
    try:
        if frame is None:
            raise Cut if frames.begins(text) else NoDigit
        names = frames.shape(frame, timed)
    except Cut:
        return "cut line", "line.cut"
    except NoDigit:
        return (
            f"garbled line: {shown!r}: expected records with their number and a checksum",
            "line.form",
        )
    except Damage as damage:
        return f"garbled line: {shown!r}: {damage.text}", "line.form"
    return f"wrong checksum in {_told(frame.first, names)}", "line.checksum"


def _told(first: int, names: list[str]) -> str:
    """The events of a line, for people."""
    if len(names) == 1:
        return f"event {first} ({names[0]})"
    return f"events {first} to {first + len(names) - 1} ({names[0]} to {names[-1]})"


def stop_message(reader: Reader) -> str:
    """The message with which the kernel or the root task stopped. Empty: an event came after it, or
    there is none.
    """
    return reader._stopping() if reader._before == reader._next else ""


def _cut_off(reader: Reader) -> None:
    """Records that the trace has no END, and what is left of its last events."""
    last = [s for s in reader._suspects if s.ends(reader._next, reader.last_line)]
    reader.at_end = {reader.last_line, *(suspect.line for suspect in last)}
    reader._blame(last)
    if reader.ends_within:
        reader.problems = [_as_cut(reader, problem) for problem in reader.problems]
    reader._break(reader.last_line)
    what = f"cut off: no END after event {reader._next - 1}"
    if reader._restarted is not None:
        what += f"; did the machine start again before line {reader._restarted}?"
    reader._problem(reader.last_line, what, "line.cut_off")


def _as_cut(reader: Reader, problem: Problem) -> Problem:
    """A last line without an end was cut, be it in the middle of a value."""
    if problem.line != reader.last_line or problem.rule not in ("line.checksum", "line.form"):
        return problem
    return Problem(problem.line, "cut line: the log ends within it", "line.cut")


def _no_trace(reader: Reader) -> InputError:
    """What is wrong with lines in which there is no trace."""
    path, damage = reader.path, reader._first_damage
    if reader.last_line == 0:
        return InputError(path, None, None, "empty: expected a trace")
    if not reader._marked:
        expected = f"no trace in it: expected lines with {MARK.decode()!r}"
        return InputError(path, None, None, expected)
    lost = damage is None or (damage.rule == "line.checksum" and "TRACE" not in damage.text)
    if damage is not None and not lost:
        return InputError(path, damage.line, "no sound TRACE line", damage.text)
    return InputError(path, None, None, "no TRACE line: expected one before all other events")
