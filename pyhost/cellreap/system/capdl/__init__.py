# SPDX-License-Identifier: BSD-2-Clause
"""system.cdl: what every PD of boot time is made of when it starts, in seL4's capDL.

The root task's own sizes, slots and addresses come from its headers. What the kernel's ABI and the
architecture decide is asked of the compiler (`facts_source`, `read_target`). The steps are those of
body.c and system.c, in the same order, because the order decides which capability is in which slot.

The capDL tools accept descriptions that no kernel could hold: slots beyond a CNode's end, objects
larger than their untyped, derivations from nothing. `problems` finds these; `describe` refuses
them.
"""

from cellreap.system.capdl.checking import problems
from cellreap.system.capdl.describing import capdl_text, describe
from cellreap.system.capdl.objects import Body, Cap, Description, Object
from cellreap.system.capdl.rendering import render
from cellreap.system.capdl.target import Target, facts_source, read_target

__all__ = [
    "Body",
    "Cap",
    "Description",
    "Object",
    "Target",
    "capdl_text",
    "describe",
    "facts_source",
    "problems",
    "read_target",
    "render",
]
