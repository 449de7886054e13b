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

const char *cr_notice_name(cr_notice_kind kind);
/* Queues a notice and signals its receiver. A notice to a stopped PD is dropped at once. `cleanup`
 * is the cleanup that owes it, or 0. `tag` is that of the cleanup or extraction that the notice
 * belongs to. CR_ERR_FULL_NODES, CR_ERR_STALE. */
cr_status cr_notice_put(const cr_notice *notice, uint32_t cleanup, uint32_t tag);
/* Ends a notice: counts it for the ticket with its tag. */
void cr_notice_over(const cr_pd *receiver, const cr_work_notice *notice, cr_notice_end end);
/* Must be called when something that a cleanup or extraction awaits may have changed: a notice
 * ended, a lane was stopped or resumed, a PD went down or began to wait. The cleaner and the
 * extractions then look again after this message. */
void cr_notices_changed(void);
/* Starts the clock of a receiver anew: it has made progress, or is owed something again. */
void cr_notices_restart(cr_pd *pd);
/* Removes all notices of a PD that was stopped. */
void cr_notices_forget(const cr_pd *pd);

#endif
