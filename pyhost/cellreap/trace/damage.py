# SPDX-License-Identifier: BSD-2-Clause
"""What is wrong with a line that looks like a trace line and has a wrong checksum."""

from __future__ import annotations

from cellreap.trace import frames
from cellreap.trace.events import printable
from cellreap.trace.frames import Cut, Damage, NoDigit


def diagnose(text: bytes, timed: bool) -> tuple[str, str]:
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
    return f"wrong checksum in {told(frame.first, names)}", "line.checksum"


def told(first: int, names: list[str]) -> str:
    """The events of a line, for people."""
    if len(names) == 1:
        return f"event {first} ({names[0]})"
    return f"events {first} to {first + len(names) - 1} ({names[0]} to {names[-1]})"
