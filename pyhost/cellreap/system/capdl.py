# SPDX-License-Identifier: BSD-2-Clause
"""system.cdl: what every PD of boot time is made of when it starts, in the language of seL4's capDL tools.

The root task's own sizes, slots and addresses come from its headers; what the kernel's ABI and the
architecture decide is asked of the compiler (`facts_source`, `read_target`). The steps are those of body.c
and system.c, in their order, because the order decides which capability comes to lie in which slot.

The tools take descriptions that no kernel could hold: slots beyond a CNode's end, objects larger than their
untyped, derivations from nothing. `problems` finds these; `describe` lets none through.
"""

from __future__ import annotations

import functools
import io
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from cellreap import headers
from cellreap.errors import CellreapError
from cellreap.system.config import Config, Pd
from cellreap.system.elf import Executable, read_executable

_SIZES: Final = ("SlotBits", "TCBBits", "NotificationBits", "EndpointBits", "PageBits")
_LEVELS: Final = {"x86_64": ("pml4", "pdpt", "pd", "pt"), "aarch64": ("pgd", "pud", "pd", "pt")}
_ENTRY_BITS: Final = 3  # an entry of a paging structure is 8 bytes on both
_WORD_BITS: Final = 64
_FLAG_EXECUTE, _FLAG_WRITE = 1, 2  # of an ELF segment
# Names of capDL for the slots of a TCB.
_TCB_SLOTS: Final = ("cspace", "vspace", "reply_slot", "ipc_buffer_slot", "bound_notification")
_BADGE = re.compile(
    r"\(\(uint64_t\)kind << (\d+)\) \| \(\(uint64_t\)\(generation & (0x[0-9a-f]+)u\) << (\d+)\) \| index;"
)

Slot: TypeAlias = int | str
SlotRef: TypeAlias = tuple[str, Slot]


@dataclass(frozen=True)
class Target:
    """What a kernel and an architecture decide: log2 of bytes for sizes, log2 of bytes spanned for spans."""

    arch: str
    slot_bits: int
    tcb_bits: int
    notification_bits: int
    endpoint_bits: int
    page_bits: int
    vspace_bits: int
    table_bits: tuple[int, ...]  # by level, the widest first
    table_spans: tuple[int, ...]


@dataclass(frozen=True)
class Object:
    """A kernel object. bits: log2 of its bytes; slots: how many capabilities or entries it has."""

    name: str
    kind: str
    bits: int
    params: tuple[str, ...] = ()
    slots: int = 0


@dataclass(frozen=True)
class Body:
    """A PD: its untyped and what is retyped from it, in that order."""

    title: str
    untyped: str
    bits: int
    objects: tuple[Object, ...]


@dataclass(frozen=True)
class Cap:
    """A capability in a slot, or an entry of a paging structure."""

    slot: Slot
    target: str
    params: tuple[str, ...] = ()
    mapping: SlotRef | None = None  # a frame's: the entry that was made with this capability


@dataclass(frozen=True)
class Description:
    """A system as system.cdl tells it."""

    arch: str
    heading: tuple[str, ...]
    shared: tuple[Object, ...]  # the root task's, which PDs' capabilities or places refer to
    bodies: tuple[Body, ...]
    caps: Mapping[str, tuple[Cap, ...]]  # by the object that holds them
    derived: Mapping[SlotRef, tuple[SlotRef, ...]]  # capability -> those derived from it


def facts_source(arch: str) -> str:
    """C to be compiled against roottask/ and an SDK; `read_target` reads the object file."""
    sizes = ", ".join(f"seL4_{name}" for name in _SIZES)
    return f'#include "kernel/arch/{arch}/arch.c"\nconst uint32_t cr_capdl_sizes[] = {{{sizes}}};\n'


def read_target(arch: str, raw: bytes) -> Target:
    """What the compiled `facts_source` says. CellreapError if a fact is not in it."""
    elf = ELFFile(io.BytesIO(raw))
    table = elf.get_section_by_name(".symtab")

    def words(name: str, count: int) -> tuple[int, ...]:
        found = table.get_symbol_by_name(name) if isinstance(table, SymbolTableSection) else None
        if not found or found[0]["st_size"] != 4 * count or not isinstance(found[0]["st_shndx"], int):
            raise CellreapError(f"{name} is not in the object file: expected {count} words of 32 bits")
        start = found[0]["st_value"]
        data = elf.get_section(found[0]["st_shndx"]).data()[start : start + 4 * count]
        return struct.unpack(f"<{count}I", data)

    levels = len(_LEVELS[arch]) - 1
    slot, tcb, notification, endpoint, page = words("cr_capdl_sizes", len(_SIZES))
    return Target(
        arch,
        slot_bits=slot,
        tcb_bits=tcb,
        notification_bits=notification,
        endpoint_bits=endpoint,
        page_bits=page,
        vspace_bits=words("cr_arch_vspace_bits", 1)[0],
        table_bits=words("cr_arch_table_bits", levels),
        table_spans=words("cr_arch_table_span", levels),
    )


def capdl_text(config: Config, programs: Mapping[str, bytes], target: Target) -> str:
    """The text of system.cdl. CellreapError for a program that the root task would refuse to load."""
    return render(describe(config, programs, target))


def describe(config: Config, programs: Mapping[str, bytes], target: Target) -> Description:
    """What the PDs of `config` that start at boot are made of; `programs`: their ELF files by name."""
    pds = {pd.name: number for number, pd in enumerate(_boot_pds(config), 1)}
    bodies: list[Body] = []
    caps: dict[str, tuple[Cap, ...]] = {}
    derived: dict[SlotRef, tuple[SlotRef, ...]] = {}
    elfs = {
        name: read_executable(programs[name], f"{name}.elf", target.arch)
        for name in {pd.program for pd in _boot_pds(config)}
    }
    for pd in _boot_pds(config):
        layout = _Layout(pd, elfs[pd.program], target)
        bodies.append(layout.body(pds[pd.name]))
        caps.update(layout.caps(pds))
        derived.update(layout.derived())
        if pd.fault_handler is not None:
            parent = (f"body_{pd.fault_handler}", _body("CR_BODY_ENDPOINT"))
            derived[parent] += ((f"cspace_{pd.name}", _protocol("CR_SLOT_FAULT")),)
    l1_bits = _roottask("kernel/kernel.h", "CR_L1_BITS")
    shared = (
        Object("root_cspace", "cnode", l1_bits + target.slot_bits, (f"{l1_bits} bits",), 1 << l1_bits),
        Object("root_ep", "ep", target.endpoint_bits),
    )
    first = _roottask("kernel/kernel.h", "CR_L1_BODIES")
    subspace = _roottask("kernel/kernel.h", "CR_SUBSPACE_BITS")
    own = [body.objects[0] for body in bodies]
    caps["root_cspace"] = tuple(
        Cap(slot, cnode.name, _guard(subspace - _radix(cnode))) for slot, cnode in enumerate(own, first + 1)
    )
    heading = _heading(config, [pd.name for pd in config.pds if pd.name not in pds])
    made = Description(target.arch, heading, shared, tuple(bodies), caps, derived)
    for problem in problems(made):
        raise CellreapError(f"system.cdl: {problem}")
    return made


def _boot_pds(config: Config) -> list[Pd]:
    return [pd for pd in config.pds if pd.start == "boot"]


def _heading(config: Config, late: list[str]) -> tuple[str, ...]:
    lines = [
        f"{config.system.name}: the protection domains of boot time, each as it is when it starts.",
        "",
        "Not in here, because only a run decides it: physical addresses and address space ids; the root",
        "task's own objects, but for root_ep and the CNode that has the PDs' CNodes (its other slots are not",
        "listed); the capabilities that those listed here without a parent derive from; what PDs ask for",
        "through the protocol. Frames hold zeroes where nothing fills them; the one at startup, what the",
        "root task tells the PD. File names are those of programs, whose ELF files lie within roottask.elf.",
    ]
    if late:
        lines.append(f"Created after the first cleanup, so not listed: {', '.join(late)}.")
    return tuple(lines)


# -- one PD


@dataclass(frozen=True)
class _Stretch:
    """Pages next to each other. `start`: address of the first byte from the file, `count`: how many."""

    vaddr: int
    pages: int
    writable: bool = True
    executable: bool = False
    start: int = 0
    count: int = 0
    offset: int = 0


class _Layout:
    """The objects and capabilities of one PD, laid out as body.c does."""

    def __init__(self, pd: Pd, elf: Executable, target: Target) -> None:
        self.pd, self.elf, self.target = pd, elf, target
        self.page = 1 << target.page_bits
        self.stretches = self._stretches()
        self.frames = [
            (stretch, vaddr)
            for stretch in self.stretches
            for vaddr in range(stretch.vaddr, stretch.vaddr + stretch.pages * self.page, self.page)
        ]
        self.tables = self._tables()
        most = headers.constant("limits.h", "CR_PROGRAM_PAGES_MAX")
        if len(self.frames) > most:
            raise self._refuse(f"{len(self.frames)} pages in all: expected at most {most}")
        most = _body("CR_BODY_FRAMES") - _body("CR_BODY_TABLES")
        if sum(map(len, self.tables)) > most:
            raise self._refuse(f"spread over too many page tables: expected at most {most}")

    def _refuse(self, message: str) -> CellreapError:
        return CellreapError(f'{self.elf.name}, which "{self.pd.name}" runs: {message}')

    def _stretches(self) -> list[_Stretch]:
        startup = _protocol("CR_VADDR_STARTUP")
        most = headers.constant("limits.h", "CR_PROGRAM_SEGMENTS_MAX")
        if len(self.elf.segments) > most:
            raise self._refuse(f"too many segments: expected at most {most}")
        stretches = []
        end_before = self.page
        for segment in sorted(self.elf.segments, key=lambda one: one.vaddr):
            base = segment.vaddr - segment.vaddr % self.page
            end = segment.vaddr + segment.memory_bytes
            if base < end_before or end > startup:
                place = f"a segment from {segment.vaddr:#x} to {end:#x}"
                room = f"between {self.page:#x} and {startup:#x}"
                raise self._refuse(f"{place}: expected pages that no other one is on, {room}")
            end_before = end + -end % self.page
        for segment in self.elf.segments:
            base = segment.vaddr - segment.vaddr % self.page
            end = segment.vaddr + segment.memory_bytes
            stretches.append(
                _Stretch(
                    vaddr=base,
                    pages=(end - base + self.page - 1) // self.page,
                    writable=bool(segment.flags & _FLAG_WRITE),
                    executable=bool(segment.flags & _FLAG_EXECUTE),
                    start=segment.vaddr,
                    count=segment.file_bytes,
                    offset=segment.offset,
                )
            )
        return [
            *stretches,
            _Stretch(startup, 1, writable=False),
            _Stretch(_protocol("CR_VADDR_IPC_BUFFER"), 1),
            _Stretch(_protocol("CR_VADDR_STACK"), self.pd.stack_pages),
        ]

    def _tables(self) -> list[list[int]]:
        """The addresses from which on tables of each level are needed, in the order of first need."""
        levels: list[dict[int, None]] = [{} for _ in self.target.table_spans]
        for stretch in self.stretches:
            last = stretch.vaddr + stretch.pages * self.page - 1
            for level, span in zip(levels, self.target.table_spans, strict=True):
                for at in range(stretch.vaddr >> span, (last >> span) + 1):
                    level[at << span] = None
        return [list(level) for level in levels]

    def name(self, kind: str, vaddr: int | None = None) -> str:
        """The name of an object of this PD. The kind is a fixed word, and no PD's name has a dot."""
        return f"{kind}_{self.pd.name}" + ("" if vaddr is None else f".{vaddr:#x}")

    def table(self, level: int, vaddr: int) -> str:
        """The name of the table of that level that covers an address; level -1: the root of all."""
        if level < 0:
            return self.name("vspace")
        span = self.target.table_spans[level]
        return self.name(_LEVELS[self.target.arch][level + 1], vaddr >> span << span)

    def entry(self, level: int, vaddr: int) -> SlotRef:
        """The entry for an address in a table of that level."""
        spans = (*self.target.table_spans, self.target.page_bits)
        bits = (self.target.vspace_bits, *self.target.table_bits)[level + 1] - _ENTRY_BITS
        return self.table(level, vaddr), (vaddr >> spans[level + 1]) & ((1 << bits) - 1)

    def frame(self, vaddr: int) -> str:
        return self.name("frame", vaddr)

    def body(self, number: int) -> Body:
        """The untyped and what is retyped from it."""
        target, pd = self.target, self.pd
        parents_bits = max((_body("CR_BODY_FRAMES") + len(self.frames) - 1).bit_length(), pd.cspace_bits)
        body_bits = parents_bits + 1
        kinds = _LEVELS[target.arch]
        objects = [
            _cnode(self.name("body"), body_bits, target),
            _cnode(self.name("cspace"), pd.cspace_bits, target),
            _table(self.name("vspace"), kinds[0], target.vspace_bits),
        ]
        for level, (kind, bits) in enumerate(zip(kinds[1:], target.table_bits, strict=True)):
            objects += [_table(self.table(level, vaddr), kind, bits) for vaddr in self.tables[level]]
        size = f"{self.page >> 10}k"
        objects += [
            Object(self.frame(vaddr), "frame", target.page_bits, (size, *self._fill(stretch, vaddr)))
            for stretch, vaddr in self.frames
        ]
        objects += [
            Object(self.name("tcb"), "tcb", target.tcb_bits, self._thread()),
            Object(self.name("ntfn"), "notification", target.notification_bits),
            Object(self.name("ep"), "ep", target.endpoint_bits),
        ]
        bits = max((_taken(objects) - 1).bit_length(), _roottask("kernel/untyped.h", "CR_BLOCK_MIN_BITS"))
        return Body(f"PD_{number:x} {pd.name}", self.name("ut"), bits, tuple(objects))

    def _fill(self, stretch: _Stretch, vaddr: int) -> tuple[str, ...]:
        start = max(stretch.start, vaddr)
        end = min(stretch.start + stretch.count, vaddr + self.page)
        if start >= end:
            return ()
        offset = stretch.offset + start - stretch.start
        what = f'{start - vaddr} {end - start} CDL_FrameFill_FileData "{self.elf.name}" {offset}'
        return (f"fill: [{{{what}}}]",)

    def _thread(self) -> tuple[str, ...]:
        """All of these or none, says the tool's MakeModel.hs."""
        stack_top = _protocol("CR_VADDR_STACK") + self.pd.stack_pages * self.page
        return (
            f"addr: {_protocol('CR_VADDR_IPC_BUFFER'):#x}",
            f"ip: {self.elf.entry:#x}",
            f"sp: {stack_top:#x}",
            f"prio: {self.pd.priority}",
            "max_prio: 0",
            "affinity: 0",
            f"fault_ep: {_protocol('CR_SLOT_FAULT'):#x}",
            "dom: 0",
        )

    def caps(self, pds: Mapping[str, int]) -> dict[str, tuple[Cap, ...]]:
        """What each object of this PD holds. `pds`: the root task's index of every PD of boot time."""
        made = {
            self.name("cspace"): self._cspace(pds),
            self.name("tcb"): (
                Cap("cspace", self.name("cspace"), _guard(_WORD_BITS - self.pd.cspace_bits)),
                Cap("vspace", self.name("vspace")),
                Cap("reply_slot", self.name("tcb"), ("master_reply",)),  # made by the kernel when it starts
                Cap("ipc_buffer_slot", self.frame(_protocol("CR_VADDR_IPC_BUFFER")), ("RW",)),
                Cap("bound_notification", self.name("ntfn"), ("R",)),
            ),
            self.name("body"): self._own(),
        }
        entries: dict[str, list[Cap]] = {self.name("vspace"): []}
        for level, addresses in enumerate(self.tables):
            for vaddr in addresses:
                entries[self.table(level, vaddr)] = []
        for level, addresses in enumerate(self.tables):
            for vaddr in addresses:
                table, slot = self.entry(level - 1, vaddr)
                entries[table].append(Cap(slot, self.table(level, vaddr)))
        for stretch, vaddr in self.frames:
            table, slot = self.entry(len(self.tables) - 1, vaddr)
            entries[table].append(Cap(slot, self.frame(vaddr), (self._rights(stretch),)))
        return made | {name: tuple(sorted(listed, key=_slot_number)) for name, listed in entries.items()}

    def _rights(self, stretch: _Stretch) -> str:
        # seL4 on x86_64 never sets execute-disable, so there every mapping can be executed.
        executable = stretch.executable or self.target.arch == "x86_64"
        return "R" + ("W" if stretch.writable else "") + ("X" if executable else "")

    def _cspace(self, pds: Mapping[str, int]) -> tuple[Cap, ...]:
        index = pds[self.pd.name]
        handler = self.pd.fault_handler
        fault = "root_ep" if handler is None else f"ep_{handler}"
        caps = [
            Cap(_protocol("CR_SLOT_ROOT"), "root_ep", ("WGP", _badge("CR_BADGE_PD", index))),
            Cap(_protocol("CR_SLOT_ENDPOINT"), self.name("ep"), ("R",)),
            Cap(_protocol("CR_SLOT_NOTIFICATION"), self.name("ntfn"), ("R",)),
            Cap(_protocol("CR_SLOT_FAULT"), fault, ("WP", _badge("CR_BADGE_FAULT", index))),
        ]
        # Its place in the list decides the slot, whether or not the PD is there.
        for slot, held in enumerate(self.pd.holds_pds, _protocol("CR_SLOT_FIRST_FREE")):
            if held in pds:
                caps.append(Cap(slot, "root_ep", ("WP", _badge("CR_BADGE_BODY", pds[held]))))
        return tuple(caps)

    def _own(self) -> tuple[Cap, ...]:
        """The CNode with the root task's capabilities to the PD."""
        caps = [
            Cap(_body("CR_BODY_TCB"), self.name("tcb")),
            Cap(_body("CR_BODY_CSPACE"), self.name("cspace"), _guard(0)),
            Cap(_body("CR_BODY_VSPACE"), self.name("vspace")),
            Cap(_body("CR_BODY_ENDPOINT"), self.name("ep"), ("RWGP",)),
            Cap(_body("CR_BODY_NOTIFICATION"), self.name("ntfn"), ("RW",)),
            Cap(_body("CR_BODY_SIGNAL"), self.name("ntfn"), ("W", _badge("CR_BADGE_SIGNAL", 0, 0))),
        ]
        tables = [
            self.table(level, vaddr) for level, addresses in enumerate(self.tables) for vaddr in addresses
        ]
        caps += [Cap(slot, name) for slot, name in enumerate(tables, _body("CR_BODY_TABLES"))]
        for slot, (_, vaddr) in enumerate(self.frames, _body("CR_BODY_FRAMES")):
            caps.append(Cap(slot, self.frame(vaddr), ("RW",), self.entry(len(self.tables) - 1, vaddr)))
        return tuple(sorted(caps, key=_slot_number))

    def derived(self) -> dict[SlotRef, tuple[SlotRef, ...]]:
        """What is derived from the capabilities that retyping made."""
        body, cspace, tcb = self.name("body"), self.name("cspace"), self.name("tcb")
        buffer = [vaddr for _, vaddr in self.frames].index(_protocol("CR_VADDR_IPC_BUFFER"))
        return {
            (body, _body("CR_BODY_CSPACE")): ((tcb, "cspace"),),
            (body, _body("CR_BODY_VSPACE")): ((tcb, "vspace"),),
            (body, _body("CR_BODY_ENDPOINT")): ((cspace, _protocol("CR_SLOT_ENDPOINT")),),
            (body, _body("CR_BODY_NOTIFICATION")): (
                (cspace, _protocol("CR_SLOT_NOTIFICATION")),
                (body, _body("CR_BODY_SIGNAL")),
            ),
            (body, _body("CR_BODY_FRAMES") + buffer): ((tcb, "ipc_buffer_slot"),),
        }


def _slot_number(cap: Cap) -> int:
    return cap.slot if isinstance(cap.slot, int) else 0


def _cnode(name: str, bits: int, target: Target) -> Object:
    return Object(name, "cnode", bits + target.slot_bits, (f"{bits} bits",), 1 << bits)


def _table(name: str, kind: str, bits: int) -> Object:
    return Object(name, kind, bits, (), 1 << bits - _ENTRY_BITS)


def _radix(cnode: Object) -> int:
    return (cnode.slots - 1).bit_length()


def _guard(bits: int) -> tuple[str, ...]:
    return ("guard: 0", f"guard_size: {bits}")


def _taken(objects: list[Object] | tuple[Object, ...]) -> int:
    """Bytes of an untyped that retyping these in this order takes: each is aligned to its size."""
    end = 0
    for thing in objects:
        size = 1 << thing.bits
        end += -end % size + size
    return end


# -- constants of the root task


def _protocol(name: str) -> int:
    return headers.constant("protocol.h", name)


def _body(name: str) -> int:
    return _roottask("system/body.h", name)


@functools.cache
def _roottask(header: str, name: str) -> int:
    """An enumerator of a header that is not public."""
    for members in headers.parse_enums(_source(header)).values():
        if name in members:
            return members[name]
    raise headers.HeaderError(f"roottask/{header}: no enumerator {name}")


@functools.cache
def _source(name: str) -> str:
    path = headers.source_root() / "roottask" / name
    try:
        return headers.strip(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise headers.HeaderError(f"{path}: cannot be read: {error}") from error


def _badge(kind: str, index: int, generation: int = 1) -> str:
    """cr_badge of protocol.h, as a parameter. Whoever is the first in its place has generation 1."""
    found = _BADGE.search(headers.read_header("protocol.h"))
    if found is None:
        raise headers.HeaderError("protocol.h: cr_badge is not (kind, generation, index) as it was")
    kind_shift, mask, generation_shift = (int(text, 0) for text in found.groups())
    value = _protocol(kind) << kind_shift | (generation & mask) << generation_shift | index
    return f"badge: {value:#x}"


# -- what the tools do not check


def problems(made: Description) -> Iterator[str]:
    """What in a description no kernel could hold, or refers to nothing."""
    objects = [*made.shared, *(thing for body in made.bodies for thing in body.objects)]
    names = Counter([*(thing.name for thing in objects), *(body.untyped for body in made.bodies)])
    yield from (f"{name} is declared {times} times" for name, times in names.items() if times > 1)
    known = {thing.name: thing for thing in objects}
    for body in made.bodies:
        taken, size = _taken(body.objects), 1 << body.bits
        if taken > size:
            yield f"{body.untyped} has {size} bytes: its objects take {taken}"
    filled: Counter[SlotRef] = Counter()
    for holder, caps in made.caps.items():
        if holder not in known:
            yield f"{holder} has capabilities but is not declared"
            continue
        for cap in caps:
            filled[holder, cap.slot] += 1
            yield from _cap_problems(known, holder, cap)
    yield from (f"{_shown(place)} is filled {times} times" for place, times in filled.items() if times > 1)
    mapped = [(cap.target, cap.mapping) for caps in made.caps.values() for cap in caps if cap.mapping]
    entries = {(holder, cap.slot): cap.target for holder, caps in made.caps.items() for cap in caps}
    for frame, entry in mapped:
        if entries.get(entry) != frame:
            yield f"{frame} is said to be mapped by {_shown(entry)}, which is {entries.get(entry, 'empty')}"
    parents = Counter(child for children in made.derived.values() for child in children)
    yield from (f"{_shown(child)} is derived {times} times" for child, times in parents.items() if times > 1)
    for parent, children in made.derived.items():
        for place in (parent, *children):
            if place not in entries:
                yield f"{_shown(place)} is empty: nothing is derived from or to it"
            elif parent in entries and entries[place] != entries[parent]:
                yield f"{_shown(place)} is not for {entries[parent]}, as {_shown(parent)} is"


def _cap_problems(known: Mapping[str, Object], holder: str, cap: Cap) -> Iterator[str]:
    place = _shown((holder, cap.slot))
    if known[holder].kind == "tcb":
        if cap.slot not in _TCB_SLOTS:
            yield f"{place}: a TCB has the slots {', '.join(_TCB_SLOTS)}"
    elif not isinstance(cap.slot, int) or not 0 <= cap.slot < known[holder].slots:
        yield f"{place}: {holder} has {known[holder].slots} slots"
    if cap.target not in known:
        yield f"{place}: {cap.target} is not declared"
        return
    guard = next((int(text.split()[1]) for text in cap.params if text.startswith("guard_size:")), 0)
    radix = _radix(known[cap.target]) if known[cap.target].kind == "cnode" else 0
    if guard + radix > _WORD_BITS:
        yield f"{place}: a guard of {guard} bits and {radix} bits of index are more than {_WORD_BITS}"


def _shown(place: SlotRef) -> str:
    holder, slot = place
    return f"({holder}, {slot if isinstance(slot, str) else hex(slot)})"


# -- text


def render(made: Description) -> str:
    """A description in capDL."""
    lines = [f"-- {line}".rstrip() for line in made.heading]
    lines += ["", f"arch {made.arch}", "", "objects {", ""]
    lines += [_declaration(thing) for thing in made.shared]
    for body in made.bodies:
        lines += ["", f"-- {body.title}", f"{body.untyped} = ut ({body.bits} bits) {{"]
        lines += [f"  {_declaration(thing)}" for thing in body.objects]
        lines.append("}")
    lines += ["", "}", "", "caps {"]
    for holder, caps in made.caps.items():
        lines += ["", f"{holder} {{", *(f"  {_cap(cap)}" for cap in caps), "}"]
    lines += ["", "}", "", "cdt {"]
    for parent, children in made.derived.items():
        lines += ["", f"{_shown(parent)} {{", *(f"  {_shown(child)}" for child in children), "}"]
    return "\n".join([*lines, "", "}", ""])


def _declaration(thing: Object) -> str:
    params = f" ({', '.join(thing.params)})" if thing.params else ""
    return f"{thing.name} = {thing.kind}{params}"


def _cap(cap: Cap) -> str:
    params = cap.params if cap.mapping is None else (*cap.params, f"mapping: {_shown(cap.mapping)}")
    slot = cap.slot if isinstance(cap.slot, str) else hex(cap.slot)
    return f"{slot}: {cap.target}" + (f" ({', '.join(params)})" if params else "")
