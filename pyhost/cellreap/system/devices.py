# SPDX-License-Identifier: BSD-2-Clause
"""Whether a kernel gives the devices that a configuration wants.

What cannot be known here, the root task finds when it starts, and says so.
"""

from __future__ import annotations

from cellreap.platforms import PLATFORMS
from cellreap.system.config import PAGE, Region
from cellreap.system.loader import platform_of
from cellreap.system.programs import Source
from cellreap.system.sdk import Sdk
from cellreap.system.untypeds import read_devices


def check_devices(source: Source, sdk: Sdk) -> None:
    """InputError for a device that no PD of this kernel can have."""
    for i, region in enumerate(source.config.regions):
        if region.physical is not None and (why := _missing(region, region.physical, sdk)):
            raise source.refuse(("region", i, "physical"), why)


def _missing(region: Region, physical: int, sdk: Sdk) -> str | None:
    platform = PLATFORMS.get(platform_of(sdk.options))
    for start, end in platform.kept if platform is not None else ():
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
