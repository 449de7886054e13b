# SPDX-License-Identifier: BSD-2-Clause
"""Random systems: the same seed makes the same valid one, and what fails is made smaller."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import chaos_runs
from cellreap.errors import InputError
from cellreap.headers import event_table
from cellreap.system.config.schema import json_schema
from cellreap.system.microkit.board import Board
from cellreap.trace.writer import seal
from chaos_runs import (
    EVENTS,
    Ending,
    Outcome,
    Results,
    expecting_nothing,
    kinds,
    run_seed,
    updated,
)
from kit.chaos import Table
from kit.disturbed import disturbed, is_valid
from kit.microkit import BOARDS
from kit.records import line_of, log_of
from kit.restless import PROGRAM, restless
from kit.shrunk import shrunk, smaller
from kit.trace_simulator import Target

SEEDS = range(1, 9)
NOT_RANDOM = {
    **dict.fromkeys(("system.version", "dropped", "dropped.kind", "dropped.name",
                     "dropped.between"), "it has no effect on a run"),
    **dict.fromkeys(("program.sources", "program.include", "program.flags"),
                    "all programs are those of the tests"),
    "bench.snapshot": "on aarch64 seL4 stops in an assertion there",
    "drive.file": "disks are empty at first",
    **dict.fromkeys((f"expect.{key}" for key in ("alive", "dead", "said", "exits", "cleanups",
                     "waits")), "what a random run comes to is not known"),
}  # fmt: skip
"""Keys of the configuration that no random system has -> why."""


@pytest.mark.behaviour("S-15")
def test_a_seed_makes_the_same_valid_system() -> None:
    made = [disturbed(seed) for seed in SEEDS]
    assert all(map(is_valid, made))
    assert made == [disturbed(seed) for seed in SEEDS]
    names = {crash["how"] for table in made for crash in table["crash"]}
    assert len(names) > 3
    assert any(table["bench"]["inject"] for table in made)
    assert all(any(table[what] for table in made) for what in ("region", "channel"))


@pytest.mark.behaviour("S-15")
def test_what_needs_mcs_is_in_systems_for_such_kernels_only() -> None:
    timed = {
        mcs: {key for seed in SEEDS for pd in disturbed(seed, mcs=mcs)["pd"] for key in pd}
        & {"budget_us", "period_us", "overrun", "passive"}
        for mcs in (False, True)
    }
    assert (len(timed[False]), len(timed[True])) == (0, 4)


@pytest.mark.behaviour("S-15")
def test_a_seed_makes_the_same_valid_system_for_microkit(tmp_path: Path) -> None:
    (tmp_path / f"{PROGRAM}.elf").write_bytes(b"\x7fELF")
    facts = Board("aarch64", memory=((0x6000_0000, 0xC000_0000),))
    made = [restless(seed, BOARDS[0], facts, tmp_path) for seed in SEEDS]
    assert all(map(is_valid, made))
    assert made == [restless(seed, BOARDS[0], facts, tmp_path) for seed in SEEDS]
    keys = {key for table in made for pd in table["pd"] for key in pd}
    assert {"passive", "budget_us", "fault_handler", "callers", "requests", "heartbeat_ms"} <= keys
    assert all(any(t[what] for t in made) for what in ("region", "channel", "interrupt", "crash"))
    fewer = [
        each for table in made for each in smaller(table) if len(each["pd"]) < len(table["pd"])
    ]
    assert all(is_valid(each) for each in fewer if each["pd"])


def keys_of(schema: dict[str, Any], table: dict[str, Any], path: str = "") -> Iterator[str]:
    """The keys of a table of the JSON schema, and of the tables in it."""
    for key, value in table["properties"].items():
        yield path + key
        for name in re.findall(r"#/\$defs/(\w+)", json.dumps(value)):
            yield from keys_of(schema, schema["$defs"][name], f"{path}{key}.")


def keys_in(value: object, path: str = "") -> Iterator[str]:
    """The keys that a configuration has."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (path + key, *keys_in(inner, f"{path}{key}."))
    for each in value if isinstance(value, list) else ():
        yield from keys_in(each, path)


@pytest.mark.behaviour("S-15")
def test_each_key_is_in_some_random_system_or_has_a_reason(tmp_path: Path) -> None:
    """So none is forgotten that comes later. Saved states, and those for Microkit, count."""
    (tmp_path / f"{PROGRAM}.elf").write_bytes(b"\x7fELF")
    facts = Board("aarch64", memory=((0x6000_0000, 0xC000_0000),))
    tables = [restless(seed, BOARDS[0], facts, tmp_path) for seed in range(1, 41)]
    for seed in range(1, 101):
        arch = ("x86_64", "aarch64")[seed % 2]
        table = disturbed(seed, arch, mcs=seed % 4 > 1)
        tables.append(updated(table, seed, tmp_path) if seed % 6 == 0 else table)
    found = {key for table in tables for key in keys_in(expecting_nothing(table))}
    schema = json_schema()
    assert set(keys_of(schema, schema)) - found == set(NOT_RANDOM)


@pytest.mark.behaviour("S-15")
def test_what_is_smaller_names_nothing_that_was_left_out() -> None:
    table = disturbed(3)
    assert any(is_valid(each) for each in smaller(table))
    for each in smaller(table):
        assert each != table
        assert len(repr(each)) <= len(repr(table))  # an argument may be half as large
        if len(each["pd"]) < len(table["pd"]):
            assert is_valid(each) or not each["pd"]


@pytest.mark.behaviour("S-15")
def test_a_system_is_made_smaller_as_long_as_it_fails() -> None:
    whole = next(
        table
        for table in map(disturbed, SEEDS)
        if len(table["pd"]) > 3 and any(pd["program"] == "fuzzer" for pd in table["pd"])
    )
    before = copy.deepcopy(whole)
    culprit = next(pd["name"] for pd in whole["pd"] if pd["program"] == "fuzzer")
    kept: list[Table] = []

    def fails(table: Table) -> bool:
        return any(pd["name"] == culprit for pd in table["pd"])

    found = shrunk(whole, fails, 500, kept.append)
    assert found["pd"] == [{"name": culprit, "program": "fuzzer"}]
    assert (found["crash"], found["bench"]["inject"]) == ([], [])
    assert kept[-1] == found
    assert whole == before


def test_two_failures_are_the_same_if_they_violate_a_rule_in_common() -> None:
    assert kinds(["cell.trace:12: clock.late: CLOCK", "a crash"]) == {"clock.late"}
    assert kinds(["the run did not come to its end"]) == {"the run did not come to its end"}


def fed(names: list[str]) -> tuple[list[bool], Ending]:
    """What Ending says after each of these events, behind the beginning of a trace."""
    target = Target(0, 0)
    begun = len(target.events)
    values = {
        "pd": "PD_1", "ms": 100, "text": "x", "code": 3, "registers": "-", "state": "runs",
        "on": "-", "slot": 0, "space": "-", "ip": 0, "chance": 1, "token": 0, "ran": 10,
    }  # fmt: skip
    for name in names:
        target.events.append((name, {k: values[k] for k in event_table().fields[name]}))
    ending = Ending()
    told = [ending.take(f"kernel: {line}\r\n".encode()) for line in seal(target.events)]
    return told[begun:], ending


def test_a_run_is_still_when_all_pds_were_told_and_only_the_clock_goes_on() -> None:
    told, ending = fed(["CLOCK", "STANDS", "STANDS", "CLOCK"])
    assert told == [False, False, False, True]
    assert ending.still


def test_a_run_is_still_whatever_comes_with_the_clock() -> None:
    told, ending = fed(["CLOCK", "STANDS", "STANDS", "HELD_UP", "CLOCK", "HELD_UP"])
    assert told == [False, False, False, False, True, False]
    assert ending.still


def test_a_run_that_goes_on_after_a_silence_is_not_still() -> None:
    told, ending = fed(["STANDS", "EXIT", "CLOCK"])
    assert not any(told)
    assert not ending.still


def test_a_run_that_goes_on_for_ever_is_cut_and_what_pds_print_is_no_event() -> None:
    told, ending = fed(["CLOCK"] * EVENTS)
    assert told.index(True) == EVENTS - (ending.events - len(told))
    before = ending.events
    ending.take(log_of([line_of(1, "STANDS ms=5000", bytes(range(16)))]))
    assert (ending.events, ending.still) == (before, False)


def test_a_system_that_a_kernel_has_no_room_for_is_no_failure_and_no_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(path: Path, *_: object) -> Outcome:
        raise InputError(str(path), 12, "pd[3].program", "no room")

    monkeypatch.setattr(chaos_runs, "boot", refuses)
    outcome = run_seed(1, "aarch64", "refkernel", tmp_path)
    assert outcome.end == "refused"
    assert "pd[3].program: no room" in outcome.said[0]
    assert list(tmp_path.iterdir()) == []


def test_results_belong_to_what_they_were_made_from(tmp_path: Path) -> None:
    outcome = Outcome(7, "aarch64", "refkernel", "failed", ["x"], 12, 0.5)
    Results(tmp_path, "these sources").add(outcome)
    with next(tmp_path.iterdir()).open("a") as file:
        file.write('{"seed": 8, "ar')  # killed there
    again = Results(tmp_path, "these sources")
    assert again.found == [outcome]
    again.add(outcome)
    assert Results(tmp_path, "these sources").found == [outcome, outcome]
    assert Results(tmp_path, "other sources").found == []
