# SPDX-License-Identifier: BSD-2-Clause
"""The conformance checks detect a wrong kernel: refkernel, damaged in one place at a time."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from cellreap.cli.conformance_cmd import run_conformance
from cellreap.headers import source_root
from cellreap.progress import Progress
from cellreap.system.refkernel import build_refkernel
from cellreap.system.sdk import Sdk, load_sdk
from cellreap.system.toolchain import build_tree, find_toolchain

ARCH = "x86_64"
QUIET = Progress(quiet=True)
SOURCES = source_root() / "refkernel"


@dataclass(frozen=True)
class Damage:
    """Text of a file below core/, its replacement, and a check that must fail."""

    file: str
    old: str
    new: str
    check: str | None = None


DAMAGES = {
    "copies-are-no-children": Damage(
        "slot.c", "(uint16_t)(from->level + ((from->rights & CAP_ORIGINAL) != 0))", "from->level"
    ),
    "badges-can-be-changed": Damage("slot.c", "if (keep || cap.data != 0)", "if (keep)"),
    "objects-outlive-their-capabilities": Damage(
        "slot.c",
        "*last = slot_is_last(slot);",
        "*last = cap.type == CAP_CNODE && slot_is_last(slot);",
    ),
    "untyped-is-never-whole-again": Damage(
        "untyped.c", "slot_has_children(untyped) ? untyped->data : 0", "untyped->data"
    ),
    "objects-are-not-cleared": Damage(
        "untyped.c",
        "if (type != seL4_UntypedObject && !device) {",
        "if (type == seL4_CapTableObject) {",
    ),
    "no-badge-is-cancelled": Damage(
        "ipc.c", "tcb->state == STATE_SENDING && tcb->badge == badge", "tcb->badge != badge"
    ),
    "reply-capability-outlives-the-call": Damage(
        "ipc.c", "if (tcb->reply_slot != 0) {", "if (false) {"
    ),
    "bound-notification-is-forgotten": Damage(
        "ipc.c", "if (take_signal(to, to->bound)) {", "if (false) {"
    ),
    "deleted-frames-stay-mapped": Damage(
        "vspace.c", "if (cap->type == CAP_FRAME || (last", "if ((last"
    ),
    "capabilities-are-not-unwrapped": Damage("message.c", "cap->object == (word)endpoint", "false"),
    "nobody-is-preempted": Damage(
        "sched.c", "if (current != 0 && --current->slice == 0) {", "if (false) {"
    ),
    "who-yields-goes-behind-one-only": Damage(
        "sched.c",
        "    enqueue(current, false);\n",
        "    struct tcb *first = ready[current->priority].head;\n"
        "    if (first != 0) dequeue(first);\n"
        "    enqueue(current, true);\n"
        "    if (first != 0) enqueue(first, true);\n",
        "woken-thread-that-yields-lets-all-equals-run",
    ),
    "acknowledged-interrupts-stay-masked": Damage(
        "interrupt.c",
        "case IRQAckIRQ:\n        arch_interrupt_mask(number, false);",
        "case IRQAckIRQ:",
    ),
    "interrupts-need-no-acknowledgement": Damage(
        "interrupt.c", "arch_interrupt_mask(number, true);\n    if", "if"
    ),
    "interrupts-have-no-badge": Damage(
        "interrupt.c",
        "(struct notification *)targets[number].object, targets[number].data",
        "(struct notification *)targets[number].object, 0",
    ),
    "handlers-are-not-exclusive": Damage(
        "interrupt.c", "error == seL4_NoError && issued[request.number]", "false"
    ),
    "an-interrupt-is-never-free-again": Damage("interrupt.c", "issued[number] = false;", ""),
}


@pytest.fixture(scope="module")
def whole() -> Sdk:
    """The undamaged refkernel."""
    return load_sdk(build_refkernel(ARCH, QUIET), ARCH)


def failed(sdk: Sdk, timeout: float = 20, idle: float = 4) -> list[str]:
    """The checks that a kernel fails, and the complaints about its run.

    The limits are in seconds. They are short because a damaged kernel may hang.
    """
    with tempfile.TemporaryFile() as console:
        result = run_conformance(sdk, console, QUIET, extra=(), timeout=timeout, idle=idle)
    return [check.name for check in result.checks if not check.ok] + list(result.complaints)


@pytest.mark.slow
def test_nothing_is_wrong_with_it_whole(whole: Sdk) -> None:
    assert failed(whole, timeout=600, idle=90) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(damage, id=name, marks=[pytest.mark.thorough] if i % 20 else [])
        for i, (name, damage) in enumerate(DAMAGES.items())
    ],
)
def test_damage_is_noticed(whole: Sdk, damage: Damage, tmp_path: Path) -> None:
    shutil.copytree(SOURCES, tmp_path / "refkernel")
    shutil.copytree(SOURCES.parent / "platforms", tmp_path / "platforms")
    source = tmp_path / "refkernel" / "core" / damage.file
    text = source.read_text()
    assert text.count(damage.old) == 1
    source.write_text(text.replace(damage.old, damage.new))
    options = {
        "REFKERNEL_ARCH": ARCH,
        "CMAKE_INSTALL_PREFIX": str(tmp_path / "sdk"),
        "CMAKE_C_FLAGS": "-Wno-error",  # a damaged kernel may have unused parts
    }
    build_tree(
        tmp_path / "refkernel", tmp_path / "build", find_toolchain(ARCH), options, target="install"
    )
    broken = load_sdk(tmp_path / "sdk", ARCH)
    assert broken.kernel.sha256 != whole.kernel.sha256
    # The headers are the same, so the image that was built for the undamaged kernel is booted.
    wrong = failed(dataclasses.replace(broken, digest=whole.digest))
    assert wrong != []
    assert damage.check is None or damage.check in wrong
