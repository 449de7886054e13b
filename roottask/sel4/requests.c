/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Requests of PDs. Each is first checked in full, without any effect, and then either refused with one
 * precise reason or carried out. Who asks is known by the badge that the kernel delivered; what a message
 * claims beyond that is checked against the model, after ../requests/decode.c has taken it apart: nothing here reads
 * a message's words. Nothing here calls a PD or waits for one. */
#include "supervisor.h"
#include "text.h"

enum { MAX_RESULTS = 2 + CR_WORK_MAX * CR_WORK_WORDS };

/* What a handler answers. `later`: it keeps the caller waiting; `never`: there is nobody to answer any more. */
typedef struct answer {
    uint32_t count;
    int later;
    int never;
    uint64_t results[MAX_RESULTS];
} answer;

typedef cr_result (*handler)(cr_pd *from, const cr_request_args *r, answer *a);

_Static_assert(sizeof(((cr_request_args *)0)->name) == CR_NAME_BYTES, "a name fits where names are kept");
_Static_assert(sizeof(((cr_request_args *)0)->type) == CR_TYPE_BYTES, "a type fits where types are kept");

static void reply(cr_result result, uint32_t count, const uint64_t *results)
{
    for (uint32_t i = 0; i < count; i++) {
        seL4_SetMR((int)i, results[i]);
    }
    cr_calls[CR_CALL_REPLY]++;
    seL4_Reply(seL4_MessageInfo_new((seL4_Word)result, 0, 0, count));
}

/* The PD that the message's PD capability is to. */
static cr_result named_pd(const cr_request_args *r, cr_pd **out)
{
    return cr_find_badged(r->pd_badge, CR_BADGE_BODY, out);
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
    return CR_RESULT_OK;
}

/* -- the operations */

static cr_result op_say(cr_pd *from, const cr_request_args *r, answer *a)
{
    (void)a;
    cr_trace_begin(&cr_sys.trace, CR_EV_SAY);
    cr_trace_pd(from);
    cr_trace_bytes(&cr_sys.trace, r->text, r->count);
    cr_trace_end(&cr_sys.trace);
    return CR_RESULT_OK;
}

static cr_result op_exit(cr_pd *from, const cr_request_args *r, answer *a)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_EXIT);
    cr_trace_pd(from);
    cr_trace_number(&cr_sys.trace, r->code);
    cr_trace_end(&cr_sys.trace);
    a->never = 1;
    cr_clean_up(from, CR_CAUSE_EXIT);
    return CR_RESULT_OK;
}

static cr_result op_checkpoint(cr_pd *from, const cr_request_args *r, answer *a)
{
    uint32_t slot = 0;
    a->results[0] = cr_director_checkpoint(from, r->round_boundary != 0, &slot, &a->later);
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

static void wake_waiting_for(const char *name)
{
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (pd->used && pd->parked && cr_text_same(pd->wanted, name)) {
            cr_retry_connect(pd, 0);
        }
    }
}

static cr_result op_create_space(cr_pd *from, const cr_request_args *r, answer *a)
{
    cr_pd *first = 0;
    cr_ref space;
    cr_ref known;
    uint32_t slot = 0;
    if (r->has_pd) {
        cr_result result = named_pd(r, &first);
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
    if (result == CR_RESULT_OK && first != 0) {
        result = cr_make_request(first, space, &slot);
    }
    if (result != CR_RESULT_OK) {
        return result;
    }
    cr_node_info info;
    if (cr_model_get(cr_sys.model, space, &info) != CR_OK) {
        cr_panic("a space just made is not there", space.index);
    }
    a->results[0] = info.number;
    a->results[1] = slot;
    a->count = 2;
    wake_waiting_for(r->name);
    return CR_RESULT_OK;
}

static cr_result op_delete_space(cr_pd *from, const cr_request_args *r, answer *a)
{
    cr_ref space;
    (void)a;
    cr_result result = own_space(from, r->space, &space);
    return result == CR_RESULT_OK ? cr_delete_space(from, space) : result;
}

static cr_result op_create_resource(cr_pd *from, const cr_request_args *r, answer *a)
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

static cr_result op_delete_resource(cr_pd *from, const cr_request_args *r, answer *a)
{
    cr_ref resource;
    (void)a;
    cr_result result = own_resource(from, r->space, r->object, &resource);
    return result == CR_RESULT_OK ? cr_delete_resource(from, resource) : result;
}

static cr_result op_connect(cr_pd *from, const cr_request_args *r, answer *a)
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
        a->count = 2;
        return cr_connect_now(from, space, a->results);
    }
    if (!r->wait) {
        return CR_RESULT_GONE; /* It does not want to wait. */
    }
    cr_text_copy(from->wanted, r->name, CR_NAME_BYTES);
    from->parked = 1;
    a->later = 1;
    return CR_RESULT_OK;
}

static cr_result op_disconnect(cr_pd *from, const cr_request_args *r, answer *a)
{
    cr_ref space;
    (void)a;
    cr_result result = cr_find_space(r->space, &space);
    return result == CR_RESULT_OK ? cr_drop_request(from, space) : result;
}

static cr_result op_give(cr_pd *from, const cr_request_args *r, answer *a)
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

static cr_result op_send(cr_pd *from, const cr_request_args *r, answer *a)
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

static cr_result op_share_request(cr_pd *from, const cr_request_args *r, answer *a)
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

static cr_result op_release(cr_pd *from, const cr_request_args *r, answer *a)
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

static cr_result op_take_back(cr_pd *from, const cr_request_args *r, answer *a)
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

/* Both ends of a MAP edge: the first is the caller's, the second something it holds or may ask for. */
static cr_result map_ends(cr_pd *from, const cr_request_args *r, cr_ref *source, cr_ref *target)
{
    cr_ref space;
    cr_result result =
        r->object == 0 ? own_space(from, r->space, source) : own_resource(from, r->space, r->object, source);
    if (result == CR_RESULT_OK) {
        result = cr_find_space(r->target_space, &space);
    }
    if (result == CR_RESULT_OK && r->target_object != 0) {
        result = cr_find_resource(r->target_space, r->target_object, target);
    } else if (result == CR_RESULT_OK) {
        *target = space;
    }
    if (result != CR_RESULT_OK) {
        return result;
    }
    int may = cr_model_count(cr_sys.model, CR_EDGE_REQUEST, from->node, space) > 0 ||
              cr_model_count(cr_sys.model, CR_EDGE_HOLD, from->node, *target) > 0;
    return may ? CR_RESULT_OK : CR_RESULT_DENIED;
}

/* Whether a node is, over any number of MAP edges, built on another one, or is that one. */
static int is_built_on(cr_ref node, cr_ref other)
{
    static uint32_t queue[CR_MAX_NODES];
    static uint32_t seen[CR_MAX_NODES];
    static uint32_t stamp;
    uint32_t n = 0;
    stamp++;
    queue[n++] = node.index;
    seen[node.index] = stamp;
    for (uint32_t i = 0; i < n; i++) {
        cr_ref at;
        cr_edge_info info;
        if (queue[i] == other.index) {
            return 1;
        }
        if (cr_model_at(cr_sys.model, queue[i], &at) != CR_OK) {
            continue;
        }
        for (uint32_t edge = cr_model_first(cr_sys.model, at, CR_EDGE_MAP, CR_OUT); edge != CR_NONE;
             edge = cr_model_next(cr_sys.model, edge, at, CR_OUT)) {
            if (cr_model_edge(cr_sys.model, edge, &info) == CR_OK && seen[info.to.index] != stamp) {
                seen[info.to.index] = stamp;
                queue[n++] = info.to.index;
            }
        }
    }
    return 0;
}

static cr_result change_map(cr_pd *from, const cr_request_args *r, int add)
{
    cr_ref source;
    cr_ref target;
    cr_result result = map_ends(from, r, &source, &target);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (add && is_built_on(target, source)) {
        return CR_RESULT_DENIED; /* It would close a circle. */
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

static cr_result op_map(cr_pd *from, const cr_request_args *r, answer *a)
{
    (void)a;
    return change_map(from, r, 1);
}

static cr_result op_unmap(cr_pd *from, const cr_request_args *r, answer *a)
{
    (void)a;
    return change_map(from, r, 0);
}

static cr_result op_get_work(cr_pd *from, const cr_request_args *r, answer *a)
{
    cr_work_notice notices[CR_WORK_MAX];
    uint32_t count = 0;
    (void)r;
    if (cr_work_fetch(&cr_sys.work, (uint32_t)(from - cr_sys.pds), CR_WORK_MAX, notices, &count) != CR_OK) {
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
        cr_trace_begin(&cr_sys.trace, CR_EV_FETCH);
        cr_trace_pd(from);
        cr_trace_number(&cr_sys.trace, notices[i].token);
        cr_trace_end(&cr_sys.trace);
    }
    return CR_RESULT_OK;
}

static cr_result op_finish_work(cr_pd *from, const cr_request_args *r, answer *a)
{
    (void)a;
    uint32_t receiver = (uint32_t)(from - cr_sys.pds);
    for (uint32_t i = 0; i < r->count; i++) {
        if (cr_work_check(&cr_sys.work, receiver, r->answers[i].token) != CR_OK) {
            return CR_RESULT_NO_SUCH;
        }
    }
    for (uint32_t i = 0; i < r->count; i++) {
        cr_work_notice notice;
        if (cr_work_finish(&cr_sys.work, receiver, r->answers[i].token, &notice) != CR_OK) {
            cr_panic("a notice that was checked is not there", r->answers[i].token);
        }
        cr_trace_begin(&cr_sys.trace, CR_EV_ACK);
        cr_trace_pd(from);
        cr_trace_number(&cr_sys.trace, notice.token);
        cr_trace_string(&cr_sys.trace, r->answers[i].result == CR_WORK_DONE ? "ok" : "failed");
        cr_trace_end(&cr_sys.trace);
        if (notice.kind == CR_NOTICE_LOST) {
            cr_free_lost_slots(from, notice.space);
        }
    }
    return CR_RESULT_OK;
}

static cr_result op_spawn(cr_pd *from, const cr_request_args *r, answer *a)
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
    cr_status status = cr_make_pd(CR_IMAGE_NONE, program, r->name, from, &pd);
    if (status != CR_OK) {
        return cr_result_of(status);
    }
    cr_result result = cr_body_resource(pd, &body);
    if (result == CR_RESULT_OK) {
        result = cr_make_hold(from, body, &slot);
    }
    if (result != CR_RESULT_OK) {
        /* Its creator could never name it: it goes again. */
        cr_trace_begin(&cr_sys.trace, CR_EV_TERMINATE);
        cr_trace_pd(pd);
        cr_trace_node(cr_sys.root);
        cr_trace_end(&cr_sys.trace);
        cr_clean_up(pd, CR_CAUSE_TERMINATE);
        return result;
    }
    a->results[0] = slot;
    a->results[1] = pd->number;
    a->count = 2;
    return CR_RESULT_OK;
}

static cr_result op_terminate(cr_pd *from, const cr_request_args *r, answer *a)
{
    cr_pd *victim;
    cr_result result = named_pd(r, &victim);
    if (result != CR_RESULT_OK) {
        return result;
    }
    cr_trace_begin(&cr_sys.trace, CR_EV_TERMINATE);
    cr_trace_pd(victim);
    cr_trace_pd(from);
    cr_trace_end(&cr_sys.trace);
    cr_ref caller = from->node;
    cr_clean_up(victim, CR_CAUSE_TERMINATE);
    /* The victim may have been the caller, or have taken it along. */
    a->never = cr_pd_of(caller) == 0;
    return CR_RESULT_OK;
}

static cr_result op_set_depth(cr_pd *from, const cr_request_args *r, answer *a)
{
    (void)a;
    from->pd_depth = r->pd_depth;
    from->rs_depth = r->rs_depth;
    return CR_RESULT_OK;
}

static cr_result op_report_fault(cr_pd *from, const cr_request_args *r, answer *a)
{
    cr_pd *pd;
    cr_result result = cr_find_badged(r->badge, CR_BADGE_FAULT, &pd);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (cr_model_count(cr_sys.model, CR_EDGE_FAULT, pd->node, from->node) == 0) {
        return CR_RESULT_DENIED;
    }
    cr_trace_fault(pd, r->fault_kind, r->address, r->ip);
    cr_ref caller = from->node;
    cr_clean_up(pd, CR_CAUSE_FAULT);
    a->never = cr_pd_of(caller) == 0;
    return CR_RESULT_OK;
}

static cr_result op_holds(cr_pd *from, const cr_request_args *r, answer *a)
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

static const handler handlers[] = {
    [CR_OP_SAY] = op_say,
    [CR_OP_EXIT] = op_exit,
    [CR_OP_CHECKPOINT] = op_checkpoint,
    [CR_OP_CREATE_SPACE] = op_create_space,
    [CR_OP_DELETE_SPACE] = op_delete_space,
    [CR_OP_CREATE_RESOURCE] = op_create_resource,
    [CR_OP_DELETE_RESOURCE] = op_delete_resource,
    [CR_OP_CONNECT] = op_connect,
    [CR_OP_DISCONNECT] = op_disconnect,
    [CR_OP_GIVE] = op_give,
    [CR_OP_SEND] = op_send,
    [CR_OP_SHARE_REQUEST] = op_share_request,
    [CR_OP_RELEASE] = op_release,
    [CR_OP_TAKE_BACK] = op_take_back,
    [CR_OP_MAP] = op_map,
    [CR_OP_UNMAP] = op_unmap,
    [CR_OP_GET_WORK] = op_get_work,
    [CR_OP_FINISH_WORK] = op_finish_work,
    [CR_OP_SPAWN] = op_spawn,
    [CR_OP_TERMINATE] = op_terminate,
    [CR_OP_SET_DEPTH] = op_set_depth,
    [CR_OP_REPORT_FAULT] = op_report_fault,
    [CR_OP_HOLDS] = op_holds,
    [CR_OP_SUBSCRIBE] = 0,
    [CR_OP_UNSUBSCRIBE] = 0,
    [CR_OP_LOOK] = 0,
    [CR_OP_RESUME_WORK] = 0,
    [CR_OP_TICKET] = 0,
    [CR_OP_EXTRACT] = 0,
    [CR_OP_SUBGRAPH] = 0,
};

_Static_assert(sizeof(handlers) / sizeof(handlers[0]) == CR_OP_COUNT, "one row an operation");

static cr_result run(cr_pd *from, const cr_raw_message *m, answer *a)
{
    static cr_request_args args;
    cr_result result = cr_decode_request(m, &args);
    if (result != CR_RESULT_OK) {
        return result;
    }
    return handlers[args.op] != 0 ? handlers[args.op](from, &args, a) : CR_RESULT_BAD_OP;
}

void cr_serve(cr_pd *from, const cr_message *m)
{
    static answer a;
    a.count = 0;
    a.later = 0;
    a.never = 0;
    cr_free_emptied_slots(from);
    cr_result result = run(from, &m->raw, &a);
    if (result != CR_RESULT_OK) {
        cr_trace_refuse(from, m->raw.label, result);
    }
    if (a.never) {
        return;
    }
    if (a.later) {
        /* A fresh slot: the last reply capability there was used up by the answer. */
        if (cr_save_caller(cr_slot_at(cr_body_cap(&from->body, CR_BODY_REPLY)))) {
            cr_panic("a caller cannot be saved", from->number);
        }
        return;
    }
    reply(result, a.count, a.results);
}
