/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The clocks of receivers, and the decision that a receiver is late.
 *
 * A receiver is late if, for its deadline, it had a notice to fetch or finish, could run, and
 * finished none for the first time. Its clock stands still while it waits in a call to another PD,
 * while it waits for the root task, and while PDs of higher priorities leave it no time. Whether
 * other PDs rest must never matter.
 *
 * A probe, and the notice of a fault that is held, have clocks of their own. A receiver is late if
 * it could run for its deadline since such a notice was queued and did not finish it, whatever else
 * it finished. A fault handler without a deadline loses the fault to the root task after await_ms.
 * A fault handler that waits for the PD whose fault it has loses the fault at once.
 *
 * A cleanup, an extraction or a ticket awaits a receiver without a deadline for await_ms of the
 * time in which that receiver could run. Then it is given up: the notices that it has had so long
 * are awaited by nobody any more. Any receiver is given up that has finished nothing that is
 * awaited for twice the larger of its deadline and await_ms, calls to other PDs included. A
 * receiver that is given up is not harmed.
 *
 * The clocks are looked at in intervals. What a receiver did in an interval is decided by its
 * registers and by the turn thread of its priority (kernel/turns.h). */
#ifndef CELLREAP_SUPERVISOR_PROGRESS_H
#define CELLREAP_SUPERVISOR_PROGRESS_H

#include "calls.h"
#include "system/system.h"

typedef struct cr_progress {
    uint64_t last; /* the time of the last look */
    /* by priority: whether PDs of it have had the processor in the last interval */
    uint8_t answered[CR_PRIORITY_MAX + 1];
} cr_progress;

/* Makes the turn threads. Must be called once during setup, when the image is known. `bound`: the
 * notification of the main thread. */
void cr_progress_init(const cr_image_header *image, seL4_CPtr bound);
/* Looks at all receivers if an interval is over. Returns whether it is. */
int cr_progress_look(void);
/* Whether the PD is late. *notice is the probe or the held fault that it did not finish, or the
 * oldest other one that it could finish. *ms is the time in which it could have done so. */
int cr_progress_is_late(const cr_pd *pd, cr_work_notice *notice, uint64_t *ms);
/* Whether the PD's clock will decide something, even if no PD runs any more. It will not if nobody
 * awaits the PD and its calls lead to PDs without a deadline only. For the hooks. */
int cr_progress_is_pending(const cr_pd *pd);
/* Tells the trace of a PD that is not late although it has had a notice for longer than its
 * deadline. Such a PD could not run, or waits for others. */
void cr_progress_tell_held_up(cr_pd *pd);
/* The longest that the PD may wait for the root task while it is owed a notice, in nanoseconds. */
uint64_t cr_progress_limit(const cr_pd *pd);
/* The PD finished a notice that was not finished before. */
void cr_progress_made(cr_pd *pd, const cr_work_notice *notice);
/* Takes over the faults whose handlers have no deadline and did not answer for await_ms, and one
 * whose handler waits for the PD that faulted. */
void cr_progress_take_faults(void);
/* Gives up the receivers whose time is over. */
void cr_progress_give_up(void);
/* Gives up all awaited receivers. Only for a caller that knows that no PD can run, on a kernel
 * without a timer. Returns whether there was one. */
int cr_progress_give_up_all(void);

#endif
