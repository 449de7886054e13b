# SPDX-License-Identifier: BSD-2-Clause
"""Implementation of `tools/mutate`: what notices faults of the sources, and what does not.

Faults are planted in copies of the checkout, never in the checkout itself.
"""

from __future__ import annotations

import itertools
import shlex
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.main import run_and_exit
from cellreap.errors import UsageError
from cellreap.headers import source_root
from mutation.checks import Runner, read_plan
from mutation.copies import digest, files_of
from mutation.faults import Fault, read_named, read_reasons
from mutation.operators import draw
from mutation.results import NOTICED, SURVIVED, UNBUILT, Result, Results, alone
from mutation.trying import Trial

PLAN: Final = "tools/mutation/plan.toml"
_WIDTH: Final = 150  # of the tables if the output is not a terminal


class _Shown:
    """Prints a line for each fault that is done."""

    def __init__(self, console: Console, total: int) -> None:
        self.console = console
        self.total = total
        self.done = 0

    def __call__(self, fault: Fault, result: Result) -> None:
        self.done += 1
        by = f" by {result.by}: {result.says}" if result.by else ""
        self.console.print(
            f"[{self.done}/{self.total}] {fault.key}: {result.outcome}{by} ({result.seconds:g} s)",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


@click.command(epilog="Exit codes: 0 if every fault is noticed or has a reason, 1 if not.")
@click.option("--named/--no-named", default=True, help="Try the named faults (default).")
@click.option("--count", default=200, show_default=True, metavar="N", help="Seeded faults.")
@click.option("--seed", default=1, show_default=True, metavar="N", help="Which are drawn.")
@click.option(
    "--only", multiple=True, metavar="TEXT", help="Only faults whose key contains TEXT. Repeatable."
)
@click.option("--list", "list_only", is_flag=True, help="Print the faults and try none.")
@click.option(
    "--quick",
    is_flag=True,
    help="Run no whole suite of many minutes. What survives is to be tried again without this.",
)
@click.option("--thorough", is_flag=True, help="Also run the checks that take long.")
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(1), metavar="N")
@click.option("--under", default="", metavar="COMMAND", help="Run each check under COMMAND: nice.")
@click.option("--fresh", is_flag=True, help="Forget the results of earlier runs.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="For copies and results. Default: build/mutation in the checkout.",
)
@click.option(
    "--tree",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="The checkout to copy. Default: the one that this tool is in.",
)
def mutate(
    named: bool,
    count: int,
    seed: int,
    only: Sequence[str],
    list_only: bool,
    quick: bool,
    thorough: bool,
    jobs: int,
    under: str,
    fresh: bool,
    folder: Path | None,
    tree: Path | None,
) -> int:
    """Plant faults in copies of the checkout and show what notices them.

    tools/mutation/ has the named faults, the checks, and the reasons for survivors. A run that was
    interrupted continues where it was, unless the sources have changed.
    """
    root = (tree or source_root()).resolve()
    folder = (folder or root / "build" / "mutation").resolve()
    plan = read_plan(root / PLAN)
    files = files_of(root)
    known = read_named(root / plan.named, files)
    for fault in known:
        try:
            plan.known(fault.checks)
        except ValueError as error:
            raise UsageError(f"{plan.named}: fault {fault.name!r}: {error}") from None
    sources = {name: text for name, text in files.items() if plan.is_source(name)}
    if not sources:
        raise UsageError(f"{root / PLAN}: no file fits `sources`")
    seeded: Iterator[Fault] = draw(sources, plan.ignored_calls, seed)
    wanted_named = [fault for fault in known if named and _wanted(fault, only)]
    seeded = (fault for fault in seeded if _wanted(fault, only))
    if list_only:
        for fault in itertools.chain(wanted_named, itertools.islice(seeded, count)):
            click.echo(fault.key)
        return ExitCode.DONE
    reasons = read_reasons(root / plan.reasons)
    lasting = {name: text for name, text in files.items() if not plan.is_neutral(name)}
    left_out = frozenset(
        name
        for name, check in plan.check.items()
        if (check.whole and quick) or (check.thorough and not thorough)
    )
    extent = ("-quick" if quick else "") + ("-thorough" if thorough else "")
    with alone(folder):
        kept = folder / "results.jsonl"
        if fresh:
            kept.unlink(missing_ok=True)
        results = Results(kept, digest(lasting), extent)
        runner = Runner(shlex.split(under))
        trial = Trial(root, files, plan, results, folder, jobs, runner, left_out)
        signal.signal(signal.SIGTERM, _interrupt)
        tried = _run(trial, wanted_named, seeded, count)
    return _report(tried, reasons)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _wanted(fault: Fault, only: Sequence[str]) -> bool:
    return not only or any(text in fault.key for text in only)


def _run(
    trial: Trial, named: Sequence[Fault], seeded: Iterator[Fault], count: int
) -> list[tuple[Fault, Result]]:
    """Tries the named faults and as many seeded ones that build."""
    shown = _Shown(Console(stderr=True, width=None), len(named) + count)
    tried = list(zip(named, trial.run(named, shown), strict=True))
    built = 0
    while built < count:
        some = list(itertools.islice(seeded, count - built))
        if not some:
            break
        found = trial.run(some, shown)
        tried += zip(some, found, strict=True)
        missing = sum(result.outcome == UNBUILT for result in found)
        built += len(some) - missing
        shown.total += missing
    return tried


def _report(tried: Sequence[tuple[Fault, Result]], reasons: Mapping[str, str]) -> int:
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    named = [(fault, result) for fault, result in tried if fault.named]
    if named:
        table = _table("named fault", "", "noticed by", "which says")
        for fault, result in named:
            table.add_row(fault.name, result.outcome, result.by, result.says)
        console.print(table)
    seeded = [(fault, result) for fault, result in tried if not fault.named]
    if seeded:
        outcomes = Counter(result.outcome for _, result in seeded)
        built = outcomes[NOTICED] + outcomes[SURVIVED]
        console.print(
            f"{built} seeded faults: {outcomes[NOTICED]} noticed, {outcomes[SURVIVED]} survived; "
            f"{outcomes[UNBUILT]} more did not build",
            highlight=False,
        )
    bad = [fault.key for fault, result in named if result.outcome == UNBUILT]
    for key in bad:
        console.print(f"DOES NOT BUILD: {key}", markup=False, highlight=False, soft_wrap=True)
    unexplained = 0
    for fault, result in tried:
        reason = reasons.get(fault.key)
        if result.outcome == SURVIVED:
            unexplained += reason is None
            text = f"SURVIVED: {fault.key}\n    {reason or 'NO REASON'}"
            console.print(text, markup=False, highlight=False, soft_wrap=True)
        elif reason is not None:
            text = f"needs no reason any more, {result.by} notices it: {fault.key}"
            console.print(text, markup=False, highlight=False, soft_wrap=True)
    return ExitCode.FAILED if unexplained or bad else ExitCode.DONE


def _table(*names: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(name)
    return table


if __name__ == "__main__":
    run_and_exit(mutate, "tools/mutate")
