/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The cleaner. For a PD that is down, it plans what is destroyed, carries out the plan step by step
 * and leaves a legal state. It writes both the plan and the steps into the trace, so that the host
 * can check each of them.
 *
 * The cleaner must never leave a cleanup half done: if a step fails, it stops the system. It awaits
 * a subscriber until the subscriber has answered, cannot answer any more, or is given up
 * (progress.h). */
#ifndef CELLREAP_SUPERVISOR_CLEANER_H
#define CELLREAP_SUPERVISOR_CLEANER_H

#include "system/system.h"

typedef struct cr_trigger_entry {
    cr_ref pd;
    cr_cause cause;
    uint64_t ticket;
} cr_trigger_entry;

typedef struct cr_cleaner {
    cr_phase phase;   /* changed only by the cleaner's `enter` */
    int waited;       /* this cleanup awaited acknowledgements at least once */
    uint64_t seen;    /* cr_sup.changes at the last look at the acknowledgements */
    uint32_t tag;     /* of the cleanup's notices */
    uint64_t ticket;
    cr_plan plan;
    cr_journal journal;
    uint64_t calls[CR_CALL_COUNT]; /* in its steps, by kind */
    uint64_t cycles;
    /* Triggers whose cleanup has not begun, oldest first. Each PD is in the queue at most once. */
    cr_trigger_entry queue[CR_MAX_PDS];
    uint32_t first;
    uint32_t count;
} cr_cleaner;

/* Makes a PD a trigger and stops it at once. The event that caused it must already be in the trace,
 * and the PD must still be up (cr_pd_is_up). If the PD is doomed, it is only stopped. Otherwise
 * cr_cleaner_follow_up cleans up after it in its turn. */
void cr_trigger(cr_pd *pd, cr_cause cause, uint64_t ticket);
/* Terminates a PD on behalf of the root task. */
void cr_terminate(cr_pd *pd);
/* Continues the cleanups as far as possible. On return no cleanup is under way and the state is
 * legal, or one cleanup awaits subscribers. If a cleanup cannot be planned or fails in a step, the
 * system stops: no legal state could follow. */
void cr_cleaner_follow_up(void);
/* Whether a cleanup is under way and awaits subscribers. */
int cr_cleaner_waits(void);
/* Whether the cleanup under way awaits this PD's acknowledgement. */
int cr_cleaner_awaits(const cr_pd *pd);
/* The cleanup that awaits this PD goes on without its answers, also to what it tells it later. */
void cr_cleaner_give_up(cr_pd *pd);

#endif
