# SPDX-License-Identifier: BSD-2-Clause
"""Extractions: the notices to managers, the edges that they report, and the extracted state."""

from __future__ import annotations

from dataclasses import dataclass, field

from cellreap.model.csvstate import state_rows
from cellreap.model.ids import ROOT
from cellreap.model.indexed import IndexedModel
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.check.independent import beyond
from cellreap.trace.check.state import with_doomed
from cellreap.trace.check.work import OUT, Notice, Tag, lane_of
from cellreap.trace.events import Event, asks
from cellreap.trace.report import Extraction

Ends = tuple[str, str]
"""(from, to) of a MAP edge."""


@dataclass
class _Running:
    """An extraction that is not over. pieces: the edges that managers reported, in order."""

    shown: Extraction
    pieces: dict[Ends, None] = field(default_factory=dict)
    below: dict[str, list[str]] = field(default_factory=dict)
    """the same edges: from -> to"""
    told_needless: bool = False
    """it was reported that it waits needlessly"""


class Extractions(Concern):
    """EXTRACT, SUBGRAPH, EXTRACTED."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.last = 0
        """number of the last extraction"""
        self.asking = 0
        """the extraction whose notices are being queued, or were queued last"""
        self.running: dict[int, _Running] = {}

    # -- for other concerns

    def ask_for_each(self, x: int, pd: str, space: str) -> None:
        """A manager asks for one notice for each resource of its space.

        It gets none if the extraction is over or the space is destroyed.
        """
        model = self.context.model
        if x in self.running and space in model.manager and self.lives(space):
            self._ask(x, [(pd, resource) for resource in model.resources_in(space)])

    def _ask(self, x: int, questions: list[tuple[str, str]]) -> None:
        self.asking = x
        for manager, node in questions:
            self.context.debts.owe("QUEUE", f"x={x}", manager, "extract", node, "-")

    def demand_over(self, event: Event) -> None:
        """Checks that no extraction waits for nobody when a PD acts again."""
        for x, running in self.running.items():
            if running.told_needless:
                continue
            asked = self.context.notices.work.unfinished(("extraction", x))
            if not any(self.context.actors.may_answer(notice.to) for notice in asked):
                running.told_needless = True
                text = f"expected EXTRACTED x={x} before it: nobody can answer"
                self.bad("extractions.needless", text)

    def at_end(self) -> None:
        """The trace ends."""
        for x in self.running:
            self.bad("extractions.end", f"extraction {x} was never told (EXTRACTED)")

    def lives(self, node: str) -> bool:
        """Whether the node exists, and neither the node nor its space is doomed."""
        model, doomed = self.context.model, self.context.cleanups.doomed()
        return node in model.nodes and node not in doomed and model.space_of.get(node) not in doomed

    # -- events

    @outside("EXTRACT")
    def extract(self, event: Event) -> None:
        """EXTRACT: a PD asks for the extracted state. Managers are asked about their spaces."""
        context = self.context
        x, by = event.number("x"), event["by"]
        if by != ROOT:
            context.actors.may_act(event, by)
            context.authority.demand(by, "extract")
        if x != self.last + 1:
            self.bad("extractions.number", f"x={x}: expected {self.last + 1}")
        for other, its in self.running.items():
            if its.shown.by == by:
                self.bad("extractions.one", f"x={x}: {by} has extraction {other} under way")
        self.last = x
        self.running[x] = _Running(Extraction(x, by))
        context.report.extractions.append(self.running[x].shown)
        model, doomed = context.model, context.cleanups.doomed()
        self._ask(
            x,
            [
                (manager, space)
                for space, manager in model.manager.items()
                if manager != ROOT
                and not model.is_core(space)
                and space not in doomed
                and manager not in doomed
            ],
        )
        if asks(event):
            context.tickets.accept(event)

    def cancel(self, x: int) -> None:
        """The extraction was cancelled. Its questions that nobody has fetched are withdrawn."""
        del self.running[x]
        self.context.notices.end_extraction(("extraction", x))

    @outside("SUBGRAPH")
    def subgraph(self, event: Event) -> None:
        """SUBGRAPH: a manager reports a MAP edge that the root task does not know."""
        pd, x = event["pd"], event.number("x")
        if not self.context.actors.may_act(event, pd):
            return
        running = self.running.get(x)
        if running is None:
            self.bad("extractions.under_way")
            return
        notice = self.context.notices.waiting(pd, event.number("token"))
        if notice is None or notice.tag != ("extraction", x) or notice.state != OUT:
            self.bad("extractions.asked")
            return
        ends = (event["from"], event["to"])
        running.shown.subgraphs += 1
        wrong = {
            "extractions.asked": not self._is_asked(pd, notice, ends[0]),
            "extractions.ends": not self._are_its_own(pd, ends),
            "extractions.new": not self._is_new(running, ends),
        }
        for rule in (rule for rule, found in wrong.items() if found):
            self.bad(rule)
        if not any(wrong.values()):
            running.pieces[ends] = None
            running.below.setdefault(ends[0], []).append(ends[1])

    def _is_asked(self, pd: str, notice: Notice, upper: str) -> bool:
        """Whether the notice is about the node, and the PD manages that."""
        model = self.context.model
        about = notice.node in (upper, model.space_of.get(upper))
        return about and model.manager.get(lane_of(notice.node)) == pd

    def _are_its_own(self, pd: str, ends: Ends) -> bool:
        """Whether both live and are of one kind, and the PD depends on the lower one."""
        model, (upper, lower) = self.context.model, ends
        alike = (upper in model.space_of) == (lower in model.space_of)
        space = model.space_of.get(lower, lower)
        depends = (pd, lower) in model.holds or (pd, space) in model.requests
        return alike and depends and self.lives(upper) and self.lives(lower)

    def _is_new(self, running: _Running, ends: Ends) -> bool:
        """Whether the edge is not known and closes no circle."""
        model, (upper, lower) = self.context.model, ends
        known = ends in model.maps or ends in running.pieces
        return not known and not self._is_built_on(model, running.below, lower, upper)

    def _is_built_on(
        self, model: IndexedModel, pieces: dict[str, list[str]], node: str, other: str
    ) -> bool:
        """Whether `node` is `other` or is built on it over MAP edges and reported edges.

        pieces: the reported edges, from -> to. Only those with both ends alive count.
        """

        def below(here: str) -> list[str]:
            reported = pieces.get(here, ()) if pieces and self.lives(here) else ()
            return [*model.built_on(here), *(one for one in reported if self.lives(one))]

        return node == other or other in beyond(node, below)

    @outside("EXTRACTED")
    def extracted(self, event: Event) -> None:
        """EXTRACTED: all managers have answered, and the extracted state has this digest."""
        context = self.context
        x = event.number("x")
        running = self.running.pop(x, None)
        if running is None:
            self.bad("extractions.under_way")
            return
        tag: Tag = ("extraction", x)
        # The PD that asked cannot finish its own notices while it waits.
        if any(each.to != running.shown.by for each in context.notices.work.unfinished(tag)):
            self.bad("extractions.answered")
        model = context.model.copy()
        maps = sum(self._add(model, *ends) for ends in running.pieces)
        self.compare("extractions.state", maps=maps, digest=model.digest())
        marked = with_doomed(model, context.cleanups.doomed())
        running.shown.rows, running.shown.done = state_rows(marked)[1:], True
        running.shown.tombstones = context.tombstones.rows()
        context.tickets.settle(tag)
        context.notices.end_extraction(tag)

    def _add(self, model: IndexedModel, upper: str, lower: str) -> bool:
        """Adds a reported edge, unless an end has gone, it is known or closes a circle by now."""
        fits = (
            self.lives(upper)
            and self.lives(lower)
            and (upper, lower) not in model.maps
            and not self._is_built_on(model, {}, lower, upper)
        )
        if fits:
            model.add_map(upper, lower)
        return fits
