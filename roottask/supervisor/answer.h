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
/* An answer, and what the message named. */
typedef struct cr_answer {
    cr_op op;
    cr_result result;
    uint32_t space;
    uint64_t number; /* of a resource, a PD, a notice or a cleanup */
    uint32_t count;
    const uint64_t *words;
} cr_answer;

/* Traces an answer that tells the PD something. The PD must be sent just these words. */
void cr_trace_answer(cr_pd *pd, const cr_answer *answer);
/* Answers a PD that waits. The PD no longer waits afterwards. */
void cr_answer_later(cr_pd *pd, const cr_answer *answer);
/* Answers a PD that waits at a checkpoint. */
void cr_answer_checkpoint(cr_pd *pd, uint64_t order, uint32_t slot);
/* Traces a refused operation. After CR_REFUSALS_TOLD refusals of a PD, its refusals are only
 * counted. Otherwise the PD could fill the console. */
void cr_trace_refuse(cr_pd *pd, uint64_t op, cr_result result);
/* Traces the refusals that were counted and are not in the trace yet. */
void cr_trace_refused_rest(void);

#endif
