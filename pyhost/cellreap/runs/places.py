# SPDX-License-Identifier: BSD-2-Clause
"""Explains faults: the source line of the instruction, and whether a PD ran out of its stack.

The programs are the ELF files with debug information that `cellreap build` and `cellreap run` keep
beside an image. A file that is not the program in the image is not used. The stack follows from the
configuration, as the root task lays it out.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cellreap.errors import InputError, UsageError
from cellreap.inputs import read_at_most
from cellreap.runs.expectation import is_image
from cellreap.system.capdl.constants import body_slot, protocol
from cellreap.system.config import Config, parse_config, read_text, thread_of
from cellreap.system.debug_info import Place, place_in
from cellreap.system.elf import MAX_FILE_BYTES, read_executable, without_sections
from cellreap.system.image import Image, read_image
from cellreap.trace.explain import Explain
from cellreap.trace.faults import FaultSeen
from cellreap.trace.silence import Standing

_PAGE = 4096  # the root task maps pages of this size for PDs (cr_arch_frame_type)
_RED_ZONE = 128  # bytes below the stack pointer that a program may use (x86_64)
_STACK_POINTERS = ("rsp", "sp")


@dataclass
class Places:
    """What is known of the PDs of a system."""

    config: Config
    programs: Mapping[str, bytes] = field(default_factory=dict)
    """Name -> ELF file, checked. Programs whose files are not at hand are left out."""
    missing: tuple[str, ...] = ()
    """Programs whose files are not at hand."""

    def program_of(self, name: str, spawned: bool) -> str | None:
        """The program that a PD runs. A spawned PD has the name of its program."""
        if spawned:
            return name
        return next((pd.program for pd in self.config.pds if pd.name == name), None)

    def stack_of(self, name: str, spawned: bool) -> tuple[int, int] | None:
        """The addresses of a PD's stack: [start, end)."""
        pages = next((pd.stack_pages for pd in self.config.pds if pd.name == name), None)
        if spawned:
            pages = body_slot("CR_SPAWNED_STACK_PAGES")
        own = next((pd for pd in self.config.pds if pd.name == name and not spawned), None)
        thread = 0 if own is None else thread_of(self.config, own)[0]
        start = protocol("CR_VADDR_STACK") + (thread << protocol("CR_THREAD_SPAN_BITS"))
        return None if pages is None else (start, start + pages * _PAGE)

    def place(self, name: str, spawned: bool, address: int) -> Place | None:
        """The source line of an address in a PD. None: its program is not at hand."""
        program = self.program_of(name, spawned)
        known = program is not None and program in self.programs
        return place_in(self.programs[program], address) if program and known else None

    def explain(self) -> Explain:
        """The functions that fill in what is known."""
        return Explain(self._fault, self._standing)

    def _standing(self, standing: Standing) -> None:
        if standing.ip:
            place = self.place(standing.name, standing.spawned, standing.ip)
            if place is not None:  # system calls are inlined: their own lines say nothing
                standing.place = place.inlined_into or str(place)

    def _fault(self, fault: FaultSeen) -> None:
        place = self.place(fault.name, fault.spawned, fault.ip)
        if place is not None:
            fault.place = str(place)
            fault.function, fault.file = place.function, place.file
            fault.source_line = place.line
        fault.overflow = self._overflow(fault)

    def _overflow(self, fault: FaultSeen) -> tuple[int, int] | None:
        """The PD's stack, if the fault is an access below it: to the page that is not mapped for
        this purpose, or beside a stack pointer that is below the stack.
        """
        stack = self.stack_of(fault.name, fault.spawned)
        if stack is None or fault.kind != "vm-fault" or fault.address == fault.ip:
            return None
        start = stack[0]
        pointer = next((fault.registers[x] for x in _STACK_POINTERS if x in fault.registers), start)
        beside = pointer - _RED_ZONE <= fault.address and pointer < start
        in_guard = start - _PAGE <= fault.address
        return stack if fault.address < start and (in_guard or beside) else None


def programs_beside(image: Path) -> Path:
    """The folder in which the ELF files of an image's programs are kept."""
    return image.with_suffix(".programs")


def places_by(path: Path, folder: Path | None = None) -> Places:
    """What an image, or a configuration, tells. A configuration tells only of stacks.

    folder: as in places_of_image. InputError if a file cannot be used.
    """
    if is_image(path):
        return places_of_image(read_image(path), folder)
    if folder is not None:
        raise UsageError("--programs: expected --image with an image, which names the programs")
    return Places(parse_config(read_text(path), path))


def explain_of_image(image: Image) -> Explain:
    """The functions that fill in what an image tells, with the programs beside it.

    The programs are read when the first of the functions is called: many runs have no fault.
    """
    explain = functools.cache(lambda: places_of_image(image).explain())
    return Explain(
        lambda fault: explain().fault(fault), lambda standing: explain().standing(standing)
    )


def places_of_image(image: Image, folder: Path | None = None) -> Places:
    """What an image tells, with the programs in a folder; None: the folder beside the image.

    InputError if a folder was given and a file in it is not the program in the image.
    """
    wanted = image.programs()
    where = programs_beside(image.path) if folder is None else folder
    found: dict[str, bytes] = {}
    missing = []
    for name, loaded in wanted.items():
        path = where / f"{name}.elf"
        try:
            raw = _program(path, image.manifest.arch, loaded)
        except InputError:
            if folder is not None:
                raise
            missing.append(name)
            continue
        found[name] = raw
    return Places(image.config, found, tuple(missing))


def _program(path: Path, arch: str, loaded: bytes) -> bytes:
    """The ELF file. InputError if it cannot be read or is not the program that was loaded."""
    raw = read_at_most(path, MAX_FILE_BYTES)
    if without_sections(read_executable(raw, str(path), arch)) != loaded:
        raise InputError(str(path), None, None, "is not the program in the image")
    return raw
