# SPDX-License-Identifier: BSD-2-Clause
"""Plans the cleanup after a crash: with the root task's own code, or with the model in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, TypeAlias

from cellreap.api.states import State, limit
from cellreap.errors import ModelError, UsageError
from cellreap.model.ids import ROOT
from cellreap.model.plan import Plan
from cellreap.model.reference import plan as reference_plan

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
) -> Plan:
    """The plan for the crash of a PD. UsageError if there is no such PD, or if it is the root task.

    source: where the state is from, for messages. crash: the id or the name of the PD. pd_depth,
    rs_depth: None for those of the source. engine: what computes the plan.
    """
    model = state.model
    try:
        trigger = model.find_pd(crash)
    except ModelError as error:
        raise UsageError(f"{source}: --crash: {error}") from None
    if trigger == ROOT:
        raise UsageError(f"--crash: {ROOT} is the root task, expected another PD")
    own = state.depths_of(trigger)
    depths = (
        own[0] if pd_depth is None else limit(pd_depth),
        own[1] if rs_depth is None else limit(rs_depth),
    )
    if engine == "reference":
        return reference_plan(model, trigger, *depths)
    from cellreap.model.core import CoreModel  # needs the library; the reference does not

    return CoreModel.from_model(model).plan(trigger, *depths)
