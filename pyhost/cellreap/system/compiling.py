# SPDX-License-Identifier: BSD-2-Clause
"""Compiles and links the programs of PDs, each by itself.

Every object file and every program is kept in the cache, under a key of all that it depends on. So
a change of one source compiles that source and links its program, and nothing else.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from cellreap.cached import cache_folder, digest_of, keep, kept
from cellreap.errors import CellreapError
from cellreap.progress import Progress
from cellreap.system.cache import digest
from cellreap.system.parts import PdLibrary, checkout
from cellreap.system.sdk import Sdk
from cellreap.system.toolchain import Toolchain, ToolError, run_tool

_DEFAULT_FLAGS = ("-std=gnu11", "-O2", "-g", "-Wall", "-Wextra")
_CACHE_FORMAT = "1"  # part of each key; raise it when the way to compile or link changes


@dataclass(frozen=True)
class Recipe:
    """How a program is built from sources."""

    name: str
    folder: Path
    """The compiler runs here. The other paths are relative to it."""
    sources: tuple[str, ...]
    includes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    headers: tuple[Path, ...] | None = None
    """Folders with all headers that the sources include, besides those for all PDs. None: unknown,
    so the preprocessor says what each source includes.
    """


class ProgramError(CellreapError):
    """A program does not build. source: the index of the source; None: it does not link."""

    def __init__(self, program: str, source: int | None, error: CellreapError) -> None:
        self.program = program
        self.source = source
        cause = error.cause if isinstance(error, ToolError) else str(error)
        self.cause = cause.replace("././", "")  # the linker's way to name a source in "."
        self.output = error.output if isinstance(error, ToolError) else ""
        super().__init__(f"{program}: {self.cause}")


@dataclass(frozen=True)
class _Object:
    """An object file, and what the compiler said about it."""

    content: bytes
    said: str


_Job = tuple[Recipe, int]
"""A program, and the index of one of its sources."""
_Key = str | ProgramError | None
"""The key of an object file. None: what it depends on cannot be known."""


def include_folders() -> list[Path]:
    """The folders with the headers that each program may include, in the order of the search."""
    root = checkout()
    return [root / "pds" / "include", root / "roottask" / "include", root / "roottask"]


class Compiler:
    """Builds programs for one SDK."""

    def __init__(self, sdk: Sdk, toolchain: Toolchain, library: PdLibrary) -> None:
        self._sdk = sdk
        self._tool = toolchain.compiler
        self._library = library
        self._pds = checkout() / "pds"
        self._start = self._pds / "arch" / sdk.kernel.arch / "start.S"
        self._headers: dict[tuple[Path, ...], str] = {}
        """A name for the headers in these folders."""

    def build(self, recipes: Sequence[Recipe], progress: Progress) -> dict[str, bytes]:
        """The ELF file of each program. ProgramError for the first that does not build.

        Warnings are shown, also those of files that are compiled already.
        """
        jobs = [
            (recipe, number)
            for recipe in recipes
            for number in range(-1, len(recipe.sources))  # -1: the code with which each begins
        ]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            keys = list(pool.map(self._object_key, jobs))
            work = list(zip(jobs, keys, strict=True))
            missing = {job[0].name for job, key in work if not _is_kept(key)}
            step = f"compiling {', '.join(sorted(missing))}"
            with progress.step(step) if missing else nullcontext():
                made = pool.map(self._object, work)
                objects = self._objects(list(zip(jobs, made, strict=True)), progress)
            linked = list(pool.map(self._linked, objects, objects.values()))
        return dict(zip(objects, linked, strict=True))

    def _objects(
        self, made: Sequence[tuple[_Job, _Object | ProgramError]], progress: Progress
    ) -> dict[str, list[bytes]]:
        """The object files of each program, with what the compiler says. ProgramError as `build`
        has it.
        """
        objects: dict[str, list[bytes]] = {}
        failed: list[ProgramError] = []
        for (recipe, _), result in made:
            said = result.output if isinstance(result, ProgramError) else result.said
            if said.strip():
                progress.note(f"{recipe.name}: the compiler says:\n{said.rstrip()}")
            if isinstance(result, ProgramError):
                failed.append(result)
            else:
                objects.setdefault(recipe.name, []).append(result.content)
        if failed:
            raise failed[0]
        return objects

    def _command(self, recipe: Recipe, number: int) -> list[str]:
        """The compiler and its options, without what it is to do."""
        root = checkout()
        own = [f"-I{folder}" for folder in recipe.includes]
        systems = (self._pds / "libc", self._sdk.include, self._builtin)
        return [
            self._tool,
            *self._library.options("pd-compile-options"),
            *_DEFAULT_FLAGS,
            # The headers of this machine's C library are for another system.
            *("-nostdinc", *own, *(f"-I{folder}" for folder in include_folders())),
            *(part for folder in systems for part in ("-isystem", str(folder))),
            f"-ffile-prefix-map={self._sdk.root}=sdk",
            f"-ffile-prefix-map={root}=cellreap",
            *(() if recipe.folder == root else (f"-ffile-prefix-map={recipe.folder}=.",)),
            *(recipe.flags if number >= 0 else ()),
            str(self._start) if number < 0 else recipe.sources[number],
        ]

    @functools.cached_property
    def _builtin(self) -> str:
        """The folder of the compiler's own headers, such as stdint.h."""
        return run_tool([self._tool, "-print-file-name=include"], None).strip()

    def _key(self, *facts: str) -> str:
        return digest_of(_CACHE_FORMAT, self._library.key, *facts)

    def _object_key(self, job: _Job) -> _Key:
        recipe, number = job
        try:
            return self._find_key(recipe, number)
        except (CellreapError, OSError) as error:
            return _failure(job, error)

    def _find_key(self, recipe: Recipe, number: int) -> str | None:
        if number < 0:
            return self._key("start")
        facts = (recipe.sources[number], *recipe.includes, *recipe.flags)
        if recipe.headers is not None:
            text = (recipe.folder / recipe.sources[number]).read_bytes()
            files = self._headers.get(recipe.headers)
            if files is None:
                files = digest(recipe.folder, recipe.headers, (), suffixes=(".h",))
                self._headers[recipe.headers] = files
            return self._key("file", *facts, files, digest_of(text))
        with tempfile.TemporaryDirectory(prefix="cellreap-cpp-") as name:
            output = Path(name) / "preprocessed"
            command = [*self._command(recipe, number), "-E", "-o", str(output)]
            run_tool(command, recipe.folder)
            text = output.read_bytes()
        if b".incbin" in text:  # the assembler reads a file of which the preprocessor knows nothing
            return None
        return self._key("text", *facts, digest_of(text))

    def _object(self, work: tuple[_Job, _Key]) -> _Object | ProgramError:
        job, key = work
        if isinstance(key, ProgramError):
            return key
        try:
            return self._find_object(*job, key)
        except (CellreapError, OSError) as error:
            return _failure(job, error)

    def _find_object(self, recipe: Recipe, number: int, key: str | None) -> _Object:
        path = None if key is None else _object_path(key)
        content = None if path is None else kept(path)
        said = None if path is None else kept(path.with_suffix(".said"))
        if content is not None and said is not None:
            return _Object(content, said.decode())
        with tempfile.TemporaryDirectory(prefix="cellreap-cc-") as name:
            output = Path(name) / "object.o"
            command = [*self._command(recipe, number), "-c", "-o", str(output)]
            warnings = run_tool(command, recipe.folder)
            if not output.is_file():
                raise CellreapError("the compiler made no object file; see its flags")
            content = output.read_bytes()
        if path is not None:
            keep(path.with_suffix(".said"), warnings.encode())
            keep(path, content)
        return _Object(content, warnings)

    def _linked(self, program: str, objects: Sequence[bytes]) -> bytes:
        script = self._pds / "pd.ld"
        facts = [digest_of(content) for content in (script.read_bytes(), *objects)]
        path = cache_folder() / "programs" / f"{self._key('program', *facts)}.elf"
        content = kept(path)
        if content is not None:
            return content
        with tempfile.TemporaryDirectory(prefix="cellreap-ld-") as name:
            folder = Path(name)
            names = [f"{number}.o" for number in range(len(objects))]
            for file, made in zip(names, objects, strict=True):
                (folder / file).write_bytes(made)
            command = [
                *(self._tool, *self._library.options("pd-link-options"), f"-Wl,-T,{script}"),
                *(*names, str(self._library.library), "-lgcc", "-o", "program.elf"),
            ]
            try:
                run_tool(command, folder)
            except CellreapError as error:
                if "undefined reference to `cr_main'" in str(error):
                    error = CellreapError("no source defines cr_main, where a program begins")
                raise ProgramError(program, None, error) from None
            content = (folder / "program.elf").read_bytes()
        keep(path, content)
        return content


def _object_path(key: str) -> Path:
    return cache_folder() / "objects" / f"{key}.o"


def _is_kept(key: _Key) -> bool:
    return isinstance(key, ProgramError) or (key is not None and _object_path(key).is_file())


def _failure(job: _Job, error: CellreapError | OSError) -> ProgramError:
    if isinstance(error, OSError):
        error = CellreapError(f"{error.filename}: {error.strerror}")
    recipe, number = job
    return ProgramError(recipe.name, None if number < 0 else number, error)
