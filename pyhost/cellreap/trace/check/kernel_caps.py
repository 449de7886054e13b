# SPDX-License-Identifier: BSD-2-Clause
"""Compares a snapshot of the kernel with the model, capability by capability.

Objects are told apart by their addresses: those of a PD are in the memory of its BODY. Badges have
the entries of the root task's tables, which the trace does not have. They must name one thing for
ever, and two things never have the same.

The threads in a snapshot are the root task's probes: they have the spaces of PDs, and one of them
has the root task's pool of slots as its CSpace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass

from cellreap import headers
from cellreap.model.ids import ROOT, is_channel, is_line, is_memory, number_of
from cellreap.trace.check.address_spaces import AddressSpaces
from cellreap.trace.check.bells import Bells
from cellreap.trace.check.configured_threads import is_without_process
from cellreap.trace.check.context import Context
from cellreap.trace.check.machine import Machine
from cellreap.trace.check.own_slots import child_of, has_door, has_parent, is_of_microkit, own_slots
from cellreap.trace.check.slots import Capability
from cellreap.trace.check.snapshot import Cap, Snapshot, SnapshotError, physical

THREAD_NAME = "rootserver"
"""The name of the threads of PDs, and of the root task's own: snapshots leave them out."""
WITH_TABLES = "x86_64"
"""The architecture on which snapshots have the address spaces of PDs."""

_CSpace = dict[int, Cap | str]


@dataclass(frozen=True)
class _Place:
    """The addresses of a CSpace and an address space."""

    cspace: int
    tables: int


class KernelCaps:
    """What the replay keeps of snapshots, and what it demands of the next one."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._kinds = headers.names_of("protocol.h", "cr_badge_kind", "CR_BADGE_")
        self._kind_shift, _, self._upper_shift = headers.badge_layout()
        self._endpoint: int | None = None  # of the root task
        self._entries: dict[str, int] = {}  # PD -> its entry in the root task's table, in badges
        self._users: dict[tuple[str, int], object] = {}  # (kind, entry) -> what it names
        self._requests: dict[int, int] = {}  # the filling of a slot -> the badge of its request
        self._endpoints: dict[str, int] = {}  # PD -> the address of its endpoint
        self.bells = Bells(context)
        self._machine = Machine(context)
        self._spaces_of = AddressSpaces(context, self._machine)
        self._places: dict[str, _Place] = {}
        self._pool: int | None = None  # the address of the root task's pool
        self._first_pool: Counter[Cap | str] | None = None  # what is the root task's own in it
        self._first: tuple[Counter[tuple[str, int]], set[int], tuple[str, ...]] | None = None
        """the root task's own threads, those that the first snapshot has, and the interrupts"""

    # -- what must be there

    def exists(self, node: str) -> bool:
        """Whether the kernel still has capabilities to a node: not if its manager was stopped."""
        context = self._context
        manager = context.model.manager.get(context.model.space_of.get(node, node))
        return manager is not None and manager not in context.freed.stopped

    def capabilities(self, pd: str) -> Iterator[tuple[int, Capability]]:
        """The slots of a PD's CSpace with the capabilities that must be in them."""
        context, requests = self._context, self._context.model.requests
        microkit = is_of_microkit(context, pd)
        for slot, (kind, node) in sorted(context.slots.of(pd).items()):
            if microkit and (kind == "REQUEST" or child_of(context, node) is not None):
                continue  # The configuration gives the capability, whether the edge is there.
            # A request that was cut from a space which is left is in its slot until the PD is told.
            if self.exists(node) and (kind != "REQUEST" or (pd, node) in requests):
                yield slot, (kind, node)

    def own(self, pd: str, has: Container[int]) -> dict[int, str]:
        """The slots of what a PD has of its own -> what is there. has: the slots that are full."""
        context, slots = self._context, own_slots(self._context, pd)
        own = {slot: name for name, slot in slots.items()}
        if has_door(context, pd):
            own[slots["NOTIFICATION"]] = "DOOR"
        for name in self.bells.shut(pd):
            del own[slots[name]]
        endpoint = slots.get("ENDPOINT", 0)
        if not context.freed.keeps_endpoint(pd, endpoint in has):
            own.pop(endpoint, None)
        if not context.memory.objects.of(pd)["reply"]:
            own.pop(slots["REPLY"])
        own.update((slot, "CALL") for slot in self.bells.calls(pd))
        own.update((slot, "THREAD") for slot, _ in self.bells.threads(pd))
        own.update((slot, "SIGNAL") for slot in self.bells.left(pd))
        return own

    # -- comparing

    def _bad(self, rule: str, text: str) -> None:
        self._context.bad(rule, f"the snapshot of the kernel: {text}")

    def compare(self, snapshot: Snapshot) -> None:
        """Compares a snapshot with the replay. SnapshotError: it is not one."""
        pds = [node for node, info in self._context.model.nodes.items() if info.kind == "PD"]
        pds.remove(ROOT)
        for known in (self._places, self._entries, self._endpoints):
            for pd in known.keys() - set(pds):
                del known[pd]
        self._spaces_of.begin(pds)
        self._threads(pds, snapshot)
        present = self._spaces(pds, snapshot)
        for pd, place in present.items():
            self._name(pd, snapshot.cspaces.get(place.cspace, {}))
            input_ = own_slots(self._context, pd)["NOTIFICATION"]
            cap = snapshot.cspaces.get(place.cspace, {}).get(input_)
            door = has_door(self._context, pd)
            learn = self.bells.learn_door if door else self.bells.learn
            if isinstance(cap, Cap) and not learn(pd, cap.address):
                self._bad("truth.caps", f"{pd}: its input is another PD's, or of a body")
        for pd, place in present.items():
            cspace = snapshot.cspaces.get(place.cspace, {})
            self._cspace(pd, cspace)
            own = cspace.get(own_slots(self._context, pd)["NOTIFICATION"])
            if has_door(self._context, pd):
                # Its input is the endpoint, and perhaps nobody has the notification.
                bell = self._machine.bell(pd, cspace, snapshot)
                if bell and not self.bells.learn(pd, bell):
                    self._bad("truth.caps", f"{pd}: its notification is another PD's, or of a body")
                own = Cap("notification", self.bells.of(pd, bell), "R", 0)
            if isinstance(own, Cap) and (wrong := self._machine.unbound(pd, cspace, own, snapshot)):
                self._bad("truth.caps", f"{pd}: {wrong}")
            with_tables = self._context.report.arch == WITH_TABLES
            if with_tables and not is_without_process(self._context, pd):
                for text in self._spaces_of.wrong(pd, place.tables, snapshot):
                    self._bad("truth.tables", text)
        if self._pool is not None:
            self._compare_pool(snapshot.cspaces.get(self._pool, {}))

    def _inside(self, pd: str, address: int) -> bool:
        return self._context.memory.is_inside(pd, address)

    # -- threads, and which spaces belong to whom

    def _threads(self, pds: list[str], snapshot: Snapshot) -> None:
        """Checks that there is a thread for each PD, and besides only those of the first time."""
        number = self._context.authority.number
        wanted = Counter((THREAD_NAME, number(pd, "priority")) for pd in pds)
        rest = snapshot.dump - wanted
        interrupts = self._machine.interrupts_of_nobody(pds, snapshot)
        has = rest, set(snapshot.threads), interrupts
        first = self._first = self._first or has
        for name, priority in (wanted - snapshot.dump) + (first[0] - rest):
            self._bad("truth.threads", f"no thread {name!r} of priority {priority} is left")
        for name, priority in rest - first[0]:
            text = f"a thread {name!r} of priority {priority} belongs to no PD"
            self._bad("truth.threads", text)
        if first[1:] != has[1:]:
            self._bad("truth.threads", "not the threads and interrupts of the first snapshot")

    def _spaces(self, pds: list[str], snapshot: Snapshot) -> dict[str, _Place]:
        """The spaces of each PD."""
        present: dict[str, _Place] = {}
        seen: set[int | None] = set()
        with_tables = self._context.report.arch == WITH_TABLES
        for slots in snapshot.threads.values():
            if "cspace" not in slots:
                continue  # its PD was destroyed
            if ("vspace" in slots) != with_tables:
                expected = "an" if with_tables else "no"
                raise SnapshotError(f"expected a thread with a CSpace and {expected} address space")
            cspace = physical(slots["cspace"].split(" ")[0], "cnode")
            place = _Place(cspace, physical(slots["vspace"], "pd") if with_tables else 0)
            pd = next((one for one in pds if self._inside(one, cspace)), None)
            if pd is not None and pd not in present:
                present[pd] = place
            elif self._pool is None and pd is None:
                self._pool = cspace
            elif cspace != self._pool:
                self._bad("truth.threads", f"the CSpace at {cspace:#x} belongs to no PD")
            seen.add(cspace)
        if self._pool not in seen:
            self._bad("truth.threads", "no thread has the root task's pool as its CSpace")
        for pd in pds:
            place = present.get(pd, _Place(0, 0))
            known = self._places.setdefault(pd, place)
            if is_without_process(self._context, pd):
                place = _Place(place.cspace, known.tables)
            if pd not in present or known != place:
                self._bad("truth.threads", f"{pd} has no CSpace in its body, or not those it had")
        return present

    # -- the root task's pool

    def _compare_pool(self, has: _CSpace) -> None:
        """Checks that it has the parent of each resource, and besides only what is the root's."""
        resources = [
            each for each in self._context.model.space_of if has_parent(self._context, each)
        ]
        wanted = Counter(map(self._parent, filter(self.exists, resources)))
        rest = Counter(map(_without_guard, has.values()))
        left = filter(self._context.residue.may_lack, resources)
        lacks = wanted - rest - Counter(map(self._parent, left))
        rest -= wanted
        first = self._first_pool = rest if self._first_pool is None else self._first_pool
        for cap in lacks | (first - rest):
            self._bad("truth.own", f"the pool has no {_shown(cap)}")
        for cap in rest - first:
            self._bad("truth.own", f"the pool has {_shown(cap)}, which belongs to nothing")

    def _parent(self, resource: str) -> Cap | str:
        """The capability from which those to a resource are derived: of memory, its CNode, which is
        the first object in its untyped.
        """
        if is_memory(resource):
            body = self._context.memory.body(resource)
            return Cap("cnode", 0 if body is None else body.paddr, "", 0)
        if is_line(resource):
            return self._machine.parent(resource)
        address, badge = self._of_resource(resource)
        return Cap("ep", address, "RWGP", badge)

    def _of_resource(self, resource: str) -> tuple[int, int]:
        """The address and the badge of capabilities to a resource."""
        model = self._context.model
        space = model.space_of[resource]
        manager = model.manager[space]
        if manager != ROOT:
            badge = self._badge("resource") | number_of(space) << self._upper_shift
            return self._endpoints.get(manager, 0), badge | number_of(resource)
        # A capability to a PD, which the root task serves.
        number = number_of(resource)
        entry = next((self._entries[pd] for pd in self._entries if number_of(pd) == number), 0)
        return self._endpoint or 0, self._badge("body") | entry

    # -- CSpaces

    def _name(self, pd: str, cspace: _CSpace) -> None:
        """Learns the addresses and the badges by which other PDs' capabilities name the PD."""
        slots = own_slots(self._context, pd)
        cap = cspace.get(slots["FAULT"])
        if not isinstance(cap, Cap) or self.bells.faults(pd) is not None:
            return
        self._endpoint = cap.address if self._endpoint is None else self._endpoint
        entry = cap.badge & ~(self._kinds["fault"] << self._kind_shift)
        known = self._entries.setdefault(pd, entry)
        if known != entry or self._users.setdefault(("pd", entry), pd) != pd:
            self._bad("truth.caps", f"{pd}: its badge {cap.badge:#x} was that of another PD")
        own = cspace.get(slots.get("ENDPOINT", 0))
        if isinstance(own, Cap) and self._inside(pd, own.address):
            self._endpoints[pd] = own.address

    def _cspace(self, pd: str, has: _CSpace) -> None:
        wanted: dict[int, tuple[str, Cap | str | None]] = self._own(pd, has)
        for slot, (kind, node) in self.capabilities(pd):
            wanted[slot] = (node, self._client(pd, slot, (kind, node), has.get(slot)))
        for slot in sorted(has.keys() | wanted.keys()):
            cap, (what, expected) = has.get(slot), wanted.get(slot, ("", None))
            if cap is None and self._context.residue.may_lack(what, pd):
                continue
            if cap is None or cap != expected:
                must = f"{_shown(expected)}, for {what}" if what else "it to be empty"
                self._bad("truth.caps", f"{pd}: slot {slot} has {_shown(cap)}: expected {must}")

    def _own(self, pd: str, has: _CSpace) -> dict[int, tuple[str, Cap | str | None]]:
        """The capabilities that a PD has of its own, and what they are for."""
        entry, root, bells = self._entries.get(pd, 0), self._endpoint or 0, self.bells
        threads = dict(bells.threads(pd))
        found: dict[int, tuple[str, Cap | str | None]] = {}
        for slot, name in self.own(pd, has).items():
            cap = has.get(slot)
            wanted: Cap | str | None = None
            own = cap.address if isinstance(cap, Cap) and self._inside(pd, cap.address) else 0
            match name:
                case "ROOT":
                    wanted = Cap("ep", root, "WGP", self._badge("pd") | entry)
                case "FAULT":
                    badge = self._badge("fault") | entry
                    wanted = bells.faults(pd) or Cap("ep", root, "WP", badge)
                case "NOTIFICATION":
                    wanted = Cap("notification", bells.of(pd, own), "R", 0)
                case "DOOR":
                    wanted = Cap("ep", bells.door(pd), "R", 0)
                case "ENDPOINT":
                    wanted = Cap("ep", own, "R", 0)
                case "CALL":
                    wanted = bells.call(pd, slot, cap)
                case "THREAD":
                    wanted = bells.thread(pd, slot, threads[slot], cap)
                case "SIGNAL":
                    wanted = bells.capability(pd, slot, cap)
                case "REPLY" if isinstance(cap, str) and self._inside(pd, physical(cap, "reply")):
                    wanted = cap
            found[slot] = f"its own {name.lower()}", wanted
        return found

    def _client(
        self, pd: str, slot: int, edge: Capability, cap: Cap | str | None
    ) -> Cap | str | None:
        """The capability for an edge. `cap` is what is in its slot."""
        kind, node = edge
        if kind == "HOLD" and node not in self._context.model.space_of:
            return None  # The root task gives no capabilities to whole spaces.
        if kind == "HOLD" and is_channel(node):
            return self.bells.capability(pd, slot, cap)
        if kind == "HOLD" and is_line(node):
            return self._machine.capability(pd, slot, cap)
        if kind == "HOLD":
            address, badge = self._of_resource(node)
            serves = self._context.model.manager[self._context.model.space_of[node]]
            # A capability to a PD only names it.
            return Cap("ep", address, "P" if serves == ROOT else "WP", badge)
        badge = cap.badge if isinstance(cap, Cap) else 0
        filling = self._context.slots.filling(pd, slot)
        if badge >> self._kind_shift != self._kinds["request"]:
            badge = self._badge("request")
        elif self._users.setdefault(("request", badge), filling) != filling:
            self._bad("truth.caps", f"{pd}: the badge {badge:#x} was that of another request")
        badge = self._requests.setdefault(filling, badge)
        address = self._endpoints.get(self._context.model.manager[node], 0)
        return Cap("ep", address, "WP", badge)

    def _badge(self, kind: str) -> int:
        return self._kinds[kind] << self._kind_shift


def _without_guard(cap: Cap | str) -> Cap | str:
    """The same; a CNode, which is printed with its guard, by its address."""
    name = cap.split(" ")[0] if isinstance(cap, str) else ""
    return Cap("cnode", physical(name, "cnode"), "", 0) if name.endswith("_cnode") else cap


def _shown(cap: Cap | str | None) -> str:
    if cap is None:
        return "nothing"
    if isinstance(cap, str):
        return cap
    badge = f", badge {cap.badge:#x}" if cap.badge else ""
    where = f"at {cap.address:#x}" if cap.address else "of another PD"
    return f"{cap.kind} {where} ({cap.rights}{badge})"
