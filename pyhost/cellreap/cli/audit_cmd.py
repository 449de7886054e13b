# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap audit`: what single crashes would do, before anything crashes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cellreap.api.auditing import Audit, audit_model
from cellreap.api.states import state_of
from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import after_option, json_option
from cellreap.model.graph import Model
from cellreap.model.plan import depth_text
from cellreap.model.reference import label


@click.command()
@click.argument("source", type=click.Path(path_type=Path), metavar="CONFIG.toml|TRACE|MODEL.csv")
@click.option(
    "--max-depth",
    type=click.IntRange(0, 64),
    default=4,
    show_default=True,
    help="The largest depth to look at, besides inf.",
)
@click.option(
    "--diff",
    type=click.Path(path_type=Path),
    metavar="OTHER",
    help="Compare with an earlier state. Exit with 1 if something got worse.",
)
@after_option(
    0, "Of a trace: the state after the N-th cleanup; 0: before the first. Default: at the end."
)
@json_option
def audit(source: Path, max_depth: int, diff: Path | None, after: int | None, as_json: bool) -> int:
    """Say what each single crash would do at each depth. Nothing is booted.

    For each pair of depths: how many PDs the worst crash destroys, and how many things survivors
    hold that are built, directly or further down, on something that went.
    """
    state = state_of(source, after=after)
    found = audit_model(state.model, max_depth, state.closeness)
    worse = []
    if diff is not None:
        other = state_of(diff)
        worse = found.worse_than(audit_model(other.model, max_depth, other.closeness))
    if as_json:
        shown: dict[str, Any] = found.to_json()
        echo_json("audit", shown if diff is None else {**shown, "worse": worse})
    else:
        for note in state.notes:
            click.echo(f"cellreap: note: {note}", err=True)
        _show(found, state.model)
        for line in worse:
            click.echo(f"worse: {line}")
    return ExitCode.FAILED if worse else ExitCode.DONE


def _show(found: Audit, model: Model) -> None:
    click.echo("pd_depth  rs_depth  worst crash destroys  broken chains")
    for each in found.findings:
        broken = sum(map(len, each.broken.values()))
        worst = f"{each.destroyed} PDs: {label(model, each.worst[0])}" if each.worst else "nothing"
        click.echo(
            f"{depth_text(each.pd_depth)!s:8}  {depth_text(each.rs_depth)!s:8}  {worst}  {broken}"
        )
    depths = ", ".join(f"{depth_text(pd)}/{depth_text(rs)}" for pd, rs in found.smallest)
    click.echo(f"smallest depths that leave no broken chain: {depths or 'none'}")
    for crash, saved in found.pins.items():
        pds = ", ".join(label(model, pd) for pd in saved)
        click.echo(f"the crash of {label(model, crash)} would doom pinned PDs: {pds}")
    for pd in found.single_points:
        click.echo(f"single point of failure: {label(model, pd)}")
