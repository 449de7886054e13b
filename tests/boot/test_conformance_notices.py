# SPDX-License-Identifier: BSD-2-Clause
"""The conformance image notices: refkernel, damaged in one place, fails the check about that place."""

from __future__ import annotations

import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest
from target import ROOT_DIR

from cellreap.build import build_parts, build_tree, find_toolchain
from cellreap.conformance_cmd import boot_conformance
from cellreap.progress import Progress
from cellreap.refkernel import build_refkernel
from cellreap.sdk import Sdk, load_sdk

ARCH = "x86_64"
QUIET = Progress(quiet=True)

# file, what stands there once, what is put in its place, a check that must fail
DAMAGES = {
    "signals_overwrite": (
        "core/ipc.c",
        "notification->badge |= badge;",
        "notification->badge = badge;",
        "signals-add-up",
    ),
    "cancelling_takes_all_badges": (
        "core/ipc.c",
        "tcb->state == STATE_SENDING && tcb->badge == badge",
        "tcb->state == STATE_SENDING && (tcb->badge == badge || true)",
        "cancel-sends-takes-messages-of-one-badge",
    ),
    "handlers_need_no_rights": (
        "core/fault.c",
        "(handler->rights & grants) == 0",
        "grants == 0",
        "fault-handler-needs-rights",
    ),
    "badged_capabilities_have_no_children": (
        "core/slot.c",
        "bool original = badged || ",
        "bool original = (badged && false) || ",
        "revoke-badged-takes-copies",
    ),
    "who_is_resumed_goes_to_the_end": (
        "core/sched.c",
        "    if (tcb != current) {\n        enqueue(tcb, true);",
        "    if (tcb != current) {\n        enqueue(tcb, false);",
        "resumed-last-runs-first",
    ),
}


@cache
def sound() -> Sdk:
    """refkernel as it is."""
    return load_sdk(build_refkernel(ARCH, QUIET), ARCH)


def damaged(folder: Path, file: str, old: str, new: str) -> Sdk:
    """refkernel with one text in it replaced, built and installed below a folder."""
    sources = folder / "refkernel"
    shutil.copytree(ROOT_DIR / "refkernel", sources)
    text = (sources / file).read_text()
    assert text.count(old) == 1, f"{file}: the place to damage is not there, or more than once"
    (sources / file).write_text(text.replace(old, new))
    prefix = folder / "sdk"
    (folder / "build").mkdir()
    options = {"REFKERNEL_ARCH": ARCH, "CMAKE_INSTALL_PREFIX": str(prefix)}
    build_tree(sources, folder / "build", find_toolchain(ARCH), options, target="install")
    return load_sdk(prefix, ARCH)


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_noticed(name: str, tmp_path: Path) -> None:
    file, old, new, check = DAMAGES[name]
    toolchain = find_toolchain(ARCH)
    parts = build_parts(sound(), toolchain, QUIET)  # libsel4 is the same: so is the image
    sdk = damaged(tmp_path, file, old, new)
    with tempfile.TemporaryFile() as console:
        result = boot_conformance(sdk, toolchain, parts, console, timeout=40, idle=10)
    assert not result.passed
    assert check in {each.name for each in result.checks if not each.ok}
