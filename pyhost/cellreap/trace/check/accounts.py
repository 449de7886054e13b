# SPDX-License-Identifier: BSD-2-Clause
"""Accounts: what each configured PD, with the PDs that it spawned, uses of the root task's tables.

A use is counted upwards only. If the count passes the quota, the exact use is counted from the
model. So the cost does not depend on how much is made and dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from cellreap import headers
from cellreap.model.graph import Model
from cellreap.model.ids import (
    ROOT,
    is_bare,
    is_line,
    is_memory,
    is_region,
    kind_of,
    parts_of,
    pd_behind,
)
from cellreap.trace.check.context import Concern, Context, Handlers, handler_in, outside
from cellreap.trace.check.work import LEFT_BEHIND
from cellreap.trace.events import NOBODY, Event

_MOST_KEPT = (
    2 * headers.constant("protocol.h", "CR_STARTUP_SPACES")
    + 2 * headers.constant("protocol.h", "CR_STARTUP_REQUESTS")
    + 4
)
"""The most edges that the configuration can need for one PD, and those of a spawned PD."""
_LEFT = (*LEFT_BEHIND, "lost", "destroy", "pre-destroy")
"""Kinds of notices for which the edge that caused them had kept room."""
USES: Final[Handlers] = {}
"""What an event tells -> the method that counts its uses. The model has the event already."""
_uses: Final = partial(handler_in, USES)


class Accounts(Concern):
    """QUOTA, and the uses that other events cause."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._words = tuple(headers.printed_names("limits.h", "CR_QUOTA"))
        self._quotas: dict[str, dict[str, int]] = {}
        """account, as the name of its PD -> quota by its word"""
        self._numbers: dict[int, str] = {}
        """number of an account -> its name"""
        self._account_of: dict[str, str] = {}
        """PD -> account; destroyed PDs too"""
        self._spawned = context.report.spawned
        self._memory: dict[str, str] = {}
        """memory object or region -> the account of who made it"""
        self._most: dict[str, Counter[str]] = {}
        """account -> at most so much is in use"""
        self._left: dict[int, str] = {}
        """token of a notice that an edge left behind -> the account that it counts for"""
        self._taken: set[int] = set()
        """those that came to count for the account of their receiver"""
        self._owed: set[str] = set()
        """accounts that notices of the cleanup under way count for"""
        self._told: set[tuple[str, str]] = set()
        """(subscriber, node): the notice of the subscription was queued"""
        self._maps: dict[str, Counter[str]] = {}
        """extraction under way -> the maps that each account reported"""

    @outside("QUOTA")
    def quota(self, event: Event) -> None:
        """QUOTA: what an account may use."""
        name = event["name"]
        known = self._numbers.setdefault(event.number("account"), name)
        if name in self._quotas or known != name:
            self.bad("accounts.quota")
        self._quotas[name] = {word: event.number(word) for word in self._words}
        self._most.setdefault(name, Counter())

    # -- uses

    def _use(self, pd: str | None, **uses: int) -> None:
        """The PD makes this now."""
        self._use_of(self._account_of.get(pd or ""), uses)

    def _use_of(self, name: str | None, uses: Mapping[str, int]) -> None:
        if name is not None and name in self._quotas:
            most = self._most[name]
            for word, count in uses.items():
                most[word] += count
            self._check(name, uses)

    def _check(self, name: str, words: Iterable[str], *, made: bool = True) -> None:
        """made: something was made. Else a notice took the place of what was made before, and what
        the account has taken may exceed the quota.
        """
        quota, most = self._quotas[name], self._most[name]
        if all(most[word] <= quota[word] for word in words):
            return
        self._most[name] = most = self._exact(name)
        more = 0 if made else sum(self._left[token] == name for token in self._taken)
        for word in words:
            if most[word] > quota[word] + more:
                text = f"{name} uses {most[word]} {word}, and its quota is {quota[word]}"
                self.context.bad("accounts.within", text)

    # -- for other concerns

    def may_exist(self, account: int) -> bool:
        """Whether there is an account of this number, as far as the trace tells."""
        return account in self._numbers if self._numbers else account > 0

    def charged_together(self, token: int, other: int) -> bool:
        """Whether two notices count for the same account."""
        return self._left.get(token) == self._left.get(other)

    def merging(self, token: int) -> None:
        """Notices of an account are about to be merged: this one is the first, or comes after them.

        It must have no room for what its PDs can make at once, beside what the configuration needs.
        """
        name, before = self._left.get(token), self.context.previous
        begun = before.told in ("merged NOTICE", "withdrawn NOTICE")
        if name is None or name not in self._quotas or begun:
            return
        if self._exact(name)["edges"] + _MOST_KEPT < self._quotas[name]["edges"]:
            self.bad("accounts.pressed")

    @_uses("PD")
    def _pd(self, event: Event) -> None:
        self._account_of[event["id"]] = event["name"]  # of a spawned PD, OWN comes next

    @_uses("RIGHTS")
    def _rights(self, event: Event) -> None:
        """If quotas are told, they are told of every account, before its first PD."""
        if self._numbers and event.number("account") not in self._numbers:
            self.bad("accounts.quota")

    @_uses("made OWN")
    def _own(self, event: Event) -> None:
        creator, created = event["from"], event["to"]
        if event["op"] == NOBODY:
            return  # a thread of the configuration
        self._account_of.pop(created, None)
        if creator in self._account_of:
            self._account_of[created] = self._account_of[creator]
        body = self.context.memory.body(created)
        self._use(creator, pds=1, nodes=1, edges=1, bytes=0 if body is None else body.bytes)

    @_uses("SPACE")
    def _space(self, event: Event) -> None:
        self._use(event["manager"], nodes=1, spaces=1, edges=1, types=1)

    @_uses("RESOURCE")
    def _resource(self, event: Event) -> None:
        manager = self.context.model.manager.get(event["space"])
        pd = pd_behind(event["id"])
        if is_memory(event["id"]) and event["asker"] in self._account_of:
            self._memory[event["id"]] = self._account_of[event["asker"]]
            self._use(event["asker"], nodes=1, edges=1)
        elif pd in self._spawned:
            self._use(pd, nodes=1, edges=2)
        elif manager != ROOT:
            self._use(manager, nodes=1, edges=1)

    @_uses("BODY")
    def _body(self, event: Event) -> None:
        """The body of a PD counts with its OWN."""
        node = event["of"]
        uses = {"bytes": event.number("bytes"), "pages": self._pages(node)}
        self._use_of(self._memory.get(node), uses)

    @_uses("made HOLD")
    def _hold(self, event: Event) -> None:
        pd, node = event["from"], event["to"]
        if self.context.model.holds.get((pd, node)) == 1 and self._is_charged(node):
            self._use(pd, edges=1)

    @_uses("made REQUEST")
    def _request(self, event: Event) -> None:
        if not self.context.model.is_core(event["to"]):
            self._use(event["from"], edges=1, requests=1)

    @_uses("made MAP")
    def _map(self, event: Event) -> None:
        model = self.context.model
        node = event["from"]
        self._use_of(self._memory.get(node), {"edges": 1})
        self._use(model.manager.get(model.space_of.get(node, node)), edges=1)

    @_uses("made SUBSCRIBE")
    def _subscribe(self, event: Event) -> None:
        model, pd, node = self.context.model, event["from"], event["to"]
        subscriptions = model.subscriptions(pd, node)
        if len(subscriptions) == 1 and sum(subscriptions.values()) == 1:
            self._use(pd, edges=2)
            self._told.discard((pd, node))
        elif subscriptions.get(event.number("number")) == 1:
            self._use(pd, edges=1)  # the handlers for a node share one notice

    @_uses("QUEUE")
    def _queue(self, event: Event) -> None:
        to, kind, token = event["to"], event["kind"], event.number("token")
        pd = event["from"] if kind in LEFT_BEHIND else to
        if kind not in _LEFT or pd not in self._account_of:
            return
        if kind == "lost" and kind_of(event["node"]) == "PD" and event["node"] not in self._spawned:
            return  # as its capability, for which the configuration keeps room
        name = self._left[token] = self._account_of[pd]
        if kind == "pre-destroy":
            self._told.add((to, event["node"]))
        elif name in self._quotas:
            self._most[name]["edges"] += 1
            if event.number("n") == 0:
                self._check(name, ["edges"], made=False)
            else:
                self._owed.add(name)

    @_uses("SETTLED")
    def _settled(self, _event: Event) -> None:
        """The edges that the notices of a cleanup are about are there until now."""
        for name in sorted(self._owed):
            self._check(name, ["edges"], made=False)
        self._owed.clear()

    @_uses("fetched NOTICE", "merged NOTICE")
    def _get_work(self, event: Event) -> None:
        self._taken_by(event["pd"], event.number("token"))

    def _taken_by(self, pd: str, token: int) -> None:
        """A notice of another account counts for its receiver's from now on."""
        name = self._account_of.get(pd)
        if name is not None and token in self._left:
            if self._left[token] == name:
                return
            if name in self._most:
                self._most[name]["edges"] += 1
            self._left[token] = name
            self._taken.add(token)

    @_uses("SUBGRAPH")
    def _subgraph(self, event: Event) -> None:
        name = self._account_of.get(event["pd"])
        if name is not None:
            self._maps.setdefault(event["x"], Counter())[name] += 1
            self._use(event["pd"], maps=1)

    @_uses("EXTRACTED")
    def _extracted(self, event: Event) -> None:
        self._maps.pop(event["x"], None)

    # -- the exact use

    def _pages(self, node: str) -> int:
        """Those of a memory object. A region has capabilities to them."""
        return 0 if is_region(node) else self.context.memory.objects.pages(node).small

    def _is_charged(self, node: str) -> bool:
        """Whether a hold of the node is charged for sure. The configuration may give capabilities
        to configured PDs, regions and channels, and these are not charged.
        """
        if is_bare(node):
            return False
        if is_memory(node):
            return node in self._memory
        pd = pd_behind(node)
        return (pd is None or pd in self._spawned) and not is_line(node)

    def _exact(self, name: str) -> Counter[str]:
        model = self.context.model
        uses: Counter[str] = Counter()
        types = set()
        for pd, account in self._account_of.items():
            if account != name or pd not in model.nodes:
                continue
            if pd in self._spawned:
                body = self.context.memory.body(pd)
                uses.update(pds=1, nodes=1, edges=1, bytes=0 if body is None else body.bytes)
                if model.body_of(pd) is not None:
                    uses.update(nodes=1, edges=2)
            for kind, source, target in model.edges_at(pd):
                if source == pd:
                    uses["edges"] += self._weight(model, kind, pd, target)
                    uses["requests"] += kind == "REQUEST" and not model.is_core(target)
            for space, manager in model.manager.items():
                if manager == pd:
                    resources = model.resources_in(space)
                    uses.update(nodes=1 + len(resources), edges=1 + len(resources), spaces=1)
                    uses["edges"] += sum(len(model.built_on(each)) for each in (space, *resources))
                    types.add(parts_of(space).type)
        self._memory = {node: of for node, of in self._memory.items() if node in model.nodes}
        for node, account in self._memory.items():
            if account == name:
                body = self.context.memory.body(node)
                uses.update(nodes=1, edges=1 + len(model.built_on(node)))
                uses["bytes"] += 0 if body is None else body.bytes
                uses["pages"] += self._pages(node)
        self._left = {
            token: account
            for token, account in self._left.items()
            if self.context.notices.work.get(token) is not None
        }
        self._taken &= self._left.keys()
        uses["edges"] += sum(account == name for account in self._left.values())
        uses["types"] = len(types)
        uses["maps"] = sum(reported[name] for reported in self._maps.values())
        return uses

    def _weight(self, model: Model, kind: str, pd: str, target: str) -> int:
        """The room that an edge from a PD takes, without a notice of it that is queued already."""
        if kind == "HOLD":
            return int(self._is_charged(target))
        if kind == "REQUEST":
            return int(not model.is_core(target))
        if kind == "SUBSCRIBE":
            return len(model.subscriptions(pd, target)) + ((pd, target) not in self._told)
        return 0
