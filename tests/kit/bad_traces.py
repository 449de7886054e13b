# SPDX-License-Identifier: BSD-2-Clause
"""Damaged consoles, by name. tests/data/bad_traces/NAME.err has the expected report on each."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from cellreap.trace.writer import NO_SECRET, framed, record, seal
from kit.records import event_of, events_in, line_of, log_of

RECORDS: Final = (
    "TRACE version=1 arch=x86_64 kernel=seL4%2016.0.0 system=test pd_depth=0 rs_depth=0 "
    f"key={NO_SECRET.hex()} clock=0",
    "USAGE bytes=1048576 slots=40 objects=thread:3,endpoint:2,notification:3,irq-handler:1 nodes=1 "
    "edges=0 notices=0 blocks=1 tickets=0 own=40 parents=0 bodies=0",
    "SETTING what=mode word=async value=0 second=0 third=0",
    "SETTING what=await word=- value=1000 second=0 third=0",
    "PD id=PD_0 name=ROOT_TASK asker=- op=-",
    "PD id=PD_1 name=server asker=- op=-",
    "BODY of=PD_1 paddr=0x100000000 bytes=65536 slots=2 objects="
    "thread:1,endpoint:1,notification:1,cnode:2,vspace:1,table:4,frame:9,asid:1",
    "RIGHTS pd=PD_1 pinned=0 protected=0 priority=100 account=1 set_depth=0 extract=1 spawn=1 "
    "listen=0 collect=0 reader=0 pd_depth=0 rs_depth=0 deadline_ms=0 heartbeat_ms=0 call_ms=0 "
    "budget_us=0 period_us=0 passive=0 respawns=0 window_ms=0 delay_ms=0 asker=- op=-",
    "SAY pd=PD_1 text=hello",
    "USAGE bytes=1114112 slots=42 objects=thread:4,endpoint:3,notification:4,irq-handler:1,cnode:2,"
    "vspace:1,table:4,frame:9,asid:1 "
    "nodes=2 edges=0 notices=0 blocks=2 tickets=0 own=40 parents=0 bodies=2",
    "STATE row=PD,PD_0,ROOT_TASK,,,,PINNED",
    "STATE row=PD,PD_1,server,,,,",
    "SETTLED n=0 rows=2 bytes=1114112 slots=42 calls=0 cycles=0 objects=thread:4,endpoint:3,"
    "notification:4,irq-handler:1,cnode:2,vspace:1,table:4,frame:9,asid:1 "
    "digest=3bbec26fe1b81856",
    "END count=0 digest=00000000",
)
"""A sound trace."""
BODY, SAY, USAGE, END = 6, 8, 9, 13

Lines = list[str]


def _sound() -> Lines:
    return seal(map(event_of, RECORDS))


def _without(first: int, last: int) -> Lines:
    lines = _sound()
    return [*lines[:first], *lines[last + 1 :]]


def _with_record(at: int, text: str) -> Lines:
    """The trace with another record, sealed as the others."""
    return seal(map(event_of, [*RECORDS[:at], text, *RECORDS[at + 1 :]]))


def _with_body(at: int, change: Callable[[bytes], bytes]) -> Lines:
    """The trace with other characters in the place of a record, under a right checksum."""
    lines = _sound()
    lines[at], _ = framed(change(record(event_of(RECORDS[at]))), at, NO_SECRET)
    return lines


def _with_line(at: int, change: Callable[[str], str]) -> Lines:
    lines = _sound()
    lines[at] = change(lines[at])
    return lines


def _end(text: str) -> Lines:
    return [*_sound()[:END], line_of(END, text)]


def _joined() -> Lines:
    """A line is cut, and the next one stands behind what is left of it."""
    lines = _sound()
    return [*lines[:BODY], lines[BODY][:20] + lines[BODY + 1], *lines[BODY + 2 :]]


def _within(line: str) -> str:
    return f"{line[:20]}Caught cap fault in send phase at address 0{line[20:]}"


def _swapped() -> Lines:
    lines = _sound()
    return [*lines[:SAY], lines[USAGE], lines[SAY], *lines[USAGE + 1 :]]


MADE: Final[dict[str, Callable[[], Lines]]] = {
    "after_the_end": lambda: [*_sound(), line_of(END + 1, "SAY pd=PD_1 text=still%20here")],
    "bad_digit": lambda: _with_body(USAGE, lambda body: body[:-1] + b"~"),
    "bad_escape": lambda: _with_body(SAY, lambda body: body.replace(b"hello", b"hel%lo")),
    "bad_node": lambda: _with_record(SAY, "SAY pd=PD_01 text=hello"),
    "cut_and_run_together": _joined,
    "cut_line": lambda: _with_line(BODY, lambda line: line[:30]),
    "cut_in_the_checksum": lambda: _with_line(BODY, lambda line: line[:-3]),
    "cut_off": lambda: _sound()[:USAGE],
    "cut_off_in_a_line": lambda: [*_sound()[:USAGE], _sound()[USAGE][:8]],
    "cut_to_the_number": lambda: _with_line(BODY, lambda line: line[:4]),
    "doubled": lambda: [*_sound()[:USAGE], *_sound()[SAY:]],
    "first_is_not_trace": lambda: seal(map(event_of, (RECORDS[1], RECORDS[END]))),
    "garbled": lambda: _with_line(BODY, lambda line: f"{line[:3]}\x7f{line[4:]}"),
    "huge_number": lambda: _with_record(
        USAGE, RECORDS[USAGE].replace("bytes=1114112", f"bytes={2**65}")
    ),
    "kernel_message_within": lambda: _with_line(BODY, _within),
    "lost": lambda: _without(SAY, SAY),
    "lost_several": lambda: _without(BODY, SAY),
    "missing_field": lambda: _with_record(SAY, "SAY pd=PD_1"),
    "newer_version": lambda: _with_record(0, RECORDS[0].replace("version=1", "version=99")),
    "no_trace_line": lambda: _sound()[1:],
    "only_a_mark": lambda: ["~:"],
    "reordered": _swapped,
    "started_again": lambda: [*_sound()[:USAGE], *_sound()],
    "trace_line_damaged": lambda: _with_line(0, lambda line: line.replace("test", "best")),
    "unknown_event": lambda: _with_record(SAY, "SHOUT pd=PD_1 text=hello"),
    "unknown_field": lambda: _with_record(SAY, "SAY pd=PD_1 text=hello loud=1"),
    "values_swapped": lambda: _with_record(SAY, "SAY pd=hello text=PD_1"),
    "version_is_no_number": lambda: _with_body(0, lambda body: body[:1] + b"~" + body[2:]),
    "wrong_checksum": lambda: _with_line(SAY, lambda line: line[:-1] + chr(ord(line[-1]) ^ 1)),
    "wrong_count": lambda: _end(f"END count={END} digest={_digest()}"),
    "wrong_digest": lambda: _end(f"END count={END + 1} digest=00c0ffee"),
    "wrong_number": lambda: _with_line(SAY, lambda line: line.replace("~:8", "~:9")),
}


def _digest() -> str:
    events, _ = events_in(log_of(_sound()))
    return events[-1]["digest"]


def consoles() -> dict[str, bytes]:
    """Name -> a damaged console."""
    rng = random.Random(9)
    return {
        **{name: log_of(made()) for name, made in MADE.items()},
        "binary": bytes(rng.randrange(256) for _ in range(4096)).replace(b"~:", b"~~"),
        "empty": b"",
        "no_trace": b"Booting all finished, dropped to user space\n\nCaught cap fault in send "
        b"phase at address 0\n",
    }
