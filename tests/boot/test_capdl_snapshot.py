# SPDX-License-Identifier: BSD-2-Clause
"""system.cdl agrees with the kernel: it is compared with seL4_DebugSnapshot, object by object.

The address of every object follows from the address of each PD's untyped (BODY in the trace) and
from the order and the sizes in system.cdl. The kernel prints an object under a name that it derives
from the address. What the kernel prints must equal system.cdl, with nothing missing and nothing
added.

The kernel prints neither the bound notification nor the fault endpoint of a thread, and only CNodes
that are in some thread's own CSpace. Of the CNodes with the root task's capabilities, the test
therefore checks only place and size, by means of the objects behind them.
"""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from cellreap.progress import Progress
from cellreap.runs.boot import End, boot_image
from cellreap.system.build import build_image
from cellreap.system.config import parse_config
from cellreap.system.image import read_image
from cellreap.system.sdk import Sdk
from kit.capdl_reader import Held, Spec, read_capdl
from kit.muted import needs_debug
from kit.records import events_in

CONFIG = """
[system]
name = "snapshot"
truth = false
[bench]
snapshot = true
[[pd]]
name = "watch"
program = "idler"
cspace_bits = 6
[[pd]]
name = "late"
program = "idler"
start = "after-cleanup"
[[pd]]
name = "watch_1"
program = "block_server"
fault_handler = "watch"
holds_pds = ["late", "app", "watch"]
priority = 90
stack_pages = 3
[[pd.space]]
name = "disk"
type = "BLOCK"
[[pd]]
name = "app"
program = "file_server"
requests = ["disk"]
holds_pds = ["watch"]
cspace_bits = 10
stack_pages = 64
priority = 200
[[pd.space]]
name = "files"
type = "FILE"
"""

# For x86_64, as its libsel4 defines them in sel4_arch/constants.h. The kernel's object sizes are
# part of its API.
KERNEL_WINDOW = 0xFFFF_FF80_0000_0000  # PPTR_BASE: where the kernel maps physical memory
KERNEL_ENTRY = 511  # the kernel's entry in a PML4
SIZES = {"tcb": 1 << 11, "ep": 1 << 4, "notification": 1 << 5, "frame": 4096}
SIZES |= {"sc": 1 << 7, "rtreply": 1 << 5}
SIZES |= dict.fromkeys(("pml4", "pdpt", "pd", "pt"), 4096)
# A TCB begins with its capabilities. The kernel prints the address of what follows them.
TCB_OFFSET = 1 << 10
SLOT = 1 << 5
HEX = ("addr", "ip", "sp")
THREAD = (*HEX, "prio", "max_prio", "dom")
FAULT_EP = re.compile(r"(?<=, )fault_ep: 0x\w+, ")
"""With MCS, the kernel prints it with the thread and again in its slot."""


@dataclass
class Printed:
    """What a snapshot says, without the kernel's own part of each address space."""

    objects: dict[str, str] = field(default_factory=dict)  # name -> type and parameters
    caps: dict[str, dict[str, str]] = field(default_factory=dict)  # holder -> slot -> capability


def read_snapshot(console: str) -> Printed:
    """Extracts a snapshot from the text of a console."""
    lines = console.replace("\r", "").split("\n")
    start = lines.index("arch x86_64")
    assert lines[start + 1] == "objects {"
    middle = lines.index("caps {", start)
    assert lines[middle - 1] == "}"
    end = lines.index("irq maps {", middle)
    assert lines[end - 1] == "}"
    printed = Printed()
    kernels = False
    for line in lines[start + 2 : middle - 1]:
        name, _, rest = line.partition(" = ")
        # The last entry of the PML4 leads to the kernel's tables and frames.
        kernels = (kernels and name.startswith(("pd_", "pt_", "frame_"))) or _is_kernels(name)
        if not kernels:
            rest = FAULT_EP.sub("", rest)
            assert printed.objects.setdefault(name, rest) == rest
    holder = ""
    for line in lines[middle + 1 : end - 1]:
        opened = re.fullmatch(r"(\S+) \{", line)
        if opened:
            holder = opened[1]
            kernels = (kernels and holder.startswith(("pd_", "pt_"))) or _is_kernels(holder)
            if not kernels:
                assert holder not in printed.caps
                printed.caps[holder] = {}
        elif line != "}" and not kernels:
            slot, _, cap = line.partition(": ")
            if not _is_kernels(cap):
                assert slot not in printed.caps[holder]
                printed.caps[holder][slot] = cap.strip()
    return printed


def _is_kernels(name: str) -> bool:
    return name.startswith("pdpt_") and name.endswith(f"_{KERNEL_ENTRY:04d}")


def expected(spec: Spec, bodies: dict[str, tuple[int, int]], root_ep: str) -> Printed:
    """What the kernel must print.

    `bodies`: address and bytes of each PD's untyped, by the PD's name.
    """
    mcs = any(thing.kind == "sc" for thing in spec.objects.values())
    sizes = SIZES | ({"notification": 1 << 6} if mcs else {})
    address: dict[str, int] = {}
    names = {"root_ep": root_ep}
    printed = Printed({root_ep: "ep"})
    for untyped, (bits, covered) in spec.untypeds.items():
        base, size = bodies[untyped.removeprefix("ut_")]
        assert size == 1 << bits
        at = base
        for name in covered:
            thing = spec.objects[name]
            size = sizes[thing.kind] if thing.kind != "cnode" else SLOT << int(thing.params["bits"])
            at += -at % size
            address[name] = at
            at += size
        assert base < at <= base + (1 << bits)
        assert at > base + (1 << bits - 1)  # a smaller untyped would be too small
    for name, at in address.items():
        high, kind = at + KERNEL_WINDOW, spec.objects[name].kind
        if kind == "tcb":
            names[name] = f"{high + TCB_OFFSET:#x}_tcb"
        elif kind in ("ep", "notification", "cnode", "sc", "rtreply"):
            names[name] = f"{high:#x}_{kind.removeprefix('rt')}"
        elif kind == "pml4":
            names[name] = f"{high:#x}_pd"
    # Tables and frames are named after the entry that maps them.
    for holder, slots in spec.caps.items():
        if spec.objects[holder].kind in ("pml4", "pdpt", "pd", "pt"):
            for slot, held in slots.items():
                assert isinstance(slot, int)
                assert held.target not in names
                entry = address[holder] + KERNEL_WINDOW + 8 * slot
                names[held.target] = f"{spec.objects[held.target].kind}_{entry:#x}_{slot:04d}"
    for name in address:
        thing = spec.objects[name]
        if thing.kind == "tcb":
            values = [(key, thing.params[key]) for key in THREAD]
            shown = ", ".join(
                f"{key}: {value:#x}" if key in ("addr", "ip", "sp") else f"{key}: {value}"
                for key, value in values
            )
            printed.objects[names[name]] = f"tcb ({shown})"
        elif thing.kind == "cnode":
            if not name.startswith("body_"):
                printed.objects[names[name]] = f"cnode ({thing.params['bits']} bits)"
        elif thing.kind == "frame":
            # the kernel prints 0x twice
            printed.objects[names[name]] = f"frame (4k, paddr: 0x{address[name]:#x})"
        elif thing.kind != "sc":  # in no CSpace
            printed.objects[names[name]] = thing.kind
    for holder, slots in spec.caps.items():
        if holder == "root_cspace" or holder.startswith("body_"):
            continue
        mine = printed.caps[names[holder]] = {}
        for slot, held in slots.items():
            if slot == "reply_slot":
                assert held == Held(holder, master_reply=True)
                mine[slot] = names[holder].replace("_tcb", "_reply")
            elif slot == "ipc_buffer_slot":  # printed with the rights of the mapping
                mapped = next(
                    h
                    for slots in spec.caps.values()
                    for h in slots.values()
                    if _maps(spec, h, held)
                )
                mine[slot] = _cap(names[held.target], mapped)
            elif slot != "bound_notification":
                mine[slot if isinstance(slot, str) else hex(slot)] = _cap(names[held.target], held)
    return printed


def _maps(spec: Spec, held: Held, frame: Held) -> bool:
    return held.target == frame.target and "X" in held.rights


def _cap(name: str, held: Held) -> str:
    """A capability as the kernel prints it.

    Rights are in the kernel's order, badges in decimal, and only CNodes have guards.
    """
    rights = "".join(letter for letter in "RWGXP" if letter in held.rights)
    params = [rights] if rights else []
    params += [f"{key}: {value}" for key, value in held.numbers.items()]
    return f"{name} ({', '.join(params)})" if params else name


@pytest.fixture(scope="module")
def run(sdk: Sdk, tmp_path_factory: pytest.TempPathFactory) -> tuple[Spec, str]:
    """The system.cdl of an image, and the console of a boot of the image."""
    if sdk.kernel.name != "seL4":
        pytest.skip(f"{sdk.kernel.name} takes no snapshots")
    needs_debug(sdk)
    if sdk.kernel.arch != "x86_64":
        # seL4 16.0.0 and later take 4 KiB pages for larger ones (pte_pte_page_ptr_get_SH).
        pytest.skip(f"seL4_DebugSnapshot stops in an assertion of its own on {sdk.kernel.arch}")
    path = tmp_path_factory.mktemp("snapshot") / "snapshot.img"
    config = parse_config(CONFIG, Path("snapshot.toml"))
    build_image(config, CONFIG, sdk, path, Progress(quiet=True))
    console = io.BytesIO()
    boot = boot_image(read_image(path), console)
    assert boot.end is End.COMPLETE, str(boot)
    with zipfile.ZipFile(path) as archive:
        return read_capdl(archive.read("system.cdl").decode()), console.getvalue().decode()


def bodies_of(console: str) -> dict[str, tuple[int, int]]:
    """Address and bytes of each PD's untyped, by the PD's name.

    No PD crashes, so the list is complete.
    """
    events, _ = events_in(console.encode())
    names = {event["id"]: event["name"] for event in events if event.name == "PD"}
    found = {
        names[event["of"]]: (event.number("paddr"), event.number("bytes"))
        for event in events
        if event.name == "BODY"
    }
    assert sorted(found) == ["app", "watch", "watch_1"]
    return found


def test_the_kernel_has_what_the_description_says(run: tuple[Spec, str]) -> None:
    spec, console = run
    printed = read_snapshot(console)
    bodies = bodies_of(console)
    assert {untyped.removeprefix("ut_") for untyped in spec.untypeds} == {"watch", "watch_1", "app"}
    # Only the address of the root task's own endpoint is unknown. It must be the same for all PDs.
    root_eps = {
        cap.split()[0]
        for holder, slots in printed.caps.items()
        for slot, cap in slots.items()
        if holder.endswith("_cnode") and slot == "0x1"
    }
    assert len(root_eps) == 1
    wanted = expected(spec, bodies, root_eps.pop())
    assert printed.objects == wanted.objects
    assert printed.caps == wanted.caps


def test_a_description_that_is_off_by_a_little_is_told_apart(run: tuple[Spec, str]) -> None:
    """Each part of the comparison above detects a fault in that part of a description."""
    spec, console = run
    printed, bodies = read_snapshot(console), bodies_of(console)
    root_ep = next(
        name for name in printed.objects if name.endswith("_ep") and _users(printed, name) > 5
    )
    right = expected(spec, bodies, root_ep)
    assert (printed.objects, printed.caps) == (right.objects, right.caps)
    slots = spec.caps["cspace_watch_1"]
    for wrong in (
        {**slots, 1: Held("root_ep", "GPW", {"badge": slots[1].numbers["badge"] + 1})},
        {**slots, 2: Held("ep_watch_1", "RW")},
        {**slots, 4: Held("ep_watch", "PW", slots[4].numbers)},
        {(8 if slot == 9 else slot): held for slot, held in slots.items()},
        {slot: held for slot, held in slots.items() if slot != 10},
    ):
        other = replace(spec, caps={**spec.caps, "cspace_watch_1": wrong})
        assert expected(other, bodies, root_ep).caps != printed.caps
    moved = [*spec.untypeds["ut_app"][1]]
    moved[-1], moved[-2] = moved[-2], moved[-1]
    untypeds = {**spec.untypeds, "ut_app": (spec.untypeds["ut_app"][0], moved)}
    other = replace(spec, untypeds=untypeds)
    assert expected(other, bodies, root_ep).objects != printed.objects


def _users(printed: Printed, name: str) -> int:
    return sum(cap.split()[0] == name for slots in printed.caps.values() for cap in slots.values())
