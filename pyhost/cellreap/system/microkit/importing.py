# SPDX-License-Identifier: BSD-2-Clause
"""A system description as a configuration.

| Microkit | configuration |
|---|---|
| PD | `[[pd]]` with its priority and its stack, and a `[[program]]` |
| an end with pp="true" | the PD requests the space of the other end's PD |
| PD within a PD | the outer one is its fault handler and has its PD capability |
| cap_tcb of another PD | `holds_pds` |

Everything else has no counterpart, and is noted with its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path, PurePosixPath

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.items import AoT, Table

from cellreap.system.config.schema import Pd
from cellreap.system.importing import (
    CALLS,
    MAX_NAME,
    PRIORITIES,
    Dropped,
    Imported,
    Names,
    Note,
    configuration,
    ranked,
    table,
)
from cellreap.system.microkit.elements import KINDS
from cellreap.system.microkit.reading import Element, read_system

_PAGE = 4096
_MAX_STACK_PAGES = 64
_MICROKIT_MAX_PRIORITY = 254
_MICROKIT_STACKS = (_PAGE, 16 << 20)


@dataclass
class _Pd:
    element: Element
    parent: _Pd | None
    microkit_name: str
    name: str
    program: str
    microkit_priority: int
    priority: int = 0
    stack_pages: int | None = None
    space: str | None = None
    requests: dict[str, None] | None = None
    holds: dict[str, None] | None = None

    def asks(self, space: str) -> None:
        self.requests = {**(self.requests or {}), space: None}

    def takes(self, pd: str) -> None:
        self.holds = {**(self.holds or {}), pd: None}


class _Import:
    def __init__(self, root: Element, system: str, programs_from: str) -> None:
        self.notes: list[Note] = []
        self.dropped: list[Dropped] = []
        self._programs_from = programs_from
        self._names = Names()
        self._spaces = Names()
        self._program_names = Names()
        self._programs: dict[str, str] = {}
        self._pds: dict[str, _Pd] = {}
        self._check_elements(root)
        self._system = Names().give(system)
        for element in root.of("protection_domain"):
            self._add_pds(element)
        if not self._pds:
            raise root.error("no protection_domain: expected at least one")
        self._set_priorities()
        self._check_maps(root)
        for pd in self._pds.values():
            self._add_capabilities(pd)
        for channel in root.of("channel"):
            self._add_channel(channel)
        self.dropped += _without_calls(root, list(self._pds.values()))
        self._note_lost(root)

    # -- what may be in the file

    @staticmethod
    def _check_elements(root: Element) -> None:
        for element in root.walk():
            kind = KINDS[element.tag]
            for name in element.attributes:
                if name not in kind.used and name not in kind.lost:
                    known = ", ".join((*kind.used, *kind.lost)) or "no attribute"
                    raise element.error(f"unknown attribute; expected {known}", name)
            for child in element.children:
                if child.tag not in kind.within:
                    known = ", ".join(kind.within) or "nothing"
                    raise child.error(f"is not expected in {element.tag}; expected {known}")

    @staticmethod
    def _check_maps(root: Element) -> None:
        regions: dict[str, Element] = {}
        for region in root.of("memory_region"):
            name = region.text("name")
            if name in regions:
                raise region.error(
                    f'"{name}" is also the memory region of line {regions[name].line}', "name"
                )
            regions[name] = region
        for mapping in root.walk():
            if mapping.tag == "map" and mapping.text("mr") not in regions:
                raise mapping.error(
                    f'there is no memory region "{mapping.text("mr")}"; expected one of this file',
                    "mr",
                )

    # -- PDs

    def _add_pds(self, outermost: Element) -> None:
        waiting: list[tuple[Element, _Pd | None]] = [(outermost, None)]
        while waiting:
            element, parent = waiting.pop(0)
            pd = self._add_pd(element, parent)
            waiting.extend((child, pd) for child in element.of("protection_domain"))

    def _add_pd(self, element: Element, parent: _Pd | None) -> _Pd:
        name = element.text("name")
        if name in self._pds:
            raise element.error(
                f'"{name}" is also the PD of line {self._pds[name].element.line}', "name"
            )
        images = element.of("program_image")
        if len(images) != 1:
            raise element.error(f"expected one element program_image, got {len(images)}")
        pd = _Pd(
            element,
            parent,
            name,
            self._names.give(name),
            self._program(images[0]),
            element.number("priority", 0, 0, _MICROKIT_MAX_PRIORITY),
        )
        self._pds[name] = pd
        if pd.name != name:
            self._note(element, "name", f'"{name}" is "{pd.name}": names are lower-case')
        if "stack_size" in element.attributes:
            size = element.number("stack_size", None, *_MICROKIT_STACKS)
            if size % _PAGE != 0:
                raise element.error(f"expected a multiple of {_PAGE}, got {size}", "stack_size")
            pd.stack_pages = min(size // _PAGE, _MAX_STACK_PAGES)
            if size // _PAGE > _MAX_STACK_PAGES:
                self._note(
                    element, "stack_size", f"is cut to {_MAX_STACK_PAGES} pages, the most there is"
                )
        if parent is not None:
            parent.takes(pd.name)
        return pd

    def _program(self, image: Element) -> str:
        path = image.text("path")
        if path not in self._programs:
            self._programs[path] = self._program_names.give(PurePosixPath(path).stem)
        self._note(
            image,
            None,
            f'"{path}" calls libmicrokit; as the program "{self._programs[path]}" it must be '
            "linked with the library for PDs instead",
        )
        return self._programs[path]

    def _set_priorities(self) -> None:
        """Keeps the order of the priorities, and those that are allowed as far as it can."""
        new = ranked(pd.microkit_priority for pd in self._pds.values())
        if new is None:
            first = next(iter(self._pds.values())).element
            raise first.error(f"expected at most {len(PRIORITIES)} different priorities")
        for pd in self._pds.values():
            pd.priority = new[pd.microkit_priority]
            if pd.priority != pd.microkit_priority:
                self._note(
                    pd.element,
                    "priority",
                    f"{pd.microkit_priority} is {pd.priority} here: priorities are "
                    f"{PRIORITIES[0]} to {PRIORITIES[-1]}, and keep their order",
                )

    # -- edges

    def _pd_of(self, element: Element) -> _Pd:
        name = element.text("pd")
        if name not in self._pds:
            raise element.error(f'there is no PD "{name}"; expected one of this file', "pd")
        return self._pds[name]

    def _add_capabilities(self, pd: _Pd) -> None:
        for cspace in pd.element.of("cspace"):
            for cap in cspace.children:
                other = self._pd_of(cap)
                if cap.tag != "cap_tcb":
                    if other is not pd:
                        self._drop(cap, "capability", cap.tag, (pd, other))
                    continue
                if other is pd:
                    self._note(cap, None, "a PD has no capability to itself")
                    continue
                pd.takes(other.name)
                self._note(
                    cap,
                    None,
                    f'is the PD capability of "{other.name}", with which "{pd.name}" can '
                    "terminate it; its registers stay its own",
                )

    def _add_channel(self, channel: Element) -> None:
        ends = channel.of("end")
        if len(ends) != 2:
            raise channel.error(f"expected two elements end, got {len(ends)}")
        first, second = (self._pd_of(end) for end in ends)
        if first is second:
            raise channel.error(f'both ends are "{first.microkit_name}": expected two PDs')
        calls = [end.flag("pp", False) for end in ends]
        if all(calls):
            raise channel.error("both ends may call the other one: expected at most one")
        for end, may, caller, callee in zip(
            ends, calls, (first, second), (second, first), strict=True
        ):
            if may:
                self._add_call(end, caller, callee)
        notify = [end.flag("notify", True) for end in ends]
        if any(notify):
            self._note(
                channel,
                None,
                f'"{first.name}" and "{second.name}" cannot notify each other: PDs do not signal '
                "each other",
            )
            self._drop(channel, "channel", "", (first, second))

    def _add_call(self, end: Element, caller: _Pd, callee: _Pd) -> None:
        if callee.microkit_priority <= caller.microkit_priority:
            raise end.error(
                f'"{callee.microkit_name}" has priority {callee.microkit_priority}, and '
                f'"{caller.microkit_name}", which calls it, {caller.microkit_priority}: expected a '
                "higher one",
                "pp",
            )
        if callee.space is None:
            callee.space = self._spaces.give(f"{callee.name[: MAX_NAME - 6]}_calls")
        caller.asks(callee.space)

    # -- what is lost

    def _drop(self, element: Element, kind: str, name: str, pds: Iterable[_Pd]) -> None:
        between = tuple(pd.name for pd in pds)
        self.dropped.append(Dropped(element.line, kind, name, between))

    def _note(self, element: Element, attribute: str | None, text: str) -> None:
        where = element.tag if attribute is None else f"{element.tag}.{attribute}"
        self.notes.append(Note(element.line, where, text))

    def _note_lost(self, root: Element) -> None:
        waiting = [root]
        while waiting:
            element = waiting.pop()
            kind = KINDS[element.tag]
            if kind.reason is not None:
                self._note(element, None, f"no counterpart: {self._about(root, element)}")
                continue
            for name, reason in kind.lost.items():
                if name in element.attributes:
                    self._note(element, name, f"no counterpart: {reason}")
            waiting.extend(element.children)

    def _about(self, root: Element, element: Element) -> str:
        reason = KINDS[element.tag].reason
        assert reason is not None
        if element.tag == "map":
            return f'"{element.text("mr")}": {reason}'
        if element.tag != "memory_region":
            return reason
        region = element.text("name")
        users = [
            pd.name
            for pd in self._pds.values()
            if any(mapping.text("mr") == region for mapping in pd.element.of("map"))
        ]
        shared = f"; {', '.join(users)} share it, and no edge says so" if len(users) > 1 else ""
        return f'"{region}": {reason}{shared}'

    # -- the configuration

    def document(self, source: str) -> TOMLDocument:
        document = tomlkit.document()
        document.add(tomlkit.comment(f"Imported from {source}."))
        system = tomlkit.table()
        system.add("name", self._system)
        document.add("system", system)
        programs = tomlkit.aot()
        for path, name in self._programs.items():
            elf = str(PurePosixPath(self._programs_from) / path)
            programs.append(table({"name": name, "elf": elf}))
        document.add("program", programs)
        pds = tomlkit.aot()
        for pd in self._pds.values():
            pds.append(self._pd_table(pd))
        document.add("pd", pds)
        return document

    @staticmethod
    def _pd_table(pd: _Pd) -> Table:
        values: dict[str, object] = {"name": pd.name, "program": pd.program}
        if pd.priority != Pd.model_fields["priority"].default:
            values["priority"] = pd.priority
        if pd.stack_pages is not None:
            values["stack_pages"] = pd.stack_pages
        if pd.parent is not None:
            values["fault_handler"] = pd.parent.name
        if pd.requests:
            values["requests"] = list(pd.requests)
        if pd.holds:
            values["holds_pds"] = list(pd.holds)
        made = table(values)
        if pd.space is not None:
            spaces: AoT = tomlkit.aot()
            spaces.append(table({"name": pd.space, "type": CALLS}))
            made.add("space", spaces)
        return made

    def names(self) -> dict[str, str]:
        return {name: pd.name for name, pd in self._pds.items()}


def _without_calls(root: Element, pds: list[_Pd]) -> Iterator[Dropped]:
    """Memory that PDs share, or their virtual machines, and what connects PDs with devices."""
    users: dict[str, list[str]] = {}
    for pd in pds:
        for holder in (pd.element, *pd.element.of("virtual_machine")):
            for mapping in holder.of("map"):
                users.setdefault(mapping.text("mr"), []).append(pd.name)
        for tag in ("irq", "ioport"):
            for element in pd.element.of(tag):
                yield Dropped(element.line, "device", tag, (pd.name,))
    using = {region: tuple(dict.fromkeys(names)) for region, names in users.items()}
    for region in root.of("memory_region"):
        name = region.text("name")
        if len(using.get(name, ())) > 1:
            yield Dropped(region.line, "memory", name, using[name])
    for space in root.of("io_address_space"):
        for mapping in space.of("iomap"):
            name = mapping.text("mr")
            if name in using:
                yield Dropped(mapping.line, "device", name, using[name])


def import_system(path: Path, folder: Path) -> Imported:
    """Makes a configuration of a Microkit system description.

    path: the description. folder: where the configuration will be; the paths of programs are
    relative to it. InputError if the description is not valid, or names what configurations do not
    allow, such as more PDs than there may be.
    """
    root = read_system(path)
    programs_from = relpath(path.resolve().parent, folder.resolve())
    found = _Import(root, path.stem, programs_from)
    document = found.document(path.name)
    return configuration(document, path, found.names(), found.notes, found.dropped)
