# SPDX-License-Identifier: BSD-2-Clause
"""`cellreap capdl`: the capabilities after a cleanup, compared with what the kernel prints."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cellreap.runs.distribution import differences, distribution
from cellreap.system.capdl.objects import slot_number
from cellreap.system.sdk import Sdk
from cellreap.trace.events import Event
from cellreap.trace.reader import Reader, read
from kit.capdl_reader import read_capdl
from kit.command_line import cellreap, cellreap_json
from kit.muted import needs_debug
from kit.paths import BOOT_CONFIGS, CONFIGS
from kit.records import line_with


@dataclass(frozen=True)
class Booted:
    """A run whose image has the whole configuration in it."""

    trace: Path
    image: Path
    events: list[Event]

    def of(self, name: str, /, **fields: object) -> list[Event]:
        """The events with this name whose fields have these values."""
        return [
            event
            for event in self.events
            if event.name == name and all(event[key] == str(value) for key, value in fields.items())
        ]


def booted(name: str, sdk: Sdk, folder: Path, *options: str, more: str | None = None) -> Booted:
    """A run of configs/NAME.toml with the kernel's word, as a user makes it. more: it is one of the
    tests' configurations, with this text added.
    """
    needs_debug(sdk)
    path = (CONFIGS if more is None else BOOT_CONFIGS) / f"{name}.toml"
    text = path.read_text().replace("[system]", "[system]\ntruth = true", 1) + (more or "")
    config = folder / f"{name}.toml"
    config.write_text(text)
    where = ("--arch", sdk.kernel.arch, "--sdk", str(sdk.root), "-o", str(folder))
    done = cellreap("run", str(config), *where, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    trace = folder / f"{name}.trace"
    with trace.open("rb") as stream:
        events = list(read(Reader(str(trace)), stream))
    return Booted(trace, folder / f"{name}.img", events)


@pytest.fixture(scope="module")
def run(sdk: Sdk, tmp_path_factory: pytest.TempPathFactory) -> Booted:
    """The scenario, in which a server and its clients lose a space, because its own server ends."""
    folder = tmp_path_factory.mktemp("capdl")
    return booted("block_fs_db_app", sdk, folder, "--pd-depth", "0", "--rs-depth", "1")


def _destroyed(run: Booted) -> set[str]:
    return {e["node"] for e in run.of("STEP") if e["name"].startswith("destroy-")}


def _alive_after(run: Booted) -> set[str]:
    gone = _destroyed(run) | {"PD_0"}
    return {event["name"] for event in run.of("PD") if event["id"] not in gone}


def _id(run: Booted, name: str) -> str:
    (event,) = run.of("PD", name=name)
    return event["id"]


@pytest.mark.behaviour("H-10", "W-05")
def test_the_cspaces_are_those_of_the_kernel(run: Booted, sdk: Sdk) -> None:
    code, shown = cellreap_json("capdl", str(run.trace), "--after", "1", "--writer", "own")
    assert (code, shown["after"], shown["writer"], shown["problems"]) == (0, 1, "own", [])
    assert shown["compared"] == (sdk.kernel.name == "seL4")
    spec = read_capdl(shown["capdl"])
    assert {name.removeprefix("ut_") for name in spec.untypeds} == _alive_after(run)
    db = spec.caps["cspace_db"]
    assert {slot for slot in db if isinstance(slot, int) and slot >= 8} == _slots(run, "db")
    assert spec.arch == sdk.kernel.arch


def _slots(run: Booted, name: str) -> set[int]:
    """The slots that a PD was given before the cleanup and that the cleanup did not take."""
    pd = _id(run, name)
    before = run.events[: run.events.index(run.of("CLEANUP")[0])]
    lost = _destroyed(run)
    given = (e for e in before if e.made("HOLD", "REQUEST") and e["from"] == pd)
    return {
        event.number("number")
        for event in given
        if event["number"] != "0" and event["to"] not in lost
    }


@pytest.mark.behaviour("H-10", "W-05")
def test_what_a_later_pd_uses_again_has_other_badges(sdk: Sdk, tmp_path: Path) -> None:
    """Block server 1 ends, and the latecomer gets its memory and its place in the tables."""
    run = booted("second_crash", sdk, tmp_path)
    code, shown = cellreap_json("capdl", str(run.trace), "--after", "2", "--writer", "own")
    assert (code, shown["problems"]) == (0, [])
    assert shown["compared"] == (sdk.kernel.name == "seL4")
    spec = read_capdl(shown["capdl"])
    assert spec.caps["cspace_late"][1].numbers == {"badge": 1 << 60 | 2 << 32 | 1}
    assert spec.caps["root_cspace"][4].target == "body_late"


MORE = """
[[region]]
name = "ring"
size = 8192
[[region.map]]
pd = "left"
address = 0x20001000
writable = true
[[region.map]]
pd = "right"
address = 0x20001000
[[region]]
name = "heap"
size = 0x200000
page_size = 0x200000
[[region.map]]
pd = "left"
address = 0x40000000
writable = true
[[region]]
name = "clock"
size = 4096
physical = {physical}
[[region.map]]
pd = "left"
address = 0x20003000
writable = true
[[interrupt]]
name = "clock"
pd = "left"
number = {number}
trigger = "{trigger}"
bit = 20
"""
PORTS = """
[[port]]
name = "clock"
pd = "left"
first = 0x70
last = 0x71
"""
CLOCKS = {
    "x86_64": (MORE.format(physical="0xfed00000", number=8, trigger="edge") + PORTS),
    "aarch64": MORE.format(physical="0x9010000", number=34, trigger="level"),
}


@pytest.mark.behaviour("H-10", "W-05")
@pytest.mark.kernels.with_args(*CLOCKS)
def test_what_pds_have_beside_their_bodies(sdk: Sdk, tmp_path: Path) -> None:
    """Regions, a device, channels, an interrupt and ports. The CSpaces are those of the kernel."""
    arch = sdk.kernel.arch
    run = booted("channel", sdk, tmp_path, more=CLOCKS[arch])
    code, shown = cellreap_json("capdl", str(run.trace), "--after", "1", "--writer", "own")
    assert (code, shown["problems"]) == (0, [])
    assert shown["compared"] == (sdk.kernel.name == "seL4")
    spec = read_capdl(shown["capdl"])
    slots = spec.caps["cspace_left"].items()
    held = [cap.target for slot, cap in slots if isinstance(slot, int) and slot >= 8]
    assert held == ["ntfn_right"] * 3 + ["irq.clock"] + ["ports.clock"] * (arch == "x86_64")
    (signal,) = spec.caps["irq.clock"].values()
    assert (signal.target, signal.numbers) == ("ntfn_left", {"badge": 6 << 60 | 1 << 20})
    assert spec.interrupts == {1 if arch == "x86_64" else 34: "irq.clock"}
    tables = {name: table for name, table in spec.caps.items() if name.startswith(("pt_", "pd_"))}
    entries = sorted(
        (name.partition(".")[0], cap.target.partition(".")[2], cap.rights.strip("X"), cap.uncached)
        for name, table in tables.items()
        for cap in table.values()
        if cap.target.startswith("frame_MO")
    )
    assert entries == [
        ("pd_left", "0x0", "RW", False),
        *[("pt_left", "0x0", "RW", False), ("pt_left", "0x0", "RW", True)],
        *[("pt_left", "0x1", "RW", False), ("pt_right", "0x0", "R", False)],
        ("pt_right", "0x1", "R", False),
    ]
    sizes = Counter(thing.params.get("size") for name, thing in spec.objects.items()
                    if name.startswith("frame_MO"))  # fmt: skip
    assert sizes == {0x1000: 3, 0x20_0000: 1}
    physical = {thing.params.get("paddr") for thing in spec.objects.values()} - {None}
    assert physical == {{"x86_64": 0xFED0_0000, "aarch64": 0x901_0000}[arch]}


@pytest.mark.behaviour("W-05")
def test_a_description_that_differs_from_the_kernel_is_told_apart(run: Booted, sdk: Sdk) -> None:
    if sdk.kernel.name != "seL4":
        pytest.skip(f"{sdk.kernel.name} takes no snapshots")
    found = distribution(run.trace, run.image, 1)
    made, pds = found.made, found.pds
    assert made is not None
    assert differences(made, pds, found.snapshot) == []
    holder = "cspace_db"
    *others, last = sorted(made.caps[holder], key=lambda cap: (bool(cap.params), slot_number(cap)))
    moved = replace(last, slot=slot_number(last) + 1)
    badge = replace(last, params=(last.params[0], "badge: 0x1"))
    rights = replace(last, params=("RWP", *last.params[1:]))
    for wrong in ((*others,), (*others, moved), (*others, badge), (*others, rights)):
        other = replace(made, caps={**made.caps, holder: wrong})
        told = differences(other, pds, found.snapshot)
        assert told
        assert all(f"of {_id(run, 'db')}" in text for text in told)


@pytest.mark.behaviour("H-10")
def test_the_text_is_written_to_a_file(run: Booted, tmp_path: Path) -> None:
    out = tmp_path / "after.cdl"
    done = cellreap("capdl", str(run.trace), "--after", "1", "-o", str(out), "--writer", "own")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    printed = cellreap("capdl", str(run.trace), "--after", "1", "--writer", "own")
    assert printed.stdout == out.read_text()


@pytest.mark.behaviour("H-10")
def test_bad_input_is_told_in_one_line(run: Booted, tmp_path: Path) -> None:
    alone = tmp_path / "alone.trace"
    shutil.copy(run.trace, alone)
    junk = tmp_path / "junk.img"
    junk.write_bytes(b"PK\x03\x04 junk")
    for arguments, said in (
        ((str(run.trace), "--after", "2"), "--after 2: expected a cleanup of"),
        ((str(run.trace), "--after", "0"), "'--after'"),
        ((str(run.trace),), "'--after'"),
        ((str(alone), "--after", "1"), "no --image, and there is no"),
        ((str(alone), "--after", "1", "--image", str(junk)), "junk.img: is no image"),
        ((str(alone), "--after", "1", "--image", str(tmp_path / "no")), "No such file"),
        ((str(tmp_path / "no"), "--after", "1", "--image", str(run.image)), "cannot be read"),
        ((str(run.image), "--after", "1", "--image", str(run.image)), "no sound TRACE line"),
    ):
        done = cellreap("capdl", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert said in done.stderr, done.stderr
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.mark.behaviour("H-10")
def test_a_trace_that_does_not_pass_is_not_described(run: Booted, tmp_path: Path) -> None:
    console = run.trace.read_bytes().split(b"\n")
    at = line_with(console, "STEP")
    cut = tmp_path / "cut.trace"
    cut.write_bytes(b"\n".join([*console[:at], *console[at + 1 :]]))
    done = cellreap("capdl", str(cut), "--after", "1", "--image", str(run.image))
    assert (done.returncode, done.stdout) == (1, "")
    assert "cut.trace:" in done.stderr
