# SPDX-License-Identifier: BSD-2-Clause
"""A description as a configuration that runs the programs of Microkit as they are.

What is not done yet is refused, one line at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from os.path import relpath
from pathlib import Path
from typing import Final

import tomlkit
from tomlkit.items import AoT

from cellreap.arches import ARCHES
from cellreap.system.config.schema import TIMES_US
from cellreap.system.importing import Imported, Names, configuration, ranked, table
from cellreap.system.microkit import rows
from cellreap.system.microkit.board import ANY_BOARD, Board
from cellreap.system.microkit.connections import page_size_of
from cellreap.system.microkit.importing import MAX_STACK_PAGES
from cellreap.system.microkit.places import mapped, refusal
from cellreap.system.microkit.policy import PdPolicy, Policy, RegionPolicy, read_policy
from cellreap.system.microkit.reading import read_system
from cellreap.system.microkit.rows import Row, System
from cellreap.system.microkit.rules import found_in

_PAGE: Final = 4096
_CSPACE_BITS: Final = 8
"""One more for a PD with children, whose slots come last."""
_KERNEL: Final = 64 << 20
"""At the end of memory: there the kernel has its own objects."""
_CALLS: Final = "CALLS"
_SERVES: Final = "SERVES"
_NOT_YET: Final = {
    "ioport": "I/O ports",
    "io_address_space": "address spaces of devices",
    "memory_region.prefill_bootinfo": "what the firmware tells",
    "cspace": "further capabilities",
    "domains": "scheduling domains",
    "virtual_machine": "virtual machines",
    "program_image.path_for_symbols": "symbols of another file",
}
"""Element or attribute that a system that runs must not have yet -> what it is."""


def runnable_system(
    path: Path,
    search: Sequence[Path] = (),
    policy_path: Path | None = None,
    board: Board = ANY_BOARD,
) -> Imported:
    """Makes a configuration of a Microkit system description and the policy beside it.

    search: where the programs are, and the files that fill regions, besides the description's
    folder. InputError if Microkit refuses the description on this board, if it has what is not done
    yet, or if a program is missing.
    """
    folders = (*search, path.parent)
    described = read_system(path, board, folders)
    files = {
        it.name: file
        for it in described.regions
        if it.prefill_path is not None and (file := found_in(folders, it.prefill_path))
    }
    fills = {name: _relative(file, path) for name, file in files.items()}
    described = replace(described, regions=tuple(_sized(it, files) for it in described.regions))
    policy = Policy() if policy_path is None else read_policy(policy_path, described)
    _refuse(described, policy)
    places = _places(described, board)
    names, new = Names(), ranked(pd.priority for pd in described.pds())
    assert new is not None, "there are fewer PDs than priorities"
    known = {pd.name: names.give(pd.name) for pd in described.pds()}
    own = {each.name: each for each in policy.pd}
    document = tomlkit.document()
    document.add(tomlkit.comment(f"Made of {path.name}."))
    document.add("system", table({"name": Names().give(path.stem)}))
    mutual = {"allow_cycles": True} if policy.serves else {}  # nobody waits for who only serves
    document.add("policy", table(policy.policy.model_dump() | mutual))
    spaces, asked = _dependence(described, policy, known)
    tables = {kind: tomlkit.aot() for kind in ("program", "pd", "region", "channel", "interrupt")}
    for pd, parent in described.families():
        name = known[pd.name]
        found = _find(pd.image, path, folders)
        tables["program"].append(table({"name": name, "elf": found}))
        bits = _CSPACE_BITS + bool(pd.children)
        keys = {"name": name, "program": name, "abi": "microkit", "cspace_bits": bits}
        keys |= {} if pd.name == name else {"microkit_name": pd.name}
        keys |= {"priority": new[pd.priority], "stack_pages": pd.stack_size // _PAGE}
        keys |= _time(pd) | _family(pd, parent, known, own) | _of_policy(own.get(pd.name))
        set_ = _symbols(described, pd, places, files)
        keys |= {"requests": asked[pd.name]} if asked[pd.name] else {}
        made = table(keys | ({"symbols": set_} if set_ else {}))
        if spaces[pd.name]:
            made.add("space", _spaces(spaces[pd.name]))
        tables["pd"].append(made)
        for irq in pd.irqs:
            tables["interrupt"].append(table(_interrupt(irq, name)))
    for number, channel in enumerate(described.channels, 1):
        if any(end.notify or end.pp for end in channel.ends):
            made = table({"name": f"channel_{number}"})
            both = tomlkit.aot()
            for end in channel.ends:
                keys = {"pd": known[end.pd], "id": end.id, "notify": end.notify}
                both.append(table(keys | ({"pp": True} if end.pp else {})))
            made.add("end", both)
            tables["channel"].append(made)
    _add_regions(described, policy, known, places, board, fills, tables["region"])
    for kind, listed in tables.items():
        if listed:
            document.add(kind, listed)
    back = [known[name] for name, each in own.items() if each.respawn]
    if back:
        document.add("expect", table({"crashes": back}))
    renamed = {name: pd for pd, name in known.items()}
    return configuration(document, path, renamed, (), (), partial(refusal, path))


def _dependence(
    described: System, policy: Policy, known: Mapping[str, str]
) -> tuple[dict[str, dict[str, str]], dict[str, list[str]]]:
    """By PD: the types of the spaces that it has, by their names, and the spaces that it requests.

    That for its calls is the first one that it has.
    """
    spaces: dict[str, dict[str, str]] = {name: {} for name in known}
    asked: dict[str, list[str]] = {name: [] for name in known}
    names = Names()
    needs = [
        (end.pd, other.pd, _CALLS)
        for channel in described.channels
        for end, other in (channel.ends, channel.ends[::-1])
        if end.pp
    ]
    needs += [(client, each.server, _SERVES) for each in policy.serves for client in each.clients]
    made: dict[tuple[str, str], str] = {}
    for client, server, kind in needs:
        if (server, kind) not in made:
            made[server, kind] = names.give(f"{known[server]}_{kind.lower()}")
            spaces[server][made[server, kind]] = kind
        if made[server, kind] not in asked[client]:
            asked[client].append(made[server, kind])
    return spaces, asked


def _spaces(of: Mapping[str, str]) -> AoT:
    listed = tomlkit.aot()
    for name, kind in of.items():
        listed.append(table({"name": name, "type": kind}))
    return listed


def _places(described: System, board: Board) -> dict[str, int]:
    """Where the regions are that have a physical address, or of which a PD is told that.

    Those that have none are behind each other, from the end of memory on downwards.
    """
    found = {it.name: it.phys_addr for it in described.regions if it.phys_addr is not None}
    sizes = {it.name: it.size or 0 for it in described.regions}
    end = max((end for _, end in board.memory or ()), default=0) - _KERNEL
    told = {each.region_paddr: each for pd in described.pds() for each in pd.setvars}
    for region in described.regions:
        if region.name not in told or region.name in found:
            continue
        if board.memory is None:
            raise told[region.name].error("needs a board whose memory is known", "region_paddr")
        page, size = page_size_of(region, described), sizes[region.name]
        at = (end - size) & -page
        while taken := [
            place for name, place in found.items() if at < place + sizes[name] and place < at + size
        ]:
            at = (min(taken) - size) & -page
        found[region.name] = end = at
    return found


def _add_regions(
    described: System,
    policy: Policy,
    known: Mapping[str, str],
    places: Mapping[str, int],
    board: Board,
    fills: Mapping[str, str],
    out: AoT,
) -> None:
    """The regions that PDs map, as the policy has them.

    A physical address that the kernel does not know as memory is of a device.
    """
    own = {each.name: each for each in policy.region}
    names, fixed = Names(), board.arch is not None and ARCHES[board.arch].caching_is_fixed
    for region, users in mapped(described):
        keys: dict[str, object] = {"name": names.give(region.name), "size": region.size}
        page, place = page_size_of(region, described), places.get(region.name)
        is_device = place is not None and not any(
            start < place + (region.size or 0) and place < end for start, end in board.memory or ()
        )
        if is_device:
            keys |= {"physical": place, "shared": True}
        else:
            keys |= {} if place is None else {"memory_at": place}
            keys |= {} if page == _PAGE else {"page_size": page}
        if region.name in fills:
            keys["fill"] = fills[region.name]
        said = own.get(region.name, RegionPolicy(name=region.name))
        keys |= said.model_dump(exclude={"name", "on_death"}, exclude_none=True)
        made, maps, quiets = table(keys), tomlkit.aot(), tomlkit.aot()
        for pd, each in users:
            where = {"address": each.vaddr, "writable": "w" in each.perms}
            if each.cached == is_device and not fixed:
                where["cached"] = each.cached
            maps.append(table({"pd": known[pd.name], **where}))
        made.add("map", maps)
        for quiet in said.on_death:
            quiets.append(table(quiet.model_dump(exclude_none=True)))
        if quiets:
            made.add("on_death", quiets)
        out.append(made)


def _interrupt(irq: rows.AnyIrq, pd: str) -> dict[str, object]:
    if not isinstance(irq, rows.Irq):
        raise irq.error("interrupts of x86_64 cannot be run yet")
    # A driver acknowledges what it was told of. If its last instance went with the line asserted,
    # it is told of nothing before somebody acknowledges that.
    keys = {"number": irq.irq, "trigger": irq.trigger, "bit": irq.id, "acknowledged": "at-start"}
    return {"name": f"irq_{irq.irq}", "pd": pd, **keys}


def _symbols(
    described: System, pd: rows.Pd, places: Mapping[str, int], files: Mapping[str, Path]
) -> dict[str, int]:
    """The symbols of a PD that its maps, its interrupts and its channels set."""
    sizes = {region.name: region.size or 0 for region in described.regions}
    found: dict[str | None, int] = {irq.setvar_id: irq.id for irq in pd.irqs}
    found |= {child.setvar_id: child.id for child in pd.children}
    found |= {each.symbol: places[each.region_paddr] for each in pd.setvars}
    for each in pd.maps:
        found[each.setvar_vaddr] = each.vaddr
        found[each.setvar_size] = sizes[each.mr]
        if each.mr in files:
            found[each.setvar_prefill_size] = files[each.mr].stat().st_size
    for channel in described.channels:
        found |= {end.setvar_id: end.id for end in channel.ends if end.pd == pd.name}
    return {symbol: value for symbol, value in found.items() if symbol is not None}


def _refuse(described: System, policy: Policy) -> None:
    waiting: list[Row] = [described]
    while waiting:
        row = waiting.pop()
        for attribute in ("", *row.element.attributes):
            key = f"{row.tag}.{attribute}" if attribute else row.tag
            if key in _NOT_YET:
                raise row.error(f"{_NOT_YET[key]} cannot be run yet", attribute or None)
        waiting.extend(row.inner())
    for pd in described.pds():
        if pd.cpu != 0:
            raise pd.error(f"expected 0, got {pd.cpu}: there is one processor", "cpu")
        if pd.smc:
            raise pd.error("calls to the firmware cannot be run yet", "smc")
        if pd.stack_size > (most := MAX_STACK_PAGES * _PAGE):
            said = f"{pd.stack_size:#x} bytes cannot be run; expected at most {most:#x}"
            raise pd.error(said, "stack_size")
    for channel in described.channels:
        if channel.ends[0].pd == channel.ends[1].pd:
            raise channel.error("a PD that notifies itself cannot be run yet")
    for pd in described.pds():
        for each in pd.maps:
            if "x" in each.perms:
                raise each.error("regions with code cannot be run yet", "perms")


def _sized(region: rows.Region, files: Mapping[str, Path]) -> rows.Region:
    """A region that has no size has as many pages as its file needs."""
    if region.size is not None or region.name not in files:
        return region
    pages = -(-files[region.name].stat().st_size // region.page_size)
    return replace(region, size=pages * region.page_size)


def _relative(file: Path, path: Path) -> str:
    """A file, relative to the folder of the description."""
    return relpath(file.resolve(), path.parent.resolve())


def _find(image: rows.ProgramImage, path: Path, folders: Sequence[Path]) -> str:
    """The program, relative to the description's folder."""
    if file := found_in(folders, image.path):
        return _relative(file, path)
    looked = ", ".join(map(str, folders))
    more = "; --search names further folders" if len(folders) == 1 else ""
    raise image.error(f'no file "{image.path}"; looked in {looked}{more}', "path")


def _time(pd: rows.Pd) -> dict[str, object]:
    """Microkit gives no PD a handler for timeouts: who has used its budget up waits."""
    if pd.passive:
        return {"passive": True}
    period = pd.budget if pd.period is None else pd.period
    least, most = TIMES_US
    for name, us in (("budget", pd.budget), ("period", period)):
        if not least <= us <= most:
            raise pd.error(f"{us} us cannot be run; expected {least} to {most}", name)
    ends = {"overrun": "wait"} if pd.budget < period else {}
    return {"budget_us": pd.budget, "period_us": period, **ends}


def _family(
    pd: rows.Pd, parent: rows.Pd | None, known: Mapping[str, str], own: Mapping[str, PdPolicy]
) -> dict[str, object]:
    """Its children, and its parent, which handles its faults if the policy does not say other."""
    keys: dict[str, object] = {}
    if pd.children:
        keys["holds_pds"] = [known[child.name] for child in pd.children]
    if parent is not None and isinstance(pd, rows.ChildPd):
        keys["child_id"] = pd.id
        if pd.name not in own or own[pd.name].faults == "parent":
            keys["fault_handler"] = known[parent.name]
    return keys


def _of_policy(own: PdPolicy | None) -> dict[str, object]:
    """The keys of a PD that the policy decides."""
    given = {} if own is None else own.model_dump(exclude={"name", "faults"}, exclude_none=True)
    return {key: value for key, value in given.items() if value is not False}
