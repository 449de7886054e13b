# SPDX-License-Identifier: BSD-2-Clause
"""Writes a description: with python-capdl-tool where it can be imported, or by ourselves.

Both texts describe the same objects and capabilities. python-capdl-tool has neither comments nor a
section for derivations, so these are always ours. A description with interrupts or I/O ports is
written by ourselves. `cellreap build` always writes by itself: the
bytes of an image must not depend on what is installed.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Final

from cellreap.errors import CellreapError
from cellreap.system.capdl.objects import Cap, Description, Object
from cellreap.system.capdl.rendering import derivations, heading, render

WRITERS: Final = ("auto", "own", "tool")
TOOL: Final = "python-capdl-tool"
_CLASSES: Final = {
    "cnode": "CNode",
    "ep": "Endpoint",
    "notification": "Notification",
    "tcb": "TCB",
    "frame": "Frame",
    "pml4": "PML4",
    "pdpt": "PDPT",
    "pgd": "PGD",
    "pud": "PUD",
    "pd": "PageDirectory",
    "pt": "PageTable",
    "sc": "SC",
    "rtreply": "RTReply",
}
"""Kind of an object -> its class in capdl.Object."""
_SIZES: Final = {
    "cnode": "seL4_Slot",
    "ep": "seL4_EndpointObject",
    "notification": "seL4_NotificationObject",
    "tcb": "seL4_TCBObject",
    "pml4": "seL4_X64_PML4",
    "pdpt": "seL4_X64_PDPT",
    "pgd": "seL4_AARCH64_PGD",
    "pud": "seL4_AARCH64_PUD",
    "pd": "seL4_PageDirectoryObject",
    "pt": "seL4_PageTableObject",
    "sc": "seL4_SchedContextObject",
    "rtreply": "seL4_RTReplyObject",
}
"""Kind of an object -> the name of its size in capdl.Object."""
_THREAD: Final = {
    "addr": "ipc_buffer_vaddr",
    "fault_ep": "fault_ep_slot",
    "dom": "domain",
}
"""Parameter of a TCB -> its name in capdl.Object, where it is another one."""


def write(made: Description, writer: str = "auto") -> tuple[str, str]:
    """The text of a description, and who wrote it: `own` or the name of the tool.

    CellreapError if the tool must be used and cannot.
    """
    lacks = sorted({thing.kind for thing in _objects(made)} - _CLASSES.keys())
    if lacks and writer == "tool":
        raise CellreapError(f"{TOOL} is not used for {', '.join(lacks)}")
    if lacks or writer == "own":
        return render(made), "own"
    try:
        return with_tool(made), TOOL
    except (ImportError, SyntaxError) as error:  # SyntaxError: the one for Python 2
        if writer == "tool":
            raise CellreapError(f"{TOOL} cannot be imported: {error}") from None
        return render(made), "own"


def with_tool(made: Description) -> str:
    """The text of a description, by python-capdl-tool. ImportError if it cannot be imported."""
    tool = importlib.import_module("capdl")
    kinds = importlib.import_module("capdl.Object")
    if not hasattr(tool, "Untyped") or not hasattr(tool, "register_object_sizes"):
        raise ImportError("the package capdl is an older one, without untypeds")
    objects = _objects(made)
    tool.register_object_sizes(_sizes(objects))
    spec = tool.Spec(made.arch)
    known: dict[str, Any] = {thing.name: _object(kinds, thing) for thing in objects}
    for thing in known.values():
        spec.add_object(thing)
    for body in made.bodies:
        untyped = tool.Untyped(body.untyped, body.bits, body.paddr)
        for thing in body.objects:
            untyped.add_child(known[thing.name])
        spec.add_object(untyped)
    for holder, caps in made.caps.items():
        for cap in caps:
            known[holder][cap.slot] = _cap(tool, known, cap)
    return "\n".join([*heading(made), "", f"{spec}".rstrip(), "", *derivations(made), ""])


def _objects(made: Description) -> list[Object]:
    return [*made.shared, *(thing for body in made.bodies for thing in body.objects)]


def _sizes(objects: list[Object]) -> dict[str, int]:
    """The sizes that the tool needs to know: log2 of bytes."""
    sizes = {_SIZES[thing.kind]: thing.bits for thing in objects if thing.kind in _SIZES}
    cnode = next(thing for thing in objects if thing.kind == "cnode")
    return sizes | {"seL4_Slot": cnode.bits - (cnode.slots.bit_length() - 1)}


def _object(kinds: Any, thing: Object) -> Any:
    make = getattr(kinds, _CLASSES[thing.kind])
    params = dict(param.partition(": ")[::2] for param in thing.params)
    if thing.kind == "cnode":
        return make(thing.name, thing.slots.bit_length() - 1)
    if thing.kind == "frame":
        fill = params.get("fill", "[]").strip("[]")
        where = {"paddr": int(params["paddr"], 0)} if "paddr" in params else {}
        fills = [fill.strip("{}")] if fill else []
        return make(thing.name, 1 << thing.bits, fill=fills, **where)
    if thing.kind == "tcb":
        numbers = {_THREAD.get(name, name): int(value, 0) for name, value in params.items()}
        return make(thing.name, **numbers)
    if thing.kind == "sc":
        times = {name: int(params[name]) for name in ("period", "budget")}
        return make(thing.name, **times, size_bits=thing.bits)
    return make(thing.name)


def _cap(tool: Any, known: Mapping[str, Any], cap: Cap) -> Any:
    if "master_reply" in cap.params:
        return f"{cap.target} (master_reply)"  # the tool has no such capability
    numbers = dict(param.partition(": ")[::2] for param in cap.params if ": " in param)
    rights = "".join(param for param in cap.params if param.isupper())
    made = tool.Cap(
        known[cap.target],
        read="R" in rights,
        write="W" in rights,
        grant="G" in rights or "X" in rights,
        grantreply="P" in rights,
        **{name: int(value, 0) for name, value in numbers.items()},
    )
    if "uncached" in cap.params:
        made.cached = False
    if cap.mapping is not None:
        made.set_mapping(known[cap.mapping[0]], cap.mapping[1])
    return made
