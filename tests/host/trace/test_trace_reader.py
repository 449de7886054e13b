# SPDX-License-Identifier: BSD-2-Clause
"""Reading traces from console logs: the trace in any log, and the reports on damage."""

from __future__ import annotations

import io
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from cellreap import headers
from cellreap.errors import InputError
from cellreap.trace import events as trace_events
from cellreap.trace import reader as trace
from cellreap.trace import story
from cellreap.trace.check import check_file, check_stream, context
from cellreap.trace.events import Event, cause_of, encode, field_types
from cellreap.trace.frames import next_digest
from cellreap.trace.writer import NO_SECRET, framed, record, seal
from kit import bad_traces
from kit.paths import DATA
from kit.records import event_of, events_in, field_type, line_of, log_of, unescaped
from kit.simulated_runs import rich_run
from kit.trace_simulator import Target

BAD = DATA / "bad_traces"
CONSOLES = bad_traces.consoles()


def small_run() -> list[str]:
    """The shortest trace with a PD in it."""
    target = Target()
    target.say(target.pd("server"), "hello")
    target.quiet()
    return seal(target.end())


def with_key(lines: list[str], key: bytes) -> list[str]:
    """The trace with another key."""
    events, _ = events_in("\n".join(lines).encode())
    first, *rest = events
    first = Event("TRACE", {**first.values, "key": key.hex()})
    return seal([first, *rest])


# -- damage


@pytest.mark.behaviour("H-09")
@pytest.mark.parametrize("name", sorted(CONSOLES))
def test_every_kind_of_damage_is_named(name: str, tmp_path: Path, rewrite: bool) -> None:
    """Each damaged trace has a file with the expected report: the exit code, then the problems."""
    path = tmp_path / f"{name}.trace"
    path.write_bytes(CONSOLES[name])
    try:
        report = check_file(path)
    except InputError as error:
        found, said = 2, [error.line()]
    else:
        found = 0 if report.passed else 1
        said = [f"{path}:{problem.line}: {problem.text}" for problem in report.violations]
    told = "\n".join([f"exit {found}", *(line.replace(str(path), path.name) for line in said)])
    if rewrite:
        (BAD / f"{name}.err").write_text(f"{told}\n")
    assert (BAD / f"{name}.err").read_text() == f"{told}\n"
    assert found != 0


def test_there_are_damaged_traces() -> None:
    assert {path.stem for path in BAD.iterdir()} == set(CONSOLES)
    assert len(CONSOLES) > 30


def test_a_path_that_cannot_be_read_is_named() -> None:
    for path in ("/nonexistent/x.trace", str(BAD), "a\0b"):
        with pytest.raises(InputError, match="cannot be read"):
            check_file(path)


def test_an_overlong_line_is_told_and_costs_no_memory() -> None:
    lines = small_run()
    log = "\n".join(lines[:5]).encode() + b"\n" + lines[5].encode() + b"x" * 5_000_000 + b"\n"
    log += "\n".join(lines[6:]).encode()
    stream = io.BytesIO(log)
    tracemalloc.start()
    report = check_stream(stream, "log")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [problem.text for problem in report.violations] == [
        f"a trace line is longer than {trace.MAX_LINE} bytes"
    ]
    assert peak < 2_000_000


def test_a_trace_line_behind_megabytes_of_noise_is_found() -> None:
    lines = small_run()
    log = b"\xff" * 1_000_000 + "\n".join(lines).encode()
    events, reader = events_in(log)
    assert len(events) == len(lines)
    assert not reader.problems


def test_problems_are_counted_beyond_those_kept() -> None:
    lines = small_run()
    log = "\n".join([*lines[:6], *[lines[5]] * (trace.MAX_PROBLEMS + 500), *lines[6:]])
    report = check_stream(io.BytesIO(log.encode()), "log")
    assert len(report.violations) == trace.MAX_PROBLEMS
    assert report.more_violations == 500
    assert not report.passed


def test_damage_after_the_first_is_told_too() -> None:
    lines = small_run()
    del lines[8], lines[3]
    _, reader = events_in("\n".join(lines).encode())
    assert [problem.line for problem in reader.problems] == [4, 8]


def test_a_sealed_line_behind_the_end_whose_records_are_cut_is_told() -> None:
    lines = small_run()
    line, _ = framed(record(Event("USAGE", {"bytes": "1"})), len(lines), NO_SECRET)
    report = check_stream(io.BytesIO("\n".join([*lines, line]).encode()), "x")
    assert f"event {len(lines)} after END" in report.violations[0].text


def test_no_event_is_given_after_damage() -> None:
    lines = small_run()
    events, reader = events_in("\n".join([*lines[:4], *lines[5:]]).encode())
    assert [event.seq for event in events] == [0, 1, 2, 3]
    assert reader.broken_at == 5


# -- other output on the console


@pytest.mark.behaviour("H-08", "H-09")
def test_kernel_messages_and_line_ends_do_no_harm() -> None:
    plain, _ = events_in("\n".join(seal(rich_run())).encode())
    noisy = bytearray(b"\x00\xff\x1b[2J\r\nBooting all finished, dropped to user space\r\n")
    for index, line in enumerate(seal(rich_run())):
        noisy += (b"", b"Caught cap fault in send phase\r\n", b"\r", b"vm fault on data at 0x10: ")[
            index % 4
        ]
        noisy += line.encode() + (b"\n", b"\r\n", b"\r\r\n")[index % 3]
        noisy += (b"", b"\n\n", b"<<seL4(CPU 0) [decodeInvocation/646]: ~ : ~>>\n")[index % 3]
    events, reader = events_in(bytes(noisy))
    assert not reader.problems
    assert [(event.name, event.values) for event in events] == [
        (event.name, event.values) for event in plain
    ]
    report = check_stream(io.BytesIO(bytes(noisy)), "noisy")
    assert report.passed
    rows = [event["row"] for event in events if event.name == "STATE"]
    assert "PD,PD_1,block_server_1,,,," in rows


@pytest.mark.behaviour("E-04")
def test_an_interrupt_that_the_kernel_tells_of_within_a_line_does_no_harm() -> None:
    """Wherever in it; and a line that only begins so takes nothing of the next one."""
    told = (b"Undelivered IRQ: 17\r\n", b"Received disabled IRQ: 17\r\n")
    lines = [line.encode() + b"\r\n" for line in seal(rich_run())]
    plain, _ = events_in(b"".join(lines))
    torn = b""
    for index, line in enumerate(lines):
        at = index % (len(line) - 1)
        again = min(at + index % 3, len(line) - 2)  # at once, or some characters later
        torn += line[:at] + told[index % 2] + line[at:again] + told[0] + line[again:]
    printed = b"~:what a PD printed " + told[0]
    hostile = lines[0] + b"".join(printed * 3 + line for line in lines[1:])
    for log in (torn, hostile):
        events, reader = events_in(log)
        assert not reader.problems
        assert [(it.name, it.values) for it in events] == [(it.name, it.values) for it in plain]


def test_the_last_line_needs_no_newline() -> None:
    log = "\n".join(small_run())
    assert not events_in(log.encode())[1].problems
    assert not events_in(log.encode() + b"\n")[1].problems


def test_values_come_back_as_they_were() -> None:
    for value in ("", "a b", "100%", "~:", "ü€", "\x00\x7f\n", "a=b", "\udcff"):
        target = Target()
        target.say(target.pd("p"), value)
        target.quiet()
        events, reader = events_in("\n".join(seal(target.end())).encode())
        assert not reader.problems
        assert [event["text"] for event in events if event.name == "SAY"] == [value]
        assert unescaped(encode(value)) == value


def test_a_mark_within_a_value_begins_no_line() -> None:
    target = Target()
    target.pd("~:")  # a name before another field: the line has the mark in it twice
    target.quiet()
    lines = seal(target.end())
    assert any(line.count("~:") == 2 for line in lines)
    assert check_stream(io.BytesIO("\n".join(lines).encode()), "log").passed


def test_checksums_are_polynomials_with_the_key_in_the_first_line() -> None:
    """As docs/trace-format.md defines them."""
    key, prime, digest = bytes(range(100, 116)), 2**61 - 1, 0
    factor, addend = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    lines = with_key(small_run(), key)
    for line in lines:
        text, checksum = line[:-8], line[-8:]
        assert text.startswith("~:")
        total = 1
        for at in range(2, len(text), 7):
            word = int.from_bytes(text[at : at + 7].encode(), "little")
            total = (total * factor + word) % prime
        total = (total * factor + addend) % prime % 2**48
        assert checksum == "".join(chr(0x30 + (total >> 6 * at) % 64) for at in range(7, -1, -1))
        if line is not lines[-1]:
            digest = (31 * digest + total) % 2**32
    (*_, end), _ = events_in("\n".join(lines).encode())
    assert (end["count"], end["digest"]) == (str(len(lines)), f"{digest:08x}")


# -- size


class _Endless(io.RawIOBase):
    """A long trace that is generated while it is read."""

    def __init__(self, repeat: int) -> None:
        self._parts = self._make(repeat)
        self._rest = b""

    @staticmethod
    def _make(repeat: int) -> Iterator[bytes]:
        *begin, _ = events_in("\n".join(small_run()).encode())[0]

        def events() -> Iterator[Event]:
            yield from begin
            for at in range(2 * repeat):
                text = "REFUSE pd=PD_1 op=10 status=4" if at < 64 else "REFUSED pd=PD_1 count=1000"
                yield event_of(text)

        digest = seq = 0
        for seq, event in enumerate(events()):
            line, checksum = framed(record(event), seq, NO_SECRET)
            digest = next_digest(digest, checksum)
            yield f"{line}\n".encode()
        yield f"{line_of(seq + 1, f'END count={seq + 2} digest={digest:08x}')}\n".encode()

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size:
            part = next(self._parts, None)
            if part is None:
                break
            self._rest += part
        out, self._rest = self._rest[:size], self._rest[size:]
        return out


@pytest.mark.slow
def test_memory_does_not_grow_with_the_trace() -> None:
    stream = _Endless(5_000)
    seen = 0

    def progress(count: int) -> None:
        nonlocal seen
        seen += count

    check_stream(_Endless(10), "warm-up")  # type: ignore[arg-type]
    tracemalloc.start()
    report = check_stream(stream, "long", progress)  # type: ignore[arg-type]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.passed
    assert report.events > 5_000
    assert seen > 230_000
    assert peak < 500_000


# -- versions


def sealed(*texts: str) -> bytes:
    """A console log of these records."""
    return log_of(line_of(seq, text) for seq, text in enumerate(texts))


EVENTS = len(headers.event_table().fields)
HEAD = (
    "TRACE version={} arch=x86_64 kernel=seL4%2012.0.0 system=old pd_depth=0 rs_depth=0 "
    f"key={NO_SECRET.hex()} clock=0"
)


@pytest.mark.behaviour("G-46")
@pytest.mark.parametrize("version", [0, 2, 999_999_999])
def test_a_trace_of_another_version_is_refused(version: int) -> None:
    known = rf"{version} is no version that this cellreap reads \(1\)"
    newer = ", so a newer cellreap wrote it$" if version > 1 else "$"
    with pytest.raises(InputError, match=rf"log:1: TRACE: version: {known}{newer}"):
        events_in(sealed(HEAD.format(version), "TALK pd=PD_1 words=hello"))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("DANCE pd=PD_1", f"unknown event {EVENTS}: trace version 1 has no such event"),
        ("SAY pd=1 text=hello", "SAY: pd=1: expected a PD"),
        ("TICKET ticket=1", "TICKET: the frame ends within state"),
        ("SAY pd=PD_1 text=hello loud=yes", "SAY: more behind its last field"),
        (
            f"NOTICE change=fetched pd=PD_1 token={2**64}",
            "NOTICE: token: expected a number below 2^64",
        ),
    ],
)
def test_what_is_wrong_in_a_line_is_said(event: str, expected: str) -> None:
    events, reader = events_in(sealed(HEAD.format(1), event))
    assert [event.name for event in events] == ["TRACE"]
    assert reader.problems[0].text.startswith(expected)


# -- the table


def test_every_field_of_the_table_has_a_type_that_the_reader_knows() -> None:
    table = headers.event_table()
    assert table.version == 1
    for event, fields in table.fields.items():
        for name in fields:
            assert field_type(event, name).expected, f"{event}.{name}"


def test_every_type_of_the_table_has_a_form_and_is_used_and_no_form_is_left_over() -> None:
    types = field_types()
    assert set(types) == set(headers.event_table().types.values())
    assert set(trace_events._FORMS) == {name for name, each in types.items() if not each.words}


def test_every_event_says_what_it_means_in_a_sentence() -> None:
    for event, meaning in headers.event_table().meanings.items():
        assert re.fullmatch(r"[A-Z][^|]*\.", meaning), f"{event}: {meaning}"


def test_every_event_is_written_somewhere_in_the_root_task() -> None:
    sources = (headers.source_root() / "roottask").rglob("*.c")
    written = set(re.findall(r"\bCR_EV_\w+", "\n".join(path.read_text() for path in sources)))
    listed = headers.event_table().enumerators
    assert [name for name, enumerator in listed.items() if enumerator not in written] == []
    assert written <= set(listed.values())


def test_a_fault_and_an_exit_have_causes() -> None:
    """Other triggers have a TRIGGER that tells the cause."""
    found = {
        cause_of(Event(name, {})) for name in headers.event_table().fields if name != "TRIGGER"
    }
    assert found == {None, "fault", "exit"}
    assert found - {None} <= set(field_types()["CAUSE"].words)


# -- handlers of the events


def test_the_check_has_a_handler_for_every_event() -> None:
    """There is no handler for an unknown event. The frame itself handles three."""
    told = {*context.OUTSIDE, *context.WITHIN, "TRACE", "STATE", "END"}
    edges = set(headers.printed_names("model.h", "CR_EDGE_KIND"))
    parts = [each.rpartition(" ")[::2] for each in told]
    handled = {"EDGE" if change and name in edges else name for change, name in parts}
    assert handled == set(headers.event_table().fields)
    changes = {change for change, _ in parts} - {""}
    assert changes == set(headers.printed_names("trace_events.h", "CR_CHANGE"))


def test_an_event_that_the_check_cannot_handle_is_a_clear_violation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(context.OUTSIDE, "SAY")
    report = check_stream(io.BytesIO("\n".join(small_run()).encode()), "log")
    assert [problem.text for problem in report.violations] == [
        "SAY: trace_events.h has this event, and no concern in trace/check handles it"
    ]


def test_the_story_tells_of_events_of_the_table() -> None:
    """The story selects: it tells nothing of an event that it does not handle."""
    assert {*story._HANDLERS, *story.PARTS} <= set(headers.event_table().fields)
