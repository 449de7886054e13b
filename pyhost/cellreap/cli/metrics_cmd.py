# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap metrics`: how close PDs are, in a state or in the cleanups of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from cellreap.api.measuring import Blast, blasts_of, find_pd, measuring, pairs
from cellreap.api.planning import Engine
from cellreap.api.states import state_of
from cellreap.cli.echo import echo_json
from cellreap.cli.exit_codes import ExitCode
from cellreap.cli.params import (
    SOURCE,
    Depth,
    after_option,
    engine_option,
    given,
    json_option,
    policy_file_option,
    to_depth,
)
from cellreap.cli.unknowns import concluded, incomplete_option, unknown_json, unknown_lines
from cellreap.errors import UsageError
from cellreap.model.metrics import Metrics


@click.command()
@click.argument("source", type=click.Path(path_type=Path), metavar=SOURCE)
@click.argument("pds", nargs=-1, metavar="[PD_A PD_B]")
@click.option("--with-root", is_flag=True, help="Let the root task be a PD on which both depend.")
@click.option(
    "--cleanups",
    is_flag=True,
    help="Of a trace: how far each cleanup reached, before it and after it.",
)
@click.option(
    "--within",
    callback=to_depth,
    metavar="N|inf",
    help="With --cleanups: exit with 1 if a cleanup destroyed a PD with a larger FR.",
)
@after_option(
    0, "Of a trace: the state after the N-th cleanup; 0: before the first. Default: at the end."
)
@engine_option("measures a state")
@click.option("--strict", is_flag=True, help="Refuse a state that is illegal or incomplete.")
@policy_file_option
@incomplete_option
@json_option
def metrics(
    source: Path,
    pds: tuple[str, ...],
    with_root: bool,
    cleanups: bool,
    within: Depth | None,
    after: int | None,
    engine: Engine,
    strict: bool,
    policy: Path | None,
    incomplete: bool,
    as_json: bool,
) -> int:
    """Say how close two PDs are, or all pairs of PDs: RSI by type, and FR.

    RSI is the share of resources that both reach. FR is the number of hops to the nearest PD of
    whose resources both hold some, directly or further down. The larger RSI and the smaller FR, the
    closer they are.
    """
    if len(pds) not in (0, 2):
        raise UsageError(f"{' '.join(pds)}: expected two PDs, or none for all pairs")
    if within is not None and not cleanups:
        raise UsageError("--within: expected --cleanups too")
    if cleanups:
        if pds or after is not None:
            raise UsageError("--cleanups: expected no PDs and no --after")
        return _cleanups(source, with_root, within, incomplete, as_json)
    state = state_of(source, policy=policy, after=after, strict=strict)
    measures = measuring(state.model, engine, with_root)
    if pds:
        a, b = (find_pd(state, source, name) for name in pds)
        found = [measures.measure(a, b)]
    else:
        found = pairs(state.model, measures, with_root=with_root)
    names = {pd: state.model.nodes[pd].name for pd in state.model.pds()}
    unknown = state.model.unknown
    code = concluded(unknown, incomplete)
    if as_json:
        shown: dict[str, Any] = {
            "with_root": with_root,
            "pairs": [_pair_json(pair, bool(unknown)) for pair in found],
            "names": {k: v for k, v in names.items() if v},
            "unknown": unknown_json(unknown),
        }
        echo_json("metrics", shown)
        return code
    for note in state.notes:
        click.echo(f"cellreap: note: {note}", err=True)
    for line in (*_table(found, names, bool(unknown)), *unknown_lines(unknown)):
        click.echo(line)
    return code


def _cleanups(
    source: Path, with_root: bool, within: Depth | None, incomplete: bool, as_json: bool
) -> int:
    blasts, names, unknown = blasts_of(source, with_root=with_root)
    limit = None if within is None else given(within)
    kept = limit is None or all(blast.stays_within(limit) for blast in blasts)
    if as_json:
        shown: dict[str, Any] = {
            "with_root": with_root,
            "cleanups": [_blast_json(blast) for blast in blasts],
            "names": names,
            "unknown": unknown_json(unknown),
        }
        echo_json("metrics", shown if limit is None else {**shown, "within": kept})
    else:
        for blast in blasts:
            click.echo(f"cleanup {blast.number}: {_name(blast.trigger, names)} went down")
            for title, before in (("destroyed", blast.destroyed), ("survived", blast.survivors)):
                for line in _table(before, names) if before else []:
                    click.echo(f"  {title}  {line}")
            for line in _table(blast.after, names) if blast.after else []:
                click.echo(f"  afterwards  {line}")
        if limit is not None:
            click.echo(f"every blast stayed inside FR <= {limit}: {'yes' if kept else 'no'}")
        for line in unknown_lines(unknown):
            click.echo(line)
    return concluded(unknown, incomplete) if kept else ExitCode.FAILED


def _pair_json(pair: Metrics, unknown: bool) -> dict[str, Any]:
    """unknown: the source leaves something open, so that FR and RSI are those of what it tells."""
    shown = pair.to_json()
    return {**shown, "fr": None} if unknown and pair.fr is None else shown


def _blast_json(blast: Blast) -> dict[str, Any]:
    return {
        "number": blast.number,
        "trigger": blast.trigger,
        "destroyed": [pair.to_json() for pair in blast.destroyed],
        "survivors": [pair.to_json() for pair in blast.survivors],
        "after": [pair.to_json() for pair in blast.after],
    }


def _name(pd: str, names: Mapping[str, str]) -> str:
    name = names.get(pd, "")
    return f"{name} ({pd})" if name else pd


def _table(found: Iterable[Metrics], names: Mapping[str, str], unknown: bool = False) -> list[str]:
    """A line for each pair, in columns. unknown: as of `_pair_json`."""
    infinite, nothing = ("unknown", "RSI unknown") if unknown else ("inf", "-")
    told = "as told " if unknown else ""
    rows = [
        (
            _name(pair.pds[0], names),
            _name(pair.pds[1], names),
            f"FR {infinite if pair.fr is None else f'{told}{pair.fr}'}",
            "  ".join(f"RSI({name}) {told}{a}/{b}" for name, (a, b) in pair.rsi.items() if a)
            or nothing,
        )
        for pair in found
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
