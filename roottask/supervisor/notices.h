/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Notices, from the moment they are owed until they end. Every notice must be queued exactly once
 * and must end exactly once, because tickets, cleanups and extractions count them. */
#ifndef CELLREAP_SUPERVISOR_NOTICES_H
#define CELLREAP_SUPERVISOR_NOTICES_H

#include "system/system.h"

/* How a notice ended. */
typedef enum cr_notice_end {
    CR_NOTICE_DONE = 0,
    CR_NOTICE_FAILED,
    CR_NOTICE_DROPPED, /* its receiver was stopped */
    CR_NOTICE_END_COUNT
} cr_notice_end;

/* Queues a notice that no cleanup owes, and signals its receiver. A notice to a stopped PD is
 * dropped at once. `tag` is that of the extraction that it belongs to, or 0. There must be room. */
void cr_notice_put(cr_pd *to, const cr_notice *notice, uint32_t tag);
/* How far notices are queued that are queued together. 0 at first. */
typedef struct cr_queueing {
    uint32_t queued;
    int signals; /* the receiver must be signalled */
} cr_queueing;
/* The same in two parts, for `count` notices that a cleanup owes one receiver, none of which is
 * strict if there are several. The first part makes no kernel call. It may be cut off between two
 * notices and repeated: it goes on behind what is queued already. It says how many are queued,
 * which is less than `count` after an error, and whether the second part must follow. `between`: 0,
 * or what is called before each notice but the first one; if it returns other than 0,
 * CR_ERR_KERNEL. CR_ERR_FULL_NODES, CR_ERR_STALE. */
cr_status cr_notices_queue(cr_pd *to, const cr_notice *notices, uint32_t count, uint32_t cleanup,
                           int (*between)(void), cr_queueing *at);
void cr_notice_signal(const cr_pd *to);
/* Queue the LOST notices that no cleanup owes. A PD that is doomed or not served is not told: its
 * slots are never filled again.
 *
 * To each PD that the present operation took a capability from: to this object, or with object 0 to
 * the space or to something in it. `about` is the id of what was lost. */
void cr_notices_of_losses(uint32_t space, uint32_t object, const char *about);
/* To each PD that a cleanup took PD capabilities from, after the cleanup: one notice for each. They
 * are no part of the plan. */
void cr_notices_of_lost_pds(void);
/* Ends a notice: counts it for the ticket with its tag. */
void cr_notice_over(const cr_pd *receiver, const cr_work_notice *notice, cr_notice_end end);
/* Must be called when something that a cleanup or extraction awaits may have changed: a notice
 * ended, a lane was stopped or resumed, a PD went down or began to wait. The cleaner and the
 * extractions then look again after this message. */
void cr_notices_changed(void);
/* The PD whose fault is held under this notice, or 0. */
cr_pd *cr_notice_held_fault(const cr_work_notice *notice);
/* Whether the notice has a clock of its own (progress.h): a probe, or that of a held fault. */
int cr_notice_is_strict(const cr_work_notice *notice);
/* Whether the PD can finish a notice, and one that is not strict. */
int cr_notices_has_any(const cr_pd *pd);
int cr_notices_has_general(const cr_pd *pd);
/* Starts the clock of a receiver anew: it has made progress, or is owed something again. */
void cr_notices_restart(cr_pd *pd);
/* Removes all notices of a PD that was stopped. */
void cr_notices_forget(const cr_pd *pd);

#endif
