# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap plan`: shows what a crash or a collection would doom, and in which order.

Reads a model state and changes nothing.
"""

from __future__ import annotations

from pathlib import Path

import click

from cellreap.api.planning import Engine, collect_state, plan_state
from cellreap.api.states import TRACE, state_of
from cellreap.cli.params import (
    SOURCE,
    Depth,
    after_option,
    chosen_policy,
    depth_options,
    engine_option,
    explain_option,
    given,
    json_option,
    policy_options,
    strict_option,
)
from cellreap.cli.plan_text import node_of, tell
from cellreap.cli.unknowns import concluded, incomplete_option
from cellreap.errors import UsageError
from cellreap.model.bulk import no_collection
from cellreap.model.plan import depth_text
from cellreap.model.reference import label


@click.command()
@click.argument("source", type=click.Path(path_type=Path), metavar=SOURCE)
@click.option("--crash", metavar="PD", help="The PD that crashes: its id or its name.")
@click.option(
    "--subtree",
    metavar="PD",
    help="The PD that is terminated with all PDs that it created, transitively.",
)
@click.option("--collect", is_flag=True, help="A collection: what cannot be reached goes.")
@depth_options(note=". Default: as the configuration or the trace has it, 0 for CSV")
@policy_options
@after_option(
    0, "Of a trace: the state after the N-th cleanup; 0: before the first. Default: at the end."
)
@explain_option
@strict_option
@engine_option("computes the plan")
@incomplete_option
@json_option
@no_collection()
def plan(
    source: Path,
    crash: str | None,
    subtree: str | None,
    collect: bool,
    pd_depth: Depth | None,
    rs_depth: Depth | None,
    policy: str | Path | None,
    fr_max: int | None,
    rsi_min: dict[str, tuple[int, int]],
    after: int | None,
    explained: str | None,
    strict: bool,
    engine: Engine,
    incomplete: bool,
    as_json: bool,
) -> int:
    """Show what the crash of a PD would doom, and in which order. Nothing is booted.

    One of --crash, --subtree and --collect says what happens. The state is that of a configuration,
    that in a trace, or a CSV file: also one that CellulOS wrote, or a console log that contains
    one. A configuration does not tell what programs make when they run. What goes only if PDs make
    the requests that they may make is shown apart, and the exit code is 1.
    """
    asked = [crash is not None, subtree is not None, collect]
    if sum(asked) != 1:
        raise click.UsageError("expected one of --crash, --subtree and --collect")
    if collect and (pd_depth is not None or rs_depth is not None):
        raise UsageError("--collect: expected no --pd-depth and no --rs-depth with it")
    beside = policy if isinstance(policy, Path) else None
    state = state_of(source, after=after, strict=strict, policy=beside)
    closeness = chosen_policy(None if isinstance(policy, Path) else policy, fr_max, rsi_min)
    if crash is None and closeness is not None:
        raise UsageError("--policy: expected --crash with it")
    node = None if explained is None else node_of(state.model, explained, source)
    if collect:
        kind, decided = "collect", collect_state(state, engine)
        heading = "A collection: what is not reached from the root task or a pinned PD goes"
    else:
        kind = "crash" if crash is not None else "subtree"
        decided = plan_state(
            state,
            source,
            crash or subtree or "",
            given(pd_depth),
            given(rs_depth),
            engine,
            closeness,
            subtree=crash is None,
        )
        trigger = label(state.model, decided.trigger or "")
        what = "crashes" if crash is not None else "is terminated with all that it created"
        heading = (
            f"{trigger} {what}, pd_depth {depth_text(decided.pd_depth)}, "
            f"rs_depth {depth_text(decided.rs_depth)}"
        )
        if decided.closeness is not None:
            heading = f"{heading}, {decided.closeness.text()}"
    if state.kind == TRACE:
        heading = f"{heading}, in the state {_when(after)}"
    tell("plan", heading, state, decided, node, engine, as_json, kind=kind)
    return concluded(state.model.unknown, incomplete)


def _when(after: int | None) -> str:
    """Which state of a trace is meant, in words."""
    if after is None:
        return "at the end of the trace"
    return f"after cleanup {after}" if after else "before the first cleanup"
