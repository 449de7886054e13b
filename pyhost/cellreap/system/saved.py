# SPDX-License-Identifier: BSD-2-Clause
"""What an image carries of a saved state. The root task makes it again and cleans it up at once.

These are the PDs and spaces that the configuration no longer names, and of the PDs that it names
what these have to do with them. The numbers are those of the saved state. What the root task itself
serves is left out: PD capabilities and memory do not outlive a restart. Neither do links, owners
and fault handlers: they are agreed upon anew. Subscriptions of PDs that are named to what is not
are carried: these PDs are told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from cellreap import headers
from cellreap.errors import InputError
from cellreap.model.csvstate import read_state
from cellreap.model.graph import Model
from cellreap.model.ids import ROOT, number_of
from cellreap.system.config import Config, quotas
from cellreap.system.config.tables import core_spaces, need
from cellreap.system.naming import carried_by, named_by, unnamed_by
from cellreap.system.programs import Source
from cellreap.system.toml_lines import KeyPath

_KEY: Final[KeyPath] = ("system", "reconcile")
"""The spaces that the root task makes for itself: they have the first numbers."""
_NO_NAME: Final = "-"
"""The name of a space that the configuration does not name."""


@dataclass(frozen=True)
class SavedNode:
    """A row of `cr_image_saved_node`, with what it refers to by its position."""

    id: str
    kind: str
    """GONE, NAMED, SPACE or RESOURCE."""
    number: int = 0
    of: int = 0
    """NAMED: the position of the PD in the configuration. SPACE: the manager. RESOURCE: the space.
    """
    name: str = ""
    type: str = ""
    bits: int = 0
    next: int = 0


@dataclass(frozen=True)
class SavedEdge:
    """A row of `cr_image_saved_edge`. kind: REQUEST, HOLD, MAP or SUBSCRIBE. source, target:
    positions.
    """

    kind: str
    source: int
    target: int
    count: int = 1
    handler: int = 0


@dataclass(frozen=True)
class Saved:
    """What an image carries of a saved state."""

    nodes: tuple[SavedNode, ...] = ()
    edges: tuple[SavedEdge, ...] = ()

    def gone(self) -> list[SavedNode]:
        """The PDs that the configuration does not name."""
        return [node for node in self.nodes if node.kind == "GONE"]


NOTHING: Final = Saved()


def saved_of(source: Source) -> Saved:
    """What the image of a configuration carries of the state that its `reconcile` names.

    InputError if the file is wrong, or if the system has no room for it.
    """
    config = source.config
    if config.system.reconcile is None:
        return NOTHING
    if config.bench.numbers_left is not None:
        message = "the numbers of a saved state are given; expected no key"
        raise source.refuse(("bench", "numbers_left"), message)
    path = source.path.parent / config.system.reconcile
    model, _ = read_state(path, strict=True)
    violations = model.check_legal()
    if violations:
        first = violations[0]
        raise InputError(str(path), None, None, f"is not legal: {first.rule}: {first.text}")
    saved = _Collecting(source, model).saved()
    _check_room(source, saved)
    return saved


class _Collecting:
    """Finds the nodes and edges of a saved state that an image carries."""

    def __init__(self, source: Source, model: Model) -> None:
        self.source = source
        self.named = named_by(source.config, model)
        unnamed = unnamed_by(source.config, model)
        self.model = carried_by(unnamed, model)
        self.gone = _by_number(id_ for id_ in unnamed if model.nodes[id_].kind == "PD")
        self.dead = {
            space
            for space, manager in model.manager.items()
            if space in unnamed or manager in self.gone
        }
        self.edges = [*self._requests(), *self._holds()]
        self.subscriptions = [edge for edge in self.model.edges() if edge.kind == "SUBSCRIBE"]

    def _requests(self) -> Iterable[tuple[str, str, str, int]]:
        for pd, space in sorted(self.model.requests):
            if self.model.is_core(space) or pd == ROOT:
                continue
            if pd in self.gone or space in self.dead:
                yield "REQUEST", pd, space, 1

    def _holds(self) -> Iterable[tuple[str, str, str, int]]:
        """Without those of managers, which follow from the nodes, and of the root task."""
        model = self.model
        for (pd, node), count in sorted(model.holds.items()):
            space = model.space_of.get(node)
            if space is None or model.is_core(space) or pd in (model.manager[space], ROOT):
                continue
            if pd in self.gone or space in self.dead:
                yield "HOLD", pd, node, count

    def _refuse(self, message: str) -> InputError:
        return self.source.refuse(_KEY, f"{self.source.config.system.reconcile}: {message}")

    def saved(self) -> Saved:
        """Nodes by kind and number, then the edges between them."""
        model, space_of = self.model, self.model.space_of
        ends = {end for _, *pair, _ in self.edges for end in pair}
        ends |= {end for edge in self.subscriptions for end in (edge.source, edge.target)}
        resources = {node for node, space in space_of.items() if space in self.dead}
        resources |= {end for end in ends if end in space_of}
        spaces = self.dead | {end for end in ends if end in model.manager}
        spaces |= {space_of[node] for node in resources}
        pds = {end for end in ends if model.nodes[end].kind == "PD"}
        pds |= {model.manager[space] for space in spaces}
        nodes = [self._gone_pd(pd) for pd in self.gone]
        nodes += [self._named_pd(pd) for pd in _by_number(pds - set(self.gone))]
        at = {node.id: i for i, node in enumerate(nodes)}
        for space in _by_number(spaces):
            at[space] = len(nodes)
            nodes.append(self._space(space, at))
        for node in sorted(resources, key=lambda id_: (at[space_of[id_]], number_of(id_))):
            at[node] = len(nodes)
            nodes.append(SavedNode(node, "RESOURCE", number_of(node), at[space_of[node]]))
        maps = [("MAP", a, b, 1) for a, b in sorted(model.maps) if a in at and b in at]
        edges = tuple(
            SavedEdge(kind, at[a], at[b], count) for kind, a, b, count in (*self.edges, *maps)
        )
        subscriptions = tuple(
            SavedEdge(edge.kind, at[edge.source], at[edge.target], edge.times, edge.handler)
            for edge in sorted(self.subscriptions)
        )
        return Saved(tuple(nodes), edges + subscriptions)

    def _number(self, node: str, kind: str, first: int = 1) -> int:
        """The number in an id, if the root task gives such numbers. kind: as in numbers.h."""
        number, last = number_of(node), headers.constant("numbers.h", f"CR_LAST_{kind}")
        if not first <= number <= last:
            raise self._refuse(f"{node}: expected a number from {first:x} to {last:x}")
        return number

    def _caps(self, pd: str) -> int:
        return sum(end == pd for _, end, _, _ in self.edges)

    def _gone_pd(self, pd: str) -> SavedNode:
        name, caps = self.model.nodes[pd].name, self._caps(pd)
        longest = headers.constant("image.h", "CR_NAME_BYTES") - 1
        if not name.isascii() or not name.isprintable() or not 1 <= len(name) <= longest:
            raise self._refuse(
                f'{pd} is named "{name}"; expected 1 to {longest} characters of ASCII'
            )
        least, most = (
            headers.constant("limits.h", f"CR_CSPACE_BITS_{end}") for end in ("MIN", "MAX")
        )
        first = headers.constant("protocol.h", "CR_SLOT_FIRST_FREE")
        bits = max((first + caps - 1).bit_length(), least)
        if bits > most:
            room = (1 << most) - first
            raise self._refuse(f"{pd} holds and requests {caps} nodes; expected at most {room}")
        return SavedNode(pd, "GONE", self._number(pd, "PD"), name=name, bits=bits)

    def _named_pd(self, pd: str) -> SavedNode:
        config, name = self.source.config, self.model.nodes[pd].name
        at = next(i for i, each in enumerate(config.pds) if each.name == name)
        row, caps = config.pds[at], self._caps(pd)
        if row.start != "boot":
            what = "has to do with what it does not name"
            raise self._refuse(f'{pd}, "{name}", {what}; expected a PD that starts at boot')
        first = headers.constant("protocol.h", "CR_SLOT_FIRST_FREE")
        room = min(
            (1 << row.cspace_bits) - first - len(row.holds_pds),
            headers.constant("limits.h", "CR_MAX_LOST_SLOTS"),
        )
        if caps > room:
            what = f'{pd}, "{name}", loses {caps} capabilities'
            raise self._refuse(f"{what}; expected at most {room}, for which it has slots")
        return SavedNode(pd, "NAMED", of=at)

    def _space(self, space: str, at: dict[str, int]) -> SavedNode:
        model = self.model
        number = self._number(space, "SPACE", core_spaces(self.source.config) + 1)
        spaces = (node for node in at if node in model.manager and node != space)
        if same := [other for other in spaces if number_of(other) == number]:
            raise self._refuse(f"{space} has the number of {same[0]}; expected another")
        members = (node for node, of in model.space_of.items() if of == space)
        last = max((self._number(node, "OBJECT") for node in members), default=0)
        name = self.named.get(space, _NO_NAME)
        manager = at[model.manager[space]]
        return SavedNode(
            space, "SPACE", number, manager, name, model.nodes[space].type, next=last + 1
        )


def smallest(programs: Mapping[str, bytes]) -> str:
    """The program of the PDs of a saved state. Nothing of it is executed."""
    return min(sorted(programs), key=lambda name: len(programs[name]))


def _check_room(source: Source, saved: Saved) -> None:
    """InputError if the tables of the root task have no room for both."""
    config = source.config
    kinds = Counter(node.kind for node in saved.nodes)
    resources, spaces = kinds["RESOURCE"], kinds["SPACE"]
    more = {
        "pds": kinds["GONE"],
        "nodes": 2 * kinds["GONE"] + spaces + resources,
        # a space and a resource have a manager and its hold, or a parent and the manager's hold
        # and with a subscription comes the room for its notice
        "edges": 2 * (spaces + resources)
        + sum(1 + (edge.kind == "SUBSCRIBE") for edge in saved.edges),
        "spaces": spaces,
        "types": len({node.type for node in saved.nodes if node.kind == "SPACE"}),
        "requests": sum(edge.kind == "REQUEST" for edge in saved.edges),
    }
    for word, count in more.items():
        left = (quotas.available(config, word) or 0) - _taken(config, word)
        if count > left:
            message = f"the saved state needs {count} {word}; expected at most {max(left, 0)}"
            hint = "a [pd.quota] that asks for more makes larger tables"
            raise source.refuse(_KEY, f"{config.system.reconcile}: {message} ({hint})")


def _taken(config: Config, word: str) -> int:
    """What is in use before any PD runs. Quotas are divided later."""
    if word == "pds":
        return len(config.pds)
    return sum(need(pd, word) for pd in config.pds)


def _by_number(ids: Iterable[str]) -> list[str]:
    return sorted(ids, key=lambda id_: (number_of(id_), id_))
