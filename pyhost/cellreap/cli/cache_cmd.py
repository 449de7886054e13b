# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap cache`: lists and deletes what builds keep to use again."""

from __future__ import annotations

import time
from collections.abc import Iterable

import click

from cellreap.cli.echo import echo_json
from cellreap.cli.params import json_option
from cellreap.system.cache import Entry, cache_folder, entries, prune

_DAY = 24 * 3600.0
DEFAULT_DAYS = 30.0
_KINDS = {
    "build": "root tasks and libraries for PDs",
    "refkernel": "kernels",
    "objects": "object files of programs",
    "programs": "programs",
}


@click.command()
@click.option("--prune", "pruned", is_flag=True, help="Delete what was not used lately.")
@click.option(
    "--days",
    type=click.FloatRange(min=0),
    default=DEFAULT_DAYS,
    show_default=True,
    metavar="N",
    help="With --prune: delete what was last used more than N days ago.",
)
@click.option("--all", "everything", is_flag=True, help="With --prune: delete all of it.")
@json_option
def cache(pruned: bool, days: float, everything: bool, as_json: bool) -> None:
    """List what builds keep to use again, or delete it.

    It is in $XDG_CACHE_HOME/cellreap, by default ~/.cache/cellreap. Deleting it is always safe: the
    next build makes what it needs again. What another build is making at the moment stays.
    """
    if (everything or days != DEFAULT_DAYS) and not pruned:
        raise click.UsageError("--days and --all are for --prune", click.get_current_context())
    now = time.time()
    found = prune(float("inf") if everything else now - days * _DAY) if pruned else entries()
    if as_json:
        shown = {
            "folder": str(cache_folder()),
            "deleted" if pruned else "entries": [
                {
                    "kind": entry.kind,
                    "name": entry.path.name,
                    "bytes": entry.bytes,
                    "used_days_ago": round(max(0.0, now - entry.used) / _DAY, 2),
                }
                for entry in found
            ],
        }
        echo_json("cache", shown)
        return
    for line in _table(found, now):
        click.echo(line)
    total = sum(entry.bytes for entry in found)
    did = "deleted from" if pruned else "in"
    click.echo(f"{_size(total)} {did} {cache_folder()}")


def _table(found: Iterable[Entry], now: float) -> list[str]:
    """A line for each kind."""
    lines = []
    by_kind: dict[str, list[Entry]] = {}
    for entry in found:
        by_kind.setdefault(entry.kind, []).append(entry)
    for kind, listed in sorted(by_kind.items()):
        size = _size(sum(entry.bytes for entry in listed))
        oldest = max(0.0, now - min(entry.used for entry in listed)) / _DAY
        what = _KINDS.get(kind, "")
        counted = f"{len(listed):6} {kind:10} {size:>10}"
        lines.append(f"{counted}  used {oldest:.0f} days ago or later  {what}".rstrip())
    return lines


def _size(count: int) -> str:
    return f"{count / (1 << 20):.1f} MiB"
