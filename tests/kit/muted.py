# SPDX-License-Identifier: BSD-2-Clause
"""An SDK whose root task uses no debug call, not even to print.

Its kernel is one that has them. To the root task it is a kernel without: libsel4 declares what the
configuration says. So what such kernels need can be tried wherever there is any kernel.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from cellreap.system.sdk import CONFIG_FILE, Sdk, debug_missing, load_sdk

MUTED = ("DEBUG_BUILD", "PRINTING")


def pds_print(sdk: Sdk) -> bool:
    """Whether the kernel prints what any PD asks it to print."""
    return sdk.options["PRINTING"] is True


def needs_debug(sdk: Sdk) -> None:
    """Skips a test if the kernel has no debug calls."""
    missing = debug_missing(sdk.options)
    if missing is not None:
        pytest.skip(f"{sdk.kernel} has no debug calls: {missing} is off")


def muted(sdk: Sdk, folder: Path) -> Sdk:
    """A copy of an SDK in a new folder, whose configuration has no debug calls.

    The SDK itself if its kernel has none.
    """
    on = [key for key in MUTED if sdk.options[key] is True]
    if not on:
        return sdk
    shutil.copytree(sdk.root, folder)
    options = json.loads((folder / CONFIG_FILE).read_text())
    (folder / CONFIG_FILE).write_text(json.dumps({**options, **dict.fromkeys(MUTED, False)}))
    header = (folder / CONFIG_FILE).with_suffix(".h")
    text, count = re.subn(rf"#define CONFIG_({'|'.join(on)}) +1\n", "", header.read_text())
    assert count == len(on)
    header.write_text(text)
    return load_sdk(folder, sdk.kernel.arch)
