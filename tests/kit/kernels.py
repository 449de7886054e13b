# SPDX-License-Identifier: BSD-2-Clause
"""Kernels that are installed beside those that `cellreap run` boots, and what a kernel has. Tests
skip without them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cellreap.system.sdk import (
    MICROKIT_VARIABLE,
    Sdk,
    board_of,
    data_folder,
    microkits_sdk,
    timer_missing,
)


def prefix_of(name: str) -> Path:
    """The folder of an SDK.

    name: a folder of $XDG_DATA_HOME/cellreap/sdk, a path, or BOARD/CONFIGURATION of Microkit's SDK.
    """
    if "/" in name and not name.startswith("/"):
        if microkits_sdk() is None:
            pytest.skip(f"{MICROKIT_VARIABLE} names no directory of Microkit's SDK")
        found = board_of(None, name)
        assert found is not None
        return found
    prefix = data_folder(os.environ) / "sdk" / name
    if not prefix.is_dir():
        pytest.skip(f"no {'MCS ' * ('-mcs' in name)}kernel: {prefix} is not there")
    return prefix


def needs_timer(sdk: Sdk) -> None:
    """Skips a test of what the system's own deadlines and delays do."""
    missing = timer_missing(sdk.options, sdk.kernel.arch)
    if missing is not None:
        pytest.skip(f"{sdk.kernel} leaves no timer to user level: it has no {missing}")
