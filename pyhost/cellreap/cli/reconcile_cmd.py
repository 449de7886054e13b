# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap reconcile`: shows what a new configuration leaves behind of a saved state."""

from __future__ import annotations

from pathlib import Path

import click

from cellreap.api.planning import Engine, reconcile_state
from cellreap.api.states import state_of
from cellreap.api.systems import System
from cellreap.cli.params import (
    after_option,
    engine_option,
    explain_option,
    json_option,
    strict_option,
)
from cellreap.cli.plan_text import node_of, tell
from cellreap.cli.unknowns import concluded, incomplete_option


@click.command()
@click.argument("saved", type=click.Path(path_type=Path), metavar="SAVED.csv|TRACE")
@click.argument("config", type=click.Path(path_type=Path), metavar="CONFIG.toml")
@after_option(
    0, "Of a trace: the state after the N-th cleanup; 0: before the first. Default: at the end."
)
@explain_option
@strict_option
@engine_option("computes the plan")
@incomplete_option
@json_option
def reconcile(
    saved: Path,
    config: Path,
    after: int | None,
    explained: str | None,
    strict: bool,
    engine: Engine,
    incomplete: bool,
    as_json: bool,
) -> int:
    """Show which PDs and spaces of a saved state a configuration no longer names.

    They go as in a cleanup, in the order that is shown. The configuration names PDs by their names,
    and the spaces of a PD by their types. Nothing is booted.
    """
    state = state_of(saved, after=after, strict=strict)
    system = System.read(config)
    node = None if explained is None else node_of(state.model, explained, saved)
    decided = reconcile_state(state, system.config, engine)
    heading = f"What {config.name} does not name goes"
    tell("reconcile", heading, state, decided, node, engine, as_json)
    return concluded(state.model.unknown, incomplete)
