# SPDX-License-Identifier: BSD-2-Clause
"""What an operation demands: the authority of the PD that asks, for each change of the model.

docs/operations.md has the same rules in words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from cellreap.model.ids import (
    MEMORY,
    REGION,
    ROOT,
    is_given,
    is_memory,
    is_object,
    is_region,
    parts_of,
    pd_behind,
)
from cellreap.trace.check.configured_threads import is_process
from cellreap.trace.check.context import Context
from cellreap.trace.check.memory import WRITABLE
from cellreap.trace.events import NOBODY, Event
from cellreap.trace.events import RECONCILED as SAVED

MAKE_SAVED: Final = (
    "PD", "SPACE", "RESOURCE", "made HOLD", "made REQUEST", "made MAP", "made SUBSCRIBE",
)  # fmt: skip
"""The changes by which a saved state is made."""


@dataclass
class Making:
    """A PD that is being made."""

    pd: str
    asker: str
    op: str
    lacks: list[str] = field(default_factory=list)
    """of a spawned PD: the events that its creator still has to get"""


class Powers:
    """Says whether a change may be, before the model has it. Changes nothing but `making` and
    `needs`.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.making: Making | None = None
        """the PD that is being made"""
        self.needs: Event | None = None
        """a resource of a core space, directly after it was made"""

    def allow(self, event: Event, asker: str) -> bool:
        """Whether the PD that asks has the authority for the change."""
        return _POWERS[event.told, event["op"]](self, event, asker)

    def _gets(self, event: Event) -> bool:
        """The creator of the PD that is being made gets what it must get."""
        if self.making is not None and event.told in self.making.lacks:
            self.making.lacks.remove(event.told)
        return True

    # -- what PDs have

    def _manages(self, asker: str, node: str) -> bool:
        model = self.context.model
        return model.manager.get(model.space_of.get(node, node)) == asker

    def _asks_for(self, asker: str, type_name: str) -> bool:
        """Whether the PD has a request to a core space of that type."""
        return self.context.model.asks_for(asker, type_name)

    def _has_body(self, asker: str, pd: str) -> bool:
        """Whether it holds the capability to the PD."""
        body = self.context.model.body_of(pd) if pd in self.context.model.nodes else None
        return body is not None and (asker, body) in self.context.model.holds

    def _keeps(self, asker: str, node: str) -> bool:
        """Whether the PD holds the node, and can hand it on."""
        bound = is_region(node) or is_given(node)
        return (asker, node) in self.context.model.holds and not bound

    def _names(self, asker: str, pd: str, node: str) -> bool:
        """Whether it can name the PD that gets an edge to the node."""
        return pd != asker and not self._manages(pd, node) and self._has_body(asker, pd)

    def _makes(self, *pds: str) -> bool:
        """Whether one of the PDs is being made."""
        return self.making is not None and self.making.pd in pds

    def _follows(self, name: str, field: str, node: str) -> bool:
        """Whether the event before is of this name, and of the node."""
        before = self.context.previous
        return before.name == name and before[field] == node

    # -- nodes

    def _space(self, event: Event, asker: str) -> bool:
        return event["manager"] == asker and self._asks_for(asker, "RESSPC")

    def _core_resource(self, event: Event, asker: str) -> bool:
        """A resource of the root task, which it makes for a HOLD."""
        model, node, pd = self.context.model, event["id"], pd_behind(event["id"])
        if event["space"] not in model.nodes:
            return True  # the model reports it
        if not model.is_core(event["space"]):
            return False
        self.needs = event
        if event["op"] == NOBODY and (is_memory(node) or is_given(node)):
            if is_object(node):
                self.needs = None
            return self.making is not None
        if pd is None:
            return event["op"] not in ("spawn", "save")
        return pd in model.nodes and pd != ROOT and (event["op"] != "spawn" or self._makes(pd))

    def _memory(self, event: Event, asker: str) -> bool:
        """A memory object, or a region with one that the PD holds."""
        allocates = event["op"] == "allocate"
        if parts_of(event["id"]).type != (MEMORY if allocates else REGION):
            return False
        if allocates and not self._asks_for(asker, MEMORY):
            return False
        return self._core_resource(event, asker)

    def _delete(self, event: Event, asker: str) -> bool:
        of_space = event["part"] == "1" or event["node"] in self.context.model.manager
        alike = of_space == (event["op"] == "delete_space")
        return event["by"] == asker and alike and self._manages(asker, event["node"])

    # -- holds

    def _own_hold(self, event: Event, asker: str) -> bool:
        """A manager holds what it makes."""
        made = {"create_space": "SPACE", "create_resource": "RESOURCE"}.get(event["op"], "BODY")
        if not self._follows(made, "of" if made == "BODY" else "id", event["to"]):
            return False
        return event["from"] == asker and (made == "BODY" or self._manages(asker, event["to"]))

    def _given(self, event: Event, asker: str) -> bool:
        """A manager gives what it manages, or memory that it holds, to a client."""
        node, gives_memory = event["to"], event["op"] == "give" and is_memory(event["to"])
        may = self._keeps(asker, node) if gives_memory else self._manages(asker, node)
        return may and self.context.model.is_client_of(event["from"], asker)

    def _sent(self, event: Event, asker: str) -> bool:
        keeps = self._keeps(asker, event["to"])
        return keeps and self._names(asker, event["from"], event["to"])

    def _creators_hold(self, event: Event, asker: str) -> bool:
        making = self.making
        made = making is not None and self.context.model.body_of(making.pd) == event["to"]
        return made and event["from"] == asker and self._gets(event)

    def _saved(self, event: Event, asker: str) -> bool:
        """A subscriber saves a PD from the collection that told it of its end."""
        model = self.context.model
        pd = next((pd for pd in model.pds() if model.body_of(pd) == event["to"]), None)
        if event["from"] != asker or pd is None or (asker, event["to"]) in model.holds:
            return False
        return self.context.collections.save(asker, pd)

    def _configured_hold(self, event: Event, asker: str) -> bool:
        node, model = event["to"], self.context.model
        of_start = is_region(node) or is_given(node)
        if (of_start or is_memory(node)) and not (of_start and self._makes(event["from"])):
            return False
        return node in model.space_of and model.is_core(model.space_of[node])

    def _release(self, event: Event, asker: str) -> bool:
        of_others = not self._manages(asker, event["to"]) and not is_given(event["to"])
        return of_others and self._own_edge(event, asker)

    # -- requests

    def _connect(self, event: Event, asker: str) -> bool:
        return self._own_edge(event, asker) and self._of_server(event)

    def _of_server(self, event: Event) -> bool:
        """Whether the root task does not manage the space. Only the configuration gives those."""
        return self.context.model.manager.get(event["to"]) != ROOT

    def _share(self, event: Event, asker: str) -> bool:
        space, requests = event["to"], self.context.model.requests
        may = self._manages(asker, space) or (asker, space) in requests
        return may and self._names(asker, event["from"], space) and self._of_server(event)

    def _first_client(self, event: Event, asker: str) -> bool:
        before = self.context.previous
        own = before.made("HOLD") and before["op"] == "create_space"
        made = own and self._follows("EDGE", "to", event["to"])
        return (made or self.context.saved.take(event["to"])) and self._share(event, asker)

    def _configured_request(self, event: Event, asker: str) -> bool:
        return self.context.model.manager.get(event["to"], ROOT) == ROOT

    def _own_edge(self, event: Event, asker: str) -> bool:
        """A PD drops or makes an edge of its own."""
        return event["from"] == asker

    # -- maps, subscriptions, and what PDs have from the start

    def _map(self, event: Event, asker: str) -> bool:
        model, lower = self.context.model, event["to"]
        space = model.space_of.get(lower, lower)
        depends = (asker, lower) in model.holds or (asker, space) in model.requests
        # Regions map memory, memory backs resources, and the configuration gives the rest.
        of_server = not is_memory(lower) and not is_given(lower)
        return self._manages(asker, event["from"]) and of_server and depends

    def _maps_region(self, event: Event, asker: str) -> bool:
        """A region is mapped directly after its PD got it."""
        before = self.context.previous
        if not before.made("HOLD"):
            return False
        follows = tuple(before[of] for of in ("to", "asker", "op"))
        return follows == (event["from"], asker, event["op"]) and is_object(event["to"])

    def _attach(self, event: Event, asker: str) -> bool:
        if not self._maps_region(event, asker):
            return False
        backing = self.context.memory.backing(event["from"])
        if backing is None:
            return self._holds_memory(event, asker)
        memory, writable = backing
        return memory == event["to"] and (writable or not event.number("number") & WRITABLE)

    def _holds_memory(self, event: Event, asker: str) -> bool:
        return self.context.memory.may_map(asker, event["to"], event.number("number"))

    def _back(self, event: Event, asker: str) -> bool:
        """A manager backs a resource with a memory object that it holds."""
        manages = self._manages(asker, event["from"])
        return manages and is_object(event["to"]) and self._holds_memory(event, asker)

    def _subscription(self, event: Event, asker: str) -> bool:
        node, model = event["to"], self.context.model
        if event["from"] != asker:
            return False
        if node not in model.manager:
            of_thread = event.made("SUBSCRIBE") and is_process(model, node, asker)
            return (node == asker or self._has_body(asker, node)) and not of_thread
        depends = model.depends_on(asker, node) or self._manages(asker, node)
        return event.dropped("SUBSCRIBE") or (not model.is_core(node) and depends)

    def _policy(self, event: Event, asker: str) -> bool:
        """The policy of its own, or of a PD to which it has the capability."""
        return event["pd"] == asker or self._has_body(asker, event["pd"])

    def _own(self, event: Event, asker: str) -> bool:
        own = event["from"] == asker and self._makes(event["to"])
        return own and self._gets(event)

    def _from_start(self, event: Event, asker: str) -> bool:
        """FAULT, LINK or RIGHTS of a PD that is being made, or OWN of a thread."""
        both = [event["to"]] if event.made("LINK", "OWN") else []
        return self._makes(event["from" if event.name == "EDGE" else "pd"], *both)


_ROWS: Final[Sequence[tuple[str, str, Callable[[Powers, Event, str], bool]]]] = (
    *((told, SAVED, lambda it, event, _: it.context.saved.may_be(event)) for told in MAKE_SAVED),
    ("PD", "spawn", lambda it, _, asker: it._asks_for(asker, "PD")),
    ("PD", NOBODY, lambda *_: True),
    ("SPACE", "create_space", Powers._space),
    ("SPACE", NOBODY, lambda _it, event, _asker: event["manager"] == ROOT),
    ("RESOURCE", "create_resource", lambda it, event, pd: it._manages(pd, event["space"])),
    ("RESOURCE", f"spawn save {NOBODY}", Powers._core_resource),
    ("RESOURCE", "allocate attach", Powers._memory),
    ("DELETE", "delete_space delete_resource", Powers._delete),
    ("made HOLD", "create_space create_resource allocate attach", Powers._own_hold),
    ("made HOLD", "give", Powers._given),
    ("made HOLD", "send", Powers._sent),
    ("made HOLD", "spawn", Powers._creators_hold),
    ("made HOLD", "save", Powers._saved),
    ("made HOLD", NOBODY, Powers._configured_hold),
    ("dropped HOLD", "release", Powers._release),
    ("dropped HOLD", "take_back", Powers._given),
    ("made REQUEST", "connect", Powers._connect),
    ("made REQUEST", "share_request", Powers._share),
    ("made REQUEST", "create_space", Powers._first_client),
    ("made REQUEST", NOBODY, Powers._configured_request),
    ("dropped REQUEST", "disconnect", Powers._own_edge),
    ("made MAP", "map", Powers._map),
    ("made MAP", "attach", Powers._attach),
    ("made MAP", "back", Powers._back),
    ("made MAP", NOBODY, Powers._maps_region),
    ("dropped MAP", "unmap", Powers._map),
    ("made FAULT", NOBODY, Powers._from_start),
    ("made LINK", NOBODY, Powers._from_start),
    ("made OWN", "spawn", Powers._own),
    ("made OWN", NOBODY, Powers._from_start),
    ("made SUBSCRIBE", "subscribe", Powers._subscription),
    ("dropped SUBSCRIBE", "unsubscribe", Powers._subscription),
    ("ALLOW", "allow", lambda _, event, asker: event["pd"] == asker),
    ("ALLOW", "spawn", lambda it, event, pd: event["by"] == pd and it._makes(event["pd"])),
    ("RIGHTS", "set_depth pin", Powers._policy),
    ("RIGHTS", f"spawn {SAVED} {NOBODY}", Powers._from_start),
)
"""What is told of a change, the operations that may make it, and whether the PD that asks has the
authority.
"""
_POWERS: Final = {(told, op): may for told, ops, may in _ROWS for op in ops.split()}
OPERATIONS: Final[Mapping[str, frozenset[str]]] = {
    told: frozenset(op for other, op in _POWERS if other == told) for told, _ in _POWERS
}
"""What is told of a change of the model -> the operations that can make it."""
CHANGES: Final = frozenset(told if " " not in told else "EDGE" for told, _ in _POWERS)
"""The events that have a cause."""
