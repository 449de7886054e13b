# SPDX-License-Identifier: BSD-2-Clause
"""What PDs asked the root task for and did not get at once: tickets and extractions, in a trace."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from cellreap import headers
from cellreap.model.csvstate import state_rows
from cellreap.model.graph import DOOMED, Model
from cellreap.model.ids import ROOT
from cellreap.trace.check_work import Notice, Tag, Work, lane_of
from cellreap.trace.report import Extraction, Ticket


@dataclass
class _Asked:
    """A ticket. tag: on whose account its notices are, once that has begun."""

    shown: Ticket
    tag: Tag | None = None
    settled: bool = False
    was_over: bool = False


class Tickets:
    """All tickets. What changes something returns what is wrong with it, or None."""

    def __init__(self) -> None:
        states = headers.names_of("protocol.h", "cr_ticket_state", "CR_TICKET_")
        self.names = {number: name for name, number in states.items()}
        self.queued, self.running, self.settled, self.over = (
            states[name] for name in ("queued", "running", "settled", "over")
        )
        self.tickets: dict[int, _Asked] = {}

    def make(self, number: int, owner: str, what: str | None, tag: Tag | None) -> str | None:
        """A new ticket; tag: of what has begun already."""
        expected = len(self.tickets) + 1
        self.tickets[number] = _Asked(Ticket(number, owner, what), tag)
        return None if number == expected else f"ticket={number}: expected {expected}"

    def begin(self, victim: str, tag: Tag) -> None:
        """The cleanup of a PD begins."""
        for asked in self.tickets.values():
            if asked.shown.what == victim and asked.tag is None:
                asked.tag = tag

    def settle(self, tag: Tag) -> None:
        for asked in self.tickets.values():
            if asked.tag == tag:
                asked.settled = True

    def waiters(self, model: Model) -> set[str]:
        """Who may be waiting for the end of a PD that is still there, and so does nothing else."""
        return {
            asked.shown.owner
            for asked in self.tickets.values()
            if asked.shown.what in model.nodes and not asked.settled
        }

    def note(self, work: Work) -> None:
        """Remembers which are over: they stay so, even if notices that were held are taken up again."""
        for asked in self.tickets.values():
            if asked.tag is not None and asked.settled:
                *_, waiting, held = work.of(asked.tag, asked.shown.owner)
                asked.was_over |= waiting == held

    def told(
        self, number: int, state: int, counts: tuple[int, ...], work: Work, model: Model
    ) -> tuple[_Asked | None, list[str]]:
        """The owner of a ticket is told how far it is."""
        asked = self.tickets.get(number)
        if asked is None:
            return None, [f"ticket={number}: there is no such ticket"]
        shown = asked.shown
        expected = (0, 0, 0, 0, 0) if asked.tag is None else work.of(asked.tag, shown.owner)
        if asked.tag is None:
            # One whose PD went by another cleanup is looked at again when its own turn comes.
            states = {self.queued} if shown.what in model.nodes else {self.queued, self.over}
        elif not asked.settled:
            states = {self.running}
        elif expected[3] == expected[4]:
            states = {self.over}
        else:
            states = {self.settled} | ({self.over} if asked.was_over else set())
        wrong = []
        if state not in states:
            names = " or ".join(f"{each} ({self.names[each]})" for each in sorted(states))
            wrong.append(f"ticket={number}: state={state}: expected {names}")
        for name, has, should in zip(
            ("done", "failed", "dropped", "waiting", "held"), counts, expected, strict=True
        ):
            setattr(shown, name, has)
            if has != should:
                wrong.append(f"ticket={number}: {name}={has}: by the events before it {should} are")
        shown.state = self.names.get(state, str(state))
        return asked, wrong


@dataclass
class _Running:
    """An extraction. pieces: (from, to), in the order in which they were reported."""

    shown: Extraction
    pieces: list[tuple[str, str]] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)


class Extractions:
    """All extractions. `doomed` is always the nodes that a cleanup which waits has doomed."""

    def __init__(self) -> None:
        self.all: dict[int, _Running] = {}

    def under_way(self) -> list[int]:
        return [x for x, running in self.all.items() if not running.shown.done]

    def start(self, x: int, by: str) -> list[str]:
        wrong = []
        if x != len(self.all) + 1:
            wrong.append(f"x={x}: expected {len(self.all) + 1}")
        for other in self.under_way():
            if self.all[other].shown.by == by:
                wrong.append(f"x={x}: {by} has extraction {other} under way")
        self.all[x] = _Running(Extraction(x, by))
        return wrong

    @staticmethod
    def asked(model: Model, doomed: Collection[str]) -> list[tuple[str, str]]:
        """(manager, space) of the spaces that servers are asked about."""
        return [
            (manager, space)
            for space, manager in model.manager.items()
            if manager != ROOT and not model.is_core(space) and not {space, manager} & set(doomed)
        ]

    def each(self, x: int, model: Model, doomed: Collection[str], space: str) -> list[str]:
        """The resources that a manager is asked about one by one; none any more if the extraction is over."""
        there = space in model.manager and space not in doomed
        return model.resources_in(space) if there and x in self.under_way() else []

    def piece(
        self,
        x: int,
        pd: str,
        notice: Notice | None,
        ends: tuple[str, str],
        model: Model,
        doomed: Collection[str],
    ) -> list[str]:
        """A server reports that `ends[0]` maps to `ends[1]`."""
        running = self.all.get(x)
        if running is None or running.shown.done:
            return [f"x={x}: no such extraction is under way"]
        if notice is None or notice.to != pd or notice.tag != ("extraction", x) or notice.state != "out":
            return [f"{pd} has fetched no such notice of extraction {x}, or acknowledged it before"]
        upper, lower = ends
        wrong = []
        space = model.space_of.get(lower, lower)
        if upper != notice.node and model.space_of.get(upper) != notice.node:
            wrong.append(f"from={upper}: the notice is about {notice.node}")
        if model.manager.get(lane_of(notice.node)) != pd:
            wrong.append(f"pd={pd}: it does not manage {lane_of(notice.node)}")
        for node in ends:
            if not _lives(model, doomed, node):
                wrong.append(f"{node} is not there, or doomed")
        if (upper in model.space_of) != (lower in model.space_of):
            wrong.append(f"from={upper} to={lower}: expected two resources or two spaces")
        if (pd, lower) not in model.holds and (pd, space) not in model.requests:
            wrong.append(f"to={lower}: {pd} neither holds it nor may request it")
        if ends in model.maps or ends in running.pieces:
            wrong.append(f"from={upper} to={lower}: it is known already")
        elif _is_built_on(lower, upper, {*model.maps, *_alive(model, doomed, running.pieces)}):
            wrong.append(f"from={upper} to={lower}: it closes a circle")
        running.pieces.append(ends)
        running.shown.pieces += 1
        return wrong

    def state(self, x: int, model: Model, doomed: Collection[str]) -> list[str]:
        """The rows that the extraction is to have, without the header."""
        marked = model.copy()
        for node in doomed:
            extra = marked.nodes[node].extra
            marked.nodes[node] = replace(marked.nodes[node], extra=f"{extra} {DOOMED}" if extra else DOOMED)
        for upper, lower in _alive(model, doomed, self.all[x].pieces):
            if (upper, lower) not in marked.maps and not _is_built_on(lower, upper, marked.maps):
                marked.maps.add((upper, lower))
        return state_rows(marked)[1:]


def _lives(model: Model, doomed: Collection[str], node: str) -> bool:
    return node in model.nodes and node not in doomed and model.space_of.get(node) not in doomed


def _alive(model: Model, doomed: Collection[str], pieces: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [piece for piece in pieces if all(_lives(model, doomed, node) for node in piece)]


def _is_built_on(node: str, other: str, maps: Collection[tuple[str, str]]) -> bool:
    """Is `node`, over any number of MAP edges, built on `other`, or is it that one?"""
    below: dict[str, list[str]] = {}
    for upper, lower in maps:
        below.setdefault(upper, []).append(lower)
    seen, pending = {node}, [node]
    while pending:
        for lower in below.get(pending.pop(), []):
            if lower not in seen:
                seen.add(lower)
                pending.append(lower)
    return other in seen
