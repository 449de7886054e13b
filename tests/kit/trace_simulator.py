# SPDX-License-Identifier: BSD-2-Clause
"""A simulated root task on the host that writes the trace of a real one, to test the checker.

It keeps memory, slots, tokens and edges itself. From the reference model it takes only what a
cleanup must do.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial, partialmethod
from typing import TypeVar

from cellreap import headers
from cellreap.headers import event_table
from cellreap.model import reference
from cellreap.model.closeness import Closeness
from cellreap.model.csvstate import state_rows
from cellreap.model.digest import of_plan
from cellreap.model.graph import DESTRUCTOR, Model
from cellreap.model.ids import MEMORY as MEMORY_TYPE
from cellreap.model.ids import (
    REGION,
    ROOT,
    is_region,
    number_of,
    parse_id,
    pd_id,
    resource_id,
    space_id,
)
from cellreap.trace.writer import NO_SECRET, Draft
from kit.answering import answered
from kit.digests import digest_of
from kit.mourning import Mourning

Thing = TypeVar("Thing")

FIRST_SLOT = 8
BODY_SLOTS = 2
OWN_OBJECTS = Counter({"thread": 3, "endpoint": 2, "notification": 3, "irq-handler": 1})
BODY_OBJECTS = Counter(
    {"thread": 1, "endpoint": 1, "notification": 1, "cnode": 2, "vspace": 1, "table": 4, "frame": 9}
    | {"asid": 1}
)
RESOURCE_SLOTS = 1
MEMORY_SLOTS = 1
MEMORY = 0x1_0000_0000
RESSPC_NUMBER = 0xFFF
WORK_MAX = 16
MAX_TAKEN = 32
EXIT = 2
ROOT_SLOT = headers.constant("protocol.h", "CR_SLOT_ROOT")
CONNECT = 8
CANCELLED = 15
DROPPED, PREVENTED = 4, 5
CHANGES_MEMORY = ("BODY", "RESOURCE", "DELETE", "SETTLED")
RIGHTS = ("set_depth", "extract", "spawn", "listen", "collect")
LIMITED = ("free", "disconnect", "extract")
PRECEDENCE = (
    "probe", "fault", "pre-destroy", "destroy", "lost", "free", "disconnect", "extract",
)  # fmt: skip


@dataclass
class Notice:
    """A notice that its receiver has not finished, or answered as failed."""

    token: int
    kind: str
    node: str
    tag: tuple[str, int] | None
    out: bool = False
    failed: bool = False
    given_up: bool = False
    seen: bool = False
    """it was handed out, be it before it was taken back"""

    @property
    def lane(self) -> int | str:
        if self.kind in ("probe", "fault"):
            return f"{self.kind} {self.node}"
        parts = parse_id(self.node)
        assert parts is not None
        if parts.kind == "PD":
            return 0
        return parts.number if parts.space is None else parts.space


@dataclass
class Ticket:
    owner: str
    what: str
    tag: tuple[str, int] | None = None
    settled: bool = False
    comes_to: int | None = None
    """its cr_ticket_state for good: it was cancelled, prevented, or told to be over"""


def counted(objects: Counter[str]) -> str:
    """Kinds with their numbers, as lines have them."""
    return ",".join(f"{kind}:{count}" for kind, count in objects.items()) or "-"


def total(kinds: object) -> int:
    """The sum of the numbers of kinds, as lines have them."""
    return sum(int(each.partition(":")[2] or 0) for each in str(kinds).split(","))


def registers_at(ip: int, syscall: int) -> str:
    """The registers of a thread at this instruction, which may be a system call."""
    return f"rip:{ip:#x},rsp:0x10013f00,rdx:{syscall:#x}"


def fault_told(kind: str, address: int = 0x10, ip: int = 0x400123) -> dict[str, object]:
    """A fault, and the registers at it, as the columns of an event tell them."""
    registers = registers_at(ip, address)
    return {"kind": kind, "address": hex(address), "ip": hex(ip), "registers": registers}


@cache
def _numbers(event: str) -> dict[str, object]:
    """The numbers in an event, each 0, and who a thread has nothing to do with."""
    table, name = event_table(), event.rpartition(" ")[2]
    fields = table.fields.get(name, ())
    numbers = {field: 0 for field in fields if table.types[name, field] in ("NUMBER", "FLAG")}
    return {**numbers, **({"by": "-"} if name == "THREAD" else {})}


def depths_told(depths: tuple[int | None, int | None]) -> dict[str, int | str]:
    """Depths as the columns of an event tell them."""
    return dict(zip(("pd_depth", "rs_depth"), map(reference.depth_text, depths), strict=True))


def in_order(plan: reference.Plan) -> list[tuple[str, str, str, str | None]]:
    """The notices of a plan by their receivers, as they are queued."""
    depth = dict(plan.destroyed_pds)

    def place(notice: tuple[str, str, str, str | None]) -> tuple[str, int, str, bool]:
        to, kind, _, dead = notice
        return to, depth.get(dead or "", 0), dead or "", kind == "disconnect"

    return sorted(plan.notices, key=place)


def in_parts(things: list[Thing], most: int) -> Iterator[list[Thing]]:
    """The things, at most so many at a time."""
    return (things[first : first + most] for first in range(0, len(things), most))


class Target:
    """The state of the run. `events` is its trace so far."""

    at_once = 32
    """One step queues at most so many notices, or destroys so many resources."""

    def __init__(
        self,
        pd_depth: int | None = 0,
        rs_depth: int | None = 0,
        system: str = "test",
        mode: str = "async",
        injections: tuple[tuple[int, str], ...] = (),
        closeness: Closeness | None = None,
    ) -> None:
        """closeness: the policy, if depth alone does not decide.

        injections: (step of cleanups, how the cleaner dies at it).

        A step is left if each attempt fails, which is "always" behind the way. It must be the last
        one of its phase.
        """
        self.events: list[Draft] = []
        self.mourning = Mourning()
        self.model = Model()
        self.depths = (pd_depth, rs_depth)
        self.system_depths = self.depths
        self.accounts: dict[str, int] = {}
        self.n_pds = 0
        self.n_spaces = 0
        self.objects: dict[str, int] = {}
        self.bodies: dict[str, tuple[int, int]] = {}
        self.memories: dict[str, tuple[int, int]] = {}
        self.slots: dict[str, dict[int, tuple[str, str] | str]] = {}
        """PD -> slot -> (kind, node) of the capability; "lost <what>" until that is acknowledged"""
        self.base = (1 << 20, 40)
        self.own_objects = OWN_OBJECTS
        self.body_objects: dict[str, Counter[str]] = {}
        self.token = 0
        self.keeps: dict[int, Counter[str]] = {}
        """cleanup -> survivor -> how much it keeps that is built on what goes"""
        self.queues: dict[str, list[Notice]] = {}
        self.ends: Counter[tuple[tuple[str, int] | None, str, str]] = Counter()
        self.silent: set[str] = set()
        """the PDs that are stopped"""
        self.suspended: set[str] = set()
        """the PDs whose threads are suspended"""
        self.managers: dict[str, str] = {}
        """space -> its manager, also of spaces that are gone"""
        self.stop_calls: dict[str, Counter[str]] = {}
        """PD that is stopped -> the kernel calls that this took"""
        self.tickets: dict[int, Ticket] = {}
        self.x = 0
        self.pieces: dict[int, list[tuple[str, str]]] = {}
        self.extractions_over: set[int] = set()
        self.doomed: set[str] = set()
        self.pending: deque[tuple[str, str]] = deque()
        self.later: set[str] = set()
        """the PDs in it that go on until their cleanup begins"""
        self.cleanups = 0
        self.core_spaces: dict[str, str] = {}
        self.spawning: str | None = None
        """the creator of the PD that is being made"""
        self.remains: set[str] = set()
        """the doomed nodes that a cleanup left"""
        self.tombstones = 0
        """the destroyed nodes of such cleanups"""
        self.going: dict[int, int] = {}
        """cleanup that waits for destructors -> how many nodes it has destroyed"""
        self.memory_changed = True
        """since USAGE"""
        head = {"version": event_table().version, "arch": "x86_64", "kernel": "seL4 16.0.0"}
        told = {"system": system, "key": NO_SECRET.hex(), "clock": 0}
        self.emit("TRACE", **head, **told, **depths_told(self.depths))
        self.settings: list[str] = []
        self.account()
        self.setting("mode", mode)
        self.setting("await", value=1000)
        self.closeness = closeness
        if closeness is not None:
            self.setting("policy", closeness.policy)
            if closeness.fr_max is not None:
                self.setting("fr-max", value=closeness.fr_max)
            for type_, shared, every in closeness.rsi_min:
                self.setting("rsi-min", type_, shared, every)
        self.injections: dict[int, dict[str, object]] = {}
        """step of cleanups -> how the cleaner dies at it"""
        for step, how in injections:
            word, _, always = how.partition(":")
            self.injections[step] = self.setting("fail-step", word, step, 0, int(bool(always)))
        self.steps_done = 0
        self.served_after: dict[int, tuple[str, Callable[[], object]]] = {}
        """number of a step of cleanups -> the PD that is served after it, and what it asks for"""
        self.model.add_pd(ROOT, "ROOT_TASK", pinned=True)
        self.emit("PD", id=ROOT, name="ROOT_TASK")

    def emit(self, event: str, /, **values: object) -> None:
        """Writes an event. A field named like a Python keyword has a trailing underscore.

        A change of the model gets its likeliest cause, unless the values say another one. A number
        that they do not say is 0, so a new one in an event concerns only the tests of it.
        """
        draft = {key.rstrip("_"): value for key, value in values.items()}
        self.mourning.see(event, draft)
        self.memory_changed |= event in CHANGES_MEMORY and draft.get("n") != 0
        cause = {} if "op" in draft else cause_of(self.model, event, draft, self.spawning)
        self.events.append((event, {**_numbers(event), **draft, **cause}))
        pd, server = str(values.get("pd")), str(values.get("by"))
        if event in ("frozen THREAD", "FAULT_HELD"):
            self.suspended.add(pd)
        elif event == "resumed THREAD":
            self.suspended.discard(pd)
        elif event == "answered THREAD" and server in self.stop_calls:
            self.stop_calls[server]["resume"] += 1

    def setting(
        self, what: str, word: str = "-", value: int = 0, second: int = 0, third: int = 0
    ) -> dict[str, object]:
        """Tells a setting behind those that were told, and returns it."""
        self.settings.append(what)
        values = {"what": what, "word": word, "value": value, "second": second, "third": third}
        self.events.insert(1 + len(self.settings), ("SETTING", values))
        return values

    # -- creation

    def pd(
        self,
        name: str,
        *,
        size: int = 1 << 16,
        creator: str | None = None,
        account: int | None = None,
        rights: Collection[str] | None = None,
        trusts: tuple[int, ...] = (),
        allows: int = 0,
        body_objects: Counter[str] = BODY_OBJECTS,
        **rules: int | str,
    ) -> str:
        """allows: the edges that a spawned PD allows its creator. rules: fields of its RIGHTS that
        are not as in most.
        """
        if creator is not None:
            self.core_request(creator, "PD")
        self.spawning = creator
        self.n_pds += 1
        pd = pd_id(self.n_pds)
        self.model.add_pd(pd, name, pinned=bool(rules.get("pinned")))
        self.bodies[pd] = (self._memory(size), size)
        self.slots[pd] = {}
        self.emit("PD", id=pd, name=name)
        place = {"paddr": hex(self.bodies[pd][0]), "bytes": size, "slots": BODY_SLOTS}
        self.body_objects[pd] = body_objects
        self.emit("BODY", of=pd, **place, objects=counted(body_objects))
        own = self.n_pds if account is None else account
        self.accounts[pd] = own if creator is None else self.accounts[creator]
        if rights is None:
            rights = frozenset(("extract", "spawn") if creator is None else ())
        told = {**depths_told(self.system_depths), "priority": 100, **dict.fromkeys(rights, 1)}
        told |= {name: rule if isinstance(rule, str) else int(rule) for name, rule in rules.items()}
        self.emit("RIGHTS", pd=pd, **told, account=self.accounts[pd])
        for trusted in trusts:
            self.emit("TRUST", pd=pd, account=trusted)
        if creator is not None:
            self.model.add_own(creator, pd)
            self.edge("made", "OWN", creator, pd)
            if allows:
                self.emit("ALLOW", pd=pd, by=creator, count=allows)
            self.body_cap(creator, pd)
            self.spawning = None
        return pd

    def pin(self, asker: str, pd: str, pinned: bool) -> None:
        """A PD pins another, or drops its pin."""
        self.model.set_pinned(pd, pinned)
        self.new_policy(pd, asker, "pin", pinned=int(pinned))

    def set_depths(self, asker: str, pd: str, depths: tuple[int | None, int | None]) -> None:
        """A PD sets the depths of another."""
        self.new_policy(pd, asker, "set_depth", **depths_told(depths))

    def new_policy(self, pd: str, asker: str, op: str, **columns: object) -> None:
        """Tells the rules of a PD again, of which some have changed."""
        before = self.events[self._rules_of(pd)][1]
        self.emit("RIGHTS", **{**before, **columns, "asker": asker, "op": op})

    def _rules_of(self, pd: str) -> int:
        """The place of what was told last of the rules of a PD."""
        events = self.events
        return max(i for i, (e, v) in enumerate(events) if e == "RIGHTS" and v["pd"] == pd)

    def had_depths(self, pd: str, depths: tuple[int | None, int | None]) -> None:
        """The configuration gave the PD depths of its own, if these are not the system's."""
        at = self._rules_of(pd)
        told = self.events[at][1]
        if told["op"] != "set_depth":
            self.events[at] = ("RIGHTS", {**told, **depths_told(depths)})

    def _memory(self, size: int) -> int:
        """The lowest aligned address that no body covers."""
        at = MEMORY
        for start, used in sorted([*self.bodies.values(), *self.memories.values()]):
            if start < at + size and at < start + used:
                at = -(-(start + used) // size) * size
        return at

    def space(self, manager: str, type_: str, name: str = "-") -> str:
        if manager != ROOT:
            self.core_request(manager, "RESSPC")
        self.n_spaces += 1
        space = space_id(type_, self.n_spaces)
        self.model.add_space(space, manager)
        self.managers[space] = manager
        self.objects[space] = 0
        self.emit("SPACE", id=space, type=type_, manager=manager, name=name)
        if manager != ROOT:
            self.model.add_hold(manager, space)
            self.edge("made", "HOLD", manager, space)
        return space

    def core_request(self, pd: str, type_: str) -> None:
        """The PD has the request to a core space that an operation of it needs."""
        if type_ == "RESSPC" and type_ not in self.core_spaces:
            # Its number is beyond those of all other spaces, which tests name.
            space = self.core_spaces[type_] = space_id(type_, RESSPC_NUMBER)
            self.model.add_space(space, ROOT)
            self.emit("SPACE", id=space, type=type_, manager=ROOT, name="-")
        if (pd, self.core_space(type_)) not in self.model.requests:
            self.request(pd, self.core_space(type_))

    def core_space(self, type_: str) -> str:
        if type_ not in self.core_spaces:
            self.core_spaces[type_] = self.space(ROOT, type_)
        return self.core_spaces[type_]

    def resource(self, space: str, number: int | None = None, **cause: str) -> str:
        self.objects[space] += 1
        type_, _, space_number = space.rpartition("_SPACE_")
        number = self.objects[space] if number is None else number
        res = resource_id(type_, int(space_number, 16), number)
        self.model.add_resource(res, space)
        self.emit("RESOURCE", id=res, space=space, slots=RESOURCE_SLOTS, **cause)
        manager = self.model.manager[space]
        if manager != ROOT:
            self.model.add_hold(manager, res)
            self.edge("made", "HOLD", manager, res)
        return res

    def memory(self, pd: str, lower: str | None = None, slot: int = 0) -> str:
        """A memory object that a PD allocates, or a region of the PD's that maps one."""
        op = "allocate" if lower is None else "attach"
        if lower is None:
            self.core_request(pd, MEMORY_TYPE)
        space = self.core_space(MEMORY_TYPE if lower is None else REGION)
        made = self.resource(space, asker=pd, op=op)
        self.memories[made] = (self._memory(1 << 13), 1 << 13)
        self.body_objects[made] = Counter({"cnode": 1, "frame": 1} if lower is None
                                          else {"cnode": 1, "table": 2})  # fmt: skip
        place = {"paddr": hex(self.memories[made][0]), "bytes": 1 << 13, "slots": MEMORY_SLOTS}
        self.emit("BODY", of=made, **place, objects=counted(self.body_objects[made]))
        if lower is None:
            self.model.tell_extra(made, f"{self.memories[made][0]:#x}_1_12")
        self.model.add_hold(pd, made)
        self.edge("made", "HOLD", pd, made, slot if lower else 1, asker=pd, op=op)
        if lower is not None:
            self.model.add_map(made, lower)
            self.edge("made", "MAP", made, lower, 1 << 20 | 1, asker=pd, op=op)
            self.model.tell_extra(made, f"{1 << 30:#x}_GENERIC_1_12")
        return made

    def send_memory(self, pd: str, memory: str, to: str, rights: int = 1) -> None:
        """A PD that holds a memory object gives it to another. rights: 2 if read only is asked."""
        self.emit("ALLOW", pd=to, by=pd, count=1)
        self.model.add_hold(to, memory)
        self.model.tell_right(to, memory, bool(rights & 1))
        self.edge("made", "HOLD", to, memory, rights, asker=pd, op="send")

    def body_cap(self, holder: str, pd: str) -> str:
        """Gives the holder the capability to a PD's body."""
        body = self.body(pd)
        self.hold(holder, body)
        return body

    def body(self, pd: str, **cause: str) -> str:
        """A PD's body. It is made if nobody holds it."""
        body = self.model.body_of(pd)
        if body is None:
            number = int(pd.removeprefix("PD_"), 16)
            body = self.resource(self.core_space("PD"), number, **cause)
        return body

    # -- edges

    def edge(
        self, change: str, kind: str, source: str, target: str, number: int = 0, **cause: str
    ) -> None:
        ends = {"from_": source, "to": target}
        self.emit("EDGE", change=change, kind=kind, **ends, number=number, **cause)

    def _slot(self, pd: str, kind: str, node: str) -> int:
        slots = self.slots[pd]
        for slot, what in slots.items():
            if what == (kind, node):
                return slot
        slot = FIRST_SLOT
        while slot in slots:
            slot += 1
        slots[slot] = (kind, node)
        return slot

    def hold(self, pd: str, node: str) -> None:
        self.model.add_hold(pd, node)
        manager = self.model.manager[self.model.space_of.get(node, node)]
        if manager not in (pd, ROOT):
            self.emit("ALLOW", pd=pd, by=manager, count=1)
        self.edge("made", "HOLD", pd, node, 0 if manager == pd else self._slot(pd, "HOLD", node))

    def unhold(self, pd: str, node: str, by: str | None = None) -> None:
        slot = self._slot(pd, "HOLD", node)
        self.model.drop_hold(pd, node)
        gone = (pd, node) not in self.model.holds
        if gone:
            del self.slots[pd][slot]
        self.edge("dropped", "HOLD", pd, node, slot, asker=by or pd)
        if gone and by not in (None, pd):
            self.slots[pd][slot] = f"lost {node}"
            self._tell_loss(pd, node)

    def _tell_loss(self, pd: str, about: str) -> None:
        """Tells a PD of a loss that no cleanup tells it of."""
        if pd not in self.silent and pd not in self.doomed:
            self._put(0, pd, "lost", about, None, None)

    def request(self, pd: str, space: str) -> None:
        self.model.add_request(pd, space)
        slot = 0 if self.model.is_core(space) else self._slot(pd, "REQUEST", space)
        self.edge("made", "REQUEST", pd, space, slot)

    def unrequest(self, pd: str, space: str) -> None:
        slot = 0
        if not self.model.is_core(space):
            slot = self._slot(pd, "REQUEST", space)
            del self.slots[pd][slot]
        self.model.drop_request(pd, space)
        self.edge("dropped", "REQUEST", pd, space, slot)
        if self.model.manager[space] != ROOT:
            self._put(0, self.model.manager[space], "disconnect", space, pd, None)

    def _fold(
        self, change: str, kind: str, fold: Callable[..., None], source: str, target: str
    ) -> None:
        """Makes or drops an edge that nothing else depends on."""
        fold(self.model, source, target)
        self.edge(change, kind, source, target)

    map = partialmethod(_fold, "made", "MAP", Model.add_map)
    unmap = partialmethod(_fold, "dropped", "MAP", Model.drop_map)
    handler = partialmethod(_fold, "made", "FAULT", Model.set_fault)
    link = partialmethod(_fold, "made", "LINK", Model.add_link)

    def subscribe(self, pd: str, node: str, handler: int = 0) -> None:
        self.model.add_subscribe(pd, node, handler=handler)
        self.edge("made", "SUBSCRIBE", pd, node, handler)

    def unsubscribe(self, pd: str, node: str, handler: int = 0) -> None:
        self.model.drop_subscribe(pd, node, handler=handler)
        self.edge("dropped", "SUBSCRIBE", pd, node, handler)

    def delete(self, node: str, by: str | None = None) -> None:
        space = self.model.space_of.get(node, node)
        manager = self.model.manager[space]
        parts = self.model.resources_in(node) if node in self.model.manager else []
        losers: dict[str, None] = {}
        for each in (*parts, node):
            if each in self.model.manager:
                self.model.remove_space(each)
            else:
                self.model.remove_resource(each)
            for pd, slots in self.slots.items():
                for slot in [slot for slot, what in slots.items() if what[1] == each]:
                    slots[slot] = f"lost {node}"
                    losers[pd] = None
            self.emit("DELETE", node=each, by=by or manager, part=int(each != node))
        for pd in losers:
            self._tell_loss(pd, node)

    # -- operations of PDs

    def say(self, pd: str, text: str) -> None:
        self.emit("SAY", pd=pd, text=text)

    def refuse(self, pd: str, op: int, status: int) -> None:
        self.emit("REFUSE", pd=pd, op=op, status=status)

    def unmade(self, what: str, name: str, step: int, kind: str) -> None:
        """A step of making something fails."""
        failed = {"step": step, "kind": kind, "status": 10, "undone": step - 1}
        self.emit("MAKE_FAILED", what=what, name=name, **failed, **self.used())

    def fault(self, pd: str, kind: str = "vm-fault", **where: int) -> None:
        """where: address and ip, if they matter."""
        self.emit("FAULT", pd=pd, **fault_told(kind, **where))
        self._stopped(pd, "fault")

    def hold_fault(self, pd: str, handler: str, kind: str = "vm-fault", **where: int) -> None:
        self.emit("FAULT_HELD", pd=pd, handler=handler, **fault_told(kind, **where))
        self._put(0, handler, "fault", pd, None, None)

    def stands(
        self, pd: str, state: str, on: str = "-", *, slot: int = 0, chance: int = 1, ms: int = 0
    ) -> None:
        space = "files" if state == "connect" else "-"
        what = {"on": on, "slot": slot, "space": space, "ip": "0x400200", "chance": chance}
        self.emit("STANDS", pd=pd, state=state, **what, ms=ms)

    def probe(self, pd: str, by: str | None, ms: int = 0) -> None:
        self._put(0, pd, "probe", pd, by, None, number=ms)

    def exit(self, pd: str, code: int = 3) -> None:
        shown = {"rdi": ROOT_SLOT, "rsi": EXIT << 12 | 2, "r8": code}
        registers = ",".join(f"{name}:{value:#x}" for name, value in shown.items() if value)
        self.emit("EXIT", pd=pd, code=code, registers=registers)
        self._stopped(pd, "exit")

    def trigger(
        self, cause: str, pd: str = "-", by: str = "-", when: str = "now", **more: int
    ) -> None:
        """more: token and ms of a PD that is late or hung."""
        self.emit("TRIGGER", pd=pd, cause=cause, when=when, by=by, **more)

    def terminate(self, pd: str, by: str) -> None:
        self.trigger("terminate", pd, by)
        if by != ROOT:
            self._ticket(by, pd)
        self._stopped(pd, "terminate")

    def terminate_later(self, pd: str, by: str) -> int:
        """Returns the ticket."""
        self.trigger("terminate", pd, by, when="later")
        self.pending.append((pd, "terminate"))
        self.later.add(pd)
        return self._ticket(by, pd)

    def terminate_tree(self, pd: str, by: str, calls: tuple[str, ...] = ()) -> int:
        """A PD is terminated with all that it created. Returns the ticket. calls: PDs in a call
        to it.
        """
        tree = [pd]
        for creator in tree:
            created = sorted(other for its, other in self.model.owns if its == creator)
            tree += [other for other in created if other not in self.doomed]
        self.trigger("subtree", pd, by)
        number = self._ticket(by, pd)
        self._stopped(pd, "subtree")
        for caller in calls:
            self.free(caller, pd)
        for other in tree[1:]:
            self._stopped(other, "terminate")
        return number

    def prevent(self, pd: str) -> None:
        """A termination that was put off would destroy a protected PD."""
        self.trigger("terminate", pd, when="never")
        self.later.remove(pd)
        self.pending.remove((pd, "terminate"))
        for ticket in self.tickets.values():
            if ticket.what == pd and ticket.tag is None:
                ticket.comes_to = PREVENTED

    def cancel(self, pd: str, of: str, number: int) -> None:
        """Cancels what a ticket is for."""
        ticket = self.tickets[number]
        self.emit("CANCEL", pd=pd, of=of, ticket=number, name="-")
        ticket.comes_to = DROPPED
        if ticket.what in self.later:
            self.later.remove(ticket.what)
            self.pending.remove((ticket.what, "terminate"))
        elif ticket.tag is not None:
            self._withdraw_unseen(ticket.tag)

    def cancel_connect(self, pd: str, of: str, space: str) -> None:
        self.emit("CANCEL", pd=pd, of=of, ticket=0, name=space)
        self.refuse(of, CONNECT, CANCELLED)

    def late(self, pd: str, notice: Notice, ms: int) -> None:
        self.trigger("late", pd, token=notice.token, ms=ms)
        self._stopped(pd, "late")

    def hung(self, pd: str, by: str | None, token: int, ms: int) -> None:
        self.trigger("hung", pd, by or "-", token=token, ms=ms)
        self._stopped(pd, "hung")

    def stage(self, crash: int, how: str, pd: str, by: str | None = None) -> None:
        self.emit("STAGE", crash=crash, how=how, pd=pd, by=by or pd)

    def freeze(self, pd: str) -> None:
        self.stage(1, "freeze", pd)
        self.emit("frozen THREAD", pd=pd)

    def _may_be_in_call(self, pd: str, server: str) -> bool:
        """Whether the PD can be in a call, over a slot that is full or that it thinks is."""
        if pd == server or pd in self.suspended:
            return False
        for what in self.slots.get(pd, {}).values():
            about = parse_id(what.removeprefix("lost ") if isinstance(what, str) else what[1])
            assert about is not None
            if about.kind == "PD":
                continue
            space = space_id(about.type, about.number if about.space is None else about.space)
            if self.managers[space] == server:
                return True
        return False

    def _stop(self, pd: str) -> None:
        self.stop_calls[pd] = calls = Counter(suspend=1, revoke=1, delete=1)
        calls["read-registers"] = sum(self._may_be_in_call(other, pd) for other in self.slots)
        self.suspended.add(pd)
        self.silent.add(pd)
        self.emit("stopped THREAD", pd=pd)
        self._forget(pd)

    def free(self, pd: str, server: str) -> None:
        """The PD was in a call to a server that was just stopped."""
        self.emit("answered THREAD", pd=pd, by=server)

    def _stopped(self, pd: str, cause: str) -> None:
        self._stop(pd)
        if pd not in self.doomed:
            self.pending.append((pd, cause))

    # -- notices

    def _put(
        self,
        n: int,
        to: str,
        kind: str,
        node: str,
        dead: str | None,
        tag: tuple[str, int] | None,
        turn: bool = False,
        number: int = 0,
    ) -> None:
        """Queues a notice. turn: it tells of the turn of a destructor."""
        self.token += 1
        self.queues.setdefault(to, []).append(Notice(self.token, kind, node, tag))
        if n and kind == "lost":
            number = self.keeps[n][to]
        elif kind == "pre-destroy":
            destructor = 1 << DESTRUCTOR if to == node else 0
            number = self.model.handlers_told(to, node) & (destructor if turn else ~destructor)
        told = {"token": self.token, "to": to, "kind": kind, "node": node, "from": dead or "-"}
        self.emit("QUEUE", n=n, **told, number=number)
        if to in self.silent:
            self._forget(to)

    def held(self, pd: str, notice: Notice) -> bool:
        lane = [other for other in self.queues[pd] if other.lane == notice.lane]
        return lane[0].failed and lane[0] is not notice

    def _needs_signal(self, pd: str) -> bool:
        """Whether a notice that is queued now comes with a signal: the PD had nothing to fetch."""
        taken = sum(each.seen and each.kind in LIMITED for each in self.queues.get(pd, []))
        return pd not in self.silent and not any(
            not lane[0].failed
            and not any(each.out for each in lane)
            and (lane[0].seen or taken < MAX_TAKEN or lane[0].kind not in LIMITED)
            for lane in self._lanes(pd)
        )

    def _lanes(self, pd: str) -> Collection[list[Notice]]:
        """The notices of a PD by their lanes."""
        lanes: dict[int | str, list[Notice]] = {}
        for notice in self.queues.get(pd, []):
            lanes.setdefault(notice.lane, []).append(notice)
        return lanes.values()

    def fetch(self, pd: str, most: int = WORK_MAX) -> list[Notice]:
        """The notices that the PD is handed out, all of one kind."""
        ready = [
            lane
            for lane in self._lanes(pd)
            if not lane[0].failed and not any(notice.out for notice in lane)
        ]
        kind = min((lane[0].kind for lane in ready), key=PRECEDENCE.index, default="")
        of_kind = (itertools.takewhile(lambda each: each.kind == kind, lane) for lane in ready)
        handed = list(itertools.islice(itertools.chain.from_iterable(of_kind), most))
        for notice in handed:
            notice.out = notice.seen = True
            self.emit("fetched NOTICE", pd=pd, token=notice.token)
        return handed

    def ack(self, pd: str, notice: Notice, result: str = "ok") -> None:
        self.emit("FINISH_WORK", pd=pd, token=notice.token, result=result)
        self.ends[notice.tag, pd, "failed" if result == "failed" else "done"] += 1
        queue = self.queues[pd]
        if result == "failed" and notice.kind not in ("extract", "pre-destroy", "probe", "fault"):
            notice.failed = True
            for other in queue:
                if other.lane == notice.lane:
                    other.out = False
        else:
            queue.remove(notice)
        if notice.kind in ("lost", "destroy") and result != "failed":
            slots = self.slots[pd]
            for slot in [slot for slot, what in slots.items() if what == f"lost {notice.node}"]:
                del slots[slot]
        if result == "each":
            assert notice.tag is not None
            over = notice.tag[1] in self.extractions_over
            for res in [] if over else self.model.resources_in(notice.node):
                self._put(0, pd, "extract", res, None, notice.tag)

    def again(self, pd: str, space: str) -> None:
        parts = parse_id(space)
        assert parts is not None
        head = next(notice for notice in self.queues[pd] if notice.lane == parts.number)
        head.failed, head.tag = False, None
        self.emit("resumed NOTICE", pd=pd, token=head.token)

    def serve(self, pd: str, result: str = "ok") -> None:
        """The PD fetches and acknowledges all its notices, of each lane until one fails."""
        while handed := self.fetch(pd):
            for notice in handed:
                if notice.out:
                    self.ack(pd, notice, result)

    def serve_all(self) -> None:
        for pd in sorted(self.queues.keys() - self.silent):
            self.serve(pd)

    def _forget(self, pd: str) -> None:
        for notice in self.queues.pop(pd, []):
            if not notice.failed:
                self.ends[notice.tag, pd, "dropped"] += 1

    def merge(self, pd: str, notice: Notice, space: str) -> None:
        """A notice that its receiver has not fetched stands for several."""
        notice.kind, notice.node = "disconnect", space
        self.emit("merged NOTICE", pd=pd, token=notice.token)

    def withdraw(self, pd: str, notice: Notice) -> None:
        """A notice that its receiver has not fetched is taken back for good."""
        self.queues[pd].remove(notice)
        self.emit("withdrawn NOTICE", pd=pd, token=notice.token)

    # -- tickets and extractions

    def _ticket(self, owner: str, what: str) -> int:
        number = len(self.tickets) + 1
        self.tickets[number] = Ticket(owner, what)
        return number

    def told(self, number: int) -> None:
        """Reports the progress of a ticket to its owner."""
        ticket = self.tickets[number]
        ends = Counter[str]()
        if ticket.tag is not None:
            for (tag, receiver, how), count in self.ends.items():
                if tag == ticket.tag and receiver != ticket.owner:
                    ends[how] += count
        state, waiting, held = self._state_of(ticket)
        if state >= 3:
            ticket.comes_to = state
        counts = {how: ends[how] for how in ("done", "failed", "dropped")}
        self.emit("TICKET", ticket=number, state=state, **counts, waiting=waiting, held=held)

    def _state_of(self, ticket: Ticket) -> tuple[int, int, int]:
        """Its cr_ticket_state, and its notices that wait and that are held."""
        waiting = held = awaited = 0
        if ticket.tag is not None:
            for pd, queue in self.queues.items():
                mine = [
                    n for n in queue if n.tag == ticket.tag and pd != ticket.owner and not n.failed
                ]
                waiting += len(mine)
                held += sum(self.held(pd, notice) for notice in mine)
                awaited += sum(not (self.held(pd, each) or each.given_up) for each in mine)
        state = 0
        if ticket.comes_to is not None:
            state = ticket.comes_to
        elif ticket.tag is not None:
            state = 1 if not ticket.settled else 2 if awaited else 3
        elif ticket.what not in self.model.nodes:
            state = 3
        return state, waiting, held

    def extract(self, by: str = ROOT) -> int:
        self.x += 1
        self.pieces[self.x] = []
        tag = ("extraction", self.x)
        self.emit("EXTRACT", x=self.x, by=by)
        if by != ROOT:
            self.tickets[self._ticket(by, "-")].tag = tag
        for space, manager in self.model.manager.items():
            if manager != ROOT and not {space, manager} & self.doomed:
                self._put(0, manager, "extract", space, None, tag)
        return self.x

    def piece(self, pd: str, notice: Notice, upper: str, lower: str) -> None:
        assert notice.tag is not None
        x = notice.tag[1]
        self.pieces[x].append((upper, lower))
        self.emit("SUBGRAPH", x=x, pd=pd, token=notice.token, from_=upper, to=lower)

    def extracted(self, x: int) -> None:
        """The state with all reported edges, which are assumed to fit."""
        model, fit = self.model.copy(), self.model.nodes.keys() - self.doomed
        pieces = [ends for ends in self.pieces[x] if fit.issuperset(ends)]
        for ends in pieces:
            model.add_map(*ends)
        self.emit("EXTRACTED", x=x, maps=len(pieces), digest=digest_of(model))
        self.extractions_over.add(x)
        self._withdraw_unseen(("extraction", x))
        self._settle(("extraction", x))

    def _withdraw_unseen(self, tag: tuple[str, int]) -> None:
        for pd, queue in self.queues.items():
            for notice in list(queue):
                if notice.tag == tag and not notice.seen:
                    self.withdraw(pd, notice)

    def _settle(self, tag: tuple[str, int]) -> None:
        for ticket in self.tickets.values():
            ticket.settled |= ticket.tag == tag

    # -- the root task

    def used(self) -> dict[str, int | str]:
        """Bytes, slots and kernel objects in use."""
        return {
            "bytes": self.base[0]
            + sum(size for _, size in (*self.bodies.values(), *self.memories.values())),
            "slots": self.base[1] + self._body_slots() + RESOURCE_SLOTS * len(self.model.space_of),
            "objects": self.kernel_objects(),
        }

    def _rows(self) -> list[str]:
        """The rows of the state, with a word at those that a cleanup that waits has doomed. A file
        may name managers besides.
        """
        rows = []
        for row in state_rows(self.model)[1:]:
            row = re.sub("MANAGER=[A-Z0-9a-f_]+ ?", "", row)
            doomed = row.startswith(("PD,", "RESOURCE_SPACE,")) and row.split(",")[1] in self.doomed
            if doomed:
                row += "DOOMED" if row.endswith(",") else " DOOMED"
            rows.append(row)
        return rows

    def account(self) -> None:
        """Tells what is in use, if memory has changed since that was told."""
        if not self.memory_changed:
            return
        self.memory_changed = False
        model = self.model
        edges = [edge for edge in model.edges() if edge.kind not in ("MANAGE", "SUBSET")]
        parts = len(model.manager) + len(model.space_of)
        bodies = sum(model.body_of(pd) is not None for pd in self.bodies)
        self.emit(
            "USAGE",
            **self.used(),
            nodes=max(len(model.nodes), 1)
            + self.tombstones
            + sum(self.going.values())
            + self.mourning.count(),
            edges=len(set(edges)) + parts + bodies,
            notices=self.notices_in_use(),
            blocks=1 + len(self.bodies) + len(self.memories),
            tickets=sum(
                ticket.owner in self.bodies and self._state_of(ticket)[0] < 3
                for ticket in self.tickets.values()
            ),
            own=self.base[1],
            parents=RESOURCE_SLOTS * len(self.model.space_of),
            bodies=self._body_slots(),
        )

    def _body_slots(self) -> int:
        return BODY_SLOTS * len(self.bodies) + MEMORY_SLOTS * len(self.memories)

    def kernel_objects(self) -> str:
        """All that there are, as a line tells them. PDs that are stopped have no endpoint."""
        objects = self.own_objects.copy()
        for node in self.memories:
            objects += self.body_objects[node]
        for pd in self.bodies:
            objects += self.body_objects[pd]
            objects["endpoint"] -= pd in self.silent
        return counted(objects)

    def notices_in_use(self) -> int:
        """The notices that the root task has. PDs that are stopped have none."""
        stopped = {pd for pd, _ in self.pending} - self.later
        return sum(len(queue) for pd, queue in self.queues.items() if pd not in stopped)

    def state(self, n: int, before: Model | None = None, cycles: int = 0) -> None:
        """The end of a cleanup, or a snapshot (n=0). before: the state before the cleanup."""
        rows = self._rows() if before is None else ()
        for row in rows:
            self.emit("STATE", row=row)
        count = (
            len(rows) if before is None else len(state_rows(before)) - len(state_rows(self.model))
        )
        calls = self._calls_of(n) if n else 0
        used = {**self.used(), "calls": calls, "cycles": cycles}
        self.emit("SETTLED", n=n, rows=count, **used, digest=self.digest())

    def _calls_of(self, n: int) -> int:
        """The kernel calls of the steps of the last run over a cleanup."""
        calls = 0
        for name, values in self.events:
            if values.get("n") == n and name in ("STEP", "TAKEOVER", "RECOVER"):
                calls = 0 if name == "RECOVER" else calls + total(values["kinds"])
        return calls

    def digest(self) -> str:
        return digest_of(self.model)

    def snapshot(self) -> None:
        self.state(0)

    def end(self) -> list[Draft]:
        """The last events: the whole state, if it does not stand there already, and END."""
        last = self.events[-1]
        if last[0] != "SETTLED" or last[1]["n"] != 0:
            self.snapshot()
        self.emit("END")
        self.events = answered(self.events)
        return self.events

    def quiet(self) -> None:
        """Everything that the root task writes when it is idle."""
        self.account()
        self.snapshot()

    def cleanup(
        self,
        depths: tuple[int | None, int | None] | None = None,
        meanwhile: Callable[[Target], None] | None = None,
    ) -> reference.Plan:
        """Cleans up after the trigger that has waited longest, of a PD that still exists, and tells
        what is in use then.

        meanwhile: what PDs do whenever the cleanup waits for subscribers. Afterwards those are
        served.
        """
        plan = self.drive(self.steps(depths), meanwhile)
        self.account()
        return plan

    def drive(
        self,
        steps: Generator[int, None, reference.Plan],
        meanwhile: Callable[[Target], None] | None = None,
    ) -> reference.Plan:
        """Carries out a cleanup that stops wherever it waits. The plan is what was carried out."""
        while True:
            try:
                n = next(steps)
            except StopIteration as end:
                plan: reference.Plan = end.value
                return plan
            if meanwhile is not None:
                meanwhile(self)
            for pd in self._awaited(n):
                self.serve(pd)

    def steps(
        self, depths: tuple[int | None, int | None] | None = None, of: str | None = None
    ) -> Generator[int, None, reference.Plan]:
        """A cleanup that stops wherever it waits for subscribers, and yields its number there.

        of: the trigger, if it is not the one that has waited longest.
        """
        while self.pending[0][0] not in self.model.nodes:
            self.pending.popleft()
        trigger, cause = next(each for each in self.pending if of in (None, each[0]))
        self.pending.remove((trigger, cause))
        if trigger in self.later:
            self.later.remove(trigger)
            self._stop(trigger)
        self.had_depths(trigger, depths or self.depths)
        if cause == "subtree":
            plan = reference.subtree(self.model, trigger, *(depths or self.depths))
        else:
            plan = reference.plan(self.model, trigger, *(depths or self.depths), self.closeness)
        n = self.cleanups = self.cleanups + 1
        for ticket in self.tickets.values():
            if ticket.what == trigger and ticket.comes_to is None:
                ticket.tag = ("cleanup", n)
        self._tell(n, plan, cause)
        plan = yield from self._carry_out(n, plan)
        before = self._over(n, plan)
        for pd, body in plan.revoked_bodies:
            if body in before.nodes:
                self._tell_loss(pd, _pd_of(body))
        if not plan.doomed() & self.remains:
            self.mourning.over(n)
        self.pending = deque(waiting for waiting in self.pending if waiting[0] in self.model.nodes)
        return plan

    def cleanup_alone(
        self, plan: reference.Plan, cause: str, meanwhile: Callable[[Target], None] | None = None
    ) -> None:
        """Carries out a plan that has no trigger.

        meanwhile: what PDs do when it waits for subscribers.
        """
        n = self.cleanups = self.cleanups + 1
        self._tell(n, plan, cause)
        plan = self.drive(self._carry_out(n, plan), meanwhile)
        self._over(n, plan)
        self.mourning.over(n)
        self.account()

    def _over(self, n: int, plan: reference.Plan) -> Model:
        """The plan was carried out. Returns the model before it."""
        self._planned(n)
        before = self.model
        self.model = self.after(plan)
        self._settle(("cleanup", n))
        self.doomed -= plan.doomed() - self.remains
        self.state(n, before, cycles=12345)
        return before

    def fails(self, n: int, pd: str) -> bool:
        """The cleanup is about to destroy a PD. Whether that fails, and the PD is left."""
        return False

    def leave(self, n: int) -> None:
        """The phase in which nodes are destroyed is over."""

    def plan_again(self, n: int, plan: reference.Plan) -> reference.Plan:
        """The plan anew, when all subscribers have answered."""
        plan = reference.replan(self.model, plan)
        self.tell_plan(n, plan)
        return plan

    def after(self, plan: reference.Plan) -> Model:
        """The model after a cleanup. If it waited for destructors, some nodes are gone already."""
        pds = [(pd, depth) for pd, depth in plan.destroyed_pds if pd in self.model.nodes]
        return reference.apply(self.model, replace(plan, destroyed_pds=pds))

    def _tell(self, n: int, plan: reference.Plan, cause: str) -> None:
        told = {"n": n, "trigger": plan.trigger or "-", "cause": cause, "digest": self.digest()}
        depths = depths_told((plan.pd_depth, plan.rs_depth))
        self.emit("CLEANUP", **told, **depths, steps=0)  # its steps are not known yet
        self.tell_plan(n, plan)

    def tell_plan(self, n: int, plan: reference.Plan) -> None:
        besides = self.doomed - plan.doomed()
        kept = [each for each in reference.hanging(self.model, plan) if each[0] not in besides]
        self.keeps[n] = Counter(pd for pd, _, _ in kept)
        rows, digest = of_plan({**plan.to_json(), "broken": kept}, self.model)
        self.emit("PLAN", n=n, rows=rows, digest=digest)

    def _carry_out(self, n: int, plan: reference.Plan) -> Generator[int, None, reference.Plan]:
        def step(
            name: str, node: str = "-", pd: str = "-", calls: Iterable[str] = (),
            effect: Callable[[], None] | None = None, things: int = 1,
        ) -> None:  # fmt: skip
            self._die(n, name, node, pd)
            if effect is not None:
                effect()
            each = +Counter(calls)
            many = things if name == "destroy-resource" else 1
            counts = Counter({kind: many * count for kind, count in each.items()})
            told = {"n": n, "name": name, "node": node, "pd": pd, "kinds": counted(counts)}
            self.emit("STEP", **told, count=things)
            self._pause(n, each.total())

        def take(node: str) -> tuple[str, ...]:
            server = self.managers[before.space_of.get(node, node)]
            return () if server in self.silent else ("cancel-sends", "revoke", "delete")

        def signal(to: str) -> tuple[str, ...]:
            return ("signal",) if self._needs_signal(to) else ()

        def suspend(pds: list[str]) -> None:
            for pd in pds:
                if pd not in self.silent:
                    self._stop(pd)
                step("suspend", "-", pd, self.stop_calls[pd])

        def free(res: str) -> None:
            kinds = ("revoke",) if res in self.memories else take(res)
            step("destroy-resource", res, "-", kinds, partial(self.free_memory, res))

        dead = dict(plan.destroyed_pds)
        suspend([pd for pd in dead if dead[pd] == 0])
        for group in plan.groups:
            for node in group:
                step("mark", node)
        self.doomed |= plan.doomed()
        waited = False
        for group in reversed(plan.groups):
            told = [(pd, node) for pd, node in plan.pre_destroy if node in group]
            for pd, node in told:
                tag = ("cleanup", n)
                effect = partial(self._put, n, pd, "pre-destroy", node, None, tag)
                step("tell", node, pd, signal(pd), effect)
            if told and self._awaited(n):
                waited = True
                self.emit("WAIT", n=n)
                yield n
                self.emit("CONTINUE", n=n)
            if told:
                step("await")
        before = self.model
        if waited:
            plan = self.plan_again(n, plan)
            dead = dict(plan.destroyed_pds)
        ends = reference.destructors(self.model, plan)
        suspend([pd for pd in dead if dead[pd] > 0 and pd not in ends])
        gone: set[str] = set()
        for group in self.turns(plan):
            told_now = self.told_of_their_turn([pd for pd in group if pd in ends])
            for pd in told_now:
                effect = partial(self._put, n, pd, "pre-destroy", pd, None, ("cleanup", n), True)
                step("tell", pd, pd, signal(pd), effect)
            if told_now and self._awaited(n):
                self._goes(n, plan, gone, before)
                yield n
                self.emit("CONTINUE", n=n)
            if told_now:
                step("await")
            suspend([pd for pd in group if pd in ends])
            for node in group:
                for asker, _ in sorted(pair for pair in before.requests if pair[1] == node):
                    if asker not in gone:
                        runs = asker not in self.silent
                        step("cut-request", node, asker, take(node) if runs else ())
                for some in self._members(before, node):
                    step("destroy-resource", some[0], "-", take(some[0]), things=len(some))
                body = before.body_of(node) if node in dead else None
                if body is not None:
                    step("destroy-resource", body, "-", take(body))
                for res in filter(is_region, plan.core_freed):
                    if (node, res) in before.holds:
                        free(res)
                        gone.add(res)
                if node in dead and self.fails(n, node):
                    continue
                if node in dead:
                    step("destroy-pd", node, node, ("revoke",), partial(self.free_pd, node))
                else:
                    step("destroy-space", node)
                gone.add(node)
        self.going.pop(n, None)
        self.leave(n)
        for res in plan.core_freed:
            if res not in gone:
                free(res)
        self._empty_slots(plan, before)
        for to, notices in self._batches(self._still_owed(plan)):
            effect = partial(self._put_all, n, notices)
            step("notify", notices[0][2], to, signal(to), effect, len(notices))
        return plan

    def _still_owed(self, plan: reference.Plan) -> reference.Plan:
        """The plan without notices about what a manager deleted while destructors ran."""
        owed = [each for each in plan.notices if each[3] is None or each[2] in self.model.nodes]
        return replace(plan, notices=owed)

    def turns(self, plan: reference.Plan) -> list[list[str]]:
        """The groups in the order in which they are destroyed."""
        return plan.groups

    def told_of_their_turn(self, pds: list[str]) -> list[str]:
        """Those PDs of a group that are told that the turn of their destructors has come."""
        return pds

    def _goes(self, n: int, plan: reference.Plan, gone: set[str], before: Model) -> None:
        """The cleanup waits for destructors. What it destroyed so far is gone."""
        was, self.model = self.model, self.model.copy()
        inside = {res for node in gone for res in before.resources_in(node)}
        bodies = {before.body_of(pd) for pd in gone & set(before.pds())} - {None}
        self.model.discard(gone | inside | {body for body in bodies if body is not None})
        self.emit("WAIT", n=n)
        self._empty_slots(plan, before, gone | inside | bodies)
        for pd, body in plan.revoked_bodies:
            if body in was.nodes and body not in self.model.nodes:
                self._tell_loss(pd, _pd_of(body))
        self.going[n] = len(gone & plan.doomed())

    def _batches(
        self, plan: reference.Plan
    ) -> Iterator[tuple[str, list[tuple[str, str, str, str | None]]]]:
        """The notices of each step, by their receiver."""
        for to, notices in itertools.groupby(in_order(plan), key=lambda notice: notice[0]):
            for some in in_parts(list(notices), self.at_once):
                yield to, some

    def _members(self, model: Model, node: str) -> Iterator[list[str]]:
        """The resources of a space that each step destroys."""
        inside = model.resources_in(node) if node in model.manager else []
        return in_parts(sorted(inside, key=number_of, reverse=True), self.at_once)

    def _put_all(self, n: int, notices: list[tuple[str, str, str, str | None]]) -> None:
        for to, kind, node, killed in notices:
            self._put(n, to, kind, node, killed, ("cleanup", n))

    def free_pd(self, pd: str) -> None:
        """What becomes of a PD that is destroyed."""
        del self.bodies[pd], self.slots[pd]
        self._forget(pd)

    def free_memory(self, node: str) -> None:
        """The same of memory."""
        self.memories.pop(node, None)

    def _planned(self, n: int) -> None:
        """CLEANUP tells the steps that were carried out since."""
        for at, (name, values) in enumerate(self.events):
            if name == "CLEANUP" and values["n"] == n:
                self.events[at] = (name, {**values, "steps": self._steps_of(n)})

    def _steps_of(self, n: int) -> int:
        """The steps of a cleanup that were carried out."""
        return sum(name == "STEP" and values["n"] == n for name, values in self.events)

    def _pause(self, n: int, calls: int) -> None:
        """Serves a PD after the step that was done last. No other event may belong to it."""
        if self.steps_done in self.served_after:
            pd, ask = self.served_after[self.steps_done]
            ask()
            self.emit("SERVED", n=n, pd=pd, waited=calls, kinds="reply:1")

    def _die(self, n: int, name: str, node: str, pd: str) -> None:
        """The cleaner dies before its next step, if that is injected."""
        self.steps_done += 1
        if (failure := self.injections.get(self.steps_done)) is not None:
            for attempts in range(1, 4 if failure["third"] else 2):
                self.dies(n, attempts, failure, step=name, node=node, pd=pd)

    def dies(self, n: int, attempts: int, failure: dict[str, object], **step: str) -> None:
        """The cleaner dies at a step, which is left if that was its third attempt."""
        self.emit("INJECTED", **failure)
        told = {"n": n, "death": failure["word"], "number": self._steps_of(n) + 1}
        self.emit("TAKEOVER", **told, **step, attempts=attempts, left=attempts // 3, kinds="-")

    def _awaited(self, n: int) -> list[str]:
        """The PDs that have not yet answered that they were told."""
        return sorted(
            pd
            for pd, queue in self.queues.items()
            if pd not in self.silent
            and any(each.tag == ("cleanup", n) and not self.held(pd, each) for each in queue)
        )

    def _empty_slots(
        self, plan: reference.Plan, before: Model, gone: Collection[str | None] | None = None
    ) -> None:
        """Empties slots whose capabilities went. gone: only those to these nodes."""
        taken = [(pd, ("REQUEST", space), space) for pd, space in plan.removed_requests]
        for pd, node in plan.revoked + plan.revoked_spaces:
            taken.append((pd, ("HOLD", node), before.space_of.get(node, node)))
        taken += [(pd, ("HOLD", body), _pd_of(body)) for pd, body in plan.revoked_bodies]
        for pd, capability, about in taken:
            slots = self.slots.get(pd, {}) if gone is None or capability[1] in gone else {}
            for slot in [slot for slot, what in slots.items() if what == capability]:
                slots[slot] = f"lost {about}"


CAUSES: dict[str, tuple[str, str]] = {
    "DELETE": ("by", "delete_resource"),
    "dropped HOLD": ("from", "release"),
    "dropped REQUEST": ("from", "disconnect"),
    "made SUBSCRIBE": ("from", "subscribe"),
    "dropped SUBSCRIBE": ("from", "unsubscribe"),
    "made MAP": ("manager", "map"),
    "dropped MAP": ("manager", "unmap"),
    "ALLOW": ("pd", "allow"),
    "RIGHTS": ("pd", "-"),
    "SPACE": ("manager", "create_space"),
    "RESOURCE": ("manager", "create_resource"),
    "made HOLD": ("manager", "send"),
    "made REQUEST": ("from", "connect"),
    "PD": ("id", "-"),
    "made OWN": ("from", "spawn"),
    "made FAULT": ("from", "-"),
    "made LINK": ("from", "-"),
}
"""What changes in the model -> the field that tells which PD asked, and the usual operation.
`manager`: who manages the node that changes.
"""


_BY_CREATOR = ("PD", "RIGHTS", "RESOURCE", "made HOLD", "ALLOW", "made OWN")
"""What may be a part of spawning a PD."""


def cause_of(
    model: Model, event: str, draft: dict[str, object], spawning: str | None
) -> dict[str, object]:
    """The likeliest cause of a change: `asker`, unless the draft has it, and `op`.

    Empty for other events. spawning: the creator of the PD that is being made.
    """
    told = f"{draft['change']} {draft['kind']}" if event == "EDGE" else event
    if told not in CAUSES:
        return {}
    field, op = CAUSES[told]
    values = {key: str(value) for key, value in draft.items()}
    node = values["from" if told.endswith("MAP") else "to"] if event == "EDGE" else ""
    node = node or values.get("node", values.get("space", ""))
    server = values.get("manager", model.manager.get(model.space_of.get(node, node)))
    asker = values.get("asker", (server or "PD_1") if field == "manager" else values[field])
    if event == "DELETE" and (values["part"] == "1" or "_SPACE_" in node):
        op = "delete_space"
    elif told == "dropped HOLD" and asker != values["from"]:
        op = "take_back"
    elif told == "made HOLD" and asker == values["from"]:
        op = "create_space" if node in model.manager else "create_resource"
    elif told == "made HOLD":
        clients = {pd for pd, space in model.requests if model.manager.get(space) == asker}
        op = "give" if server == asker and values["from"] in clients else op
    elif told == "made REQUEST" and asker != values["from"]:
        op = "share_request"
    made = told in ("SPACE", "RESOURCE", "made HOLD", "made REQUEST")
    if spawning is not None and told in _BY_CREATOR:
        asker, op = spawning, "spawn"
    elif made and server == ROOT and "asker" not in values:
        op = "-"
    return {"asker": "-" if op == "-" else asker, "op": op}


def _pd_of(body: str) -> str:
    """The PD that a body belongs to."""
    parts = parse_id(body)
    assert parts is not None
    return pd_id(parts.number)
