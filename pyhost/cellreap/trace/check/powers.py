# SPDX-License-Identifier: BSD-2-Clause
"""What an operation demands: the authority of the PD that asks, for each change of the model.

docs/operations.md has the same rules in words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cellreap import headers
from cellreap.model.graph import Model
from cellreap.model.ids import (
    MEMORY,
    REGION,
    ROOT,
    is_given,
    is_memory,
    is_region,
    parse_id,
    pd_id,
)
from cellreap.trace.check.configured_threads import is_process
from cellreap.trace.check.context import Context
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
    """Says what is wrong with a change, before the model has it. Changes nothing but `making` and
    `needs`.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.making: Making | None = None
        """the PD that is being made"""
        self.needs: str | None = None
        """a resource of a core space, directly after it was made"""

    def wrong(self, event: Event, asker: str) -> str | None:
        """What is wrong with the authority for the change; None if nothing."""
        return _POWERS[event.told, event["op"]](self, event, asker)

    def gets(self, event: Event) -> None:
        """The creator of the PD that is being made gets what it must get."""
        if self.making is not None and event.told in self.making.lacks:
            self.making.lacks.remove(event.told)

    def _manages(self, asker: str, node: str) -> bool:
        model = self.context.model
        return model.manager.get(model.space_of.get(node, node)) == asker

    def _wants_request(self, asker: str, type_name: str) -> str | None:
        """What is wrong if the PD has no request to a core space of that type."""
        if self.context.model.asks_for(asker, type_name):
            return None
        return f"{asker} has no request to {type_name}"

    def _wants_client(self, asker: str, pd: str) -> str | None:
        """What is wrong if the PD is no client of the one that asks."""
        if self.context.model.is_client_of(pd, asker):
            return None
        return f"{pd} is no client of {asker}"

    def _has_body(self, asker: str, pd: str) -> bool:
        """Whether it holds the capability to the PD."""
        body = self.context.model.body_of(pd) if pd in self.context.model.nodes else None
        return body is not None and (asker, body) in self.context.model.holds

    # -- nodes

    def _spawned_pd(self, event: Event, asker: str) -> str | None:
        return self._wants_request(asker, "PD")

    def _configured_pd(self, event: Event, asker: str) -> None:
        return None

    def _of_saved_state(self, event: Event, asker: str) -> str | None:
        return self.context.saved.wrong(event)

    def _space(self, event: Event, asker: str) -> str | None:
        if event["manager"] != asker:
            return f"{asker} asked, and {event['manager']} manages it"
        return self._wants_request(asker, "RESSPC")

    def _core_space(self, event: Event, asker: str) -> str | None:
        if event["manager"] == ROOT:
            return None
        return f"expected an operation of {event['manager']}"

    def _resource(self, event: Event, asker: str) -> str | None:
        if self._manages(asker, event["space"]):
            return None
        return f"{asker} does not manage {event['space']}"

    def _core_resource(self, event: Event, asker: str) -> str | None:
        """A resource of the root task, which it makes for a HOLD."""
        if event["space"] not in self.context.model.nodes:
            return None  # the model reports it
        if not self.context.model.is_core(event["space"]):
            return "expected an operation of the manager"
        self.needs = event["id"]
        parts = parse_id(event["id"])
        if event["op"] == NOBODY and (is_memory(event["id"]) or is_given(event["id"])):
            if is_memory(event["id"]) and not is_region(event["id"]):
                self.needs = None
            return None if self.making is not None else "no PD is being made that has it"
        if parts is not None and parts.type == "PD":
            pd = pd_id(parts.number)
            if pd not in self.context.model.nodes or pd == ROOT:
                return f"there is no {pd} whose capability it is"
            if event["op"] == "spawn" and (self.making is None or self.making.pd != pd):
                return f"{asker} did not spawn {pd} just now"
        return None

    def _memory(self, event: Event, asker: str) -> str | None:
        """A memory object, or a region with one that the PD holds."""
        parts = parse_id(event["id"])
        wanted = MEMORY if event["op"] == "allocate" else REGION
        if parts is None or parts.type != wanted:
            return f"{event['id']}: expected a {wanted}"
        if wanted == MEMORY and (wrong := self._wants_request(asker, MEMORY)) is not None:
            return wrong
        return self._core_resource(event, asker)

    def _delete(self, event: Event, asker: str) -> str | None:
        if event["by"] != asker:
            return f"by={event['by']}: {asker} asked"
        of_space = event["part"] == "1" or event["node"] in self.context.model.manager
        if of_space != (event["op"] == "delete_space"):
            return f"op={event['op']}: expected the operation of the other kind"
        return None if self._manages(asker, event["node"]) else f"{asker} does not manage it"

    # -- holds

    def _own_hold(self, event: Event, asker: str) -> str | None:
        """A manager holds what it makes."""
        before = self.context.previous
        made, field = {"create_space": ("SPACE", "id"), "create_resource": ("RESOURCE", "id")}.get(
            event["op"], ("BODY", "of")
        )
        if before is None or before.name != made or before[field] != event["to"]:
            return f"expected it right after the {made} of {event['to']}"
        if event["from"] != asker:
            return f"from={event['from']}: expected from={asker}"
        return (
            None
            if made == "BODY" or self._manages(asker, event["to"])
            else f"{asker} does not manage it"
        )

    def _given(self, event: Event, asker: str) -> str | None:
        """A manager gives what it manages, or memory that it holds, to a client."""
        node = event["to"]
        wrong = None if self._manages(asker, node) else f"{asker} does not manage {node}"
        if event["op"] == "give" and is_memory(node):
            wrong = _keeps(self.context.model, asker, node)
        return wrong or self._wants_client(asker, event["from"])

    def _sent(self, event: Event, asker: str) -> str | None:
        wrong = _keeps(self.context.model, asker, event["to"])
        return wrong or self._named(asker, event["from"], event["to"])

    def _named(self, asker: str, pd: str, node: str) -> str | None:
        """Whether it can name the PD that gets an edge to the node."""
        if pd == asker or self._manages(pd, node):
            return f"{pd} cannot get it from {asker}"
        return None if self._has_body(asker, pd) else f"{asker} has no capability to {pd}"

    def _creators_hold(self, event: Event, asker: str) -> str | None:
        making = self.making
        if making is None or self.context.model.body_of(making.pd) != event["to"]:
            return f"{event['to']} is not the capability to a PD that {asker} spawned just now"
        if event["from"] != asker:
            return f"from={event['from']}: expected {asker}, which spawned {making.pd}"
        self.gets(event)
        return None

    def _saved(self, event: Event, asker: str) -> str | None:
        """A subscriber saves a PD from the collection that told it of its end."""
        dead = {self.context.model.body_of(pd): pd for pd in self.context.model.pds()}
        pd = dead.get(event["to"])
        if event["from"] != asker:
            return f"from={event['from']}: expected from={asker}"
        if pd is None:
            return f"{event['to']} is no capability to a PD"
        if (asker, event["to"]) in self.context.model.holds:
            return f"{asker} holds {event['to']} already"
        return self.context.collections.save(asker, pd)

    def _configured_hold(self, event: Event, asker: str) -> str | None:
        node, model = event["to"], self.context.model
        of_start = is_region(node) or is_given(node)
        if (of_start or is_memory(node)) and not (of_start and self._makes(event["from"])):
            return f"{event['from']} is not being made, or {node} is no region, channel or line"
        if node in model.space_of and model.is_core(model.space_of[node]):
            return None
        return f"the configuration gives no holds of {node}"

    def _release(self, event: Event, asker: str) -> str | None:
        if self._manages(asker, event["to"]) or is_given(event["to"]):
            return f"{event['to']} is of the configuration, or {asker} manages it"
        return self._own_edge(event, asker)

    # -- requests

    def _connect(self, event: Event, asker: str) -> str | None:
        return self._own_edge(event, asker) or self._of_server(event)

    def _of_server(self, event: Event) -> str | None:
        if self.context.model.manager.get(event["to"]) == ROOT:
            return "only the configuration gives requests to spaces of the root task"
        return None

    def _share(self, event: Event, asker: str) -> str | None:
        space, model = event["to"], self.context.model
        if not self._manages(asker, space) and (asker, space) not in model.requests:
            return f"{asker} neither manages {space} nor has a request to it"
        return self._named(asker, event["from"], space) or self._of_server(event)

    def _first_client(self, event: Event, asker: str) -> str | None:
        before = self.context.previous
        own = before is not None and before.made("HOLD") and before["op"] == "create_space"
        made = before is not None and own and before["to"] == event["to"]
        if not made and not self.context.saved.take(event["to"]):
            return f"expected it right after {event['to']} was made"
        return self._share(event, asker)

    def _configured_request(self, event: Event, asker: str) -> str | None:
        manager = self.context.model.manager.get(event["to"], ROOT)
        return None if manager == ROOT else f"expected an operation of {event['from']}"

    def _own_edge(self, event: Event, asker: str) -> str | None:
        """A PD drops or makes an edge of its own."""
        return None if event["from"] == asker else f"from={event['from']}: {asker} asked"

    def _allows(self, event: Event, asker: str) -> str | None:
        return None if event["pd"] == asker else f"pd={event['pd']}: {asker} asked"

    # -- maps, subscriptions, and what PDs have from the start

    def _map(self, event: Event, asker: str) -> str | None:
        model, lower = self.context.model, event["to"]
        if not self._manages(asker, event["from"]):
            return f"{asker} does not manage {event['from']}"
        space = model.space_of.get(lower, lower)
        if is_memory(lower) or is_given(lower):
            return f"{lower} is memory, which regions map and which backs resources, or given"
        if (asker, lower) not in model.holds and (asker, space) not in model.requests:
            return f"{asker} neither holds {lower} nor has a request to its space"
        return None

    def _makes(self, pd: str) -> bool:
        return self.making is not None and self.making.pd == pd

    def _maps_region(self, event: Event, asker: str) -> str | None:
        """A region is mapped directly after its PD got it."""
        before, lower = self.context.previous, event["to"]
        made = before is not None and before.made("HOLD") and before["op"] == event["op"]
        if before is None or not made or before["to"] != event["from"]:
            return f"expected it right after the HOLD of {event['from']}"
        return None if is_memory(lower) and not is_region(lower) else f"{lower}: no memory object"

    def _attach(self, event: Event, asker: str) -> str | None:
        wrong = self._maps_region(event, asker)
        if wrong is not None:
            return wrong
        backing = self.context.memory.backing(event["from"])
        if backing is not None:
            flag = headers.constant("protocol.h", "CR_REGION_WRITABLE")
            memory, writable = backing
            may = memory == event["to"] and (writable or not event.number("number") & flag)
            return None if may else f"{asker} may map {backing}"
        return self._holds_memory(event, asker)

    def _holds_memory(self, event: Event, asker: str) -> str | None:
        if self.context.memory.may_map(asker, event["to"], event.number("number")):
            return None
        return f"{asker} holds no memory object {event['to']} with this right"

    def _back(self, event: Event, asker: str) -> str | None:
        """A manager backs a resource with a memory object that it holds."""
        if not self._manages(asker, event["from"]):
            return f"{asker} does not manage {event['from']}"
        memory = event["to"]
        if is_memory(memory) and not is_region(memory):
            return self._holds_memory(event, asker)
        return f"{memory}: no memory object"

    def _subscription(self, event: Event, asker: str) -> str | None:
        node, model = event["to"], self.context.model
        if event["from"] != asker:
            return f"from={event['from']}: {asker} asked"
        if node not in model.manager:
            found = node == asker or self._has_body(asker, node)
            found = found and not (event.made("SUBSCRIBE") and is_process(model, node, asker))
            return None if found else f"{asker} has no capability to {node}, or is its thread"
        if event.dropped("SUBSCRIBE"):
            return None
        if model.is_core(node) or not (model.depends_on(asker, node) or self._manages(asker, node)):
            return f"{asker} does not depend on {node}"
        return None

    def _policy(self, event: Event, asker: str) -> str | None:
        """The policy of its own, or of a PD to which it has the capability."""
        pd = event["pd"]
        found = pd == asker or self._has_body(asker, pd)
        return None if found else f"{asker} has no capability to {pd}"

    def _own(self, event: Event, asker: str) -> str | None:
        making = self.making
        if making is None or (event["from"], event["to"]) != (asker, making.pd):
            return f"{event['to']}: {asker} did not spawn it just now"
        self.gets(event)
        return None

    def _from_start(self, event: Event, asker: str) -> str | None:
        """FAULT, LINK or RIGHTS of a PD that is being made, or OWN of a thread."""
        made = None if self.making is None else self.making.pd
        ends = [event["from" if event.name == "EDGE" else "pd"]]
        ends += [event["to"]] if event.made("LINK") or event.made("OWN") else []
        return None if made in ends else f"{ends[0]} is not being made"

    def _allowed_from_start(self, event: Event, asker: str) -> str | None:
        made = None if self.making is None else self.making.pd
        own = (event["pd"], event["by"]) == (made, asker)
        return None if own else f"expected that of a PD that {asker} spawned just now"


def _keeps(model: Model, asker: str, node: str) -> str | None:
    """What is wrong if the PD does not hold the node, or cannot hand it on."""
    if (asker, node) not in model.holds or is_region(node) or is_given(node):
        return f"{asker} does not hold {node}, or holds it for itself"
    return None


_POWERS: Final[Mapping[tuple[str, str], Callable[[Powers, Event, str], str | None]]] = {
    **{(name, SAVED): Powers._of_saved_state for name in MAKE_SAVED},
    ("PD", "spawn"): Powers._spawned_pd,
    ("PD", NOBODY): Powers._configured_pd,
    ("SPACE", "create_space"): Powers._space,
    ("SPACE", NOBODY): Powers._core_space,
    ("RESOURCE", "create_resource"): Powers._resource,
    ("RESOURCE", "spawn"): Powers._core_resource,
    ("RESOURCE", "save"): Powers._core_resource,
    ("RESOURCE", NOBODY): Powers._core_resource,
    ("RESOURCE", "allocate"): Powers._memory,
    ("RESOURCE", "attach"): Powers._memory,
    ("DELETE", "delete_space"): Powers._delete,
    ("DELETE", "delete_resource"): Powers._delete,
    ("made HOLD", "create_space"): Powers._own_hold,
    ("made HOLD", "create_resource"): Powers._own_hold,
    ("made HOLD", "allocate"): Powers._own_hold,
    ("made HOLD", "attach"): Powers._own_hold,
    ("made HOLD", "give"): Powers._given,
    ("made HOLD", "send"): Powers._sent,
    ("made HOLD", "spawn"): Powers._creators_hold,
    ("made HOLD", "save"): Powers._saved,
    ("made HOLD", NOBODY): Powers._configured_hold,
    ("dropped HOLD", "release"): Powers._release,
    ("dropped HOLD", "take_back"): Powers._given,
    ("made REQUEST", "connect"): Powers._connect,
    ("made REQUEST", "share_request"): Powers._share,
    ("made REQUEST", "create_space"): Powers._first_client,
    ("made REQUEST", NOBODY): Powers._configured_request,
    ("dropped REQUEST", "disconnect"): Powers._own_edge,
    ("made MAP", "map"): Powers._map,
    ("made MAP", "attach"): Powers._attach,
    ("made MAP", "back"): Powers._back,
    ("made MAP", NOBODY): Powers._maps_region,
    ("dropped MAP", "unmap"): Powers._map,
    ("made FAULT", NOBODY): Powers._from_start,
    ("made LINK", NOBODY): Powers._from_start,
    ("made OWN", "spawn"): Powers._own,
    ("made OWN", NOBODY): Powers._from_start,
    ("made SUBSCRIBE", "subscribe"): Powers._subscription,
    ("dropped SUBSCRIBE", "unsubscribe"): Powers._subscription,
    ("ALLOW", "allow"): Powers._allows,
    ("ALLOW", "spawn"): Powers._allowed_from_start,
    ("RIGHTS", "set_depth"): Powers._policy,
    ("RIGHTS", "pin"): Powers._policy,
    ("RIGHTS", "spawn"): Powers._from_start,
    ("RIGHTS", SAVED): Powers._from_start,
    ("RIGHTS", NOBODY): Powers._from_start,
}
"""(what is told, operation) -> what is wrong with the authority of the PD that asks; None if
nothing.
"""
OPERATIONS: Final[Mapping[str, frozenset[str]]] = {
    told: frozenset(op for other, op in _POWERS if other == told) for told, _ in _POWERS
}
"""What is told of a change of the model -> the operations that can make it."""
CHANGES: Final = frozenset(told if " " not in told else "EDGE" for told, _ in _POWERS)
"""The events that have a cause."""
