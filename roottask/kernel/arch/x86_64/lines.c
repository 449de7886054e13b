/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Interrupts of the first I/O APIC, or of the PIC; and I/O ports. */
#include "kernel/lines.h"

seL4_Error cr_arch_take_interrupt(uint32_t number, int edge, uint32_t vector, cr_slot to)
{
    cr_count_call(CR_CALL_CONFIGURE);
#if defined(CONFIG_IRQ_IOAPIC)
    /* Those of PCI are level-triggered and active low, those of ISA neither. */
    enum { IOAPIC = 0 };
    return (seL4_Error)seL4_IRQControl_GetIOAPIC(seL4_CapIRQControl, to.root, to.index, to.depth,
                                                 IOAPIC, number, !edge, !edge, vector);
#elif defined(CONFIG_IRQ_PIC)
    (void)edge, (void)vector;
    return (seL4_Error)seL4_IRQControl_Get(seL4_CapIRQControl, number, to.root, to.index, to.depth);
#else
    (void)number, (void)edge, (void)vector, (void)to;
    return seL4_IllegalOperation;
#endif
}

seL4_Error cr_arch_take_ports(uint32_t first, uint32_t last, cr_slot to)
{
    cr_count_call(CR_CALL_CONFIGURE);
    return (seL4_Error)seL4_X86_IOPortControl_Issue(seL4_CapIOPortControl, first, last, to.root,
                                                    to.index, to.depth);
}
