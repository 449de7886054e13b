# SPDX-License-Identifier: BSD-2-Clause
"""Builds a model from rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import attrgetter
from typing import Final

from cellreap.errors import InputError, ModelError
from cellreap.model.csvstate.report import ReadReport
from cellreap.model.csvstate.rows import EdgeRow, NodeRow, bad, handler_in, is_pinned
from cellreap.model.edges import EDGE_KINDS
from cellreap.model.graph import Model
from cellreap.model.ids import CORE_TYPES, ROOT
from cellreap.model.nodes import MANAGER, MAX_TEXT, PINNED, READ_ONLY, Node


class Builder:
    """Builds a model from rows. exact: leaving anything out is an error."""

    def __init__(
        self, path: str, report: ReadReport, nodes: dict[str, NodeRow], *, exact: bool
    ) -> None:
        self.path = path
        self.report = report
        self.nodes = nodes
        self.exact = exact
        self.model = Model()
        self._spaces: dict[tuple[str, str], list[str]] | None = None
        """(manager, type) -> spaces, for rows that name no space"""

    def build(self, rows: list[EdgeRow]) -> Model:
        """The model of the node rows and of these edge rows."""
        plain = self._plain(rows)
        if plain is not None:
            return plain
        edges = self._only_listed(rows)
        for row in self.nodes.values():
            if row.kind == "PD":
                pinned = is_pinned(row.extra)
                extra = row.extra[len(PINNED) + 1 :] if pinned else row.extra
                with self._in(row):
                    self.model.add_pd(row.id, row.data, pinned=pinned, extra=extra)
        self._add_spaces(edges)
        edges = self._add_resources(edges)
        seen: set[tuple[str, ...]] = set()
        for edge in edges:
            if not EDGE_KINDS[edge.type].counted:
                ends = (edge.source, edge.target)
                key = (
                    edge.type,
                    *(sorted(ends) if edge.type == "LINK" else ends),
                    edge.extra,
                    edge.data,
                )
                if key in seen:
                    self.report.duplicates += 1
                    continue
                seen.add(key)
            if edge.type == "REQUEST":
                self._request(edge)
            elif edge.type != "SUBSET":
                named = {"handler": handler_in(edge.extra)} if edge.type == "SUBSCRIBE" else {}
                try:
                    _ADD[edge.type](self.model, edge.source, edge.target, **named)
                except ModelError as error:
                    raise InputError(self.path, edge.line, None, f"{error}") from None
                if edge.extra == READ_ONLY:
                    self.model.tell_right(edge.source, edge.target, may_write=False)
        return self.model

    def _plain(self, rows: list[EdgeRow]) -> Model | None:
        """The model of rows that are as most are, made kind by kind.

        None if anything is wrong with a row, double, or rare: `build` then decides, row by row.
        What this function returns is what `build` would return.
        """
        nodes = self.nodes
        by: dict[str, list[EdgeRow]] = {name: [] for name in EDGE_KINDS}
        for row in rows:
            by[row.type].append(row)
        ends = {name: list(map(_ENDS, by[name])) for name in EDGE_KINDS}
        if any(not nodes.keys() >= set(chain.from_iterable(pairs)) for pairs in ends.values()):
            return None
        space_of = dict(ends["SUBSET"])
        if len(space_of) < len(ends["SUBSET"]) or any(
            row.extra and row.extra not in nodes for row in by["REQUEST"]
        ):
            return None
        model = self.model
        managers = _plain_managers(nodes, by["HOLD"])
        of_kind: dict[str, list[NodeRow]] = {"PD": [], "RESOURCE_SPACE": [], "RESOURCE": []}
        for node in nodes.values():
            of_kind[node.kind].append(node)
        made = managers is not None and all(
            self._plain_node(row, space_of, managers) for each in of_kind.values() for row in each
        )
        if managers is None or not made or not self._plain_edges(by, ends):
            self.model = Model()
            return None
        return model

    def _plain_node(self, row: NodeRow, space_of: dict[str, str], managers: dict[str, str]) -> bool:
        """Adds a node, unless more is to be checked of it than is checked here."""
        model, (_, kind, id_, data, extra) = self.model, row
        if kind == "PD":
            if extra:
                pinned = is_pinned(extra)
                try:
                    more = extra[len(PINNED) + 1 :] if pinned else extra
                    model.add_pd(id_, data, pinned=pinned, extra=more)
                except ModelError:
                    return False
            elif not data.isprintable() or len(data) > MAX_TEXT:
                return False
            else:
                model.nodes[id_] = Node(id_, kind, data)
            return True
        if not extra.isprintable() or len(extra) > MAX_TEXT:
            return False
        model.nodes[id_] = Node(id_, kind, "", data, False, extra)
        if kind == "RESOURCE_SPACE":
            model.manager[id_] = managers[id_]
            return True
        space = space_of.get(id_)
        if space is None:
            return False
        model.space_of[id_] = space
        if data == "PD":
            try:
                model.note_body(id_, space)
            except ModelError:
                return False
        return True

    def _plain_edges(
        self, by: dict[str, list[EdgeRow]], ends: dict[str, list[tuple[str, str]]]
    ) -> bool:
        """Adds the edges, unless one is double or wrong."""
        model = self.model
        model.holds.update(ends["HOLD"])
        model.maps.update(ends["MAP"])
        if len(model.maps) < len(ends["MAP"]) or any(a == b for a, b in model.maps):
            return False
        for row in (*by["HOLD"], *by["MAP"]):
            if row.extra:
                model.tell_right(row.source, row.target, may_write=False)
        requests = by["REQUEST"]
        if any(row.extra and model.manager[row.extra] != row.target for row in requests):
            return False
        if len({row[2:] for row in requests}) < len(requests):
            return False
        managed: dict[tuple[str, str], list[str]] = {}
        for space, manager in model.manager.items():
            managed.setdefault((manager, model.nodes[space].type), []).append(space)
        empty = 0
        for row in requests:
            spaces = [row.extra] if row.extra else managed.get((row.target, row.data), [])
            empty += not spaces
            model.requests.update((row.source, space) for space in spaces)
        for name in ("FAULT", "LINK", "OWN", "SUBSCRIBE"):
            pairs = ends[name]
            once = {(min(pair), max(pair)) for pair in pairs} if name == "LINK" else set(pairs)
            if len(once) < len(pairs) and not EDGE_KINDS[name].counted:
                return False
            try:
                for a, b in pairs if name != "SUBSCRIBE" else ():
                    _ADD[name](model, a, b)
                for row in by[name] if name == "SUBSCRIBE" else ():
                    model.add_subscribe(row.source, row.target, handler=handler_in(row.extra))
            except ModelError:
                return False
        self.report.empty_requests += empty
        return True

    @contextlib.contextmanager
    def _in(self, row: NodeRow | EdgeRow) -> Iterator[None]:
        """A ModelError that is raised within this context becomes an error in this row."""
        try:
            yield
        except ModelError as error:
            raise InputError(self.path, row.line, None, f"{error}") from None

    def _leave_out(self, line: int, column: str, what: str, *, gone: bool = False) -> None:
        """gone: what is left out says nothing about the nodes that are there."""
        if self.exact:
            raise InputError(self.path, line, column, what)
        self.report.left_out.append((line, what))
        if not gone:
            self.report.missing.append((line, what))

    def _only_listed(self, rows: Iterable[EdgeRow]) -> list[EdgeRow]:
        listed = []
        for row in rows:
            for column, id_ in (
                ("EDGE_FROM", row.source),
                ("EDGE_TO", row.target),
                ("EXTRA", row.extra if row.type == "REQUEST" else ""),
            ):
                if id_ and id_ not in self.nodes:
                    what = f"{row} names {id_}, which the file does not list"
                    gone = row.type == "MAP" and column == "EDGE_TO"
                    self._leave_out(row.line, column, what, gone=gone)
                    break
            else:
                listed.append(row)
        return listed

    def _add_spaces(self, edges: list[EdgeRow]) -> None:
        holders: dict[str, set[str]] = {}
        requests: dict[tuple[str, str], set[str]] = {}
        for edge in edges:
            if edge.type == "HOLD":
                holders.setdefault(edge.target, set()).add(edge.source)
            elif edge.type == "REQUEST" and edge.source != edge.target:
                requests.setdefault((edge.data, edge.extra), set()).add(edge.target)
        for row in self.nodes.values():
            if row.kind != "RESOURCE_SPACE":
                continue
            manager, extra = self._manager(row, holders.get(row.id, set()), requests)
            with self._in(row):
                self.model.add_space(row.id, manager, extra=extra)

    def _manager(
        self, row: NodeRow, holders: set[str], requests: dict[tuple[str, str], set[str]]
    ) -> tuple[str, str]:
        """The manager of a space, and the rest of the row's EXTRA."""
        if row.extra.startswith(MANAGER):
            named, _, extra = row.extra.removeprefix(MANAGER).partition(" ")
            if named not in self.nodes or self.nodes[named].kind != "PD":
                bad(
                    self.path,
                    row.line,
                    "EXTRA",
                    row.extra,
                    f"{MANAGER} and a PD that the file lists",
                )
            return named, extra
        if row.data in CORE_TYPES:
            if ROOT not in self.nodes:
                raise InputError(
                    self.path,
                    row.line,
                    "NODE_ID",
                    f"{row.id} is served by {ROOT}, expected a row for {ROOT}",
                )
            return ROOT, row.extra
        named_in_requests = requests.get((row.data, ""), set()) | requests.get(
            (row.data, row.id), set()
        )
        candidates = infer_managers(holders, named_in_requests)
        if len(candidates) != 1:
            said = f"{', '.join(sorted(candidates))} hold it" if candidates else "nobody holds it"
            raise InputError(
                self.path, row.line, "NODE_ID", f"{row.id}: {said}, expected one manager"
            )
        (manager,) = candidates
        return manager, row.extra

    def _add_resources(self, edges: list[EdgeRow]) -> list[EdgeRow]:
        """Adds the resources. Resources whose space is not listed are left out.

        Returns the edges that do not end at a resource that was left out.
        """
        space_of: dict[str, EdgeRow] = {}
        for edge in edges:
            if edge.type == "SUBSET":
                before = space_of.setdefault(edge.source, edge)
                if before.target != edge.target:
                    where = f"{before.target} as in line {before.line}"
                    expected = f"{where}: a resource is in one space"
                    bad(self.path, edge.line, "EDGE_TO", edge.target, expected)
        homeless = set()
        for row in self.nodes.values():
            if row.kind != "RESOURCE":
                continue
            if row.id in space_of:
                space = space_of[row.id].target
                with self._in(row):
                    self.model.add_resource(row.id, space, extra=row.extra)
            else:
                what = f"{row.id} has no SUBSET row to a space that the file lists"
                self._leave_out(row.line, "NODE_ID", what)
                homeless.add(row.id)
        if not homeless:
            return edges
        for id_ in homeless:
            del self.nodes[id_]
        return self._only_listed(edges)

    def _request(self, edge: EdgeRow) -> None:
        if edge.extra:
            manager = self.model.manager[edge.extra]
            if manager != edge.target:
                bad(
                    self.path,
                    edge.line,
                    "EDGE_TO",
                    edge.target,
                    f"{manager}, the manager of {edge.extra}",
                )
            spaces = [edge.extra]
        else:
            spaces = self._served(edge.target, edge.data)
            self.report.empty_requests += not spaces
        # The same edge may also come from a row that names only the type.
        self.model.requests.update((edge.source, space) for space in spaces)

    def _served(self, manager: str, type_name: str) -> list[str]:
        """The spaces of a type that a PD manages, all of which are there by now."""
        if self._spaces is None:
            self._spaces = {}
            for space, pd in sorted(self.model.manager.items()):
                of = self.model.nodes[space].type
                self._spaces.setdefault((pd, of), []).append(space)
        return self._spaces.get((manager, type_name), [])


_ENDS: Final = attrgetter("source", "target")
_ADD: Final[dict[str, Callable[..., None]]] = {
    "HOLD": Model.add_hold,
    "MAP": Model.add_map,
    "FAULT": Model.set_fault,
    "LINK": Model.add_link,
    "OWN": Model.add_own,
    "SUBSCRIBE": Model.add_subscribe,
}


def _plain_managers(nodes: dict[str, NodeRow], holds: list[EdgeRow]) -> dict[str, str] | None:
    """Space -> its manager, if the edges alone determine it, as for most."""
    spaces = {row.id: row for row in nodes.values() if row.kind == "RESOURCE_SPACE"}
    holders: dict[str, str] = {}
    for edge in holds:
        if edge.target in spaces and holders.setdefault(edge.target, edge.source) != edge.source:
            return None
    found = {}
    for id_, row in spaces.items():
        manager = ROOT if row.data in CORE_TYPES else holders.get(id_)
        if manager is None or manager not in nodes or row.extra:
            return None
        found[id_] = manager
    return found


def infer_managers(holders: set[str], named_in_requests: set[str]) -> set[str]:
    """The PDs that may manage a space that is not core; one PD if the edges determine the manager.

    holders: the PDs that hold the space. named_in_requests: the PDs at which REQUEST rows of other
    PDs for the space end.
    """
    return holders if len(holders) < 2 else (holders & named_in_requests or holders)
