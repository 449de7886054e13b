# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap report --perfetto`: the file keeps the rules of the format, and has what the trace has.

The rules: each entry has the keys of its phase. Slices of one thread lie within each other or
apart. An asynchronous slice has one begin and one end, an arrow one start and one finish, and both
ends of an arrow lie within a slice of their thread.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from cellreap.pictures.perfetto import perfetto
from cellreap.trace.reading import Reading
from cellreap.trace.writer import seal
from kit.command_line import cellreap
from kit.kept_traces import read_file
from kit.paths import GOLDENS
from kit.simulated_runs import RUNS

KEYS = {
    "M": {"name", "pid", "tid", "args"},
    "X": {"name", "cat", "pid", "tid", "ts", "dur", "args"},
    "b": {"name", "cat", "id", "pid", "tid", "ts"},
    "e": {"name", "cat", "id", "pid", "tid", "ts"},
    "i": {"name", "cat", "s", "pid", "tid", "ts", "args"},
    "s": {"name", "cat", "id", "pid", "tid", "ts"},
    "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"},
}
TRACES = sorted(GOLDENS.glob("*.trace"))

Entry = dict[str, Any]


def entries_of(reading: Reading) -> list[Entry]:
    shown = json.loads(perfetto(reading.events, reading.report))
    assert shown.keys() == {"traceEvents", "displayTimeUnit", "otherData"}
    found = shown["traceEvents"]
    assert isinstance(found, list)
    return found


def faults(entries: list[Entry]) -> list[str]:
    """Which rules the entries break."""
    found = []
    slices: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    pairs: Counter[tuple[str, str, int]] = Counter()
    for entry in entries:
        phase = entry.get("ph", "")
        if entry.keys() - {"ph"} != KEYS.get(phase):
            found.append(f"keys: {entry}")
            continue
        if phase != "M" and not (isinstance(entry["ts"], int) and entry["ts"] >= 0):
            found.append(f"ts: {entry}")
        if phase == "X":
            thread = slices[entry["pid"], entry["tid"]]
            thread.append((entry["ts"], entry["ts"] + entry["dur"]))
        elif phase in "besf":
            pairs[phase, entry["cat"], entry["id"]] += 1
    for thread in slices.values():
        opened: list[int] = []
        for begin, end in sorted(thread, key=lambda each: (each[0], -each[1])):
            while opened and opened[-1] <= begin:
                opened.pop()
            if opened and end > opened[-1]:
                found.append(f"overlap at {begin}")
            opened.append(end)
    for (phase, cat, id_), count in pairs.items():
        other = {"b": "e", "e": "b", "s": "f", "f": "s"}[phase]
        if count != 1 or pairs[other, cat, id_] != 1:
            found.append(f"{phase} {cat} {id_}: {count}")
    for entry in entries:
        if entry.get("ph") in ("s", "f"):
            thread = slices[entry["pid"], entry["tid"]]
            if not any(begin <= entry["ts"] < end for begin, end in thread):
                found.append(f"no slice: {entry}")
    return found


def of_run(name: str, folder: Path) -> Reading:
    path = folder / "a.trace"
    path.write_text("\n".join(seal(RUNS[name]())) + "\n")
    return read_file(path)


@pytest.mark.parametrize("name", RUNS)
def test_the_rules_of_the_format_hold(name: str, tmp_path: Path) -> None:
    assert faults(entries_of(of_run(name, tmp_path))) == []


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_the_file_has_what_the_trace_has(trace: Path) -> None:
    reading = read_file(trace)
    entries = entries_of(reading)
    assert faults(entries) == []
    names = Counter(event.told for event in reading.events)
    cleanups = [e for e in entries if e["ph"] == "X" and e["pid"] == 2]
    steps = [e for e in entries if e["ph"] == "X" and e["pid"] == 3]
    assert len(steps) == names["STEP"]
    queued = [e["args"]["count"] for e in steps if e["name"] in ("notify", "tell")]
    assert sum(queued) == sum(e.name == "QUEUE" and e["n"] != "0" for e in reading.events)
    whole = [e["args"]["calls"] for e in cleanups if "cycles" in e["args"]]
    assert whole == [sum(each.kernel_calls.values()) for each in reading.report.cleanups]
    assert sum(e["ph"] == "f" for e in entries) == names["fetched NOTICE"]
    lives = [e for e in entries if e["name"] == "lives"]
    assert len(lives) == names["PD"]


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.pop("ts"),
        lambda e: e.update(ts=-1),
        lambda e: e.update(dur=e["dur"] + 10**6),
    ],
)
def test_the_rules_notice_a_broken_slice(change: Any) -> None:
    entries = entries_of(read_file(TRACES[0]))
    assert faults(entries) == []
    phases = [e for e in entries if e["ph"] == "X" and e["pid"] == 2 and not e["args"]]
    change(phases[-1])
    assert faults(entries)


@pytest.mark.skipif(shutil.which("dot") is None, reason="no dot")
def test_the_command_writes_the_file_too(tmp_path: Path) -> None:
    page, timeline = tmp_path / "a.html", tmp_path / "a.json"
    done = cellreap("report", str(TRACES[0]), "-o", str(page), "--perfetto", str(timeline))
    assert done.returncode == 0
    reading = read_file(TRACES[0])
    assert timeline.read_text() == perfetto(reading.events, reading.report)
