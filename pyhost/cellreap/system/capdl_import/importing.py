# SPDX-License-Identifier: BSD-2-Clause
"""A description in capDL as a configuration.

| capDL | configuration |
|---|---|
| thread | `[[pd]]` with its priority, and a `[[program]]` of the file in its address space |
| threads of one address space | `[[link]]` between them |
| endpoint from which a thread may receive | a space of that PD |
| the right to send to it | the PD requests the space |
| fault endpoint | who receives from it is the fault handler |
| capability to another thread | `holds_pds` |

Everything else has no counterpart, and is noted with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from os.path import relpath
from pathlib import Path, PurePosixPath

import tomlkit
from tomlkit.items import Table

from cellreap.errors import InputError
from cellreap.system.capdl_import.reading import Cap, Object, number, read_capdl
from cellreap.system.config.schema import Pd
from cellreap.system.importing import (
    CALLS,
    PRIORITIES,
    Dropped,
    Imported,
    Names,
    Note,
    configuration,
    ranked,
    table,
)

_WORD_BITS = 64
_BODY = ("cnode", "frame", "pt", "pd", "pdpt", "pml4", "pud", "pgd", "ut", "untyped", "asid_pool")
"""What a PD is made of: the root task makes it anew for each PD."""
_LOST = {
    "notification": "notifications are not imported",
    "irq": "devices are not imported",
    "io_ports": "devices are not imported",
    "io_device": "devices are not imported",
    "sc": "a PD's share of the time is not configured",
    "rtreply": "reply objects are made by the root task",
    "vcpu": "PDs have no virtual processors",
}


@dataclass
class _Thread:
    tcb: Object
    name: str
    program: str = ""
    priority: int = 0
    vspace: str = ""
    caps: list[tuple[str, Cap]] = field(default_factory=list)
    """Capabilities in its CSpace, with CNode and slot as a text."""
    fault_cap: tuple[str, Cap] | None = None
    handler: _Thread | None = None
    spaces: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)

    def line(self) -> int:
        return self.tcb.line


class _Import:
    def __init__(self, path: Path, folder: Path) -> None:
        self._path = path
        self._objects, skipped = read_capdl(path)
        self._dropped: list[Dropped] = []
        self._notes = [Note(line, what, "no counterpart: not read") for line, what in skipped]
        self._programs_from = relpath(path.resolve().parent, folder.resolve())
        self._names, self._spaces, self._program_names = Names(), Names(), Names()
        self._programs: dict[str, str] = {}
        self._links: list[tuple[str, str]] = []
        self._cyclic = False
        tcbs = [each for each in self._objects.values() if each.kind == "tcb"]
        if not tcbs:
            raise InputError(str(path), None, None, "no tcb: expected at least one")
        self._threads = {tcb.name: self._thread(tcb) for tcb in tcbs}
        faults = (it.fault_cap[0] for it in self._threads.values() if it.fault_cap is not None)
        self._fault_slots = set(faults)
        self._set_priorities()
        self._link()
        self._endpoints()
        self._order()
        self._hold()
        self._note_lost()

    def _note(self, line: int, where: str, text: str) -> None:
        self._notes.append(Note(line, where, text))

    # -- threads

    def _thread(self, tcb: Object) -> _Thread:
        plain = re.sub(r"^tcb_|_tcb$|\.tcb$", "", tcb.name)
        found = _Thread(tcb, self._names.give(plain))
        if found.name != plain:
            self._note(tcb.line, tcb.name, f'is "{found.name}": names are lower-case')
        root = tcb.caps.get("cspace")
        if root is not None:
            found.caps = list(self._caps_of(root.target))
            found.fault_cap = self._fault_cap(tcb, root)
        else:
            self._note(tcb.line, tcb.name, "has no CSpace, so it has no edges")
        vspace = tcb.caps.get("vspace")
        found.vspace = vspace.target if vspace is not None else ""
        self._choose_program(found)
        affinity = tcb.values.get("affinity", "0")
        if number(affinity):
            self._note(tcb.line, tcb.name, f"affinity {affinity}: PDs are not bound to a core")
        return found

    def _caps_of(self, root: str) -> Iterator[tuple[str, Cap]]:
        """The capabilities in a CNode and in those that it leads to."""
        seen, waiting = {root}, [root]
        while waiting:
            name = waiting.pop()
            for slot, cap in self._objects[name].caps.items():
                yield f"{name}:{slot}", cap
                if self._objects[cap.target].kind == "cnode" and cap.target not in seen:
                    seen.add(cap.target)
                    waiting.append(cap.target)

    def _fault_cap(self, tcb: Object, root: Cap) -> tuple[str, Cap] | None:
        """The capability to which the kernel sends faults: named in a slot, or by its address."""
        for slot in ("fault_ep_slot", "fault_ep"):
            if slot in tcb.caps:
                return "", tcb.caps[slot]
        address = number(tcb.values.get("fault_ep", "0"))
        if not address:
            return None
        at, bits = root, _WORD_BITS
        while self._objects[at.target].kind == "cnode" and bits:
            node = self._objects[at.target]
            guard_bits, node_bits = at.number("guard_size"), node.bits()
            if not node_bits or guard_bits + node_bits > bits:
                break
            bits -= guard_bits
            guard = address >> bits & (1 << guard_bits) - 1
            bits -= node_bits
            slot = str(address >> bits & (1 << node_bits) - 1)
            if guard != at.number("guard") or slot not in node.caps:
                break
            at = node.caps[slot]
            if self._objects[at.target].kind == "ep":
                return f"{node.name}:{slot}", at
        self._note(tcb.line, tcb.name, f"fault_ep {address:#x} is no endpoint in its CSpace")
        return None

    def _choose_program(self, thread: _Thread) -> None:
        """The file that fills most frames of the address space."""
        counted: dict[str, int] = {}
        for frame in self._frames(thread.vspace):
            for file in self._objects[frame].files:
                counted[file] = counted.get(file, 0) + 1
        file = max(counted, key=lambda each: counted[each]) if counted else f"{thread.name}.elf"
        if file not in self._programs:
            self._programs[file] = self._program_names.give(PurePosixPath(file).stem)
        thread.program = self._programs[file]
        why = "" if counted else "no file fills its address space; "
        self._note(
            thread.line(),
            thread.tcb.name,
            f'{why}"{file}" is the program "{thread.program}", which must be linked with the '
            "library for PDs",
        )

    def _frames(self, vspace: str) -> set[str]:
        """The frames that an address space leads to."""
        seen: set[str] = set()
        waiting = [vspace] if vspace else []
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += [cap.target for cap in self._objects[name].caps.values()]
        return {name for name in seen if self._objects[name].kind == "frame"}

    def _set_priorities(self) -> None:
        told = {
            name: number(thread.tcb.values.get("prio", "0")) or 0
            for name, thread in self._threads.items()
        }
        new = ranked(told.values())
        if new is None:
            expected = f"expected at most {len(PRIORITIES)} different priorities"
            raise InputError(str(self._path), None, None, expected)
        for name, thread in self._threads.items():
            thread.priority = new[told[name]]
            if thread.priority != told[name]:
                range_of = f"{PRIORITIES[0]} to {PRIORITIES[-1]}, and keep their order"
                said = f"prio {told[name]} is {thread.priority} here: priorities are {range_of}"
                self._note(thread.line(), thread.tcb.name, said)

    def _link(self) -> None:
        """Threads of one address space live and die together."""
        for vspace in dict.fromkeys(it.vspace for it in self._threads.values() if it.vspace):
            members = [it for it in self._threads.values() if it.vspace == vspace]
            self._links += [(one.name, two.name) for one, two in pairwise(members)]

    # -- edges

    def _endpoints(self) -> None:
        ends = [each for each in self._objects.values() if each.kind == "ep"]
        servers = {end.name: self._server(end) for end in ends}
        for thread in self._threads.values():
            if thread.fault_cap is not None:
                thread.handler = servers.get(thread.fault_cap[1].target)
                self._note_handler(thread)
        for end in ends:
            server = servers[end.name]
            clients = [
                it
                for it in self._threads.values()
                if self._sends(it, end.name) and it is not server and not _same(it, server)
            ]
            if server is None:
                if clients:
                    names = ", ".join(it.name for it in clients)
                    said = f"no counterpart: nobody receives from it, and {names} may send to it"
                    self._note(end.line, end.name, said)
                    self._dropped += _dropped(end, "call", clients)
                continue
            if clients:
                space = self._spaces.give(re.sub(r"^ep_|_ep$", "", end.name) + "_calls")
                server.spaces.append(space)
                for client in clients:
                    client.requests.append(space)

    def _server(self, end: Object) -> _Thread | None:
        found = [
            it
            for it in self._threads.values()
            if any(cap.target == end.name and cap.may("R") for _, cap in it.caps)
        ]
        others = [it for it in found[1:] if not _same(it, found[0])]
        if others:
            names = ", ".join(it.name for it in others)
            said = f'is served by "{found[0].name}" here: a space has one manager, not {names}, too'
            self._note(end.line, end.name, said)
            self._dropped += _dropped(end, "call", [found[0], *others])
        return found[0] if found else None

    def _sends(self, thread: _Thread, end: str) -> bool:
        """Whether it may send, by another capability than those of the kernel for faults."""
        return any(
            cap.target == end and cap.may("W") and at not in self._fault_slots
            for at, cap in thread.caps
        )

    def _note_handler(self, thread: _Thread) -> None:
        assert thread.fault_cap is not None
        end, handler = thread.fault_cap[1].target, thread.handler
        if handler is None:
            said = f"its faults go to {end}, from which nobody receives: the root task handles them"
            self._note(thread.line(), thread.tcb.name, said)
        elif handler is thread:
            thread.handler = None
            said = "its faults go to itself: the root task handles them"
            self._note(thread.line(), thread.tcb.name, said)

    def _order(self) -> None:
        """A fault handler is created before the PDs whose faults it handles."""
        ordered: dict[str, _Thread] = {}
        for first in self._threads.values():
            path: list[_Thread] = []
            at: _Thread | None = first
            while at is not None and at.tcb.name not in ordered:
                if at in path:
                    said = "no counterpart: they handle each other's faults, in a circle"
                    self._note(path[-1].line(), path[-1].tcb.name, said)
                    path[-1].handler = None
                    break
                path.append(at)
                at = at.handler
            ordered.update({it.tcb.name: it for it in reversed(path)})
        self._threads = ordered
        self._cyclic = self._in_a_circle()
        if self._cyclic:
            said = "the PDs request from each other in a circle: allow_cycles is set"
            self._note(next(iter(self._threads.values())).line(), "requests", said)

    def _in_a_circle(self) -> bool:
        """Whether somebody's requests lead back to it. Who asks nobody that is left goes."""
        owner = {space: it.name for it in self._threads.values() for space in it.spaces}
        left = {it.name: {owner[space] for space in it.requests} for it in self._threads.values()}
        while free := [name for name, asked in left.items() if not asked & left.keys()]:
            for name in free:
                del left[name]
        return bool(left)

    def _hold(self) -> None:
        for thread in self._threads.values():
            for _, cap in thread.caps:
                other = self._threads.get(cap.target)
                if other is None:
                    continue
                if other is thread:
                    self._note(cap.line, cap.target, "a PD has no capability to itself")
                elif other.name not in thread.holds:
                    thread.holds.append(other.name)
                    said = f'is the PD capability with which "{thread.name}" can terminate it'
                    self._note(cap.line, cap.target, said)

    # -- what is lost

    def _note_lost(self) -> None:
        users: dict[str, list[str]] = {}
        for thread in self._threads.values():
            for name in self._frames(thread.vspace):
                users.setdefault(name, []).append(thread.vspace)
        body = [each for each in self._objects.values() if each.kind in _BODY]
        if body:
            said = (
                f"and {len(body) - 1} more: the root task makes CSpaces, address spaces and frames"
            )
            self._note(body[0].line, body[0].name, said)
        for each in self._objects.values():
            at = users.get(each.name, [])
            using = [it for it in self._threads.values() if it.vspace in at]
            if each.kind == "frame" and len(set(at)) > 1:
                who = ", ".join(it.name for it in using)
                said = f"no counterpart: {who} share it, and no edge says so"
                self._note(each.line, each.name, said)
                self._dropped += _dropped(each, "memory", using)
            elif each.kind == "frame" and "paddr" in each.values:
                self._note(each.line, each.name, "no counterpart: devices are not imported")
                self._dropped += _dropped(each, "device", using)
            elif each.kind not in (*_BODY, "tcb", "ep"):
                reason = _LOST.get(each.kind, f"there is nothing like {each.kind}")
                held = [
                    it
                    for it in self._threads.values()
                    if any(cap.target == each.name for _, cap in it.caps)
                ]
                who = f"; held by {', '.join(it.name for it in held)}" if held else ""
                device = reason == _LOST["irq"]
                if len(held) > 1 or device:
                    shared = "channel" if each.kind == "notification" else "capability"
                    self._dropped += _dropped(each, "device" if device else shared, held)
                self._note(each.line, each.name, f"no counterpart: {reason}{who}")

    # -- the configuration

    def result(self) -> Imported:
        document = tomlkit.document()
        document.add(tomlkit.comment(f"Imported from {self._path.name}."))
        document.add("system", table({"name": Names().give(self._path.stem)}))
        if self._cyclic:
            document.add("policy", table({"allow_cycles": True}))
        programs, pds, links = tomlkit.aot(), tomlkit.aot(), tomlkit.aot()
        for file, name in self._programs.items():
            programs.append(table({"name": name, "elf": str(Path(self._programs_from) / file)}))
        for thread in self._threads.values():
            pds.append(_pd_table(thread))
        for between in self._links:
            links.append(table({"between": list(between)}))
        document.add("program", programs)
        document.add("pd", pds)
        if self._links:
            document.add("link", links)
        names = {name: thread.name for name, thread in self._threads.items()}
        return configuration(document, self._path, names, self._notes, self._dropped)


def _dropped(what: Object, kind: str, threads: Sequence[_Thread]) -> list[Dropped]:
    """A connection of threads that is left out; none if there are no threads."""
    between = tuple(dict.fromkeys(thread.name for thread in threads))
    return [Dropped(what.line, kind, what.name, between)] if between else []


def _same(one: _Thread, two: _Thread | None) -> bool:
    """Whether they are threads of one process."""
    return two is not None and bool(one.vspace) and one.vspace == two.vspace


def _pd_table(thread: _Thread) -> Table:
    values: dict[str, object] = {"name": thread.name, "program": thread.program}
    if thread.priority != Pd.model_fields["priority"].default:
        values["priority"] = thread.priority
    if thread.handler is not None:
        values["fault_handler"] = thread.handler.name
    if thread.requests:
        values["requests"] = thread.requests
    if thread.holds:
        values["holds_pds"] = thread.holds
    made = table(values)
    if thread.spaces:
        spaces = tomlkit.aot()
        for space in thread.spaces:
            spaces.append(table({"name": space, "type": CALLS}))
        made.add("space", spaces)
    return made


def import_capdl(path: Path, folder: Path) -> Imported:
    """Makes a configuration of a description in capDL.

    path: the description. folder: where the configuration will be; the paths of programs are
    relative to it. InputError if the description is not valid, or names what configurations do not
    allow, such as more PDs than there may be.
    """
    return _Import(path, folder).result()
