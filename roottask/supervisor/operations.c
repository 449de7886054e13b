/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests of PDs. Each is first checked in full, without any effect, and then either refused with one
 * precise reason or carried out. Who asks is known by the badge that the kernel delivered; what a message
 * claims beyond that is checked against the model, after ../requests/decode.c has taken it apart: nothing here reads
 * a message's words. Nothing here calls a PD or waits for one. */
#include "supervisor.h"
#include "system/text.h"

enum { MAX_RESULTS = 2 + CR_WORK_MAX * CR_WORK_WORDS };

/* What a handler answers. `wait`: the caller waits, and is answered another time, for that reason; `never`: it is not
 * answered at all. `down`: a PD to be cleaned up after when that is done, `cause` why, `ticket` on whose account. */
typedef struct answer {
    uint32_t count;
    cr_wait wait;
    int never;
    cr_pd *down;
    cr_cause cause;
    uint64_t ticket;
    uint64_t results[MAX_RESULTS];
} answer;

typedef cr_result (*handler)(cr_pd *from, const cr_operation_args *r, answer *a);

_Static_assert(sizeof(((cr_operation_args *)0)->name) == CR_NAME_BYTES, "a name fits where names are kept");
_Static_assert(sizeof(((cr_operation_args *)0)->type) == CR_TYPE_BYTES, "a type fits where types are kept");

static void reply(cr_result result, uint32_t count, const uint64_t *results)
{
    for (uint32_t i = 0; i < count; i++) {
        seL4_SetMR((int)i, results[i]);
    }
    cr_calls[CR_CALL_REPLY]++;
    seL4_Reply(seL4_MessageInfo_new((seL4_Word)result, 0, 0, count));
}

/* The PD that the message's PD capability is to. */
static cr_result named_pd(const cr_operation_args *r, cr_pd **out)
{
    cr_result result = cr_find_badged(r->pd, CR_BADGE_BODY, out);
    return result == CR_RESULT_OK && cr_is_doomed(*out) ? CR_RESULT_GONE : result;
}

/* A space that the caller manages. */
static cr_result own_space(cr_pd *from, uint32_t space_number, cr_ref *out)
{
    cr_result result = cr_find_space(space_number, out);
    return result != CR_RESULT_OK ? result : cr_manager_of(*out) == from ? CR_RESULT_OK : CR_RESULT_DENIED;
}

static cr_result own_resource(cr_pd *from, uint32_t space_number, uint32_t object, cr_ref *out)
{
    cr_ref space;
    cr_result result = own_space(from, space_number, &space);
    return result != CR_RESULT_OK ? result : cr_find_resource(space_number, object, out);
}

/* The client whose request has this badge, if the request is to a space of the caller's. */
static cr_result own_client(cr_pd *from, uint64_t badge, cr_pd **out)
{
    cr_request_entry *entry;
    cr_result result = cr_find_request(badge, &entry);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (cr_manager_of(entry->space) != from) {
        return CR_RESULT_DENIED;
    }
    *out = &cr_sys.pds[entry->pd];
    return cr_is_doomed(*out) ? CR_RESULT_GONE : CR_RESULT_OK;
}

/* -- the operations */

static cr_result op_say(cr_pd *from, const cr_operation_args *r, answer *a)
{
    (void)a;
    if (from->says >= CR_MAX_SAYS) {
        return CR_RESULT_FULL;
    }
    from->says++;
    cr_trace_begin(&cr_sys.trace, CR_EV_SAY);
    cr_trace_pd(from);
    cr_trace_bytes(&cr_sys.trace, r->text, r->count);
    cr_trace_end(&cr_sys.trace);
    return CR_RESULT_OK;
}

static cr_result op_exit(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_EXIT);
    cr_trace_pd(from);
    cr_trace_number(&cr_sys.trace, r->code);
    cr_trace_end(&cr_sys.trace);
    a->never = 1;
    a->down = from;
    a->cause = CR_CAUSE_EXIT;
    return CR_RESULT_OK;
}

static cr_result op_checkpoint(cr_pd *from, const cr_operation_args *r, answer *a)
{
    const cr_hooks *hooks = cr_sup.hooks;
    uint64_t order = CR_ORDER_CONTINUE;
    uint32_t slot = 0;
    if (hooks != 0 && hooks->checkpoint != 0 &&
        hooks->checkpoint(from, r->round_boundary != 0, &order, &slot) == CR_HOOK_KEEP) {
        a->wait = CR_WAIT_CHECKPOINT;
    }
    a->results[0] = order;
    a->results[1] = slot;
    a->count = 2;
    return CR_RESULT_OK;
}

/* The configured space of that name, or CR_IMAGE_NONE. */
static uint32_t configured_space(const char *name)
{
    const cr_image_header *image = cr_sys.image;
    for (uint32_t i = 0; i < image->spaces.count; i++) {
        if (cr_text_same(cr_image_spaces(image)[i].name, name)) {
            return i;
        }
    }
    return CR_IMAGE_NONE;
}

static cr_result op_create_space(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_pd *first = 0;
    cr_ref space;
    cr_ref known;
    uint32_t slot = 0;
    if (r->has_pd) {
        cr_result result = named_pd(r, &first);
        if (result == CR_RESULT_OK && first == from) {
            result = CR_RESULT_DENIED; /* Nobody is a client of its own. */
        }
        if (result != CR_RESULT_OK) {
            return result;
        }
    }
    if (cr_model_count(cr_sys.model, CR_EDGE_REQUEST, from->node, cr_sys.resspc_space) == 0) {
        return CR_RESULT_DENIED;
    }
    /* A name of the configuration belongs to the PD that the configuration gives it to. */
    uint32_t configured = configured_space(r->name);
    if (configured != CR_IMAGE_NONE) {
        const cr_image_space *row = &cr_image_spaces(cr_sys.image)[configured];
        if (row->pd != from->config || !cr_text_same(row->type, r->type)) {
            return CR_RESULT_DENIED;
        }
    }
    if (cr_find_named_space(r->name, &known) == CR_RESULT_OK) {
        return CR_RESULT_EXISTS;
    }
    cr_result result = cr_make_space(from, r->type, r->name, &space);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (first != 0 && (result = cr_make_request(first, space, &slot)) != CR_RESULT_OK) {
        /* All or nothing. */
        return cr_delete_space(from, space) == CR_RESULT_OK ? result : CR_RESULT_FAILED;
    }
    cr_node_info info;
    if (cr_model_get(cr_sys.model, space, &info) != CR_OK) {
        cr_panic("a space just made is not there", space.index);
    }
    a->results[0] = info.number;
    a->results[1] = slot;
    a->count = 2;
    cr_connect_wake(r->name);
    return CR_RESULT_OK;
}

static cr_result op_delete_space(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref space;
    (void)a;
    cr_result result = own_space(from, r->space, &space);
    return result == CR_RESULT_OK ? cr_delete_space(from, space) : result;
}

static cr_result op_create_resource(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref space;
    cr_ref resource;
    cr_node_info info;
    cr_result result = own_space(from, r->space, &space);
    if (result == CR_RESULT_OK) {
        result = cr_make_resource(space, &resource);
    }
    if (result == CR_RESULT_OK && cr_model_get(cr_sys.model, resource, &info) == CR_OK) {
        a->results[0] = info.number;
        a->count = 1;
    }
    return result;
}

static cr_result op_delete_resource(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref resource;
    (void)a;
    cr_result result = own_resource(from, r->space, r->object, &resource);
    return result == CR_RESULT_OK ? cr_delete_resource(from, resource) : result;
}

static cr_result op_connect(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref space;
    uint32_t configured = configured_space(r->name);
    int allowed = 0;
    for (uint32_t i = 0; i < cr_sys.image->requests.count; i++) {
        const cr_image_request *row = &cr_image_requests(cr_sys.image)[i];
        allowed |= row->pd == from->config && row->space == configured;
    }
    if (configured == CR_IMAGE_NONE) {
        return CR_RESULT_NO_SUCH;
    }
    if (!allowed) {
        return CR_RESULT_DENIED;
    }
    if (cr_find_named_space(r->name, &space) == CR_RESULT_OK) {
        cr_result result = cr_connect_now(from, space, a->results);
        a->count = result == CR_RESULT_OK ? 2 : 0;
        return result;
    }
    if (r->no_wait) {
        return CR_RESULT_GONE; /* It does not want to wait. */
    }
    cr_text_copy(from->wanted, r->name, CR_NAME_BYTES);
    a->wait = CR_WAIT_CONNECT;
    return CR_RESULT_OK;
}

static cr_result op_disconnect(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref space;
    (void)a;
    cr_result result = cr_find_space(r->space, &space);
    if (result != CR_RESULT_OK) {
        return result;
    }
    /* Its server hears of it. One that is far behind must not be brought down by a client that comes and goes. */
    cr_pd *manager = cr_manager_of(space);
    int tells = manager != 0 && manager != &cr_sys.pds[0] &&
                cr_model_count(cr_sys.model, CR_EDGE_REQUEST, from->node, space) > 0;
    if (tells && (cr_work_pending(cr_sys.work, cr_receiver(manager)) >= CR_DISCONNECT_BACKLOG ||
                  cr_work_room(cr_sys.work) <= CR_CLEANUP_NOTICES)) {
        return CR_RESULT_FULL;
    }
    result = cr_drop_request(from, space);
    if (result == CR_RESULT_OK && tells) {
        const cr_notice notice = {CR_NOTICE_DISCONNECT, manager->node, space, from->node};
        if (cr_notice_put(&notice, 0, 0) != CR_OK) {
            cr_panic("no room for a notice", from->number);
        }
    }
    return result;
}

static cr_result op_give(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref resource;
    cr_pd *client;
    uint32_t slot;
    cr_result result = own_resource(from, r->space, r->object, &resource);
    if (result == CR_RESULT_OK) {
        result = own_client(from, r->badge, &client);
    }
    if (result == CR_RESULT_OK) {
        result = client == from ? CR_RESULT_DENIED : cr_make_hold(client, resource, &slot);
    }
    if (result == CR_RESULT_OK) {
        a->results[0] = slot;
        a->count = 1;
    }
    return result;
}

static cr_result op_send(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref resource;
    cr_pd *to;
    uint32_t slot;
    cr_result result = named_pd(r, &to);
    if (result == CR_RESULT_OK) {
        result = cr_find_resource(r->space, r->object, &resource);
    }
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (cr_model_count(cr_sys.model, CR_EDGE_HOLD, from->node, resource) == 0 || to == from ||
        cr_manager_of(resource) == to) {
        return CR_RESULT_DENIED;
    }
    result = cr_make_hold(to, resource, &slot);
    if (result == CR_RESULT_OK) {
        a->results[0] = slot;
        a->count = 1;
    }
    return result;
}

static cr_result op_share_request(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref space;
    cr_pd *to;
    uint32_t slot;
    cr_result result = named_pd(r, &to);
    if (result == CR_RESULT_OK) {
        result = cr_find_space(r->space, &space);
    }
    if (result != CR_RESULT_OK) {
        return result;
    }
    cr_pd *manager = cr_manager_of(space);
    int may = cr_model_count(cr_sys.model, CR_EDGE_REQUEST, from->node, space) > 0 || manager == from;
    /* What the root task itself serves is for the configuration to give. */
    if (!may || manager == 0 || manager == cr_pd_of(cr_sys.root) || to == manager || to == from) {
        return CR_RESULT_DENIED;
    }
    result = cr_make_request(to, space, &slot);
    if (result == CR_RESULT_OK || result == CR_RESULT_EXISTS) {
        a->results[0] = slot;
        a->count = 1;
    }
    return result;
}

static cr_result op_release(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref resource;
    uint32_t left = 0;
    cr_result result = cr_find_resource(r->space, r->object, &resource);
    if (result == CR_RESULT_OK) {
        result = cr_drop_hold(from, from, resource, &left);
    }
    a->results[0] = left;
    a->count = result == CR_RESULT_OK;
    return result;
}

static cr_result op_take_back(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref resource;
    cr_pd *client;
    uint32_t left = 0;
    cr_result result = own_resource(from, r->space, r->object, &resource);
    if (result == CR_RESULT_OK) {
        result = own_client(from, r->badge, &client);
    }
    if (result == CR_RESULT_OK) {
        result = cr_drop_hold(from, client, resource, &left);
    }
    a->results[0] = left;
    a->count = result == CR_RESULT_OK;
    return result;
}

static cr_result change_map(cr_pd *from, const cr_operation_args *r, int add)
{
    cr_ref source;
    cr_ref target;
    const cr_map_ends ends = {r->space, r->object, r->target_space, r->target_object};
    cr_result result = cr_find_map_ends(from, &ends, &source, &target);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (add && cr_is_built_on(target, source, 0)) {
        return CR_RESULT_DENIED; /* It would close a circle. */
    }
    if (add && cr_model_count(cr_sys.model, CR_EDGE_MAP, source, target) == 0 && !cr_edges_left(1)) {
        return CR_RESULT_FULL;
    }
    cr_status status = add ? cr_model_add_edge(cr_sys.model, CR_EDGE_MAP, source, target)
                           : cr_model_drop_edge(cr_sys.model, CR_EDGE_MAP, source, target);
    if (status == CR_OK) {
        cr_trace_change(add ? CR_EV_MAP : CR_EV_UNMAP);
        cr_trace_node(source);
        cr_trace_node(target);
        cr_trace_end(&cr_sys.trace);
    }
    return cr_result_of(status);
}

static cr_result op_map(cr_pd *from, const cr_operation_args *r, answer *a)
{
    (void)a;
    return change_map(from, r, 1);
}

static cr_result op_unmap(cr_pd *from, const cr_operation_args *r, answer *a)
{
    (void)a;
    return change_map(from, r, 0);
}

static cr_result op_get_work(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_work_notice notices[CR_WORK_MAX];
    uint32_t count = 0;
    (void)r;
    if (cr_work_fetch(cr_sys.work, cr_receiver(from), CR_WORK_MAX, notices, &count) != CR_OK) {
        return CR_RESULT_FAILED;
    }
    a->results[0] = count > 0 ? (uint64_t)notices[0].kind : 0;
    a->results[1] = count;
    a->count = 2 + count * CR_WORK_WORDS;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *out = &a->results[2 + i * CR_WORK_WORDS];
        out[0] = notices[i].token;
        out[1] = notices[i].space;
        out[2] = notices[i].object;
        out[3] = notices[i].pd;
        cr_trace_begin(&cr_sys.trace, CR_EV_GET_WORK);
        cr_trace_pd(from);
        cr_trace_number(&cr_sys.trace, notices[i].token);
        cr_trace_end(&cr_sys.trace);
    }
    return CR_RESULT_OK;
}

/* Whether all answers can be taken; none is taken yet. */
static cr_result check_answers(const cr_pd *from, const cr_operation_args *r, cr_work_answer *out)
{
    for (uint32_t i = 0; i < r->count; i++) {
        out[i] = (cr_work_answer){r->answers[i].token, r->answers[i].result == CR_WORK_FAILED};
    }
    switch (cr_work_check(cr_sys.work, cr_receiver(from), out, r->count)) {
    case CR_OK:
        break;
    case CR_ERR_STATE:
        return CR_RESULT_DENIED;
    default:
        return CR_RESULT_NO_SUCH;
    }
    uint32_t more = 0; /* notices that come of these */
    for (uint32_t i = 0; i < r->count; i++) {
        cr_work_notice notice;
        if (r->answers[i].result != CR_WORK_BY_RESOURCE) {
            continue;
        }
        if (cr_work_look(cr_sys.work, cr_receiver(from), r->answers[i].token, &notice) != CR_OK) {
            return CR_RESULT_NO_SUCH;
        }
        cr_result result = cr_extract_may_split(&notice, &more);
        if (result != CR_RESULT_OK) {
            return result;
        }
    }
    return CR_RESULT_OK;
}

static cr_result op_finish_work(cr_pd *from, const cr_operation_args *r, answer *a)
{
    static const char *const names[CR_WORK_RESULT_COUNT] = {"ok", "failed", "each"};
    cr_work_answer answers[CR_WORK_MAX];
    (void)a;
    cr_result result = check_answers(from, r, answers);
    if (result != CR_RESULT_OK) {
        return result;
    }
    int busy = cr_work_ready(cr_sys.work, cr_receiver(from));
    for (uint32_t i = 0; i < r->count; i++) {
        cr_work_notice notice;
        if (cr_work_finish(cr_sys.work, cr_receiver(from), &answers[i], &notice) != CR_OK) {
            cr_panic("a notice that was checked is not there", answers[i].token);
        }
        cr_trace_begin(&cr_sys.trace, CR_EV_FINISH_WORK);
        cr_trace_pd(from);
        cr_trace_number(&cr_sys.trace, notice.token);
        cr_trace_string(&cr_sys.trace, names[r->answers[i].result]);
        cr_trace_end(&cr_sys.trace);
        cr_notice_over(from, &notice, answers[i].failed ? CR_NOTICE_FAILED : CR_NOTICE_DONE);
        if (notice.kind == CR_NOTICE_LOST && !answers[i].failed) {
            cr_free_lost_slots(from, notice.space);
        }
        if (r->answers[i].result == CR_WORK_BY_RESOURCE) {
            cr_extract_split(from, &notice);
        }
        if (answers[i].failed) {
            cr_notices_changed();
        }
    }
    /* What waited behind these can be fetched now. */
    if (!busy && cr_work_ready(cr_sys.work, cr_receiver(from))) {
        cr_signal(cr_body_cap(&from->body, CR_BODY_SIGNAL));
    }
    return CR_RESULT_OK;
}

static cr_result op_resume_work(cr_pd *from, const cr_operation_args *r, answer *a)
{
    (void)a;
    int busy = cr_work_ready(cr_sys.work, cr_receiver(from));
    cr_work_notice failed;
    if (cr_work_failed(cr_sys.work, cr_receiver(from), r->space, &failed) != CR_OK ||
        cr_work_resume(cr_sys.work, cr_receiver(from), r->space, cr_clock_deadline_of(from)) != CR_OK) {
        return CR_RESULT_NO_SUCH;
    }
    cr_trace_begin(&cr_sys.trace, CR_EV_RESUME_WORK);
    cr_trace_pd(from);
    cr_trace_number(&cr_sys.trace, failed.token);
    cr_trace_end(&cr_sys.trace);
    cr_notices_changed();
    if (!busy) {
        cr_signal(cr_body_cap(&from->body, CR_BODY_SIGNAL));
    }
    return CR_RESULT_OK;
}

static cr_result op_spawn(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_pd *pd = 0;
    cr_ref body;
    uint32_t slot;
    uint32_t program = CR_IMAGE_NONE;
    if (cr_model_count(cr_sys.model, CR_EDGE_REQUEST, from->node, cr_sys.pd_space) == 0) {
        return CR_RESULT_DENIED;
    }
    for (uint32_t i = 0; i < cr_sys.image->spawns.count; i++) {
        const cr_image_spawn *spawn = &cr_image_spawns(cr_sys.image)[i];
        if (spawn->pd == from->config && cr_text_same(cr_image_programs(cr_sys.image)[spawn->program].name, r->name)) {
            program = spawn->program;
        }
    }
    if (program == CR_IMAGE_NONE) {
        return CR_RESULT_NO_SUCH;
    }
    /* Asked before a whole PD is made for nothing. */
    if (from->lost >= CR_MAX_LOST_SLOTS) {
        return CR_RESULT_UNACKED;
    }
    if (!cr_has_slot(from)) {
        return CR_RESULT_FULL;
    }
    cr_status status = cr_make_pd(CR_IMAGE_NONE, program, r->name, from, &pd);
    if (status != CR_OK) {
        return cr_result_of(status);
    }
    cr_result result = cr_body_resource(pd, &body);
    if (result == CR_RESULT_OK) {
        result = cr_make_hold(from, body, &slot);
    }
    if (result != CR_RESULT_OK) {
        cr_terminate(pd); /* Its creator could never name it: it goes again. */
        return result;
    }
    a->results[0] = slot;
    a->results[1] = pd->number;
    a->count = 2;
    return CR_RESULT_OK;
}

static cr_result op_terminate(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_pd *victim;
    cr_result result = named_pd(r, &victim);
    if (result == CR_RESULT_OK && !cr_pd_is_served(victim)) {
        result = CR_RESULT_GONE;
    }
    if (result == CR_RESULT_OK && !cr_ticket_room(from)) {
        result = CR_RESULT_BUSY;
    }
    if (result != CR_RESULT_OK) {
        return result;
    }
    cr_trace_begin(&cr_sys.trace, CR_EV_TERMINATE);
    cr_trace_pd(victim);
    cr_trace_pd(from);
    cr_trace_end(&cr_sys.trace);
    a->down = victim;
    a->cause = CR_CAUSE_TERMINATE;
    a->ticket = cr_ticket_make(from, victim);
    from->ticket = a->ticket;
    a->wait = (cr_sys.image->flags & CR_IMAGE_SYNC) != 0 ? CR_WAIT_TERMINATE : CR_WAIT_NOTHING;
    a->results[0] = a->ticket;
    for (uint32_t i = 1; i <= CR_TICKET_WORDS; i++) {
        a->results[i] = 0;
    }
    _Static_assert(CR_TICKET_QUEUED == 0, "as the line above has it");
    a->count = 1 + CR_TICKET_WORDS;
    return CR_RESULT_OK;
}

static cr_result op_set_depth(cr_pd *from, const cr_operation_args *r, answer *a)
{
    (void)a;
    from->pd_depth = r->pd_depth;
    from->rs_depth = r->rs_depth;
    return CR_RESULT_OK;
}

static cr_result op_report_fault(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_pd *pd;
    cr_result result = cr_find_badged(r->badge, CR_BADGE_FAULT, &pd);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (cr_model_count(cr_sys.model, CR_EDGE_FAULT, pd->node, from->node) == 0) {
        return CR_RESULT_DENIED;
    }
    if (!cr_pd_is_served(pd)) {
        return CR_RESULT_GONE;
    }
    cr_trace_fault(pd, r->fault_kind, r->address, r->ip);
    a->down = pd;
    a->cause = CR_CAUSE_FAULT;
    return CR_RESULT_OK;
}

static cr_result op_holds(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref resource;
    cr_result result = cr_find_resource(r->space, r->object, &resource);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (cr_manager_of(resource) != from && cr_model_count(cr_sys.model, CR_EDGE_HOLD, from->node, resource) == 0) {
        return CR_RESULT_DENIED;
    }
    uint64_t all = 0;
    for (uint32_t edge = cr_model_first(cr_sys.model, resource, CR_EDGE_HOLD, CR_IN); edge != CR_NONE;
         edge = cr_model_next(cr_sys.model, edge, resource, CR_IN)) {
        cr_edge_info info;
        if (cr_model_edge(cr_sys.model, edge, &info) == CR_OK) {
            all += info.count;
        }
    }
    a->results[0] = cr_model_count(cr_sys.model, CR_EDGE_HOLD, from->node, resource);
    a->results[1] = all;
    a->count = 2;
    return CR_RESULT_OK;
}

/* The space or PD that a subscription is about. Of a space one must have something to lose. */
static cr_result subscribed(cr_pd *from, const cr_operation_args *r, cr_ref *out)
{
    cr_node_info info;
    cr_pd *pd = from;
    if (r->space == 0) {
        cr_result result = r->has_pd ? named_pd(r, &pd) : CR_RESULT_OK;
        *out = pd->node;
        return result;
    }
    cr_result result = cr_find_space(r->space, out);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (cr_model_get(cr_sys.model, *out, &info) != CR_OK || (info.flags & CR_FLAG_CORE) != 0) {
        return CR_RESULT_DENIED;
    }
    int may = cr_same(info.manager, from->node) ||
              cr_model_count(cr_sys.model, CR_EDGE_REQUEST, from->node, *out) > 0;
    for (uint32_t edge = cr_model_first(cr_sys.model, from->node, CR_EDGE_HOLD, CR_OUT); !may && edge != CR_NONE;
         edge = cr_model_next(cr_sys.model, edge, from->node, CR_OUT)) {
        cr_edge_info hold;
        cr_node_info held;
        may = cr_model_edge(cr_sys.model, edge, &hold) == CR_OK &&
              cr_model_get(cr_sys.model, hold.to, &held) == CR_OK && cr_same(held.space, *out);
    }
    return may ? CR_RESULT_OK : CR_RESULT_DENIED;
}

static cr_result op_subscribe(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref node;
    (void)a;
    cr_result result = subscribed(from, r, &node);
    if (result != CR_RESULT_OK) {
        return result;
    }
    uint32_t count = cr_model_count(cr_sys.model, CR_EDGE_SUBSCRIBE, from->node, node);
    if (count >= CR_MAX_COUNT || (count == 0 && !cr_edges_left(1))) {
        return CR_RESULT_FULL;
    }
    cr_status status = cr_model_add_edge(cr_sys.model, CR_EDGE_SUBSCRIBE, from->node, node);
    if (status == CR_OK) {
        cr_trace_pair(CR_EV_SUBSCRIBE, from->node, node);
    }
    return cr_result_of(status);
}

static cr_result op_unsubscribe(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref node = from->node;
    cr_pd *pd;
    (void)a;
    /* Whoever subscribed may take it back, whatever else it has lost since. */
    cr_result result = CR_RESULT_OK;
    if (r->space != 0) {
        result = cr_find_space(r->space, &node);
    } else if (r->has_pd && (result = named_pd(r, &pd)) == CR_RESULT_OK) {
        node = pd->node;
    }
    if (result != CR_RESULT_OK) {
        return result;
    }
    cr_status status = cr_model_drop_edge(cr_sys.model, CR_EDGE_SUBSCRIBE, from->node, node);
    if (status == CR_OK) {
        cr_trace_pair(CR_EV_UNSUBSCRIBE, from->node, node);
    }
    return cr_result_of(status);
}

/* What has become of the PD with a number. */
static cr_result look_at_pd(uint32_t pd_number, uint64_t *state)
{
    for (uint32_t i = 0; i < CR_MAX_PDS; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_exists(pd) && pd->number == pd_number) {
            *state = cr_is_doomed(pd) ? CR_LOOK_DOOMED : CR_LOOK_ACTIVE;
            return CR_RESULT_OK;
        }
    }
    *state = CR_LOOK_DESTROYED;
    return pd_number < cr_sys.next_pd ? CR_RESULT_OK : CR_RESULT_NO_SUCH;
}

static cr_result op_look(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_ref node;
    cr_result result;
    if (r->space == 0) {
        cr_pd *pd = from;
        result = r->has_pd ? cr_find_badged(r->pd, CR_BADGE_BODY, &pd) : CR_RESULT_OK;
        if (result == CR_RESULT_OK) {
            result = look_at_pd(!r->has_pd && r->object != 0 ? r->object : pd->number, &a->results[0]);
        }
        a->count = result == CR_RESULT_OK;
        return result;
    }
    result = cr_find_space(r->space, &node);
    int doomed = result == CR_RESULT_GONE && cr_is_there(r->space);
    if (result == CR_RESULT_OK && r->object != 0) {
        result = cr_find_resource(r->space, r->object, &node);
    }
    a->results[0] = doomed ? CR_LOOK_DOOMED : result == CR_RESULT_OK ? CR_LOOK_ACTIVE : CR_LOOK_DESTROYED;
    result = result == CR_RESULT_GONE ? CR_RESULT_OK : result;
    a->count = result == CR_RESULT_OK;
    return result;
}

static cr_result op_ticket(cr_pd *from, const cr_operation_args *r, answer *a)
{
    int later = 0;
    cr_result result = cr_ticket_look(from, r->ticket, r->wait != 0, a->results, &a->count, &later);
    if (later) {
        a->wait = CR_WAIT_TICKET;
        from->ticket = r->ticket;
    }
    return result;
}

static cr_result op_extract(cr_pd *from, const cr_operation_args *r, answer *a)
{
    (void)r;
    if ((from->flags & CR_IMAGE_MAY_EXTRACT) == 0) {
        return CR_RESULT_DENIED;
    }
    cr_result result = cr_extract_start(from, &a->results[0]);
    a->count = result == CR_RESULT_OK;
    return result;
}

static cr_result op_subgraph(cr_pd *from, const cr_operation_args *r, answer *a)
{
    cr_work_notice notice;
    (void)a;
    if (cr_work_look(cr_sys.work, cr_receiver(from), r->token, &notice) != CR_OK) {
        return CR_RESULT_NO_SUCH;
    }
    return cr_extract_take(from, &notice, r->items, r->count);
}

/* `doomed`: a PD may ask for it that goes by the cleanup under way. Nothing there makes or drops an edge. */
static const struct {
    handler run;
    int doomed;
} operations[] = {
    [CR_OP_SAY] = {op_say, 1},
    [CR_OP_EXIT] = {op_exit, 1},
    [CR_OP_CHECKPOINT] = {op_checkpoint, 1},
    [CR_OP_CREATE_SPACE] = {op_create_space, 0},
    [CR_OP_DELETE_SPACE] = {op_delete_space, 0},
    [CR_OP_CREATE_RESOURCE] = {op_create_resource, 0},
    [CR_OP_DELETE_RESOURCE] = {op_delete_resource, 0},
    [CR_OP_CONNECT] = {op_connect, 0},
    [CR_OP_DISCONNECT] = {op_disconnect, 0},
    [CR_OP_GIVE] = {op_give, 0},
    [CR_OP_SEND] = {op_send, 0},
    [CR_OP_SHARE_REQUEST] = {op_share_request, 0},
    [CR_OP_RELEASE] = {op_release, 0},
    [CR_OP_TAKE_BACK] = {op_take_back, 0},
    [CR_OP_MAP] = {op_map, 0},
    [CR_OP_UNMAP] = {op_unmap, 0},
    [CR_OP_GET_WORK] = {op_get_work, 1},
    [CR_OP_FINISH_WORK] = {op_finish_work, 1},
    [CR_OP_SPAWN] = {op_spawn, 0},
    [CR_OP_TERMINATE] = {op_terminate, 0},
    [CR_OP_SET_DEPTH] = {op_set_depth, 0},
    [CR_OP_REPORT_FAULT] = {op_report_fault, 1},
    [CR_OP_HOLDS] = {op_holds, 1},
    [CR_OP_SUBSCRIBE] = {op_subscribe, 0},
    [CR_OP_UNSUBSCRIBE] = {op_unsubscribe, 0},
    [CR_OP_LOOK] = {op_look, 1},
    [CR_OP_RESUME_WORK] = {op_resume_work, 1},
    [CR_OP_TICKET] = {op_ticket, 1},
    [CR_OP_EXTRACT] = {op_extract, 0},
    [CR_OP_SUBGRAPH] = {op_subgraph, 0},
};

_Static_assert(sizeof(operations) / sizeof(operations[0]) == CR_OP_COUNT, "one row an operation");

static cr_result run(cr_pd *from, const cr_raw_message *m, answer *a)
{
    static cr_operation_args args;
    cr_result result = cr_decode_operation(m, &args);
    if (result != CR_RESULT_OK) {
        return result;
    }
    return cr_is_doomed(from) && !operations[args.op].doomed ? CR_RESULT_GONE : operations[args.op].run(from, &args, a);
}

void cr_serve(cr_pd *from, const cr_message *m)
{
    static answer a;
    a.count = 0;
    a.wait = CR_WAIT_NOTHING;
    a.never = 0;
    a.down = 0;
    a.ticket = 0;
    cr_free_emptied_slots(from);
    cr_result result = run(from, &m->raw, &a);
    if (result != CR_RESULT_OK) {
        cr_trace_refuse(from, m->raw.label, result);
        reply(result, a.count, a.results);
        return;
    }
    if (a.wait != CR_WAIT_NOTHING) {
        if (cr_keep_caller(from)) {
            cr_waits_begin(from, a.wait); /* It answers no question of a cleanup or extraction from here on. */
        } else if (a.ticket != 0) {
            cr_ticket_unwanted(a.ticket);
        }
    } else if (!a.never) {
        reply(result, a.count, a.results);
    }
    /* After the answer: whoever asked does not wait for the cleanup, and may be destroyed by it. */
    if (a.down != 0) {
        cr_trigger(a.down, a.cause, a.ticket);
    }
}
