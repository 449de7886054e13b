# SPDX-License-Identifier: BSD-2-Clause
"""Implementation of `tools/bench`: measures the cost of a cleanup in counts, not in seconds.

Planning: the numbers of nodes and edges that the core looks at when a PD crashes, by the core's own
counters, in systems of very different sizes. The cost must depend on what is doomed and not on what
exists, so the counts must not grow with the system.

Cleaning up: kernel calls by kind and by pair of depths, from the traces of real boots, and the
instructions that the cleanup took, counted by QEMU (-icount). Both are the same on every machine.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.main import run_and_exit
from cellreap.errors import CellreapError
from cellreap.headers import source_root
from cellreap.model.core import CoreModel
from cellreap.runs.qemu import MACHINES
from cellreap.trace.check import check_file
from cellreap.trace.reader import Reader, read
from demo import DEPTHS, available_cores, missing_sdk, run_scenario

SIZES: Final = (10, 1_000, 100_000)
_CLIENTS: Final = 4  # of each server in "servers"
_TIMED: Final = 50  # number of timed plans; the median is reported
_WIDTH: Final = 116
RECORDED: Final = Path("tests/data/traces/v1")


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


def boot_costs(arch: str, jobs: int) -> list[dict[str, Any]]:
    """Kernel calls and instructions of the reference scenario's cleanup at each pair of depths.

    CellreapError if a boot does not pass the check.
    """

    def boot(depths: tuple[str, str]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="cellreap-bench-") as folder:
            # One instruction takes one nanosecond, so the time stamp counter counts instructions.
            outcome = run_scenario(
                arch, depths, "--qemu-arg=-icount shift=0", "--timeout=300", "-o", folder
            )
            if not outcome.passed or outcome.result is None or outcome.cleanup is None:
                raise CellreapError(f"{arch}, depths {'/'.join(depths)}: {outcome.complaint}")
            trace = next(Path(folder).glob("*.trace"))
            with trace.open("rb") as stream:
                settled = [
                    event for event in read(Reader(trace.name), stream) if event.name == "SETTLED"
                ]
        plan = outcome.cleanup
        calls = plan["kernel_calls"]
        kernel = outcome.result["kernel"]
        return {
            "kernel": f"{kernel['name']} {kernel['version']} ({kernel['arch']})",
            "pd_depth": plan["pd_depth"],
            "rs_depth": plan["rs_depth"],
            "destroyed_pds": len(plan["destroyed_pds"]),
            "deleted_spaces": len(plan["deleted_spaces"]),
            "notices": len(plan["notices"]),
            "kernel_calls": sum(calls.values()),
            "by_kind": calls,
            "instructions": next(
                event.number("cycles") for event in settled if event.number("n") == 1
            ),
        }

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(boot, DEPTHS))


def checking_speed() -> dict[str, float]:
    """The number of events in the recorded boots of the checkout, and how many are checked a
    second.

    CellreapError if a recorded boot does not pass the check.
    """
    events = 0
    start = time.perf_counter()
    for trace in sorted((source_root() / RECORDED).glob("*.trace")):
        report = check_file(trace)
        if not report.passed:
            raise CellreapError(f"{trace.name} does not pass: {report.violations[0]}")
        events += report.events
    return {"events": events, "events_per_second": round(events / (time.perf_counter() - start))}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of emulators at a time.  [default: one for each core]",
)
@click.option("--no-boot", is_flag=True, help="Measure only what needs no kernel.")
def bench(as_json: bool, jobs: int | None, no_boot: bool) -> int:
    """Count what a cleanup costs: nodes and edges looked at in planning, and kernel calls.

    The exit code is 1 if planning the same crash looks at more nodes and edges in a larger system.
    """
    planned = plan_costs(SIZES)
    growing = grown(planned)
    missing = {arch: missing_sdk(arch) for arch in MACHINES}
    arches = [] if no_boot else [arch for arch, where in missing.items() if where is None]
    booted = {arch: boot_costs(arch, jobs or available_cores()) for arch in arches}
    if as_json:
        shown = {
            "planning": [cost.to_json() for cost in planned],
            "planning_grows": growing,
            "checking": checking_speed(),
            "cleanups": booted,
            "not_booted": {arch: where for arch, where in missing.items() if where is not None},
        }
        click.echo(json.dumps(shown, indent=2))
        return ExitCode.FAILED if growing else ExitCode.DONE
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH
    _show_planned(console, planned, growing)
    speed = checking_speed()
    console.print(
        f"The check replays {speed['events_per_second']:,} events a second here "
        f"({speed['events']:,} events of recorded boots)."
    )
    for rows in booted.values():
        _show_booted(console, rows)
    for where in missing.values():
        if where is not None and not no_boot:
            console.print(f"NOT BOOTED: {where}.", soft_wrap=True)
    return ExitCode.FAILED if growing else ExitCode.DONE


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


def _show_booted(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    kinds = sorted({kind for row in rows for kind in row["by_kind"]})
    title = f"Cleaning up after block server 1 on {rows[0]['kernel']}: kernel calls"
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    for name in ("depths", "PDs", "spaces", *kinds, "all", "instructions"):
        table.add_column(
            name.removeprefix("read-").removeprefix("cancel-"), justify="right", no_wrap=True
        )
    for row in rows:
        table.add_row(
            f"{row['pd_depth']}/{row['rs_depth']}",
            str(row["destroyed_pds"]),
            str(row["deleted_spaces"]),
            *(str(row["by_kind"].get(kind, 0)) for kind in kinds),
            str(row["kernel_calls"]),
            f"{row['instructions']:,}",
        )
    console.print(table)
    calls = sum(row["kernel_calls"] for row in rows)
    nodes = sum(row["destroyed_pds"] + row["deleted_spaces"] for row in rows)
    console.print(f"{calls / nodes:.1f} kernel calls a doomed node, over all of them.")


if __name__ == "__main__":
    run_and_exit(bench, "tools/bench")
