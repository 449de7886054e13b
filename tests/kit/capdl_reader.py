# SPDX-License-Identifier: BSD-2-Clause
"""A reader of capDL for tests: the part of the Haskell tool's grammar that descriptions use.

It is written from capDL-tool's Parser.hs and ParserUtils.hs. It refuses everything else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"\s+|--[^\n]*\n"
    r"|(?P<fill>\{[^{}\n]*\}(?=[\],]))"
    r"|(?P<number>0x[0-9a-f]+|\d+)(?!\w|\.\w)|(?P<size>\d+[kM])"
    r"|(?P<name>[A-Za-z][\w@.-]*)|(?P<sign>[{}()=,:\[\]]|->|\.\.)"
)
_RIGHTS = re.compile(r"[RWGXP]+\Z")
_TABLES = ("pt", "pd", "pml4", "pdpt", "pud", "pgd")
_IRQS = ("irq", "arm_irq", "ioapic_irq")
_KINDS = (
    "ep",
    "notification",
    "tcb",
    "cnode",
    *_TABLES,
    "frame",
    "sc",
    "rtreply",
    *_IRQS,
    "io_ports",
)
_TCB_NUMBERS = ("addr", "ip", "sp", "prio", "max_prio", "affinity", "fault_ep", "dom")
_MCS_SLOTS = ("fault_ep_slot", "sc_slot", "temp_fault_ep_slot")
_BUFFER_SLOTS = ("ipc_buffer_slot", "bound_notification")
_TCB_SLOTS = ("cspace", "vspace", "reply_slot", *_BUFFER_SLOTS, *_MCS_SLOTS)
_SC_NUMBERS = ("period", "budget")
_IRQ_NUMBERS = ("ioapic_id", "ioapic_pin", "ioapic_level", "ioapic_polarity", "target")

Slot = int | str
Ref = tuple[str, Slot]


@dataclass(frozen=True)
class Thing:
    """An object: its type and its parameters (bits, size, fill, the numbers of a TCB)."""

    kind: str
    params: dict[str, int | str]


@dataclass(frozen=True)
class Held:
    """A capability: its object, rights in alphabetical order, and badge, guard, guard_size."""

    target: str
    rights: str = ""
    numbers: dict[str, int] = field(default_factory=dict)
    mapping: Ref | None = None
    master_reply: bool = False
    uncached: bool = False


@dataclass
class Spec:
    """A whole file."""

    arch: str = ""
    objects: dict[str, Thing] = field(default_factory=dict)
    # name -> bits, covered objects
    untypeds: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    paddrs: dict[str, int] = field(default_factory=dict)  # of untypeds, where they are known
    caps: dict[str, dict[Slot, Held]] = field(default_factory=dict)
    derived: dict[Ref, list[Ref]] = field(default_factory=dict)
    interrupts: dict[int, str] = field(default_factory=dict)  # number of a line -> its object


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            assert found, f"no token of capDL: {text[at : at + 30]!r}"
            if found.lastgroup:
                self.tokens.append((found.lastgroup, found[0]))
            at = found.end()
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, kind: str) -> str:
        found, text = self.tokens[self.at]
        assert found == kind, f"expected a {kind}, found {text!r}"
        self.at += 1
        return text

    def expect(self, *texts: str) -> str:
        assert self.peek() in texts, f"expected one of {texts}, found {self.peek()!r}"
        self.at += 1
        return self.tokens[self.at - 1][1]

    def has(self, text: str) -> bool:
        if self.peek() == text:
            self.at += 1
            return True
        return False

    def number(self) -> int:
        return int(self.take("number"), 0)

    def slot(self) -> Slot:
        return self.expect(*_TCB_SLOTS) if self.peek() in _TCB_SLOTS else self.number()

    def ref(self) -> Ref:
        self.expect("(")
        name = self.take("name")
        self.expect(",")
        slot = self.slot()
        self.expect(")")
        return name, slot


def read_capdl(text: str) -> Spec:
    """The file's content.

    AssertionError: the file is not in the grammar or declares a name twice.
    """
    reader, spec = _Reader(text), Spec()
    reader.expect("arch")
    spec.arch = reader.expect("x86_64", "aarch64")
    reader.expect("objects")
    reader.expect("{")
    while not reader.has("}"):
        _declaration(reader, spec, None)
    reader.expect("caps")
    reader.expect("{")
    while not reader.has("}"):
        name = reader.take("name")
        assert name not in spec.caps, f"{name} is filled twice"
        slots = spec.caps[name] = {}
        reader.expect("{")
        while not reader.has("}"):
            slot = reader.slot()
            assert slot not in slots, f"slot {slot} of {name} is filled twice"
            reader.expect(":")
            slots[slot] = _held(reader)
    if reader.has("irq"):
        reader.expect("maps")
        reader.expect("{")
        while not reader.has("}"):
            number = reader.number()
            reader.expect("->")
            spec.interrupts[number] = reader.take("name")
    reader.expect("cdt")
    reader.expect("{")
    while not reader.has("}"):
        parent = reader.ref()
        assert parent not in spec.derived, f"{parent} is listed twice"
        children = spec.derived[parent] = []
        reader.expect("{")
        while not reader.has("}"):
            children.append(reader.ref())
    assert reader.peek() == "", "something follows the end"
    return spec


def _declaration(reader: _Reader, spec: Spec, untyped: str | None) -> None:
    name = reader.take("name")
    assert name not in spec.objects, f"{name} is declared twice"
    assert name not in spec.untypeds, f"{name} is declared twice"
    reader.expect("=")
    if untyped is None and reader.has("ut"):
        params = _params(reader)
        bits, paddr = params["bits"], params.get("paddr")
        assert isinstance(bits, int)
        spec.untypeds[name] = (bits, [])
        if paddr is not None:
            assert isinstance(paddr, int)
            spec.paddrs[name] = paddr
        reader.expect("{")
        while not reader.has("}"):
            if reader.tokens[reader.at + 1][1] == "=":
                _declaration(reader, spec, name)
            else:  # declared elsewhere
                spec.untypeds[name][1].append(reader.take("name"))
        return
    kind = reader.expect(*_KINDS)
    spec.objects[name] = Thing(kind, _params(reader))
    if untyped is not None:
        spec.untypeds[untyped][1].append(name)


def _params(reader: _Reader) -> dict[str, int | str]:
    params: dict[str, int | str] = {}
    if not reader.has("("):
        return params
    while True:
        kind, text = reader.tokens[reader.at]
        if kind == "number":
            params["bits"] = reader.number()
            reader.expect("bits")
        elif kind == "size":
            size = reader.take("size")
            params["size"] = int(size[:-1]) << {"k": 10, "M": 20}[size[-1]]
        elif text == "fill":
            reader.expect("fill")
            reader.expect(":")
            reader.expect("[")
            if not reader.has("]"):
                params["fill"] = reader.take("fill").strip("{}")
                reader.expect("]")
        elif text == "init":
            reader.expect("init")
            reader.expect(":")
            reader.expect("[")
            reader.expect("]")
        elif text == "trigger":
            reader.expect("trigger")
            reader.expect(":")
            params["trigger"] = reader.expect("level", "edge")
        elif text == "ports":
            for sign in ("ports", ":", "["):
                reader.expect(sign)
            params["first"] = reader.number()
            reader.expect("..")
            params["last"] = reader.number()
            reader.expect("]")
        else:
            key = reader.expect(*_TCB_NUMBERS, *_SC_NUMBERS, *_IRQ_NUMBERS, "paddr")
            reader.expect(":")
            params[key] = reader.number()
        if reader.expect(",", ")") == ")":
            return params


def _held(reader: _Reader) -> Held:
    target, rights, numbers, mapping, reply = reader.take("name"), "", dict[str, int](), None, False
    more, uncached = reader.has("("), False
    while more:
        word = reader.take("name")
        if _RIGHTS.match(word):
            rights = "".join(sorted(word))
        elif word == "mapping":
            reader.expect(":")
            mapping = reader.ref()
        elif word == "master_reply":
            reply = True
        elif word == "uncached":
            uncached = True
        else:
            assert word in ("badge", "guard", "guard_size"), f"unknown: {word}"
            reader.expect(":")
            numbers[word] = reader.number()
        more = reader.expect(",", ")") == ","
    return Held(target, rights, numbers, mapping, reply, uncached)
