# SPDX-License-Identifier: BSD-2-Clause
"""A system description as a configuration.

| Microkit | configuration |
|---|---|
| PD | `[[pd]]` with its priority, its stack and its time, and a `[[program]]` |
| an end with pp="true" | the PD requests the space of the other end's PD |
| PD within a PD | the outer one is its fault handler and has its PD capability |
| cap_tcb of another PD | `holds_pds` |
| a channel whose ends may notify | `[[channel]]` |

Everything else has no counterpart, and is noted with its line. Virtual machines and several
processors are refused: a configuration is there to be run.
"""

from __future__ import annotations

from dataclasses import dataclass
from os.path import relpath
from pathlib import Path, PurePosixPath

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.items import AoT, Table

from cellreap import headers
from cellreap.system.config.schema import TIMES_US, Pd
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
from cellreap.system.microkit import rows
from cellreap.system.microkit.board import ANY_BOARD, Board
from cellreap.system.microkit.connections import connections
from cellreap.system.microkit.reading import read_system
from cellreap.system.microkit.rows import Row, System

_PAGE = 4096
MAX_STACK_PAGES = 64
_MAX_CHANNELS = headers.constant("protocol.h", "CR_STARTUP_CHANNELS")

_SYMBOL = "no symbol of a program is rewritten"
_MEMORY = "regions are not imported"
_DEVICE = "devices are not imported"
_DOMAINS = "there is one scheduling domain"

LOST = {
    "map": _MEMORY,
    "memory_region": _MEMORY,
    "irq": _DEVICE,
    "ioport": _DEVICE,
    "io_address_space": _DEVICE,
    "setvar": _SYMBOL,
    "program_image.path_for_symbols": _SYMBOL,
    "domains": _DOMAINS,
    "protection_domain.domain": _DOMAINS,
    "protection_domain.smc": "PDs do not call the firmware",
    "protection_domain.fpu": "the kernel decides about the FPU",
    "protection_domain.id": "a fault names the PD itself",
    "protection_domain.setvar_id": _SYMBOL,
    "cap_tcb.slot": "the root task chooses the slot; the library finds it",
    "cap_sc": "no PD has another one's time",
    "cap_vspace": "no PD has another one's address space",
    "end.id": "capabilities are in slots that the root task chooses",
    "end.setvar_id": _SYMBOL,
}
"""Element or attribute that the configuration does not have -> why."""


@dataclass
class _Pd:
    row: rows.Pd
    parent: _Pd | None
    name: str
    program: str
    priority: int = 0
    stack_pages: int | None = None
    time: dict[str, object] | None = None
    space: str | None = None
    requests: dict[str, None] | None = None
    holds: dict[str, None] | None = None

    def asks(self, space: str) -> None:
        self.requests = {**(self.requests or {}), space: None}

    def takes(self, pd: str) -> None:
        self.holds = {**(self.holds or {}), pd: None}


class _Import:
    def __init__(self, described: System, system: str, programs_from: str) -> None:
        self.notes: list[Note] = []
        self.dropped: list[Dropped] = []
        self._programs_from = programs_from
        self._names = Names()
        self._spaces = Names()
        self._program_names = Names()
        self._programs: dict[str, str] = {}
        self._pds: dict[str, _Pd] = {}
        self._system = Names().give(system)
        self._channels: dict[rows.Channel, list[dict[str, object]]] = {}
        for row, parent in described.families():
            self._add_pd(row, None if parent is None else self._pds[parent.name])
        self._set_priorities()
        for pd in self._pds.values():
            self._add_capabilities(pd)
        for channel in described.channels:
            self._add_channel(channel)
        for lost in connections(described):
            if lost.name != rows.CapTcb.tag and lost.row not in self._channels:
                between = tuple(self._pds[pd.name].name for pd in lost.between)
                self.dropped.append(Dropped(lost.row.line, lost.kind, lost.name, between))
        self._note_lost(described)

    # -- PDs

    def _add_pd(self, row: rows.Pd, parent: _Pd | None) -> None:
        name = self._names.give(row.name)
        pd = self._pds[row.name] = _Pd(row, parent, name, self._program(row.image))
        if name != row.name:
            self._note(row, "name", f'"{row.name}" is "{name}": names are lower-case')
        if row.given("stack_size"):
            pages = row.stack_size // _PAGE
            pd.stack_pages = min(pages, MAX_STACK_PAGES)
            if pages > MAX_STACK_PAGES:
                self._note(
                    row, "stack_size", f"is cut to {MAX_STACK_PAGES} pages, the most there is"
                )
        pd.time = self._time(row)
        if parent is not None:
            parent.takes(name)

    def _time(self, row: rows.Pd) -> dict[str, object]:
        """The keys for its time. What it has by default is round robin here as there.

        Microkit gives no PD a handler for timeouts: who has used its budget up waits.
        """
        given = [each for each in ("budget", "period") if row.given(each)]
        if row.passive or not given:
            for each in given:
                self._note(row, each, "is left out: a passive PD runs on the time of its callers")
            return {"passive": True} if row.passive else {}
        told = row.budget, row.budget if row.period is None else row.period
        budget, period = (min(max(us, TIMES_US[0]), TIMES_US[1]) for us in told)
        if (budget, period) != told:
            text = f"{told[0]} of {told[1]} us is {budget} of {period} here: expected"
            self._note(row, given[0], f"{text} {TIMES_US[0]} to {TIMES_US[1]}")
        waits = {"overrun": "wait"} if budget < period else {}
        return {"budget_us": budget, "period_us": period, **waits}

    def _program(self, image: rows.ProgramImage) -> str:
        path = image.path
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
        new = ranked(pd.row.priority for pd in self._pds.values())
        assert new is not None, "there are fewer PDs than priorities"
        for pd in self._pds.values():
            told = pd.row.priority
            pd.priority = new[told]
            if pd.priority != told:
                self._note(
                    pd.row,
                    "priority",
                    f"{told} is {pd.priority} here: priorities are "
                    f"{PRIORITIES[0]} to {PRIORITIES[-1]}, and keep their order",
                )

    # -- edges

    def _add_capabilities(self, pd: _Pd) -> None:
        for cap in () if pd.row.cspace is None else pd.row.cspace.caps:
            other = self._pds[cap.pd]
            if not isinstance(cap, rows.CapTcb):
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

    def _add_channel(self, channel: rows.Channel) -> None:
        first, second = (self._pds[end.pd] for end in channel.ends)
        for end, caller, callee in zip(channel.ends, (first, second), (second, first), strict=True):
            if end.pp:
                if callee.space is None:
                    callee.space = self._spaces.give(f"{callee.name[: MAX_NAME - 6]}_calls")
                caller.asks(callee.space)
        if first is second:
            self._note(channel, None, f'"{first.name}" cannot notify itself')
        elif any(end.notify for end in channel.ends):
            names = [end["pd"] for made in self._channels.values() for end in made]
            full = [pd.name for pd in (first, second) if names.count(pd.name) == _MAX_CHANNELS]
            if full:
                said = f'"{first.name}" and "{second.name}" cannot notify each other: "{full[0]}"'
                self._note(channel, None, f"{said} has {_MAX_CHANNELS} channels, the most there is")
                return
            notify = [{} if end.notify else {"notify": False} for end in channel.ends]
            both = zip((first, second), notify, strict=True)
            self._channels[channel] = [{"pd": pd.name, **may} for pd, may in both]

    # -- what is lost

    def _note(self, row: Row, attribute: str | None, text: str) -> None:
        where = row.tag if attribute is None else f"{row.tag}.{attribute}"
        self.notes.append(Note(row.line, where, text))

    def _note_lost(self, described: System) -> None:
        waiting: list[Row] = [described]
        while waiting:
            row = waiting.pop()
            if row.tag in LOST:
                self._note(row, None, f"no counterpart: {self._about(row)}")
                continue
            for attribute in row.element.attributes:
                reason = LOST.get(f"{row.tag}.{attribute}")
                asked = attribute != "smc" or getattr(row, attribute)
                if reason is not None and asked:
                    self._note(row, attribute, f"no counterpart: {reason}")
            waiting.extend(row.inner())

    def _about(self, row: Row) -> str:
        reason = LOST[row.tag]
        if isinstance(row, rows.Map):
            return f'"{row.mr}": {reason}'
        if not isinstance(row, rows.Region):
            return reason
        users = [
            pd.name
            for pd in self._pds.values()
            if any(mapping.mr == row.name for mapping in pd.row.maps)
        ]
        shared = f"; {', '.join(users)} share it, and no edge says so" if len(users) > 1 else ""
        return f'"{row.name}": {reason}{shared}'

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
        channels = tomlkit.aot()
        for number, ends in enumerate(self._channels.values(), 1):
            channel = table({"name": f"channel_{number}"})
            both: AoT = tomlkit.aot()
            for end in ends:
                both.append(table(end))
            channel.add("end", both)
            channels.append(channel)
        if self._channels:
            document.add("channel", channels)
        return document

    @staticmethod
    def _pd_table(pd: _Pd) -> Table:
        values: dict[str, object] = {"name": pd.name, "program": pd.program}
        if pd.priority != Pd.model_fields["priority"].default:
            values["priority"] = pd.priority
        if pd.stack_pages is not None:
            values["stack_pages"] = pd.stack_pages
        values |= pd.time or {}
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


def _refuse(described: System) -> None:
    for pd in described.pds():
        if pd.machine is not None:
            raise pd.machine.error("virtual machines cannot be run")
        if pd.cpu != 0:
            raise pd.error(f"expected 0, got {pd.cpu}: there is one processor", "cpu")


def import_system(path: Path, folder: Path, board: Board = ANY_BOARD) -> Imported:
    """Makes a configuration of a Microkit system description.

    path: the description. folder: where the configuration will be; the paths of programs are
    relative to it. InputError if Microkit refuses the description on this board, or if it has a
    virtual machine or several processors.
    """
    described = read_system(path, board)
    _refuse(described)
    programs_from = relpath(path.resolve().parent, folder.resolve())
    found = _Import(described, path.stem, programs_from)
    document = found.document(path.name)
    return configuration(document, path, found.names(), found.notes, found.dropped)
