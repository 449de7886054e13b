# SPDX-License-Identifier: BSD-2-Clause
"""Kernels without debug calls, as people deploy them: the root task has a console of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellreap.headers import source_root
from cellreap.runs.boot import End, boot_image
from cellreap.system.image import read_image
from cellreap.system.sdk import Sdk
from cellreap.testing import NoDebug, Run, Target, with_bench, with_pd, with_system
from cellreap.trace.frames import MARK
from kit.counted import SLOW_COUNTED
from kit.image_members import damage
from kit.muted import muted
from kit.paths import BOOT_CONFIGS, CONFIGS
from kit.planted import run_planted
from kit.records import events_in
from mutation.copies import Copy, files_of


@pytest.fixture(scope="module")
def plain(sdk: Sdk, tmp_path_factory: pytest.TempPathFactory) -> Target:
    """A target whose root task uses no debug call."""
    if sdk.kernel.name == "refkernel" and sdk.kernel.arch == "aarch64":
        pytest.skip("no seL4 SDK, and refkernel hands out no UART on aarch64")
    folder = tmp_path_factory.mktemp("plain")
    return Target(muted(sdk, folder / "sdk"), folder, [CONFIGS, BOOT_CONFIGS])


def outcome(run: Run) -> list[object]:
    """What each cleanup of a run planned, and the kernel calls that it made."""
    return [(cleanup.plan, cleanup.kernel_calls) for cleanup in run.report.cleanups]


@pytest.mark.behaviour("Y-06", "C-02")
def test_a_cleanup_is_the_same_and_told_through_another_console(
    plain: Target, target: Target
) -> None:
    run = plain.run("block_fs_db_app", rs_depth=1)
    assert outcome(run) == outcome(target.run("block_fs_db_app", rs_depth=1))
    assert run.deleted_spaces() == {"disk1", "files"}


@pytest.mark.behaviour("C-05")
def test_a_long_trace_comes_whole(plain: Target) -> None:
    """The writer has no IPC buffer, and asks the UART for room many times."""
    run = plain.run("throng", change=with_pd("keeper", args=(8, 300)))
    assert (run.boot.events > 1_000, run.boot.bytes > 10_000) == (True, True)
    assert run.says("client") == ["40 operations"]


def test_a_panic_before_anything_is_set_up_is_heard(plain: Target, tmp_path: Path) -> None:
    damage(plain.image("block_fs_db_app"), b"block_server_2\0", tmp_path / "damaged.img")
    with (tmp_path / "damaged.trace").open("wb") as trace:
        boot = boot_image(read_image(tmp_path / "damaged.img"), trace, timeout=600, idle=90)
    assert boot.end is End.FATAL
    assert boot.detail.startswith("cellreap: panic: the configuration in the image is not valid")


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.behaviour("C-14")
def test_a_panic_amid_a_cleanup_stops_all_pds(
    plain: Target, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The kernel cannot halt the machine. PDs run while the cleaner does, until it panics."""
    root = source_root()
    files = files_of(root)
    carry = "roottask/supervisor/execution.c"
    begin = "static void note_beginning(const cr_step *step)\n{\n"
    assert files[carry].decode().count(begin) == 1
    panic = f'{begin}    if (step->kind == CR_STEP_DESTROY_PD) {{ cr_panic("planted", 7); }}\n'
    folder = tmp_path_factory.mktemp("planted")
    copy = Copy(root, files, folder)
    copy.plant({carry: files[carry].decode().replace(begin, panic).encode()})
    where = ("--arch", plain.sdk.kernel.arch, "--sdk", str(plain.sdk.root))
    counted = ("--qemu-arg", " ".join(SLOW_COUNTED))
    boot = run_planted(copy, BOOT_CONFIGS / "throng.toml", *where, *counted)["boot"]
    assert (boot["end"], boot["detail"]) == ("fatal", "cellreap: panic: planted 0x7")
    console = (folder / "throng.trace").read_text()
    _, after = console.split("cellreap: panic: planted 0x7\n")
    assert MARK.decode() not in after, "nothing happens any more"
    events, _ = events_in(console.encode())
    assert len(events) > 10
    assert "TAKEOVER" not in {event.name for event in events}


def test_what_only_a_debug_kernel_tells_is_not_asked(plain: Target) -> None:
    for change in (with_system(truth=True), with_bench(snapshot=True)):
        with pytest.raises(NoDebug, match="does not tell what it holds"):
            plain.run("block_fs_db_app", change=change)
