# SPDX-License-Identifier: BSD-2-Clause
"""The edges that the configuration gives PDs: handlers, links, PD capabilities and requests."""

from __future__ import annotations

from typing import Final

from cellreap import headers
from cellreap.model.ids import (
    is_channel,
    is_line,
    is_memory,
    is_region,
    parse_id,
    pd_id,
)
from cellreap.trace.check.configured_threads import wrong_thread
from cellreap.trace.check.context import Context
from cellreap.trace.check.memory import Body
from cellreap.trace.events import RECONCILED, Event
from cellreap.trace.expected import Expected, ExpectedPd, kept_told
from cellreap.trace.report import Undone

NEEDED_CORE: Final = ("RESSPC", "PD", "MO")
"""The types of the root task's spaces that PDs may request: to create spaces, and to spawn."""


class ConfiguredEdges:
    """Compares edges with the configuration, which must be known."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.configs: dict[str, ExpectedPd] = {}  # by PD, also of destroyed PDs
        self._pds: dict[str, str] = {}  # name -> the last PD of it
        self._given_back: set[tuple[str, str]] = set()
        """(holder, PD): the holder dropped the capability"""
        self._ungiven: dict[str, bool] = {}
        """A PD that a capability could not be given to -> whether a PD asked for anything since.
        It is tried again after each message, before what follows from the message.
        """
        self._memory: dict[str, str] = {}
        """Name of a region -> its last memory object"""
        self._kept: dict[str, Body] = {}
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
        pd = self._pds.get(name)
        return pd if pd != but and pd in self.context.model.nodes else None

    def created(self, pd: str, config: ExpectedPd) -> None:
        """A configured PD was created. Its edges must be there, except PD capabilities."""
        self.configs[pd] = config
        self._pds[config.name] = pd
        model = self.context.model
        handler = None if config.handler is None else self.live(config.handler)
        if model.faults.get(pd) != handler:
            text = f"{config.name}: handler {model.faults.get(pd)}: expected {handler}"
            self._bad("handler", "PD", text)
        core = [space for asker, space in model.requests if asker == pd and model.is_core(space)]
        asks = {space.partition("_")[0] for space in core}
        needs = (bool(config.spaces), "spawn" in config.rights, config.allocates)
        wanted = {core for core, needed in zip(NEEDED_CORE, needs, strict=True) if needed}
        if asks != wanted:
            text = f"{config.name}: requests {sorted(asks)} at first: expected {sorted(wanted)}"
            self._bad("request", "PD", text)
        process = None if config.process is None else self.live(config.process)
        if (wrong := wrong_thread(model, pd, config, process)) is not None:
            self._bad("thread", "PD", wrong)
        self._regions(pd, config)
        self._channels(pd, config)
        self._lines(pd, config)

    def _channels(self, pd: str, config: ExpectedPd) -> None:
        """It has its channels, each of them the one that the other PD has, if it is there."""
        model, slots = self.context.model, self.context.slots.of(pd)
        held = {node for of, node in model.holds if of == pd and is_channel(node)}
        has = {node: slot for slot, (_, node) in slots.items() if node in held}
        wanted = {end.slot: end for end in config.ends if end.slot}
        if sorted(has.values()) != sorted(wanted) or len(held) != len(config.ends):
            text = f"{config.name}: {len(held)} channels, in slots {sorted(has.values())}"
            self._bad("channel", "PD", f"{text}: expected {len(config.ends)}, {sorted(wanted)}")
            return
        for end in config.ends:
            peer = self.live(end.peer)
            both = {node for node in held if (peer, node) in model.holds}
            mine = next((node for node, slot in has.items() if slot == end.slot), None)
            known = self._known.get(end.channel)
            if mine is not None and known in model.nodes and known != mine:
                self._bad("channel", "PD", f"{config.name}: {mine} is not {end.channel}")
            if peer is not None and len(both) < sum(e.peer == end.peer for e in config.ends):
                self._bad("channel", "PD", f"{config.name} has no channel with {end.peer}")
            if mine is not None:
                self._known[end.channel] = mine

    def _lines(self, pd: str, config: ExpectedPd) -> None:
        """It has its interrupts and ports, in their slots."""
        held = {slot: parse_id(node) for slot, (kind, node) in self.context.slots.of(pd).items()
                if kind == "HOLD" and is_line(node)}  # fmt: skip
        has = {slot: None if parts is None else parts.type for slot, parts in held.items()}
        if has != {line.slot: line.kind for line in config.lines}:
            text = f"{config.name}: lines in slots {has}: expected {config.lines}"
            self._bad("line", "PD", text)

    def _regions(self, pd: str, config: ExpectedPd) -> None:
        """It has its regions, and of each the memory that the others have who are there."""
        context, model = self.context, self.context.model
        held = sorted(node for of, node in model.holds if of == pd and is_region(node))
        has, wanted = (
            {
                (at.page, at.writable, at.cached): node
                for node in held
                if (at := context.memory.region(node))
            },
            {(each.page, each.writable, each.cached): each for each in config.maps},
        )
        if has.keys() != wanted.keys() or len(held) != len(wanted):
            text = f"{config.name}: regions {sorted(has)}: expected {sorted(wanted)}"
            self._bad("region", "PD", text)
            return
        for place, each in wanted.items():
            (memory,) = model.built_on(has[place])
            last = self._memory.get(each.region)
            others = {node for name, node in self._memory.items() if name != each.region}
            if (last in model.nodes and last != memory) or memory in others:
                self._bad("region", "PD", f"{config.name}: {memory} is not that of {each.region}")
            pages = context.memory.objects.pages(memory)
            if pages != each.pages:
                text = f"{config.name}: {each.region} has pages {pages}: expected {each.pages}"
                self._bad("region", "PD", text)
            if context.memory.is_device(memory) != (each.physical is not None):
                what = "has no place" if each.physical is not None else "has a place"
                self._bad("region", "PD", f"{config.name}: {each.region} {what}")
            self._memory[each.region] = memory
            body = context.memory.body(memory)
            if each.writer is not None and body is not None:
                self.keep(each.region, body)
            if self._there.get(memory) == each.region:
                del self._there[memory]

    def keep(self, region: str, body: Body) -> None:
        """A device may write to a region for ever."""
        self._kept[region] = body

    def placed(self, node: str) -> None:
        """A PD or memory is made. Where a device may write, only the region comes again."""
        body = self.context.memory.body(node)
        for region, kept in self._kept.items():
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

    def synchronize(self, event: Event) -> None:
        """Everything that is configured must be there now, and nothing else."""
        expected = self.context.expected
        if expected is None:
            return
        for node, region in self._there.items():
            self._bad("kept", event.name, f"{node} is where a device may write to {region}")
        self._there.clear()
        live = {pd: self.configs[pd] for pd in self._pds.values() if self._is_there(pd)}
        for pd, config in live.items():
            for name, slot in config.holds.items():
                self._held(event, pd, slot, name)
        for a, b in sorted(map(sorted, expected.links)):
            ends = self.live(a), self.live(b)
            if ends[0] is not None and ends[1] is not None:
                pair = (min(ends[0], ends[1]), max(ends[0], ends[1]))
                if pair not in self.context.model.links:
                    self._bad("link", event.name, f"{a} and {b} are not linked")

    def _is_there(self, pd: str) -> bool:
        return pd in self.context.model.nodes

    def _held(self, event: Event, pd: str, slot: int, name: str) -> None:
        context, target = self.context, self.live(name)
        if target is None or (pd, target) in self._given_back:
            return
        if pd in self._ungiven and not (event.name == "END" and self._ungiven[pd]):
            return
        body = context.model.body_of(target)
        if body is not None and (pd, body) in context.model.holds:
            return
        silent = context.actors.silence(pd) or context.actors.silence(target)
        doomed = context.cleanups.dooms_pd(pd) or context.cleanups.dooms_pd(target)
        if silent is None and not doomed and not context.slots.is_kept_empty(pd, slot):
            text = f"{pd} has no capability to {target}, {name}, in slot {slot}"
            self._bad("hold", event.name, text)

    # -- events

    def see(
        self, event: Event, expected: Expected, making: str | None, creator: str | None
    ) -> None:
        """Takes an event. making: the PD that is being created; creator: the PD that spawned it."""
        if self._ungiven and event.values.get("asker", "-") != "-":
            self._ungiven = dict.fromkeys(self._ungiven, True)
        if event.name == "MAKE_FAILED":
            self._failed(event)
        if event.name == "EDGE":
            self._edge(event, expected, making, creator)

    def _edge(
        self, event: Event, expected: Expected, making: str | None, creator: str | None
    ) -> None:
        pd, told = event["from"], event.told
        own = event["asker"] in ("-", pd)
        if told == "made LINK":
            self._link(event, expected)
        elif told == "dropped HOLD":
            self._unhold(event)
        elif told == "made FAULT" and pd != making:
            self._bad("handler", told, f"{pd} exists already")
        elif told == "made HOLD" and own and self._target(event["to"]):
            self._hold(event, expected, making, pd == creator or event["op"] == "save")
        elif event.made("HOLD", "REQUEST"):
            self._slot(event)
        if told == "made REQUEST" and own:
            self._request(event, making)

    def _link(self, event: Event, expected: Expected) -> None:
        names = self.context.report.names
        if frozenset((names.get(event["from"]), names.get(event["to"]))) not in expected.links:
            text = f"{event['from']} and {event['to']}: it is not configured"
            self._bad("link", event.told, text)

    def _unhold(self, event: Event) -> None:
        target = self._target(event["to"])
        if target is not None and event["asker"] == event["from"]:
            self._given_back.add((event["from"], target))

    def _target(self, node: str) -> str | None:
        """The PD whose capability the node is."""
        parts = parse_id(node)
        if parts is None or parts.kind != "RESOURCE" or parts.type != "PD":
            return None
        return pd_id(parts.number)

    def _hold(self, event: Event, expected: Expected, making: str | None, gets: bool) -> None:
        """A PD capability: by the configuration, or of a PD that the holder spawned or saved."""
        names = self.context.report.names
        config = self.configs.get(event["from"])
        if config is None and event["from"] == making:
            config = expected.pd(names[making])
        slot = event.number("number")
        name = names.get(self._target(event["to"]) or "", "")
        of_config = config is not None and slot in config.holds.values()
        if config is not None and of_config and not gets and config.holds.get(name) == slot:
            return
        if not gets or of_config:
            text = f"{event['from']}: the capability to {name} in slot {event['number']}"
            self._bad("hold", event.told, f"{text} is not configured")

    def _slot(self, event: Event) -> None:
        """Slots of configured PD capabilities get no other ones, and no CSpace is exceeded."""
        pd, slot = event["from"], event.number("number")
        config, slots = self.configs.get(pd), self.cspace_slots(pd)
        own = () if config is None else config.holds.values()
        in_slot = slot != 0 and not is_memory(event["to"])
        if slots is not None and in_slot and not (self._first <= slot < slots and slot not in own):
            text = f"{pd} number={slot}: expected a slot from {self._first} to {slots - 1}"
            self._bad("slot", event.told, text)

    def _request(self, event: Event, making: str | None) -> None:
        model, pd, space = self.context.model, event["from"], event["to"]
        if model.is_core(space):
            if pd != making:
                self._bad("request", event.told, f"{pd} has requests to core spaces from the start")
            return
        if event["op"] == RECONCILED:
            return  # of the saved state, which the configuration does not tell
        config = self.configs.get(pd)
        name = self.context.report.names.get(space, "-")
        if config is None or name not in config.requests:
            self._bad("request", event.told, f"{pd}: a request to {name} is not configured")

    def _failed(self, event: Event) -> None:
        """A capability could not be given. It is tried again."""
        if event["what"] == "hold":
            self._ungiven[event["name"]] = False

    def _bad(self, rule: str, what: str, text: str) -> None:
        self.context.bad(f"config.{rule}", f"{what}: {text}")
