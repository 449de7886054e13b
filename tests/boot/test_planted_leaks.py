# SPDX-License-Identifier: BSD-2-Clause
"""Leaks in the kernel that the root task does not tell are found by what the kernel says.

A copy of the root task's sources has all leaks, and is booted once on each architecture.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from cellreap import headers
from cellreap.headers import source_root
from cellreap.system.sdk import Sdk, installed_sdk, load_sdk
from cellreap.trace.reader import Reader, read
from kit.arches import ARCHES
from kit.kernels import prefix_of
from kit.marks import thorough_but
from kit.muted import needs_debug
from kit.paths import CONFIGS, LEAKS
from kit.planted import run_planted
from mutation.copies import Copy, files_of
from mutation.faults import Fault, edited, read_named

pytestmark = pytest.mark.slow

SCENARIO: Final = "block_fs_db_app"
SNAPSHOT: Final = "the snapshot of the kernel: "


@dataclass(frozen=True)
class Leak:
    """What a snapshot and a walk say of a leak: rule and regular expression."""

    snapshot: tuple[str, str]
    walk: tuple[str, str]


def _kept(pd: str, slot: int) -> Leak:
    return Leak(
        ("caps", rf"{pd}: slot {slot} has ep .*: expected it to be empty"),
        ("walk", rf"CAPS: {pd}: its CSpace: slot {slot} is an endpoint: expected empty"),
    )


# PD_4 is the database and PD_5 the app.
FOUND: Final = {
    "the holder of a deleted resource keeps its capability": _kept("PD_5", 9),
    "the app keeps its capability to request from a deleted space": _kept("PD_5", 8),
    "the capability of the database is not derived from its parent, so no revoke reaches it": (
        _kept("PD_4", 8)
    ),
    "the body of a destroyed PD stays": Leak(
        ("threads", r"a thread 'rootserver' of priority \d+ belongs to no PD"),
        ("memory", r"UNTYPEDS: bytes=\d+: \d+ bytes are in use and belong to nobody"),
    ),
    "the root task keeps a capability to an object of each kind, and an untyped": Leak(
        ("own", r"the pool has ep .*, which belongs to nothing"),
        ("own", r"OWN_CAPS: cnode=pool: \d+ of an endpoint: 1 too many"),
    ),
}
KINDS: Final = {
    "endpoint": ("an endpoint", "ep"),
    "untyped": ("an untyped", "0x[0-9a-f]+_untyped"),
    "thread": ("a thread", "0x[0-9a-f]+_tcb"),
    "cnode": ("a CNode", "cnode at 0x"),
    "notification": ("a notification", "notification"),
    "vspace": ("something else", "0x[0-9a-f]+_(pd|asid)"),
    "table": ("something else", "(pt|pd|pdpt)_0x"),
}
"""Kind of object -> what a walk says of one that the root task keeps, and a snapshot."""
_WITH_MCS: Final = {
    "sched-context": ("something else", "0x[0-9a-f]+_sc"),
    "reply": ("something else", "0x[0-9a-f]+_reply"),
}
MCS: Final = ("x86_64-mcs", "aarch64-mcs")
_ELSEWHERE: Final = {
    "frame": "test_planted_memory_leaks.py: seL4 takes no snapshot with one that is not mapped",
    "large-frame": "as a frame",
    "irq-handler": "test_target_devices.py, with I/O ports",
    "asid": "no capability: the kernel takes it back with the address space",
}


@dataclass(frozen=True)
class Planted:
    """What the check found in a boot with all leaks."""

    before: list[str]  # until the end of the cleanup
    snapshot: list[str]  # rule and text
    walk: list[str]
    other: list[str]


@pytest.fixture(scope="module")
def planted(
    tmp_path_factory: pytest.TempPathFactory, sdk_of: Callable[[str], Sdk]
) -> Callable[[str, str], Planted]:
    """The boot on a kernel, with a line of [system]."""
    root = source_root()
    files = files_of(root)
    leaks = read_named(LEAKS, files)
    assert {leak.name for leak in leaks} == FOUND.keys()
    copy = Copy(root, files, tmp_path_factory.mktemp("planted"))
    every = Fault("all leaks", tuple(edit for leak in leaks for edit in leak.edits), named=True)
    copy.plant(edited(files, every))

    @cache
    def boot(kernel: str, key: str) -> Planted:
        sdk = sdk_of(kernel) if kernel in ARCHES else _with_mcs(kernel)
        needs_debug(sdk)
        return _boot(copy, sdk, f"leaks-{kernel}-{len(key)}", key)

    return boot


def _with_mcs(kernel: str) -> Sdk:
    return load_sdk(prefix_of(kernel), kernel.removesuffix("-mcs"))


def _boot(copy: Copy, sdk: Sdk, name: str, key: str) -> Planted:
    config = copy.folder / f"{name}.toml"
    text = (CONFIGS / f"{SCENARIO}.toml").read_text()
    config.write_text(text.replace(f'name = "{SCENARIO}"', f'name = "{name}"\n{key}', 1))
    options = ("--arch", sdk.kernel.arch, "--sdk", str(sdk.root))
    shown = run_planted(copy, config, *options, "--rs-depth", "2")
    assert shown["verdict"] == "fail"
    return _sorted(shown["violations"], copy.folder / f"{name}.trace")


def _sorted(violations: list[str], trace: Path) -> Planted:
    with trace.open("rb") as stream:
        events = list(read(Reader(trace.name), stream))
    (settled,) = [event.line for event in events if event.name == "SETTLED" and event["n"] == "1"]
    found = Planted([], [], [], [])
    for violation in violations:
        match = re.fullmatch(r".*?(\d+): ([a-z._]+): (.*)", violation)
        assert match, violation
        line, rule, text = int(match[1]), match[2], match[3]
        if line <= settled:
            found.before.append(violation)
        elif not rule.startswith("truth."):
            found.other.append(violation)
        elif text.startswith(SNAPSHOT):
            found.snapshot.append(f"{rule}: {text.removeprefix(SNAPSHOT)}")
        else:
            found.walk.append(f"{rule}: {text}")
    return found


def rule(violation: str) -> str:
    """The id of the rule."""
    return violation.split(": ")[1]


def _finds(texts: list[str], finding: tuple[str, str]) -> bool:
    kind, pattern = finding
    return any(re.fullmatch(rf"truth\.{kind}: {pattern}", text) for text in texts)


@pytest.mark.behaviour("H-10")
@pytest.mark.parametrize(
    ("arch", "leak"),
    thorough_but(
        [(arch, leak) for arch in ARCHES for leak in FOUND],
        *((ARCHES[0], leak) for leak in FOUND),
    ),
)
def test_each_leak_is_found_by_the_snapshot_and_by_the_walk(
    planted: Callable[[str, str], Planted], arch: str, leak: str
) -> None:
    found = planted(arch, "truth = true")
    # The root task's own count of objects tells of the body, and nothing else could tell.
    assert {rule(violation) for violation in found.before + found.other} == {"memory.objects"}
    assert _finds(found.walk, FOUND[leak].walk), found
    if installed_sdk(arch) is not None:  # refkernel takes no snapshots
        assert _finds(found.snapshot, FOUND[leak].snapshot), found


@pytest.mark.behaviour("H-10", "S-14")
@pytest.mark.parametrize("leak", FOUND)
def test_each_leak_is_found_by_a_run_that_asks_for_nothing(
    planted: Callable[[str, str], Planted], leak: str
) -> None:
    """Without snapshots, no slots are looked into that the root task never used."""
    if installed_sdk("x86_64") is None:
        pytest.skip("no seL4 for x86_64 is installed: refkernel takes no snapshots")
    found = planted("x86_64", "")
    assert _finds(found.walk, FOUND[leak].walk) or _finds(found.snapshot, FOUND[leak].snapshot)


def test_each_kind_of_object_is_among_the_leaks() -> None:
    """Also one that is new. What is mapped is in test_planted_memory_leaks.py."""
    kinds = headers.printed_names("trace_events.h", "CR_OBJECT").keys() | {"untyped"}
    assert kinds == KINDS.keys() | _WITH_MCS.keys() | _ELSEWHERE.keys()


@pytest.mark.behaviour("H-10")
@pytest.mark.parametrize("kernel", thorough_but([*ARCHES, *MCS], ARCHES[0]))
def test_an_object_of_each_kind_is_found(
    planted: Callable[[str, str], Planted], kernel: str
) -> None:
    """The walk counts all of them, and the snapshot names each."""
    found = planted(kernel, "truth = true")
    kinds = KINDS | (_WITH_MCS if kernel in MCS else {})
    walks = [walk for walk, _ in kinds.values()]
    for walk in walks:
        wanted = rf"OWN_CAPS: cnode=pool: \d+ of {walk}: {walks.count(walk)} too many"
        assert _finds(found.walk, ("own", wanted)), (walk, found.walk)
    for _, snapshot in kinds.values() if kernel in MCS or installed_sdk(kernel) is not None else ():
        wanted = rf"the pool has {snapshot}.*, which belongs to nothing"
        assert _finds(found.snapshot, ("own", wanted)), (snapshot, found.snapshot)
