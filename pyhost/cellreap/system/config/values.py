# SPDX-License-Identifier: BSD-2-Clause
"""Values that several tables of the file have."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from cellreap.system.toml_tables import expect

Bool = Annotated[bool, expect("true or false")]
Word = Annotated[int, Field(ge=0, le=0xFFFF_FFFF), expect("an integer from 0 to 4294967295")]
Name = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,30}$"),
    expect("a lower-case name: a letter, then letters, digits and _, at most 31 characters"),
]
FilePath = Annotated[
    str,
    StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=4096),
    expect("a path relative to this file"),
]
