# SPDX-License-Identifier: BSD-2-Clause
"""The configuration against which a run is held: the system, its sizes, and which PDs there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from cellreap.model.closeness import policy_text
from cellreap.model.ids import ROOT, is_memory
from cellreap.trace.check.configured_edges import ConfiguredEdges, Making
from cellreap.trace.check.context import Concern, Context
from cellreap.trace.check.own_slots import has_parent
from cellreap.trace.events import NOBODY, Event
from cellreap.trace.expected import Expected, ExpectedPd

CREATION: Final = frozenset(
    {
        "BODY", "TRUST", "made OWN", "made FAULT", "made LINK", "made MAP", "INJECTED",
        "MAKE_FAILED",
    }
)  # fmt: skip
"""Events by which a PD is created, or at which a capability could not be given meanwhile. Those of
edges and capabilities come in addition.
"""


class Configured(Concern):
    """Compares each event with the configuration. Does nothing if it is not known."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.edges = ConfiguredEdges(context)
        self._making: Making | None = None
        self._made_at_boot: list[str] = []  # in order
        self._core: list[str] = []  # types of the core spaces
        self._quotas: set[str] = set()
        self._settled = self._refused = False

    def see(self, event: Event) -> None:
        """Takes an event after the model has it."""
        if self.context.expected is None:
            return
        making = self._making
        if making is not None and not self._belongs(event, making):
            self._making = None
            self._created(making, self.context.expected)
        ended = event.name == "SETTLED" and event["n"] != "0"
        self._settled |= ended and not self.context.collections.stops
        if event.name in SYNC:
            self._synchronize(event, self.context.expected)
        self.edges.see(event, self.context.expected, self._making)
        handler = _SEEN.get(event.told)
        if handler is not None:
            handler(self, event, self.context.expected)

    # -- the system

    def _trace(self, event: Event, expected: Expected) -> None:
        pd_depth, rs_depth = expected.depths
        image = {"arch": expected.arch, "kernel": expected.kernel}
        known = {name: value for name, value in image.items() if value is not None}
        self.compare(
            "config.system", system=expected.system, pd_depth=pd_depth, rs_depth=rs_depth, **known
        )
        if (event["clock"] != "0") != expected.has_times:
            self.bad("config.system", f"expected {'' if expected.has_times else 'no '}times")

    def _cancel(self, event: Event, expected: Expected) -> None:
        if event["of"] == "-" and event["name"] not in self.edges.config(event["pd"]).holds:
            self.bad("config.cancel")

    def _settings(self, event: Event, expected: Expected) -> None:
        """All settings are told."""
        told = self.context.settings
        if told.await_ms == 0 and expected.without_timer is not None:
            self.context.expected = expected = expected.without_timer
        has_failures = tuple(failure.text for failure in told.failures)
        self._compare(
            "settings",
            "the system",
            ("mode", told.mode, expected.mode),
            ("await_ms", told.await_ms, expected.await_ms),
            ("collect", told.collects, expected.collects),
            ("policy", policy_text(told.closeness), policy_text(expected.closeness)),
            ("inject", has_failures, expected.inject),
        )

    def _usage(self, event: Event, expected: Expected) -> None:
        sizes = expected.sizes
        if self.context.report.events == 2 and sizes is not None:
            self.compare("config.sizes", bytes=sizes.base_bytes, slots=sizes.base_slots)
            self._has_objects("the root task", event.counts("objects"), sizes.base_objects)

    def _quota(self, event: Event, expected: Expected) -> None:
        pd = expected.pd(event["name"])
        if pd is None or event.number("account") != pd.account:
            self.bad("config.quota", f"name={event['name']}: no such account is configured")
            return
        self._quotas.add(pd.name)
        self.compare("config.quota", **pd.quotas)

    def _extract(self, event: Event, expected: Expected) -> None:
        if event["by"] == ROOT and self._extractions() > int(expected.extract):
            self.bad("config.extract")

    def _extractions(self) -> int:
        """Those that the root task has begun itself."""
        return sum(each.by == ROOT for each in self.context.report.extractions)

    # -- PDs

    def _belongs(self, event: Event, making: Making) -> bool:
        """Whether the event is part of the creation of the PD."""
        if event.told in CREATION or (event.name == "RIGHTS" and not making.row):
            return True
        if event.made("REQUEST", "HOLD"):
            model, node = self.context.model, event["to"]
            own = event["asker"] in ("-", event["from"])
            return own and model.is_core(model.space_of.get(node, node))
        if event.name == "RESOURCE":
            return self.context.model.is_core(event["space"])
        return event.name == "ALLOW" and event["asker"] == making.creator

    def _pd(self, event: Event, expected: Expected) -> None:
        if event["id"] == ROOT:
            self._settings(event, expected)
            return
        if tuple(self._core) != expected.core_spaces:
            self.bad("config.space", f"expected {' and '.join(expected.core_spaces)} before")
        if event["id"] not in self.context.saved.pds:
            self._making = Making(event["id"], event["name"])

    def _body(self, event: Event, expected: Expected) -> None:
        self.edges.placed(event["of"])
        if expected.sizes is not None and not is_memory(event["of"]):
            self.compare("config.sizes", slots=expected.sizes.body_slots)

    def _rights(self, event: Event, expected: Expected) -> None:
        if self._making is not None and event["pd"] == self._making.pd:
            self._making.row = event.values

    def _own(self, event: Event, expected: Expected) -> None:
        if self._making is None or event["to"] != self._making.pd:
            self.bad("config.pd", f"{event['to']} was not created just now")
        elif event["op"] != NOBODY:  # else it is a thread of the configuration
            self._making.creator = event["from"]

    def _allow(self, event: Event, expected: Expected) -> None:
        making = self._making
        if making is not None and event["pd"] == making.pd and event["by"] == making.creator:
            making.allows = event.number("count")

    def _created(self, making: Making, expected: Expected) -> None:
        """The creation of a PD is complete."""
        sizes, name = expected.sizes, making.name
        if making.pd not in self.context.model.nodes:
            return
        if making.creator is not None:
            parent = self.edges.config(making.creator)
            if name not in parent.spawns:
                self.bad("config.pd", f"{name}: {making.creator} may not spawn it")
                return
            priority = min(parent.spawn_priority, parent.priority)
            row = {"pinned": "0", "protected": "0", "account": str(parent.account)}
            row["priority"] = str(priority)
            more: tuple[str, object, object] = ("allowance", making.allows, parent.spawn_allow)
            body = None if sizes is None else (sizes.spawned[name], sizes.spawned_objects[name])
        else:
            pd = expected.pd(name)
            if pd is None:
                self.bad("config.pd", f"{name}: no such PD is configured")
                return
            self._has_its_place(making, pd, expected)
            self.edges.created(making.pd, pd)
            row = pd.row(expected.depths)
            trusts = self.context.authority.trusts.get(making.pd, ())
            more = ("trusts", tuple(trusts), pd.trusts)
            body = None if sizes is None else (sizes.bodies[name], sizes.objects[name])
        columns = ((each, making.row.get(each), value) for each, value in row.items())
        self._compare("rights", name, more, *columns)
        if body is not None:
            memory = self.context.memory
            has = memory.body(making.pd)
            self._compare("sizes", name, ("body", has.bytes if has else 0, body[0]))
            self._has_objects(name, memory.objects.of(making.pd), body[1])

    def _has_its_place(self, making: Making, pd: ExpectedPd, expected: Expected) -> None:
        if pd.name in self.edges.pds:
            if pd.respawn is None or self.edges.live(pd.name, but=making.pd) is not None:
                self.bad("config.pd", f"{pd.name}: it exists already, or does not respawn")
            return
        if pd.late:
            if not self._settled:
                self.bad("config.pd", f"{pd.name}: expected it after the first cleanup")
            return
        made = self._made_at_boot
        made.append(pd.name)
        if not self._refused and (self._quotas or made != expected.at_boot[: len(made)]):
            self.bad("config.pd", f"{pd.name}: expected the PDs of boot time in their order")

    def _has_objects(self, name: str, has: Mapping[str, int], wanted: Mapping[str, int]) -> None:
        kinds = sorted(has.keys() | wanted.keys())
        values = ((kind, has.get(kind, 0), wanted.get(kind, 0)) for kind in kinds)
        self._compare("sizes", name, *values)

    def _compare(self, rule: str, name: str, *values: tuple[str, object, object]) -> None:
        """values: (what, as in the trace, as configured)."""
        for what, has, wanted in values:
            if has != wanted:
                self.bad(f"config.{rule}", f"{name}: {what} {has}: expected {wanted}")

    # -- spaces and resources

    def _space(self, event: Event, expected: Expected) -> None:
        if event["manager"] == ROOT:
            self._core.append(event["type"])
            wanted = expected.core_spaces[: len(self._core)]
            if tuple(self._core) != wanted or event["name"] != "-":
                self.bad("config.space", f"{event['id']}: the root task has no such space")
            return
        owner = expected.owner(event["name"])
        if owner is not None:
            wanted_type = owner.spaces[event["name"]]
            if self.edges.config(event["manager"]) is not owner or wanted_type != event["type"]:
                self.bad("config.space", f"expected {wanted_type} of {owner.name}")

    def _resource(self, event: Event, expected: Expected) -> None:
        if expected.sizes is not None:
            own = has_parent(self.context, event["id"])
            self.compare("config.sizes", slots=expected.sizes.resource_slots * own)

    # -- points at which everything configured must be there

    def _synchronize(self, event: Event, expected: Expected) -> None:
        if (
            (event.name == "SETTLED" and event["n"] != "0")
            or (event.name == "CLEANUP" and self.context.cleanups.awaiting)
            or event.name == self.context.previous.name == "QUOTA"
        ):
            return
        if self._made_at_boot != expected.at_boot and not self._refused:
            self.bad("config.pd", "expected all PDs of boot time before it")
        self.edges.synchronize(event, expected)

    def at_end(self) -> None:
        """The trace ends."""
        expected = self.context.expected
        if expected is None:
            return
        for pd in expected.pds:
            if pd.late and self._settled and pd.name not in self.edges.pds and not self._refused:
                self.bad("config.pd", f"expected {pd.name}, which starts after a cleanup")
            if pd.name not in self._quotas:
                self.bad("config.quota", f"the quotas of {pd.name} were not told")
        if expected.extract and not self._extractions():
            self.bad("config.extract")

    def _refuse(self, event: Event, expected: Expected) -> None:
        """A configured PD could not be made. It is tried again."""
        self._refused |= event["pd"] == ROOT


SYNC: Final = frozenset({"QUOTA", "CLEANUP", "SETTLED", "END"})
"""Events before which everything that the configuration demands of live PDs must have come."""
_SEEN: Final[dict[str, Callable[[Configured, Event, Expected], None]]] = {
    "TRACE": Configured._trace,
    "USAGE": Configured._usage,
    "QUOTA": Configured._quota,
    "PD": Configured._pd,
    "BODY": Configured._body,
    "RIGHTS": Configured._rights,
    "CANCEL": Configured._cancel,
    "made OWN": Configured._own,
    "ALLOW": Configured._allow,
    "SPACE": Configured._space,
    "RESOURCE": Configured._resource,
    "EXTRACT": Configured._extract,
    "REFUSE": Configured._refuse,
}
