# SPDX-License-Identifier: BSD-2-Clause
"""Implementation of `tools/bench`: measures the cost of a cleanup in counts, and some times.

Planning: the numbers of nodes and edges that the core looks at when a PD crashes, by the core's own
counters, in systems of very different sizes. The cost must depend on what is doomed and not on what
exists, so the counts must not grow with the system.

Cleaning up (on_target.py): kernel calls by kind, and instructions by phase. Both are the same on
every machine.

Yardsticks (yardsticks.py): the time of a plan against that of searches for what it dooms. Pace
(pace.py): from a command to its verdict, boots in a minute, events that are checked and rows that
are read. These are of this machine.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.main import run_and_exit
from cellreap.errors import InputError
from cellreap.model.core import CoreModel
from cellreap.progress import Progress
from cellreap.system.refkernel import arches_of_refkernel
from demo import available_cores, missing_sdk
from on_target import Staged, measure, stage, tables
from pace import checking_speed, dooming_speed, pace, reading_speed
from yardsticks import AFFECTED, UNAFFECTED, Compared, compare

SIZES: Final = (10, 1_000, 100_000)
_CLIENTS: Final = 4  # of each server in "servers"
_TIMED: Final = 50  # number of timed plans; the median is reported
_WIDTH: Final = 116


@dataclass(frozen=True)
class System:
    """A synthetic system and the PDs whose crashes are planned."""

    core: CoreModel
    nodes: int
    edges: int
    crashes: tuple[tuple[str, str], ...]  # (description, PD)


@dataclass(frozen=True)
class Planned:
    """The cost of planning one crash at unlimited depths."""

    system: str
    crash: str
    pds: int
    nodes: int
    edges: int
    doomed: int
    touched_nodes: int
    touched_edges: int
    microseconds: float

    def to_json(self) -> dict[str, Any]:
        """The object for --json."""
        return dict(vars(self))


def servers(pds: int) -> System:
    """A chain of servers with four clients each.

    Every server requests the space of the one before it and maps its own space to that space. The
    last client is a leaf. Only the clients of the last server depend on it.
    """
    return _build(pds, _CLIENTS)


def star(pds: int) -> System:
    """A single server, with all other PDs as its clients.

    A client is a leaf next to a PD that has as many edges as there are PDs.
    """
    return _build(pds, pds)


SYSTEMS: Final[dict[str, Callable[[int], System]]] = {"servers": servers, "star": star}


def _build(pds: int, clients: int) -> System:
    """`pds` PDs besides the root task, in blocks of a server and `clients` clients.

    Each client requests its server's space and holds a resource of its own in it.
    """
    core = CoreModel(max_nodes=3 * pds + 1, max_edges=8 * pds)
    core.add_pd("PD_0")
    space = server = ""
    made = edges = 0
    for number in range(1, pds + 1):
        pd = f"PD_{number:x}"
        core.add_pd(pd)
        if (number - 1) % (clients + 1) == 0:
            below, server, space = space, pd, f"BLOCK_SPACE_{number:x}"
            core.add_space(space, server)
            core.add_edge("HOLD", server, space)
            made, edges = made + 2, edges + 2
            if below:
                core.add_edge("REQUEST", server, below)
                core.add_edge("MAP", space, below)
                edges += 2
            continue
        resource = f"BLOCK_{space.rpartition('_')[2]}_{number:x}"
        core.add_resource(resource, space)
        core.add_edge("HOLD", server, resource)
        core.add_edge("HOLD", pd, resource)
        core.add_edge("REQUEST", pd, space)
        made, edges = made + 2, edges + 4
    crashes = [("a client", f"PD_{pds:x}")]
    if clients < pds:
        crashes.append((f"a server, {clients} clients", server))
    return System(core, made + 1, edges, tuple(crashes))


def plan_costs(sizes: Sequence[int]) -> list[Planned]:
    """Plans the crashes in systems with these numbers of PDs. Each must be a multiple of ten."""
    costs = []
    for name, build in SYSTEMS.items():
        for pds in sizes:
            system = build(pds)
            for what, pd in system.crashes:
                costs.append(_plan(name, what, pds, system, pd))
    return costs


def _plan(name: str, what: str, pds: int, system: System, pd: str) -> Planned:
    core = system.core
    core.reset_touched()
    plan = core.plan_raw(pd, None, None)
    touched_nodes, touched_edges = core.touched()
    times = []
    for _ in range(_TIMED):
        start = time.perf_counter()
        core.plan_raw(pd, None, None)
        times.append(time.perf_counter() - start)
    return Planned(
        name,
        what,
        pds,
        system.nodes,
        system.edges,
        plan.n_doomed,
        touched_nodes,
        touched_edges,
        round(statistics.median(times) * 1e6, 1),
    )


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of emulators at a time.  [default: one for each core]",
)
@click.option("--no-boot", is_flag=True, help="Measure only what needs no kernel.")
@click.option(
    "--plots",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also draw the figures, as SVG files in this folder.",
)
@click.option(
    "--compare",
    "old",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="OLD.json",
    help="Tell which figures differ from those that --json printed before, and by how much.",
)
def bench(
    as_json: bool, jobs: int | None, no_boot: bool, plots: Path | None, old: Path | None
) -> int:
    """Measure what a cleanup costs: nodes and edges looked at in planning, kernel
    calls and instructions; and how fast the tools are here.

    The exit code is 1 if planning the same crash looks at more nodes and edges in a larger system.
    """
    before = None if old is None else figures_in(old)
    planned = plan_costs(SIZES)
    compared = compare((*UNAFFECTED, *AFFECTED))
    growing = grown(planned)
    missing = {arch: missing_sdk(arch) for arch in arches_of_refkernel()}
    arches = [] if no_boot else [arch for arch, where in missing.items() if where is None]
    with tempfile.TemporaryDirectory(prefix="cellreap-bench-") as name:
        measured = on_kernels(arches, jobs or available_cores(), Path(name))
    booted, paces, speed, reading, dooming = measured
    shown: dict[str, Any] = {
        "planning": [cost.to_json() for cost in planned],
        "planning_grows": growing,
        "yardsticks": [each.to_json() for each in compared],
        "checking": speed,
        "reading": reading,
        "dooming": dooming,
        "cleanups": booted,
        "pace": paces,
        "not_booted": {arch: where for arch, where in missing.items() if where is not None},
    }
    drawn: list[Path] = []
    if plots is not None:
        from plots import draw  # no other use of the bench needs matplotlib

        drawn = draw(shown, plots)
    changes = [] if before is None else differences(before, dict(figures(shown)))
    if as_json:
        if before is not None:
            shown["changes"] = changes
        click.echo(json.dumps(shown, indent=2))
        return ExitCode.FAILED if growing else ExitCode.DONE
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH
    _show_planned(console, planned, growing)
    _show_compared(console, compared)
    for rows in booted.values():
        for table in tables(rows):
            console.print(table)
    _show_pace(console, paces, speed, reading, dooming)
    for where in missing.values():
        if where is not None and not no_boot:
            console.print(f"NOT BOOTED: {where}.", soft_wrap=True)
    for path in drawn:
        console.print(f"Drawn: {path}", soft_wrap=True)
    for change in changes:
        console.print(f"CHANGED: {change}", soft_wrap=True)
    if before is not None and not changes:
        console.print("No figure differs.")
    return ExitCode.FAILED if growing else ExitCode.DONE


def on_kernels(
    arches: Sequence[str], jobs: int, folder: Path
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Cleanups and pace by architecture; how fast traces are checked, states read, and states in
    which everything is doomed planned.
    """
    progress = Progress()
    staged: list[Staged] = list(stage())
    booted, paces = {}, {}
    for arch in arches:
        with progress.step(f"measuring {len(staged)} cleanups on {arch}"):
            booted[arch] = measure(arch, folder, jobs, staged, progress.note)
        with progress.step(f"measuring the pace on {arch}"):
            paces[arch] = pace(arch, folder, jobs)
    largest = max(folder.rglob("*.trace"), key=lambda path: path.stat().st_size, default=None)
    with progress.step("measuring checks and plans"):
        speed, reading = checking_speed(largest), reading_speed(folder)
        return booted, paces, speed, reading, dooming_speed(folder)


def figures(shown: object, path: str = "") -> Iterator[tuple[str, float]]:
    """The numbers in a JSON value, each with its place."""
    if isinstance(shown, dict):
        for key, value in shown.items():
            yield from figures(value, f"{path}.{key}" if path else str(key))
    elif isinstance(shown, list):
        for place, value in enumerate(shown):
            yield from figures(value, f"{path}[{place}]")
    elif isinstance(shown, int | float) and not isinstance(shown, bool):
        yield path, shown


def figures_in(path: Path) -> dict[str, float]:
    """The numbers in a file that --json printed. InputError if it is no such file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(str(path), None, None, f"no JSON: {error}") from None
    if not isinstance(found, dict) or "planning" not in found:
        raise InputError(str(path), None, None, "expected what tools/bench --json printed")
    return {name: number for name, number in figures(found) if not name.startswith("changes")}


def differences(before: Mapping[str, float], now: Mapping[str, float]) -> list[str]:
    """What differs, one line a figure: by how much, or that only one of the two has it."""
    found = []
    for name in dict.fromkeys((*before, *now)):
        old, new = before.get(name), now.get(name)
        if old is None or new is None:
            found.append(f"{name}: {'new' if old is None else 'gone'}")
        elif old != new:
            more = f" ({(new - old) / old:+.1%})" if old else ""
            found.append(f"{name}: {old:g} -> {new:g}{more}")
    return found


def grown(planned: Sequence[Planned]) -> list[str]:
    """The crashes that cost more than in the smallest system of their kind but doom no more."""
    least: dict[tuple[str, str], Planned] = {}
    found = []
    for cost in planned:
        first = least.setdefault((cost.system, cost.crash), cost)
        if (cost.touched_nodes, cost.touched_edges, cost.doomed) != (
            first.touched_nodes,
            first.touched_edges,
            first.doomed,
        ):
            found.append(f"{cost.system}: {cost.crash}: {cost.pds} PDs")
    return found


def _show_planned(console: Console, planned: Sequence[Planned], growing: Sequence[str]) -> None:
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        title="Planning a crash, depths inf/inf",
        title_justify="left",
    )
    table.add_column("system", no_wrap=True)
    table.add_column("who crashes", no_wrap=True)
    for name in ("PDs", "nodes", "edges", "doomed", "nodes seen", "edges seen", "us here"):
        table.add_column(name, justify="right")
    for cost in planned:
        table.add_row(
            cost.system,
            cost.crash,
            f"{cost.pds:,}",
            f"{cost.nodes:,}",
            f"{cost.edges:,}",
            str(cost.doomed),
            str(cost.touched_nodes),
            str(cost.touched_edges),
            f"{cost.microseconds:.1f}",
        )
    console.print(table)
    if growing:
        console.print(f"GROWS with the system: {'; '.join(growing)}", style="bold red")
    else:
        largest = max(cost.pds for cost in planned) // min(cost.pds for cost in planned)
        console.print(
            f"In a system {largest:,} times as large the planner looks at exactly as much."
        )


def _show_compared(console: Console, compared: Sequence[Compared]) -> None:
    title = "A plan and searches for what it dooms, depths inf/inf: microseconds of processor time"
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    for name in ("affected", "others", "doomed", "plan", "bare search", "all PDs scanned"):
        table.add_column(name, justify="right")
    table.add_column("networkx, search", justify="right")
    table.add_column("networkx, plan", justify="right")
    table.add_column("plan / bare", justify="right")
    for each in compared:
        table.add_row(
            f"{each.affected:,}",
            f"{each.unaffected:,}",
            f"{each.doomed:,}",
            *(
                "-" if value is None else f"{value:,.1f}"
                for value in (each.plan, each.bare, each.scan, each.networkx, each.networkx_plan)
            ),
            f"{each.plan / each.bare:.1f}",
        )
    console.print(table)


def _show_pace(
    console: Console,
    paces: Mapping[str, Mapping[str, Any]],
    speed: Mapping[str, Mapping[str, Any]],
    reading: Mapping[str, Any],
    dooming: Mapping[str, Any],
) -> None:
    title = "From a command to its verdict, the reference scenario, image built: seconds here"
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    phases = list(dict.fromkeys(name for each in paces.values() for name in each["seconds"]))
    table.add_column("kernel", no_wrap=True)
    for name in (*phases, "the whole command", "boots a minute"):
        table.add_column(name, justify="right")
    for each in paces.values():
        table.add_row(
            each["kernel"],
            *(f"{each['seconds'][name]:.2f}" for name in phases),
            f"{each['command_seconds']:.2f}",
            f"{each['boots_per_minute']:.0f}",
        )
    if paces:
        console.print(table)
    for name, what in (("recorded", "recorded boots"), ("large", "the largest trace")):
        if name in speed:
            console.print(
                f"The check replays {speed[name]['events_per_second']:,} events a second here "
                f"({speed[name]['events']:,} events of {what})."
            )
    console.print(
        f"A crash in a state of {reading['rows']:,} rows is read, planned and printed in "
        f"{reading['seconds']:.1f} s of processor time here."
    )
    for shape in ("wide", "deep"):
        console.print(
            f"One of {dooming['rows']:,} rows that dooms everything ({shape}): "
            f"{dooming[shape]['seconds']:.1f} s, {dooming[shape]['times_a_search']:.1f} times a "
            "plain search in Python."
        )


if __name__ == "__main__":
    run_and_exit(bench, "tools/bench")
