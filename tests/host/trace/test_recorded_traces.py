# SPDX-License-Identifier: BSD-2-Clause
"""Consoles of real boots, kept as they were recorded: whatever changes here, they stay readable and sound.

A trace's name says the depths. One that cannot be read any more means that the format changed under the same
version number: that is the mistake, not the trace.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from cellreap.trace.check import check_stream, report_json
from kit.paths import STORED_TRACES

RECORDED = sorted(STORED_TRACES.glob("block_fs_db_app-*.trace"))

# (PDs that die with block server 1, spaces that go): the scenario's table.
EXPECTED = {
    "0-0": (set(), {"disk1"}),
    "0-2": (set(), {"disk1", "files", "database"}),
    "1-2": ({"fs"}, {"disk1", "files", "database"}),
    "inf-inf": ({"fs", "db", "app"}, {"disk1", "files", "database"}),
}


def test_there_is_a_trace_for_each() -> None:
    """Else the tests below would pass by not being there."""
    assert {path.stem.partition("-")[2] for path in RECORDED} == EXPECTED.keys()


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_trace_passes_and_says_what_the_table_says(path: Path) -> None:
    """The check of today finds in the run of then what was to be seen there."""
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
    """Any one: the first, the last and some between."""
    lines = path.read_bytes().splitlines(keepends=True)
    events = [number for number, line in enumerate(lines) if line.startswith(b"~cr ")]
    for number in (events[0] + 1, *events[5:-1:40], events[-1]):
        report = check_stream(io.BytesIO(b"".join(lines[:number] + lines[number + 1 :])), path.name)
        assert not report.passed, lines[number]
