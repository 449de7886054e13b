/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The cleaner: plans what goes with a PD that is down, carries the plan out step by step, and leaves a legal state. What
 * it decides and what it does both go into the trace, so that the host can check either. */
#ifndef CELLREAP_SUPERVISOR_CLEANER_H
#define CELLREAP_SUPERVISOR_CLEANER_H

#include "system/system.h"

typedef struct cr_trigger_entry {
    cr_ref pd;
    cr_cause cause;
    uint64_t ticket;
} cr_trigger_entry;

typedef struct cr_cleaner {
    cr_phase phase;   /* changed by the cleaner's `enter` alone */
    int waited;       /* the cleanup under way awaited answers at least once */
    uint64_t due;     /* subscribers without a deadline are awaited until then; 0: for ever */
    uint64_t seen;    /* cr_sup.changes when the answers were looked at last */
    uint32_t tag;     /* of the cleanup's notices */
    uint64_t ticket;
    cr_plan plan;
    cr_journal journal;
    uint64_t calls[CR_CALL_COUNT]; /* in its steps */
    uint64_t cycles;
    /* Triggers that were not cleaned up after yet, the oldest first. Each PD is in it once at the most. */
    cr_trigger_entry queue[CR_MAX_PDS];
    uint32_t first;
    uint32_t count;
} cr_cleaner;

/* A PD is down, or is to be; the event that says so is in the trace. If it is doomed already it is only stopped.
 * Else cr_cleaner_follow_up cleans up after it, in its turn. Its operations must still be served. */
void cr_trigger(cr_pd *pd, cr_cause cause, uint64_t ticket);
/* The root task terminates it. */
void cr_terminate(cr_pd *pd);
/* Goes on with cleaning up as far as possible. On return there is no cleanup and the state is legal, or one awaits
 * subscribers. A cleanup that cannot be planned or fails halfway stops the system: nothing legal could follow. */
void cr_cleaner_follow_up(void);
/* Whether a cleanup is under way, and awaits subscribers. */
int cr_cleaner_waits(void);
/* Whether the cleanup under way awaits this PD's answer. */
int cr_cleaner_awaits(const cr_pd *pd);
/* Subscribers without a deadline are not awaited any longer if their time is over at `now`; UINT64_MAX: nobody is. */
void cr_cleaner_expire(uint64_t now);
/* When that is; 0: never. */
uint64_t cr_cleaner_next_due(void);

#endif
