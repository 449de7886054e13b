# SPDX-License-Identifier: BSD-2-Clause
"""Saved states tell their version. Those of earlier versions are read, later ones are refused."""

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

STORED = sorted(VERSIONS.glob("state-*.csv"))
PDS = ("PD,PD_0,root,,,,", "PD,PD_1,a,,,,")


def refused(*rows: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_state(enumerate([HEADER, *rows], 1), "state.csv")
    return caught.value.line()


@pytest.mark.behaviour("T-26")
def test_there_is_a_state_of_each_version() -> None:
    assert [path.stem for path in STORED] == [f"state-{n}" for n in range(1, STATE_VERSION + 1)]


@pytest.mark.behaviour("T-26", "T-27")
@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_state_of_each_version_is_read_and_what_it_has_can_be_cleaned_up(path: Path) -> None:
    model, report = read_state(path, strict=True)
    version = int(path.stem.partition("-")[2])
    assert report.to_json()["version"] == version
    assert (report.rows, report.skipped, report.ours) == (47, 0, True)
    newest, _ = read_state(STORED[-1])
    assert model == newest
    assert model.check_legal() == []
    after = apply(model, plan(model, "PD_1", 0, 0))
    assert (set(model.nodes) - set(after.nodes)) == {"PD_1", "BLOCK_SPACE_1", "BLOCK_1_1"}


@pytest.mark.behaviour("T-26")
def test_a_state_is_written_in_this_version_and_an_older_reader_reads_the_same_rows() -> None:
    """To readers that know no versions, the word is a text in a column that they do not look at."""
    model, _ = read_state(STORED[-1])
    written = write_state(model)
    assert written == STORED[-1].read_text()
    (line,) = [line for line in written.splitlines() if "VERSION" in line]
    assert line == f"PD,PD_0,,,,,VERSION={STATE_VERSION}"
    assert written.replace(f"VERSION={STATE_VERSION}", "") == STORED[0].read_text()


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
        f"versions up to {STATE_VERSION}; expected a state of one of them, or a later cellreap"
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
        rf"state\.csv:3: EXTRA: '{word}', expected VERSION= and a number from 1 to \d+",
        refused(PDS[0], PDS[1] + word),
    )


def test_two_versions_in_one_state_are_refused() -> None:
    said = refused(PDS[0] + f"VERSION={STATE_VERSION}", PDS[1] + "VERSION=1")
    assert said == f"state.csv:3: EXTRA: 'VERSION=1', expected VERSION={STATE_VERSION} as before"


@pytest.mark.behaviour("G-46")
def test_a_word_that_is_newer_than_the_stated_version_is_refused_by_name() -> None:
    said = refused(PDS[0] + "VERSION=1", PDS[1])
    assert said.startswith("state.csv:2: EXTRA: 'VERSION=1': the word VERSION= needs version 2;")


def test_a_state_with_a_version_is_ours_so_nothing_is_left_out() -> None:
    edge = ",,NONE,HOLD,PD_1,FILE_1_1,"
    _, report = parse_state(enumerate([HEADER, *PDS, edge], 1), "f")
    assert len(report.left_out) == 1
    assert refused(PDS[0] + "VERSION=2", PDS[1], edge).startswith("state.csv:4: EDGE_TO: HOLD")


@pytest.mark.behaviour("T-26")
def test_plan_tells_the_version_and_refuses_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", str(STORED[0]), "--crash", "PD_1", "--json"])
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["input"]["version"] == 1
    path = tmp_path / "later.csv"
    path.write_text(STORED[-1].read_text().replace(f"={STATE_VERSION}", f"={STATE_VERSION + 1}"))
    with pytest.raises(SystemExit) as ended:
        main(["plan", str(path), "--crash", "PD_1"])
    assert ended.value.code == 2
    assert f"{path}:2: EXTRA: the version of this state is" in capsys.readouterr().err
