# SPDX-License-Identifier: BSD-2-Clause
"""The reports on recorded boots of the current version equal those recorded with the boots."""

from __future__ import annotations

import pytest

from cellreap import headers
from kit.goldens import RECORDED, Golden, normalised, read_golden, told
from kit.paths import GOLDENS


def test_each_golden_is_recorded_and_nothing_else() -> None:
    files = {path.name for path in GOLDENS.iterdir()}
    assert files == {path.name for golden in RECORDED for path in (golden.trace, golden.text)}


@pytest.mark.parametrize("golden", RECORDED, ids=lambda golden: golden.name)
def test_what_is_told_of_a_golden(golden: Golden, rewrite: bool) -> None:
    reading = read_golden(golden.trace.read_bytes(), golden)
    assert reading.report.violations == []
    assert reading.events[0].number("version") == headers.event_table().version
    text = told(reading)
    if rewrite:
        golden.text.write_text(text)
    assert text == golden.text.read_text()


def test_normalised_events_differ_where_the_runs_do() -> None:
    """Otherwise the comparison with a fresh boot could not fail."""
    runs = [
        normalised(read_golden(golden.trace.read_bytes(), golden).events) for golden in RECORDED
    ]
    for index, run in enumerate(runs):
        assert all(run != other for other in runs[index + 1 :])
