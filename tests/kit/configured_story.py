# SPDX-License-Identifier: BSD-2-Clause
"""Traces of a configured system, simulated, for any configuration.

A story that is told by one configuration and held against another contradicts nothing in itself.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from cellreap import headers
from cellreap.model.ids import ROOT
from cellreap.system.config import quotas
from cellreap.trace.expected import Expected, ExpectedCrash, ExpectedPd, ExpectedSizes
from cellreap.trace.writer import Draft
from kit.trace_simulator import (
    BODY_OBJECTS,
    BODY_SLOTS,
    FIRST_SLOT,
    OWN_OBJECTS,
    RESOURCE_SLOTS,
    Target,
    counted,
)

WORDS = quotas.words()
BODY: Final = 1 << 16
FAULTS: Final[dict[str, dict[str, Any]]] = {
    "page-fault": {"kind": "vm-fault", "address": 0xDEAD000},
    "cap-fault": {"kind": "cap-fault", "address": 1 << 40},
    "illegal-instruction": {"kind": "user-exception", "address": 6},
    "unknown-syscall": {"kind": "unknown-syscall", "address": (1 << 64) - 4242},
}


def _account(name: str, account: int, **values: Any) -> ExpectedPd:
    quotas = {word: 50 + account for word in WORDS if word != "bytes"}
    return ExpectedPd(name, account, deadline_ms=1000, quotas=quotas, **values)


@functools.cache
def expected() -> Expected:
    """A system with something of everything that a configuration can say."""
    rule = (3, 0, 0)
    pds = (
        _account("nurse", 1, priority=110),
        _account("disk", 2, spaces={"disk1": "BLOCK"}, respawn=rule, handler="nurse"),
        _account("fs", 3, spaces={"files": "FILE"}, requests=frozenset({"disk1"}), pinned=True),
        _account("app", 4, requests=frozenset({"files"}), depths=("1", "inf"), respawn=rule),
        _account(
            "init", 5, holds={"app": 8, "thread": 9},
            rights=frozenset({"spawn", "extract", "set_depth"}),
            spawns=frozenset({"child"}), spawn_priority=90, spawn_allow=2, cspace_slots=64,
        ),
        _account("thread", 6, respawn=rule),
        _account("late", 7, late=True, requests=frozenset({"disk1"})),
    )  # fmt: skip
    names = [pd.name for pd in pds]
    return Expected(
        source="system.toml",
        system="configured",
        depths=("0", "1"),
        mode="async",
        await_ms=1000,
        pds=pds,
        arch="x86_64",
        kernel="seL4 16.0.0",
        sizes=ExpectedSizes(
            base_bytes=1 << 20,
            base_slots=40,
            bodies=dict.fromkeys(names, BODY),
            spawned={"child": BODY},
            body_slots=BODY_SLOTS,
            resource_slots=RESOURCE_SLOTS,
            spawned_cspace_slots=256,
            base_objects=OWN_OBJECTS,
            objects=dict.fromkeys(names, BODY_OBJECTS),
            spawned_objects={"child": BODY_OBJECTS},
        ),
        links=frozenset({frozenset({"app", "thread"})}),
        crashes=(
            ExpectedCrash("disk", "page-fault", repeat=2),
            ExpectedCrash("app", "terminate", by="init"),
            ExpectedCrash("app", "exit"),
            ExpectedCrash("thread", "kill"),
            ExpectedCrash("late", "hang"),
        ),
        extract=True,
        inject=(
            "make:900:error",
            "step:900.2:fault:always",
            "step:901.end:hang",
            "step:902:error:x4",
        ),
    )


class Configured(Target):
    """A simulated root task with a configuration."""

    def __init__(self, config: Expected) -> None:
        depths = tuple(None if depth == "inf" else int(depth) for depth in config.depths)
        super().__init__(
            depths[0], depths[1], config.system, config.mode, closeness=config.closeness
        )
        self.config = config
        sizes = config.sizes
        assert sizes is not None
        self.sizes = sizes
        self.base = (sizes.base_bytes, sizes.base_slots)
        self.own_objects = Counter(sizes.base_objects)
        own = {"slots": self.base[1], "objects": counted(self.own_objects)}
        self._change("USAGE", bytes=self.base[0], own=self.base[1], **own)
        self._change("TRACE", kernel=config.kernel, arch=config.arch)
        self._change("SETTING", what="await", value=config.await_ms)
        for text in config.inject:
            self._announce(text)
        self.ids: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        for type_ in ("RESSPC", "PD"):
            self.core_space(type_)

    def _change(self, event: str, **values: object) -> None:
        match = {"what": values["what"]} if "what" in values else {}
        at = next(
            i
            for i, (name, has) in enumerate(self.events)
            if name == event and match.items() <= has.items()
        )
        self.events[at] = (event, {**self.events[at][1], **values})

    def _announce(self, text: str) -> None:
        chain, place, how, *often = text.split(":")
        step, _, call = place.partition(".")
        times = {(): "0", ("always",): "1"}.get(tuple(often)) or often[0].removeprefix("x")
        end = headers.constant("image.h", "CR_IMAGE_STEP_END")
        called = end if call == "end" else int(call or 0)
        self.setting(f"fail-{chain}", how, int(step), called, int(times))

    # -- PDs

    def boot(self) -> None:
        for pd in self.config.pds:
            if not pd.late:
                self.make(pd)
        for pd in self.config.pds:
            quotas = {word: pd.quotas.get(word, 1 << 20) for word in WORDS}
            self.emit("QUOTA", account=pd.account, name=pd.name, **quotas)

    def alive(self, name: str) -> str | None:
        pd = self.ids.get(name)
        return pd if pd in self.model.nodes else None

    def make(self, pd: ExpectedPd) -> None:
        """Creates a PD with what the configuration gives it, and lets it begin its work."""
        me = self.ids[pd.name] = self.pd(
            pd.name,
            size=self.sizes.bodies.get(pd.name, BODY),
            body_objects=Counter(self.sizes.objects.get(pd.name, BODY_OBJECTS)),
            account=pd.account,
            rights=pd.rights,
            **_rules_of(pd),
        )
        if pd.spaces:
            self.request(me, self.core_space("RESSPC"))
        if "spawn" in pd.rights:
            self.request(me, self.core_space("PD"))
        handler = None if pd.handler is None else self.alive(pd.handler)
        if handler is not None:
            self.handler(me, handler)
        for ends in self.config.links:
            other = next((name for name in ends if name != pd.name), pd.name)
            peer = self.alive(other)
            if pd.name in ends and peer is not None:
                self.link(me, peer)
        for config in self.config.pds:
            if config.holds:
                self.grant(config)

    def grant(self, config: ExpectedPd) -> None:
        """Fills the slots of configured PD capabilities that are due."""
        holder = self.alive(config.name)
        for slot, name in enumerate(config.holds, FIRST_SLOT):
            target = self.alive(name)
            if holder is None:
                continue
            slots = self.slots[holder]
            if target is None:
                slots.setdefault(slot, "reserved")
            elif slots.get(slot, "reserved") == "reserved":
                slots.pop(slot, None)
                self.body_cap(holder, target)

    def work(self, name: str) -> None:
        """A PD makes its spaces and connects."""
        me, pd = self.alive(name), self.config.pd(name)
        assert me is not None
        assert pd is not None
        for space, type_ in pd.spaces.items():
            self.space(me, type_, space)
        there = {values["name"]: values["id"] for event, values in self.events if event == "SPACE"}
        for wanted in sorted(pd.requests):
            space = str(there.get(wanted, ""))
            if space in self.model.nodes and (me, space) not in self.model.requests:
                self.request(me, space)

    def spawn(self, creator: str, program: str) -> None:
        parent = self.config.pd(creator)
        assert parent is not None
        me = self.ids[creator]
        child = self.pd(
            program, size=self.sizes.spawned[program],
            body_objects=Counter(self.sizes.spawned_objects[program]),
            deadline_ms=parent.deadline_ms, creator=me,
            priority=min(parent.spawn_priority, parent.priority), allows=parent.spawn_allow,
        )  # fmt: skip
        self.emit("ALLOW", pd=child, by=me, count=1)  # it may change at once what it began with

    # -- crashes

    def crash(self, number: int, crash: ExpectedCrash) -> None:
        pd = self.alive(crash.pd)
        by = None if crash.by is None else self.alive(crash.by)
        assert pd is not None
        self.stage(number, crash.how, pd, by)
        if crash.how in FAULTS:
            self._fault(pd, crash)
        elif crash.how == "exit":
            self.exit(pd, 42)
        elif crash.how == "freeze":
            self.emit("frozen THREAD", pd=pd)
        elif crash.how in ("terminate", "kill"):
            self.terminate(pd, by or ROOT)
        if crash.how not in ("freeze", "hang", "block"):
            self.clean_up()

    def _fault(self, pd: str, crash: ExpectedCrash) -> None:
        fault = {**FAULTS[crash.how], "ip": 0x400123}
        config = self.config.pd(crash.pd)
        handler = None if config is None or config.handler is None else self.alive(config.handler)
        if handler is not None:
            self.hold_fault(pd, handler, **fault)
            (notice,) = self.fetch(handler)
            self.ack(handler, notice, "failed")
        self.fault(pd, **fault)

    def quiet(self) -> None:
        """Prints what has changed since it was printed last."""
        names = [event for event, _ in self.events]
        self.account()
        changes = {"BODY", "RESOURCE", "DELETE", "PD", "SPACE", "EDGE"}
        printed = max((i for i, name in enumerate(names) if name == "SETTLED"), default=0)
        if changes & set(names[printed:]):
            self.snapshot()

    def clean_up(self) -> None:
        trigger = next(pd.depths for pd in self.config.pds if self.ids.get(pd.name) == self._due())
        depths = self.config.depths if trigger is None else trigger
        self.cleanup((_depth(depths[0]), _depth(depths[1])))
        gone = [pd for pd in self.config.pds if pd.name in self.ids and not self.alive(pd.name)]
        for pd in gone:
            self._decide(pd)
        for pd in gone:
            if pd.respawn is not None:
                self.make(pd)
        self.quiet()
        self.serve_all()
        for pd in self.config.pds:
            if self.alive(pd.name) is not None and pd.holds:
                self.grant(pd)
        for pd in self.config.pds:
            if self.alive(pd.name) is not None and (pd in gone or not pd.spaces):
                self.work(pd.name)
        self.quiet()

    def _due(self) -> str:
        return self.pending[0][0]

    def _decide(self, pd: ExpectedPd) -> None:
        if pd.respawn is not None:
            count = self.counts[pd.name] = self.counts.get(pd.name, 0) + 1
            self.emit("due RESPAWN", name=pd.name, count=count, delay_ms=0)

    def had_depths(self, pd: str, depths: tuple[int | None, int | None]) -> None:
        """The depths are those of the configuration, which were told."""


def _rules_of(pd: ExpectedPd) -> dict[str, Any]:
    """Fields of its RIGHTS."""
    tables = (
        (("heartbeat_ms", "call_ms", "budget_us", "period_us", "passive"), pd.limits),
        (("respawns", "window_ms", "delay_ms"), pd.respawn),
        (("pd_depth", "rs_depth"), pd.depths),
    )
    rules = {
        name: value for names, has in tables if has for name, value in zip(names, has, strict=True)
    }
    rules |= {"pinned": int(pd.pinned), "protected": int(pd.protected)}
    return {**rules, "priority": pd.priority, "deadline_ms": pd.deadline_ms}


def _depth(text: str) -> int | None:
    return None if text == "inf" else int(text)


def story(config: Expected) -> list[Draft]:
    """A run of the configuration, in which all its crashes happen."""
    target = Configured(config)
    target.boot()
    for pd in config.pds:
        if not pd.late:
            target.work(pd.name)
    for parent in config.pds:
        for program in sorted(parent.spawns):
            target.spawn(parent.name, program)
    target.quiet()
    crashing = {crash.pd for crash in config.crashes}
    worker = next(pd.name for pd in config.pds if pd.name not in crashing and not pd.spaces)
    target.emit("in-rounds THREAD", pd=target.ids[worker])
    cleaned = False
    for number, crash in enumerate(config.crashes, 1):
        for _ in range(crash.repeat):
            target.crash(number, crash)
            if not cleaned and target.cleanups:
                for pd in config.pds:
                    if pd.late:
                        target.make(pd)
                cleaned = True
                target.quiet()
    target.emit("dismissed THREAD", pd=target.ids[worker])
    if config.extract:
        x = target.extract()
        target.serve_all()
        target.extracted(x)
    target.quiet()
    return target.end()


def with_pd(name: str, /, **values: Any) -> Callable[[Expected], Expected]:
    """Another configuration: one PD with other values."""

    def change(config: Expected) -> Expected:
        pds = tuple(replace(pd, **values) if pd.name == name else pd for pd in config.pds)
        return replace(config, pds=pds)

    return change


def with_more_pds(count: int) -> Callable[[Expected], Expected]:
    """So many PDs more, which do nothing."""

    def change(config: Expected) -> Expected:
        sizes, first = config.sizes, len(config.pds) + 1
        assert sizes is not None
        more = tuple(_account(f"idler_{number}", number) for number in range(first, first + count))
        names = [pd.name for pd in more]
        bodies = {**sizes.bodies, **dict.fromkeys(names, BODY)}
        objects = {**sizes.objects, **dict.fromkeys(names, BODY_OBJECTS)}
        all_sizes = replace(sizes, bodies=bodies, objects=objects)
        return replace(config, pds=(*config.pds, *more), sizes=all_sizes)

    return change


def with_sizes(**values: Any) -> Callable[[Expected], Expected]:
    """Another configuration: other sizes."""

    def change(config: Expected) -> Expected:
        assert config.sizes is not None
        return replace(config, sizes=replace(config.sizes, **values))

    return change


def with_system(**values: Any) -> Callable[[Expected], Expected]:
    """Another configuration: the system has other values."""
    return lambda config: replace(config, **values)


def without_crash(number: int) -> Callable[[Expected], Expected]:
    """Another configuration: one crash less."""

    def change(config: Expected) -> Expected:
        left = [crash for i, crash in enumerate(config.crashes, 1) if i != number]
        return replace(config, crashes=tuple(left))

    return change


def other_quota(config: Expected) -> Expected:
    """Another configuration: one PD has another quota."""
    quotas: Mapping[str, int] = {**config.pds[3].quotas, "edges": 51}
    return with_pd("app", quotas=quotas)(config)
