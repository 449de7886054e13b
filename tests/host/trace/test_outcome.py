# SPDX-License-Identifier: BSD-2-Clause
"""What a run came to, held against what its configuration expects."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from cellreap import headers
from cellreap.trace.expected import Expected, ExpectedOutcome, ExpectedPd
from cellreap.trace.reading import Reading, read_trace
from cellreap.trace.writer import seal
from kit.configured_story import Configured, expected
from kit.trace_simulator import BODY_OBJECTS

PDS = (
    ExpectedPd("server", 1, spaces={"disk": "BLOCK"}, deadline_ms=1000),
    ExpectedPd("client", 2, requests=frozenset({"disk"}), deadline_ms=1000),
)


def config(outcome: ExpectedOutcome | None = None) -> Expected:
    """A server and a client that uses its space."""
    pds = tuple(replace(pd, quotas=expected().pds[0].quotas) for pd in PDS)
    sizes = expected().sizes
    assert sizes is not None
    return replace(
        expected(),
        pds=pds,
        links=frozenset(),
        crashes=(),
        extract=False,
        depths=("0", "0"),
        sizes=replace(
            sizes,
            bodies={pd.name: 1 << 16 for pd in pds},
            spawned={},
            objects={pd.name: BODY_OBJECTS for pd in pds},
            spawned_objects={},
        ),
        outcome=outcome or ExpectedOutcome(),
    )


def begun(config: Expected) -> Configured:
    target = Configured(config)
    target.boot()
    target.work("server")
    target.work("client")
    target.quiet()
    return target


def goes(target: Configured, name: str, how: str) -> None:
    """A PD crashes, or exits with a code."""
    if how == "fault":
        target.fault(target.ids[name])
    else:
        target.exit(target.ids[name], int(how))
    target.clean_up()


def read(target: Configured, config: Expected) -> Reading:
    text = "\n".join(seal(target.end())).encode()
    return read_trace(io.BytesIO(text), "told", expected=config)


def run(how: str, outcome: ExpectedOutcome | None = None) -> Reading:
    """A run in which the client goes in this way, or not at all."""
    wanted = config(outcome)
    target = begun(wanted)
    target.say(target.ids["client"], "all is well")
    if how:
        goes(target, "client", how)
    return read(target, wanted)


def words(reading: Reading) -> list[str]:
    assert reading.report.violations == []
    return [str(each.word) for each in reading.report.unexpected]


@pytest.mark.behaviour("Y-04")
@pytest.mark.parametrize(
    ("how", "found"),
    [("", []), ("0", []), ("fault", ["unstaged crash"]), ("3", ["unstaged crash"])],
)
def test_a_crash_that_nobody_staged_is_unexpected(how: str, found: list[str]) -> None:
    assert words(run(how)) == found


@pytest.mark.behaviour("Y-04")
def test_the_finding_says_who_crashed_where_and_how() -> None:
    (found,) = run("3").report.unexpected
    assert found.line > 0
    assert found.text == "client (PD_2): exit with code 3"


@pytest.mark.behaviour("S-03")
def test_the_finding_says_what_was_refused_to_who_exited() -> None:
    wanted = config()
    target = begun(wanted)
    target.refuse(target.ids["client"], headers.constant("protocol.h", "CR_OP_MAP"), 4)
    goes(target, "client", "2")
    (found,) = read(target, wanted).report.unexpected
    why = "it was last refused MAP: DENIED, the caller may not do this (`cellreap docs operations`)"
    assert found.text == f"client (PD_2): exit with code 2; {why}"


@pytest.mark.behaviour("Y-04")
@pytest.mark.parametrize(
    ("outcome", "how", "found"),
    [
        (ExpectedOutcome(crashes=frozenset({"client"})), "3", []),
        (ExpectedOutcome(crashes=frozenset({"server"})), "3", ["unstaged crash"]),
        (ExpectedOutcome(alive=frozenset({"server", "client"})), "", []),
        (ExpectedOutcome(alive=frozenset({"server", "client"})), "0", ["not alive"]),
        (ExpectedOutcome(alive=frozenset({"server"})), "", ["still alive"]),
        (ExpectedOutcome(alive=frozenset({"server"})), "0", []),
        (ExpectedOutcome(dead=frozenset({"client"})), "", ["still alive"]),
        (ExpectedOutcome(dead=frozenset({"client"})), "0", []),
        (ExpectedOutcome(said={"client": ("is well",)}), "", []),
        (ExpectedOutcome(said={"client": ("is well", "is bad")}), "", ["not said"]),
        (ExpectedOutcome(said={"server": ("is well",)}), "", ["not said"]),
        (ExpectedOutcome(exits={"client": 0}), "0", []),
        (ExpectedOutcome(exits={"client": 0}), "", ["exit code"]),
        (
            ExpectedOutcome(exits={"client": 4}, crashes=frozenset({"client"})),
            "3",
            ["exit code"],
        ),
        (ExpectedOutcome(cleanups=0), "", []),
        (ExpectedOutcome(cleanups=1), "0", []),
        (ExpectedOutcome(cleanups=2), "0", ["cleanups"]),
    ],
)
def test_each_expectation_is_held_against_the_run(
    outcome: ExpectedOutcome, how: str, found: list[str]
) -> None:
    assert words(run(how, outcome)) == found


@pytest.mark.behaviour("Y-04")
def test_a_run_in_which_nobody_is_left_is_unexpected() -> None:
    target = begun(config())
    goes(target, "client", "0")
    goes(target, "server", "0")
    text = "\n".join(seal(target.end())).encode()
    assert words(read_trace(io.BytesIO(text), "told", expected=config())) == ["nobody left"]
    for outcome in (ExpectedOutcome(alive=frozenset()), ExpectedOutcome(nobody_left=True)):
        nobody = config(outcome)
        assert words(read_trace(io.BytesIO(text), "told", expected=nobody)) == []


@pytest.mark.behaviour("Y-04")
def test_a_pd_that_is_never_created_is_unexpected() -> None:
    wanted = config()
    late = replace(wanted, pds=(*wanted.pds, replace(wanted.pds[1], name="late", late=True)))
    (found,) = read(begun(late), late).report.unexpected
    assert str(found) == "never ran: late: it starts after the first cleanup"


@pytest.mark.behaviour("Y-04")
def test_a_staged_crash_is_expected() -> None:
    wanted = replace(config(), crashes=(replace(expected().crashes[0], pd="server", repeat=1),))
    target = begun(wanted)
    target.crash(1, wanted.crashes[0])
    assert words(read(target, wanted)) == []
