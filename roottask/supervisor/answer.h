/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Answers that come later than their operations, and the trace of refusals. Every operation
 * is answered at most once. A PD must not be able to fill the console with refusals. */
#ifndef CELLREAP_SUPERVISOR_ANSWER_H
#define CELLREAP_SUPERVISOR_ANSWER_H

#include "system/system.h"

/* Saves the reply capability of the message received last, which must be from this PD. Returns 0 if
 * the PD sent the message without a call. Then no PD waits for an answer. */
int cr_keep_caller(cr_pd *pd);
/* Answers a PD that waits, with `count` results. The PD no longer waits afterwards. */
void cr_answer_later(cr_pd *pd, cr_result result, uint32_t count, const uint64_t *results);
/* Answers a PD that waits at a checkpoint. */
void cr_answer_checkpoint(cr_pd *pd, uint64_t order, uint32_t slot);
/* Traces a refused operation. After CR_REFUSALS_TOLD refusals of a PD, its refusals are only
 * counted. Otherwise the PD could fill the console. */
void cr_trace_refuse(cr_pd *pd, uint64_t op, cr_result result);
/* Traces the refusals that were counted and are not in the trace yet. */
void cr_trace_refused_rest(void);

#endif
