# SPDX-License-Identifier: BSD-2-Clause
"""Microkit's own descriptions, good and bad, are judged as its own tests expect.

CELLREAP_MICROKIT names a checkout of Microkit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cellreap.errors import InputError
from cellreap.system.microkit.board import Board
from cellreap.system.microkit.reading import read_system

_CHECKOUT = "CELLREAP_MICROKIT"
_TESTS = Path("tool") / "microkit" / "tests"
_CALL = re.compile(
    r"check_(success|error|missing)\(\s*&(\w+|sel4::Config \{[^}]*\}),\s*\"([\w.]+)\""
    r"(?:,\s*\"((?:[^\"\\]|\\.)*)\")?(?:,\s*\"(\w+)\")?",
    re.DOTALL,
)
_BLAMED = re.compile(r"on element '(\w+)'")
_ARM = Board("aarch64", 0xFF_FFFF_FFFF, True, True, None, 1, 16, 100)
_X86 = Board("x86_64", 0x7FFF_FFFF_EFFF, True, True, None, 1, 16, 100)
_OTHERS = {"pd_duplicate_program_image.system": "program_image"}
"""Where Microkit blames the PD for an element in it."""


@dataclass(frozen=True)
class Judgement:
    path: Path
    board: Board
    good: bool
    blamed: str | None
    """The element that Microkit's message names. None: it names none."""


def judgements(tests: Path) -> Iterator[Judgement]:
    """What Microkit's own tests expect of its descriptions."""
    for verdict, config, name, said, element in _CALL.findall((tests / "test.rs").read_text()):
        board = _X86 if "X86_64" in config else _ARM
        if "Riscv64" in config:
            board = replace(board, arch="riscv64")
        if "SMP" in config:
            board = replace(board, cores=4)
        if "iommu: false" in config:
            board = replace(board, iommu=False)
        told = _BLAMED.search(said)
        blamed = element if verdict == "missing" else told and told[1]
        good = verdict == "success"
        yield Judgement(tests / "sdf" / name, board, good, _OTHERS.get(name, blamed or None))


@pytest.mark.behaviour("P-01")
def test_the_corpus_is_judged_as_microkit_judges_it() -> None:
    checkout = os.environ.get(_CHECKOUT)
    if not checkout:
        pytest.skip(f"{_CHECKOUT} names no checkout of Microkit")
    tests = Path(checkout) / _TESTS
    expected = list(judgements(tests))
    told = {each.path for each in expected}
    wrong = []
    for each in expected:
        try:
            read_system(each.path, each.board, (tests / "prefills",))
            said = None
        except InputError as error:
            said = error
        if (said is None) != each.good or (said and not _right_place(said, each)):
            wrong.append(f"{each.path.name}: {said or 'read'}, blamed {each.blamed}")
    assert not wrong
    assert len(told) > 130
    assert {path for path in (tests / "sdf").iterdir() if path not in told} <= {
        tests / "sdf" / name for name in ("ch_missing_pd.system", "vm_invalid_vcpu_cpu.system")
    }  # which Microkit's tests do not judge


def _right_place(error: InputError, expected: Judgement) -> bool:
    """Whether the message names the place of the element that Microkit blames."""
    tag = (error.field or "").split(".")[0]
    lines = expected.path.read_text().splitlines()
    assert error.line_number is not None
    assert error.column is not None
    there = lines[error.line_number - 1][error.column - 1 :]
    if "got the text" in error.expected:
        return there.startswith(error.expected.split('"')[1])
    return there.startswith(f"<{tag}") and expected.blamed in (None, tag)
