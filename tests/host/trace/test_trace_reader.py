# SPDX-License-Identifier: BSD-2-Clause
"""Reading traces out of console logs: what is found in any log, and what is said of damage."""

from __future__ import annotations

import io
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from cellreap import headers
from cellreap.errors import InputError
from cellreap.trace import reader as trace
from cellreap.trace.check import check_file, check_stream
from cellreap.trace.reader import Event, Reader, decode, encode, field_kind, read, seal
from kit.paths import DATA
from kit.trace_simulator import Target, rich_run

BAD = DATA / "bad_traces"


def small_run() -> list[str]:
    """The shortest trace with a PD in it."""
    target = Target()
    target.say(target.pd("server"), "hello")
    target.quiet()
    return seal(target.end())


def events_in(log: bytes) -> tuple[list[Event], Reader]:
    reader = Reader("log")
    return list(read(reader, io.BytesIO(log))), reader


# -- damage


@pytest.mark.behaviour("H-09")
@pytest.mark.parametrize("path", sorted(BAD.glob("*.trace")), ids=lambda path: path.stem)
def test_every_kind_of_damage_is_named(path: Path) -> None:
    """Beside each damaged trace stands what is said about it: the exit code, then a line each problem."""
    code, *expected = path.with_suffix(".err").read_text().splitlines()
    try:
        report = check_file(path)
    except InputError as error:
        found, said = 2, [error.line()]
    else:
        found = 0 if report.passed else 1
        said = [f"{path}:{problem.line}: {problem.text}" for problem in report.violations]
    assert (f"exit {found}", [line.replace(str(path), path.name) for line in said]) == (code, expected)
    assert found != 0


def test_there_are_damaged_traces() -> None:
    assert len(list(BAD.glob("*.trace"))) > 25
    assert len(list(BAD.glob("*.trace"))) == len(list(BAD.glob("*.err")))


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


def test_no_event_is_given_after_damage() -> None:
    lines = small_run()
    events, reader = events_in("\n".join([*lines[:4], *lines[5:]]).encode())
    assert [event.seq for event in events] == [0, 1, 2, 3]
    assert reader.broken_at == 5


# -- what a console adds


@pytest.mark.behaviour("H-08", "H-09")
def test_kernel_messages_and_line_ends_do_no_harm() -> None:
    plain, _ = events_in("\n".join(seal(rich_run())).encode())
    noisy = bytearray(b"\x00\xff\x1b[2J\r\nBooting all finished, dropped to user space\r\n")
    for index, line in enumerate(seal(rich_run())):
        noisy += (b"", b"Caught cap fault in send phase\r\n", b"\r", b"vm fault on data at 0x10: ")[index % 4]
        noisy += line.encode() + (b"\n", b"\r\n", b"\r\r\n")[index % 3]
        noisy += (b"", b"\n\n", b"<<seL4(CPU 0) [decodeInvocation/646]: ~c r ~cr>>\n")[index % 3]
    events, reader = events_in(bytes(noisy))
    assert not reader.problems
    assert [(event.name, event.values) for event in events] == [(event.name, event.values) for event in plain]
    report = check_stream(io.BytesIO(bytes(noisy)), "noisy")
    assert report.passed
    rows = [event["row"] for event in events if event.name == "STATE"]
    assert "PD,PD_1,block_server_1,,,," in rows


def test_the_last_line_needs_no_newline() -> None:
    log = "\n".join(small_run())
    assert not events_in(log.encode())[1].problems
    assert not events_in(log.encode() + b"\n")[1].problems


def test_values_come_back_as_they_were() -> None:
    for value in ("", "a b", "100%", "~cr ", "ü€", "\x00\x7f\n", "a=b", "\udcff"):
        target = Target()
        target.say(target.pd("p"), value)
        target.quiet()
        events, reader = events_in("\n".join(seal(target.end())).encode())
        assert not reader.problems
        assert [event["text"] for event in events if event.name == "SAY"] == [value]
        assert decode(encode(value).encode()) == value


def test_a_mark_within_a_value_begins_no_line() -> None:
    target = Target()
    target.pd("~cr")  # a name before another field: the line has "~cr " in it twice
    target.quiet()
    lines = seal(target.end())
    assert any(line.count("~cr ") == 2 for line in lines)
    assert check_stream(io.BytesIO("\n".join(lines).encode()), "log").passed


def test_checksums_are_zlibs_over_what_the_header_says() -> None:
    digest = 0
    lines = small_run()
    for seq, line in enumerate(lines[:-1]):
        mark, number, crc, text = line.split(" ", 3)
        assert (mark, number) == ("~cr", str(seq))
        assert int(crc, 16) == zlib.crc32(f"{seq} {text}".encode())
        digest = zlib.crc32(f"{seq} {text}\n".encode(), digest)
    assert lines[-1].split(" ")[3:] == ["END", f"count={len(lines)}", f"digest={digest:08x}"]


# -- size


class _Endless(io.RawIOBase):
    """A long trace made while it is read."""

    def __init__(self, repeat: int) -> None:
        self._parts = self._make(repeat)
        self._rest = b""

    @staticmethod
    def _make(repeat: int) -> Iterator[bytes]:
        lines = small_run()
        digest = 0
        seq = 0

        def line(text: str) -> bytes:
            nonlocal digest, seq
            whole = f"{seq} {text}".encode()
            digest = zlib.crc32(whole + b"\n", digest)
            seq += 1
            return b"~cr %d %08x %s\n" % (seq - 1, zlib.crc32(whole), text.encode())

        for old in lines[:-1]:
            yield line(old.split(" ", 3)[3])
        for at in range(2 * repeat):
            yield line("REFUSE pd=PD_1 op=10 status=4" if at < 64 else "REFUSED pd=PD_1 count=1000")
        yield line(f"END count={seq + 1} digest={digest:08x}")

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size:
            part = next(self._parts, None)
            if part is None:
                break
            self._rest += part
        out, self._rest = self._rest[:size], self._rest[size:]
        return out


def test_memory_does_not_grow_with_the_trace() -> None:
    stream = _Endless(15_000)
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
    assert report.events > 15_000
    assert seen > 700_000
    assert peak < 500_000


# -- versions


@pytest.mark.behaviour("G-46")
def test_a_trace_of_an_older_version_is_read_by_its_own_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = (trace._OLD_TABLES / "v1.h").read_text()
    old = old.replace("CR_TRACE_VERSION = 1", "CR_TRACE_VERSION = 0").replace('"pd text"', '"pd words"')
    (tmp_path / "v0.h").write_text(old)
    log = "\n".join(
        f"~cr {seq} {zlib.crc32(text.encode()):08x} {text.partition(' ')[2]}"
        for seq, text in enumerate(
            (
                "0 TRACE version=0 arch=x86_64 kernel=seL4%2012.0.0 system=old pd_depth=0 rs_depth=0",
                "1 SAY pd=PD_1 words=hello",
            )
        )
    ).encode()
    with pytest.raises(
        InputError, match=r"log:1: TRACE: version: 0 is no version that this cellreap reads \(1, 2\)$"
    ):
        events_in(log)
    monkeypatch.setattr(trace, "_OLD_TABLES", tmp_path)
    trace.table_of.cache_clear()
    events, reader = events_in(log)
    trace.table_of.cache_clear()
    assert [event.name for event in events] == ["TRACE", "SAY"]
    assert events[1]["words"] == "hello"
    assert [problem.text for problem in reader.problems] == ["cut off: no END after event 1"]


# -- the table


def test_every_field_of_the_table_has_a_form() -> None:
    table = headers.event_table()
    assert table.version == 2
    for event, fields in table.fields.items():
        for name in fields:
            assert field_kind(event, name) is not None, f"{event}.{name}"


def test_no_form_is_left_over() -> None:
    fields = {name for fields in headers.event_table().fields.values() for name in fields}
    assert set(trace._FIELD_KINDS) <= fields
    pairs = {(event, name) for event, fields in headers.event_table().fields.items() for name in fields}
    assert set(trace._EVENT_FIELD_KINDS) <= pairs
