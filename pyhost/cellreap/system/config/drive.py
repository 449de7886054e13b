# SPDX-License-Identifier: BSD-2-Clause
"""[[drive]]: disks of an emulated machine."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from cellreap.system.config.values import FilePath, Name
from cellreap.system.toml_tables import Table, expect

_SECTOR: Final = 512
_MOST: Final = 64 << 20
MAX_DRIVES: Final = 4
"""As many as a PC has."""
_DriveSize = Annotated[
    int,
    Field(ge=_SECTOR, le=_MOST, multiple_of=_SECTOR),
    expect(f"a multiple of {_SECTOR} from {_SECTOR} to {_MOST}"),
]


class Drive(Table):
    """[[drive]]: a disk of the emulated machine, in the order of the file. Each run has a new one,
    and leaves it beside its trace as SYSTEM.NAME.drive.
    """

    name: Name
    """Unique among the drives."""
    size: _DriveSize
    """Its bytes, a multiple of 512."""
    file: FilePath | None = None
    """The file that it contains at first, from its beginning, relative to the folder of this file.
    The rest is zero. The file is not written to.
    """
