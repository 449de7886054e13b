# SPDX-License-Identifier: BSD-2-Clause
"""Measures how close PDs are, in a state and in the cleanups of a trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from cellreap.api.planning import Engine
from cellreap.api.states import State, limit
from cellreap.api.traced import NO_END
from cellreap.errors import ModelError, UsageError
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT
from cellreap.model.indexed import IndexedModel
from cellreap.model.metrics import Metrics
from cellreap.model.plan import Plan
from cellreap.model.reference import Measuring
from cellreap.runs.known import known_of
from cellreap.trace.check.replay import AroundCleanups
from cellreap.trace.events import Event
from cellreap.trace.report import Report, violation_lines
from cellreap.unknown import Unknown


class Measures(Protocol):
    """What measures pairs of PDs of one state."""

    def measure(self, a: str, b: str) -> Metrics:
        """The metrics of two PDs."""


@dataclass(frozen=True)
class Blast:
    """How far a cleanup of a trace reached, by the distances to its trigger."""

    number: int
    """The number of the cleanup, from 1."""
    trigger: str
    """The PD that went down."""
    destroyed: list[Metrics]
    """The trigger with each other PD that the cleanup destroyed, in the state before it."""
    survivors: list[Metrics]
    """The trigger with each PD that it left alive, in the state before it."""
    after: list[Metrics]
    """All pairs of survivors, in the state after it. Empty if the trace ends before."""

    def stays_within(self, fr: int | Literal["inf"]) -> bool:
        """Whether all destroyed PDs were at most so far from the trigger."""
        most = limit(fr)
        return most is None or all(
            pair.fr is not None and pair.fr <= most for pair in self.destroyed
        )


def measuring(model: Model, engine: Engine, with_root: bool) -> Measures:
    """What measures this state."""
    if engine == "reference":
        return Measuring(model, with_root=with_root)
    from cellreap.model.core import CoreMetrics  # needs the library; the reference does not

    return CoreMetrics(model, with_root=with_root)


def find_pd(state: State, source: str | Path, name: str) -> str:
    """The id of a PD. UsageError if the source has no such PD."""
    try:
        return state.find_pd(name)
    except ModelError as error:
        raise UsageError(f"{source}: {error}") from None


def pairs(
    model: Model, measures: Measures, *, with_root: bool, of: Iterable[str] | None = None
) -> list[Metrics]:
    """The metrics of all pairs of different PDs. The root task is one of them only with_root."""
    pds = [pd for pd in (model.pds() if of is None else of) if with_root or pd != ROOT]
    return [measures.measure(a, b) for i, a in enumerate(pds) for b in pds[i + 1 :]]


def blasts_of(
    trace: Path, *, with_root: bool
) -> tuple[list[Blast], dict[str, str], tuple[Unknown, ...]]:
    """The cleanups of a trace, the names of all nodes that ever were, and what it leaves open.

    UsageError if the trace does not pass its check.
    """
    blasts = _Blasts(with_root)
    known = known_of(trace, None, None)
    replay = AroundCleanups(Report(str(trace)), blasts.look, known.expected)
    report = known.read(trace, replay=replay).report
    if not report.passed:
        raise UsageError(f"{violation_lines(report)[0]}: its states may be wrong")
    return blasts.of(report), dict(report.names), NO_END if report.broken_off else ()


class _Blasts:
    """Measures before and after each cleanup."""

    def __init__(self, with_root: bool) -> None:
        self._with_root = with_root
        self._before: dict[int, list[Metrics]] = {}
        self._after: dict[int, list[Metrics]] = {}

    def look(self, when: Literal["before", "after"], event: Event, model: IndexedModel) -> None:
        measuring = Measuring(model, with_root=self._with_root)
        if when == "after":
            found = pairs(model, measuring, with_root=self._with_root)
            self._after[event.number("n")] = found
        elif event["trigger"] in model.nodes:
            trigger = event["trigger"]
            there = [pd for pd in model.pds() if pd not in (ROOT, trigger)]
            self._before[event.number("n")] = [measuring.measure(trigger, pd) for pd in there]

    def of(self, report: Report) -> list[Blast]:
        """What was found."""
        found = []
        for cleanup in report.cleanups:
            dead = {pd for pd, _ in Plan.from_json(cleanup.plan).destroyed_pds}
            before = self._before.get(cleanup.number, [])
            found.append(
                Blast(
                    cleanup.number,
                    cleanup.trigger,
                    [pair for pair in before if pair.pds[1] in dead],
                    [pair for pair in before if pair.pds[1] not in dead],
                    self._after.get(cleanup.number, []),
                )
            )
        return found
