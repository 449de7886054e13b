/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations on collections: to ask for one, and to save a PD from one. See operations.h for the
 * rules of checks. Only PDs that the configuration permits may ask. A collection never takes a PD
 * of the configuration, so none that it protects: it need not be planned before it is accepted. */
#include "supervisor.h"
#include "system/charge.h"

cr_result cr_check_collect(cr_asked *a)
{
    if ((a->from->flags & CR_IMAGE_MAY_COLLECT) == 0) {
        return CR_RESULT_DENIED;
    }
    return cr_ticket_room(a->from) ? CR_RESULT_OK : CR_RESULT_BUSY;
}

void cr_do_collect(cr_asked *a)
{
    cr_trace_trigger(
        &(cr_triggered){.cause = CR_CAUSE_COLLECT, .when = CR_WHEN_LATER, .by = a->from});
    cr_answer_ticket(a, cr_ticket_make(a->from, CR_TICKET_COLLECTION, 0, 0));
    cr_cleaner_collect();
}

/* Only who was told may save the PD, and only until the collection goes on: so nobody is taken from
 * it by surprise. That the caller got the capability once, to subscribe, is its authority. */
cr_result cr_check_save(cr_asked *a)
{
    cr_ref body;
    cr_result result = cr_find_pd(a->args.pd_number, &a->found.pd);
    if (result != CR_RESULT_OK) {
        return result;
    }
    const cr_pd *pd = a->found.pd;
    if (!cr_is_doomed(pd)) {
        return CR_RESULT_DENIED;
    }
    const cr_cleanup *collection = cr_cleaner_dooming(pd->node);
    if (collection == 0 || collection->plan.kind != CR_PLAN_COLLECT || !cr_pd_is_up(pd)) {
        return CR_RESULT_GONE;
    }
    if (!cr_cleaner_has_told(collection, a->from, pd->node)) {
        return CR_RESULT_DENIED;
    }
    const int has_body = cr_body_resource(pd, &body);
    if (has_body && cr_model_count(cr_sys.model, CR_EDGE_HOLD, a->from->node, body) > 0) {
        return CR_RESULT_EXISTS;
    }
    if (!has_body && cr_nodes_left() == 0) {
        return CR_RESULT_FULL;
    }
    result = cr_can_take_slot(a->from, &a->found.slot);
    return result == CR_RESULT_OK ? cr_fits(a->from, CR_QUOTA_EDGES, 1, 0) : result;
}

void cr_do_save(cr_asked *a)
{
    a->undone = cr_make_body_hold(a->from, a->found.pd, a->found.slot);
    if (a->undone == CR_RESULT_OK) {
        cr_cleaner_dooming(a->found.pd->node)->saved = 1;
        a->results[0] = a->found.slot;
        a->count = 1;
    }
}
