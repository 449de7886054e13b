# SPDX-License-Identifier: BSD-2-Clause
"""system.cdl: the initial objects and capabilities of every PD of boot time, in seL4's capDL.

The root task's sizes, slots and addresses come from its headers. Values that depend on the kernel's
ABI or the architecture come from the compiler (`facts_source`, `read_target`). The steps are those
of body.c and system.c, in the same order, because the order determines the slot of each capability.

The capDL tools accept descriptions that no kernel could hold: slots beyond the end of a CNode,
objects larger than their untyped, derivations from nothing. `problems` finds these. `describe`
refuses them.
"""
