# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark of three stacked servers, tests/boot/configs/stack.toml."""

from __future__ import annotations

from typing import Final

CALLS: Final = {
    # The block server goes, and its blocks with it: its endpoint is deleted.
    0: {"delete": 1, "read-registers": 2, "resume": 1, "revoke": 2, "signal": 2, "suspend": 1},
    # Files and tables go too, whose servers live: each is taken from its holders.
    2: {
        "cancel-sends": 33,
        "delete": 34,
        "read-registers": 2,
        "resume": 1,
        "revoke": 35,
        "signal": 5,
        "suspend": 1,
    },
}
"""The kernel calls of the cleanup after the lowest server, by rs_depth and kind."""
