# SPDX-License-Identifier: BSD-2-Clause
"""The configuration in the form that the root task reads: the bytes that image.h describes.

cffi takes the layout from the header. This module repeats only the names of fields. The same
configuration and programs yield the same bytes.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cellreap import headers
from cellreap.cached import remembered
from cellreap.errors import CellreapError, hint
from cellreap.model.closeness import parse_share
from cellreap.system.config import (
    PAGE,
    Config,
    Depth,
    Pd,
    deadline_of,
    ends,
    lines,
    links_of,
    quotas,
    respawn_of,
    tables,
    thread_of,
    timed,
)
from cellreap.system.config.tables import is_pinned
from cellreap.system.programs import programs_of
from cellreap.system.saved import NOTHING, Saved, SavedNode, smallest
from cellreap.system.sdk import prints_tables, takes_snapshots
from cellreap.system.trace_key import key_for

MAX_BYTES = 256 << 20  # far larger than any supported system
_SLOT_IS_EMPTY = 2  # the kernel's error, seL4_InvalidCapability
_PROGRAM_ALIGN = 16  # image.h: an ELF file is "aligned to 16"


@functools.cache
def layout() -> Any:
    """A cffi FFI that knows the declarations of image.h."""
    from cffi import FFI  # takes long to import, with the parser that it needs

    text = headers.read_header("image.h")
    ffi = FFI()
    ffi.cdef("\n".join(line for line in text.splitlines() if not re.match(r"\s*#", line)))
    return ffi


def build_blob(
    config: Config,
    programs: Mapping[str, bytes],
    kernel: str,
    arch: str,
    timer: bool = True,
    trace_key: bytes | None = None,
    saved: Saved = NOTHING,
    fills: Mapping[str, bytes] = MappingProxyType({}),
) -> bytes:
    """The blob of a configuration.

    programs: the ELF file of every program that the configuration names. kernel: name and version.
    timer: whether the kernel leaves a timer to user level. trace_key: the secret of the image;
    None: one of this image and user. saved: what the image carries of a saved state. fills: what
    regions contain at first, by their names.

    CellreapError if a program is missing, if the blob is too large, or if the configuration needs a
    timer and there is none.
    """
    if not timer and any(timed(config)):
        raise CellreapError(
            f"{config.system.name} needs a timer, and {kernel} ({arch}) has none for us"
        )
    used = programs_of(config)
    missing = [name for name in used if name not in programs]
    if missing:
        known = ", ".join(sorted(programs)) or "none"
        near = hint(missing[0], programs)
        raise CellreapError(f'no program is named "{missing[0]}"; {near}expected one of {known}')
    rows = _rows(config, used, timer) | _saved_rows(saved, programs, used)
    offset = layout().sizeof("cr_image_header")
    places: dict[str, tuple[int, int]] = {}
    for table, items in rows.items():
        places[table] = (offset, len(items))
        offset += len(items) * layout().sizeof(_ROW_TYPE[table])
    for number, name in enumerate(used):
        offset += -offset % _PROGRAM_ALIGN
        rows["programs"][number].update(offset=offset, bytes=len(programs[name]))
        offset += len(programs[name])
    for number, region in enumerate(config.regions):
        fill = fills.get(region.name, b"")
        rows["regions"][number].update(offset=offset, bytes=len(fill))
        offset += len(fill)
    if offset > MAX_BYTES:
        raise CellreapError(
            f"the programs and tables take {offset} bytes; expected at most {MAX_BYTES}"
        )

    body = bytearray(offset)
    for table, items in rows.items():
        at = places[table][0]
        for item in items:
            packed = _struct(_ROW_TYPE[table], item)
            body[at : at + len(packed)] = packed
            at += len(packed)
    for number, name in enumerate(used):
        at = rows["programs"][number]["offset"]
        body[at : at + len(programs[name])] = programs[name]
    for number, region in enumerate(config.regions):
        row = rows["regions"][number]
        body[row["offset"] : row["offset"] + row["bytes"]] = fills.get(region.name, b"")
    size = layout().sizeof("cr_image_header")
    asked = config.system.truth is not False
    header = {
        "magic": _constant("CR_IMAGE_MAGIC"),
        "version": _constant("CR_IMAGE_VERSION"),
        "bytes": offset,
        "crc": zlib.crc32(memoryview(body)[size:]),
        "pd_depth": _depth(config.policy.pd_depth),
        "rs_depth": _depth(config.policy.rs_depth),
        "policy": headers.printed_names("policy.h", "CR_POLICY")[config.policy.policy],
        "fr_max": _fr_max(config),
        "tables": tables(config),
        "await_ms": config.system.await_ms,
        "cleaner_priority": config.system.cleaner_priority or 0,
        "numbers_left": config.bench.numbers_left or 0,
        "generations_left": config.bench.generations_left or 0,
        "flags": _flags(
            {
                "CR_IMAGE_SNAPSHOT": config.bench.snapshot,
                "CR_IMAGE_SYNC": config.system.mode == "sync",
                "CR_IMAGE_EXTRACT": config.system.extract,
                "CR_IMAGE_STOP_IN_ORDER": config.system.stop_in_order,
                "CR_IMAGE_GOES_ON": not config.system.ends,
                "CR_IMAGE_TIMES": config.system.trace_time,
                "CR_IMAGE_COLLECT": config.system.collect == "after-cleanup",
                "CR_IMAGE_TRUTH": asked,
                "CR_IMAGE_TRUTH_SNAPSHOT": asked and takes_snapshots(kernel),
                "CR_IMAGE_TRUTH_TABLES": asked and prints_tables(arch),
                "CR_IMAGE_TRUTH_WHOLE": config.system.truth is True,
            }
        ),
        "system": _text(config.system.name, "CR_NAME_BYTES"),
        "kernel": _text(kernel, "CR_NAME_BYTES"),
        "arch": _text(arch, "CR_TYPE_BYTES"),
        **{table: {"offset": place[0], "count": place[1]} for table, place in places.items()},
    }
    body[:size] = _struct("cr_image_header", header)
    header["trace_key"] = trace_key or key_for(body)
    body[:size] = _struct("cr_image_header", header)
    return bytes(body)


_READ = (
    ("cr_image_header", "programs", "offset"),
    ("cr_image_header", "programs", "count"),
    ("cr_image_program", "name"),
    ("cr_image_program", "offset"),
    ("cr_image_program", "bytes"),
)
"""The fields that `read_programs` reads."""


@functools.cache
def _places() -> dict[str, int]:
    """The size of each struct that is read, and the offset of each field: "struct.field"."""

    def worked_out() -> dict[str, int]:
        sizes = {name: layout().sizeof(name) for name, *_ in _READ}
        return sizes | {".".join(field): layout().offsetof(*field) for field in _READ}

    facts = (Path(__file__).read_bytes(), headers.read_header("image.h"))
    return dict(remembered("headers", facts, worked_out))


def read_programs(blob: bytes) -> dict[str, bytes]:
    """The ELF files in a blob, by the names of the programs. CellreapError if it is no blob."""
    at = _places()

    def number(field: str, start: int = 0) -> int:
        word = blob[start + at[field] : start + at[field] + 4]
        if len(word) != 4:
            raise CellreapError("it has no configuration for the root task: it is cut")
        return int.from_bytes(word, "little")

    first = number("cr_image_header.programs.offset")
    count = number("cr_image_header.programs.count")
    named = {}
    for row in range(first, first + count * at["cr_image_program"], at["cr_image_program"]):
        offset, size = (number(f"cr_image_program.{word}", row) for word in ("offset", "bytes"))
        name = blob[row + at["cr_image_program.name"] : row + at["cr_image_program.offset"]].split(
            b"\0", 1
        )[0]
        named[name.decode("ascii", "replace")] = blob[offset : offset + size]
    if len(named) != count:
        raise CellreapError("it has no configuration for the root task: programs are missing")
    return named


_ROW_TYPE = {
    "rsi_mins": "cr_image_rsi_min",
    "programs": "cr_image_program",
    "pds": "cr_image_pd",
    "spaces": "cr_image_space",
    "requests": "cr_image_request",
    "holds": "cr_image_pd_hold",
    "spawns": "cr_image_spawn",
    "links": "cr_image_link",
    "trusts": "cr_image_trust",
    "regions": "cr_image_region",
    "maps": "cr_image_map",
    "ends": "cr_image_channel_end",
    "quiets": "cr_image_quiet",
    "lines": "cr_image_line",
    "crashes": "cr_image_crash",
    "injections": "cr_image_injection",
    "saved_nodes": "cr_image_saved_node",
    "saved_edges": "cr_image_saved_edge",
}


def _flags(given: Mapping[str, bool]) -> int:
    return sum(_constant(name) for name, on in given.items() if on)


def _rows(config: Config, used: list[str], timer: bool) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table, in the order of the tables in the blob."""
    pds = {pd.name: number for number, pd in enumerate(config.pds)}
    spaces = [(number, space) for number, pd in enumerate(config.pds) for space in pd.spaces]
    space_numbers = {space.name: number for number, (_, space) in enumerate(spaces)}
    children = {pd.name: pd.child_id for pd in config.pds}
    none = _constant("CR_IMAGE_NONE")
    return {
        "rsi_mins": [
            {"type": _text(name, "CR_TYPE_BYTES"), "shared": shared, "all": every}
            for name, (shared, every) in (
                (name, parse_share(share)) for name, share in config.policy.rsi_min.items()
            )
        ],
        "programs": [{"name": _text(name, "CR_NAME_BYTES")} for name in used],
        "pds": [_pd_row(config, pd, used, pds, timer) for pd in config.pds],
        "spaces": [
            {
                "name": _text(space.name, "CR_NAME_BYTES"),
                "type": _text(space.type, "CR_TYPE_BYTES"),
                "pd": owner,
            }
            for owner, space in spaces
        ],
        "requests": [
            {"pd": pds[pd.name], "space": space_numbers[name]}
            for pd in config.pds
            for name in pd.requests
        ],
        "holds": [
            {"pd": pds[pd.name], "target": pds[name], "child": children[name] or 0}
            for pd in config.pds
            for name in pd.holds_pds
        ],
        "spawns": [
            {"pd": pds[pd.name], "program": used.index(name)}
            for pd in config.pds
            for name in pd.spawns
        ],
        "links": [{"a": pds[a], "b": pds[b]} for a, b in links_of(config)],
        "trusts": [
            {"pd": pds[pd.name], "target": pds[name]}
            for pd in config.pds
            for name in pd.may_set_policy_of
        ],
        "regions": [
            {
                "name": _text(region.name, "CR_NAME_BYTES"),
                "pages": region.pages.count,
                "page_bits": region.pages.bits,
                "after": _constant(f"CR_AFTER_{region.after.upper()}"),
                "epoch": none if region.epoch is None else region.epoch,
                "device": none if region.physical is None else region.physical // PAGE,
                "physical": none if region.physical_word is None else region.physical_word,
                "place": none if region.memory_at is None else region.memory_at // PAGE,
            }
            for region in config.regions
        ],
        "maps": [
            {
                "region": number,
                "pd": pds[each.pd],
                "page": each.address // PAGE,
                "writable": each.writable,
                "cached": region.caches(each),
            }
            for number, region in enumerate(config.regions)
            for each in region.maps
        ],
        "ends": [
            {
                "name": _text(end.channel, "CR_NAME_BYTES"),
                "pd": pds[end.pd],
                "id": end.id,
                "slot": end.slot,
                "calls": end.calls,
            }
            for end in ends(config)
        ],
        "quiets": [
            {
                "region": number,
                "offset": each.offset,
                "writes": each.value is not None,
                "value": each.value or 0,
                "reads": 0 if each.until is None else each.reads,
                "mask": each.mask,
                "until": each.until or 0,
            }
            for number, region in enumerate(config.regions)
            for each in region.on_death
        ],
        "lines": [
            {
                "kind": headers.constant("protocol.h", f"CR_LINE_{line.kind}"),
                "pd": pds[line.pd],
                "slot": line.slot,
                "first": line.first,
                "last": line.last,
                "edge": line.edge,
                "bit": line.bit,
                "acknowledge": line.acknowledge,
            }
            for line in lines(config)
        ],
        "crashes": [
            {
                "pd": pds[crash.pd],
                "checkpoint": crash.at,
                "how": _constant("CR_CRASH_" + crash.how.upper().replace("-", "_")),
                "by": none if crash.by is None else pds[crash.by],
                "repeat": crash.repeat,
                "after_ns": crash.after_ns or 0,
                "spread_ns": crash.spread_ns or 0,
                "seed": crash.seed or 0,
            }
            for crash in config.crashes
        ],
        "injections": [_injection_row(text) for text in config.bench.inject],
    }


def _saved_rows(
    saved: Saved, programs: Mapping[str, bytes], used: list[str]
) -> dict[str, list[dict[str, Any]]]:
    program = used.index(smallest({name: programs[name] for name in used}))

    def node_row(node: SavedNode) -> dict[str, Any]:
        return {
            "name": _text(node.name, "CR_NAME_BYTES"),
            "type": _text(node.type, "CR_TYPE_BYTES"),
            "kind": _constant(f"CR_SAVED_{node.kind}"),
            "number": node.number,
            "of": program if node.kind == "GONE" else node.of,
            "bits": node.bits,
            "next": node.next,
        }

    return {
        "saved_nodes": [node_row(node) for node in saved.nodes],
        "saved_edges": [
            {
                "kind": headers.constant("model.h", f"CR_EDGE_{edge.kind}"),
                "from": edge.source,
                "to": edge.target,
                "count": edge.count,
                "handler": edge.handler,
            }
            for edge in saved.edges
        ],
    }


def _injection_row(text: str) -> dict[str, Any]:
    """text: as in the configuration, which has checked it."""
    chain, place, how, *often = text.split(":")
    step, _, call = place.partition(".")
    return {
        "chain": headers.printed_names("inject.h", "CR_CHAIN")[chain],
        "step": int(step),
        "call": _constant("CR_IMAGE_STEP_END") if call == "end" else int(call or 0),
        "how": headers.printed_names("inject.h", "CR_INJECTION")[how],
        "always": 0 if not often else 1 if often == ["always"] else int(often[0].removeprefix("x")),
    }


def _pd_row(
    config: Config, pd: Pd, used: list[str], numbers: Mapping[str, int], timer: bool
) -> dict[str, Any]:
    flags = {
        "CR_IMAGE_PINNED": is_pinned(pd),
        "CR_IMAGE_PREVENT_DESTROY": pd.prevent_destroy,
        "CR_IMAGE_RESPAWN": pd.respawn,
        "CR_IMAGE_MAY_SPAWN": bool(pd.spawns),
        "CR_IMAGE_LATE": pd.start == "after-cleanup",
        "CR_IMAGE_MAY_EXTRACT": pd.may_extract,
        "CR_IMAGE_MAY_COLLECT": pd.may_collect,
        "CR_IMAGE_PASSIVE": pd.passive,
        "CR_IMAGE_MAY_ALLOCATE": pd.allocates,
        "CR_IMAGE_OVERRUN_WAITS": pd.overrun == "wait",
        "CR_IMAGE_MICROKIT": pd.abi == "microkit",
        "CR_IMAGE_MAY_LISTEN": pd.may_listen,
        "CR_IMAGE_BACKGROUND": pd.background,
        "CR_IMAGE_MAY_SET_DEPTH": pd.may_set_depth,
    }
    handler, none = pd.fault_handler, _constant("CR_IMAGE_NONE")
    thread, threads = thread_of(config, pd)
    return {
        "name": _text(pd.name, "CR_NAME_BYTES"),
        "program": used.index(pd.program),
        "flags": _flags(flags),
        "priority": pd.priority,
        "cspace_bits": pd.cspace_bits,
        "stack_pages": pd.stack_pages,
        "fault_handler": none if handler is None else numbers[handler],
        "process": none if pd.thread_of is None else numbers[pd.thread_of],
        "thread": thread,
        "threads": threads,
        "reader": 0 if pd.post_mortem is None else numbers[pd.post_mortem] + 1,
        "pd_depth": _depth(pd.pd_depth),
        "rs_depth": _depth(pd.rs_depth),
        "spawn_priority": pd.priority if pd.spawn_priority is None else pd.spawn_priority,
        "spawn_allow": pd.spawn_allow,
        "deadline_ms": deadline_of(config, pd, timer),
        "heartbeat_ms": pd.heartbeat_ms or 0,
        "call_ms": pd.call_ms or 0,
        "budget_us": pd.budget_us or 0,
        "period_us": pd.period_us or 0,
        **respawn_of(pd, timer),
        "callers": _callers(pd),
        "args": list(pd.args),
        "quotas": [_quota(getattr(pd.quota, word)) for word in quotas.words()],
    }


def _callers(pd: Pd) -> int:
    if pd.callers is None:
        return _SLOT_IS_EMPTY
    return _constant("CR_IMAGE_REPEAT") if pd.callers == "repeat" else pd.callers


def _fr_max(config: Config) -> int:
    if config.policy.policy == "depth":
        return 0
    fr_max = config.policy.fr_max
    return _constant("CR_IMAGE_NONE") if fr_max is None else fr_max


def _quota(asked: int | None) -> int:
    return _constant("CR_IMAGE_NONE") if asked is None else asked


@functools.cache
def _constant(name: str) -> int:
    return headers.constant("image.h", name)


def _depth(depth: Depth | None) -> int:
    if depth is None:
        return _constant("CR_IMAGE_DEPTH_DEFAULT")
    return headers.constant("policy.h", "CR_DEPTH_INF") if depth == "inf" else depth


def _text(text: str, bytes_constant: str) -> bytes:
    raw = text.encode("ascii")
    limit = _constant(bytes_constant) - 1  # without the NUL at the end
    if len(raw) > limit:
        raise CellreapError(f'"{text}" is too long: expected at most {limit} characters')
    return raw


def _struct(name: str, fields: Mapping[str, Any]) -> bytes:
    ffi = layout()
    return bytes(ffi.buffer(ffi.new(f"{name} *", dict(fields))))
