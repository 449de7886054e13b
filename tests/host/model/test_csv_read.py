# SPDX-License-Identifier: BSD-2-Clause
"""Reading model states: rows in any order, console logs, and every kind of bad file."""

from __future__ import annotations

import os
import re
from pathlib import Path
from random import Random

import pytest

from cellreap.errors import InputError
from cellreap.model.csvstate import (
    MAX_LINE,
    ReadReport,
    columns,
    parse_state,
    read_state,
    rows,
    write_state,
)
from cellreap.model.csvstate.columns import BASE_HEADER
from cellreap.model.graph import Model
from kit.paths import CELLULOS, DATA

SCENARIO = DATA / "scenario.csv"
BAD = sorted((DATA / "bad_models").glob("*.csv"))

# As CellulOS writes it: REQUEST to a PD by type, no EXTRA on edges.
FOREIGN = [
    "PD,PD_0,ROOT_TASK,,,,",
    "PD,PD_1,server,,,,",
    "PD,PD_2,client,,,,",
    "RESOURCE_SPACE,MO_SPACE_4,MO,,,,",
    "RESOURCE_SPACE,DISK_SPACE_5,DISK,,,,",
    "RESOURCE_SPACE,DISK_SPACE_6,DISK,,,,",
    "RESOURCE,DISK_5_1,DISK,,,,",
    "RESOURCE,MO_4_1,MO,,,,0x7fd39000_557_12",
    ",,NONE,SUBSET,DISK_5_1,DISK_SPACE_5,",
    ",,NONE,SUBSET,MO_4_1,MO_SPACE_4,",
    ",,NONE,HOLD,PD_1,DISK_SPACE_5,",
    ",,NONE,HOLD,PD_1,DISK_SPACE_6,",
    ",,NONE,HOLD,PD_1,DISK_5_1,",
    ",,NONE,HOLD,PD_2,MO_4_1,",
    ",,DISK,REQUEST,PD_2,PD_1,",
    ",,MO,REQUEST,PD_2,PD_0,",
    ",,EP,REQUEST,PD_2,PD_0,",
]


def parse(*rows: str, strict: bool = False, ours: bool | None = None) -> tuple[Model, ReadReport]:
    """The state of these rows below a header, which is line 1."""
    return parse_state(enumerate([BASE_HEADER, *rows], 1), "state.csv", strict=strict, ours=ours)


@pytest.mark.behaviour("M-01")
def test_scenario_is_read_exactly() -> None:
    model, report = read_state(SCENARIO)
    assert report.ours
    assert (report.rows, report.skipped, report.duplicates, report.left_out) == (42, 0, 0, [])
    assert [model.nodes[pd].name for pd in sorted(model.pds())] == [
        "root_task",
        "block_server_1",
        "block_server_2",
        "fs",
        "db",
        "app",
    ]
    assert model.manager == {
        "BLOCK_SPACE_1": "PD_1",
        "BLOCK_SPACE_2": "PD_2",
        "FILE_SPACE_3": "PD_3",
        "TABLE_SPACE_4": "PD_4",
    }
    assert model.requests == {
        ("PD_3", "BLOCK_SPACE_1"),
        ("PD_3", "BLOCK_SPACE_2"),
        ("PD_4", "FILE_SPACE_3"),
        ("PD_5", "TABLE_SPACE_4"),
    }
    assert ("TABLE_4_1", "FILE_3_1") in model.maps
    assert model.holds["PD_3", "BLOCK_2_2"] == 1
    assert model.check_legal() == []


@pytest.mark.behaviour("M-04")
def test_order_of_rows_does_not_matter() -> None:
    rows = SCENARIO.read_text().splitlines()[1:]
    in_order, _ = parse(*rows)
    edges_first, report = parse(*reversed(rows))
    assert edges_first == in_order
    assert report.left_out == []


@pytest.mark.behaviour("M-04")
def test_duplicates_are_one_row_but_counted_edges_add_up() -> None:
    again = [
        "PD,PD_2,client,,,,",
        "RESOURCE,DISK_5_1,DISK,,,,",
        ",,NONE,SUBSET,DISK_5_1,DISK_SPACE_5,",
        ",,DISK,REQUEST,PD_2,PD_1,",
        ",,NONE,LINK,PD_1,PD_2,",
        ",,NONE,LINK,PD_2,PD_1,",
        ",,NONE,HOLD,PD_2,MO_4_1,",
        ",,NONE,SUBSCRIBE,PD_2,PD_1,",
        ",,NONE,SUBSCRIBE,PD_2,PD_1,",
    ]
    model, report = parse(*FOREIGN, *again)
    assert report.duplicates == 5
    assert model.links == {("PD_1", "PD_2")}
    assert model.holds["PD_2", "MO_4_1"] == 2
    assert model.holds["PD_1", "DISK_5_1"] == 1
    assert model.subscribes["PD_2", "PD_1"] == 2
    assert any("5 rows there more than once" in note for note in report.notes())


@pytest.mark.behaviour("G-27", "M-01")
def test_a_subscription_keeps_its_handler() -> None:
    row = ",,NONE,SUBSCRIBE,PD_2,PD_1,"
    model, _ = parse(*FOREIGN, row, f"{row}HANDLER=3", f"{row}HANDLER=31", f"{row}HANDLER=3")
    assert model.subscriptions("PD_2", "PD_1") == {0: 1, 3: 2, 31: 1}
    written = write_state(model).splitlines()[1:]
    again, _ = parse(*written)
    assert again.subscriptions("PD_2", "PD_1") == model.subscriptions("PD_2", "PD_1")
    assert [line for line in written if "SUBSCRIBE" in line] == [
        row, f"{row}HANDLER=3", f"{row}HANDLER=3", f"{row}HANDLER=31"
    ]  # fmt: skip
    for wrong in ("HANDLER=0", "HANDLER=32", "HANDLER=03", "HANDLER=", "handler=1", "PD_1"):
        with pytest.raises(InputError, match="expected nothing, or HANDLER= and a number from 1"):
            parse(*FOREIGN, f"{row}{wrong}")


@pytest.mark.behaviour("M-01")
def test_memory_that_may_only_be_read_stays_so() -> None:
    reads = [f",,NONE,{edge},READ" for edge in ("HOLD,PD_2,MO_4_1", "MAP,VMR_6_1,MO_4_1")]
    region = [
        "RESOURCE_SPACE,VMR_SPACE_6,VMR,,,,",
        "RESOURCE,VMR_6_1,VMR,,,,0x1000_GENERIC_1_12",
        ",,NONE,SUBSET,VMR_6_1,VMR_SPACE_6,",
    ]
    foreign = [row for row in FOREIGN if row != ",,NONE,HOLD,PD_2,MO_4_1,"]
    model, _ = parse(*foreign, *region, *reads)
    assert model.read_only == {("PD_2", "MO_4_1"), ("VMR_6_1", "MO_4_1")}
    written = write_state(model).splitlines()[1:]
    assert set(reads) <= set(written)
    assert parse(*written)[0] == model
    model.drop_hold("PD_2", "MO_4_1")
    model.remove_resource("VMR_6_1")
    assert model.read_only == set()
    for wrong in (
        f",,NONE,{edge},READ" for edge in ("HOLD,PD_2,DISK_5_1", "SUBSET,MO_4_1,MO_SPACE_4")
    ):
        with pytest.raises(InputError, match="expected nothing for a"):
            parse(*FOREIGN, wrong)
    with pytest.raises(InputError, match="expected nothing, or READ"):
        parse(*FOREIGN, reads[0].replace("READ", "WRITE"))


def test_request_by_type_stands_for_all_spaces_of_that_type() -> None:
    model, report = parse(*FOREIGN)
    assert not report.ours
    assert model.requests == {
        ("PD_2", "DISK_SPACE_5"),
        ("PD_2", "DISK_SPACE_6"),
        ("PD_2", "MO_SPACE_4"),
    }
    assert report.empty_requests == 1  # PD_0 lists no EP space


def test_request_with_a_space_stands_for_that_space() -> None:
    rows = [row for row in FOREIGN if not row.startswith(",,DISK,")]
    model, report = parse(*rows, ",,DISK,REQUEST,PD_2,PD_1,DISK_SPACE_6")
    assert report.ours
    assert ("PD_2", "DISK_SPACE_6") in model.requests
    assert ("PD_2", "DISK_SPACE_5") not in model.requests


def test_of_several_holders_the_one_that_is_asked_manages() -> None:
    model, _ = parse(*FOREIGN, ",,NONE,HOLD,PD_2,DISK_SPACE_5,")
    assert model.manager["DISK_SPACE_5"] == "PD_1"
    # A PD's REQUEST to itself is no evidence. What counts is the PD that the others request.
    model, _ = parse(*FOREIGN, ",,NONE,HOLD,PD_2,DISK_SPACE_5,", ",,DISK,REQUEST,PD_2,PD_2,")
    assert model.manager["DISK_SPACE_5"] == "PD_1"


def test_root_task_manages_core_spaces_whoever_holds_them() -> None:
    model, _ = parse(*FOREIGN, ",,NONE,HOLD,PD_2,MO_SPACE_4,")
    assert model.manager["MO_SPACE_4"] == "PD_0"
    assert model.check_legal() == []


@pytest.mark.parametrize("row", [",,NONE,MAP,DISK_5_1,DISK_9_2,", ",,NONE,HOLD,PD_9,DISK_5_1,"])
def test_edge_to_an_unlisted_node(row: str) -> None:
    model, report = parse(*FOREIGN, row)
    assert model == parse(*FOREIGN)[0]
    line = len(FOREIGN) + 2
    assert [at for at, _ in report.left_out] == [line]
    assert any(f"state.csv:{line}: left out: " in note for note in report.notes())
    for strict, ours, rest in (
        (True, None, ()),
        (False, True, ()),
        (False, None, (",,NONE,LINK,PD_1,PD_2,",)),
    ):
        with pytest.raises(
            InputError, match=rf"state\.csv:{line}: EDGE_(TO|FROM): .* does not list"
        ):
            parse(*FOREIGN, row, *rest, strict=strict, ours=ours)


def test_resource_of_an_unlisted_space_goes_with_its_edges() -> None:
    extra = [
        "RESOURCE,FILE_9_1,FILE,,,,",
        ",,NONE,SUBSET,FILE_9_1,FILE_SPACE_9,",
        ",,NONE,HOLD,PD_2,FILE_9_1,",
    ]
    model, report = parse(*FOREIGN, *extra)
    assert "FILE_9_1" not in model.nodes
    assert len(report.left_out) == 3
    assert model.check_legal() == []


@pytest.mark.behaviour("H-08")
def test_console_around_the_rows_is_skipped_and_counted(tmp_path: Path) -> None:
    text = SCENARIO.read_text()
    head, rows = text.split("\n", 1)
    first, rest = rows.split("\n", 1)
    before = "U-Boot 2023.01\r\n\r\nbooting, 12 of 14, ok\r\n"
    log = f"{before}{head}\r\n{first}\r\nfs: a, b, c, d, e, f, g\n{rest}bye\n"
    path = tmp_path / "console.log"
    path.write_text(log, newline="")
    model, report = read_state(path)
    assert model == read_state(SCENARIO)[0]
    assert report.skipped == 4
    assert report.notes() == [f"{path}: 4 lines skipped that are no rows"]


def test_carriage_returns_and_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "dos.csv"
    path.write_bytes(b"\xef\xbb\xbf" + SCENARIO.read_bytes().replace(b"\n", b"\r\n"))
    assert read_state(path)[0] == read_state(SCENARIO)[0]


def test_last_line_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "unended.csv"
    path.write_bytes(SCENARIO.read_bytes().rstrip(b"\n"))
    assert read_state(path)[0] == read_state(SCENARIO)[0]


def test_every_cut_within_a_row_is_noticed(tmp_path: Path) -> None:
    # A cut within EXTRA looks like a shorter text, so the last row here has no EXTRA.
    whole = SCENARIO.read_bytes()
    start = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    path = tmp_path / "cut.csv"
    for end in range(start + 2, len(whole) - 2):
        path.write_bytes(whole[:end])
        with pytest.raises(InputError, match="the file ends within this row"):
            read_state(path)


# -- bad files


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_bad_file(path: Path) -> None:
    expected = path.with_suffix(".err").read_text().strip().replace("{path}", str(path))
    with pytest.raises(InputError) as caught:
        read_state(path)
    assert caught.value.line() == expected


def test_every_bad_file_has_its_message() -> None:
    assert len(BAD) > 40
    assert {path.stem for path in BAD} == {
        path.stem for path in (DATA / "bad_models").glob("*.err")
    }


def test_too_long_a_line(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text(f"{BASE_HEADER}\n{'x' * MAX_LINE}\n")
    with pytest.raises(
        InputError, match=rf"long\.csv:2: line too long, expected at most {MAX_LINE} bytes"
    ):
        read_state(path)
    path.write_text(f"{SCENARIO.read_text()}{'x' * (MAX_LINE - 1)}\n")
    assert read_state(path)[1].skipped == 1


def test_too_many_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cellreap.model.csvstate.reading.MAX_LINES", 3)
    path = tmp_path / "state.csv"
    path.write_text("console\n" * 4)
    with pytest.raises(InputError, match=r"state\.csv:4: too many lines, expected at most 3"):
        read_state(path)


def test_endless_file() -> None:
    with pytest.raises(InputError, match="/dev/zero: cannot be read: is a device, expected a file"):
        read_state("/dev/zero")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/nonexistent/state.csv", "cannot be read: No such file or directory"),
        ("/", "cannot be read: Is a directory"),
        ("a\0b", "cannot be read: embedded null byte"),
    ],
)
def test_unreadable_path(path: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_state(path)
    assert str(caught.value) == f"{path}: {message}"


def test_permission_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    # Where tests run as root, file modes refuse nothing, so the test makes the call fail itself.
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(InputError, match=r"state\.csv: cannot be read: Permission denied"):
        read_state("state.csv")


# -- files that CellulOS wrote

needs_cellulos = pytest.mark.skipif(
    not CELLULOS.is_dir(), reason="the files that CellulOS wrote are not here"
)


@needs_cellulos
@pytest.mark.behaviour("H-10")
@pytest.mark.parametrize(
    ("name", "pds", "spaces", "resources", "holds", "left_out"),
    [
        ("GPIKV001.csv", 5, 9, 1094, 1642, 0),
        ("guest_pd.csv", 4, 5, 36, 56, 0),
        ("GPICL002_pd0_rs0.before.csv", 7, 11, 117, 193, 0),
        ("GPICL002_pd0_rs0.after.csv", 6, 10, 96, 149, 11),
    ],
)
def test_cellulos_file(
    name: str, pds: int, spaces: int, resources: int, holds: int, left_out: int
) -> None:
    model, report = read_state(CELLULOS / name)
    found = [len(list(each)) for each in (model.pds(), model.spaces(), model.resources())]
    assert found == [pds, spaces, resources]
    assert model.holds.total() == holds
    assert len(report.left_out) == left_out
    assert not report.ours
    assert model.check_legal() == []


@needs_cellulos
def test_cellulos_dangling_edges_are_errors_if_strict() -> None:
    with pytest.raises(
        InputError, match=r":236: EDGE_TO: MAP from TOY_FILE_SPACE_11 to NONE_SPACE_0 names"
    ):
        read_state(CELLULOS / "GPICL002_pd0_rs0.after.csv", strict=True)


@needs_cellulos
def test_console_without_a_state_is_said_to_have_none() -> None:
    # The extraction in this log fails before it prints a row.
    with pytest.raises(InputError, match=r"vmm_hello\.console: no model state in \d+ lines"):
        read_state(CELLULOS / "vmm_hello.console")


# -- the fast way through plain rows


def outcome(lines: list[str], monkeypatch: pytest.MonkeyPatch, *, fast: bool) -> tuple[object, ...]:
    """What reading these lines leads to: the model and the report, or the error."""
    with monkeypatch.context() as patch:
        if not fast:
            patch.setattr(rows, "_plain_edge", lambda *_: None)
            patch.setattr(rows, "_plain_node", lambda *_: None)
            patch.setattr(columns, "_QUOTED", re.compile(""))
        try:
            model, report = parse_state(enumerate(lines, 1), "x.csv")
        except InputError as error:
            return (str(error),)
    return model, report, list(model.nodes), list(model.holds)


@pytest.mark.behaviour("M-01")
@pytest.mark.parametrize("seed", range(8))
def test_plain_rows_are_read_as_all_rows_are(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """States of ours and CellulOS's, each with a few fields, lines and characters exchanged."""
    random = Random(seed)
    sources = [[BASE_HEADER, *FOREIGN], SCENARIO.read_text().splitlines()]
    read = refused = 0
    for _ in range(120):
        lines = list(random.choice(sources))
        for _ in range(random.randrange(4)):
            at = random.randrange(len(lines))
            fields = lines[at].split(",")
            other = random.choice(lines).split(",")
            match random.randrange(7):
                case 0:
                    fields[random.randrange(len(fields))] = random.choice(other)
                case 1:
                    fields[-1] = random.choice(['"', '"PD_1"', "\r", "x", "PINNED", "VERSION=2"])
                case 2:
                    fields.insert(random.randrange(len(fields)), random.choice(other))
                case 3:
                    lines.insert(random.randrange(len(lines)), lines[at])
                case 4:
                    lines.append(lines.pop(at))
                case 5:
                    fields[2] = random.choice(["BLOCK", "FILE", "NONE", "", "MO"])
                case _:
                    fields = [f'"{field}"' for field in fields]
            if at < len(lines):
                lines[at] = ",".join(fields)
        slow = outcome(lines, monkeypatch, fast=False)
        assert outcome(lines, monkeypatch, fast=True) == slow, "\n".join(lines)
        read += len(slow) > 1
        refused += len(slow) == 1
    assert read > 20
    assert refused > 20
