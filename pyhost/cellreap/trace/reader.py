# SPDX-License-Identifier: BSD-2-Clause
"""Reads the trace in a raw console log.

docs/trace-format.md describes the format. A console log also contains other output: kernel messages
before, between and inside lines, carriage returns, noise, and what PDs print. The reader skips
lines that are not trace lines and reports each damaged trace line. A line with a
wrong checksum is damage only if an event is missing in its place. Otherwise the root task
did not print it, and the reader counts it as foreign.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from cellreap.errors import InputError
from cellreap.headers import event_table
from cellreap.trace.damage import diagnose
from cellreap.trace.events import Event, decode, encode, field_type, printable
from cellreap.trace.fastform import QuickLines, fast_forms
from cellreap.trace.lines import FATAL, LINE, MARK, Lines, key_in, summed, without_time
from cellreap.trace.statements import Statement, Statements

MAX_LINE = 65536
"""Bytes in a line, without its newline. A SAY of the longest text takes less than 2 KiB."""
MAX_SNAPSHOT = 1 << 18
"""Lines of a snapshot that are kept. That of a system with the most PDs has fewer."""
MAX_PROBLEMS = 1000
"""Number of problems that are kept. Further ones are only counted."""

_CHUNK = 1 << 15


@dataclass(frozen=True)
class Problem:
    """A fault in a trace. line: in the console log, from 1. rule: a key of `rules.RULES`."""

    line: int
    text: str
    rule: str

    def __str__(self) -> str:
        return f"{self.line}: {self.rule}: {self.text}"


@dataclass
class _Gap:
    """Missing sequence numbers first..last. `line` is the line at which the gap was noticed."""

    first: int
    last: int
    line: int


@dataclass(frozen=True)
class _Suspect:
    """A line with a mark and a wrong checksum: damaged, or not the root task's.

    claims: its sequence number, if it has one.
    """

    problem: Problem
    text: bytes
    claims: int | None

    def ends(self, following: int, last_line: int) -> bool:
        """Whether it may be what is left of the last events, of which `following` is the first."""
        return self.problem.line == last_line if self.claims is None else self.claims >= following


_NUMBER = re.compile(rb"(0|[1-9][0-9]{0,18}) ")
_MAX_SUSPECTS = 1000


@functools.cache
def _prefixes(fields: tuple[str, ...]) -> tuple[bytes, ...]:
    """What stands before the values of these fields."""
    return tuple(f"{field}=".encode() for field in fields)


_VERSION = re.compile(rb"TRACE version=([0-9]{1,9})(?: .*)?", re.DOTALL)
"""A TRACE event, with its version."""


def _check_version(path: str, number: int, body: bytes) -> None:
    """InputError if a TRACE event names another version than that of this cellreap."""
    found = _VERSION.fullmatch(body)
    if found is None:
        raise InputError(path, number, "TRACE", "no version=<number> as its first field")
    version, known = int(found.group(1)), event_table().version
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
    for number, line, overlong, whole in split_lines(stream, progress):
        event = events.feed(number, line, overlong)
        if event is not None:
            yield event
        reader.ends_within = not whole
    reader.finish()


class Events:
    """The events in lines of a console, with the snapshots that the kernel prints before them."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._snapshot: list[str] | None = None
        """The lines of the one that the kernel prints."""
        self._statements = Statements()
        self._said: list[Statement] = []

    def feed(self, number: int, line: bytes, overlong: bool = False) -> Event | None:
        """The event in a line, if the trace is sound so far."""
        event = None if overlong else _next_in(self._reader, number, line)
        if event is None:
            event = self._reader.feed(number, line, overlong)
        if not line.startswith(MARK) or event is None:
            self._hear(number, line, event is None)
        snapshot = self._snapshot
        if event is not None:
            if self._said:
                event.said = tuple(self._said)
                self._said.clear()
            announced = event.name == "TRUTH" and event["snapshot"] == "1"
            self._snapshot = [] if announced else None
            return event if snapshot is None else replace(event, text=tuple(snapshot))
        if snapshot is not None and MARK not in line and len(snapshot) < MAX_SNAPSHOT:
            snapshot.append(line.rstrip(b"\r").decode("latin-1"))
        return None

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
    _gaps: list[_Gap] = field(default_factory=list)
    _claimed: list[int] = field(default_factory=list)  # sequence numbers of damaged lines
    _unclaimed: int = 0  # damaged lines whose sequence number is unknown
    _first_damage: Problem | None = None
    _ended: int | None = None
    _marked: bool = False
    _quick: QuickLines | None = None  # None before the TRACE event
    _stopped: tuple[int, str] = (0, "")  # the next event's number then, and a fatal message
    _timed: bool = False  # all events but the first have times

    @property
    def key(self) -> bytes | None:
        """The key of the trace, once its first line was fed."""
        return self._lines.key

    def feed(self, number: int, line: bytes, overlong: bool = False) -> Event | None:
        """The event in a line. None if it has none, or if it or an earlier line is damaged."""
        self.last_line = number
        if overlong:
            self._marked = True
            self._unsound(number, b"", f"a trace line is longer than {MAX_LINE} bytes", "line.long")
        at = line.find(MARK)
        if at < 0:
            self._stopped = _stopped_at(self._next, line, self._stopped)
            return None
        self._marked = True
        event = self._line(number, line[at:].rstrip(b"\r"))
        return event if self.broken_at is None else None

    # -- lines

    def _line(self, number: int, line: bytes) -> Event | None:
        """The event in a line that begins with the mark. Records damage."""
        place = self._lines.find(line)
        if place is None:
            text = line[len(MARK) :]
            self._unsound(number, text, *diagnose(text))
            return None
        at, found = place
        if at > 0:
            # The beginning of a cut line may stand directly before the next line, which begins with
            # the later mark.
            cut = line[len(MARK) : at]
            self._unsound(number, cut, "cut line: the next one begins within it", "line.cut")
        return self._accept(number, found)

    def _unsound(self, number: int, text: bytes, what: str, rule: str) -> None:
        """Notes text with a mark that is no sound line.

        If the trace has a key, the next sound line decides whether the text stands for an event.
        """
        if not self._lines.keyed:
            self._damaged(number, text, what, rule)
            return
        self.foreign += 1
        if len(self._suspects) < _MAX_SUSPECTS:
            found = _NUMBER.match(text)
            claims = int(found.group(1)) if found else None
            self._suspects.append(_Suspect(Problem(number, what, rule), text, claims))
        line = LINE.fullmatch(text)
        if line is not None and key_in(line) is not None:
            self._restarted = self._restarted or number

    def _blame(self, suspects: list[_Suspect]) -> None:
        """Records as damaged what stands in the place of missing events."""
        for suspect in suspects:
            self.foreign -= 1
            problem = suspect.problem
            self._damaged(problem.line, suspect.text, problem.text, problem.rule)
        self._suspects.clear()

    # -- order

    def _accept(self, number: int, found: re.Match[bytes]) -> Event | None:
        """Takes an undamaged line: checks its place in the sequence, then parses it."""
        seq = int(found.group(1))
        name = found.group(3).split(b" ", 1)[0].decode("ascii")
        if self._ended is not None:
            again = "; did the machine start again?" if name == "TRACE" else ""
            self._problem(
                number,
                f"event {seq} ({name}) after END in line {self._ended}{again}",
                "line.after_end",
            )
            return None
        if seq < self._next:
            self._late(number, seq, name)
            return None
        if seq > self._next:
            missing = range(self._next, seq)
            self._blame([s for s in self._suspects if s.claims is None or s.claims in missing])
            self._missing(number, seq)
        self._suspects.clear()
        self._claimed.clear()
        self._unclaimed = 0
        self._next = seq + 1
        event = self._parse(number, seq, name, found)
        if name == "END":
            self._ended = number
            if event is not None and self.broken_at is None:
                self._check_end(event)
        else:
            self._count += 1
            self._digest = zlib.crc32(summed(found) + b"\n", self._digest)
        return event

    def _late(self, number: int, seq: int, name: str) -> None:
        for gap in self._gaps:
            if gap.first <= seq <= gap.last:
                self._gaps.remove(gap)
                if gap.first < seq:
                    self._gaps.append(_Gap(gap.first, seq - 1, gap.line))
                if seq < gap.last:
                    self._gaps.append(_Gap(seq + 1, gap.last, gap.line))
                self._break(number)
                what = f"reordered: event {seq} ({name}) comes after event {self._next - 1}"
                self._problem(number, what, "line.reordered")
                return
        again = "; did the machine start again?" if name == "TRACE" else ""
        what = f"doubled: event {seq} ({name}) was there already{again}"
        self._problem(number, what, "line.doubled")

    def _missing(self, number: int, seq: int) -> None:
        """Handles the missing numbers _next..seq-1. Damaged lines explain some, the others are a
        gap.
        """
        self._break(number)
        pieces: list[tuple[int, int]] = []
        first = self._next
        for claimed in sorted(set(self._claimed)):
            if first <= claimed < seq:
                if first < claimed:
                    pieces.append((first, claimed - 1))
                first = claimed + 1
        if first < seq:
            pieces.append((first, seq - 1))
        stray = sum(1 for claimed in self._claimed if not self._next <= claimed < seq)
        if sum(last - low + 1 for low, last in pieces) <= self._unclaimed + stray:
            return
        for low, last in pieces:
            if len(self._gaps) < MAX_PROBLEMS:
                self._gaps.append(_Gap(low, last, number))
            else:
                self.more_problems += 1

    def _damaged(self, number: int, text: bytes, what: str, rule: str) -> None:
        self._break(number)
        problem = Problem(number, what, rule)
        self._first_damage = self._first_damage or problem
        found = _NUMBER.match(text)
        if (
            found
            and self._next <= int(found.group(1)) < self._next + 1000
            and len(self._claimed) < 1000
        ):
            self._claimed.append(int(found.group(1)))
        else:
            self._unclaimed += 1
        self._problem(number, what, rule)

    # -- meaning

    def _parse(self, number: int, seq: int, name: str, found: re.Match[bytes]) -> Event | None:
        body, time = without_time(found.group(3)) if self._timed else (found.group(3), None)
        if self._timed and time is None:
            self._break(number)
            what = "it has no time: expected at=<nanoseconds> behind its fields"
            self._problem(number, f"{name}: {what}", "line.fields")
            return None
        form = fast_forms().get(name) if self._begun else None
        if form is not None and (values := form.read(body)) is not None:
            return Event(name, values, number, seq, time=time)
        event = self._parse_fields(number, seq, body)
        return event if event is None or time is None else replace(event, time=time)

    def _parse_fields(self, number: int, seq: int, body: bytes) -> Event | None:
        first, *pairs = body.split(b" ")
        name = first.decode("ascii")
        if not self._begun:
            _check_version(self.path, number, body)  # the first line with a key is TRACE
            self._begun = True
        fields = event_table().fields.get(name)
        if fields is None:
            self._break(number)
            version = event_table().version
            what = f"unknown event {name}: trace version {version} has no such event"
            self._problem(number, what, "order.version")
            return None
        values: dict[str, str] = {}
        prefixes = _prefixes(fields)
        if len(pairs) != len(fields) or not all(map(bytes.startswith, pairs, prefixes)):
            self._break(number)
            written = [pair.partition(b"=")[0].decode("latin-1") for pair in pairs]
            has = printable(" ".join(written))
            what = f"{name}: its fields are {has!r}: expected {' '.join(fields)!r}"
            self._problem(number, what, "line.fields")
            return None
        for field_name, pair, prefix in zip(fields, pairs, prefixes, strict=True):
            value = decode(pair[len(prefix) :])
            if value is None:
                shown = printable(pair[len(prefix) :].decode("latin-1"), 60)
                what = f"{name}: {field_name}={shown}: expected %XX after every '%'"
                self._bad_value(number, what)
                return None
            form = field_type(name, field_name)
            if not form.accepts(value):
                shown = printable(encode(value), 60)
                self._bad_value(number, f"{name}: {field_name}={shown}: expected {form.expected}")
                return None
            values[field_name] = value
        event = Event(name, values, number, seq)
        if name == "TRACE" and seq == 0 and self._lines.key is not None:
            self._timed = event["clock"] != "0"
            self._quick = QuickLines(self._lines.key, self._timed)
        return event

    def _bad_value(self, number: int, what: str) -> None:
        self._break(number)
        self._problem(number, what, "line.value")

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
        for gap in self._gaps:
            one = gap.first == gap.last
            what = f"event {gap.first} is" if one else f"events {gap.first} to {gap.last} are"
            self._problem(gap.line, f"lost: {what} missing before this line", "line.lost")
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


def _stopped_at(following: int, line: bytes, known: tuple[int, str]) -> tuple[int, str]:
    """The first fatal message since the last event. following: the number of the next event."""
    found = None if known[0] == following and known[1] else FATAL.search(line)
    return known if found is None else (following, found[0].decode("ascii", "replace"))


def stop_message(reader: Reader) -> str:
    """The message with which the kernel or the root task stopped. Empty: an event came after it, or
    there is none.
    """
    following, text = reader._stopped
    return text if following == reader._next else ""


def _next_in(reader: Reader, number: int, line: bytes) -> Event | None:
    """The event in a line that is sound and the next one of its trace, if all before it was so.

    None: `Reader.feed` must look at the line. Nothing is changed then.
    """
    if reader._quick is None or reader._suspects or reader._ended is not None:
        return None
    if reader.broken_at is not None or (found := reader._quick.read(line, reader._next)) is None:
        return None
    name, values, text, time = found
    event = Event(name, values, number, reader._next, time=time)
    reader.last_line = number
    reader._next += 1
    reader._count += 1
    reader._digest = zlib.crc32(b"\n", zlib.crc32(text, reader._digest))
    return event


def _cut_off(reader: Reader) -> None:
    """Records that the trace has no END, and what is left of its last events."""
    last = [s for s in reader._suspects if s.ends(reader._next, reader.last_line)]
    reader.at_end = {reader.last_line, *(suspect.problem.line for suspect in last)}
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
        expected = f"no trace in it: expected lines with {MARK.decode().strip()!r}"
        return InputError(path, None, None, expected)
    lost = damage is None or (damage.rule == "line.checksum" and "TRACE" not in damage.text)
    if damage is not None and not lost:
        return InputError(path, damage.line, "no sound TRACE line", damage.text)
    return InputError(path, None, None, "no TRACE line: expected one before all other events")
