/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a kernel with scheduling contexts (MCS) needs besides: time for each thread, and objects
 * that keep who is to be answered. See kernel.h. */
#include "kernel.h"
#include "untyped.h"

enum { CALLERS = CR_MCS ? CR_MAX_PDS : 1 };

/* Where the callers that are answered later are kept, by the number of the caller. One more is made
 * for the first caller. */
static seL4_CPtr callers[CALLERS + 1];
static seL4_CPtr time_control;

/* Never configured. The kernel binds it to threads that are stopped, or could run, and to no thread
 * that waits. */
static seL4_CPtr no_time;

/* With MCS, the object with the caller becomes that of its sender, whose earlier one keeps nobody
 * any more and takes the next caller. */
seL4_Error cr_save_caller(cr_slot at, uint32_t of)
{
    if (!CR_MCS) {
        return cr_is_refused(CR_CALL_COPY) ? seL4_IllegalOperation
                                           : cr_save_reply(at.root, at.index, at.depth);
    }
    seL4_Error error = cr_copy(at, cr_slot_at(cr_caller_now), seL4_AllRights);
    if (!error) {
        const seL4_CPtr next = callers[of % CALLERS];
        callers[of % CALLERS] = cr_caller_now;
        cr_caller_now = next;
    }
    return error;
}

seL4_Error cr_give_time(seL4_CPtr sc, cr_time time, seL4_Word badge)
{
    const cr_time given = time.budget_us != 0 ? time : (cr_time){CR_SLICE_US, CR_SLICE_US, 0};
    return cr_set_time(time_control, sc, given.budget_us, given.period_us, badge, 0);
}

seL4_Error cr_give_sporadic_time(seL4_CPtr sc, uint32_t period_us)
{
    return cr_set_time(time_control, sc, period_us - 1, period_us, 0, CR_SPORADIC);
}

seL4_Error cr_make_passive(seL4_CPtr sc, seL4_CPtr notification)
{
    cr_count_call(CR_CALL_CONFIGURE);
    return cr_bind_sc(sc, notification);
}

int cr_take_time(seL4_CPtr sc, seL4_CPtr from)
{
    cr_count_call(CR_CALL_CONFIGURE);
    return cr_unbind_sc(sc, from) == seL4_NoError;
}

int cr_give_time_back(seL4_CPtr sc, seL4_CPtr to, cr_time time, seL4_Word badge)
{
    cr_count_call(CR_CALL_CONFIGURE);
    if (cr_bind_sc(sc, to) == seL4_NoError) {
        return 1;
    }
    if (!cr_time_ends(time)) {
        return 0;
    }
    cr_count_call(CR_CALL_CONFIGURE);
    cr_count_call(CR_CALL_CONFIGURE);
    return cr_give_time(sc, time, badge) == seL4_NoError && cr_bind_sc(sc, to) == seL4_NoError;
}

void cr_waits_init(void)
{
    no_time = CR_MCS;
    (void)cr_pool_make_each(&no_time, 1, (seL4_Word)CR_SC_OBJECT, CR_SC_BITS,
                            "no scheduling context");
}

int cr_waits(seL4_CPtr tcb)
{
    cr_count_call(CR_CALL_CONFIGURE);
    if (cr_bind_sc(no_time, tcb) != seL4_NoError) {
        return 1;
    }
    cr_count_call(CR_CALL_CONFIGURE);
    cr_must(cr_unbind_sc(no_time, tcb), "a thread keeps what has no time");
    return 0;
}

int cr_has_time(seL4_CPtr sc, seL4_CPtr tcb)
{
    return cr_ask_sc(sc, tcb) == seL4_InvalidCapability;
}

uint64_t cr_time_used(seL4_CPtr sc)
{
    return cr_sc_used(sc);
}

int cr_tells_time(void)
{
    return CR_MCS && cr_has_time(seL4_CapInitThreadSC, seL4_CapInitThreadTCB);
}

void cr_time_init(const seL4_BootInfo *info, uint32_t senders)
{
    const uint32_t last = senders < CALLERS ? senders : CALLERS;
    time_control = cr_sched_control(info);
    for (uint32_t i = 0; i <= last; i++) {
        callers[i] = CR_MCS;
    }
    (void)cr_pool_make_each(callers, last + 1, (seL4_Word)CR_REPLY_OBJECT, CR_REPLY_BITS,
                            "no reply object");
    cr_caller_now = callers[last];
}

seL4_CPtr cr_make_sc(seL4_CPtr untyped)
{
    seL4_CPtr sc = 0;
    if (CR_MCS) {
        sc = cr_pool_make_sized(untyped, (seL4_Word)CR_SC_OBJECT, CR_SC_BITS,
                                "no scheduling context");
        cr_must(cr_give_time(sc, (cr_time){0}, 0), "a thread of the root task has no time");
    }
    return sc;
}
