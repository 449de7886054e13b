# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's word: what the kernel has, compared with what it must have by the other events."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cellreap import headers
from cellreap.model.ids import ROOT, is_channel, is_line, is_memory, is_region
from cellreap.trace.check.configured_threads import is_without_process
from cellreap.trace.check.context import Concern, Context, outside
from cellreap.trace.check.kernel_caps import KernelCaps
from cellreap.trace.check.own_slots import has_parent
from cellreap.trace.check.slots import Capability
from cellreap.trace.check.snapshot import SnapshotError, read_snapshot
from cellreap.trace.events import Event, cause_of


class Times:
    """The TIME events of one answer of the kernel."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._told: dict[str, tuple[str, str]] = {}  # PD -> who has its time, whom it calls
        self._tells: bool | None = None  # whether this kernel tells it

    def told(self, event: Event) -> None:
        """TIME."""
        if event["pd"] in self._told:
            self._context.bad("truth.form", f"TIME: pd={event['pd']}: told twice")
        self._told[event["pd"]] = event["at"], event["calls"]

    def compare(self) -> None:
        """The answer is complete."""
        pds, bad = set(self._context.model.pds()) - {ROOT}, self._context.bad
        if self._tells is None and pds:
            self._tells = bool(self._told)
        for pd in sorted(self._told.keys() ^ (pds if self._tells else set())):
            bad("truth.form", f"TIME: {pd}: expected it of each PD that is there, or of none")
        for pd in sorted(self._told.keys() & pds):
            at, lent = self._told[pd][0], self._lent_to(pd)
            if at not in lent and not self._may_be(pd, at):
                calls = f", and it calls {', '.join(lent)}" if lent else ""
                bad("truth.time", f"TIME: the time of {pd} is at {at}{calls}")
        self._told = {}

    def _may_be(self, pd: str, at: str) -> bool:
        number = self._context.authority.number
        if at == "-":  # it waits, or never runs any more
            return bool(number(pd, "passive")) or self._context.actors.is_suspended(pd)
        return at == pd or (at == ROOT and number(pd, "budget_us") < number(pd, "period_us"))

    def _lent_to(self, pd: str) -> list[str]:
        """The passive PDs along the chain of its calls."""
        found: list[str] = []
        at = self._told[pd][1]
        while (
            at in self._told and at not in found and self._context.authority.number(at, "passive")
        ):
            found.append(at)
            at = self._told[at][1]
        return found


EVENTS: Final = frozenset({"TRUTH", "CAPS", "TIME", "OWN_CAPS", "UNTYPEDS"})
"""Events that change nothing. They may stand between events that must follow each other."""
TRIGGERS: Final = frozenset({"FAULT", "EXIT", "TRIGGER"})

_AFTER: Final = TRIGGERS | {"END"}
SEES: Final = _AFTER | {"PD", "stopped THREAD", "SETTLED"}
"""Events of which `Truth` always takes notice."""

_RUN = re.compile(r"([a-z])(0|[1-9]\d{0,8})(?:-([1-9]\d{0,8}))?")
_TABLES: Final = 8
"""The slot of a body's CNode with the first page table."""
_UNTYPED, _ENDPOINT, _NOTIFICATION, _CNODE, _THREAD, _OTHER = "uencto"
_COUNTED: Final = {
    "untypeds": _UNTYPED,
    "endpoints": _ENDPOINT,
    "notifications": _NOTIFICATION,
    "cnodes": _CNODE,
    "threads": _THREAD,
    "others": _OTHER,
}
_MAX_SLOTS: Final = 1 << 20
_SHOWN = 5

Slots = Mapping[int, str]
"""Slot -> the letter of its capability's type. Empty slots are left out."""
Held = Sequence[tuple[int, Capability]]
"""The capabilities for edges in a PD's CSpace."""


@functools.lru_cache(maxsize=1 << 12)
def slots_of(text: str, size: int) -> Slots | None:
    """The slots in a list like e1,n3,e8-11, which nobody changes. None: the text is no such list.

    Most CNodes are told again as they were.
    """
    slots: dict[int, str] = {}
    last = -1
    for run in text.split(",") if text != "-" else ():
        found = _RUN.fullmatch(run)
        if found is None:
            return None
        first, end = int(found[2]), int(found[3] or found[2])
        if not last < first <= end < size:
            return None
        slots.update(dict.fromkeys(range(first, end + 1), found[1]))
        last = end
    return slots


class Truth(Concern):
    """TRUTH, CAPS, TIME, OWN_CAPS, UNTYPEDS."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._cnodes = headers.printed_names("trace_events.h", "CR_CNODE")
        self._own_cnodes = headers.printed_names("trace_events.h", "CR_OWN_CNODE")
        self._kernel = KernelCaps(context)
        self._taken = False  # whether the trace has the kernel's word
        self._began = False  # whether something happened that it must precede
        self._due: str | None = None  # the event after which it must come next
        self._crash: str | None = None  # the PD before whose stop it must come
        self._fresh = False  # whether nothing happened since it was complete
        self._pds = 0  # that were ever created, with the root task
        self.alert = False
        """whether it takes notice of any event that comes next"""
        self._open = False
        self._snapshot = False
        self._had_snapshot = False  # whether the last TRUTH announced one
        self._caps: dict[tuple[str, str], tuple[int, Slots]] = {}
        self._times = Times(context)
        self._counts: dict[str, dict[str, int]] = {}
        self._sizes: dict[tuple[str, str], int] = {}  # (PD, CNode) -> its slots
        self._first = {"memory": dict.fromkeys(_COUNTED.values(), 0)}  # CNode -> what is its own
        self._bytes: int | None = None  # free and in use

    # -- when

    def see(self, event: Event) -> None:
        """Takes notice of any other event."""
        name = event.told
        if self._open:
            self.bad("truth.form", "expected UNTYPEDS before it")
            self._open = False
        self._pds += name == "PD"
        crashed = cause_of(event) is not None and event["pd"] != "-"
        if not self._taken:
            expected = self.context.expected
            asked = expected is not None and expected.truth in ("some", "all")
            if asked and not self._began and name in _AFTER:
                self.bad("config.truth", "expected the kernel's word before it")
            self._began |= crashed
            return
        if self._due is not None:
            self.bad("truth.when", f"expected TRUTH right after the {self._due}")
            self._due = None
        if crashed:
            self._crash = event["pd"]
        elif name == "stopped THREAD" and event["pd"] == self._crash:
            self.bad("truth.when", f"pd={self._crash}: expected TRUTH between its crash and this")
            self._crash = None
        elif name == "SETTLED" and event["n"] != "0":
            self._due = f"SETTLED n={event['n']}"
        elif name == "END" and not self._fresh:
            self.bad("truth.when", "expected TRUTH right before it")
        elif name == "END" and self._expects_snapshot() and not self._had_snapshot:
            self.bad("config.truth", "expected a snapshot by this kernel right before it")
        self._fresh = False
        self.alert = self._due is not None

    def _expects_snapshot(self, each: bool = False) -> bool:
        """Whether the kernel can print one more snapshot. each: if all of its word is asked for."""
        expected = self.context.expected
        if expected is None or (each and expected.truth != "all"):
            return False
        return self._pds <= expected.snapshots_up_to

    @outside("TRUTH")
    def truth(self, event: Event) -> None:
        """TRUTH: the kernel's word begins."""
        expected = self.context.expected
        self._had_snapshot = event["snapshot"] == "1"
        unasked = expected is not None and expected.truth == "none"
        if unasked or (self._expects_snapshot(each=self._taken) and not self._had_snapshot):
            self.bad("config.truth")
        if self._open:
            self.bad("truth.form", "expected UNTYPEDS before it")
        if not self._taken and self._began:
            self.bad("truth.when", "expected the first before anything crashed")
        self._taken = self._open = True
        self._due = self._crash = None
        self._snapshot = self._had_snapshot
        self.context.report.asked += 1
        self.context.report.snapshots += self._snapshot
        self._caps, self._counts = {}, {}

    def part(self, event: Event) -> bool:
        """Whether this event may be a part of the kernel's word. Compares a snapshot before it."""
        if not self._open:
            self.bad("truth.form", "expected TRUTH before it")
            return False
        if self._snapshot:
            self._snapshot = False
            try:
                self._kernel.compare(read_snapshot(event.text))
            except SnapshotError as error:
                self.context.bad("truth.snapshot", f"the snapshot of the kernel: {error}")
        return True

    # -- the parts

    @outside("CAPS")
    def caps(self, event: Event) -> None:
        """CAPS: a CNode of a PD."""
        if not self.part(event):
            return
        key, size = (event["pd"], event["cnode"]), event.number("slots")
        slots = slots_of(event["caps"], min(size, _MAX_SLOTS))
        if slots is None:
            self.bad("truth.form", "expected runs of slots in ascending order")
            return
        before = self._caps.get(key)
        if before is not None:
            if before[0] != size or before[1].keys() & slots.keys():
                self.bad("truth.form", f"{' '.join(key)}: told twice")
            size, slots = before[0], {**before[1], **slots}
        self._caps[key] = (size, slots)

    @outside("TIME")
    def time(self, event: Event) -> None:
        """TIME: who has the scheduling context of a PD."""
        if self.part(event):
            self._times.told(event)

    @outside("OWN_CAPS")
    def own_caps(self, event: Event) -> None:
        """OWN_CAPS: a CNode of the root task."""
        if not self.part(event):
            return
        if event["cnode"] in self._counts:
            self.bad("truth.form", f"cnode={event['cnode']}: told twice")
        values = event.values
        counts = {letter: int(values[name]) for name, letter in _COUNTED.items()}
        self._counts[event["cnode"]] = counts

    @outside("UNTYPEDS")
    def untypeds(self, event: Event) -> None:
        """UNTYPEDS: the kernel's word is complete. Compares all of it."""
        if not self.part(event):
            return
        self._open, self._fresh = False, True
        self._compare_pds()
        self._times.compare()
        self._compare_own(event.number("halves"))
        context = self.context
        total = event.number("bytes") + context.memory.bytes_in_use
        if self._bytes is not None and total != self._bytes:
            lost = self._bytes - total
            what = "are in use and belong to nobody" if lost > 0 else "are free and in use"
            self.bad("truth.memory", f"bytes={event['bytes']}: {abs(lost)} bytes {what}")
        self._bytes = total if self._bytes is None else self._bytes

    # -- the CNodes of PDs

    def _compare_pds(self) -> None:
        pds = set(self.context.model.pds())
        wanted = {(pd, cnode) for pd in pds if pd != ROOT for cnode in self._cnodes}
        for pd, cnode in sorted(wanted ^ self._caps.keys()):
            self.bad("truth.form", f"CAPS of {pd}'s {cnode}: expected it of each PD that is there")
        for key in [key for key in self._sizes if key[0] not in pds]:
            del self._sizes[key]
        for pd in sorted({pd for pd, _ in wanted & self._caps.keys()}):
            held = [*self._kernel.capabilities(pd)]
            if (pd, "cspace") in self._caps:
                slots = self._told(pd, "cspace")
                self._compare(f"CAPS: {pd}: its CSpace", slots, self._cspace(pd, slots, held))
            if (pd, "body") in self._caps:
                slots, where = self._told(pd, "body"), "the CNode of its body"
                self._compare(f"CAPS: {pd}: {where}", slots, self._body(pd, slots, held))

    def _told(self, pd: str, cnode: str) -> Slots:
        """What a CNode was told to have, which keeps its size."""
        size, slots = self._caps[pd, cnode]
        known = self._sizes.get((pd, cnode))
        if known is None:
            known = self._sizes[pd, cnode] = self._size(pd, cnode, size)
        if size != known:
            self.bad("truth.form", f"CAPS of {pd}'s {cnode}: slots={size}: expected {known}")
        return slots

    def _size(self, pd: str, cnode: str, told: int) -> int:
        """The slots of a CNode of which the trace tells for the first time.

        Those of a CSpace are configured. The body's CNode has the PD's objects, and behind them as
        many parents as the CSpace has slots.
        """
        if cnode == "cspace":
            configured = self.context.configured.edges.cspace_slots(pd)
            most = 1 << headers.constant("limits.h", "CR_CSPACE_BITS_MAX")
            return configured or min(1 << max(told - 1, 0).bit_length(), most)
        needed = self._parents(pd) + self._sizes.get((pd, "cspace"), 0)
        return 1 << (needed - 1).bit_length()

    def _parents(self, pd: str) -> int:
        """The slot of the body's CNode with the first of the parents: behind tables and frames."""
        objects = self.context.memory.objects.of(pd)
        return _TABLES + objects["table"] + objects["frame"]

    def _compare(self, where: str, has: Slots, wanted: Slots) -> None:
        if has == wanted:
            return
        differ = [slot for slot in sorted(has.keys() | wanted.keys())
                  if has.get(slot) != wanted.get(slot)]  # fmt: skip
        for slot in differ[:_SHOWN]:
            found, expected = _SAID[has.get(slot)], _SAID[wanted.get(slot)]
            text = f"{where}: slot {slot} is {found}: expected {expected}"
            self.context.bad("truth.walk", text)
        if len(differ) > _SHOWN:
            text = f"{where}: {len(differ) - _SHOWN} further slots differ"
            self.context.bad("truth.walk", text)

    def _cspace(self, pd: str, has: Slots, held: Held) -> Slots:
        slots = {slot: _OF_ITS_OWN[name] for slot, name in self._kernel.own(pd, has).items()}
        for slot, (_, node) in held:
            if slot in has or not self.context.residue.may_lack(node, pd):
                slots[slot] = (
                    _NOTIFICATION if is_channel(node) else _OTHER if is_line(node) else _ENDPOINT
                )
        return slots

    def _body(self, pd: str, has: Slots, held: Held) -> Slots:
        """What is there: a thread, a CSpace, an address space, an endpoint, a notification twice.

        A reply capability may be there or not. There are as many tables and frames as BODY says.
        Behind them are the parents of the capabilities in the CSpace that are for requests.
        """
        slots = {1: _THREAD, 2: _CNODE, 5: _NOTIFICATION, 6: _NOTIFICATION}
        if not is_without_process(self.context, pd):
            slots[3] = _OTHER
        if self.context.freed.keeps_endpoint(pd, 4 in has):
            slots[4] = _ENDPOINT
        if self.context.memory.objects.of(pd)["sched-context"]:
            slots[0] = _OTHER
        if has.get(7) == _OTHER:
            slots[7] = _OTHER
        parents = self._parents(pd)
        slots.update(dict.fromkeys(range(_TABLES, parents), _OTHER))
        for slot, (kind, node) in held:
            there = parents + slot in has or not self.context.residue.may_lack(node, pd)
            if kind == "REQUEST" and there:
                slots[parents + slot] = _ENDPOINT
        return slots

    # -- the CNodes of the root task

    def _compare_own(self, halves: int) -> None:
        for cnode in self._own_cnodes:
            if cnode not in self._counts:
                self.bad("truth.form", f"OWN_CAPS of {cnode} is missing")
                continue
            has = dict(self._counts[cnode])
            for letter, number in self._of_model(cnode, halves).items():
                has[letter] -= number
            first = self._first.setdefault(cnode, has)
            for letter in _COUNTED.values() if has != first else ():
                more = has[letter] - first[letter]
                if more > 0 or (more < 0 and more < -self._lacks(cnode, letter)):
                    too = f"{abs(more)} too {'many' if more > 0 else 'few'}"
                    what = f"cnode={cnode}: {self._counts[cnode][letter]} of {_SAID[letter]}"
                    self.context.bad("truth.own", f"OWN_CAPS: {what}: {too}")

    def _lacks(self, cnode: str, letter: str) -> int:
        """How many capabilities a cleanup that left something may have taken from the CNode."""
        weigh = _MAY_LACK.get((cnode, letter))
        left = filter(self.context.residue.may_lack, self.context.model.space_of)
        return 0 if weigh is None else sum(weigh(self.context, node) for node in left)

    def _of_model(self, cnode: str, halves: int) -> dict[str, int]:
        """What must be in a CNode of the root task besides what is its own for ever."""
        model = self.context.model
        if cnode == "level-1":
            return {_CNODE: sum(1 for _ in model.pds())}
        if cnode == "pool":
            memories = sum(map(is_memory, model.space_of))
            lines = sum(map(is_line, model.space_of))
            parents = [node for node in model.space_of if has_parent(self.context, node)]
            there = sum(map(self._kernel.exists, parents)) - memories - lines
            return {_ENDPOINT: there, _CNODE: memories, _OTHER: lines}
        if cnode == "memory":
            return {_OTHER: sum(_parts(self.context, node) for node in model.space_of)}
        return {_UNTYPED: halves} if cnode == "untypeds" else {}


def _parts(context: Context, memory: str) -> int:
    """The pages and tables whose capabilities are in the CNode of a memory object or region."""
    if not is_memory(memory):
        return 0
    objects, below = context.memory.objects, context.model.built_on(memory)
    if is_region(memory) and not below:
        return 0  # A cleanup has left the region, and taken what it maps.
    frames = sum(objects.pages(node).count for node in (memory, *below))
    return frames + objects.of(memory)["table"]


_MAY_LACK: Final[Mapping[tuple[str, str], Callable[[Context, str], int]]] = {
    ("pool", _ENDPOINT): lambda *_: 1,
    ("pool", _CNODE): lambda _, node: int(is_memory(node)),
    ("memory", _OTHER): _parts,
}
"""(CNode of the root task, type) -> the capabilities that a resource has there."""


_SAID: Final[Mapping[str | None, str]] = defaultdict(
    lambda: "of an unknown type",
    {
        None: "empty",
        _UNTYPED: "an untyped",
        _ENDPOINT: "an endpoint",
        _NOTIFICATION: "a notification",
        _CNODE: "a CNode",
        _THREAD: "a thread",
        _OTHER: "something else",
    },
)
"""The type of a capability, for people."""
_OF_ITS_OWN: Final = {
    "ROOT": _ENDPOINT, "FAULT": _ENDPOINT, "ENDPOINT": _ENDPOINT, "NOTIFICATION": _NOTIFICATION,
    "DOOR": _ENDPOINT, "CALL": _ENDPOINT, "THREAD": _THREAD, "REPLY": _OTHER,
    "SIGNAL": _NOTIFICATION,
}  # fmt: skip
"""What a PD has of its own -> the type of the capability."""
