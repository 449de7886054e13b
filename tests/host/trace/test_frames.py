# SPDX-License-Identifier: BSD-2-Clause
"""The text of frames: numbers, texts and their dictionary, and all that is no frame."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellreap.arches import ARCHES
from cellreap.errors import InputError
from cellreap.headers import constant
from cellreap.platforms import register_names
from cellreap.trace import frames
from cellreap.trace.events import Event
from cellreap.trace.frames import MARK, Damage, Frame, Records
from cellreap.trace.writer import seal
from kit.paths import ROOT
from kit.records import event_of, events_in, field_type, line_of
from kit.simulated_runs import RUNS

TEXTS = constant("trace_events.h", "CR_DICTIONARY_TEXTS")


def frame_of(line: str) -> Frame:
    frame = frames.parse(line[len(MARK) :].encode())
    assert frame is not None
    return frame


def body_frame(body: bytes, count: int = 1, first: int = 5) -> Frame:
    return Frame(first, count, body, 0, b"")


@given(st.integers(0, 64).flatmap(lambda bits: st.integers(0, 2**bits - 1)))
def test_a_number_is_read_as_it_was_written(value: int) -> None:
    written = frames.number(value)
    assert all(0x30 <= char < 0x70 for char in written)
    assert len(written) == 1 if value < 40 else len(written) <= 12
    line = line_of(7, f"REFUSED pd=PD_1 count={value}")
    assert [event.values["count"] for event in Records().read(frame_of(line))] == [str(value)]


def test_a_small_number_is_short() -> None:
    lengths = {39: 1, 40: 2, 1023: 2, 1024: 3, 4095: 3, 4096: 4, 2**48 - 1: 9, 2**48: 12}
    assert {value: len(frames.number(value)) for value in lengths} == lengths


@pytest.mark.behaviour("H-10")
def test_what_is_read_of_a_changed_frame_has_the_form_of_its_fields() -> None:
    rng = random.Random(16)
    lines = sorted({line for name in RUNS for line in seal(RUNS[name]())})
    accepted = refused = 0
    for _ in range(20_000):
        body = frame_of(rng.choice(lines)).body
        at, end = sorted(rng.randrange(len(body) + 1) for _ in range(2))
        piece = bytes(rng.choice(b"0189:;XYZ_ano %~") for _ in range(rng.randrange(4)))
        changed = body[:at] + piece + body[rng.choice((at, end)) :]
        try:
            (event,) = Records().read(body_frame(changed))
        except Damage:
            refused += 1
            continue
        accepted += 1
        for field, value in event.values.items():
            assert field_type(event.name, field).accepts(value), (changed, field)
    assert accepted > 1000 < refused


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a%20line", "a line"),
        ("%25%c3%A9", "%\N{LATIN SMALL LETTER E WITH ACUTE}"),
        ("%ff", "\udcff"),
        ("100%", None),
        ("%2", None),
        ("%2g%20", None),
    ],
)
def test_escaped_text_is_read(text: str, said: str | None) -> None:
    body = frame_of(line_of(5, "SAY pd=PD_1 text=?")).body.replace(b"?", text.encode())
    if said is None:
        with pytest.raises(Damage, match="expected %XX after every '%'"):
            Records().read(body_frame(body))
    else:
        (event,) = Records().read(body_frame(body))
        assert event["text"] == said


def test_a_text_that_was_never_sent_is_told() -> None:
    body = frame_of(line_of(5, "SAY pd=PD_1 text=?")).body
    known = body.replace(frames.number(2 * frames.PLAIN) + b"? ", frames.number(2 * 7))
    with pytest.raises(Damage, match=r"text 7 of the dictionary was never sent"):
        Records().read(body_frame(known))


def test_a_dictionary_has_a_bound() -> None:
    """The reader keeps no more than the writer does."""
    define = frames.number(2 * constant("trace_events.h", "CR_FRAME_DEFINE"))
    clear = frames.number(2 * constant("trace_events.h", "CR_FRAME_CLEAR"))
    kind = frame_of(line_of(5, "STATE row=?")).body.partition(b"g")[0]
    records = Records()
    for number in range(TEXTS):
        (event,) = records.read(body_frame(kind + define + b"n%d " % number))
        assert event["row"] == f"n{number}"
    with pytest.raises(Damage, match="more than"):
        records.read(body_frame(kind + define + b"one "))
    (event,) = records.read(body_frame(kind + frames.number(2 * (TEXTS - 1))))
    assert event["row"] == f"n{TEXTS - 1}"
    (event,) = records.read(body_frame(kind + clear + b"new "))
    assert event["row"] == "new"
    with pytest.raises(Damage, match="never sent"):
        records.read(body_frame(kind + frames.number(2)))


def test_the_page_has_the_numbers_of_the_header() -> None:
    def of(name: str) -> int:
        return constant("trace_events.h", f"CR_{name}")

    page = " ".join((ROOT / "docs" / "trace-format.md").read_text().split())
    for text in (
        f"A frame begins with the mark `{MARK.decode()}`",
        f"is one digit below {of('FRAME_ONE')}. Up to {of('FRAME_TWO') - 1:,} it has two digits: "
        f"the first is {of('FRAME_ONE')} and",
        f"{of('FRAME_LONG')} to 62 stand for 2 to {of('FRAME_DIGITS')}, and 63 for "
        f"{of('FRAME_ALL_DIGITS')}",
        f"A token below {TEXTS} is a text of the *dictionary*. {of('FRAME_DEFINE')}: the piece "
        f"follows, and is the next text of the dictionary. {of('FRAME_CLEAR')}: the same,",
        f"{of('FRAME_PLAIN')}: the piece follows, and is in no dictionary.",
        f"at most {TEXTS} texts, of at most {of('DICTIONARY_TEXT_MAX')} bytes each and "
        f"{of('DICTIONARY_BYTES') // 1024} KiB together",
        f"times {of('FRAME_DIGEST')}, plus the checksum",
        f"the lower {6 * of('FRAME_SUM_DIGITS')} bits of `h`",
    ):
        assert text in page, text


def test_several_records_of_a_frame_are_read_in_their_order() -> None:
    texts = [
        "REFUSED pd=PD_1 count=70",
        "SAY pd=PD_2 text=a%20b",
        "NOTICE change=fetched pd=PD_1 token=3",
    ]
    body = b"".join(frame_of(line_of(5, text)).body for text in texts)
    found = Records().read(body_frame(body, 3), 12)
    assert [(event.seq, event.line) for event in found] == [(5, 12), (6, 12), (7, 12)]
    assert list(map(str, found)) == texts
    with pytest.raises(Damage, match="event 8: the frame ends within its number"):
        Records().read(body_frame(body, 4))
    with pytest.raises(Damage, match="SAY: more behind its last field"):
        Records().read(body_frame(body, 2))


@pytest.mark.parametrize("arch", ARCHES)
def test_the_registers_of_a_fault_are_read_as_they_were_written(arch: str) -> None:
    told = ",".join(f"{name}:{at:#x}" for at, name in enumerate(register_names(arch), 1))
    trace, *_ = (draft for draft in RUNS["notices"]() if draft[0] == "TRACE")
    fault = {"pd": "PD_1", "kind": "vm-fault", "address": "0x1", "ip": "0x1", "registers": told}
    lines = seal([(trace[0], {**trace[1], "arch": arch}), ("FAULT", fault)])
    records = Records()
    (*_, (found,)) = (records.read(frame_of(line)) for line in lines)
    assert found["registers"] == told


@pytest.mark.behaviour("H-09")
def test_a_change_of_any_character_of_any_line_is_found() -> None:
    lines = [line.encode() for line in seal(RUNS["depths-0-0"]())]
    rng = random.Random(5)
    for number in (0, 1, *rng.sample(range(2, len(lines)), 12), len(lines) - 1):
        line = lines[number]
        for at in range(len(line)):
            other = bytes([line[at] ^ rng.choice((1, 2, 4, 16, 32))])
            changed = line[:at] + other + line[at + 1 :]
            log = b"\n".join([*lines[:number], changed, *lines[number + 1 :]])
            assert is_damaged(log), (line, at)


def is_damaged(log: bytes) -> bool:
    try:
        return bool(events_in(log)[1].problems)
    except InputError:
        return True


def test_a_record_as_text_comes_back() -> None:
    text = "SAY pd=PD_1 text=100%25%20%3D at=5"
    assert event_of(text) == Event("SAY", {"pd": "PD_1", "text": "100% ="}, time=5)
