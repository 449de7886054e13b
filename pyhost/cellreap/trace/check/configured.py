# SPDX-License-Identifier: BSD-2-Clause
"""The configuration against which a run is held: the system, its sizes, and which PDs there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from cellreap.model.closeness import policy_text
from cellreap.model.ids import ROOT, is_memory
from cellreap.trace.check.configured_edges import ConfiguredEdges
from cellreap.trace.check.context import Concern, Context
from cellreap.trace.check.own_slots import has_parent
from cellreap.trace.events import NOBODY, Event
from cellreap.trace.expected import Expected, ExpectedPd

CREATION: Final = frozenset(
    {
        "BODY", "TRUST", "made OWN", "made FAULT", "made LINK", "made MAP", "INJECTED",
        "MAKE_FAILED", "MAKE_UNDONE",
    }
)  # fmt: skip
"""Events by which a PD is created, or at which a capability could not be given meanwhile. Those of
edges and capabilities come in addition.
"""


class Making:
    """A PD whose creation the trace tells at the moment."""

    def __init__(self, pd: str, name: str) -> None:
        self.pd = pd
        self.name = name
        self.creator: str | None = None
        self.row: Mapping[str, str] = {}
        """The columns of its RIGHTS"""
        self.body = 0
        self.objects: dict[str, int] = {}
        self.allows = 0


def _unlike(event: Event, expected: Expected) -> list[str]:
    """The fields of TRACE that are not those of the configuration or image."""
    wanted = {
        "system": expected.system,
        "pd_depth": expected.depths[0],
        "rs_depth": expected.depths[1],
        "arch": expected.arch,
        "kernel": expected.kernel,
    }
    wrong = [
        f"{field}={event[field]}: expected {value}"
        for field, value in wanted.items()
        if value is not None and event[field] != value
    ]
    if (event["clock"] != "0") != expected.has_times:
        wrong.append(
            "no times: expected times" if expected.has_times else "times: expected no times"
        )
    return wrong


class Configured(Concern):
    """Compares each event with the configuration. Does nothing if it is not known."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.edges = ConfiguredEdges(context)
        self._making: Making | None = None
        self._made: set[str] = set()  # names of the configured PDs that were ever created
        self._made_at_boot: list[str] = []  # in order
        self._core: list[str] = []  # types of the core spaces
        self._extractions = 0
        self._quotas: set[str] = set()
        self._settled = self._refused = False

    def see(self, event: Event) -> None:
        """Takes an event after the model has it."""
        if self.context.expected is None:
            return
        making = self._making
        if making is not None and not self._belongs(event, making):
            self._making = None
            self._created(making)
        ended = event.name == "SETTLED" and event["n"] != "0"
        self._settled |= ended and not self.context.collections.stops
        if event.name in SYNC:
            self._synchronize(event, self.context.expected)
        making, handler = self._making, _SEEN.get(event.told)
        pd, creator = (None, None) if making is None else (making.pd, making.creator)
        self.edges.see(event, self.context.expected, pd, creator)
        if handler is not None:
            handler(self, event, self.context.expected)

    def _bad(self, rule: str, event: Event | str, text: str) -> None:
        name = event if isinstance(event, str) else event.told
        self.context.bad(f"config.{rule}", f"{name}: {text}")

    # -- the system

    def _trace(self, event: Event, expected: Expected) -> None:
        if wrong := _unlike(event, expected):
            self._bad("system", event, "; ".join(wrong))

    def _objects(self, event: Event, wanted: Mapping[str, int]) -> None:
        if event.counts("objects") != wanted:
            shown = ",".join(f"{kind}:{count}" for kind, count in wanted.items())
            self._bad("sizes", event, f"objects={event['objects']}: expected {shown}")

    def _cancel(self, event: Event, expected: Expected) -> None:
        config = self.edges.configs.get(event["pd"])
        if event.optional("of") is None and (config is None or event["name"] not in config.holds):
            text = f"{event['pd']} is not given the capability to {event['name']}"
            self._bad("cancel", event, text)

    def _settings(self, event: Event, expected: Expected) -> None:
        """All settings are told."""
        told = self.context.settings
        if told.await_ms == 0 and expected.without_timer is not None:
            self.context.expected = expected = expected.without_timer
        has_failures = tuple(failure.text for failure in told.failures)
        for what, has, wanted in (
            ("mode", told.mode, expected.mode),
            ("await_ms", told.await_ms, expected.await_ms),
            ("collect", told.collects, expected.collects),
            ("policy", policy_text(told.closeness), policy_text(expected.closeness)),
            ("inject", has_failures, expected.inject),
        ):
            if has != wanted:
                text = f"{what} {_shown(has) or 'none'}: expected {_shown(wanted) or 'none'}"
                self._bad("settings", event, text)

    def _usage(self, event: Event, expected: Expected) -> None:
        if self.context.report.events > 2:
            return
        sizes = expected.sizes
        has = event.number("bytes"), event.number("slots")
        if sizes is not None and has != (sizes.base_bytes, sizes.base_slots):
            text = f"expected bytes={sizes.base_bytes} slots={sizes.base_slots}"
            self._bad("sizes", str(event), text)
        if sizes is not None:
            self._objects(event, sizes.base_objects)

    def _quota(self, event: Event, expected: Expected) -> None:
        pd = expected.pd(event["name"])
        if pd is None or event.number("account") != pd.account:
            self._bad("quota", event, f"name={event['name']}: no such account is configured")
            return
        self._quotas.add(pd.name)
        for word, quota in pd.quotas.items():
            if event.number(word) != quota:
                self._bad("quota", event, f"{pd.name}: {word}={event[word]}: expected {quota}")

    def _extract(self, event: Event, expected: Expected) -> None:
        if event["by"] == ROOT:
            self._extractions += 1
            if self._extractions > int(expected.extract):
                self._bad("extract", event, "none by the root task is configured, or one was")

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
            text = f"expected the spaces {' and '.join(expected.core_spaces)} before"
            self._bad("space", event, text)
        if event["id"] not in self.context.saved.pds:
            self._making = Making(event["id"], event["name"])

    def _body(self, event: Event, expected: Expected) -> None:
        if self._making is not None and event["of"] == self._making.pd:
            self._making.body = event.number("bytes")
            self._making.objects = dict(event.counts("objects"))
        self.edges.placed(event["of"])
        sizes = expected.sizes
        if is_memory(event["of"]):
            return
        if sizes is not None and event.number("slots") != sizes.body_slots:
            self._bad("sizes", event, f"slots={event['slots']}: expected {sizes.body_slots}")

    def _rights(self, event: Event, expected: Expected) -> None:
        if self._making is not None and event["pd"] == self._making.pd:
            self._making.row = event.values

    def _own(self, event: Event, expected: Expected) -> None:
        if self._making is None or event["to"] != self._making.pd:
            self._bad("pd", event, f"{event['to']} was not created just now")
        elif event["op"] != NOBODY:  # else it is a thread of the configuration
            self._making.creator = event["from"]

    def _allow(self, event: Event, expected: Expected) -> None:
        making = self._making
        if making is not None and event["pd"] == making.pd and event["by"] == making.creator:
            making.allows = event.number("count")

    def _created(self, making: Making) -> None:
        """The creation of a PD is complete."""
        if making.pd not in self.context.model.nodes:
            return
        if making.creator is not None:
            self._spawned(making, making.creator)
            return
        expected = self.context.expected
        pd = expected.pd(making.name) if expected is not None else None
        if expected is None or pd is None:
            self._bad("pd", "PD", f"{making.name}: no such PD is configured")
            return
        self._has_its_place(making, pd, expected)
        self.edges.created(making.pd, pd)
        row = making.row
        wanted = pd.row(expected.depths).items()
        self._compare(making, "rights", *((each, row.get(each), value) for each, value in wanted))
        trusts = self.context.authority.trusts_of(making.pd)
        self._compare(making, "rights", ("trusts", trusts, pd.trusts))
        if expected.sizes is not None:
            self._compare(making, "sizes", ("body", making.body, expected.sizes.bodies[pd.name]))
            self._has_objects(making, expected.sizes.objects[pd.name])

    def _has_its_place(self, making: Making, pd: ExpectedPd, expected: Expected) -> None:
        if pd.name in self._made:
            if pd.respawn is None:
                self._bad("pd", "PD", f"{pd.name}: it was created before and does not respawn")
            elif self.edges.live(pd.name, but=making.pd) is not None:
                self._bad("pd", "PD", f"{pd.name}: it exists already")
            return
        self._made.add(pd.name)
        if pd.late:
            if not self._settled:
                self._bad("pd", "PD", f"{pd.name}: expected it after the first cleanup")
            return
        made = self._made_at_boot
        made.append(pd.name)
        if not self._refused and (self._quotas or made != expected.at_boot[: len(made)]):
            self._bad("pd", "PD", f"{pd.name}: expected the PDs of boot time in their order")

    def _spawned(self, making: Making, creator: str) -> None:
        expected = self.context.expected
        parent = self.edges.configs.get(creator)
        if expected is None or parent is None or making.name not in parent.spawns:
            self._bad("pd", "PD", f"{making.name}: {creator} may not spawn it by the configuration")
            return
        row = {"pinned": 0, "protected": 0, "account": parent.account}
        row["priority"] = min(parent.spawn_priority, parent.priority)
        wanted = ((each, making.row.get(each), str(value)) for each, value in row.items())
        self._compare(making, "rights", ("allowance", making.allows, parent.spawn_allow), *wanted)
        if expected.sizes is not None:
            size = expected.sizes.spawned[making.name]
            self._compare(making, "sizes", ("body", making.body, size))
            self._has_objects(making, expected.sizes.spawned_objects[making.name])

    def _has_objects(self, making: Making, wanted: Mapping[str, int]) -> None:
        kinds = sorted(making.objects.keys() | wanted.keys())
        values = ((kind, making.objects.get(kind, 0), wanted.get(kind, 0)) for kind in kinds)
        self._compare(making, "sizes", *values)

    def _compare(self, making: Making, rule: str, *values: tuple[str, object, object]) -> None:
        """values: (what, as in the trace, as configured)."""
        for what, has, wanted in values:
            if has != wanted:
                text = f"{making.name}: {what} {_shown(has)}: expected {_shown(wanted)}"
                self._bad(rule, making.pd, text)

    # -- spaces and resources

    def _space(self, event: Event, expected: Expected) -> None:
        if event["manager"] == ROOT:
            self._core.append(event["type"])
            wanted = expected.core_spaces[: len(self._core)]
            if tuple(self._core) != wanted or event["name"] != "-":
                self._bad("space", event, f"{event['id']}: the root task has no such space")
            return
        owner = expected.owner(event["name"])
        if owner is None:
            return
        manager = self.edges.configs.get(event["manager"])
        if manager is not owner or owner.spaces[event["name"]] != event["type"]:
            text = f"{owner.spaces[event['name']]} of {owner.name}"
            self._bad("space", event, f"{event['name']}: expected {text}")

    def _resource(self, event: Event, expected: Expected) -> None:
        sizes = expected.sizes
        own = has_parent(self.context, event["id"])
        slots = None if sizes is None else sizes.resource_slots * own
        if slots is not None and event.number("slots") != slots:
            self._bad("sizes", event, f"slots={event['slots']}: expected {slots}")

    # -- points at which everything configured must be there

    def _synchronize(self, event: Event, expected: Expected) -> None:
        if event.name == "SETTLED" and event["n"] != "0":
            return
        if event.name == "CLEANUP" and self.context.cleanups.awaiting:
            return
        before = self.context.previous
        if event.name == "QUOTA" and before is not None and before.name == "QUOTA":
            return
        if self._made_at_boot != expected.at_boot and not self._refused:
            self._bad("pd", event, "expected all PDs of boot time before it")
        self.edges.synchronize(event)

    def at_end(self) -> None:
        """The trace ends."""
        expected, event = self.context.expected, "END"
        if expected is None:
            return
        for pd in expected.pds:
            if pd.late and self._settled and pd.name not in self._made and not self._refused:
                self._bad("pd", event, f"expected {pd.name}, which starts after a cleanup")
            if pd.name not in self._quotas:
                self._bad("quota", event, f"the quotas of {pd.name} were not told")
        if expected.extract and not self._extractions:
            self._bad("extract", event, "expected an extraction by the root task before it")

    def _refuse(self, event: Event, expected: Expected) -> None:
        """A configured PD could not be made. It is tried again."""
        self._refused |= event["pd"] == ROOT


def _shown(value: object) -> str:
    if isinstance(value, frozenset):
        return ",".join(sorted(value)) or "none"
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return (
        "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    )


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
