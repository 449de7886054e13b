# SPDX-License-Identifier: BSD-2-Clause
"""Trace lines composed in C against the lines that the host tooling makes."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cffi
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cellreap.arches import ARCHES
from cellreap.errors import InputError
from cellreap.headers import constant, event_table, source_root, table
from cellreap.model.core import library_path
from cellreap.platforms import register_names
from cellreap.trace.events import Event
from cellreap.trace.frames import MARK, Damage, Key, Records, next_digest, parse
from kit.records import events_in

TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.binary(max_size=120).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.sampled_from(["-", "PD_1", "PD_2", "BLOCK_SPACE_1"]),  # what is said again and again
)
"""Texts, of any bytes."""
SMALL = 8192
ALL = (1 << 64) - 1
KEY = bytes(range(16))


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """(ffi, lib) with trace.h, its table expanded by the C preprocessor."""
    empty = tmp_path_factory.mktemp("include")
    for name in ("stddef.h", "stdint.h"):
        (empty / name).write_text("")
    header = source_root() / "roottask" / "include" / "cellreap" / "trace.h"
    command = [
        "cc",
        "-E",
        "-P",
        "-nostdinc",
        f"-I{empty}",
        f"-I{header.parent.parent}",
        str(header),
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    ffi = cffi.FFI()
    ffi.cdef(text)
    return ffi, ffi.dlopen(str(library_path()))


# The functions of trace_text.h are in no library: each user compiles them.
TEXTS = """
#include <cellreap/trace_text.h>
void begin(cr_text *text, uint64_t *room, size_t words) { cr_text_begin(text, room, words); }
void words(cr_text *text, const char *piece, size_t count, uint64_t flags)
{ cr_text_words(text, piece, count, flags); }
void name(cr_text *text, const char *name, size_t count, uint64_t flags)
{ cr_text_name(text, name, count, flags); }
void copy(cr_text *text, const char *piece, size_t count, uint64_t flags)
{
    uint64_t whole[32] = {(uint64_t)count << CR_PIECE_COUNT_SHIFT};
    __builtin_memcpy(&whole[1], piece, (count + 7) / 8 * 8);
    cr_text_copy_piece(text, whole, cr_piece_words(count), flags);
}
uint64_t more(void) { return CR_PIECE_MORE; }
uint64_t comma(void) { return CR_PIECE_COMMA; }
"""
ROOM = 512
"""Words, for each text here."""
MORE, COMMA = 1 << 61, 1 << 62


@pytest.fixture(scope="module")
def texts(core: tuple[Any, Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The functions of trace_text.h."""
    ffi, _ = core
    folder = tmp_path_factory.mktemp("texts")
    source, built = folder / "texts.c", folder / "texts.so"
    source.write_text(TEXTS)
    include = source_root() / "roottask" / "include"
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wconversion"]
    subprocess.run(
        [*command, "-shared", "-fPIC", f"-I{include}", "-o", str(built), str(source)], check=True
    )
    ffi.cdef(
        """
        typedef struct cr_text {
            uint64_t *next; uint64_t *end; uint32_t bytes; int too_long;
        } cr_text;
        void begin(cr_text *text, uint64_t *room, size_t words);
        void words(cr_text *text, const char *piece, size_t count, uint64_t flags);
        void name(cr_text *text, const char *name, size_t count, uint64_t flags);
        void copy(cr_text *text, const char *piece, size_t count, uint64_t flags);
        uint64_t more(void);
        uint64_t comma(void);
        """
    )
    lib = ffi.dlopen(str(built))
    assert (lib.more(), lib.comma()) == (MORE, COMMA)
    return lib


@dataclass(frozen=True)
class Address:
    """A number that is printed as an address."""

    number: int

    def __str__(self) -> str:
        return hex(self.number)


@dataclass(frozen=True)
class Digest:
    """A number that is printed as 16 hex digits."""

    number: int

    def __str__(self) -> str:
        return f"{self.number:016x}"


@dataclass(frozen=True)
class Depth:
    """A depth as C has it: 2^32-1 is infinite."""

    number: int

    def __str__(self) -> str:
        return "inf" if self.number == 2**32 - 1 else str(self.number)


Value = str | int | Address | Depth | Digest | list[int]


class Composer:
    """A trace in C whose console is a list."""

    def __init__(self, core: tuple[Any, Any], capacity: int) -> None:
        self.ffi, self.lib = core
        self.out = bytearray()
        self.put = self.ffi.callback("void(char)", lambda c: self.out.extend(c))
        self.buffer = self.ffi.new("uint64_t[]", capacity // 8)
        self.trace = self.ffi.new("cr_trace *")
        self.lib.cr_trace_init(self.trace, self.buffer, capacity, KEY, self.put)
        self.numbers = {name: number for number, name in enumerate(event_table().fields)}

    def line(self, name: str, values: Sequence[Value]) -> None:
        """Composes one event. The function for a value's Python type prints it."""
        self.lib.cr_trace_begin(self.trace, self.numbers[name])
        for value in values:
            if isinstance(value, Depth):
                self.lib.cr_trace_depth(self.trace, value.number)
            elif isinstance(value, Address):
                self.lib.cr_trace_address(self.trace, value.number)
            elif isinstance(value, Digest):
                self.lib.cr_trace_digest(self.trace, value.number)
            elif isinstance(value, list):
                self.lib.cr_trace_numbers(self.trace, value, len(value))
            elif isinstance(value, int):
                self.lib.cr_trace_number(self.trace, value)
            else:
                raw = value.encode("utf-8", "surrogateescape")
                self.lib.cr_trace_bytes(self.trace, raw, len(raw))
        self.lib.cr_trace_end(self.trace)

    def lines(self) -> list[str]:
        self.lib.cr_trace_finish(self.trace)
        return self.out.decode("ascii").splitlines()

    def events(self) -> list[Event]:
        """What the host reads of its lines, END included."""
        return read_with(KEY, self.lines(), timed=bool(self.trace.hz))


def read_with(key: bytes, lines: list[str], *, timed: bool = False) -> list[Event]:
    """The events in lines whose checksums have this key, from the first to END."""
    records = Records(timed, checks=False)
    sums, digest, events = Key(key), 0, list[Event]()
    for line in lines:
        assert line.startswith(MARK.decode())
        frame = parse(line[len(MARK) :].encode("ascii"))
        assert frame is not None
        assert frame.checksum == sums.sum_of(frame.summed)
        assert frame.first == len(events)
        events += records.read(frame)
        if not frame.is_end:
            digest = next_digest(digest, frame.checksum)
    assert events[-1].name == "END"
    assert events[-1].values == {"count": str(len(events)), "digest": f"{digest:08x}"}
    return events


def same(events: list[Event], wanted: Sequence[Event | tuple[str, dict[str, Any]]]) -> bool:
    """Whether these events came, and END. Values are as people read them."""
    drafts = [each if isinstance(each, Event) else Event(each[0], told(each[1])) for each in wanted]
    assert [(e.name, e.values, e.time) for e in events[:-1]] == [
        (draft.name, draft.values, draft.time) for draft in drafts
    ]
    return True


def told(values: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}


NUMBERS = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(0, 64).flatmap(lambda bits: st.integers(0, 2**bits - 1)),  # short ones too
)
VALUES: dict[str, st.SearchStrategy[Value]] = {
    "NUMBER": NUMBERS,
    "ADDRESS": NUMBERS.map(Address),
    "DEPTH": st.one_of(st.just(2**32 - 1), st.integers(0, 2**32 - 1)).map(Depth),
    "TEXT": TEXT,
    "DIGEST": NUMBERS.map(Digest),
}
VERSION = constant("trace_events.h", "CR_TRACE_VERSION")
PRINTS = {str(name): str(how) for name, how, _ in table("trace_events.h", "CR_TRACE_TYPE")}


def values_of(name: str) -> st.SearchStrategy[tuple[Value, ...]]:
    """Values of an event's fields, each as its type is printed. Texts are arbitrary.

    The version is the core's: the host writes the lines of an older one in their older form.
    """
    table = event_table()
    return st.tuples(
        *(
            st.just(VERSION)
            if (name, field) == ("TRACE", "version")
            else VALUES[PRINTS[table.types[name, field]]]
            for field in table.fields[name]
        )
    )


def has_numbers(name: str) -> bool:
    """Whether it has a field with several numbers, which an architecture gives names."""
    table = event_table()
    return any(PRINTS[table.types[name, field]] == "NUMBERS" for field in table.fields[name])


EVENTS = st.sampled_from(
    [name for name in event_table().fields if name != "END" and not has_numbers(name)]
).flatmap(lambda name: st.tuples(st.just(name), values_of(name)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(EVENTS, max_size=12), capacity=st.sampled_from([SMALL, 1 << 16]))
def test_lines_are_those_of_the_host(
    core: tuple[Any, Any], events: list[tuple[str, tuple[Value, ...]]], capacity: int
) -> None:
    composer = Composer(core, capacity)
    drafts: list[tuple[str, dict[str, Any]]] = []
    for name, values in events:
        composer.line(name, values)
        drafts.append((name, dict(zip(event_table().fields[name], values, strict=True))))
    assert same(composer.events(), drafts)


def with_registers(core: tuple[Any, Any], arch: str, values: list[int]) -> Composer:
    composer = Composer(core, SMALL)
    trace = (VERSION, KEY.hex(), arch, "k 1", "s", Depth(0), Depth(0), 0)
    composer.line("TRACE", trace)
    composer.line("EXIT", ("PD_1", 3, values))
    return composer


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arch=st.sampled_from(sorted(ARCHES)), data=st.data())
def test_registers_have_their_names(core: tuple[Any, Any], arch: str, data: st.DataObject) -> None:
    names = register_names(arch)
    values = data.draw(
        st.one_of(st.just([]), st.lists(NUMBERS, min_size=len(names), max_size=len(names)))
    )
    composer = Composer(core, SMALL)
    trace = (VERSION, KEY.hex(), arch, "k 1", "s", Depth(0), Depth(0), 0)
    composer.line("TRACE", trace)
    composer.line("EXIT", ("PD_1", 3, values))
    event = composer.events()[1]
    assert event.registers() == {n: v for n, v in zip(names, values, strict=False) if v}


def test_a_thread_has_all_registers_or_none(core: tuple[Any, Any]) -> None:
    records = Records()
    frames = [
        parse(line[len(MARK) :].encode())
        for line in with_registers(core, "aarch64", [1, 2]).lines()
    ]
    assert frames[0] is not None
    assert frames[1] is not None
    records.read(frames[0])
    with pytest.raises(Damage, match="EXIT: 2 registers: expected 0 or 36"):
        records.read(frames[1])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    events=st.lists(st.tuples(EVENTS, st.integers(0, 2**60)), max_size=12),
    start=st.integers(0, 2**63),
    hz=st.integers(1, 2**34 - 1),
)
def test_events_have_their_times(
    core: tuple[Any, Any],
    events: list[tuple[tuple[str, tuple[Value, ...]], int]],
    start: int,
    hz: int,
) -> None:
    """In nanoseconds since the start, but TRACE. They are taken when the event is recorded."""
    composer = Composer(core, SMALL)
    ticks = [start]
    now = composer.ffi.callback("uint64_t(void)", lambda: ticks[-1] % 2**64)
    composer.lib.cr_trace_timed(composer.trace, now, hz)
    drafts = []
    for (name, values), passed in events:
        ticks.append(ticks[-1] + passed % (hz * 2**16))
        composer.line(name, values)
        said = dict(zip(event_table().fields[name], map(str, values), strict=True))
        time = None if name == "TRACE" else (ticks[-1] - start) * 10**9 // hz
        drafts.append(Event(name, said, time=time))
    ticks.append(ticks[-1] + 1)
    found = composer.events()
    assert same(found, drafts)
    assert found[-1].time == (ticks[-1] - start) * 10**9 // hz


PIECES = st.lists(
    st.tuples(
        TEXT.map(lambda text: text.encode("utf-8", "surrogateescape")),
        st.sampled_from(["words", "name", "copy"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(PIECES, min_size=1, max_size=4))
def test_a_text_in_pieces_is_one_text(
    core: tuple[Any, Any], texts: Any, rows: list[list[tuple[bytes, str, bool]]]
) -> None:
    """Names are read when the line is written, all else when it is recorded."""
    composer = Composer(core, SMALL)
    ffi, lib, trace = composer.ffi, composer.lib, composer.trace
    kept = []
    drafts: list[tuple[str, dict[str, Any]]] = []
    for row in rows:
        text, room = ffi.new("cr_text *"), ffi.new("uint64_t[]", ROOM)
        texts.begin(text, room, ROOM)
        wanted = b""
        for place, (piece, how, comma) in enumerate(row):
            # A name is NUL-terminated, and can be read nowhere else.
            piece = piece.replace(b"\0", b"0")
            memory = ffi.new("char[]", piece + b"x" * (how != "name") * (-len(piece) % 8))
            kept.append(memory)
            flags = COMMA * comma + MORE * (place < len(row) - 1)
            getattr(texts, how)(text, memory, len(piece), flags)
            if how != "name":
                ffi.memmove(memory, b"?" * len(piece), len(piece))
            wanted += piece + b"," * comma
        assert (text.bytes, text.too_long) == (len(wanted), 0)
        words = text.next - room
        lib.cr_trace_begin(trace, composer.numbers["STATE"])
        lib.cr_trace_pieces(trace, room, words)
        lib.cr_trace_end(trace)
        drafts.append(("STATE", {"row": wanted.decode("utf-8", "surrogateescape")}))
    assert same(composer.events(), drafts)


def test_a_text_is_sent_once_and_a_full_dictionary_begins_anew(core: tuple[Any, Any]) -> None:
    """However many texts there are: by their number, and by their bytes."""
    composer = Composer(core, 1 << 16)
    rng = random.Random(3)
    texts = [f"n{rng.randrange(700)}".ljust(rng.choice((4, 90)), "x") for _ in range(6000)]
    for text in texts:
        composer.line("STATE", [text])
        composer.lib.cr_trace_flush(composer.trace)
    again = Composer(core, 1 << 16)
    for _ in range(500):
        again.line("STATE", ["the same text"])
    assert same(composer.events(), [("STATE", {"row": text}) for text in texts])
    assert same(again.events(), [("STATE", {"row": "the same text"})] * 500)
    assert bytes(again.out).count(b"the%20same%20text") == 1
    assert len(again.out) < 500 * 5


@pytest.mark.behaviour("H-09")
def test_a_change_of_any_character_of_what_was_written_is_found(core: tuple[Any, Any]) -> None:
    composer = Composer(core, SMALL)
    rng = random.Random(4)
    key = KEY.hex()
    composer.line("TRACE", [VERSION, key, "x86_64", "seL4", "test", Depth(0), Depth(1), 0])
    for number in range(40):
        composer.line("REFUSED", [f"PD_{number % 7}", number**7])
    lines = [line.encode() for line in composer.lines()]
    events, reader = events_in(b"\n".join(lines))
    assert (len(events), reader.problems) == (42, [])
    for at, line in enumerate(lines):
        for place in range(len(line)):
            other = bytes([line[place] ^ rng.choice((1, 2, 4, 8, 16, 32))])
            changed = line[:place] + other + line[place + 1 :]
            log = b"\n".join([*lines[:at], changed, *lines[at + 1 :]])
            try:
                assert events_in(log)[1].problems, (line, place)
            except InputError:
                assert at == 0  # without its TRACE it is no trace


def test_names_are_texts(core: tuple[Any, Any]) -> None:
    composer = Composer(core, SMALL)
    lib, trace = composer.lib, composer.trace
    name = composer.ffi.new("char[]", b"mark a")
    lib.cr_trace_begin(trace, composer.numbers["THREAD"])
    lib.cr_trace_name(trace, name)
    lib.cr_trace_string(trace, b"PD_1")
    lib.cr_trace_string(trace, b"")
    lib.cr_trace_end(trace)
    assert same(composer.events(), [("THREAD", {"change": "mark a", "pd": "PD_1", "by": ""})])


def test_a_text_that_has_no_room_says_so(core: tuple[Any, Any], texts: Any) -> None:
    ffi, _ = core
    text, room = ffi.new("cr_text *"), ffi.new("uint64_t[]", ROOM)
    texts.begin(text, room, ROOM)
    for _ in range(ROOM // 2):
        texts.words(text, b"12345678", 8, MORE)
    assert (text.next - room, text.too_long) == (ROOM, 0)
    texts.name(text, b"x", 1, 0)
    assert (text.next - room, text.too_long) == (ROOM, 1)


def test_numbers_and_addresses(core: tuple[Any, Any]) -> None:
    composer = Composer(core, SMALL)
    composer.lib.cr_trace_begin(composer.trace, composer.numbers["BODY"])
    composer.lib.cr_trace_string(composer.trace, b"PD_1")
    composer.lib.cr_trace_address(composer.trace, 0x1FF80000)
    composer.lib.cr_trace_number(composer.trace, 2**64 - 1)
    composer.lib.cr_trace_number(composer.trace, 10)
    composer.lib.cr_trace_string(composer.trace, b"frame:9")
    composer.lib.cr_trace_end(composer.trace)
    assert str(composer.events()[0]) == (
        "BODY of=PD_1 paddr=0x1ff80000 bytes=18446744073709551615 slots=10 objects=frame:9"
    )


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("REFUSED", [], "event REFUSED, field pd: is not printed"),
        ("REFUSED", ["PD_1"], "event REFUSED, field count: is not printed"),
        ("REFUSED", ["PD_1", 2, 3], "event REFUSED: more fields are printed than the table has"),
        (
            "REFUSED",
            ["PD_1", "2"],
            "event REFUSED, field count: printed as another type than the table has",
        ),
        ("REFUSED", [1, 2], "event REFUSED, field pd: printed as another type than the table has"),
        (
            "BODY",
            ["PD_1", 4096],
            "event BODY, field paddr: printed as another type than the table has",
        ),
        (
            "CLEANUP",
            [1, "PD_1", "exit", 0],
            "event CLEANUP, field pd_depth: printed as another type ",
        ),
    ],
)
def test_a_line_that_is_not_as_the_table_says_ends_the_trace_and_the_console_says_why(
    core: tuple[Any, Any], name: str, values: list[Value], said: str
) -> None:
    composer = Composer(core, SMALL)
    composer.line("REFUSED", ["PD_1", 2])
    composer.line(name, values)
    composer.line("REFUSED", ["PD_1", 2])
    first, bug = composer.lines()
    frame = parse(first[len(MARK) :].encode())
    assert frame is not None
    assert [event.name for event in Records(checks=False).read(frame)] == ["REFUSED"]
    assert bug.startswith(f"cellreap: bug: {said}")
    assert composer.trace.broken


def test_a_line_that_is_too_long_ends_the_trace(core: tuple[Any, Any]) -> None:
    composer = Composer(core, 1 << 16)
    composer.line("SAY", ["PD_1", " " * 700])
    assert composer.lines() == []


def test_nothing_is_written_by_who_records_if_another_writes(core: tuple[Any, Any]) -> None:
    """Lines are recorded until the ring is full. Then the recorder waits, and none is lost."""
    composer = Composer(core, SMALL)
    waits: list[int] = []

    def write(lines: int) -> None:
        assert lines == ALL
        waits.append(len(composer.out))
        while composer.lib.cr_trace_write(composer.trace, 2**32 - 1):
            pass

    wait = composer.ffi.callback("void(uint64_t)", write)
    composer.lib.cr_trace_written_by_another(composer.trace, 1 << 31, wait)
    composer.line("REFUSED", ["PD_1", 2])
    assert not composer.out
    drafts: list[tuple[str, dict[str, Any]]] = [("REFUSED", {"pd": "PD_1", "count": 2})]
    for count in range(300):
        composer.line("REFUSED", ["PD_1", count])
        drafts.append(("REFUSED", {"pd": "PD_1", "count": count}))
    assert waits[0] == 0
    assert 1 < len(waits) < 10
    assert same(composer.events(), drafts)


@pytest.mark.behaviour("S-13")
@pytest.mark.parametrize("most", [128, 500, 2048])
@pytest.mark.parametrize("text", ["", "x" * 100])
def test_no_more_lines_than_a_bound_ever_wait_and_not_many_fewer_may(
    core: tuple[Any, Any], most: int, text: str
) -> None:
    """As many are written as must be, and no more: what is recorded has waited."""
    composer = Composer(core, 1 << 19)
    trace = composer.trace

    def write(lines: int) -> None:
        while lines > 0:
            lines -= composer.lib.cr_trace_write(trace, lines)

    wait = composer.ffi.callback("void(uint64_t)", write)
    composer.lib.cr_trace_written_by_another(trace, most, wait)
    waiting = []
    for _ in range(5000):
        composer.line("SAY", ["PD_1", text])
        waiting.append(trace.recorded - trace.written)
    assert max(waiting) <= most
    assert min(waiting[most:]) >= most - 64
