# SPDX-License-Identifier: BSD-2-Clause
"""The programs that the PDs of a configuration run.

A program is of the configuration ([[program]]) or a sample: a source file of cellreap that is built
when a configuration needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cellreap import headers
from cellreap.errors import CellreapError, InputError
from cellreap.inputs import read_at_most
from cellreap.progress import Progress
from cellreap.system.compiling import Compiler, ProgramError, Recipe
from cellreap.system.config import Config, dotted, unknown
from cellreap.system.elf import (
    MAX_FILE_BYTES,
    protocol_version,
    read_executable,
    without_sections,
)
from cellreap.system.files import write_atomically
from cellreap.system.microkit.patching import patched
from cellreap.system.parts import PdLibrary, checkout
from cellreap.system.sdk import Sdk
from cellreap.system.toml_lines import KeyPath, Lines
from cellreap.system.toolchain import Toolchain

_SAMPLES = Path("examples")
_SHARED = _SAMPLES / "shared"
_SAMPLE_FOLDERS = (_SAMPLES, Path("tests/pds"))
_SAMPLE_FLAGS = ("-Wconversion", "-Wsign-conversion")


@dataclass(frozen=True)
class Source:
    """A configuration's file. The paths of its programs are relative to the file's folder."""

    config: Config
    text: str
    path: Path

    def refuse(self, at: KeyPath, message: str) -> InputError:
        """The error that something in the file is wrong. It may be a description for Microkit, and
        the text made of it.
        """
        if self.path.suffix == ".system":
            from cellreap.system.microkit.places import refusal  # only for messages

            return refusal(self.path, at, message)
        line = Lines(self.text).of(at)
        return InputError(str(self.path), line, dotted(at), message)


def programs_of(config: Config) -> list[str]:
    """The programs that a configuration needs, each once. Those that PDs run come first."""
    spawned = (name for pd in config.pds for name in pd.spawns)
    return list(dict.fromkeys([*(pd.program for pd in config.pds), *spawned]))


def check_programs(source: Source) -> None:
    """InputError for a program that neither the configuration nor cellreap has."""
    known = [*(program.name for program in source.config.programs), *samples()]
    for name in programs_of(source.config):
        if name not in known:
            raise source.refuse(_use_of(name, source.config), unknown("program", name, known))


def build_programs(
    source: Source, sdk: Sdk, toolchain: Toolchain, library: PdLibrary, progress: Progress
) -> dict[str, bytes]:
    """The ELF file of every program that a configuration needs, as it was built or given.

    InputError if a program of the file is wrong. CellreapError if a sample does not build.
    """
    check_programs(source)
    own = {program.name: i for i, program in enumerate(source.config.programs)}
    known = samples()
    given: dict[str, bytes] = {}
    recipes = []
    for name in programs_of(source.config):
        if name in own:
            program = source.config.programs[own[name]]
            if program.elf is not None:
                given[name] = _given(source, own[name], sdk.kernel.arch)
            else:
                recipes.append(_own_recipe(source, own[name]))
        else:
            recipes.append(_sample_recipe(name, known[name]))
    try:
        built = Compiler(sdk, toolchain, library).build(recipes, progress)
    except ProgramError as error:
        if error.program not in own:
            raise CellreapError(f"{known[error.program]}: {error.cause}") from None
        at: KeyPath = ("program", own[error.program])
        if error.source is not None:
            at = (*at, "sources", error.source)
        raise source.refuse(at, error.cause) from None
    return given | built


def loadable(programs: Mapping[str, bytes], arch: str) -> dict[str, bytes]:
    """The programs as they are put into an image: without symbols and debug information."""
    return {
        name: without_sections(read_executable(raw, f"{name}.elf", arch))
        for name, raw in programs.items()
    }


def keep_programs(folder: Path, programs: Mapping[str, bytes]) -> None:
    """Writes programs to a folder as NAME.elf. InputError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot be written: {error.strerror}"
        raise InputError(str(folder), None, None, message) from None
    for name, raw in programs.items():
        write_atomically(folder / f"{name}.elf", raw)


def _use_of(name: str, config: Config) -> KeyPath:
    """The first key that names a program."""
    for i, pd in enumerate(config.pds):
        if pd.program == name:
            return "pd", i, "program"
        if name in pd.spawns:
            return "pd", i, "spawns", pd.spawns.index(name)
    raise ValueError(name)


def _given(source: Source, index: int, arch: str) -> bytes:
    """The ELF file of a program of the configuration."""
    at: KeyPath = ("program", index, "elf")
    name = source.config.programs[index].elf or ""
    try:
        raw = read_at_most(source.path.parent / name, MAX_FILE_BYTES)
    except InputError as error:
        raise source.refuse(at, f"{name}: {error.expected}") from None
    try:
        version = protocol_version(read_executable(raw, name, arch))
    except CellreapError as error:
        raise source.refuse(at, error.line()) from None
    now = headers.constant("protocol.h", "CR_PROTOCOL_VERSION")
    if version not in (None, now):
        message = f"{name}: is built for version {version} of the protocol; expected {now}"
        raise source.refuse(at, message)
    program = source.config.programs[index].name
    for pd in source.config.pds:
        if pd.program == program and pd.abi == "microkit":
            try:
                return patched(source.config, pd, read_executable(raw, name, arch))
            except CellreapError as error:
                raise source.refuse(at, error.line()) from None
    return raw


def _own_recipe(source: Source, index: int) -> Recipe:
    program = source.config.programs[index]
    folder = source.path.parent.resolve()
    for key in ("sources", "include"):
        for j, name in enumerate(getattr(program, key)):
            wanted, other = ("folder", "file") if key == "include" else ("file", "folder")
            path = folder / name
            if path.is_dir() if key == "include" else path.is_file():
                continue
            what = f"is a {other}, expected a {wanted}" if path.exists() else f"no such {wanted}"
            raise source.refuse(("program", index, key, j), f"{name}: {what}")
    return Recipe(program.name, folder, program.sources, program.include, program.flags)


# -- samples


def samples() -> dict[str, Path]:
    """The source of every sample, by name."""
    root = checkout()
    return {
        path.stem: path
        for folder in _SAMPLE_FOLDERS
        for path in sorted((root / folder).glob("*.c"))
    }


def build_samples(
    names: Iterable[str], sdk: Sdk, toolchain: Toolchain, library: PdLibrary, progress: Progress
) -> dict[str, bytes]:
    """The ELF files of samples. CellreapError if one does not build."""
    known = samples()
    recipes = [_sample_recipe(name, known[name]) for name in names]
    return Compiler(sdk, toolchain, library).build(recipes, progress)


def _sample_recipe(name: str, path: Path) -> Recipe:
    root = checkout()
    shared = tuple(sorted(str(one.relative_to(root)) for one in (root / _SHARED).glob("*.c")))
    return Recipe(
        name,
        root,
        (str(path.relative_to(root)), *shared),
        (str(_SHARED),),
        _SAMPLE_FLAGS,
        tuple(root / folder for folder in _SAMPLE_FOLDERS),
    )


@dataclass(frozen=True)
class Sample:
    """What the comment at the beginning of a sample says."""

    name: str
    summary: str
    """The first sentence."""
    text: str
    """All of it."""
    source: Path
    """Its file."""


def described() -> list[Sample]:
    """The samples that are meant for users, in alphabetical order."""
    found = []
    for name, path in samples().items():
        if path.parent.name != _SAMPLES.name:
            continue
        comment = re.match(r"/\*(.*?)\*/", path.read_text(encoding="utf-8"), re.DOTALL)
        lines = (comment.group(1) if comment else "").splitlines()[2:]
        text = "\n".join(line.removeprefix(" *").removeprefix(" ").rstrip() for line in lines)
        flat = " ".join(text.split("\n\n")[0].split())
        found.append(Sample(name, re.split(r"(?<=\.)\s", flat)[0], text.strip(), path))
    return found
