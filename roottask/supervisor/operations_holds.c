/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations on requests and holds: connecting to a space, giving and taking back resources,
 * dropping. See operations.h for the rules of checks. A PD must obtain a capability only by the
 * configuration, or from a PD that manages the space or has the capability itself. */
#include "supervisor.h"
#include "system/charge.h"
#include "system/memory.h"
#include "system/text.h"

/* -- consent */

/* What was allowed can always be taken back. */
static int takes_back(const cr_asked *a)
{
    return a->args.allowed == 0 && cr_allowance(a->from, a->found.pd) != 0;
}

/* Nobody can make edges for others that the root task does not ask for, and a PD needs no consent
 * of its own. */
cr_result cr_check_allow(cr_asked *a)
{
    cr_result result = CR_RESULT_OK;
    if (a->args.space == 0) {
        result = cr_find_pd(a->args.pd_number, &a->found.pd);
    } else if ((result = cr_find_space(a->args.space, &a->found.node)) == CR_RESULT_OK) {
        a->found.pd = cr_manager_of(a->found.node);
    }
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (a->found.pd == a->from || a->found.pd == cr_pd_of(cr_sys.root)) {
        return CR_RESULT_DENIED;
    }
    if (cr_is_doomed(a->found.pd)) {
        return CR_RESULT_GONE;
    }
    return takes_back(a) || cr_may_consent(a->from) ? CR_RESULT_OK : CR_RESULT_FULL;
}

void cr_do_allow(cr_asked *a)
{
    if (!takes_back(a)) {
        cr_count_consent(a->from);
    }
    cr_allow(a->from, a->found.pd, a->args.allowed);
}

/* -- requests */

enum { NOT_THERE = 0, SPACE_THERE = 1, REQUEST_THERE = 2 };

cr_result cr_check_connect(cr_asked *a)
{
    if (cr_find_configured_space(a->args.name) == CR_IMAGE_NONE) {
        return CR_RESULT_NO_SUCH;
    }
    if (!cr_needs_request(a->from, a->args.name)) {
        return CR_RESULT_DENIED;
    }
    if (cr_find_served_space(a->args.name, &a->found.node) != CR_RESULT_OK) {
        a->found.there = NOT_THERE;
        return a->args.no_wait ? CR_RESULT_GONE : CR_RESULT_OK;
    }
    cr_result result = cr_can_make_request(0, a->from, a->found.node, &a->found.slot);
    a->found.there = result == CR_RESULT_EXISTS ? REQUEST_THERE : SPACE_THERE;
    /* The PD may ask again and receives the same slot. */
    return result == CR_RESULT_EXISTS ? CR_RESULT_OK : result;
}

void cr_do_connect(cr_asked *a)
{
    if (a->found.there == NOT_THERE) {
        cr_text_copy(a->from->wanted, a->args.name, CR_NAME_BYTES);
        a->wait = CR_WAIT_CONNECT;
        return;
    }
    if (a->found.there == SPACE_THERE) {
        a->undone = cr_make_request(a->from, a->found.node, a->found.slot);
    }
    if (a->undone != CR_RESULT_OK) {
        return;
    }
    a->results[0] = a->found.slot;
    a->results[1] = cr_number_of(a->found.node);
    a->count = 2;
}

/* A client can always leave. There is room for the notice: the edge has kept it
 * free. */
cr_result cr_check_disconnect(cr_asked *a)
{
    cr_result result = cr_find_space(a->args.space, &a->found.node);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (cr_model_count(cr_sys.model, CR_EDGE_REQUEST, a->from->node, a->found.node) == 0) {
        return CR_RESULT_NO_SUCH;
    }
    cr_pd *server = cr_manager_of(a->found.node);
    a->found.pd = server;
    a->found.tells = server != 0 && server != &cr_sys.pds[0];
    return CR_RESULT_OK;
}

void cr_do_disconnect(cr_asked *a)
{
    cr_drop_request(a->from, a->found.node);
    if (a->found.tells) {
        const cr_notice notice = {
            .kind = CR_NOTICE_DISCONNECT, .node = a->found.node, .from = a->from->node};
        cr_notice_put(a->found.pd, &notice, 0);
    }
}

cr_result cr_check_share_request(cr_asked *a)
{
    cr_result result = cr_find_named_pd(a, &a->found.pd);
    if (result == CR_RESULT_OK) {
        result = cr_find_space(a->args.space, &a->found.node);
    }
    if (result != CR_RESULT_OK) {
        return result;
    }
    cr_pd *manager = cr_manager_of(a->found.node);
    int may = manager == a->from ||
              cr_model_count(cr_sys.model, CR_EDGE_REQUEST, a->from->node, a->found.node) > 0;
    /* Only the configuration gives requests to the spaces of the root task. */
    if (!may || manager == 0 || manager == cr_pd_of(cr_sys.root) || a->found.pd == manager ||
        a->found.pd == a->from) {
        return CR_RESULT_DENIED;
    }
    result = cr_can_make_request(a->from, a->found.pd, a->found.node, &a->found.slot);
    if (result == CR_RESULT_EXISTS) {
        a->results[0] = a->found.slot;
        a->count = 1;
    }
    return result;
}

void cr_do_share_request(cr_asked *a)
{
    a->undone = cr_make_request(a->found.pd, a->found.node, a->found.slot);
    if (a->undone == CR_RESULT_OK) {
        a->results[0] = a->found.slot;
        a->count = 1;
    }
}

/* -- holds */

/* Whether the caller may give what was found to the PD that was found. Then also the slot; of
 * memory, the rights: those that the PD has already, and those of the caller if they are given. */
static cr_result may_give(cr_asked *a)
{
    const int is_memory = cr_is_memory(a->found.node);
    if (a->args.read_only != 0 && !is_memory) {
        return CR_RESULT_FAILED;
    }
    const cr_result result = cr_can_make_hold(a->from, a->found.pd, a->found.node, &a->found.slot);
    if (result == CR_RESULT_OK && is_memory) {
        a->found.slot &= CR_REGION_WRITABLE;
        a->found.slot |= a->args.read_only != 0
                             ? (uint32_t)CR_HOLD_READ_ONLY
                             : cr_sys.edge_entry[cr_model_find(cr_sys.model, CR_EDGE_HOLD,
                                                               a->from->node, a->found.node)] &
                                   CR_REGION_WRITABLE;
    }
    return result;
}

/* Whether the caller holds it and can hand it on. */
static int may_hand_on(const cr_asked *a)
{
    return cr_model_count(cr_sys.model, CR_EDGE_HOLD, a->from->node, a->found.node) != 0 &&
           !cr_is_region(a->found.node) /* It is of one address space. */ &&
           !cr_is_bare(a->found.node) /* It is of those that the configuration names. */ &&
           !cr_is_line(a->found.node) /* It is of one PD. */;
}

cr_result cr_check_give(cr_asked *a)
{
    cr_result result = cr_find_own_resource(a, &a->found.node);
    if (result == CR_RESULT_DENIED &&
        cr_find_resource(a->args.space, a->args.object, &a->found.node) == CR_RESULT_OK &&
        cr_is_memory(a->found.node) && may_hand_on(a)) {
        result = CR_RESULT_OK;
    }
    if (result == CR_RESULT_OK) {
        result = cr_find_own_client(a, &a->found.pd);
    }
    if (result == CR_RESULT_OK && a->found.pd == a->from) {
        result = CR_RESULT_DENIED;
    }
    return result == CR_RESULT_OK ? may_give(a) : result;
}

void cr_do_give(cr_asked *a)
{
    a->undone = cr_make_hold(a->found.pd, a->found.node, a->found.slot);
    if (a->undone == CR_RESULT_OK) {
        a->results[0] = a->found.slot;
        a->count = 1;
    }
}

cr_result cr_check_send(cr_asked *a)
{
    cr_result result = cr_find_named_pd(a, &a->found.pd);
    if (result == CR_RESULT_OK) {
        result = cr_find_resource(a->args.space, a->args.object, &a->found.node);
    }
    if (result == CR_RESULT_OK && (!may_hand_on(a) || a->found.pd == a->from ||
                                   cr_manager_of(a->found.node) == a->found.pd)) {
        result = CR_RESULT_DENIED;
    }
    return result == CR_RESULT_OK ? may_give(a) : result;
}

void cr_do_send(cr_asked *a)
{
    cr_do_give(a);
}

cr_result cr_check_release(cr_asked *a)
{
    cr_result result = cr_find_resource(a->args.space, a->args.object, &a->found.node);
    return result != CR_RESULT_OK ? result : cr_can_drop_hold(a->from, a->found.node);
}

void cr_do_release(cr_asked *a)
{
    a->results[0] = cr_drop_hold(a->from, a->from, a->found.node);
    a->count = 1;
}

cr_result cr_check_take_back(cr_asked *a)
{
    cr_result result = cr_find_own_resource(a, &a->found.node);
    if (result == CR_RESULT_OK) {
        result = cr_find_own_client(a, &a->found.pd);
    }
    return result != CR_RESULT_OK ? result : cr_can_drop_hold(a->found.pd, a->found.node);
}

void cr_do_take_back(cr_asked *a)
{
    char about[CR_ID_BYTES];
    cr_node_id(a->found.node, about);
    a->results[0] = cr_drop_hold(a->from, a->found.pd, a->found.node);
    a->count = 1;
    cr_notices_of_losses(a->args.space, a->args.object, about);
}

cr_result cr_check_holds(cr_asked *a)
{
    cr_result result = cr_find_resource(a->args.space, a->args.object, &a->found.node);
    if (result != CR_RESULT_OK) {
        return result;
    }
    int may = cr_manager_of(a->found.node) == a->from ||
              cr_model_count(cr_sys.model, CR_EDGE_HOLD, a->from->node, a->found.node) > 0;
    return may ? CR_RESULT_OK : CR_RESULT_DENIED;
}

void cr_do_holds(cr_asked *a)
{
    cr_ref resource = a->found.node;
    uint64_t all = 0;
    cr_edge_walk holders = cr_model_walk(cr_sys.model, resource, CR_EDGE_HOLD, CR_IN);
    while (cr_model_next(&holders)) {
        all += cr_model_count(cr_sys.model, CR_EDGE_HOLD, holders.other, resource);
    }
    a->results[0] = cr_model_count(cr_sys.model, CR_EDGE_HOLD, a->from->node, resource);
    a->results[1] = all;
    a->count = 2;
}
