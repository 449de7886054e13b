# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap audit`: what single crashes would do, before anything crashes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from cellreap.api.auditing import Audit, Difference, Outcome, PairAudit, audit_state, listed
from cellreap.api.states import state_of
from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import SOURCE, after_option, json_option, policy_file_option
from cellreap.cli.unknowns import concluded, incomplete_option, unknown_json, unknown_lines
from cellreap.model.plan import depth_text
from cellreap.trace.report import counted


@click.command()
@click.argument("source", type=click.Path(path_type=Path), metavar=SOURCE)
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
@policy_file_option
@incomplete_option
@json_option
def audit(
    source: Path,
    max_depth: int,
    pairs: bool,
    with_chains: bool,
    diff: Path | None,
    after: int | None,
    policy: Path | None,
    incomplete: bool,
    as_json: bool,
) -> int:
    """Say what each single crash would do at each depth. Nothing is booted.

    For each pair of depths: how many PDs the worst crash destroys, how many things survivors hold
    that are built, directly or further down, on something that went, and how many PDs some crash
    leaves with such a thing. A configuration does not tell what programs make when they run, so
    only a trace or a model state lets the audit conclude.
    """
    state = state_of(source, policy=policy, after=after)
    found = audit_state(state, max_depth, pairs=pairs)
    different, unknown = None, list(found.unknown)
    if diff is not None:
        before = audit_state(state_of(diff), max_depth)
        different = found.difference(before)
        unknown += [it for it in before.unknown if it not in unknown]
    if as_json:
        shown: dict[str, Any] = found.to_json(with_chains)
        if different is not None:
            shown.update(worse=different.worse, better=different.better, other=different.other)
            shown["unknown"] = unknown_json(unknown)
        echo_json("audit", shown)
    else:
        for note in state.notes:
            click.echo(f"cellreap: note: {note}", err=True)
        _show(found)
        if with_chains:
            _list(found)
        if different is not None:
            _show_difference(different)
        for line in unknown_lines(unknown):
            click.echo(line)
    if different is not None and different.worse:
        return ExitCode.FAILED
    return concluded(unknown, incomplete)


def _show(found: Audit) -> None:
    rows = _folded(
        [(*_texts(each.pd_depth, each.rs_depth), *_cells(found, each)) for each in found.findings]
    )
    if found.configured is not None:
        rows.append(("as configured", "", *_cells(found, found.configured)))
    _table(("pd_depth", "rs_depth", "worst crash destroys", "broken chains", "survivors"), rows)
    smallest = "unknown" if found.unknown else listed(found.smallest)
    click.echo(f"smallest depths that leave no broken chain: {smallest}")
    for crash, saved in found.pins.items():
        pds = ", ".join(found.label(pd) for pd in saved)
        click.echo(f"the crash of {found.label(crash)} would doom pinned PDs: {pds}")
    for pd in found.single_points:
        click.echo(f"single point of failure, at unlimited depths: {found.label(pd)}")
    if found.pairs is not None:
        _show_pairs(found, found.pairs)


def _cells(found: Audit, outcome: Outcome) -> tuple[str, str, str]:
    """The columns behind the depths."""
    worst = "nothing"
    if outcome.worst:
        worst = f"{counted(outcome.destroyed, 'PD')}: {found.label(outcome.worst[0])}"
        equal = len(outcome.worst) - 1
        worst += f" or {counted(equal, 'other')}" if equal else ""
    chains, survivors = str(sum(outcome.chains.values())), str(len(outcome.survivors))
    if found.unknown:
        worst = f"{'at least' if outcome.certain == outcome.destroyed else 'possibly'} {worst}"
        told = bool(outcome.chains)
        chains, survivors = (f"at least {n}" if told else "unknown" for n in (chains, survivors))
    return worst, chains, survivors


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
        _folded(rows),
    )
    smallest = "unknown" if found.unknown else listed(pairs.smallest)
    click.echo(f"smallest depths at which no two crashes do: {smallest}")
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


def _folded(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Rows that say the same of depths that follow each other, as one. The first two cells are the
    depths.
    """
    of_pds = []
    for pd_depth, group in groupby(rows, lambda row: row[0]):
        said = []
        for cells, equal in groupby(group, lambda row: row[2:]):
            said.append((_range([row[1] for row in equal]), *cells))
        of_pds.append((pd_depth, said))
    folded = []
    for said, equals in groupby(of_pds, lambda each: each[1]):
        pd_depths = _range([pd_depth for pd_depth, _ in equals])
        folded += [(pd_depths, *row) for row in said]
    return folded


def _range(depths: Sequence[str]) -> str:
    return depths[0] if len(depths) == 1 else f"{depths[0]} to {depths[-1]}"


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _texts(pd_depth: int | None, rs_depth: int | None) -> tuple[str, str]:
    return str(depth_text(pd_depth)), str(depth_text(rs_depth))
