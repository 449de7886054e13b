# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap cache`: lists and deletes what builds keep to use again."""

from __future__ import annotations

import time
from collections.abc import Iterable

import click

from cellreap.cached import cache_folder
from cellreap.cli.echo import echo_json
from cellreap.cli.params import Finite, json_option
from cellreap.system.cache import Entry, bytes_of, entries, prune

_DAY = 24 * 3600.0
DEFAULT_DAYS = 30.0
_KINDS = {
    "pds": "libraries for PDs",
    "roottask": "root tasks",
    "kernel": "kernels",
    "image": "images",
    "build": "root tasks of earlier versions of cellreap",
    "refkernel": "kernels of earlier versions of cellreap",
    "objects": "object files of programs",
    "programs": "programs",
}


def _to_bytes(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    size = bytes_of(value)
    if size is None:
        raise click.BadParameter(f"{value!r} is no size: expected one such as 500M or 2G")
    return size


@click.command()
@click.argument("action", type=click.Choice(["prune"]), required=False)
@click.option("--prune", "pruned", is_flag=True, help="The same as `cellreap cache prune`.")
@click.option(
    "--days",
    type=Finite(min=0),
    default=DEFAULT_DAYS,
    show_default=True,
    metavar="N",
    help="With prune: delete what was last used more than N days ago.",
)
@click.option(
    "--size",
    callback=_to_bytes,
    metavar="SIZE",
    help="With prune: also delete what was used longest ago, until SIZE is left: 500M, 2G.",
)
@click.option("--all", "everything", is_flag=True, help="With prune: delete all of it.")
@json_option
def cache(
    action: str | None,
    pruned: bool,
    days: float,
    size: int | None,
    everything: bool,
    as_json: bool,
) -> None:
    """List what builds keep to use again, or delete it (prune).

    It is in $XDG_CACHE_HOME/cellreap, by default ~/.cache/cellreap. Deleting it is always safe: the
    next build makes what it needs again. What is in use or being built at the moment stays.

    A build that adds to the cache deletes what was used longest ago if the cache is larger than
    $CELLREAP_CACHE_SIZE, by default 10G.
    """
    pruned = pruned or action == "prune"
    if (everything or days != DEFAULT_DAYS or size is not None) and not pruned:
        message = "--days, --size and --all are for prune"
        raise click.UsageError(message, click.get_current_context())
    now = time.time()
    before = float("inf") if everything else now - days * _DAY
    found = prune(before, size) if pruned else entries()
    if as_json:
        shown = {
            "folder": str(cache_folder()),
            "deleted" if pruned else "entries": [
                {
                    "kind": entry.kind,
                    "name": entry.name,
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
