/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Real time for the root task. See timer.h. This file must not access the device itself:
 * timer_device.h does. A kernel with MCS may need none: sleeper.h.
 *
 * cr_timer_init succeeds only after an interrupt has arrived. A device that exists but raises no
 * interrupt would otherwise leave every deadline without effect. */
#include "timer.h"
#include "kernel/arch/arch.h"
#include "kernel/arch/timer_device.h"
#include "objects.h"
#include "sleeper.h"
#include "platforms/arch.h"
#include "untyped.h"

enum {
    PROBE_BADGE = 1,
    /* polls for the first interrupt: seconds on any machine; the interrupt takes microseconds */
    PATIENCE = 1 << 22,
    /* the time is from the sleeper, and no device is taken */
    SLEEPS = CR_MCS && CR_MCS_IS_EXACT
};

static seL4_CPtr handler;

int cr_timer_exists(void)
{
    return SLEEPS || cr_device_exists();
}

void cr_timer_prepare(const seL4_BootInfo *info, uintptr_t image_start)
{
    if (!SLEEPS) {
        cr_device_prepare(info, image_start);
    }
}

/* Waits for one interrupt on a notification that has no other use. This shows that interrupts
 * arrive. Afterwards the device is at rest, and an interrupt from before the device was taken has
 * passed. No further interrupt arrives without a start. */
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
            cr_timer_ack(); /* must precede cr_device_elapsed: see timer.h */
        }
        if (came && cr_device_elapsed() == set) {
            return CR_OK;
        }
    }
    return CR_ERR_ABSENT;
}

static cr_status probe_with(uint32_t block)
{
    uint32_t slot = cr_pool_take(CR_POOL_OWN);
    uint32_t minted = cr_pool_take(CR_POOL_OWN);
    cr_status status = CR_ERR_MEMORY;
    if (slot != 0 && minted != 0) {
        seL4_CPtr notification = cr_cptr(CR_L1_POOL, slot);
        seL4_CPtr probe = cr_cptr(CR_L1_POOL, minted);
        if (cr_retype(cr_untyped_cap(block), seL4_NotificationObject, 0, CR_L1_POOL, slot, 1) ==
                seL4_NoError &&
            cr_mint(cr_slot_at(probe), cr_slot_at(notification), seL4_CanWrite, PROBE_BADGE) ==
                seL4_NoError) {
            status = first_interrupt(notification, probe);
        }
    }
    /* The revoke also deletes the capabilities and the kernel's own capability for the
     * interrupt. */
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
    cr_status status = cr_untyped_take(CR_BLOCK_MIN_BITS, 0, &block);
    if (status == CR_OK) {
        status = probe_with(block);
        cr_untyped_give(block);
    }
    return status;
}

/* If this fails, the capabilities stay in their slots. The root task does not try again. */
cr_status cr_timer_init(seL4_CPtr notification, seL4_Word badge)
{
    if (SLEEPS) {
        return cr_sleeper_init(notification, badge);
    }
    if (!cr_device_exists()) {
        return CR_ERR_ABSENT;
    }
    uint32_t slot = cr_pool_take(CR_POOL_OWN);
    uint32_t ports = cr_pool_take(CR_POOL_OWN);
    uint32_t signal = cr_pool_take(CR_POOL_OWN);
    if (slot == 0 || ports == 0 || signal == 0) {
        return CR_ERR_MEMORY;
    }
    handler = cr_cptr(CR_L1_POOL, slot);
    seL4_CPtr minted = cr_cptr(CR_L1_POOL, signal);
    if (cr_device_open(cr_slot_at(handler), cr_slot_at(cr_cptr(CR_L1_POOL, ports))) !=
        seL4_NoError) {
        return CR_ERR_ABSENT;
    }
    cr_objects_add(CR_BLOCK_NONE, CR_OBJECT_IRQ_HANDLER);
    cr_status status = probe_device();
    if (status != CR_OK) {
        return status;
    }
    if (cr_mint(cr_slot_at(minted), cr_slot_at(notification), seL4_CanWrite, badge) !=
            seL4_NoError ||
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
    return SLEEPS ? cr_sleeper_start(ns) : cr_device_start(ns == 0 ? 1 : ns);
}

void cr_timer_ack(void)
{
    if (SLEEPS) {
        return;
    }
    cr_device_quiet();
    cr_count_call(CR_CALL_TIMER);
    seL4_Error error = seL4_IRQHandler_Ack(handler);
    if (error != seL4_NoError) {
        cr_panic("the timer's interrupt cannot be acknowledged", (uint64_t)error);
    }
}

uint64_t cr_timer_counter_hz(void)
{
    return SLEEPS ? cr_arch_counter_hz() : cr_device_counter_hz();
}

uint64_t cr_timer_elapsed(void)
{
    return SLEEPS ? cr_sleeper_elapsed() : cr_device_elapsed();
}
