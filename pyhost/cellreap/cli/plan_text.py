# SPDX-License-Identifier: BSD-2-Clause
"""A plan as text for people, and as `--json` has it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from cellreap.api.planning import Engine
from cellreap.api.states import State
from cellreap.cli.echo import echo_json
from cellreap.cli.unknowns import TITLE, unknown_json
from cellreap.errors import ModelError, UsageError
from cellreap.model.graph import Model
from cellreap.model.plan import Plan
from cellreap.model.reference import explain, hanging, label

Section = tuple[str, list[tuple[str, ...]]]


def tell(
    command: str,
    heading: str,
    state: State,
    plan: Plan,
    node: str | None,
    engine: Engine,
    as_json: bool,
    **more: str,
) -> None:
    """Prints a plan. heading: what it is, for people. node: explained. more: keys of the JSON."""
    roots = None if command == "reconcile" else state.kept
    began = "is terminated" if more.get("kind") == "subtree" else "crashed"
    lines = [] if node is None else explain(state.model, plan, node, roots, began)
    if as_json:
        broken = [list(each) for each in hanging(state.model, plan)]
        shown: dict[str, Any] = {**plan.to_json(), "broken": broken, **more}
        shown["possible"] = plan.possible
        shown["unknown"] = unknown_json(state.model.unknown)
        shown["engine"] = engine
        shown["input"] = {
            "kind": state.kind,
            "notes": list(state.notes),
            **({} if state.report is None else state.report.to_json()),
            "violations": list(state.violations),
        }
        if node is not None:
            shown["explain"] = {"node": node, "lines": lines}
        echo_json(command, shown)
        return
    for note in state.notes:
        click.echo(f"cellreap: note: {note}", err=True)
    titled = sections(state.model, plan, began)
    if not plan.doomed():
        heading += ": nothing"
    if lines:
        titled.append(("Why", [(line,) for line in lines]))
    if state.model.unknown:
        titled.append((TITLE, [(each.text,) for each in state.model.unknown]))
    show(heading, titled)


def node_of(model: Model, name_or_id: str, path: Path) -> str:
    """The node with this id, or the PD with this name."""
    if name_or_id in model.nodes:
        return name_or_id
    try:
        return model.find_pd(name_or_id)
    except ModelError:
        raise UsageError(f"{path}: --explain: no node has the id or name '{name_or_id}'") from None


def sections(model: Model, plan: Plan, began: str = "crashed") -> list[Section]:
    """The plan's content, by title.

    Lists that may be long are shown as counts for each space. The JSON has every item.
    """

    def name(node: str) -> str:
        return label(model, node)

    def space_of(node: str) -> str:
        return model.space_of.get(node, node)

    members = Counter(model.space_of.values())
    titled: list[Section] = []
    for possibly in (False, True):
        pds = [each for each in plan.destroyed_pds if (each[0] in plan.possible) == possibly]
        spaces = [each for each in plan.deleted_spaces if (each in plan.possible) == possibly]
        titled += [
            (
                "Possibly destroyed PDs" if possibly else "Destroyed PDs",
                [(name(pd), f"depth {d}", _reason(model, plan, pd, began)) for pd, d in pds],
            ),
            (
                "Possibly deleted spaces" if possibly else "Deleted spaces",
                [
                    (s, _count(members[s], "resource"), _reason(model, plan, s, began))
                    for s in spaces
                ],
            ),
        ]
    certain = len(titled)
    losses: list[tuple[str, ...]] = [
        (name(pd), f"request to {space}") for pd, space in plan.removed_requests
    ]
    losses += [(name(pd), f"hold of {space}") for pd, space in plan.revoked_spaces]
    holds = Counter((pd, space_of(res)) for pd, res in plan.revoked)
    losses += [
        (name(pd), f"{_count(n, 'resource')} of {space}")
        for (pd, space), n in sorted(holds.items())
    ]
    losses += [(name(pd), f"{res}, the body of a destroyed PD") for pd, res in plan.revoked_bodies]
    titled.append(("Survivors lose", losses))
    left = [(name(pd), f"{held}, built on {lost}") for pd, held, lost in hanging(model, plan)]
    titled.append(("Survivors keep what is built on what goes", list(left)))

    told: Counter[tuple[str, str]] = Counter()
    for to, kind, node, dead in plan.notices:
        if kind == "free":
            told[to, f"free: {{}} of {space_of(node)} that {name(dead or '')} held"] += 1
        elif kind == "disconnect":
            told[to, f"disconnect: {name(dead or '')} from {node}"] += 1
        else:
            told[to, f"{kind}: {node}"] += 1
    titled.append(
        (
            "Notices",
            [
                (name(to), text.replace("{}", _count(n, "resource")))
                for (to, text), n in told.items()
            ],
        )
    )
    titled.append(
        ("Told beforehand", [(name(pd), f"{name(node)} goes") for pd, node in plan.pre_destroy])
    )
    freed = Counter(model.nodes[res].type for res in plan.core_freed)
    titled.append(
        ("Freed by the root task", [(kind, str(count)) for kind, count in sorted(freed.items())])
    )
    titled.append(
        (
            "Order of destruction",
            [
                (f"{i}.", ", ".join(name(node) for node in group))
                for i, group in enumerate(plan.groups, 1)
            ],
        )
    )
    some = ", as far as is told" if model.unknown else ""
    titled[certain:] = [(f"{title}{some}", rows) for title, rows in titled[certain:]]
    return [(title, rows) for title, rows in titled if rows]


def _reason(model: Model, plan: Plan, node: str, began: str) -> str:
    why, cause = plan.doomed_why[node]
    by = label(model, cause) if cause is not None else ""
    return {
        "trigger": began,
        "link": f"is linked with {by}",
        "fault": f"has its faults handled by {by}",
        "request": f"{'may request' if (node, cause) in model.possible else 'requests'} {by}",
        "hold": f"holds {by}",
        "managed": f"is managed by {by}",
        "map": f"maps to {by}",
        "own": f"was created by {by}",
        "unreached": "is not reached",
        "unnamed": "is not named",
        "metric": f"is close to {by}",
    }[why]


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def show(heading: str, sections: Iterable[Section]) -> None:
    """Prints a plan."""
    if not sys.stdout.isatty():
        click.echo(heading)
        for title, rows in sections:
            click.echo(f"\n{title}")
            # The last column is not padded: a single cell of it may be as long as all others.
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            widths[-1] = 0
            lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
            click.echo("\n".join(f"  {line}" for line in lines))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(heading, style="bold"))
    for title, rows in sections:
        table = Table.grid(padding=(0, 2))
        for row in rows:
            # Text, because rich would read markup in names.
            table.add_row("", *map(Text, row))
        console.print()
        console.print(Text(title, style="bold cyan"))
        console.print(table)
