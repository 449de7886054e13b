/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Interrupt lines, and ranges of I/O ports. The capability that the root task takes is the parent
 * of all copies. When the last one is deleted, the kernel forgets whom the line is signalled to and
 * masks it, and the ports are free again. */
#ifndef CELLREAP_SEL4_LINES_H
#define CELLREAP_SEL4_LINES_H

#include "kernel.h"

/* Takes the line, which the kernel unmasks. `vector`: on x86_64, of the processor; the timer has 0,
 * and no two lines have the same. seL4_RevokeFirst: somebody has the line. */
seL4_Error cr_arch_take_interrupt(uint32_t number, int edge, uint32_t vector, cr_slot to);
/* Takes the ports from the first to the last. seL4_IllegalOperation: the machine has none. */
seL4_Error cr_arch_take_ports(uint32_t first, uint32_t last, cr_slot to);
/* Has the line signalled to a notification, with a badge. */
seL4_Error cr_bind_interrupt(seL4_CPtr handler, seL4_CPtr notification, seL4_Word badge);
seL4_Error cr_acknowledge_interrupt(seL4_CPtr handler);

#endif
