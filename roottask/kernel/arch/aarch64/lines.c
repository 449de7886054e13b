/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Interrupts of the GIC. */
#include "kernel/lines.h"

seL4_Error cr_arch_take_interrupt(uint32_t number, int edge, uint32_t vector, cr_slot to)
{
    (void)vector;
    cr_count_call(CR_CALL_CONFIGURE);
    return (seL4_Error)seL4_IRQControl_GetTrigger(seL4_CapIRQControl, number, (seL4_Word)edge,
                                                  to.root, to.index, to.depth);
}
