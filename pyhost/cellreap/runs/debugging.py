# SPDX-License-Identifier: BSD-2-Clause
"""What a debugger needs to know of a system: the ELF files, where they are loaded, the stub."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellreap.arches import ARCHES
from cellreap.errors import UsageError
from cellreap.runs.places import Places
from cellreap.system.elf import Executable, read_executable, section_address
from cellreap.system.files import write_atomically
from cellreap.system.image import Image
from cellreap.system.programs import keep_programs

_HOST = "127.0.0.1"  # who reaches the stub controls the emulator, so nobody else may
_EXECUTE = 1


def stub_arguments(port: int) -> tuple[str, ...]:
    """QEMU's arguments: a stub for gdb at this port. The machine is stopped at the start."""
    return "-S", "-gdb", f"tcp:{_HOST}:{port}"


def free_port(port: int) -> int:
    """The port if it is free; for 0, one that is free. UsageError if it is not."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError as error:
            raise UsageError(f"--port {port}: {error.strerror}") from None
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class SymbolFile:
    """An ELF file and what it is loaded for."""

    path: Path
    """Where it is."""
    text: int
    """The address of its code."""
    users: tuple[str, ...]
    """The PDs that run it, and the programs that are spawned of it. Empty: the root task."""
    has_symbols: bool
    """Whether it has debug information."""


@dataclass(frozen=True)
class Attaching:
    """How a debugger attaches."""

    system: str
    """The system's name."""
    arch: str
    """Its architecture."""
    port: int
    """The port of the stub on this machine."""
    script: Path
    """A script for gdb."""
    root_task: SymbolFile
    """The root task."""
    programs: tuple[SymbolFile, ...]
    """The programs of the PDs."""

    def lines(self) -> list[str]:
        """For people."""
        root = self.root_task
        lines = [
            f"{self.system} is stopped at its first instruction. To attach:",
            f"  {ARCHES[self.arch].debugger} -x {self.script}",
            "or in a gdb of your own:",
            f"  set architecture {ARCHES[self.arch].gdb}",
            f"  target remote {_HOST}:{self.port}",
            f"  add-symbol-file {root.path} {root.text:#x}    (the root task)",
        ]
        for program in self.programs:
            bare = "" if program.has_symbols else ": no symbols, its file is not at hand"
            named = ", ".join(program.users)
            lines.append(f"  add-symbol-file {program.path} {program.text:#x}    ({named}{bare})")
        return [
            *lines,
            "Root task and PDs have address spaces of their own, and their programs overlap. So "
            "use",
            "the symbols of one at a time (the script has `symbols-of-NAME`), and hardware "
            "breakpoints",
            "(hbreak), which hold in every address space. `continue` starts the system.",
        ]

    def to_json(self) -> dict[str, Any]:
        """For programs: the keys of `debug --json`."""
        return {
            "system": self.system,
            "arch": self.arch,
            "debugger": ARCHES[self.arch].debugger,
            "remote": f"{_HOST}:{self.port}",
            "script": str(self.script),
            "root_task": _symbols_json(self.root_task),
            "programs": [_symbols_json(program) for program in self.programs],
        }


def _symbols_json(file: SymbolFile) -> dict[str, Any]:
    return {
        "path": str(file.path),
        "text": file.text,
        "users": list(file.users),
        "has_symbols": file.has_symbols,
    }


def write_files(image: Image, places: Places, folder: Path, port: int) -> Attaching:
    """Writes the ELF files and a script for gdb to a folder.

    Programs whose files with debug information are not at hand are those of the image, which have
    no symbols.
    """
    arch = image.manifest.arch
    root = folder / "roottask.elf"
    write_atomically(root, image.roottask)
    programs = {**image.programs(), **places.programs}
    keep_programs(folder / "programs", programs)
    users: dict[str, list[str]] = {}
    for pd in places.config.pds:
        for program in (pd.program, *pd.spawns):
            users.setdefault(program, []).append(pd.name if program == pd.program else program)
    script = folder / "debug.gdb"
    write_atomically(script, _script(arch, root, folder, programs, port).encode())
    return Attaching(
        image.manifest.system,
        arch,
        port,
        script,
        SymbolFile(root, _text(image.roottask, arch), (), True),
        tuple(
            SymbolFile(
                folder / "programs" / f"{program}.elf",
                _text(raw, arch),
                tuple(dict.fromkeys(users.get(program, []))),
                program not in places.missing,
            )
            for program, raw in programs.items()
        ),
    )


def _script(arch: str, root: Path, folder: Path, programs: Mapping[str, bytes], port: int) -> str:
    lines = [
        f"set architecture {ARCHES[arch].gdb}",
        "set confirm off",
        "set pagination off",
        f"target remote {_HOST}:{port}",
        f"symbol-file {root}",
        *_command("root-task", f"symbol-file {root}"),
    ]
    for program in programs:
        lines += _command(program, f"symbol-file {folder / 'programs' / program}.elf")
    return "\n".join(lines) + "\n"


def _command(name: str, action: str) -> list[str]:
    """The definition of a command in gdb that takes the symbols of one program."""
    return [f"define symbols-of-{name}", f"  {action}", "end"]


def _text(raw: bytes, arch: str) -> int:
    """The address of a program's code: that of .text, or of its first segment with code."""
    executable = read_executable(raw, "", arch)
    address = section_address(executable, ".text")
    return _code(executable) if address is None else address


def _code(executable: Executable) -> int:
    return next(one.vaddr for one in executable.segments if one.flags & _EXECUTE)
