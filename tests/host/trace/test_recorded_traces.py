# SPDX-License-Identifier: BSD-2-Clause
"""Consoles of real boots show what the scenario's table says. A trace's name says the depths."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from cellreap.trace.check import check_stream, report_json
from cellreap.trace.frames import MARK
from kit.paths import GOLDENS
from kit.records import events_in

RECORDED = sorted(GOLDENS.glob("block_fs_db_app-*.trace"))

# (PDs doomed with block server 1, deleted spaces): the scenario's table.
EXPECTED = {
    "0-0": (set(), {"disk1"}),
    "0-2": (set(), {"disk1", "files", "database"}),
    "1-2": ({"fs"}, {"disk1", "files", "database"}),
    "inf-inf": ({"fs", "db", "app"}, {"disk1", "files", "database"}),
}


def test_there_is_a_trace_for_each() -> None:
    """Without traces, the tests below would pass without running."""
    assert {path.stem.partition("-")[2] for path in RECORDED} == EXPECTED.keys()


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_trace_passes_and_says_what_the_table_says(path: Path) -> None:
    """The current check finds in the old run what the run showed."""
    with path.open("rb") as stream:
        report = report_json(check_stream(stream, path.name))
    assert report["violations"] == []
    (cleanup,) = report["cleanups"]
    names = report["names"]
    pds = {names[pd] for pd, _ in cleanup["destroyed_pds"]} - {"block_server_1"}
    spaces = {names[space] for space in cleanup["deleted_spaces"]}
    assert (pds, spaces) == EXPECTED[path.stem.partition("-")[2]]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_trace_without_one_of_its_lines_fails(path: Path) -> None:
    """Any line: the first, the last and some between."""
    lines = path.read_bytes().splitlines(keepends=True)
    events = [number for number, line in enumerate(lines) if line.startswith(MARK)]
    for number in (events[0] + 1, *events[5:-1:8], events[-1]):
        report = check_stream(io.BytesIO(b"".join(lines[:number] + lines[number + 1 :])), path.name)
        assert not report.passed, lines[number]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_value_is_few_characters(path: Path) -> None:
    """A character is a kernel call, so this is what printing costs. As text, it is 12 and more."""
    lines = [line for line in path.read_bytes().splitlines() if line.startswith(MARK)]
    events, _ = events_in(b"\n".join(lines))
    values = sum(1 + len(event.values) for event in events)
    assert sum(map(len, lines)) < 4.2 * values
