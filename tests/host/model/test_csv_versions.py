# SPDX-License-Identifier: BSD-2-Clause
"""Saved states tell their version, and later ones are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cellreap.cli.main import main
from cellreap.errors import InputError
from cellreap.model.csvstate import STATE_VERSION, parse_state, read_state, write_state
from cellreap.model.csvstate.columns import HEADER
from cellreap.model.graph import Model
from cellreap.model.reference import apply, plan
from kit.paths import VERSIONS

STORED = VERSIONS / f"state-{STATE_VERSION}.csv"
PDS = ("PD,PD_0,root,,,,", "PD,PD_1,a,,,,")


def refused(*rows: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_state(enumerate([HEADER, *rows], 1), "state.csv")
    return caught.value.line()


@pytest.mark.behaviour("T-26", "T-27")
def test_a_stored_state_is_read_and_what_it_has_can_be_cleaned_up() -> None:
    model, report = read_state(STORED, strict=True)
    assert report.to_json()["version"] == STATE_VERSION
    assert (report.rows, report.skipped, report.ours) == (47, 0, True)
    assert model.check_legal() == []
    after = apply(model, plan(model, "PD_1", 0, 0))
    assert (set(model.nodes) - set(after.nodes)) == {"PD_1", "BLOCK_SPACE_1", "BLOCK_1_1"}


@pytest.mark.behaviour("T-26")
def test_a_state_is_written_in_this_version() -> None:
    model, _ = read_state(STORED)
    written = write_state(model)
    assert written == STORED.read_text()
    (line,) = [line for line in written.splitlines() if "VERSION" in line]
    assert line == f"PD,PD_0,,,,,VERSION={STATE_VERSION}"


def test_the_version_stands_before_what_else_a_pd_s_extra_has() -> None:
    model = Model()
    model.add_pd("PD_3", "only", pinned=True, extra="and more")
    written = write_state(model)
    assert f"PD,PD_3,only,,,,VERSION={STATE_VERSION} PINNED and more\n" in written
    assert parse_state(enumerate(written.splitlines(), 1), "f")[0] == model


@pytest.mark.behaviour("T-26", "X-25")
def test_the_next_version_is_refused_before_anything_else_in_the_file() -> None:
    later = STATE_VERSION + 1
    said = refused(f"PD,PD_0,root,,,,VERSION={later}", "PD,PD_1,too,many,columns,,,,,,")
    assert said == (
        f"state.csv:2: EXTRA: the version of this state is {later}, and this program knows "
        f"version {STATE_VERSION}; expected a state of that one, or a later cellreap"
    )
    wider = parse_error(f"{HEADER},COLOUR", *PDS)
    assert wider == (
        "state.csv:1: this program does not know the column COLOUR, expected "
        f"{HEADER}, or a later cellreap"
    )


def parse_error(*lines: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_state(enumerate(lines, 1), "state.csv")
    return caught.value.line()


@pytest.mark.behaviour("X-25")
@pytest.mark.parametrize("word", ["VERSION=", "VERSION=0", "VERSION=two", "VERSION=02"])
def test_a_version_that_is_no_number_is_refused(word: str) -> None:
    assert re.fullmatch(
        rf"state\.csv:3: EXTRA: '{word}', expected VERSION={STATE_VERSION}",
        refused(PDS[0], PDS[1] + word),
    )


def test_a_state_with_a_version_is_ours_so_nothing_is_left_out() -> None:
    edge = ",,NONE,HOLD,PD_1,FILE_1_1,"
    _, report = parse_state(enumerate([HEADER, *PDS, edge], 1), "f")
    assert len(report.left_out) == 1
    assert report.to_json()["version"] is None
    assert refused(PDS[0] + f"VERSION={STATE_VERSION}", PDS[1], edge).startswith(
        "state.csv:4: EDGE_TO: HOLD"
    )


@pytest.mark.behaviour("T-26")
def test_plan_tells_the_version_and_refuses_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", str(STORED), "--crash", "PD_1", "--json"])
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["input"]["version"] == STATE_VERSION
    path = tmp_path / "later.csv"
    path.write_text(STORED.read_text().replace(f"={STATE_VERSION}", f"={STATE_VERSION + 1}"))
    with pytest.raises(SystemExit) as ended:
        main(["plan", str(path), "--crash", "PD_1"])
    assert ended.value.code == 2
    assert f"{path}:2: EXTRA: the version of this state is" in capsys.readouterr().err
