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
#define CR_OPERATION(enumerator, n, word, topic, arguments, results, called, told, asker, ...)     \
    [enumerator] = {cr_check_##word, cr_do_##word, asker},
    CR_OPERATIONS
#undef CR_OPERATION
};

/* What the operation asks about, if the trace tells that. */
static void name_question(const cr_asked *a, cr_answer *answer)
{
    switch (a->args.op) {
#define NOT_TOLD
#define TOLD
#define TOLD_IF(word)
#define TOLD_SOME
#define TOLD_OF(word, member) answer->number = a->args.member;
#define QUESTION(member)                                                                           \
    answer->space = a->args.space;                                                                 \
    answer->number = a->args.member;
#define CR_OPERATION(enumerator, number, word, topic, arguments, results, called, told, ...)       \
    case enumerator:                                                                               \
        told break;
        CR_OPERATIONS
#undef CR_OPERATION
    case CR_OP_COUNT:
        break;
    }
}

static void trace_answer(const cr_asked *a)
{
    cr_answer answer = {.op = a->args.op, .count = a->count, .words = a->results};
    name_question(a, &answer);
    cr_trace_answer(a->from, &answer);
}

static void reply(cr_result result, const cr_asked *a)
{
    if (result == CR_RESULT_OK) {
        trace_answer(a);
    }
    if (a->way == CR_WAY_SENT) {
        return;
    }
    if (a->way == CR_WAY_AT_ONCE && a->count <= CR_KEPT_ANSWER_MAX) {
        cr_keep_answer((seL4_Word)result, a->count, a->results);
        return;
    }
    cr_count_call(CR_CALL_REPLY);
    for (uint32_t i = 0; i < a->count; i++) {
        seL4_SetMR((int)i, a->results[i]);
    }
    const seL4_MessageInfo_t answer = seL4_MessageInfo_new((seL4_Word)result, 0, 0, a->count);
    if (a->way == CR_WAY_SAVED) {
        seL4_Send(cr_body_cap(&a->from->body, CR_BODY_REPLY), answer);
    } else {
        cr_answer_now(answer);
    }
}

/* Whether the PD waits for an answer that comes later. */
static int keeps_caller(const cr_asked *a)
{
    return a->way == CR_WAY_AT_ONCE ? cr_keep_caller(a->from) : a->way == CR_WAY_SAVED;
}

static cr_result check(const cr_raw_message *m, cr_asked *a)
{
    cr_result result = cr_decode_operation(m, &a->args);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (cr_is_doomed(a->from) && operations[a->args.op].asker != CR_FROM_ANY) {
        return CR_RESULT_GONE;
    }
    return operations[a->args.op].check(a);
}

static cr_result carry_out(cr_asked *a)
{
    cr_sys.cause = (cr_cause_of){.asker = a->from, .op = (uint32_t)a->args.op};
    operations[a->args.op].run(a);
    cr_sys.cause = (cr_cause_of){0};
    return a->undone;
}

static cr_asked *begin(cr_pd *from, cr_way way)
{
    cr_asked *a = &cr_sup.operations.asked;
    a->from = from;
    a->way = way;
    a->count = 0;
    a->wait = CR_WAIT_NOTHING;
    a->never = 0;
    a->undone = CR_RESULT_OK;
    a->down = 0;
    a->later = 0;
    a->ticket = 0;
    return a;
}

void cr_serve(cr_pd *from, const cr_message *m, cr_way way)
{
    cr_asked *a = begin(from, way);
    cr_result result = check(&m->raw, a);
    if (result == CR_RESULT_OK) {
        result = carry_out(a);
    }
    if (result != CR_RESULT_OK) {
        cr_trace_refuse(from, m->raw.label, result);
        reply(result, a);
        return;
    }
    if (a->wait != CR_WAIT_NOTHING) {
        if (keeps_caller(a)) {
            /* From here on the PD answers no notice of a cleanup or extraction. */
            cr_waits_begin(from, a->wait);
        } else if (a->ticket != 0) {
            (void)cr_ticket_look(a->ticket, 0, a->results); /* The trace tells of it. */
        }
    } else if (!a->never) {
        reply(result, a);
    }
    /* After the answer, because the caller does not wait for the cleanup and the cleanup may
     * destroy it. */
    if (a->down == 0) {
        return;
    }
    cr_make_kept_answer();
    if (a->later) {
        cr_trigger_later(a->down);
    } else if (a->cause == CR_CAUSE_SUBTREE) {
        cr_trigger_tree(a->down);
    } else {
        cr_trigger(a->down, a->cause);
    }
}

int cr_serve_interleaved(cr_pd *from, const cr_kept *kept)
{
    cr_asked *a = begin(from, kept->way);
    if (check(&kept->message.raw, a) != CR_RESULT_OK) {
        return 0;
    }
    const cr_result result = carry_out(a);
    if (a->wait != CR_WAIT_NOTHING || a->never || a->down != 0) {
        cr_panic("an operation that is served between steps has consequences", a->args.op);
    }
    if (result != CR_RESULT_OK) {
        cr_trace_refuse(from, kept->message.raw.label, result);
    }
    reply(result, a);
    return 1;
}

static void serve_for(cr_asked *a, cr_op op)
{
    a->args.op = op;
    if (carry_out(a) != CR_RESULT_OK) {
        cr_panic("an operation that the root task asked for is undone", op);
    }
    reply(CR_RESULT_OK, a);
}

/* A probe asks whether the PD answers. That it waits for a message is the only answer of one for
 * Microkit. */
static void acknowledge(cr_pd *pd)
{
    while (!cr_hung_is_asked(pd) && cr_notices_has_any(pd)) {
        cr_asked *a = begin(pd, CR_WAY_SENT);
        serve_for(a, CR_OP_GET_WORK);
        const uint32_t count = (uint32_t)a->results[1];
        if (count == 0) {
            return;
        }
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t token = a->results[2 + i * CR_WORK_WORDS];
            a->found.answers[i] = (cr_work_answer){token, 0};
            a->args.answers[i] = (cr_finish_answer){.token = token, .result = CR_WORK_DONE};
        }
        a = begin(pd, CR_WAY_SENT);
        a->args.count = count;
        serve_for(a, CR_OP_FINISH_WORK);
    }
}

void cr_acknowledge_for_microkit(void)
{
    for (uint32_t i = 1; cr_sys.any_of_microkit && i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_exists(pd) && cr_pd_is_of_microkit(pd) && cr_pd_is_up(pd)) {
            acknowledge(pd);
        }
    }
}
