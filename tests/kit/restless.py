# SPDX-License-Identifier: BSD-2-Clause
"""Random systems for Microkit, of PDs that do anything (tests/microkit/restless.c).

A seed yields a description, a policy beside it, and what else a configuration may say: crashes,
failures of the root task. Whatever the PDs do, the root task treats them rightly. What a PD finds
to be wrong itself, it says by a fault at an address of its own (FOUND_WRONG).
"""

from __future__ import annotations

import random
import re
import shutil
import struct
import tomllib
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from xml.etree import ElementTree as xml

import tomlkit

from cellreap.api.results import Run
from cellreap.system.config import Config
from cellreap.system.microkit.board import Board as Facts
from cellreap.system.microkit.runnable import runnable_system
from kit.chaos import Table
from kit.disturbed import BEATS, FAILURES, OF_ANY_SYSTEM, completed, disturb
from kit.microkit import Board

PROGRAM: Final = "restless"
FOUND_WRONG: Final = re.compile(rb": WRONG (\d+)|\b0xbad([0-9a-f]{4})\b")
"""What it prints, and where it faults then."""
REGIONS, CHANNELS, CHILDREN = 4, 12, 3
"""Most of them, as in restless.c."""
ANSWERED: Final = 77
"""The label with which cellreap answers for a PD, as in restless.c."""
PAGE, LARGE = 0x1000, 0x20_0000
MEMORY: Final = {"aarch64": 0x7000_0000, "riscv64": 0xA000_0000}
"""Of the machine: regions at a physical address are from here on."""
SPARE: Final = {"aarch64": 0x5000_0000}
"""Of the machine: memory of which the kernel does not know. What is there is a device."""
FILLED_WORDS: Final = 4096
"""Most of a file. Behind the three words that restless.c uses otherwise, none is 0."""
LONG_MS: Final = 400
"""Much longer than what a PD does that does nothing bad."""
OWN: Final = (0x1000_0000, 0x1000_0000 + LARGE)
"""Pages that each PD has."""
LAST: Final = 1 << 36
"""All regions are below."""
MASK: Final = 0x10
"""The register of the clock that lets it interrupt."""
OTHER_IRQS: Final = {"aarch64": (35, 36, 79), "riscv64": (8, 9)}
"""Of devices that do nothing."""


def _flag(value: bool) -> str:
    return str(value).lower()


def _add(parent: xml.Element, tag: str, **attributes: object) -> xml.Element:
    return xml.SubElement(parent, tag, {key: str(value) for key, value in attributes.items()})


class _Described:
    """The description of a seed."""

    def __init__(self, rng: random.Random, board: Board) -> None:
        self.rng, self.board = rng, board
        self.often = rng.choice([0.1, 0.25, 0.6])
        """How many PDs have a limit of their time, or are passive."""
        self.quiet = "q" if rng.random() < 0.3 else ""
        self.root = xml.Element("system")
        self.pds: list[xml.Element] = []
        self.children: dict[str, list[str]] = {}
        self.sizes: dict[str, tuple[int, int]] = {}
        self.after: dict[str, str] = {}
        self.files: dict[str, bytes] = {}
        self.spare: set[str] = set()
        self.called: set[str] = set()
        self._ids: dict[str, set[int]] = {}
        self._regions()
        for _ in range(rng.randint(2, 8)):
            self._pd()
        ranked = {int(pd.attrib["priority"]): pd for pd in self.pds}
        chain = [ranked[priority] for priority in sorted(ranked)] if rng.random() < 0.4 else []
        for number, both in enumerate(pairwise(chain)):
            self._channel(number, both)
        for number in range(max(len(chain) - 1, 0), rng.randint(1, CHANNELS)):
            self._channel(number)
        for pd in self.pds:
            self._maps(pd)
        self._devices()

    def _regions(self) -> None:
        rng = self.rng
        for number in range(rng.randint(0, REGIONS)):
            page = rng.choice([PAGE, PAGE, PAGE, LARGE])
            size = page * (rng.randint(1, 5) if page == PAGE else rng.choice([1, 2]))
            made = _add(self.root, "memory_region", name=f"r{number}", size=hex(size))
            if rng.random() < 0.3 or page == LARGE:
                made.set("page_size", hex(page))
            name, place = f"r{number}", rng.random()
            after = ["keep", "keep", "zero"]
            if place < 0.2:
                made.set("phys_addr", hex(MEMORY[self.board.arch] + 4 * LARGE * number))
            elif place < 0.3 and self.board.arch in SPARE and size <= LARGE:
                made.set("phys_addr", hex(SPARE[self.board.arch] + 4 * LARGE * number))
                self.spare.add(name)
            elif place < 0.6:
                made.set("prefill_path", f"{name}.fill")
                after.append("refill")
            self.after[name] = rng.choice(after)
            if made.get("prefill_path"):
                self.files[name] = self._file(number, size, self.after[name])
                if rng.random() < 0.4:
                    del made.attrib["size"]
                    size = -(-len(self.files[name]) // page) * page
            self.sizes[name] = (size, page)

    def _file(self, number: int, size: int, after: str) -> bytes:
        """What a region is filled with: words as restless.c expects them. The second one says how
        many there are, if they are never zero again.
        """
        count = self.rng.randint(4, min(size // 8, FILLED_WORDS))
        words = [0, 0 if after == "zero" else count, 0]
        words += [
            (number + 1) << 56 | at << 32 | self.rng.randrange(1 << 32) for at in range(3, count)
        ]
        return struct.pack(f"<{count}Q", *words)

    def _pd(self) -> None:
        rng, number = self.rng, len(self.pds)
        may = [pd for pd in self.pds if len(self.children[pd.attrib["name"]]) < CHILDREN]
        parent = rng.choice([rng.choice(may), may[-1]]) if may and rng.random() < 0.35 else None
        name = f"{'p' if parent is None else 'c'}{self.quiet}{number}-{rng.randrange(1 << 16):x}"
        pd = _add(
            self.root if parent is None else parent,
            "protection_domain",
            name=name,
            priority=rng.choice([0, 1, 50, 100, 100, 101, 150, 200, 254]),
        )
        if rng.random() < self.often:
            budget = rng.choice([100, 200, 1000, 20_000])
            pd.set("budget", str(budget))
            if rng.random() < 0.7:
                pd.set("period", str(budget * rng.choice([1, 2, 5])))
        if rng.random() < self.often:
            pd.set("passive", "true")
        if rng.random() < 0.2:
            pd.set("stack_size", hex(PAGE * rng.choice([1, 3, 16])))
        _add(pd, "program_image", path=f"{PROGRAM}.elf")
        if parent is not None:
            family = self.children[parent.attrib["name"]]
            pd.set(
                "id", str(rng.choice([id_ for id_ in range(62) if id_ not in self._ids_at(parent)]))
            )
            self._ids_at(parent).add(int(pd.attrib["id"]))
            pd.set("setvar_id", f"child{len(family)}")
            family.append(name)
        self.pds.append(pd)
        self.children[name] = []
        self._ids[name] = set()

    def _ids_at(self, pd: xml.Element) -> set[int]:
        return self._ids.setdefault(f"children of {pd.attrib['name']}", set())

    def _id(self, pd: xml.Element) -> int:
        """A number for a channel or an interrupt of the PD."""
        own = self._ids[pd.attrib["name"]]
        own.add(id_ := self.rng.choice([id_ for id_ in range(62) if id_ not in own]))
        return id_

    def _channel(self, number: int, both: tuple[xml.Element, xml.Element] | None = None) -> None:
        """both: the first calls the other one."""
        rng = self.rng
        low, high = both or sorted(
            rng.sample(self.pds, 2), key=lambda pd: int(pd.attrib["priority"])
        )
        calls = low.attrib["priority"] != high.attrib["priority"] and (both or rng.random() < 0.7)
        channel = _add(self.root, "channel")
        for pd in rng.sample([low, high], 2):
            end = _add(
                channel, "end", pd=pd.attrib["name"], id=self._id(pd), setvar_id=f"channel{number}"
            )
            if pd is low and calls:
                end.set("pp", "true")
                self.called.add(high.attrib["name"])
            if rng.random() < 0.3:
                end.set("notify", _flag(rng.random() < 0.3))

    def _maps(self, pd: xml.Element) -> None:
        rng = self.rng
        taken = [OWN]
        for name, (size, page) in self.sizes.items():
            if rng.random() < 0.4:
                continue
            at = rng.randrange(LARGE, rng.choice([1 << 28, 1 << 30, LAST])) & -LARGE
            at += 0 if page == LARGE else PAGE * rng.choice([0, 0, 1, 511, rng.randrange(512)])
            if at < 4 * LARGE or any(at < end and start < at + size for start, end in taken):
                continue
            taken.append((at, at + size))
            writes = rng.random() < 0.6
            made = _add(pd, "map", mr=name, vaddr=hex(at), perms="rw" if writes else "r")
            made.set("setvar_vaddr", ("writes" if writes else "reads") + name[1:])
            made.set("setvar_size", f"size{name[1:]}")
            if name in self.files:
                made.set("setvar_prefill_size", f"bytes{name[1:]}")
            if rng.random() < 0.2:
                made.set("cached", "false")
            if rng.random() < 0.3:
                _add(pd, "setvar", symbol=f"paddr{name[1:]}", region_paddr=name)

    def _devices(self) -> None:
        rng, board = self.rng, self.board
        self.has_clock = rng.random() < 0.5
        if self.has_clock:
            _add(
                self.root, "memory_region", name="clock", size="0x1000", phys_addr=hex(board.clock)
            )
            for pd in rng.sample(self.pds, rng.choice([1, 1, 2])):
                _add(pd, "map", mr="clock", vaddr=hex(LAST), perms="rw", setvar_vaddr="clock_vaddr")
                pd[-1].set("cached", "false")
            self._irq(rng.choice(self.pds), board.clock_irq)
        for irq in OTHER_IRQS[board.arch]:
            if rng.random() < 0.2:
                self._irq(rng.choice(self.pds), irq)

    def _irq(self, pd: xml.Element, number: int) -> None:
        _add(pd, "irq", irq=number, id=self._id(pd))
        if self.rng.random() < 0.3:
            pd[-1].set("trigger", self.rng.choice(["edge", "level"]))

    def policy(self) -> Table:
        """A policy for it."""
        rng = self.rng
        made: Table = {"policy": {}, "serves": [], "pd": [], "region": []}
        depths = [0, 0, 1, 2, "inf"]
        for key in ("pd_depth", "rs_depth"):
            made["policy"][key] = rng.choice(depths)
        names = [pd.attrib["name"] for pd in self.pds]
        for _ in range(rng.choice([0, 0, 1, 2])):
            server, *clients = rng.sample(names, rng.randint(2, min(3, len(names))))
            made["serves"].append({"server": server, "clients": clients})
        all_back = rng.random() < 0.3
        within = {name for family in self.children.values() for name in family}
        for name in names:
            pd: Table = {"name": name}
            if all_back or rng.random() < 0.7:
                pd["respawn"] = True
            if name in self.called and rng.random() < 0.6:
                pd["callers"] = rng.choice(["repeat", "repeat", ANSWERED])
            if name in within and rng.random() < 0.5:
                pd["faults"] = "cellreap"
            for key in ("heartbeat_ms", "call_ms"):
                if rng.random() < 0.3:
                    pd[key] = rng.choice(BEATS)
            for key in ("pd_depth", "rs_depth"):
                if rng.random() < 0.1:
                    pd[key] = rng.choice(depths)
            made["pd"].append(pd)
        for name, after in self.after.items():
            region: Table = {"name": name, "after": after}
            if name not in self.spare and rng.random() < 0.3:
                region["epoch"] = 0
            elif name in self.spare and rng.random() < 0.5:
                region["on_death"] = [{"offset": 8, "value": 1, "until": 1}]
            made["region"].append(region)
        if self.has_clock and rng.random() < 0.5:
            quiet = {"offset": MASK, "value": 0}
            made["region"].append({"name": "clock", "on_death": [quiet]})
        return made


def written(seed: int, board: Board, folder: Path) -> tuple[Path, Path]:
    """Writes the description of a seed, and its policy. Where they are."""
    described = _Described(random.Random(f"described {seed}"), board)
    xml.indent(described.root)
    path, policy = folder / f"restless{seed}.system", folder / f"restless{seed}.toml"
    path.write_text(xml.tostring(described.root, encoding="unicode") + "\n", encoding="utf-8")
    for name, content in described.files.items():
        (folder / f"{name}.fill").write_bytes(content)
    policy.write_text(tomlkit.dumps(described.policy()), encoding="utf-8")
    return path, policy


def _kill(rng: random.Random, table: Table) -> None:
    pd = rng.choice(table["pd"])
    crash: Table = {"pd": pd["name"], "how": "kill", "after_ns": rng.randrange(5_000_000)}
    if pd.get("respawn") and rng.random() < 0.5:
        crash |= {"repeat": rng.randint(2, 4), "spread_ns": 1_000_000, "seed": rng.randrange(1000)}
    table["crash"].append(crash)


def _kill_many(rng: random.Random, table: Table) -> None:
    """Several, one right after the other: also who has just come back."""
    pds = rng.sample(table["pd"], min(len(table["pd"]), rng.randint(2, 4)))
    for pd in pds * rng.choice([1, 1, 2]):
        if pd.get("respawn") or all(pd["name"] != crash["pd"] for crash in table["crash"]):
            after_ns = rng.choice([0, 0, rng.randrange(50_000)])
            table["crash"].append({"pd": pd["name"], "how": "kill", "after_ns": after_ns})


DISTURBANCES: Final = (*((0.5, _kill),) * 4, (0.4, _kill_many), *OF_ANY_SYSTEM, *FAILURES)


def restless(seed: int, board: Board, facts: Facts, programs: Path) -> Table:
    """The configuration of a seed, as the tables of a TOML file.

    facts: of the board. programs: the folder with the program.
    """
    with TemporaryDirectory() as folder:
        path, policy = written(seed, board, Path(folder))
        table: Table = tomllib.loads(runnable_system(path, (programs,), policy, facts).text)
        for region in (each for each in table.get("region", []) if "fill" in each):
            kept = programs / f"{seed}-{region['fill']}"
            shutil.copy(Path(folder) / region["fill"], kept)
            region["fill"] = str(kept)
    for program in table["program"]:
        program["elf"] = str(programs / f"{PROGRAM}.elf")
    table.pop("expect", None)
    return disturb(random.Random(f"restless {seed}"), completed(table), DISTURBANCES)


def found_wrong(run: Run, config: Config) -> list[str]:
    """What PDs found to be wrong, as lines of their program. If no PD does anything bad, as their
    names say, and all are there, nobody waits for an answer at the end.
    """
    found = FOUND_WRONG.findall(run.trace.read_bytes())
    lines = sorted({int(said or int(fault, 16) // 4) for said, fault in found})
    wrong = [f"{PROGRAM}.c:{line}: a PD found it wrong" for line in lines]
    quiet = all((pd.microkit_name or "")[1:2] == "q" for pd in config.pds)
    if quiet and any(hung.ms >= LONG_MS for hung in run.reading.report.hung):
        wrong.append("a PD has hung that does nothing bad")
    if quiet and len(run.alive) == len(config.pds) and run.reading.report.waits:
        wrong.append("all PDs are there, and one waits for an answer for ever")
    return wrong
