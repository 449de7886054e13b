# SPDX-License-Identifier: BSD-2-Clause
"""What the regions of a configuration contain at first: files beside it."""

from __future__ import annotations

from cellreap.errors import InputError
from cellreap.inputs import read_at_most
from cellreap.system.config import Region
from cellreap.system.programs import Source


def fills_of(source: Source) -> dict[str, bytes]:
    """The contents of each region that a file fills, by its name. InputError for a file that cannot
    be read, or is larger than the region.
    """
    return {
        region.name: _read(source, i, region, region.fill)
        for i, region in enumerate(source.config.regions)
        if region.fill is not None
    }


def _read(source: Source, index: int, region: Region, name: str) -> bytes:
    at = ("region", index, "fill")
    try:
        raw = read_at_most(source.path.parent / name, region.size)
    except InputError as error:
        raise source.refuse(at, f"{name}: {error.expected}") from None
    if len(raw) > region.size:
        raise source.refuse(at, f"{name}: has more than the {region.size} bytes of the region")
    return raw
