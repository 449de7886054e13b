# SPDX-License-Identifier: BSD-2-Clause
"""Renders a description as text in the language of seL4's capDL tools."""

from __future__ import annotations

from cellreap.system.capdl.objects import Cap, Description, Object, shown


def render(made: Description) -> str:
    """The text of a description in capDL."""
    lines = heading(made)
    lines += ["", f"arch {made.arch}", "", "objects {", ""]
    lines += [_declaration(thing) for thing in made.shared]
    for body in made.bodies:
        paddr = "" if body.paddr is None else f", paddr: {body.paddr:#x}"
        lines += ["", f"-- {body.title}", f"{body.untyped} = ut ({body.bits} bits{paddr}) {{"]
        lines += [f"  {_declaration(thing)}" for thing in body.objects]
        lines.append("}")
    lines += ["", "}", "", "caps {"]
    for holder, caps in made.caps.items():
        lines += ["", f"{holder} {{", *(f"  {_cap(cap)}" for cap in caps), "}"]
    return "\n".join([*lines, "", "}", "", *_interrupts(made), *derivations(made), ""])


def _interrupts(made: Description) -> list[str]:
    """The section `irq maps`, if there are any."""
    if not made.interrupts:
        return []
    maps = (f"{number} -> {name}" for number, name in sorted(made.interrupts.items()))
    return ["irq maps {", "", *maps, "", "}", ""]


def heading(made: Description) -> list[str]:
    """The comments at the beginning."""
    return [f"-- {line}".rstrip() for line in made.heading]


def derivations(made: Description) -> list[str]:
    """The section `cdt`."""
    lines = ["cdt {"]
    for parent, children in made.derived.items():
        lines += ["", f"{shown(parent)} {{", *(f"  {shown(child)}" for child in children), "}"]
    return [*lines, "", "}"]


def _declaration(thing: Object) -> str:
    params = f" ({', '.join(thing.params)})" if thing.params else ""
    return f"{thing.name} = {thing.kind}{params}"


def _cap(cap: Cap) -> str:
    params = cap.params if cap.mapping is None else (*cap.params, f"mapping: {shown(cap.mapping)}")
    slot = cap.slot if isinstance(cap.slot, str) else hex(cap.slot)
    return f"{slot}: {cap.target}" + (f" ({', '.join(params)})" if params else "")
