# SPDX-License-Identifier: BSD-2-Clause
"""IMAGE files: everything that a boot needs, in one zip file.

The members are manifest.json, which lists the others with their SHA-256; kernel.elf and its
gen_config.json; roottask.elf, which contains the PDs; system.cdl, which describes in capDL the
objects of the PDs; config.toml, unchanged; and for each drive what it contains at first. Images for
machines that need a boot loader also contain the kernel's platform_gen.json and loader.elf, which
contains kernel and root task and is what boots.
The same members yield the same bytes: timestamps are fixed, and nothing is compressed. The reader
checks everything before any part is used.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cellreap.arches import ARCHES, ArchName
from cellreap.errors import CellreapError, InputError
from cellreap.inputs import opened
from cellreap.system.blob import read_programs
from cellreap.system.capdl.target import LEVELS, Target
from cellreap.system.config import Config, Depth, Mode, parse_config
from cellreap.system.elf import read_executable, symbol_bytes
from cellreap.system.files import write_atomically
from cellreap.system.loader import PLATFORM_FILE, bytes_needed, read_memory
from cellreap.system.sdk import check_options, parse_options

FORMAT = 1
MANIFEST = "manifest.json"
MEMBERS = ("kernel.elf", "gen_config.json", "roottask.elf", "system.cdl", "config.toml")
"""Members of every image."""
LOADER = "loader.elf"
DRIVE = "drive-"
"""Members that begin so are what the drives contain at first."""
MAX_BYTES = 512 << 20
_MAX_MANIFEST_BYTES = 1 << 20
# What zipfile raises for malformed files.
_JUNK = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    ValueError,
    EOFError,
    OSError,
)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that zip can store


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class KernelEntry(_Table):
    """The kernel in an image."""

    name: str
    version: str
    arch: str
    sha256: str


_Bits = Annotated[int, Field(ge=0, le=63)]


class TargetEntry(_Table):
    """What the descriptions in capDL take from the kernel and the architecture."""

    slot_bits: _Bits
    tcb_bits: _Bits
    notification_bits: _Bits
    endpoint_bits: _Bits
    page_bits: _Bits
    sc_bits: _Bits = 0
    reply_bits: _Bits = 0
    slice_us: int = Field(0, ge=0)
    vspace_bits: _Bits
    table_bits: list[_Bits] = Field(min_length=LEVELS[0], max_length=LEVELS[1])
    table_spans: list[_Bits] = Field(min_length=LEVELS[0], max_length=LEVELS[1])


class Overrides(_Table):
    """The command line's values that replaced those of config.toml when the image was built."""

    pd_depth: Depth | None = None
    rs_depth: Depth | None = None
    crash: str | None = None
    mode: Mode | None = None


class Sizes(_Table):
    """The sizes of a system, in bytes and slots. system.sizes works them out."""

    base_bytes: int
    """What the root task keeps for itself, besides its CSpace."""
    base_slots: int
    bodies: dict[str, int]
    """Name of a configured PD -> bytes of its body."""
    spawned: dict[str, int]
    """Program that a PD may spawn -> bytes of the body."""
    base_objects: dict[str, int]
    """Kind of kernel object -> how many the root task keeps for itself."""
    objects: dict[str, dict[str, int]]
    """Name of a configured PD -> its kernel objects by kind."""
    spawned_objects: dict[str, dict[str, int]]
    """Program that a PD may spawn -> the kernel objects of the PD by kind."""


class Manifest(_Table):
    """manifest.json."""

    format: Literal[1]
    """To be raised when an older reader would misread the file."""
    arch: ArchName
    """The architecture for which the image is built."""
    kernel: KernelEntry
    system: str
    """[system] name."""
    pds: list[str]
    """Names of the PDs, in the order of creation."""
    spaces: list[str]
    """Names of the spaces."""
    overrides: Overrides
    sizes: Sizes
    """What the root task uses, as the host works it out."""
    target: TargetEntry
    sha256: dict[str, str] = Field(min_length=len(MEMBERS))
    """SHA-256 of every other member."""


@dataclass(frozen=True)
class Image:
    """An image: what a boot needs, checked. `cellreap.build` makes one."""

    path: Path
    """The file."""
    manifest: Manifest
    """What the image is for: kernel, architecture, names of PDs and spaces, SHA-256 of each part.
    """
    kernel: bytes
    """The kernel's ELF file."""
    roottask: bytes
    """The root task's ELF file, which contains the programs of the PDs."""
    options: Mapping[str, Any]
    """The kernel's gen_config.json."""
    config: Config
    """The configuration of the file. The root task already contains what replaced its values."""
    loader: bytes = b""
    """The boot loader. Empty for architectures that need none."""
    memory: int | None = None
    """The bytes of memory of the machine that the kernel expects. None if it expects none."""
    drives: Mapping[str, bytes] = field(default_factory=dict)
    """Name of a drive -> what it contains at first, from its beginning."""

    @classmethod
    def read(cls, path: str | Path) -> Image:
        """Reads and checks an image. InputError if it is wrong."""
        return read_image(Path(path))

    def target(self) -> Target:
        """What the descriptions in capDL take from the kernel and the architecture."""
        entry: dict[str, Any] = self.manifest.target.model_dump()
        entry |= {name: tuple(entry[name]) for name in ("table_bits", "table_spans")}
        return Target(self.manifest.arch, **entry)

    def programs(self) -> dict[str, bytes]:
        """The ELF files of the programs, by name. InputError if the root task lacks one."""
        where = f"{self.path}: roottask.elf"
        try:
            root_task = read_executable(self.roottask, where, self.manifest.arch)
            found = read_programs(symbol_bytes(root_task, "cr_image_start", "cr_image_end"))
        except CellreapError as error:
            raise InputError(where, None, None, error.line()) from None
        for pd in self.config.pds:
            if pd.program not in found:
                text = f'has no program "{pd.program}", which "{pd.name}" of its config.toml runs'
                raise InputError(where, None, None, text)
        return found


def members_of(arch: str) -> tuple[str, ...]:
    """The members of an image for `arch`, without the manifest."""
    loaded = ARCHES[arch].platform_key is not None
    return (*MEMBERS, *((PLATFORM_FILE, LOADER) if loaded else ()))


def write_image(path: Path, manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> None:
    """Writes an image. Either the whole file exists afterwards or none.

    manifest: all but `format` and `sha256`.
    """
    drives = sorted(name for name in members if name.startswith(DRIVE))
    names = (*members_of(manifest["arch"]), *drives)
    complete = Manifest.model_validate(
        {
            **manifest,
            "format": FORMAT,
            "sha256": {name: hashlib.sha256(members[name]).hexdigest() for name in names},
        }
    )
    text = json.dumps(complete.model_dump(), indent=2, sort_keys=True) + "\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, content in (
            (MANIFEST, text.encode()),
            *((name, members[name]) for name in names),
        ):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    write_atomically(path, packed.getvalue())


def read_image(path: Path) -> Image:
    """Reads and checks an image. InputError if it is wrong."""

    def refuse(field: str | None, message: str) -> InputError:
        return InputError(str(path), None, field, message)

    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        raw = b"" if size > MAX_BYTES else file.read(MAX_BYTES + 1)
    if max(size, len(raw)) > MAX_BYTES:
        raise refuse(None, f"has {size} bytes: expected an image of at most {MAX_BYTES}")
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            contents = _members(archive, refuse)
    except _JUNK as error:
        what = "is empty" if not raw else "is no image, or a cut or damaged one"
        raise refuse(None, f"{what}: expected a file made by `cellreap build` ({error})") from None
    manifest = _manifest(contents[MANIFEST], refuse)
    named = manifest.kernel.sha256 == manifest.sha256.get("kernel.elf")
    if not named or manifest.kernel.arch != manifest.arch:
        raise refuse(f"{MANIFEST}: kernel", "is not the kernel in the image")
    drives = {name: raw for name, raw in contents.items() if name.startswith(DRIVE)}
    names = (*members_of(manifest.arch), *drives)
    if sorted(contents) != sorted((MANIFEST, *names)):
        shown = ", ".join(sorted(contents))
        raise refuse(None, f"has {shown}: expected {', '.join(names)} for {manifest.arch}")
    if sorted(manifest.sha256) != sorted(names):
        shown = ", ".join(sorted(manifest.sha256)[:8])
        raise refuse(f"{MANIFEST}: sha256", f"is of {shown}: expected {', '.join(names)}")
    for name in names:
        found, expected = hashlib.sha256(contents[name]).hexdigest(), manifest.sha256.get(name)
        if found != expected:
            raise refuse(name, f"has SHA-256 {found}: expected {expected}, as the manifest says")
    kernel = read_executable(contents["kernel.elf"], f"{path}: kernel.elf", manifest.arch)
    read_executable(contents["roottask.elf"], f"{path}: roottask.elf", manifest.arch)
    options = parse_options(contents["gen_config.json"], f"{path}: gen_config.json")
    check_options(options, manifest.arch, f"{path}: gen_config.json")
    try:
        text = contents["config.toml"].decode()
    except UnicodeDecodeError:
        raise refuse("config.toml", "not UTF-8 text: expected a TOML file") from None
    config = parse_config(text, Path(f"{path}: config.toml"))
    if sorted(drives) != sorted(DRIVE + drive.name for drive in config.drives):
        raise refuse("config.toml", f"its drives are not those of the image: {', '.join(drives)}")
    memory = None
    if LOADER in names:
        read_executable(contents[LOADER], f"{path}: {LOADER}", manifest.arch)
        described = f"{path}: {PLATFORM_FILE}"
        regions = read_memory(contents[PLATFORM_FILE], described)
        memory = bytes_needed(options, regions, kernel, described)
    return Image(
        path,
        manifest,
        contents["kernel.elf"],
        contents["roottask.elf"],
        options,
        config,
        contents.get(LOADER, b""),
        memory,
        {drive.name: drives[DRIVE + drive.name] for drive in config.drives},
    )


def _members(archive: zipfile.ZipFile, refuse: Any) -> dict[str, bytes]:
    infos = archive.infolist()
    names = sorted(info.filename for info in infos if not info.filename.startswith(DRIVE))
    if names not in [sorted((MANIFEST, *members_of(arch))) for arch in ARCHES]:
        shown = ", ".join(names[:8]) or "nothing"
        raise refuse(
            None, f"is a zip file with {shown}: expected {', '.join(sorted((MANIFEST, *MEMBERS)))}"
        )
    total = sum(info.file_size for info in infos)
    if total > MAX_BYTES:
        raise refuse(None, f"unpacks to {total} bytes: expected at most {MAX_BYTES}")
    return {info.filename: archive.read(info) for info in infos}


def _manifest(raw: bytes, refuse: Any) -> Manifest:
    if len(raw) > _MAX_MANIFEST_BYTES:
        raise refuse(MANIFEST, f"has {len(raw)} bytes: expected at most {_MAX_MANIFEST_BYTES}")
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError):
        raise refuse(MANIFEST, "is not valid JSON") from None
    if isinstance(values, dict) and values.get("format") != FORMAT:
        raise refuse(f"{MANIFEST}: format", f"is {values.get('format')!r}: expected {FORMAT}")
    try:
        return Manifest.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise refuse(f"{MANIFEST}: {where}" if where else MANIFEST, str(first["msg"])) from None
