# SPDX-License-Identifier: BSD-2-Clause
"""From a configuration to an image: the root task's library and the PDs by CMake, then one link.

What CMake makes depends on the sources, the SDK and the compiler alone; it is kept in a cache under a key of
these three and used again for every configuration. Configurations differ in the blob that is linked in last.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cellreap.errors import CellreapError
from cellreap.headers import HeaderError, source_root
from cellreap.progress import Progress
from cellreap.system.blob import build_blob, programs_of
from cellreap.system.capdl import capdl_text, facts_source, read_target
from cellreap.system.config import Config
from cellreap.system.elf import read_executable
from cellreap.system.image import LOADER, MEMBERS, Overrides, members_of, write_image
from cellreap.system.loader import (
    FDT_FILE,
    PLATFORM_FILE,
    check_loader,
    memory_around,
    plan_load,
    platform_of,
    read_memory,
    source,
)
from cellreap.system.sdk import CONFIG_FILE, SUPPORT_FOLDER, Sdk, read_support, timer_missing

_LIBRARY = "libcellreap_root.a"
_CONFORMANCE = "conformance.elf"
_LOADER_LIBRARY = "libcellreap_loader.a"
_LINKER_SCRIPT = Path("roottask/roottask.ld")
_SOURCES = ("roottask", "pds", "examples", "tests/pds")
_LOADER_SCRIPT = Path("roottask/loader/loader.ld")
_LOG = "build.log"
_FACTS = "capdl_facts.o"
_DONE = "complete"  # written last: a build directory without it is half a build
_CACHE_FORMAT = "2"  # part of the key; raised when what is kept changes its meaning

_BLOB_SOURCE = """\
.section .image, "a"
.balign 4096
.globl cr_image_start, cr_image_end
cr_image_start:
.incbin "blob.bin"
cr_image_end:
.section .note.GNU-stack, "", %progbits
"""

# Names to try for each architecture's compiler, the native one last.
_COMPILERS: Mapping[str, tuple[str, ...]] = {
    "x86_64": ("x86_64-linux-gnu-gcc",),
    "aarch64": ("aarch64-linux-gnu-gcc",),
}
_PACKAGES = {"cmake": "cmake", "ninja": "ninja-build", "gcc": "gcc"}


@dataclass(frozen=True)
class Toolchain:
    """A compiler and what identifies it."""

    arch: str
    compiler: str
    version: str  # the first line of --version, and the target


@dataclass(frozen=True)
class Parts:
    """What CMake made. Files in the cache: read, never written."""

    folder: Path
    reused: bool

    @property
    def library(self) -> Path:
        """The root task without its configuration."""
        return self.folder / _LIBRARY

    @property
    def facts(self) -> Path:
        """An object file that says what the kernel and the architecture decide: for `read_target`."""
        return self.folder / _FACTS

    @property
    def loader(self) -> Path:
        """The boot loader without what it loads; only there for architectures that need one."""
        return self.folder / _LOADER_LIBRARY

    @property
    def conformance(self) -> Path:
        """The root task that checks the kernel."""
        return self.folder / _CONFORMANCE

    def programs(self) -> dict[str, bytes]:
        """The ELF file of every program, by name."""
        return {path.stem: path.read_bytes() for path in sorted((self.folder / "pds").glob("*.elf"))}


def build_image(
    config: Config, text: str, sdk: Sdk, output: Path, progress: Progress, overrides: Overrides | None = None
) -> None:
    """Builds the image of `config` and writes it to `output`.

    text: the configuration's file, to be kept in the image. overrides: what in `config` is not from it.
    CellreapError for a tool that is missing, a program that is not there, or sources that do not build.
    """
    toolchain = find_toolchain(sdk.kernel.arch)
    parts = build_parts(sdk, toolchain, progress)
    with progress.step(f"linking {config.system.name}"):
        roottask = link(config, sdk, toolchain, parts)
        manifest = {
            "arch": sdk.kernel.arch,
            "kernel": {
                "name": sdk.kernel.name,
                "version": sdk.kernel.version,
                "arch": sdk.kernel.arch,
                "sha256": sdk.kernel.sha256,
            },
            "system": config.system.name,
            "pds": [pd.name for pd in config.pds],
            "spaces": [space.name for pd in config.pds for space in pd.spaces],
            "overrides": (overrides or Overrides()).model_dump(),
        }
        kernel, options = sdk.kernel_elf.read_bytes(), (sdk.root / CONFIG_FILE).read_bytes()
        target = read_target(sdk.kernel.arch, parts.facts.read_bytes())
        description = capdl_text(config, parts.programs(), target)
        contents = (kernel, options, roottask, description.encode(), text.encode())
        members = dict(zip(MEMBERS, contents, strict=True))
        if LOADER in members_of(sdk.kernel.arch):
            members[PLATFORM_FILE] = read_support(sdk, PLATFORM_FILE)
            members[LOADER] = link_loader(sdk, toolchain, parts, roottask)
        write_image(output, manifest, members)


def find_toolchain(arch: str) -> Toolchain:
    """The compiler for `arch`. CellreapError names what to install."""
    names = list(_COMPILERS[arch])
    if platform.machine() in (arch, {"x86_64": "AMD64", "aarch64": "arm64"}[arch]):
        names.append("gcc")
    compiler = next((path for path in map(shutil.which, names) if path), None)
    if compiler is None:
        package = f"gcc-{arch.replace('_', '-')}-linux-gnu"
        raise CellreapError(f"no compiler for {arch} ({', '.join(names)}): on Debian, apt install {package}")
    version = _run([compiler, "--version"], None).splitlines()
    target = _run([compiler, "-dumpmachine"], None).strip()
    return Toolchain(arch, compiler, f"{version[0] if version else ''} {target}")


def build_parts(sdk: Sdk, toolchain: Toolchain, progress: Progress) -> Parts:
    """The root task's library and all programs, from the cache where nothing has changed."""
    root = checkout()
    key = cache_key(root, sdk, toolchain)
    folder = cache_folder() / "build" / key
    with file_lock(folder.with_name(f"{key}.lock"), progress):
        if (folder / _DONE).is_file():
            return Parts(folder, reused=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        with progress.step(f"building the root task for {sdk.kernel}"):
            options = {"CELLREAP_SDK": str(sdk.root), "CELLREAP_ARCH": sdk.kernel.arch}
            build_tree(root / "roottask", folder, toolchain, options)
            _compile_facts(root, folder, sdk, toolchain)
        parts = Parts(folder, reused=False)
        if not parts.library.is_file() or not parts.programs():
            raise CellreapError(f"{folder}: the build made no {_LIBRARY}, or no pds/*.elf")
        if cache_key(root, sdk, toolchain) == key:  # else sources changed under it
            (folder / _DONE).write_text(f"{toolchain.version}\n{sdk.kernel}\n")
        return parts


def link(config: Config, sdk: Sdk, toolchain: Toolchain, parts: Parts) -> bytes:
    """The root task's ELF file with the configuration in it."""
    programs = parts.programs()
    for name in set(programs_of(config)) & programs.keys():
        read_executable(programs[name], str(parts.folder / "pds" / f"{name}.elf"), sdk.kernel.arch)
    kernel = f"{sdk.kernel.name} {sdk.kernel.version}"
    timer = timer_missing(sdk.options, sdk.kernel.arch) is None
    blob = build_blob(config, programs, kernel, sdk.kernel.arch, timer)
    files = {"blob.bin": blob, "blob.S": _BLOB_SOURCE.encode()}
    raw = _link(toolchain, parts.library, _LINKER_SCRIPT, files, "blob.S", ())
    read_executable(raw, "roottask.elf", sdk.kernel.arch)
    return raw


def link_loader(sdk: Sdk, toolchain: Toolchain, parts: Parts, roottask: bytes) -> bytes:
    """The boot loader's ELF file with kernel, root task and device tree in it."""
    arch = sdk.kernel.arch
    kernel = read_executable(sdk.kernel_elf.read_bytes(), str(sdk.kernel_elf), arch)
    described = str(sdk.root / SUPPORT_FOLDER / PLATFORM_FILE)
    memory = memory_around(read_memory(read_support(sdk, PLATFORM_FILE), described), kernel, described)
    fdt, fdt_name = read_support(sdk, FDT_FILE), str(sdk.root / SUPPORT_FOLDER / FDT_FILE)
    user = read_executable(roottask, "roottask.elf", arch)
    load = plan_load(kernel, user, memory, fdt, fdt_name, platform_of(sdk.options))
    files = {**load.blobs, "facts.S": source(load).encode()}
    more = (f"-Wl,--defsym=cr_loader_base={load.base:#x}",)
    raw = _link(toolchain, parts.loader, _LOADER_SCRIPT, files, "facts.S", more)
    check_loader(read_executable(raw, LOADER, arch), load)
    return raw


def _link(
    toolchain: Toolchain,
    library: Path,
    script: Path,
    files: Mapping[str, bytes],
    source_name: str,
    more: Sequence[str],
) -> bytes:
    """All of a library with one more source, static and with no system below.

    files: that source, by its name, and what it includes.
    """
    with tempfile.TemporaryDirectory(prefix="cellreap-link-") as name:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        # An object file of this name, or the linker would note one that the compiler made up.
        _run([toolchain.compiler, "-c", source_name, "-o", "source.o"], folder)
        command = [
            toolchain.compiler,
            *("-static", "-nostdlib", "-nostartfiles", "-no-pie"),
            *more,
            f"-Wl,-T,{checkout() / script}",
            *("-Wl,--build-id=none", "-Wl,-z,max-page-size=4096", "-Wl,-z,noexecstack"),
            "source.o",  # relative, and run there: the folder's name must not get into the file
            *("-Wl,--whole-archive", str(library), "-Wl,--no-whole-archive"),
            *("-o", "linked.elf"),
        ]
        _run(command, folder)
        return (folder / "linked.elf").read_bytes()


def cache_folder(env: Mapping[str, str] | None = None) -> Path:
    """Where builds are kept: $XDG_CACHE_HOME/cellreap."""
    env = os.environ if env is None else env
    base = Path(env.get("XDG_CACHE_HOME") or Path(env.get("HOME", "~")) / ".cache")
    return base.expanduser() / "cellreap"


def cache_key(root: Path, sdk: Sdk, toolchain: Toolchain) -> str:
    """A name for everything that a build depends on."""
    total = hashlib.sha256()
    for part in (_CACHE_FORMAT, sdk.kernel.arch, sdk.digest, toolchain.compiler, toolchain.version):
        total.update(f"{part}\0".encode())
    for folder in _SOURCES:
        for path in sorted(path for path in (root / folder).rglob("*") if path.is_file()):
            content = path.read_bytes()
            total.update(f"{path.relative_to(root)}\0{len(content)}\0".encode())
            total.update(content)
    return f"{sdk.kernel.arch}-{total.hexdigest()[:24]}"


@contextlib.contextmanager
def file_lock(path: Path, progress: Progress) -> Iterator[None]:
    """One holder at a time, in this process and all others; gone with the holder, however it ends.

    flock with a descriptor of its own for each holder: a POSIX record lock would not exclude threads of one
    process, and would be lost when anything else closes the file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise CellreapError(f"{path}: cannot be used as a cache: {error.strerror}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.note(f"waiting for another build to finish ({path})")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # and with it the lock


def checkout() -> Path:
    """The checkout whose sources are built. CellreapError."""
    try:
        return source_root()
    except HeaderError as error:
        raise CellreapError(str(error)) from None


def build_tree(
    source: Path, folder: Path, toolchain: Toolchain, options: Mapping[str, str], target: str = "all"
) -> None:
    """Configures and builds a CMake project for a machine without an operating system. CellreapError."""
    configure = [
        *("cmake", "-G", "Ninja", "-S", str(source), "-B", str(folder)),
        *(f"-D{name}={value}" for name, value in options.items()),
        f"-DCMAKE_C_COMPILER={toolchain.compiler}",
        f"-DCMAKE_ASM_COMPILER={toolchain.compiler}",
        "-DCMAKE_SYSTEM_NAME=Generic",  # no operating system below: CMake must not assume one of its own
        f"-DCMAKE_SYSTEM_PROCESSOR={toolchain.arch}",
        "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
    ]
    for tool in ("cmake", "ninja"):
        if shutil.which(tool) is None:
            raise CellreapError(f"{tool} is not installed: on Debian, apt install {_PACKAGES[tool]}")
    log = folder / _LOG
    _run(configure, None, log)
    _run(["cmake", "--build", str(folder), "--target", target], None, log)


def _compile_facts(root: Path, folder: Path, sdk: Sdk, toolchain: Toolchain) -> None:
    source = folder / Path(_FACTS).with_suffix(".c")
    source.write_text(facts_source(sdk.kernel.arch))
    sources = root / "roottask"
    command = [
        toolchain.compiler,
        *("-std=gnu11", "-O2", "-w", "-ffreestanding", "-fno-pic", "-mgeneral-regs-only", "-fno-common"),
        *("-iquote", str(sources), "-I", str(sources / "include")),
        *("-isystem", str(sdk.root / "libsel4" / "include")),
        *("-c", str(source), "-o", str(folder / _FACTS)),
    ]
    _run(command, None, folder / _LOG)


def _run(command: Sequence[str], folder: Path | None, log: Path | None = None) -> str:
    """A tool's output. CellreapError with the first line of it that looks like the cause."""
    try:
        done = subprocess.run(
            list(command),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise CellreapError(f"{command[0]} cannot be started: {error.strerror}") from None
    if log is not None:
        with log.open("a") as file:
            file.write(done.stdout)
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        telling = [line for line in lines if re.search(r"\b(error|undefined reference|Error at)\b", line)]
        cause = (telling or lines or ["it said nothing"])[0]
        if cause.startswith("CMake Error") and cause != lines[-1]:
            cause = f"{cause} {lines[lines.index(cause) + 1]}"  # the message stands below
        more = f" (all of it in {log})" if log is not None else ""
        raise CellreapError(f"{Path(command[0]).name} failed: {cause}{more}")
    return done.stdout
