/* SPDX-License-Identifier: BSD-2-Clause */
#include "operations.h"
#include "supervisor.h"
#include "system/text.h"

_Static_assert(sizeof(((cr_operation_args *)0)->name) == CR_NAME_BYTES, "as where names are kept");
_Static_assert(sizeof(((cr_operation_args *)0)->type) == CR_TYPE_BYTES, "as where types are kept");

cr_result cr_find_named_pd(const cr_asked *a, cr_pd **out)
{
    cr_result result = cr_find_badged(a->args.pd, CR_BADGE_BODY, out);
    return result == CR_RESULT_OK && cr_is_doomed(*out) ? CR_RESULT_GONE : result;
}

cr_result cr_find_own_space(const cr_asked *a, cr_ref *out)
{
    cr_result result = cr_find_space(a->args.space, out);
    if (result == CR_RESULT_OK && cr_manager_of(*out) != a->from) {
        result = CR_RESULT_DENIED;
    }
    return result;
}

cr_result cr_find_own_resource(const cr_asked *a, cr_ref *out)
{
    cr_ref space;
    cr_result result = cr_find_own_space(a, &space);
    return result != CR_RESULT_OK ? result : cr_find_resource(a->args.space, a->args.object, out);
}

cr_result cr_find_own_client(const cr_asked *a, cr_pd **out)
{
    cr_request_entry *entry;
    cr_result result = cr_find_request(a->args.badge, &entry);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (cr_manager_of(entry->space) != a->from) {
        return CR_RESULT_DENIED;
    }
    *out = &cr_sys.pds[entry->pd];
    return cr_is_doomed(*out) ? CR_RESULT_GONE : CR_RESULT_OK;
}

uint32_t cr_find_configured_space(const char *name)
{
    const cr_image_header *image = cr_sys.image;
    for (uint32_t i = 0; i < image->spaces.count; i++) {
        if (cr_text_same(cr_image_spaces(image)[i].name, name)) {
            return i;
        }
    }
    return CR_IMAGE_NONE;
}

uint32_t cr_number_of(cr_ref node)
{
    cr_node_info info;
    if (cr_model_get(cr_sys.model, node, &info) != CR_OK) {
        cr_panic("a node that was found is not there", node.index);
    }
    return info.number;
}

/* -- serving */

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
    operations[a->args.op].run(a);
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
    cr_free_emptied_slots(from);
    cr_result result = check_and_do(&m->raw, a);
    if (result != CR_RESULT_OK) {
        cr_trace_refuse(from, m->raw.label, result);
        reply(result, a);
        return;
    }
    if (a->wait != CR_WAIT_NOTHING) {
        if (cr_keep_caller(from)) {
            /* It answers no question of a cleanup or extraction from here on. */
            cr_waits_begin(from, a->wait);
        } else if (a->ticket != 0) {
            cr_ticket_unwanted(a->ticket);
        }
    } else if (!a->never) {
        reply(result, a);
    }
    /* After the answer: the caller does not wait for the cleanup, and may be destroyed by it. */
    if (a->down != 0) {
        cr_trigger(a->down, a->cause, a->ticket);
    }
}
