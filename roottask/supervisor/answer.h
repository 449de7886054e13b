/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Answers that come later than their operations, and what the trace says of refusals and faults. */
#ifndef CELLREAP_SUPERVISOR_ANSWER_H
#define CELLREAP_SUPERVISOR_ANSWER_H

#include "system/system.h"

/* Keeps the reply capability of the message received last, which is this PD's. Returns 0 if the message was sent and not
 * called: then nobody waits for an answer. */
int cr_keep_caller(cr_pd *pd);
/* Answers a PD that waits: `count` results. It waits for nothing then. */
void cr_answer_later(cr_pd *pd, cr_result result, uint32_t count, const uint64_t *results);
/* Answers a PD that waits at a checkpoint. */
void cr_answer_checkpoint(cr_pd *pd, uint64_t order, uint32_t slot);
/* A refused operation. After CR_REFUSALS_TOLD of a PD its refusals are only counted, or it could fill the console. */
void cr_trace_refuse(cr_pd *pd, uint64_t op, cr_result result);
/* Refusals that were counted and are not in the trace yet. */
void cr_trace_refused_rest(void);
void cr_trace_fault(const cr_pd *pd, cr_fault_kind kind, uint64_t address, uint64_t ip);

#endif
