# SPDX-License-Identifier: BSD-2-Clause
"""[[channel]]: PDs that signal each other."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cellreap import headers
from cellreap.system.config.values import Bool, Name
from cellreap.system.toml_tables import Table, expect

_IDS = headers.constant("image.h", "CR_IMAGE_MICROKIT_IDS")
_ChannelId = Annotated[int, Field(ge=0, lt=_IDS), expect(f"an integer from 0 to {_IDS - 1}")]


class End(Table):
    """[[channel.end]]: a PD that has the channel."""

    pd: Name
    """The PD."""
    id: _ChannelId | None = None
    """The number of the channel within the PD: what the other one signals has the bit 1 << id. No
    other channel of the PD has it. The default is the smallest number that no other one has.
    """
    notify: Bool = True
    """Whether it may signal the other one."""
    pp: Bool = False
    """For Microkit: whether it may call the other one. It requests the first space of the other
    one, which stands for these calls.
    """


class Channel(Table):
    """[[channel]]: two PDs that may signal each other. Neither depends on the other for that. When
    one comes back, both can signal as before: nothing that was signalled before reaches it, and
    each of the two is signalled once.
    """

    name: Name
    """Unique among the channels."""
    ends: Annotated[tuple[End, ...], Field(strict=False, alias="end")]
    """The two PDs."""
