# SPDX-License-Identifier: BSD-2-Clause
"""Extractions: the model state with what only servers know. Servers that know nothing, or lie."""

from __future__ import annotations

import csv
import io

import pytest

from cellreap import headers
from cellreap.testing import Run, Target, together, with_pd, with_system
from kit.counted import COUNTED
from kit.marks import thorough_but
from kit.truth_traces import WITH_TRUTH

BY_SPACE, BY_RESOURCE, NOTHING, HALF, FAILS, NEVER, DIES, CROWDS = range(8)
SUBGRAPH, FULL = 30, 8
THINGS = 4


def maps(run: Run, x: int = 1) -> set[tuple[str, str]]:
    """(from, to) of the MAP rows of an extraction, by name."""
    rows = [row.split(",") for row in run.report.extractions[x - 1].rows]
    return {(run.name(row[4]), run.name(row[5])) for row in rows if row[3] == "MAP"}


WHOLE = {("things", "disk"), *((f"things:{i}", f"disk:{i}") for i in range(1, THINGS + 1))}


@pytest.mark.slow
@pytest.mark.behaviour("M-02")
@pytest.mark.parametrize("how", [BY_SPACE, BY_RESOURCE])
def test_a_server_answers_for_its_space_or_for_each_resource(target: Target, how: int) -> None:
    run = target.run("extract", change=with_pd("mapper", args=(THINGS, how)))
    assert not run.made("MAP")
    expected = WHOLE if how == BY_SPACE else WHOLE - {("things", "disk")}
    assert maps(run) == expected
    asked = [
        run.name(e["node"])
        for e in run.of("QUEUE", kind="extract")
        if run.name(e["to"]) == "mapper"
    ]
    each = [f"things:{i}" for i in range(1, THINGS + 1)] if how == BY_RESOURCE else []
    assert sorted(asked) == sorted(["things", *each])


@pytest.mark.slow
@pytest.mark.behaviour("M-02")
@pytest.mark.parametrize(("how", "count"), [(NOTHING, 0), (HALF, 1 + THINGS // 2)])
def test_part_of_an_answer_is_taken_and_so_is_none(target: Target, how: int, count: int) -> None:
    run = target.run("extract", change=with_pd("mapper", args=(THINGS, how)))
    assert len(maps(run)) == count
    assert "again: ticket 1 over: done 2, failed 0, dropped 0, waiting 0, held 0" in run.says(
        "boss"
    )


@pytest.mark.behaviour("M-03")
def test_the_ticket_is_over_when_the_last_piece_is_there(target: Target) -> None:
    run = target.run("extract", change=WITH_TRUTH)
    (extracted,) = run.of("EXTRACTED")
    acks = [
        e
        for e in run.of("FINISH_WORK")
        if e["token"] in {q["token"] for q in run.of("QUEUE", kind="extract")}
    ]
    assert len(acks) == 2
    told = run.of("TICKET")[0]
    assert max(run.at(ack) for ack in acks) < run.at(extracted) < run.at(told)
    assert extracted.number("maps") == len(maps(run)) > 0
    assert "once more: result 13" in run.says("boss")  # BUSY: the first extraction is not done


@pytest.mark.behaviour("M-01", "M-04")
def test_the_columns_are_those_that_the_scripts_of_cellulos_read(target: Target) -> None:
    """CellulOS's readers accept the extended state.

    They take a row with a NODE_TYPE for a node and any other row for an edge. They look up the ends
    of an edge by id among the nodes, wherever the nodes stand, and the type of a REQUEST in DATA.
    An extra row is one more node or edge to them.
    """
    run = target.run("extract", change=WITH_TRUTH)
    text = run.report.extractions[0].csv()
    assert "\r" not in text
    rows = list(csv.DictReader(io.StringIO(text)))
    columns = ["NODE_TYPE", "NODE_ID", "DATA", "EDGE_TYPE", "EDGE_FROM", "EDGE_TO", "EXTRA"]
    assert list(rows[0]) == columns
    nodes = [row for row in rows if row["NODE_TYPE"]]
    edges = [row for row in rows if not row["NODE_TYPE"]]
    data = {row["NODE_ID"]: row["DATA"] for row in nodes}
    assert len(data) == len(nodes)
    assert {row["NODE_TYPE"] for row in nodes} == {"PD", "RESOURCE", "RESOURCE_SPACE"}
    assert {row["EDGE_TYPE"] for row in edges} == {"HOLD", "REQUEST", "MAP", "SUBSET"}
    for row in nodes:
        assert row["DATA"]
        assert [row[column] for column in columns[3:6]] == ["", "", ""]
    for row in edges:
        assert row["EDGE_FROM"] in data
        assert row["EDGE_TO"] in data
        assert not row["NODE_ID"]
        assert row["DATA"] == ("NONE" if row["EDGE_TYPE"] != "REQUEST" else data[row["EXTRA"]])
    told = [tuple(row.values()) for row in rows]
    assert len(set(told)) == len(told)


@pytest.mark.slow
@pytest.mark.behaviour("M-03")
def test_more_pieces_than_fit_a_message(target: Target) -> None:
    run = target.run("extract", change=with_pd("mapper", args=(48, BY_SPACE)))
    assert len(maps(run)) == 49


@pytest.mark.slow
@pytest.mark.behaviour("M-03")
def test_a_server_that_fails_is_not_waited_for(target: Target) -> None:
    run = target.run("extract", change=with_pd("mapper", args=(THINGS, FAILS)))
    assert len(maps(run)) == 1 + THINGS // 2
    assert "again: ticket 1 over: done 1, failed 1, dropped 0, waiting 0, held 0" in run.says(
        "boss"
    )


@pytest.mark.slow
@pytest.mark.behaviour("M-03", "N-11", "D-10")
def test_a_server_that_never_answers_is_waited_for_until_its_deadline(target: Target) -> None:
    change = together(with_pd("mapper", args=(THINGS, NEVER)), with_system(deadline_ms=80))
    run = target.run("extract", change=change)
    assert [run.name(event["pd"]) for event in run.of("TRIGGER", cause="late")] == ["mapper"]
    assert maps(run) == set()
    assert "again: ticket 1 over: done 1, failed 0, dropped 1, waiting 0, held 0" in run.says(
        "boss"
    )


@pytest.mark.slow
@pytest.mark.behaviour("M-03", "M-10")
def test_a_server_that_dies_midway_leaves_nothing_of_what_it_said(target: Target) -> None:
    run = target.run("extract", change=with_pd("mapper", args=(THINGS, DIES)))
    (died,) = run.of("FAULT")
    (extracted,) = run.of("EXTRACTED")
    pieces = [run.at(event) for event in run.of("SUBGRAPH", pd=run.id("mapper"))]
    assert len(pieces) == THINGS // 2
    assert max(pieces) < run.at(died) < run.at(extracted)
    assert maps(run) == set()
    assert "again: ticket 1 over: done 1, failed 0, dropped 1, waiting 0, held 0" in run.says(
        "boss"
    )
    assert "mapper" not in run.alive()


@pytest.mark.slow
@pytest.mark.behaviour("M-11")
def test_one_server_reports_no_more_than_its_share(target: Target) -> None:
    """Rows beyond the limit are refused, a message at a time. Rows taken before remain."""
    run = target.run("extract", change=with_pd("mapper", args=(24, CROWDS)))
    assert 24 * 24 > 512
    assert len(run.of("SUBGRAPH")) == 512
    assert len(maps(run)) == 512
    (refused,) = run.of("REFUSE", op=SUBGRAPH)
    assert (run.name(refused["pd"]), refused["status"]) == ("mapper", str(FULL))
    assert f"reported: {512 + 32}, result {FULL}" in run.says("mapper")
    assert "again: ticket 1 over: done 1, failed 1, dropped 0, waiting 0, held 0" in run.says(
        "boss"
    )


@pytest.mark.slow
def test_the_root_task_extracts_at_the_end_where_it_is_asked_to(target: Target) -> None:
    run = target.run("extract", change=with_system(extract=True))
    assert [run.name(event["by"]) for event in run.of("EXTRACT")] == ["boss", run.name("PD_0")]
    assert maps(run, 2) == WHOLE


@pytest.mark.slow
def test_who_may_not_extract_is_refused(target: Target) -> None:
    run = target.run("extract", change=with_pd("boss", may_extract=False))
    assert run.says("boss") == ["extract: result 4, ticket 0"]
    assert not run.of("EXTRACT")


@pytest.mark.behaviour("R-09", "N-10", "M-04")
def test_a_lying_server_is_refused_each_time_and_changes_nothing(target: Target) -> None:
    run = target.run("lie")
    checks = [text for text in run.says("liar") if text.startswith("check ")]
    assert len(checks) > 60
    assert [text for text in checks if not text.endswith(": ok")] == []
    names = {text.removeprefix("check ").removesuffix(": ok") for text in checks}
    assert names >= {
        "a token that there is not",
        "a space on itself",
        "others' spaces are denied",
        "a true one with a false one",
        "the other on the one",
        "to finish what it has finished",
        "to report for what it has finished",
        "to be asked by resource for what is free",
        "another resource than it is asked about",
        "to have the state extracted",
    }
    # Only the server's true statements have an effect.
    for x in (1, 2):
        pieces = {(run.name(e["from"]), run.name(e["to"])) for e in run.of("SUBGRAPH", x=x)}
        assert pieces == maps(run, x) == {("lies:1", "disk:1"), ("lies:1", "lies:2")}
        # A row that is reported twice counts once.
        rows = run.report.extractions[x - 1].rows
        assert len(set(rows)) == len(rows)


@pytest.mark.behaviour("M-03", "M-11")
@pytest.mark.parametrize(("nodes", "takes"), [(9, False), (10, True)])
def test_a_server_is_asked_no_more_than_it_may_have_nodes(
    nodes: int, takes: bool, target: Target
) -> None:
    """Two extractions ask for its space, and in one message it wants to be asked for each of four
    resources instead, twice: ten questions.
    """
    change = together(
        with_pd("mapper", args=(THINGS, BY_RESOURCE), quota={"nodes": nodes}, priority=90),
        with_pd("boss", program="surveyor", args=(1,), requests=("things",)),
        with_pd("client", program="surveyor", args=(1,), requests=("things",), may_extract=True),
    )
    run = target.run("extract", change=change, qemu_args=COUNTED)
    mapper = run.id("mapper")
    refused = [event["status"] for event in run.of("REFUSE", pd=mapper)]
    assert refused == ([] if takes else [str(FULL)])
    assert len(run.of("QUEUE", to=mapper, kind="extract")) == (10 if takes else 2)


TAKEN = headers.constant("limits.h", "CR_MAX_TAKEN")


@pytest.mark.behaviour("M-03", "M-11")
@pytest.mark.parametrize(("spaces", "times"), thorough_but([(40, 2), (380, 7)], (40, 2)))
def test_a_server_that_answers_nothing_keeps_nobody_from_extracting(
    spaces: int, times: int, target: Target
) -> None:
    """The server fetches as many questions as it gets, and finishes none.

    What it has not fetched is withdrawn when it is given up, so that nothing is left of it. 14
    extractions with 381 spaces have more questions than the root task has room for.
    """
    change = together(
        with_pd("shelf", args=(spaces, 3)),
        *(with_pd(name, args=(times,)) for name in ("first", "second")),
    )
    run = target.run("stale", change=change, qemu_args=COUNTED)
    for name in ("first", "second"):
        assert run.says(name) == [f"extracted: {times}, then result 0"]
    asked = {event["token"] for event in run.of("QUEUE", kind="extract")}
    assert len(asked) == 2 * times * (spaces + 1)
    fetched = {event["token"] for event in run.of("fetched NOTICE")}
    assert len(fetched) == TAKEN
    assert {event["token"] for event in run.of("withdrawn NOTICE")} == asked - fetched
    # Nor does it fetch that the two have exited.
    left = run.of("QUEUE", kind="disconnect")
    assert {event["from"] for event in left} == {run.id(name) for name in ("first", "second")}
    assert {undone.pd for undone in run.report.undone} == {run.id("shelf")}
    assert len(run.report.undone) == TAKEN + len(left)
    assert "shelf" in run.alive()
