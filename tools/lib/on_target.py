# SPDX-License-Identifier: BSD-2-Clause
"""What cleanups cost on a kernel: kernel calls by kind, and instructions by phase.

QEMU counts instructions instead of time (-icount shift=0), and an instruction takes a nanosecond.
So the times of events count instructions, in the steps of the machine's counter, and a boot repeats
exactly with one compiler and one kernel. They include what the trace takes to record, and not what
the kernel is asked for it (`truth`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from cellreap.errors import CellreapError
from cellreap.headers import source_root
from cellreap.progress import Progress
from cellreap.system.config import Depth
from cellreap.system.refkernel import find_kernel
from cellreap.system.sdk import Sdk, load_sdk
from cellreap.testing import Change, Run, Target, together, with_crashes, with_system
from cellreap.trace.events import Event
from demo import DEPTHS
from kit.counted import COUNTED
from kit.crowds import CLIENT_OF_MANY, LEAF, SERVER_OF_MANY, idle, many, rich

PHASES: Final = ("plan", "record", "steps", "settle", "told")
"""From the fault until its PD is stopped and the plan is made; until the plan is in the trace;
until the last step is done; until the cleanup is over; until the last survivor has fetched its
notice.
"""
SCENARIO: Final = "block_fs_db_app"
CONFIGS: Final = ("configs", "tests/boot/configs")
_PLAN_EVENTS: Final = frozenset(("CLEANUP", "PLAN"))


@dataclass(frozen=True)
class Staged:
    """A crash that is measured: `what` crashes in the configuration `config` after `change`."""

    what: str
    many: str
    """How many there are of what grows, or the depths."""
    config: str
    change: Change | None = None
    depths: tuple[str, str] | None = None
    """None: those of the configuration."""


def _depth(text: str) -> Depth:
    return "inf" if text == "inf" else int(text)


def stage() -> Iterator[Staged]:
    """All that is measured."""
    for depths in DEPTHS:
        yield Staged("scenario: block server 1", "/".join(depths), SCENARIO, depths=depths)
    for rs_depth in ("0", "2"):
        depths = ("0", rs_depth)
        yield Staged("stack: the lowest server", "/".join(depths), "stack", depths=depths)
    for count in (16, 64, 256, 1000):
        change = together(LEAF, idle(count))
        yield Staged("a client, beside idle PDs", f"{count:,}", "counter", change)
    for count in (10, 100, 500):
        change = rich(count, CLIENT_OF_MANY)
        yield Staged("a client, with resources", str(count), "multitude", change)
    for count in (1, 16, 64):
        change = together(many(count), with_crashes(SERVER_OF_MANY))
        yield Staged("a server, with clients", str(count), "multitude", change)


def sdk_for(arch: str) -> Sdk:
    """The installed seL4, else refkernel. As from find_kernel and load_sdk."""
    return load_sdk(find_kernel(arch, None, Progress(quiet=True)), arch)


def phases_of(run: Run) -> dict[str, int]:
    """The instructions of each phase of the first cleanup of a run, and of all of them.

    CellreapError if the run has no such cleanup, or no times.
    """
    events = run.events
    fault = next((event for event in events if event.name == "FAULT"), None)
    settled = next(
        (event for event in events if event.name == "SETTLED" and event.number("n") == 1), None
    )
    if fault is None or settled is None or fault.time is None:
        raise CellreapError(f"{run.trace}: no fault with a time that led to a cleanup")
    inside = [event for event in events if fault.line <= event.line <= settled.line]
    begun = next(event for event in inside if event.name == "CLEANUP")
    planned = [event for event in inside if event.name in _PLAN_EVENTS][-1]
    done = [event for event in inside if event.name in ("STEP", "QUEUE")][-1]
    owed = {event["token"] for event in inside if event.name == "QUEUE"}
    fetched = [
        event for event in events if event.told == "fetched NOTICE" and event["token"] in owed
    ]  # fmt: skip
    told = max((settled, *fetched), key=_time)
    marks = [fault, begun, planned, done, settled, told]
    parts = [_time(later) - _time(before) for before, later in pairwise(marks)]
    # The plan is made before CLEANUP is recorded, and the rest of it is recorded behind that line.
    return {**dict(zip(PHASES, parts, strict=True)), "all": _time(told) - _time(fault)}


def _time(event: Event) -> int:
    if event.time is None:
        raise CellreapError(f"line {event.line}: {event.name} has no time")
    return event.time


def measure(
    arch: str, folder: Path, jobs: int, staged: Sequence[Staged], note: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Boots each and returns what it cost.

    folder: for images and traces. note: is told what is done. CellreapError if a boot does not pass
    the check.
    """
    sdk = sdk_for(arch)
    own = folder / arch
    own.mkdir(parents=True, exist_ok=True)
    target = Target(sdk, own, [source_root() / name for name in CONFIGS])

    def cost(each: Staged) -> dict[str, Any]:
        times = with_system(trace_time=True, truth=False)
        pd_depth, rs_depth = map(_depth, each.depths) if each.depths else (None, None)
        try:
            run = target.run(
                each.config,
                pd_depth=pd_depth,
                rs_depth=rs_depth,
                change=times if each.change is None else together(each.change, times),
                qemu_args=COUNTED,
            )
        except AssertionError as error:
            raise CellreapError(f"{arch}, {each.what} ({each.many}): {error}") from None
        note(f"{arch}: {each.what} ({each.many})")
        calls = run.calls()
        return {
            "kernel": str(sdk.kernel),
            "what": each.what,
            "many": each.many,
            "destroyed": len(run.destroys(1)),
            "notices": len(run.of("QUEUE", n=1)),
            "kernel_calls": sum(calls.values()),
            "by_kind": calls,
            "instructions": phases_of(run),
        }

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(cost, staged))


def tables(rows: Sequence[dict[str, Any]]) -> Iterator[Table]:
    """What was measured on one kernel: instructions, and kernel calls."""
    kernel = rows[0]["kernel"]
    title = f"From a fault until the last survivor has its notice, on {kernel}: instructions"
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    table.add_column("who crashes", no_wrap=True)
    for name in ("", *PHASES, "all"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        costs = row["instructions"]
        table.add_row(row["what"], row["many"], *(f"{costs[name]:,}" for name in (*PHASES, "all")))
    yield table
    kinds = sorted({kind for row in rows for kind in row["by_kind"]})
    table = Table(
        box=SIMPLE_HEAD, pad_edge=False, title="The same: kernel calls", title_justify="left"
    )
    table.add_column("who crashes", no_wrap=True)
    for name in ("", "nodes", "notices", *kinds, "all"):
        table.add_column(
            name.removeprefix("read-").removeprefix("cancel-"), justify="right", no_wrap=True
        )
    for row in rows:
        table.add_row(
            row["what"],
            row["many"],
            str(row["destroyed"]),
            str(row["notices"]),
            *(str(row["by_kind"].get(kind, 0)) for kind in kinds),
            str(row["kernel_calls"]),
        )
    yield table
