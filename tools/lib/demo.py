# SPDX-License-Identifier: BSD-2-Clause
"""Implementation of `tools/demo`: the reference scenario at all depths, on every installed kernel.

Each boot is a `cellreap run` in a process of its own, so its output is that of the command. If no
kernel is found, the tool shows the plans for the same crash and checks recorded traces. In that
case the first and the last line say that nothing was booted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.main import run_and_exit
from cellreap.errors import UsageError
from cellreap.headers import source_root
from cellreap.model.core import CoreModel
from cellreap.model.csvstate import read_state
from cellreap.model.reference import check_why
from cellreap.model.reference import plan as reference_plan
from cellreap.progress import Progress
from cellreap.system.refkernel import arches_of_refkernel, has_refkernel
from cellreap.system.sdk import installed_sdk, no_sdk

# (PD depth, space depth) as options: none, each alone, both, more than the scenario needs,
# unlimited.
DEPTHS: Final = (
    ("0", "0"),
    ("0", "1"),
    ("0", "2"),
    ("1", "0"),
    ("1", "1"),
    ("1", "2"),
    ("2", "0"),
    ("2", "inf"),
    ("3", "0"),
    ("inf", "inf"),
)
SCENARIO: Final = Path("configs/block_fs_db_app.toml")
_STATE: Final = Path("tests/data/scenario.csv")
_TRACES: Final = Path("tests/data/goldens")
_KEPT: Final = Path("build/demo")
_TRIGGER: Final = "block_server_1"
_WIDTH: Final = 100  # width of the tables if the output is not a terminal
_SHOWN_IN_FULL: Final = ("1", "2")


@dataclass(frozen=True)
class Outcome:
    """The result of one `cellreap run`."""

    result: Mapping[str, Any] | None  # the object of --json; None if there is none
    complaint: str  # why there is no result, or the first violation; else empty

    @property
    def passed(self) -> bool:
        """Whether the run succeeded and the check found nothing."""
        return self.result is not None and self.result["verdict"] == "pass"

    @property
    def cleanup(self) -> Mapping[str, Any] | None:
        """The first cleanup; None if there was none."""
        cleanups = self.result["cleanups"] if self.result is not None else []
        return cleanups[0] if cleanups else None


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


TOLD: Final = (ExitCode.DONE, ExitCode.FAILED, ExitCode.UNEXPECTED, ExitCode.NO_END)
"""The exit codes of a run with a result, good or bad."""


def run_command(arch: str, depths: tuple[str, str], *more: str) -> list[str]:
    """The arguments with which `cellreap` runs the reference scenario."""
    pd_depth, rs_depth = depths
    on = [] if arch == arches_of_refkernel()[0] else ["--arch", arch]
    return ["run", str(SCENARIO), *on, "--pd-depth", pd_depth, "--rs-depth", rs_depth, *more]


def run_scenario(arch: str, depths: tuple[str, str], *more: str) -> Outcome:
    """Builds, boots and checks the reference scenario in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "cellreap", *run_command(arch, depths, *more), "--json"],
        cwd=source_root(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in TOLD:
        return Outcome(
            None, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        )
    result = json.loads(done.stdout)
    found = [*result["violations"], *(each["text"] for each in result.get("unexpected", ()))]
    return Outcome(result, next(iter(found), ""))


def missing_sdk(arch: str) -> str | None:
    """None if there is a kernel for the architecture, seL4 or refkernel.

    Else the message that names the places that were searched.
    """
    try:
        if installed_sdk(arch) is None and not has_refkernel(arch):
            return no_sdk(arch)
    except UsageError as error:
        return error.line()
    return None


@click.command()
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=None,
    metavar="N",
    help="Number of emulators at a time.  [default: one for each core]",
)
def demo(jobs: int | None) -> int:
    """Crash a server of the reference scenario at every depth and show the result for all PDs.

    The exit code is 0 if everything that could run succeeded, even if there was no kernel to boot.
    It is 1 otherwise.
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH
    jobs = jobs if jobs is not None else available_cores()
    missing = {arch: missing_sdk(arch) for arch in arches_of_refkernel()}
    failures = 0
    booted = [arch for arch, where in missing.items() if where is None]
    for arch in booted:
        failures += _boots(console, arch, jobs)
    if booted:
        failures += _say_next(console, booted[0])
    else:
        _say_not_booted(console, missing)
        failures += _without_kernel(console)
        console.print(
            "\nCOULD NOT BOOT: no seL4 SDK. Above is what can be shown without one.", style="bold"
        )
    return ExitCode.FAILED if failures else ExitCode.DONE


def _boots(console: Console, arch: str, jobs: int) -> int:
    """Shows one run in full, then all depths as a table. Returns the number of failures."""
    command = run_command(arch, _SHOWN_IN_FULL, "-o", str(_KEPT / arch))
    console.print(f"$ cellreap {' '.join(command)}\n", style="bold", soft_wrap=True)
    code = _show(command)
    if code not in TOLD:
        return 1
    console.print(
        f"\nThe same crash at {len(DEPTHS)} pairs of depths, {jobs} at a time:", style="bold"
    )
    with (
        Progress().step(f"booting {len(DEPTHS)} times ({arch})") as update,
        ThreadPoolExecutor(jobs) as pool,
    ):
        runs = [pool.submit(run_scenario, arch, depths) for depths in DEPTHS]
        for done, _ in enumerate(as_completed(runs), 1):
            update(f"{done} of {len(runs)}")
        outcomes = [run.result() for run in runs]
    table = _table("calls", "notices", "verdict")
    for depths, outcome in zip(DEPTHS, outcomes, strict=True):
        if outcome.cleanup is None or outcome.result is None:
            table.add_row(*depths, "", "", "", "", f"[red]FAIL[/] {outcome.complaint}")
            continue
        plan = outcome.cleanup
        table.add_row(
            *depths,
            *_doomed(plan, outcome.result["names"]),
            str(sum(plan["kernel_calls"].values())),
            str(len(plan["notices"])),
            "[green]pass[/]" if outcome.passed else f"[red]FAIL[/] {outcome.complaint}",
        )
    console.print(table)
    passed = sum(outcome.passed for outcome in outcomes)
    kernel = next(
        (outcome.result["kernel"] for outcome in outcomes if outcome.result is not None), None
    )
    on = f" on {kernel['name']} {kernel['version']} ({kernel['arch']})" if kernel else ""
    console.print(
        f"{passed} of {len(DEPTHS)} boots{on} passed.\n"
        "A boot passes if the root task decided what the reference model decides, did what\n"
        "it decided, and printed the state that the events in its trace lead to.",
        soft_wrap=True,
    )
    return len(DEPTHS) - passed + code


def _say_next(console: Console, arch: str) -> int:
    """Draws the run that was shown, and names commands to try. Returns the number of failures."""
    trace = _KEPT / arch / f"{SCENARIO.stem}.trace"
    console.print(f"\n$ cellreap report {trace}", style="bold", soft_wrap=True)
    code = _show(["report", str(trace)])
    console.print(
        f"\nLook at the picture: {source_root() / trace.with_suffix('.html')}\n"
        "Try next:\n"
        f"  .venv/bin/cellreap show {trace} --records\n"
        f"  .venv/bin/cellreap audit {trace} --after 0\n"
        "  .venv/bin/cellreap init my-system",
        soft_wrap=True,
    )
    return int(code != ExitCode.DONE)


def _say_not_booted(console: Console, missing: Mapping[str, str | None]) -> None:
    console.print("COULD NOT BOOT: no seL4 SDK is installed.\n", style="bold")
    for where in missing.values():
        console.print(f"{where}.\n", soft_wrap=True)
    console.print(
        "An SDK is what seL4's own build installs: bin/kernel.elf and libsel4/. README.md names\n"
        "the options that it needs. What follows are the decisions alone, made by the same C code\n"
        "on this machine.\n",
        soft_wrap=True,
    )


def _without_kernel(console: Console) -> int:
    """Shows plans and checks recorded traces. Returns the number of failures."""
    root = source_root()
    failures = 0
    state, _ = read_state(root / _STATE)
    names = {id_: node.name for id_, node in state.nodes.items() if node.kind == "PD"}
    core = CoreModel.from_model(state)
    trigger = state.find_pd(_TRIGGER)
    console.print(
        f"$ cellreap plan {_STATE} --crash {_TRIGGER} --pd-depth ... --rs-depth ...\n", style="bold"
    )
    table = _table("notices", "C and Python")
    for depths in DEPTHS:
        pd_depth, rs_depth = _limit(depths[0]), _limit(depths[1])
        plan = core.plan(trigger, pd_depth, rs_depth)
        # Causes may differ if a node is doomed for two reasons. Each cause must hold.
        expected = reference_plan(state, trigger, pd_depth, rs_depth)
        same = plan.outcome() == expected.outcome() and not check_why(state, plan)
        failures += not same
        verdict = "[green]agree[/]" if same else "[red]DIFFER[/]"
        table.add_row(*depths, *_doomed(plan.to_json(), names), str(len(plan.notices)), verdict)
    console.print(table)
    for trace in sorted((root / _TRACES).glob(f"{SCENARIO.stem}-*.trace")):
        shown = trace.relative_to(root)
        console.print(f"\n$ cellreap check {shown}", style="bold", soft_wrap=True)
        failures += _show(["check", str(shown)]) != 0
    return failures


def _show(arguments: Sequence[str]) -> int:
    """Prints and runs a `cellreap` command. Returns its exit code."""
    sys.stdout.flush()
    command = [sys.executable, "-m", "cellreap", *arguments]
    return subprocess.run(
        command, cwd=source_root(), stdin=subprocess.DEVNULL, check=False
    ).returncode


def _table(*more: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("PD depth", "RS depth"):
        table.add_column(name, justify="right")
    table.add_column("takes along")
    table.add_column("spaces gone")
    for name in more:
        table.add_column(
            name, justify="right" if name in ("calls", "notices") else "left", min_width=len(name)
        )
    return table


def _limit(depth: str) -> int | None:
    return None if depth == "inf" else int(depth)


def _doomed(plan: Mapping[str, Any], names: Mapping[str, str]) -> tuple[str, str]:
    """The doomed PDs without the trigger, and the doomed spaces, by name where they have one."""
    pds = [names.get(pd, pd) for pd, _ in plan["destroyed_pds"] if pd != plan["trigger"]]
    spaces = [names.get(space, space) for space in plan["deleted_spaces"]]
    return ", ".join(pds) or "-", ", ".join(spaces) or "-"


if __name__ == "__main__":
    run_and_exit(demo, "tools/demo")
