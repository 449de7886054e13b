# SPDX-License-Identifier: BSD-2-Clause
"""Reading an event by one pattern accepts only what reading it field by field accepts."""

from __future__ import annotations

import random

import pytest

from cellreap.headers import event_table
from cellreap.trace.events import Event, field_type
from cellreap.trace.fastform import PATTERNS, fast_forms
from cellreap.trace.lines import LINE, MARK
from cellreap.trace.reader import Reader
from cellreap.trace.writer import seal
from kit.trace_simulator import RUNS

PIECES = (
    *(b"0", b"9", b"00", b"-", b"=", b" ", b"%", b"%41", b"\xc3\xa9", b"\n", b"x=1", b":", b","),
    *(b"18446744073709551616", b"PD_0", b"PD_01", b"A_SPACE_1", b"1 ", b"\x7f", b"_"),
)
"""What is put into lines."""


def bodies(name: str) -> list[bytes]:
    """The events of a simulated run, as they stand in its lines."""
    found = []
    for line in seal(RUNS[name]()):
        match = LINE.fullmatch(line.encode(), len(MARK))
        assert match is not None
        found.append(match.group(3))
    return found


def slowly(body: bytes) -> Event | None:
    """The event, read field by field."""
    match = LINE.fullmatch(b"1 " + b"0" * 16 + b" " + body)
    if match is None:
        return None
    reader = Reader("trace")
    reader._begun = True
    return reader._parse_fields(1, 1, match.group(3))


@pytest.mark.behaviour("H-10")
def test_each_event_has_a_form_and_nearly_all_lines_are_read_by_it() -> None:
    forms = fast_forms()
    assert forms.keys() == event_table().fields.keys()
    seen = quick = 0
    for name in RUNS:
        for body in bodies(name):
            event = body.split(b" ")[0].decode()
            values = forms[event].read(body)
            seen, quick = seen + 1, quick + (values is not None)
            slow = slowly(body)
            assert slow is not None
            assert values is None or list(values.items()) == list(slow.values.items())
            assert values is not None or b"%" in body
    assert quick > 0.99 * seen > 1000


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
def test_escaped_text_is_read_as_field_by_field(text: str, said: str | None) -> None:
    body = f"SAY pd=PD_1 text={text}".encode()
    read, slow = fast_forms()["SAY"].read(body), slowly(body)
    assert (None if read is None else read["text"]) == said
    assert (None if slow is None else slow["text"]) == said


@pytest.mark.behaviour("H-10")
def test_what_the_pattern_accepts_is_accepted_field_by_field() -> None:
    rng = random.Random(16)
    lines = sorted({body for name in RUNS for body in bodies(name)})
    accepted = refused = 0
    for _ in range(20_000):
        body = rng.choice(lines)
        at, end = (rng.randrange(len(body) + 1) for _ in range(2))
        changed = body[: min(at, end)] + rng.choice(PIECES) + body[rng.choice((at, end)) :]
        form = fast_forms().get(changed.split(b" ")[0].decode("latin-1"))
        values = None if form is None else form.read(changed)
        if values is None:
            refused += 1
            continue
        accepted += 1
        slow = slowly(changed)
        assert slow is not None, changed
        assert list(values.items()) == list(slow.values.items())
    assert accepted > 1000 < refused


def test_the_patterns_are_of_types_that_there_are() -> None:
    table = event_table()
    used = {field_type(event, name).name for event, names in table.fields.items() for name in names}
    assert set(PATTERNS) <= used
