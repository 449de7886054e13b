# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap audit`: what single crashes would do, before anything crashes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cellreap.api.auditing import Audit, Difference, Outcome, PairAudit, audit_state, listed
from cellreap.api.states import state_of
from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import after_option, json_option
from cellreap.model.plan import depth_text


@click.command()
@click.argument("source", type=click.Path(path_type=Path), metavar="CONFIG.toml|TRACE|MODEL.csv")
@click.option(
    "--max-depth",
    type=click.IntRange(0, 64),
    default=4,
    show_default=True,
    help="The largest depth to look at, besides inf.",
)
@click.option("--pairs", is_flag=True, help="Also the crashes of two PDs, one after the other.")
@click.option("--list", "with_chains", is_flag=True, help="List all broken chains.")
@click.option(
    "--diff",
    type=click.Path(path_type=Path),
    metavar="OTHER",
    help="Compare with an earlier state. Exit with 1 if something got worse, else with 0.",
)
@after_option(
    0, "Of a trace: the state after the N-th cleanup; 0: before the first. Default: at the end."
)
@json_option
def audit(
    source: Path,
    max_depth: int,
    pairs: bool,
    with_chains: bool,
    diff: Path | None,
    after: int | None,
    as_json: bool,
) -> int:
    """Say what each single crash would do at each depth. Nothing is booted.

    For each pair of depths: how many PDs the worst crash destroys, how many things survivors hold
    that are built, directly or further down, on something that went, and how many PDs some crash
    leaves with such a thing.
    """
    state = state_of(source, after=after)
    found = audit_state(state, max_depth, pairs=pairs)
    different = None
    if diff is not None:
        different = found.difference(audit_state(state_of(diff), max_depth))
    if as_json:
        shown: dict[str, Any] = found.to_json(with_chains)
        if different is not None:
            shown.update(worse=different.worse, better=different.better, other=different.other)
        echo_json("audit", shown)
    else:
        for note in state.notes:
            click.echo(f"cellreap: note: {note}", err=True)
        _show(found)
        if with_chains:
            _list(found)
        if different is not None:
            _show_difference(different)
    return ExitCode.FAILED if different is not None and different.worse else ExitCode.DONE


def _show(found: Audit) -> None:
    rows = [
        (*_texts(each.pd_depth, each.rs_depth), *_cells(found, each)) for each in found.findings
    ]
    if found.configured is not None:
        rows.append(("as configured", "", *_cells(found, found.configured)))
    _table(("pd_depth", "rs_depth", "worst crash destroys", "broken chains", "survivors"), rows)
    click.echo(f"smallest depths that leave no broken chain: {listed(found.smallest)}")
    for crash, saved in found.pins.items():
        pds = ", ".join(found.label(pd) for pd in saved)
        click.echo(f"the crash of {found.label(crash)} would doom pinned PDs: {pds}")
    for pd in found.single_points:
        click.echo(f"single point of failure: {found.label(pd)}")
    if found.pairs is not None:
        _show_pairs(found, found.pairs)


def _cells(found: Audit, outcome: Outcome) -> tuple[str, str, str]:
    """The columns behind the depths."""
    worst = "nothing"
    if outcome.worst:
        worst = f"{outcome.destroyed} PDs: {found.label(outcome.worst[0])}"
    return worst, str(sum(outcome.chains.values())), str(len(outcome.survivors))


def _show_pairs(found: Audit, pairs: PairAudit) -> None:
    rows = []
    for each in pairs.findings:
        two = "nothing"
        if each.worst is not None:
            two = f"{each.destroyed} PDs: {' and '.join(map(found.label, each.worst))}"
        depths = _texts(each.pd_depth, each.rs_depth)
        rows.append((*depths, two, str(each.broken_pairs), str(each.chains)))
    click.echo()
    _table(
        ("pd_depth", "rs_depth", "worst two crashes destroy", "pairs that break", "chains at most"),
        rows,
    )
    click.echo(f"smallest depths at which no two crashes do: {listed(pairs.smallest)}")
    for a, b in pairs.points:
        click.echo(f"together they destroy all others: {found.label(a)} and {found.label(b)}")


def _list(found: Audit) -> None:
    for each in found.findings:
        for crash, broken in each.broken.items():
            click.echo(f"at {'/'.join(_texts(each.pd_depth, each.rs_depth))} {found.label(crash)}:")
            for pd, held, lost in broken:
                click.echo(f"  {found.label(pd)} holds {held}, which is built on {lost}")


def _show_difference(different: Difference) -> None:
    for line in different.worse:
        click.echo(f"worse: {line}")
    for line in different.better:
        click.echo(f"better: {line}")
    for line in different.other:
        click.echo(f"different: {line}")


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _texts(pd_depth: int | None, rs_depth: int | None) -> tuple[str, str]:
    return str(depth_text(pd_depth)), str(depth_text(rs_depth))
