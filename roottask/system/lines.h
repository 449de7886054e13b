/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The interrupt lines and ranges of I/O ports that the configuration gives PDs. Each has one PD,
 * which has a capability of the kernel's own: a copy of that in the resource's slot of the pool.
 * It is made with the PD and goes with it, and then the line is masked (kernel/lines.h). */
#ifndef CELLREAP_SYSTEM_LINES_H
#define CELLREAP_SYSTEM_LINES_H

#include "system.h"

/* Adds the lines and ports of the PD that is being made to the chain (making.h). */
void cr_lines_add(const cr_pd *pd, uint32_t config);
/* Takes a line or ports: the parent of the capability to it, in a slot of the pool. */
cr_status cr_line_take(uint32_t line, cr_slot parent);
/* Gives the PD a copy of that in its slot. A line is then signalled to the PD. */
cr_status cr_line_give(const cr_pd *pd, uint32_t line, cr_slot slot, cr_slot parent);
/* Tells the PD where it has which. */
void cr_lines_fill(cr_pd *pd, cr_startup *out);

#endif
