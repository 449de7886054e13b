# SPDX-License-Identifier: BSD-2-Clause
"""What regions and drives of a configuration contain at first: files beside it."""

from __future__ import annotations

from cellreap.errors import InputError
from cellreap.inputs import read_at_most
from cellreap.system.image import DRIVE
from cellreap.system.programs import Source
from cellreap.system.toml_lines import KeyPath


def fills_of(source: Source) -> dict[str, bytes]:
    """The contents of each region that a file fills, by its name, and of each drive, by its member
    of the image. InputError for a file that cannot be read, or is larger than what it fills.
    """
    fills = {
        region.name: _read(source, ("region", i, "fill"), region.fill, region.size)
        for i, region in enumerate(source.config.regions)
        if region.fill is not None
    }
    for i, drive in enumerate(source.config.drives):
        raw = (
            b""
            if drive.file is None
            else _read(source, ("drive", i, "file"), drive.file, drive.size)
        )
        fills[DRIVE + drive.name] = raw
    return fills


def _read(source: Source, at: KeyPath, name: str, size: int) -> bytes:
    what = at[0]
    try:
        raw = read_at_most(source.path.parent / name, size)
    except InputError as error:
        raise source.refuse(at, f"{name}: {error.expected}") from None
    if len(raw) > size:
        raise source.refuse(at, f"{name}: has more than the {size} bytes of the {what}")
    return raw
