/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Notices from the moment they are owed until they are over. */
#ifndef CELLREAP_SUPERVISOR_NOTICES_H
#define CELLREAP_SUPERVISOR_NOTICES_H

#include "system/system.h"

/* How a notice came to its end. */
typedef enum cr_notice_end {
    CR_NOTICE_DONE = 0,
    CR_NOTICE_FAILED,
    CR_NOTICE_DROPPED, /* its receiver is gone */
    CR_NOTICE_END_COUNT
} cr_notice_end;

const char *cr_notice_name(cr_notice_kind kind);
/* Queues a notice and signals its receiver. `cleanup`: the one that owes it, or 0. `tag`: of the cleanup or extraction on
 * whose account it is. CR_ERR_FULL_NODES, CR_ERR_STALE. */
cr_status cr_notice_put(const cr_notice *notice, uint32_t cleanup, uint32_t tag);
/* A notice is over: puts it to the account of the ticket that waits for it. */
void cr_notice_over(const cr_pd *receiver, const cr_work_notice *notice, cr_notice_end end);
/* What somebody waits for may have changed: a notice is over, a lane was stopped or resumed, a PD went down or waits.
 * The cleaner and the extractions look again after this message. */
void cr_notices_changed(void);
/* Forgets what is owed to a PD that is gone. */
void cr_notices_forget(const cr_pd *pd);

#endif
