/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Serves operations: decodes the message, checks, does, and answers. See operations.h. An operation
 * must not be done before its check has succeeded, and a message must not be trusted before
 * cr_decode_operation has accepted it. */
#include "operations.h"
#include "supervisor.h"

_Static_assert(sizeof(((cr_operation_args *)0)->name) == CR_NAME_BYTES, "as where names are kept");
_Static_assert(sizeof(((cr_operation_args *)0)->type) == CR_TYPE_BYTES, "as where types are kept");

static const struct {
    cr_result (*check)(cr_asked *a);
    void (*run)(cr_asked *a);
    cr_asker asker;
} operations[CR_OP_COUNT] = {
#define CR_OPERATION(enumerator, number, word, topic, arguments, results, asker, ...) \
    [enumerator] = {cr_check_##word, cr_do_##word, asker},
    CR_OPERATIONS
#undef CR_OPERATION
};

static void reply(cr_result result, const cr_asked *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        seL4_SetMR((int)i, a->results[i]);
    }
    cr_calls[CR_CALL_REPLY]++;
    seL4_Reply(seL4_MessageInfo_new((seL4_Word)result, 0, 0, a->count));
}

static cr_result check_and_do(const cr_raw_message *m, cr_asked *a)
{
    cr_result result = cr_decode_operation(m, &a->args);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (cr_is_doomed(a->from) && operations[a->args.op].asker != CR_FROM_ANY) {
        return CR_RESULT_GONE;
    }
    result = operations[a->args.op].check(a);
    if (result != CR_RESULT_OK) {
        return result;
    }
    cr_sys.cause = (cr_cause_of){.asker = a->from, .op = (uint32_t)a->args.op};
    operations[a->args.op].run(a);
    cr_sys.cause = (cr_cause_of){0};
    return a->undone;
}

void cr_serve(cr_pd *from, const cr_message *m)
{
    cr_asked *a = &cr_sup.operations.asked;
    a->from = from;
    a->count = 0;
    a->wait = CR_WAIT_NOTHING;
    a->never = 0;
    a->undone = CR_RESULT_OK;
    a->down = 0;
    a->ticket = 0;
    cr_result result = check_and_do(&m->raw, a);
    if (result != CR_RESULT_OK) {
        cr_trace_refuse(from, m->raw.label, result);
        reply(result, a);
        return;
    }
    if (a->wait != CR_WAIT_NOTHING) {
        if (cr_keep_caller(from)) {
            /* From here on the PD answers no notice of a cleanup or extraction. */
            cr_waits_begin(from, a->wait);
        } else if (a->ticket != 0) {
            cr_ticket_unwanted(a->ticket);
        }
    } else if (!a->never) {
        reply(result, a);
    }
    /* After the answer, because the caller does not wait for the cleanup and the cleanup may
     * destroy it. */
    if (a->down != 0) {
        cr_trigger(a->down, a->cause, a->ticket);
    }
}
