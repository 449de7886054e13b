# SPDX-License-Identifier: BSD-2-Clause
"""Plain states are built kind by kind, and many lines are read at once: with the same result."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cellreap.errors import InputError
from cellreap.model.csvstate import parse_state, read_state, reading, write_state
from cellreap.model.csvstate.building import Builder
from cellreap.model.graph import Model
from kit.core_support import random_model

ROUNDS = 1500


def changed(rng: random.Random, lines: list[str]) -> list[str]:
    """The lines with a small change: most often one that a state cannot have."""
    lines = list(lines)
    at, other = rng.randrange(1, len(lines)), rng.randrange(1, len(lines))
    match rng.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            fields, others = lines[at].split(","), lines[other].split(",")
            column = rng.randrange(7)
            fields[column] = rng.choice(
                [others[column], "", "PD_0", "NONE", "a b", "\x07", "PINNED"]
            )
            lines[at] = ",".join(fields)
        case 4:
            words = ["HOLD", "MAP", "REQUEST", "OWN", "FAULT", "LINK", "SUBSCRIBE", "SUBSET"]
            lines[at] = lines[at].replace(rng.choice(words), rng.choice(words))
        case _:
            cut = rng.randrange(len(lines[at]) + 1)
            lines[at] = (
                lines[at][:cut] + rng.choice(["", "0", ",", '"', "_"]) + lines[at][cut + 1 :]
            )
    return lines


def outcome(lines: list[str]) -> object:
    """The model and what the reader noticed, or the error."""
    try:
        model, report = parse_state(enumerate(lines, 1), "state.csv")
    except InputError as error:
        return error.line()
    return model, report, list(model.nodes), list(model.holds)


@pytest.mark.behaviour("M-01")
def test_building_kind_by_kind_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(33)
    plainly = Builder._plain
    plain, wrong = 0, 0

    def counting(self: Builder, rows: list[object]) -> Model | None:
        nonlocal plain
        made = plainly(self, rows)  # type: ignore[arg-type]
        plain += made is not None
        return made

    for _ in range(ROUNDS):
        lines = write_state(random_model(rng)).splitlines()
        if rng.random() < 0.3:  # as CellulOS has it
            lines = [
                line.rpartition(",")[0] + "," if ",REQUEST," in line else line for line in lines
            ]
        for _ in range(rng.choice([0, 0, 1, 1, 2]) if len(lines) > 2 else 0):
            lines = changed(rng, lines)
        monkeypatch.setattr(Builder, "_plain", counting)
        quick = outcome(lines)
        monkeypatch.setattr(Builder, "_plain", lambda self, rows: None)
        assert quick == outcome(lines), "\n".join(lines)
        wrong += isinstance(quick, str)
    assert plain > ROUNDS / 5 < wrong


@pytest.mark.behaviour("M-01")
def test_reading_many_lines_at_once_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(34)
    state = tmp_path / "state.csv"
    pieces = [b"\0", b"\xff", b"\r", b"\n\n", b"", b"\xc3\xa4", b"x" * 70_000, b"\xe2\x80\xa8"]
    for number in range(200):
        text = write_state(random_model(rng)).encode()
        at = rng.randrange(len(text))
        if number % 4:
            text = text[:at] + rng.choice(pieces) + text[at + rng.randrange(2) :]
        state.write_bytes(text)
        ends = []
        for block in (1 << 20, 300, 0):
            monkeypatch.setattr(reading, "_BLOCK", block)
            try:
                ends.append(repr(read_state(state)))
            except InputError as error:
                ends.append(error.line())
        assert ends[0] == ends[1] == ends[2], text
