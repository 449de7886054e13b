# SPDX-License-Identifier: BSD-2-Clause
"""The nodes of a model state: PDs, spaces and resources, and which node contains which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from cellreap.errors import ModelError
from cellreap.model.ids import CORE_TYPES, ROOT, NodeKind, parse_id, pd_id

PINNED: Final = "PINNED"
"""First word of a pinned PD's EXTRA column."""

MANAGER: Final = "MANAGER="
"""Prefix of a space's EXTRA column, where the edges alone do not determine the manager."""

HANDLER: Final = "HANDLER="
"""Prefix of the EXTRA column of a SUBSCRIBE edge that names a handler."""

READ_ONLY: Final = "READ"
"""EXTRA column of a HOLD or MAP edge to a memory object, without the right to write."""

DOOMED: Final = "DOOMED"
"""Last word of the EXTRA column of a PD or space that a cleanup in progress has doomed."""

MAX_TEXT: Final = 256
"""Characters in a name or extra text."""


@dataclass(frozen=True)
class Node:
    """A live node.

    name: a PD's name; empty for others. type: the type of a space or resource; empty for PDs.
    pinned: for PDs only; policy does not doom a pinned PD. extra: text of the node's EXTRA column,
    for example the page counts of an MO, without the pin.
    """

    id: str
    kind: NodeKind
    name: str = ""
    type: str = ""
    pinned: bool = False
    extra: str = ""


@dataclass
class Nodes:
    """The live nodes, by id. Keys and values of the mappings are node ids."""

    nodes: dict[str, Node] = field(default_factory=dict)
    """id -> the PD, space or resource"""
    manager: dict[str, str] = field(default_factory=dict)
    """space -> the PD that manages it"""
    space_of: dict[str, str] = field(default_factory=dict)
    """resource -> its space"""
    _bodies: dict[int, str] = field(default_factory=dict, compare=False, repr=False)
    """number of a PD -> the resource that stands for its body"""

    # -- looking

    def pds(self) -> Iterator[str]:
        """All PDs, the root task included."""
        return (node.id for node in self.nodes.values() if node.kind == "PD")

    def spaces(self) -> Iterator[str]:
        """All spaces."""
        return (node.id for node in self.nodes.values() if node.kind == "RESOURCE_SPACE")

    def resources(self) -> Iterator[str]:
        """All resources."""
        return (node.id for node in self.nodes.values() if node.kind == "RESOURCE")

    def spaces_of(self, pd: str) -> list[str]:
        """The spaces that a PD manages, sorted."""
        return sorted(space for space, manager in self.manager.items() if manager == pd)

    def resources_in(self, space: str) -> list[str]:
        """The resources of a space, sorted."""
        return sorted(res for res, its_space in self.space_of.items() if its_space == space)

    def is_core(self, space: str) -> bool:
        """Whether the root task itself serves the space's type."""
        return self._need(space, "RESOURCE_SPACE").type in CORE_TYPES

    def body_of(self, pd: str) -> str | None:
        """The core resource that stands for the capability to the PD's body.

        It has type PD and the number of the PD. None if there is no such resource.
        """
        parts = parse_id(self._need(pd, "PD").id)
        assert parts is not None
        return self._bodies.get(parts.number)

    def body_pairs(self) -> list[tuple[str, str]]:
        """(PD, the resource that stands for its body), for every PD that has such a resource."""
        pairs = ((pd_id(number), res) for number, res in self._bodies.items())
        return [(pd, res) for pd, res in pairs if pd in self.nodes]

    def find_pd(self, name_or_id: str) -> str:
        """The id of the PD with this id or name. ModelError if no PD or several PDs have it."""
        node = self.nodes.get(name_or_id)
        if node is not None and node.kind == "PD":
            return node.id
        named = sorted(pd for pd in self.pds() if self.nodes[pd].name == name_or_id)
        if not named:
            raise ModelError(f"no PD has the id or name '{name_or_id}'")
        if len(named) > 1:
            raise ModelError(
                f"several PDs are named '{name_or_id}' ({', '.join(named)}): give the id"
            )
        return named[0]

    # -- nodes

    def add_pd(self, pd: str, name: str = "", *, pinned: bool = False, extra: str = "") -> None:
        """Adds a PD."""
        self._fresh(pd, "PD")
        _plain(name, "name", pd)
        _plain(extra, "extra text", pd)
        if extra.split(" ")[0] == PINNED:
            raise ModelError(
                f"{pd}: the extra text cannot begin with {PINNED}, which stands for a pin"
            )
        self.nodes[pd] = Node(pd, "PD", name=name, pinned=pinned, extra=extra)

    def add_space(self, space: str, manager: str, *, extra: str = "") -> None:
        """Adds a space with its manager. Does not add the HOLD of the manager."""
        type_name = self._fresh(space, "RESOURCE_SPACE")
        self._need(manager, "PD")
        _plain(extra, "extra text", space)
        if extra.startswith(MANAGER):
            raise ModelError(
                f"{space}: the extra text cannot begin with {MANAGER}, which names a manager"
            )
        if type_name in CORE_TYPES and manager != ROOT:
            raise ModelError(f"{space} is of a core type: its manager is {ROOT}, not {manager}")
        self.nodes[space] = Node(space, "RESOURCE_SPACE", type=type_name, extra=extra)
        self.manager[space] = manager

    def add_resource(self, res: str, space: str, *, extra: str = "") -> None:
        """Adds a resource to a space. Does not add the HOLD of the manager."""
        type_name = self._fresh(res, "RESOURCE")
        self._need(space, "RESOURCE_SPACE")
        _plain(extra, "extra text", res)
        self.note_body(res, space)
        self.nodes[res] = Node(res, "RESOURCE", type=type_name, extra=extra)
        self.space_of[res] = space

    def tell_extra(self, res: str, extra: str) -> None:
        """Sets the extra text of a resource that is there."""
        _plain(extra, "extra text", res)
        self.nodes[res] = replace(self.nodes[res], extra=extra)

    def note_body(self, res: str, space: str) -> None:
        """Notes whose body a resource stands for, if it is one. ModelError if another one does: a
        PD has at most one.
        """
        number = self._body_number(res, space)
        if number is not None and (other := self._bodies.setdefault(number, res)) != res:
            raise ModelError(f"{res}: {other} stands for the body of {pd_id(number)} already")

    def set_pinned(self, pd: str, pinned: bool) -> None:
        """Pins or unpins a PD."""
        self.nodes[pd] = replace(self._need(pd, "PD"), pinned=pinned)

    # -- helpers

    def _forget_body(self, res: str) -> None:
        """The counterpart of `note_body`."""
        parts = parse_id(res)
        if parts is not None and self._bodies.get(parts.number) == res:
            del self._bodies[parts.number]

    def _body_number(self, res: str, space: str) -> int | None:
        """The number of the PD whose body the resource stands for; None if it is not a body."""
        if not res.startswith("PD_") or self.nodes[space].type not in CORE_TYPES:
            return None
        parts = parse_id(res)
        return parts.number if parts is not None and parts.type == "PD" else None

    def _need(self, id_: str, *kinds: NodeKind) -> Node:
        node = self.nodes.get(id_)
        if node is None:
            raise ModelError(f"there is no {id_}")
        if node.kind not in kinds:
            raise ModelError(f"{id_} is a {node.kind}, expected a {' or '.join(kinds)}")
        return node

    def _fresh(self, id_: str, kind: NodeKind) -> str:
        parts = parse_id(id_)
        if parts is None or parts.kind != kind:
            raise ModelError(f"'{id_}' is no id of a {kind}")
        if id_ in self.nodes:
            raise ModelError(f"{id_} exists already")
        return parts.type


def _plain(text: str, what: str, id_: str) -> None:
    # Names are printed on consoles, in CSV rows and in error lines. A line break in a name would
    # forge a line of its own.
    if not text.isprintable():
        raise ModelError(f"{id_}: the {what} has a character that cannot be printed")
    if len(text) > MAX_TEXT:
        raise ModelError(f"{id_}: the {what} is longer than {MAX_TEXT} characters")
