/* SPDX-License-Identifier: BSD-2-Clause */
#include "timer.h"
#include "kernel/arch/timer_device.h"
#include "untyped.h"

enum {
    PROBE_BADGE = 1,
    PATIENCE = 1 << 22 /* looks for the first interrupt: seconds on any machine, and it takes microseconds to come */
};

static seL4_CPtr handler;

int cr_timer_exists(void)
{
    return cr_device_exists();
}

/* One interrupt, to a notification of nobody else's: shows that they come. After it the device is at rest, and what it
 * asked for before it was taken is over, so that nothing comes that was not asked for. */
static cr_status first_interrupt(seL4_CPtr notification, seL4_CPtr probe)
{
    if (seL4_IRQHandler_SetNotification(handler, probe) != seL4_NoError ||
        seL4_IRQHandler_Ack(handler) != seL4_NoError) {
        return CR_ERR_ABSENT;
    }
    uint64_t set = cr_device_start(1);
    int came = 0;
    for (uint32_t i = 0; i < PATIENCE; i++) {
        seL4_Word badge = 0;
        (void)seL4_Poll(notification, &badge);
        if (badge == PROBE_BADGE) {
            came = 1;
            cr_timer_ack(); /* before asking whether the time is over: see timer.h */
        }
        if (came && cr_device_elapsed() == set) {
            return CR_OK;
        }
    }
    return CR_ERR_ABSENT;
}

static cr_status probe_with(uint32_t block)
{
    uint32_t slot = cr_pool_take();
    uint32_t minted = cr_pool_take();
    cr_status status = CR_ERR_MEMORY;
    if (slot != 0 && minted != 0) {
        seL4_CPtr notification = cr_cptr(CR_L1_POOL, slot);
        seL4_CPtr probe = cr_cptr(CR_L1_POOL, minted);
        if (cr_retype(cr_untyped_cap(block), seL4_NotificationObject, 0, CR_L1_POOL, slot, 1) == seL4_NoError &&
            cr_mint(cr_slot_at(probe), cr_slot_at(notification), seL4_CanWrite, PROBE_BADGE) == seL4_NoError) {
            status = first_interrupt(notification, probe);
        }
    }
    /* This takes the capabilities along, and the one that the kernel keeps for the interrupt. */
    if (cr_untyped_revoke(block) != seL4_NoError) {
        cr_panic("what the timer was tried with cannot be revoked", block);
    }
    if (minted != 0) {
        cr_pool_give(minted);
    }
    if (slot != 0) {
        cr_pool_give(slot);
    }
    return status;
}

static cr_status probe_device(void)
{
    uint32_t block;
    cr_status status = cr_untyped_take(CR_BLOCK_MIN_BITS, &block);
    if (status == CR_OK) {
        status = probe_with(block);
        cr_untyped_give(block);
    }
    return status;
}

/* What is left in the slots if this fails stays there: who cannot have a timer does not ask again. */
cr_status cr_timer_init(seL4_CPtr notification, seL4_Word badge)
{
    if (!cr_device_exists()) {
        return CR_ERR_ABSENT;
    }
    uint32_t slot = cr_pool_take();
    uint32_t ports = cr_pool_take();
    uint32_t signal = cr_pool_take();
    if (slot == 0 || ports == 0 || signal == 0) {
        return CR_ERR_MEMORY;
    }
    handler = cr_cptr(CR_L1_POOL, slot);
    seL4_CPtr minted = cr_cptr(CR_L1_POOL, signal);
    if (cr_device_open(cr_slot_at(handler), cr_slot_at(cr_cptr(CR_L1_POOL, ports))) != seL4_NoError) {
        return CR_ERR_ABSENT;
    }
    cr_status status = probe_device();
    if (status != CR_OK) {
        return status;
    }
    if (cr_mint(cr_slot_at(minted), cr_slot_at(notification), seL4_CanWrite, badge) != seL4_NoError ||
        seL4_IRQHandler_SetNotification(handler, minted) != seL4_NoError) {
        return CR_ERR_ABSENT;
    }
    cr_timer_ack();
    return CR_OK;
}

uint64_t cr_timer_start(uint64_t ns)
{
    if (ns > CR_TIMER_MAX_NS) {
        cr_panic("the timer is asked for more than it can count", ns);
    }
    return cr_device_start(ns == 0 ? 1 : ns);
}

void cr_timer_ack(void)
{
    cr_device_quiet();
    cr_calls[CR_CALL_TIMER]++;
    seL4_Error error = seL4_IRQHandler_Ack(handler);
    if (error != seL4_NoError) {
        cr_panic("the timer's interrupt cannot be acknowledged", (uint64_t)error);
    }
}

uint64_t cr_timer_elapsed(void)
{
    return cr_device_elapsed();
}
