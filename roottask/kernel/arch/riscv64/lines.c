/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Interrupts of the PLIC, each of which is triggered as the machine has it. */
#include "kernel/lines.h"

seL4_Error cr_arch_take_interrupt(uint32_t number, int edge, uint32_t vector, cr_slot to)
{
    (void)edge, (void)vector;
    cr_count_call(CR_CALL_CONFIGURE);
    return (seL4_Error)seL4_IRQControl_Get(seL4_CapIRQControl, number, to.root, to.index, to.depth);
}
