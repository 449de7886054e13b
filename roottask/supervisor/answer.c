/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Later answers, and refusals in the trace. See answer.h. The send of an answer must not
 * block: it uses the reply capability, and a reply never blocks. */
#include "answer.h"
#include "clock.h"
#include "system/state.h"
#include <cellreap/digest.h>
#include <cellreap/statement.h>

int cr_keep_caller(cr_pd *pd)
{
    cr_slot kept = cr_slot_at(cr_body_cap(&pd->body, CR_BODY_REPLY));
    cr_slot saved = CR_MCS ? kept : cr_slot_at(cr_body_cap(&pd->body, CR_BODY_CALLER));
    /* The slot is emptied first: a reply capability that could not be used remains there. */
    if (cr_delete(kept) || cr_save_caller(saved, cr_receiver(pd))) {
        cr_panic("a caller cannot be saved", pd->number);
    }
    if (CR_MCS) {
        uint32_t slot; /* of its message: it has not run since */
        cr_must(cr_called_slot(pd, &slot), "the registers of a PD cannot be read");
        return slot == CR_SLOT_ROOT;
    }
    /* To save a caller that does not exist is no error; to move an empty slot is one. */
    return cr_move(kept, saved) == seL4_NoError;
}

void cr_trace_answer(cr_pd *pd, const cr_answer *answer)
{
    if (answer->result != CR_RESULT_OK ||
        !cr_answer_is_told(answer->op, answer->words, &pd->answers)) {
        return;
    }
    cr_trace_begin(&cr_sys.trace, CR_EV_ANSWER);
    cr_trace_pd(pd);
    cr_trace_op(answer->op);
    cr_trace_number(&cr_sys.trace, answer->space);
    cr_trace_number(&cr_sys.trace, answer->number);
    cr_trace_number(&cr_sys.trace, answer->count);
    cr_trace_digest(&cr_sys.trace, cr_digest_words(answer->words, answer->count));
    cr_trace_end(&cr_sys.trace);
}

void cr_answer_later(cr_pd *pd, const cr_answer *answer)
{
    cr_trace_answer(pd, answer);
    cr_pd_wait(pd, CR_WAIT_NOTHING);
    cr_count_call(CR_CALL_REPLY);
    for (uint32_t i = 0; i < answer->count; i++) {
        seL4_SetMR((int)i, answer->words[i]);
    }
    seL4_Send(cr_body_cap(&pd->body, CR_BODY_REPLY),
              seL4_MessageInfo_new((seL4_Word)answer->result, 0, 0, answer->count));
}

void cr_answer_checkpoint(cr_pd *pd, uint64_t order, uint32_t slot)
{
    const uint64_t results[2] = {order, slot};
    cr_answer_later(pd, &(cr_answer){.op = CR_OP_CHECKPOINT, .count = 2, .words = results});
}

static void trace_refused(cr_pd *pd)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_REFUSED);
    cr_trace_pd(pd);
    cr_trace_number(&cr_sys.trace, pd->refusals_untold);
    cr_trace_end(&cr_sys.trace);
    pd->refusals_untold = 0;
}

void cr_trace_refused_rest(void)
{
    if (!cr_sys.refusals_untold) {
        return;
    }
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        if (cr_pd_exists(&cr_sys.pds[i]) && cr_sys.pds[i].refusals_untold > 0) {
            trace_refused(&cr_sys.pds[i]);
        }
    }
    cr_sys.refusals_untold = 0;
}

void cr_trace_refuse(cr_pd *pd, uint64_t op, cr_result result)
{
    if (pd->refusals >= CR_REFUSALS_TOLD) {
        pd->refusals_untold++;
        cr_sys.refusals_untold = 1;
        if (pd->refusals_untold == CR_REFUSALS_SUM) {
            trace_refused(pd);
        }
        return;
    }
    pd->refusals++;
    cr_trace_begin(&cr_sys.trace, CR_EV_REFUSE);
    cr_trace_pd(pd);
    cr_trace_number(&cr_sys.trace, op);
    cr_trace_number(&cr_sys.trace, (uint64_t)result);
    cr_trace_end(&cr_sys.trace);
}
