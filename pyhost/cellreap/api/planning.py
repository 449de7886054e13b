# SPDX-License-Identifier: BSD-2-Clause
"""Plans cleanups and collections: with the root task's own code, or with the model in Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from cellreap.api.states import Depths, State, limit
from cellreap.errors import ModelError, UsageError
from cellreap.model import reference
from cellreap.model.closeness import Closeness
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.plan import Plan
from cellreap.system.naming import carried_by, unnamed_by

if TYPE_CHECKING:  # a CSV file is planned at once, without what only configurations need
    from cellreap.model.core import CoreModel
    from cellreap.system.config import Config

Depth: TypeAlias = int | Literal["inf"]
Engine: TypeAlias = Literal["core", "reference"]
ENGINES: Final[tuple[Engine, ...]] = ("core", "reference")


def plan_state(
    state: State,
    source: str | Path,
    crash: str,
    pd_depth: Depth | None = None,
    rs_depth: Depth | None = None,
    engine: Engine = "core",
    closeness: Closeness | Literal["depth"] | None = None,
    *,
    subtree: bool = False,
) -> Plan:
    """The plan for the crash of a PD. UsageError if there is no such PD, or if it is the root task.

    source: where the state is from, for messages. crash: the id or the name of the PD. pd_depth,
    rs_depth: None for those of the source. engine: what computes the plan. closeness: the
    policy; None for that of the source. subtree: the PD is terminated with all PDs that it
    created, transitively; depth alone decides.
    """
    option = "--subtree" if subtree else "--crash"
    model = state.model
    try:
        trigger = state.find_pd(crash)
    except ModelError as error:
        raise UsageError(f"{source}: {option}: {error}") from None
    if trigger == ROOT:
        raise UsageError(f"{option}: {ROOT} is the root task, expected another PD")
    own = state.depths_of(trigger)
    depths = (
        own[0] if pd_depth is None else limit(pd_depth),
        own[1] if rs_depth is None else limit(rs_depth),
    )
    chosen = state.closeness if closeness is None else closeness
    close = None if chosen == "depth" else chosen
    found = _planned(model, trigger, depths, engine, close, subtree=subtree)
    if not model.possible:
        return found
    kept = _planned(model.certain(), trigger, depths, engine, None, subtree=subtree)
    return replace(found, possible=sorted(found.doomed() - kept.doomed()))


def _planned(
    model: Model,
    trigger: str,
    depths: Depths,
    engine: Engine,
    close: Closeness | None,
    *,
    subtree: bool,
) -> Plan:
    if engine == "reference":
        if subtree:
            return reference.subtree(model, trigger, *depths)
        return reference.plan(model, trigger, *depths, close)
    core = _core(model)
    if subtree:
        return core.subtree(trigger, *depths)
    from cellreap.model.core import CoreCloseness

    by = None if close is None else CoreCloseness(core, model, close)
    return core.plan(trigger, *depths, by)


def collect_state(state: State, engine: Engine = "core") -> Plan:
    """The plan of a collection: what cannot be reached is doomed."""
    if engine == "reference":
        return reference.collect(state.model, state.kept)
    return _core(state.model).collect(state.kept)


def reconcile_state(state: State, config: Config, engine: Engine = "core") -> Plan:
    """The plan that dooms what a configuration does not name: of what an image carries of it."""
    unnamed = unnamed_by(config, state.model)
    carried = carried_by(unnamed, state.model)
    if engine == "reference":
        return reference.reconcile(carried, unnamed)
    return _core(carried).reconcile(unnamed)


def _core(model: Model) -> CoreModel:
    from cellreap.model.core import CoreModel  # needs the library; the reference does not

    return CoreModel.from_model(model)
