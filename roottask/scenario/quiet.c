/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Detects when no PD can run (quiescence). A second thread has a lower priority than every PD
 * except background computations. When this thread runs, all other PDs wait for something. The
 * thread must not use the IPC buffer, which belongs to the root task's main thread, and must not
 * change any state. */
#include "scenario.h"
#include "kernel/arch/arch.h"
#include "kernel/untyped.h"
#include "supervisor/calls.h"
#include "supervisor/hung.h"
#include "system/text.h"

enum { IDLE_STACK = 4096 };

static _Alignas(16) char idle_stack[IDLE_STACK];

static struct {
    seL4_CPtr signal; /* for the thread: to the root task's bound notification */
    seL4_CPtr again;  /* for the root task: lets the thread look again */
    int rests;        /* the thread waits for `again` */
    int over;
} quiet;

/* Uses no IPC buffer: see the beginning of this file. */
_Noreturn void cr_idle_main(void)
{
    for (;;) {
        seL4_Signal(quiet.signal);
        cr_wait_for(quiet.again);
    }
}

/* The priority just above that of background computations, whose end is not awaited. The check of
 * the configuration ensures that all other PDs have a higher priority. */
static seL4_Word priority(void)
{
    seL4_Word above = 0;
    for (uint32_t i = 0; i < cr_sys.image->pds.count; i++) {
        const cr_image_pd *pd = &cr_image_pds(cr_sys.image)[i];
        if ((pd->flags & CR_IMAGE_BACKGROUND) != 0 && pd->priority >= above) {
            above = pd->priority + 1u;
        }
    }
    return above;
}

void cr_quiet_begin(seL4_CPtr untyped, seL4_CPtr bound)
{
    /* The notification first: it is small, and the rest of the untyped is then as large as a TCB
     * and aligned for one. */
    quiet.again = cr_pool_make(untyped, seL4_NotificationObject, "no notification");
    seL4_CPtr tcb = cr_pool_make(untyped, seL4_TCBObject, "no TCB for the idle thread");
    quiet.signal = cr_pool_cap();
    cr_must(cr_mint(cr_slot_at(quiet.signal), cr_slot_at(bound), seL4_CanWrite,
                    cr_badge(CR_BADGE_IDLE, 0, 0)),
            "the idle signal cannot be minted");
    cr_start_thread(tcb, cr_make_sc(untyped), priority(), cr_idle_start, idle_stack + IDLE_STACK,
                    0);
}

void cr_quiet_signal(uint64_t badge)
{
    const int idle = cr_badge_has(badge, CR_BADGE_IDLE);
    if (cr_badge_has(badge, CR_BADGE_TIMER) || cr_badge_has(badge, CR_BADGE_TURN)) {
        if (!idle && !quiet.rests) {
            return;
        }
        /* The signal may have made a PD able to run, so the thread must look again. */
    } else if (!cr_device_is_awaited()) {
        cr_idle what = cr_hung_awaits_time() ? CR_IDLE_WAIT : cr_director_idle();
        if (what != CR_IDLE_AGAIN) {
            quiet.rests = 1;
            quiet.over = what == CR_IDLE_OVER;
            return;
        }
    }
    quiet.rests = 0;
    cr_signal(quiet.again);
}

int cr_quiet_is_over(void)
{
    return quiet.over;
}
