# SPDX-License-Identifier: BSD-2-Clause
"""Builds an image from a configuration: the parts that CMake builds, one link, and one file.

Only the blob, which is linked in last, depends on the configuration. All other parts come from a
cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cellreap.progress import Progress
from cellreap.system.config import Config
from cellreap.system.fills import fills_of
from cellreap.system.image import Overrides
from cellreap.system.image_cache import cached_image, image_key, made_from
from cellreap.system.parts import Parts, build_parts, build_pd_library
from cellreap.system.programs import Source, build_programs
from cellreap.system.saved import saved_of
from cellreap.system.sdk import Sdk
from cellreap.system.toolchain import Toolchain, find_toolchain

if TYPE_CHECKING:
    from cellreap.system.bounds import Bounds


@dataclass(frozen=True)
class Built:
    """What a build made besides the image."""

    programs: dict[str, bytes]
    """The ELF files of the PDs' programs by name, with their debug information."""
    bounds_json: bytes
    made_from: str
    """A name for all that the image is made from, except the secret of its trace."""

    @property
    def bounds(self) -> Bounds:
        """The longest chains of the system."""
        from cellreap.system.bounds import from_json  # takes long, and most do not ask

        return from_json(self.bounds_json)


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
    library = build_pd_library(sdk, toolchain, progress)
    programs = build_programs(source, sdk, toolchain, library, progress)
    return Ingredients(toolchain, build_parts(sdk, toolchain, progress), programs)


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
    saved, fills = saved_of(source), fills_of(source)
    ingredients = ingredients_of(source, sdk, progress)
    parts, built = ingredients.parts, ingredients.programs
    given = overrides or Overrides()
    made = made_from(source, sdk, parts, built, given, machine_bytes, saved, fills)

    def make(target: Path) -> bytes:
        # Takes long to import, and most images are in the cache.
        from cellreap.system.assembling import write_system
        from cellreap.system.bounds import to_json

        with progress.step(f"linking {config.system.name}"):
            return to_json(
                write_system(
                    *(target, source, sdk, ingredients, given, trace_key, machine_bytes),
                    saved=saved,
                    fills=fills,
                )
            )

    key = image_key(source, parts, given, machine_bytes, variant, made, trace_key)
    bounds = make(output) if key is None else cached_image(key, output, make, progress)
    return Built(built, bounds, made)
