/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Interrupt lines. See lines.h. */
#include "lines.h"

/* The kernel keeps a copy of the badged capability. */
seL4_Error cr_bind_interrupt(seL4_CPtr handler, seL4_CPtr notification, seL4_Word badge)
{
    const uint32_t temporary = cr_pool_take(CR_POOL_OWN);
    if (temporary == 0) {
        return seL4_NotEnoughMemory;
    }
    const seL4_CPtr signal = cr_cptr(CR_L1_POOL, temporary);
    seL4_Error error = cr_mint(cr_slot_at(signal), cr_slot_at(notification), seL4_CanWrite, badge);
    if (!error) {
        cr_count_call(CR_CALL_CONFIGURE);
        error = (seL4_Error)seL4_IRQHandler_SetNotification(handler, signal);
        error = cr_delete(cr_slot_at(signal)) ? seL4_IllegalOperation : error;
    }
    cr_pool_give(temporary);
    return error;
}

seL4_Error cr_acknowledge_interrupt(seL4_CPtr handler)
{
    cr_count_call(CR_CALL_CONFIGURE);
    return (seL4_Error)seL4_IRQHandler_Ack(handler);
}
