# SPDX-License-Identifier: BSD-2-Clause
"""Whether a kernel gives the devices that a configuration wants.

What cannot be known here, the root task finds when it starts, and says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from cellreap import headers
from cellreap.arches import ARCHES
from cellreap.platforms import PLATFORMS
from cellreap.system.config import PAGE, Region
from cellreap.system.loader import platform_of
from cellreap.system.programs import Source
from cellreap.system.sdk import Sdk, sleeps
from cellreap.system.untypeds import read_devices

_SHARED: Final = 32
"""The first interrupt of a GIC that is no processor's."""
_OWN: Final = "is of the root task or the kernel; no PD gets it"
_LOUD: Final = "expected others, or shared = true: who has it can garble the trace"


def check_devices(source: Source, sdk: Sdk) -> None:
    """InputError for what no PD of this kernel can have of the machine."""
    for i, region in enumerate(source.config.regions):
        if region.physical is not None and (why := _missing(region, region.physical, sdk)):
            raise source.refuse(("region", i, "physical"), why)
        for j, each in enumerate(region.maps):
            if each.cached is False and ARCHES[sdk.kernel.arch].caching_is_fixed:
                said = f"on {sdk.kernel.arch} the machine says what is cached; "
                said += "expected no such key"
                raise source.refuse(("region", i, "map", j, "cached"), said)
    platform = PLATFORMS.get(platform_of(sdk.options))
    emulation = None if platform is None else platform.emulation
    if source.config.drives and (emulation is None or emulation.drives is None):
        said = f"no drive can be given to {platform_of(sdk.options)}"
        raise source.refuse(("drive", 0), said)
    for i, interrupt in enumerate(source.config.interrupts):
        if interrupt.number in own_interrupts(sdk):
            raise source.refuse(("interrupt", i, "number"), f"{interrupt.number} {_OWN}")
    for i, port in enumerate(source.config.ports):
        if sdk.kernel.arch != "x86_64":
            raise source.refuse(("port", i), f"there are no I/O ports on {sdk.kernel.arch}")
        for low, high in _own_ports():
            if port.first <= high and low <= port.last:
                said = f"{low:#x} to {high:#x} are of the root task or the kernel; no PD gets them"
                raise source.refuse(("port", i, "first"), said)


def check_places(source: Source, sdk: Sdk, free: Sequence[tuple[int, int]]) -> None:
    """InputError for memory that is to be where none is free. free: [start, end) of what is."""
    for i, region in enumerate(source.config.regions):
        at = region.memory_at
        if at is not None and not any(low <= at and at + region.size <= up for low, up in free):
            said = f"{sdk.kernel} has no free memory from {at:#x} on for all of it"
            raise source.refuse(("region", i, "memory_at"), said)


def own_interrupts(sdk: Sdk) -> Collection[int]:
    """On aarch64 those of the processor, on the others that of the root task's timer. A PD may have
    the second timer of the processor if the kernel leaves it to user level, and the root task has
    its time from the kernel.
    """
    if sdk.kernel.arch == "aarch64":
        left = sleeps(sdk.options, sdk.kernel.arch) and sdk.options.get("EXPORT_PTMR_USER") is True
        own = headers.own_constant("../platforms/aarch64.h", "CR_TIMER_PHYSICAL")
        return set(range(_SHARED)) - ({own} if left else set())
    if sdk.kernel.arch == "x86_64":
        return {_x86_64("CR_PIT_PIN")}
    timer = _timer(sdk)
    return set() if timer is None else {timer[1]}


def _timer(sdk: Sdk) -> tuple[int, int] | None:
    """The address and the interrupt of the machine's timer, if the root task drives it."""
    platform = PLATFORMS.get(platform_of(sdk.options))
    if platform is None or sleeps(sdk.options, sdk.kernel.arch):
        return None
    return platform.timer


def _own_ports() -> Iterator[tuple[int, int]]:
    """The timer's, the console's, and the old interrupt controllers'."""
    yield _x86_64("CR_PIT_PORT"), _x86_64("CR_PIT_COMMAND")
    yield PLATFORMS["pc99"].uart.address, PLATFORMS["pc99"].uart.address + 7
    for controller in ("CR_PIC_FIRST", "CR_PIC_SECOND"):
        yield _x86_64(controller), _x86_64(controller) + 1


def _x86_64(name: str) -> int:
    return headers.own_constant("../platforms/x86_64.h", name)


def _missing(region: Region, physical: int, sdk: Sdk) -> str | None:
    platform = PLATFORMS.get(platform_of(sdk.options))
    kept = list(platform.kept) if platform is not None else []
    if platform is not None and platform.arch != "x86_64":
        console = platform.uart.address & -PAGE
        if not region.shared and physical <= console < physical + region.size:
            return f"{console:#x} is of the console; {_LOUD}"
    if (timer := _timer(sdk)) is not None:
        kept.append((timer[0], timer[0] + PAGE))
    for start, end in kept:
        if physical < end and start < physical + region.size:
            return f"{start:#x} to {end - 1:#x} are of the root task or the kernel; no PD gets them"
    if not sdk.platform_file.is_file():
        return None
    given = read_devices(sdk.platform_file)
    for page in range(physical, physical + region.size, PAGE):
        if not any(start <= page and page + PAGE <= end for start, end in given):
            what = "it is memory, or a device of the kernel's own"
            return f"{sdk.kernel} does not give {page:#x} to user level: {what}"
    return None
