# SPDX-License-Identifier: BSD-2-Clause
"""Links a system and writes its image, with what the host works out about it.

Only `build_image` imports this module, and only for an image that is not in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cellreap.errors import CellreapError, InputError
from cellreap.platforms import emulated
from cellreap.system.bounds import Bounds, bounds_of
from cellreap.system.build import Ingredients
from cellreap.system.capdl.describing import capdl_text
from cellreap.system.capdl.layout import Layout
from cellreap.system.capdl.target import Target, read_target
from cellreap.system.config import on_kernel, thread_of
from cellreap.system.devices import check_devices, check_places
from cellreap.system.elf import Executable, read_executable
from cellreap.system.image import DRIVE, LOADER, MEMBERS, Overrides, members_of, write_image
from cellreap.system.linking import link, link_loader, room_of_sdk
from cellreap.system.loader import PLATFORM_FILE, bytes_needed, check_memory, read_memory_file
from cellreap.system.memory import check_slots, memory_of
from cellreap.system.programs import Source, loadable
from cellreap.system.regions import ranges_of
from cellreap.system.saved import Saved
from cellreap.system.sdk import (
    Sdk,
    debug_missing,
    takes_snapshots,
    timer_of,
)
from cellreap.system.sizes import saved_bytes, sizes_of


def write_system(
    output: Path,
    source: Source,
    sdk: Sdk,
    ingredients: Ingredients,
    overrides: Overrides,
    trace_key: bytes | None,
    machine_bytes: int | None,
    saved: Saved,
    fills: Mapping[str, bytes],
) -> Bounds:
    """Links a system and writes its image. saved: what the image carries of a saved state. fills:
    of `fills_of`.
    """
    toolchain, parts = ingredients.toolchain, ingredients.parts
    config = on_kernel(source.config, debug_missing(sdk.options))
    programs = loadable(ingredients.programs, sdk.kernel.arch)
    target = read_target(sdk.kernel.arch, parts.facts.read_bytes())
    _check_layouts(source, programs, target)
    check_devices(source, sdk)
    roottask = link(config, programs, sdk, toolchain, parts, trace_key, saved, fills)
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
    kernel, options = sdk.kernel_elf.read_bytes(), sdk.config_file.read_bytes()
    description = capdl_text(config, programs, target)
    entry = read_executable(kernel, str(sdk.kernel_elf), sdk.kernel.arch)
    root_elf = read_executable(roottask, "roottask.elf", sdk.kernel.arch)
    check_slots(source, programs, root_elf, sdk.options)
    snapshots = takes_snapshots(str(sdk.kernel))
    sizes = sizes_of(config, programs, target, timer_of(sdk), snapshots, saved)
    machine = _machine_memory(source, sdk, entry, root_elf, machine_bytes)
    bodies = saved_bytes(saved, programs, target)
    memory = memory_of(source, sizes, root_elf, machine, target, bodies)
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
        members[PLATFORM_FILE] = sdk.platform_file.read_bytes()
        members[LOADER] = link_loader(sdk, toolchain, parts, roottask)
    members |= {name: raw for name, raw in fills.items() if name.startswith(DRIVE)}
    write_image(output, manifest, members)
    return bounds


def _machine_memory(
    source: Source, sdk: Sdk, kernel: Executable, root_task: Executable, given: int | None
) -> tuple[int, int]:
    """[start, end) of the machine's memory of which the kernel hands out untypeds, in bytes."""
    if LOADER not in members_of(sdk.kernel.arch):
        emulation = emulated(sdk.kernel.arch).emulation
        assert emulation is not None
        return 0, given or emulation.mib << 20
    regions = read_memory_file(sdk.platform_file)
    needed = bytes_needed(sdk.options, regions, kernel, str(sdk.platform_file))
    check_memory(given, needed)
    room = room_of_sdk(sdk, kernel, root_task)
    check_places(source, sdk, room.free)
    return 0, sum(end - start for start, end in regions) - room.lost


def _check_layouts(source: Source, programs: Mapping[str, bytes], target: Target) -> None:
    """InputError for a PD for whose program the root task would find no room."""
    for i, pd in enumerate(source.config.pds):
        executable = read_executable(programs[pd.program], f"{pd.program}.elf", target.arch)
        try:
            ranges = ranges_of(source.config, pd.name)
            number, _ = thread_of(source.config, pd)
            layout = Layout(pd, executable, target, ranges, thread=number)
        except InputError:
            raise
        except CellreapError as error:
            raise source.refuse(("pd", i, "program"), error.line()) from None
        for j, region in enumerate(source.config.regions):
            for k, each in enumerate(region.maps):
                if each.pd == pd.name and layout.has(each.address, region.size):
                    said = f"the program of {pd.name} is there; expected another address"
                    raise source.refuse(("region", j, "map", k, "address"), said)
