/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Answers that come later than their requests, and lines of the trace about requests and faults. */
#include "supervisor.h"
#include "system/text.h"

int cr_keep_caller(cr_pd *pd)
{
    cr_slot saved = cr_slot_at(cr_body_cap(&pd->body, CR_BODY_CALLER));
    cr_slot kept = cr_slot_at(cr_body_cap(&pd->body, CR_BODY_REPLY));
    /* Emptied first: an answer that could not be given has left its capability there. */
    if (cr_delete(kept) || cr_save_caller(saved)) {
        cr_panic("a caller cannot be saved", pd->number);
    }
    return cr_move(kept, saved) == seL4_NoError; /* Saving nobody is no error, moving nothing is. */
}

void cr_answer_later(cr_pd *pd, cr_result result, uint32_t count, const uint64_t *results)
{
    for (uint32_t i = 0; i < count; i++) {
        seL4_SetMR((int)i, results[i]);
    }
    cr_deadlines_excuse(pd);
    cr_calls[CR_CALL_REPLY]++;
    seL4_Send(cr_body_cap(&pd->body, CR_BODY_REPLY), seL4_MessageInfo_new((seL4_Word)result, 0, 0, count));
}

void cr_release(cr_pd *pd)
{
    switch (pd->keeps) {
    case CR_KEEP_CHECKPOINT:
        cr_director_release(pd);
        break;
    case CR_KEEP_CONNECT:
        (void)cr_retry_connect(pd, 1);
        break;
    case CR_KEEP_TICKET:
    case CR_KEEP_TERMINATE:
        cr_ticket_answer(pd);
        break;
    case CR_KEEP_NONE:
        break;
    }
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
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        if (cr_sys.pds[i].used && cr_sys.pds[i].refusals_untold > 0) {
            trace_refused(&cr_sys.pds[i]);
        }
    }
}

/* A PD that is refused for ever must not fill the console. */
void cr_trace_refuse(cr_pd *pd, uint64_t op, cr_result result)
{
    if (pd->refusals >= CR_REFUSALS_TOLD) {
        pd->refusals_untold++;
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

cr_result cr_find_named_space(const char *name, cr_ref *out)
{
    for (uint32_t i = 0; i < CR_MAX_NODES; i++) {
        cr_ref node;
        cr_node_info info;
        if (cr_model_at(cr_sys.model, i, &node) == CR_OK && cr_model_get(cr_sys.model, node, &info) == CR_OK &&
            info.kind == CR_NODE_SPACE && info.state == CR_STATE_ACTIVE && (info.flags & CR_FLAG_CORE) == 0 &&
            cr_text_same(cr_space_entry_of(node)->name, name)) {
            *out = node;
            return CR_RESULT_OK;
        }
    }
    return CR_RESULT_NO_SUCH;
}

/* Answers a connect with what it asks for. */
cr_result cr_connect_now(cr_pd *pd, cr_ref space, uint64_t *results)
{
    uint32_t slot;
    cr_node_info info;
    cr_result result = cr_make_request(pd, space, &slot);
    if (result == CR_RESULT_EXISTS) {
        result = CR_RESULT_OK; /* It may ask again, and gets the same slot. */
    }
    if (result == CR_RESULT_OK && cr_model_get(cr_sys.model, space, &info) == CR_OK) {
        results[0] = slot;
        results[1] = info.number;
    }
    return result;
}

int cr_retry_connect(cr_pd *pd, int last_try)
{
    uint64_t results[2];
    cr_ref space;
    cr_result result = cr_is_doomed(pd) ? CR_RESULT_GONE : cr_find_named_space(pd->wanted, &space);
    if (result == CR_RESULT_OK) {
        result = cr_connect_now(pd, space, results);
    } else if (last_try) {
        result = CR_RESULT_GONE;
    } else if (result != CR_RESULT_GONE) {
        return 0;
    }
    pd->keeps = CR_KEEP_NONE;
    if (result != CR_RESULT_OK) {
        cr_trace_refuse(pd, CR_OP_CONNECT, result);
    }
    cr_answer_later(pd, result, result == CR_RESULT_OK ? 2 : 0, results);
    return 1;
}

static const char *const fault_names[] = {
#define CR_FAULT_KIND(enumerator, number, name, ...) [enumerator] = name,
    CR_FAULT_KINDS
#undef CR_FAULT_KIND
};

void cr_trace_fault(const cr_pd *pd, cr_fault_kind kind, uint64_t address, uint64_t ip)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_FAULT);
    cr_trace_pd(pd);
    cr_trace_string(&cr_sys.trace, fault_names[kind]);
    cr_trace_address(&cr_sys.trace, address);
    cr_trace_address(&cr_sys.trace, ip);
    cr_trace_end(&cr_sys.trace);
}
