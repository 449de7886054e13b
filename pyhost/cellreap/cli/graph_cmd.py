# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap graph`: draws a model state, or the states before and after a cleanup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from cellreap.api.planning import plan_state
from cellreap.api.states import State, has_trace, state_of
from cellreap.cli.echo import echo_json
from cellreap.cli.params import (
    SOURCE,
    Depth,
    after_option,
    depth_options,
    given,
    json_option,
    policy_file_option,
)
from cellreap.cli.unknowns import concluded, incomplete_option, unknown_json, unknown_lines
from cellreap.errors import UsageError
from cellreap.model.graph import Model
from cellreap.model.plan import Plan, depth_text
from cellreap.model.reference import label
from cellreap.pictures.dot import dot
from cellreap.pictures.drawing import FOLD, Drawing, draw, split
from cellreap.pictures.graphviz import render
from cellreap.pictures.mermaid import mermaid
from cellreap.pictures.states import around
from cellreap.runs.known import known_of
from cellreap.system.files import refuse_output, write_atomically
from cellreap.trace.events import printable
from cellreap.trace.report import Report, Verdict, verdict_json, verdict_of, violation_lines
from cellreap.unknown import Unknown

FORMS: Final = {
    ".svg": "svg", ".png": "png", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid",
    ".mermaid": "mermaid",
}  # fmt: skip


@click.command()
@click.argument("source", type=click.Path(path_type=Path), metavar=SOURCE)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PICTURE",
    help="Its ending says what it becomes: .svg, .png, .dot or .gv, .mmd or .mermaid.",
)
@click.option(
    "--cleanup",
    type=click.IntRange(min=1),
    metavar="N",
    help="Of a trace: before and after the N-th cleanup. Default: the first one.",
)
@after_option(0, "Of a trace: only the state after the N-th cleanup; 0: before the first.")
@click.option("--crash", metavar="PD", help="Mark what the crash of this PD would doom.")
@depth_options(note=". Default: as the configuration or the trace has it, 0 for CSV")
@click.option("--core", is_flag=True, help="With the root task and what it serves itself.")
@click.option(
    "--split",
    "splits",
    is_flag=True,
    help="One node for each address space and core of a PD. Implies --core.",
)
@click.option(
    "--fold",
    type=click.IntRange(min=0),
    default=FOLD,
    show_default=True,
    metavar="N",
    help="Draw the resources of a space with more than N of them as one node.",
)
@policy_file_option
@incomplete_option
@json_option
def graph(
    source: Path,
    output: Path,
    cleanup: int | None,
    after: int | None,
    crash: str | None,
    pd_depth: Depth | None,
    rs_depth: Depth | None,
    core: bool,
    splits: bool,
    fold: int,
    policy: Path | None,
    incomplete: bool,
    as_json: bool,
) -> int:
    """Draw a model state as a graph. Nothing is booted, and no server is needed.

    Spaces are boxes around their resources. Each kind of edge has a line of its own. What a crash
    dooms is marked by depth, and the edge that dooms it says why. Of a trace, the picture has the
    state before a cleanup, with what it dooms, and the state after it. Graphviz (`dot`) draws
    .svg and .png.
    """
    form = FORMS.get(output.suffix)
    if form is None:
        raise UsageError(f"--output {output}: expected an ending of {', '.join(FORMS)}")
    if cleanup is not None and (after is not None or crash is not None):
        raise UsageError("--cleanup cannot be combined with --after or --crash")
    refuse_output(output, source)
    look = _Look(core or splits, splits, fold)
    notes: list[str] = []
    drawings: list[Drawing] = []
    unknown: tuple[Unknown, ...] = ()
    checked: Report | None = None
    trace = source.suffix != ".toml" and has_trace(source)
    if cleanup is not None and not trace:
        raise UsageError(f"--cleanup {cleanup}: {source} is no trace: only a trace has cleanups")
    if trace and after is None and crash is None:
        drawings, checked = _around(source, cleanup or 1, look, notes)
    if not drawings:
        state = state_of(source, policy=policy, after=after)
        notes += state.notes
        unknown, checked = state.model.unknown, state.check
        plan = None
        if crash is not None:
            depths = given(pd_depth), given(rs_depth)
            plan = plan_state(state, source, crash, *depths, "reference")
        title = _title(source, after, state, plan)
        drawings = [look.draw(state.model, title, state.names, plan)]
    notes += [] if checked is None else _check_told(checked)
    text = mermaid(drawings) if form == "mermaid" else dot(drawings)
    content = text.encode() if form in ("dot", "mermaid") else render(text, form)
    write_atomically(output, content)
    if as_json:
        shown = _object(output, form, drawings, notes)
        shown |= {"unknown": unknown_json(unknown)}
        shown |= {} if checked is None else verdict_json(checked)
        echo_json("graph", shown)
    else:
        for note in notes:
            click.echo(f"cellreap: note: {note}", err=True)
        click.echo(f"{output}: {' and '.join(map(_told, drawings))}")
        for line in unknown_lines(unknown):
            click.echo(line)
    return concluded(() if crash is None else unknown, incomplete)


@dataclass(frozen=True)
class _Look:
    """What the options choose to show."""

    core: bool
    splits: bool
    fold: int

    def draw(
        self, model: Model, title: str, names: Mapping[str, str], plan: Plan | None
    ) -> Drawing:
        drawing = draw(model, title, names, plan=plan, core=self.core, fold=self.fold)
        return split(drawing, model) if self.splits else drawing


def _around(
    trace: Path, number: int, look: _Look, notes: list[str]
) -> tuple[list[Drawing], Report | None]:
    """The state before a cleanup and the one after it, and the check of the trace. Empty and None
    if the trace has no cleanup.
    """
    known = known_of(trace, None, None)
    found = around(trace, number, known)
    if found is None:
        return [], None
    report, plan = found.report, found.plan
    if not report.passed:
        notes.append(f"{violation_lines(report)[0]}: the state may be wrong")
    crash = f"cleanup {number}: {_crash_told(found.before, plan)}"
    drawings = [look.draw(found.before, f"before {crash}", report.names, plan)]
    if found.after is None:
        notes.append(f"{trace}: ends within cleanup {number}")
    else:
        drawings.append(look.draw(found.after, f"after cleanup {number}", report.names, None))
    return drawings, report


def _check_told(report: Report) -> list[str]:
    """The verdict about a trace, if it does not pass, and what was not verified."""
    verdict, notes = verdict_of(report), []
    if verdict is not Verdict.PASS:
        why = f": {report.unexpected[0]}" if verdict is Verdict.UNEXPECTED else ""
        notes.append(f"{report.path}: {verdict}{why}")
    return [*notes, *(f"{report.path}: not verified: {what}" for what in report.unverified)]


def _title(source: Path, after: int | None, state: State, plan: Plan | None) -> str:
    when = "" if after is None else f" after cleanup {after}" if after else " before its cleanups"
    title = f"{printable(source.name)}{when}"
    if state.model.unknown:
        title = f"{title}, as far as is told"
    return title if plan is None else f"{title}: {_crash_told(state.model, plan)}"


def _crash_told(model: Model, plan: Plan) -> str:
    depths = f"depths: PDs {depth_text(plan.pd_depth)}, spaces {depth_text(plan.rs_depth)}"
    trigger = "" if plan.trigger is None else label(model, plan.trigger)
    return f"{printable(trigger)} crashes; {depths}"


def _told(drawing: Drawing) -> str:
    nodes, edges = len(drawing.nodes), len(drawing.edges)
    return f"{nodes} node{'' if nodes == 1 else 's'}, {edges} edge{'' if edges == 1 else 's'}"


def _object(
    output: Path, form: str, drawings: Sequence[Drawing], notes: Sequence[str]
) -> dict[str, Any]:
    return {
        "output": str(output),
        "form": form,
        "drawings": [
            {
                "title": drawing.title,
                "nodes": len(drawing.nodes),
                "edges": len(drawing.edges),
                "doomed": [node.id for node in drawing.nodes if node.doomed],
                "reasons": [edge.why for edge in drawing.edges if edge.why],
            }
            for drawing in drawings
        ],
        "notes": list(notes),
    }
