# SPDX-License-Identifier: BSD-2-Clause
"""The edges that the configuration gives PDs: handlers, links, PD capabilities and requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cellreap import headers
from cellreap.model.ids import is_channel, is_line, is_memory, is_region, parts_of, pd_behind
from cellreap.trace.check.configured_threads import is_placed
from cellreap.trace.check.context import Concern, Context
from cellreap.trace.check.memory import Body
from cellreap.trace.events import RECONCILED, Event
from cellreap.trace.expected import Expected, ExpectedPd, kept_told
from cellreap.trace.report import Undone

NEEDED_CORE: Final = ("RESSPC", "PD", "MO")
"""The types of the root task's spaces that PDs may request: to create spaces, and to spawn."""

_UNKNOWN: Final = ExpectedPd("", 0)


@dataclass
class Making:
    """A PD whose creation the trace tells at the moment."""

    pd: str
    name: str
    creator: str | None = None
    row: Mapping[str, str] = field(default_factory=dict)
    """The columns of its RIGHTS"""
    allows: int = 0


class ConfiguredEdges(Concern):
    """Compares edges with the configuration, which must be known. Has no events of its own."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.configs: dict[str, ExpectedPd] = {}  # by PD, also of destroyed PDs
        self.pds: dict[str, str] = {}
        """name -> the last PD of it, be it destroyed"""
        self.orphans: set[str] = set()
        """PDs whose fault handler was not there when they were made: the root task is it"""
        self._given_back: set[tuple[str, str]] = set()
        """(holder, PD): the holder dropped the capability"""
        self._ungiven: dict[str, bool] = {}
        """A PD that a capability could not be given to -> whether a PD asked for anything since.
        It is tried again after the next message, before what follows from the message.
        """
        self._refused_again = False
        """From then on only the root task knows when it tries again"""
        self._memory: dict[str, str] = {}
        """Name of a region -> its last memory object"""
        self.kept: dict[str, Body] = {}
        """Name of a region that a device may write to for ever -> where its memory is or was"""
        self._there: dict[str, str] = {}
        """What was made in such memory, if the region has not got it -> the region"""
        self._known: dict[str, str] = {}
        """Name of a channel -> the last node of it"""
        self._first = headers.constant("protocol.h", "CR_SLOT_FIRST_FREE")

    def cspace_slots(self, pd: str) -> int | None:
        """The size of the PD's CSpace; None if it is not known, or not yet."""
        config, expected = self.configs.get(pd), self.context.expected
        if config is not None:
            return config.cspace_slots
        name = self.context.report.names.get(pd, "")
        if expected is None or expected.pd(name) is not None:
            return None  # it is being made
        if pd in self.context.saved.pds:
            return None  # as large as what it had needs
        sizes = expected.sizes
        return None if sizes is None else sizes.spawned_cspace_slots

    def live(self, name: str, but: str | None = None) -> str | None:
        """The PD of a configured name, if it exists. but: a PD that does not count."""
        pd = self.pds.get(name)
        return pd if pd != but and pd in self.context.model.nodes else None

    def config(self, pd: str) -> ExpectedPd:
        """What the configuration says of a PD, be it destroyed. It may say nothing."""
        return self.configs.get(pd, _UNKNOWN)

    def created(self, pd: str, config: ExpectedPd) -> None:
        """A configured PD was created. Its edges must be there, except PD capabilities."""
        self.configs[pd] = config
        self.pds[config.name] = pd
        model = self.context.model
        handler = None if config.handler is None else self.live(config.handler)
        if handler is None and config.handler is not None:
            self.orphans.add(pd)
        has = model.faults.get(pd)
        if has != handler:
            self.bad("config.handler", f"{config.name}: handler {has}: expected {handler}")
        core = [space for asker, space in model.requests if asker == pd and model.is_core(space)]
        asks = {space.partition("_")[0] for space in core}
        needs = (bool(config.spaces), "spawn" in config.rights, config.allocates)
        wanted = {core for core, needed in zip(NEEDED_CORE, needs, strict=True) if needed}
        self._compare("request", config, "requests", sorted(asks), sorted(wanted))
        process = None if config.process is None else self.live(config.process)
        if not is_placed(model, pd, config, process):
            self.bad("config.thread", f"{config.name}: its process is {process}")
        self._regions(pd, config)
        self._channels(pd, config)
        slots = self.context.slots.of(pd).items()
        lines = {slot: parts_of(node).type for slot, (_, node) in slots if is_line(node)}
        self._compare("line", config, "lines", lines, {it.slot: it.kind for it in config.lines})

    def _compare(
        self, rule: str, config: ExpectedPd, what: str, has: object, wanted: object
    ) -> bool:
        if has != wanted:
            self.bad(f"config.{rule}", f"{config.name}: {what} {has}: expected {wanted}")
        return has == wanted

    def _channels(self, pd: str, config: ExpectedPd) -> None:
        """It has its channels, each of them the one that the other PD has, if it is there."""
        model, slots = self.context.model, self.context.slots.of(pd)
        held = {node for of, node in model.holds if of == pd and is_channel(node)}
        at = {slot: node for slot, (_, node) in slots.items() if node in held}
        wanted = sorted(end.slot for end in config.ends if end.slot)
        if not self._compare("channel", config, "slots of channels", sorted(at), wanted):
            return
        if not self._compare("channel", config, "channels", len(held), len(config.ends)):
            return
        for end in config.ends:
            peer, mine = self.live(end.peer), at.get(end.slot)
            both = {node for node in held if (peer, node) in model.holds}
            known = self._known.get(end.channel)
            other = mine is not None and known in model.nodes and known != mine
            lacks = peer is not None and len(both) < sum(e.peer == end.peer for e in config.ends)
            if other or lacks:
                self.bad("config.channel", f"{config.name}: {mine}: expected {end.channel}")
            if mine is not None:
                self._known[end.channel] = mine

    def _regions(self, pd: str, config: ExpectedPd) -> None:
        """It has its regions, and of each the memory that the others have who are there."""
        context, model = self.context, self.context.model
        held = sorted(node for of, node in model.holds if of == pd and is_region(node))
        at = {node: context.memory.region(node) for node in held}
        has = {(it.page, it.writable, it.cached): node for node, it in at.items()}
        wanted = {(each.page, each.writable, each.cached): each for each in config.maps}
        if not self._compare("region", config, "regions", sorted(has), sorted(wanted)):
            return
        if not self._compare("region", config, "regions", len(held), len(wanted)):
            return
        for place, each in wanted.items():
            (memory,) = model.built_on(has[place])
            last = self._memory.get(each.region)
            others = {node for name, node in self._memory.items() if name != each.region}
            if (last in model.nodes and last != memory) or memory in others:
                self.bad("config.region", f"{config.name}: {memory} is not that of {each.region}")
            pages = context.memory.objects.pages(memory), context.memory.is_device(memory)
            needs = each.pages, each.physical is not None
            self._compare("region", config, f"pages of {each.region}", pages, needs)
            self._memory[each.region] = memory
            body = context.memory.body(memory)
            if each.writer is not None and body is not None:
                self.kept[each.region] = body
            if self._there.get(memory) == each.region:
                del self._there[memory]

    def placed(self, node: str) -> None:
        """A PD or memory is made. Where a device may write, only the region comes again."""
        body = self.context.memory.body(node)
        for region, kept in self.kept.items():
            if body is not None and body.overlaps(kept):
                self._there[node] = region

    def freed(self, memory: str) -> None:
        """A memory object is gone. A device may still write there."""
        for pd, config in self.configs.items():
            for each in config.maps:
                if each.writer is None or self._memory.get(each.region) != memory:
                    continue
                what = f"left memory: {kept_told(each.region, each.writer)}"
                if Undone(pd, what) not in self.context.report.undone:
                    self.context.report.undone.append(Undone(pd, what))

    def frames_of(self, memory: str) -> range | None:
        """The addresses of the pages of a device, or of memory that has its place, if known."""
        pages = self.context.memory.objects.pages(memory)
        names = [name for name, node in self._memory.items() if node == memory]
        for config in self.configs.values():
            for each in config.maps:
                if each.region in names and each.physical is not None:
                    return range(each.physical, each.physical + pages.bytes, 1 << pages.bits)
        return None

    def synchronize(self, event: Event, expected: Expected) -> None:
        """Everything that is configured must be there now, and nothing else."""
        for node, region in self._there.items():
            self.bad("config.kept", f"{node} is where a device may write to {region}")
        self._there.clear()
        live = {pd: self.configs[pd] for pd in self.pds.values() if pd in self.context.model.nodes}
        for pd, config in live.items():
            for name, slot in config.holds.items():
                self._held(event, pd, slot, name)
        for a, b in sorted(map(sorted, expected.links)):
            first, second = self.live(a), self.live(b)
            if first is None or second is None:
                continue
            if (min(first, second), max(first, second)) not in self.context.model.links:
                self.bad("config.link", f"{a} and {b} are not linked")

    def _held(self, event: Event, pd: str, slot: int, name: str) -> None:
        context, target = self.context, self.live(name)
        if target is None or (pd, target) in self._given_back:
            return
        if pd in self._ungiven and not (event.name == "END" and self._ungiven[pd]):
            return
        body = context.model.body_of(target)
        if body is not None and (pd, body) in context.model.holds:
            return
        silent = {pd, target} & context.actors.silent.keys()
        doomed = context.cleanups.dooms_pd(pd) or context.cleanups.dooms_pd(target)
        if not silent and not doomed and not context.slots.is_kept_empty(pd, slot):
            text = f"{pd} has no capability to {target}, {name}, in slot {slot}"
            self.bad("config.hold", text)

    # -- events

    def see(self, event: Event, expected: Expected, making: Making | None) -> None:
        """Takes an event. making: the PD that is being created."""
        if not self._refused_again and event.values.get("asker", "-") != "-":
            self._ungiven = dict.fromkeys(self._ungiven, True)
        if event.name == "MAKE_FAILED" and event["what"] == "hold":
            self._refused_again |= bool(self._ungiven)
            self._ungiven[event["name"]] = False
        if event.name == "EDGE":
            self._edge(event, expected, making)

    def _edge(self, event: Event, expected: Expected, making: Making | None) -> None:
        made, creator = (making.pd, making.creator) if making else (None, None)
        pd, told, target = event["from"], event.told, pd_behind(event["to"])
        own = event["asker"] in ("-", pd)
        if told == "made LINK":
            names = self.context.report.names
            if frozenset((names.get(pd), names.get(event["to"]))) not in expected.links:
                self.bad("config.link")
        elif told == "dropped HOLD":
            if target is not None and event["asker"] == pd:
                self._given_back.add((pd, target))
        elif told == "made FAULT" and pd != made:
            self.bad("config.handler")
        elif told == "made HOLD" and own and target is not None:
            self._hold(event, expected, made, target, pd == creator or event["op"] == "save")
        elif event.made("HOLD", "REQUEST"):
            self._slot(event)
        if told == "made REQUEST" and own:
            self._request(event, made)

    def _hold(
        self, event: Event, expected: Expected, made: str | None, target: str, gets: bool
    ) -> None:
        """A PD capability: by the configuration, or of a PD that the holder spawned or saved."""
        names, slot = self.context.report.names, event.number("number")
        config = self.configs.get(event["from"])
        if config is None and event["from"] == made:
            config = expected.pd(names[made])
        holds = {} if config is None else config.holds
        if gets == (slot in holds.values()) or (
            not gets and holds.get(names.get(target, "")) != slot
        ):
            self.bad("config.hold")

    def _slot(self, event: Event) -> None:
        """Slots of configured PD capabilities get no other ones, and no CSpace is exceeded."""
        pd, slot = event["from"], event.number("number")
        slots, own = self.cspace_slots(pd), self.config(pd).holds.values()
        in_slot = slot != 0 and not is_memory(event["to"])
        if slots is not None and in_slot and not (self._first <= slot < slots and slot not in own):
            self.bad("config.slot", f"number={slot}: expected {self._first} to {slots - 1}")

    def _request(self, event: Event, made: str | None) -> None:
        pd, space = event["from"], event["to"]
        if self.context.model.is_core(space):
            wrong = pd != made  # It has those from the start.
        else:  # The configuration does not tell those of the saved state.
            name = self.context.report.names.get(space, "-")
            wrong = event["op"] != RECONCILED and name not in self.config(pd).requests
        if wrong:
            self.bad("config.request")
