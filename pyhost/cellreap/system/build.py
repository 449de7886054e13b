# SPDX-License-Identifier: BSD-2-Clause
"""Builds an image from a configuration: the parts that CMake builds, one link, and one file.

Only the blob, which is linked in last, depends on the configuration. All other parts come from a
cache.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cellreap.platforms import emulated_mib
from cellreap.progress import Progress
from cellreap.system.bounds import Bounds, bounds_of
from cellreap.system.capdl import capdl_text, read_target
from cellreap.system.config import Config, on_kernel, quotas
from cellreap.system.elf import Executable, read_executable, section_bytes
from cellreap.system.image import LOADER, MEMBERS, Overrides, members_of, write_image
from cellreap.system.image_cache import cached_image, image_key, made_from
from cellreap.system.linking import link, link_loader
from cellreap.system.loader import PLATFORM_FILE, memory_around, read_memory
from cellreap.system.memory import TABLES, check_slots, memory_of
from cellreap.system.parts import Parts, build_parts
from cellreap.system.programs import Source, build_programs, check_layouts, loadable
from cellreap.system.saved import Saved, saved_of
from cellreap.system.sdk import (
    CONFIG_FILE,
    Sdk,
    debug_missing,
    read_support,
    takes_snapshots,
    timer_of,
)
from cellreap.system.sizes import saved_bytes, sizes_of
from cellreap.system.toolchain import Toolchain, find_toolchain


@dataclass(frozen=True)
class Built:
    """What a build made besides the image."""

    programs: dict[str, bytes]
    """The ELF files of the PDs' programs by name, with their debug information."""
    bounds: Bounds
    made_from: str
    """A name for all that the image is made from, except the secret of its trace."""


@dataclass(frozen=True)
class Ingredients:
    """What an image is linked from. Many images can have the same."""

    toolchain: Toolchain
    parts: Parts
    programs: dict[str, bytes]
    """The ELF files of the PDs' programs by name, with their debug information."""


def ingredients_of(source: Source, sdk: Sdk, progress: Progress) -> Ingredients:
    """Builds what the image of a configuration is linked from. The errors are `build_image`'s."""
    toolchain = find_toolchain(sdk.kernel.arch)
    parts = build_parts(sdk, toolchain, progress, quotas.doublings(source.config))
    return Ingredients(toolchain, parts, build_programs(source, sdk, toolchain, parts, progress))


def build_image(
    config: Config,
    text: str,
    sdk: Sdk,
    output: Path,
    progress: Progress,
    overrides: Overrides | None = None,
    trace_key: bytes | None = None,
    path: Path | None = None,
    machine_bytes: int | None = None,
    variant: str = "",
) -> Built:
    """Builds the image of `config` and writes it to `output`.

    text: the text of the configuration's file, which the image keeps. overrides: the values in
    `config` that are not from the file. trace_key: the secret of the image, from which each run
    derives the key of its trace; None: one of this image and user. path: the configuration's file,
    to whose folder the paths of its programs are relative; None: to the current folder.

    machine_bytes: the memory of the machine that the image is for; None: as much as the kernel
    expects, or that of the emulated machine.

    variant: tells images of one file apart whose text or configuration was changed since it was
    read. The cache keeps one image of each.

    InputError if a program of the file is wrong, or if the system does not fit the machine.
    CellreapError if a tool is missing, or if the sources of cellreap do not build.
    """
    source = Source(config, text, path or Path(f"{config.system.name}.toml"))
    saved = saved_of(source)
    ingredients = ingredients_of(source, sdk, progress)
    parts, built = ingredients.parts, ingredients.programs
    given = overrides or Overrides()
    made = made_from(source, sdk, parts, built, given, machine_bytes, saved)

    def make(target: Path) -> Bounds:
        with progress.step(f"linking {config.system.name}"):
            return _write(target, source, sdk, ingredients, given, trace_key, machine_bytes, saved)

    key = image_key(source, parts, given, machine_bytes, variant, made, trace_key)
    bounds = make(output) if key is None else cached_image(key, output, make, progress)
    return Built(built, bounds, made)


def _write(
    output: Path,
    source: Source,
    sdk: Sdk,
    ingredients: Ingredients,
    overrides: Overrides,
    trace_key: bytes | None,
    machine_bytes: int | None,
    saved: Saved,
) -> Bounds:
    """Links a system and writes its image. saved: what the image carries of a saved state."""
    toolchain, parts = ingredients.toolchain, ingredients.parts
    config = on_kernel(source.config, debug_missing(sdk.options))
    programs = loadable(ingredients.programs, sdk.kernel.arch)
    target = read_target(sdk.kernel.arch, parts.facts.read_bytes())
    check_layouts(source, programs, target)
    roottask = link(config, programs, sdk, toolchain, parts, trace_key, saved)
    manifest: dict[str, Any] = {
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
        "overrides": overrides.model_dump(),
    }
    kernel, options = sdk.kernel_elf.read_bytes(), (sdk.root / CONFIG_FILE).read_bytes()
    description = capdl_text(config, programs, target)
    entry = read_executable(kernel, str(sdk.kernel_elf), sdk.kernel.arch)
    root_elf = read_executable(roottask, "roottask.elf", sdk.kernel.arch)
    check_slots(source, programs, root_elf, sdk.options)
    snapshots, tables = takes_snapshots(str(sdk.kernel)), section_bytes(root_elf, TABLES)
    sizes = sizes_of(config, programs, target, timer_of(sdk), snapshots, tables, saved)
    machine = _machine_memory(sdk, entry, machine_bytes)
    memory = memory_of(source, sizes, root_elf, machine, saved_bytes(saved, programs, target))
    bounds = bounds_of(config, programs, target, sdk.options, memory)
    manifest["sizes"] = sizes.model_dump()
    manifest["target"] = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(target).items()
        if name != "arch"
    }
    contents = (kernel, options, roottask, description.encode(), source.text.encode())
    members = dict(zip(MEMBERS, contents, strict=True))
    if LOADER in members_of(sdk.kernel.arch):
        members[PLATFORM_FILE] = read_support(sdk, PLATFORM_FILE)
        members[LOADER] = link_loader(sdk, toolchain, parts, roottask)
    write_image(output, manifest, members)
    return bounds


def _machine_memory(sdk: Sdk, kernel: Executable, machine_bytes: int | None) -> tuple[int, int]:
    """[start, end) of the machine's memory, in bytes."""
    if LOADER not in members_of(sdk.kernel.arch):
        return 0, machine_bytes or emulated_mib(sdk.kernel.arch) << 20
    described = str(sdk.root / PLATFORM_FILE)
    regions = read_memory(read_support(sdk, PLATFORM_FILE), described)
    start, end = memory_around(regions, kernel, described)
    return start, start + (machine_bytes or end - start)
