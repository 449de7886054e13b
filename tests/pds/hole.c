/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that receives calls, answers none, and faults.
 *
 * It connects to the space of its first request, if it has one.
 *
 * Argument 0: the number of calls that it receives. It receives each one without an answer to the
 * call before, so the kernel keeps no reply capability to the earlier callers. Later calls stay
 * queued.
 * Argument 1: when it faults:
 *   0  after the last of these calls
 *   1  when it is told that the space of its first request is about to be destroyed, to which it
 *      subscribes */
#include "storage.h"
#include <cellreap/image.h>

enum { WHEN_TOLD = 1 };

static int fault(const cr_work_entry *w)
{
    st_say_notice(w);
    cr_crash(CR_CRASH_PAGE_FAULT);
    return 1;
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    uint32_t slot;
    uint32_t space = 0;
    if (info->n_requests > 0 && cr_connect(info->requests[0], 1, &slot, &space) != CR_RESULT_OK) {
        cr_say_text("not connected");
    }
    if (info->args[1] == WHEN_TOLD && cr_subscribe(space, 0) != CR_RESULT_OK) {
        cr_say_text("not subscribed");
    }
    (void)cr_own_space();
    for (uint64_t received = 0; received < info->args[0];) {
        seL4_Word badge;
        (void)cr_recv(CR_SLOT_ENDPOINT, &badge, CR_SLOT_REPLY);
        received += cr_badge_kind_of(badge) != CR_BADGE_SIGNAL;
    }
    cr_say_text("received");
    if (info->args[1] == WHEN_TOLD) {
        cr_wait_for_work(fault);
    }
    cr_crash(CR_CRASH_PAGE_FAULT);
}
