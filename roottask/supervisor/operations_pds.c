/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Operations on PDs: creation, termination, subscriptions and queries. See operations.h for the
 * rules of checks. A PD can terminate another PD only with a PD capability to it. */
#include "supervisor.h"
#include "system/charge.h"
#include "system/rows.h"
#include "system/text.h"

cr_result cr_check_exit(cr_asked *a)
{
    (void)a;
    return CR_RESULT_OK;
}

/* The registers show the message, as long as the PD has not run since. One that did not wait for an
 * answer has run if the message was kept. */
static void trace_exit(const cr_asked *a)
{
    seL4_UserContext registers;
    cr_trace_begin(&cr_sys.trace, CR_EV_EXIT);
    cr_trace_pd(a->from);
    cr_trace_number(&cr_sys.trace, a->args.code);
    cr_must(cr_read_registers(cr_body_cap(&a->from->body, CR_BODY_TCB), &registers),
            "the registers of a PD that exits cannot be read");
    cr_trace_registers(a->way != CR_WAY_SENT ? &registers : 0);
    cr_trace_end(&cr_sys.trace);
}

void cr_do_exit(cr_asked *a)
{
    trace_exit(a);
    cr_end_note_exit(a->from, a->args.code);
    a->never = 1;
    a->down = a->from;
    a->cause = CR_CAUSE_EXIT;
}

cr_result cr_check_spawn(cr_asked *a)
{
    a->found.program = CR_IMAGE_NONE;
    if (cr_model_count(cr_sys.model, CR_EDGE_REQUEST, a->from->node, cr_sys.pd_space) == 0) {
        return CR_RESULT_DENIED;
    }
    for (uint32_t i = 0; i < cr_sys.image->spawns.count; i++) {
        const cr_image_spawn *spawn = &cr_image_spawns(cr_sys.image)[i];
        if (spawn->pd == a->from->config &&
            cr_text_same(cr_image_programs(cr_sys.image)[spawn->program].name, a->args.name)) {
            a->found.program = spawn->program;
        }
    }
    if (a->found.program == CR_IMAGE_NONE) {
        return CR_RESULT_NO_SUCH;
    }
    return cr_can_spawn(a->from, &a->found.slot);
}

void cr_do_spawn(cr_asked *a)
{
    cr_pd *pd;
    a->undone = cr_spawn_pd(a->found.program, a->args.name, a->from, a->found.slot, &pd);
    if (a->undone == CR_RESULT_OK) {
        a->results[0] = a->found.slot;
        a->results[1] = pd->number;
        a->count = 2;
    }
}

static int protects_any(void)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        if (cr_pd_exists(&cr_sys.pds[i]) && cr_pd_is_protected(&cr_sys.pds[i])) {
            return 1;
        }
    }
    return 0;
}

/* Whether the cleanup that this termination begins would destroy a PD that the configuration
 * protects. A protected PD is pinned, so it goes only by itself, by a link or with its fault
 * handler. No steps are under way while a TERMINATE is served, so the planner is free. */
static cr_result would_destroy_protected(const cr_pd *pd, cr_cause cause)
{
    cr_plan plan;
    if (!protects_any()) {
        return CR_RESULT_OK;
    }
    if (cr_cleaner_plan(pd, cause, &plan) != CR_OK) {
        /* It is doomed by a cleanup that waits, or the plan has no room now: nobody can say what
         * would go. */
        return CR_RESULT_BUSY;
    }
    return cr_cleaner_destroys_protected(&plan) ? CR_RESULT_PREVENTED : CR_RESULT_OK;
}

static cr_result check_termination(cr_asked *a, cr_cause cause)
{
    cr_result result = cr_find_named_pd(a, &a->found.pd);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (!cr_pd_is_up(a->found.pd)) {
        return CR_RESULT_GONE;
    }
    const int queued = a->args.later && cr_is_terminated_later(a->found.pd->node);
    if (!cr_ticket_room(a->from) || queued) {
        return CR_RESULT_BUSY;
    }
    return would_destroy_protected(a->found.pd, cause);
}

cr_result cr_check_terminate(cr_asked *a)
{
    return check_termination(a, CR_CAUSE_TERMINATE);
}

cr_result cr_check_terminate_tree(cr_asked *a)
{
    return check_termination(a, CR_CAUSE_SUBTREE);
}

void cr_answer_ticket(cr_asked *a, uint64_t ticket)
{
    a->ticket = ticket;
    a->from->ticket = ticket;
    a->from->ticket_op = a->args.op;
    a->wait = (cr_sys.image->flags & CR_IMAGE_SYNC) != 0 ? CR_WAIT_TERMINATE : CR_WAIT_NOTHING;
    a->results[0] = ticket;
    for (uint32_t i = 1; i <= CR_TICKET_WORDS; i++) {
        a->results[i] = 0;
    }
    _Static_assert(CR_TICKET_QUEUED == 0, "as the line above has it");
    a->count = 1 + CR_TICKET_WORDS;
}

static void do_termination(cr_asked *a, cr_cause cause)
{
    const cr_when when = a->later ? CR_WHEN_LATER : CR_WHEN_NOW;
    cr_trace_trigger(
        &(cr_triggered){.cause = cause, .when = when, .pd = a->found.pd, .by = a->from});
    a->down = a->found.pd;
    a->cause = cause;
    cr_answer_ticket(a, cr_ticket_make(a->from, CR_TICKET_TERMINATION, a->found.pd, 0));
}

void cr_do_terminate(cr_asked *a)
{
    a->later = a->args.later != 0;
    do_termination(a, CR_CAUSE_TERMINATE);
}

void cr_do_terminate_tree(cr_asked *a)
{
    do_termination(a, CR_CAUSE_SUBTREE);
}

cr_result cr_check_ticket(cr_asked *a)
{
    return cr_ticket_check(a->from, a->args.ticket);
}

void cr_do_ticket(cr_asked *a)
{
    a->count = cr_ticket_look(a->args.ticket, a->args.wait != 0, a->results);
    if (a->count == 0) {
        a->wait = CR_WAIT_TICKET;
        a->from->ticket = a->args.ticket;
    }
}

/* -- policy: a PD with a large depth takes others down with it, and one without its pin goes with
 * others, so the configuration must trust who changes either */

/* A spawned PD has no place in the configuration: it neither is trusted nor has a policy that
 * anybody is trusted with. */
static int is_trusted_with(const cr_pd *from, const cr_pd *pd)
{
    for (uint32_t i = 0; i < cr_sys.image->trusts.count; i++) {
        const cr_image_trust *trust = &cr_image_trusts(cr_sys.image)[i];
        if (trust->pd == from->config && trust->target == pd->config) {
            return 1;
        }
    }
    return 0;
}

/* The PD whose policy is to change: that of the capability, or the caller. The policy of one that
 * was stopped is that of its cleanup already. */
static cr_result find_governed(cr_asked *a)
{
    const cr_result result = cr_find_named_or_self(a, &a->found.pd);
    return result == CR_RESULT_OK && !cr_pd_is_up(a->found.pd) ? CR_RESULT_GONE : result;
}

cr_result cr_check_set_depth(cr_asked *a)
{
    const cr_result result = find_governed(a);
    const int own = a->found.pd == a->from && (a->from->flags & CR_IMAGE_MAY_SET_DEPTH) != 0;
    if (result != CR_RESULT_OK) {
        return result;
    }
    return own || is_trusted_with(a->from, a->found.pd) ? CR_RESULT_OK : CR_RESULT_DENIED;
}

void cr_do_set_depth(cr_asked *a)
{
    cr_pd *pd = a->found.pd;
    const uint32_t pd_depth = cr_depth_of(a->args.pd_depth, cr_sys.image->pd_depth);
    const uint32_t rs_depth = cr_depth_of(a->args.rs_depth, cr_sys.image->rs_depth);
    const int changes = cr_depth_of(pd->pd_depth, cr_sys.image->pd_depth) != pd_depth ||
                        cr_depth_of(pd->rs_depth, cr_sys.image->rs_depth) != rs_depth;
    pd->pd_depth = a->args.pd_depth;
    pd->rs_depth = a->args.rs_depth;
    if (changes) {
        cr_trace_rights(pd);
    }
}

cr_result cr_check_pin(cr_asked *a)
{
    const cr_result result = find_governed(a);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (!is_trusted_with(a->from, a->found.pd)) {
        return CR_RESULT_DENIED;
    }
    /* Who is protected is pinned as long as it lives. */
    return a->args.pinned || !cr_pd_is_protected(a->found.pd) ? CR_RESULT_OK : CR_RESULT_PREVENTED;
}

void cr_do_pin(cr_asked *a)
{
    cr_node_info before;
    cr_must(cr_model_get(cr_sys.model, a->found.pd->node, &before),
            "a PD that was found is not there");
    if (((before.flags & CR_FLAG_PINNED) != 0) == (a->args.pinned != 0)) {
        return;
    }
    cr_must(cr_rows_set_pinned(a->found.pd->node, (int)a->args.pinned),
            "a PD that was found cannot be pinned");
    cr_trace_rights(a->found.pd);
}

cr_result cr_check_fault_info(cr_asked *a)
{
    cr_work_notice notice;
    if (cr_work_look(cr_sys.work, cr_receiver(a->from), a->args.token, &notice) != CR_OK) {
        return CR_RESULT_NO_SUCH;
    }
    a->found.fault = cr_fault_of_notice(&notice);
    return a->found.fault != 0 ? CR_RESULT_OK : CR_RESULT_NO_SUCH;
}

void cr_do_fault_info(cr_asked *a)
{
    a->results[0] = (uint64_t)a->found.fault->kind;
    a->results[1] = a->found.fault->address;
    a->results[2] = a->found.fault->ip;
    a->count = 3;
}

/* -- subscriptions */

/* Whether the PD would lose something together with this space. */
static int depends_on(const cr_pd *pd, cr_ref space, cr_ref manager)
{
    if (cr_same(manager, pd->node) ||
        cr_model_count(cr_sys.model, CR_EDGE_REQUEST, pd->node, space) > 0) {
        return 1;
    }
    cr_edge_walk holds = cr_model_walk(cr_sys.model, pd->node, CR_EDGE_HOLD, CR_OUT);
    while (cr_model_next(&holds)) {
        if (cr_same(cr_model_space(cr_sys.model, holds.other), space)) {
            return 1;
        }
    }
    return 0;
}

/* The space in the message, or the PD of the capability in the message, or the caller. */
static cr_result find_subject(const cr_asked *a, cr_ref *out)
{
    cr_pd *pd;
    if (a->args.space != 0) {
        return cr_find_space(a->args.space, out);
    }
    const cr_result result = cr_find_named_or_self(a, &pd);
    if (result == CR_RESULT_OK) {
        *out = pd->node;
    }
    return result;
}

static uint32_t subscriptions(const cr_asked *a)
{
    return cr_model_subscriptions(cr_sys.model, a->from->node, a->found.node, a->args.handler);
}

/* A process goes after its threads, which must not wait for its end in it. */
static int is_own_process(const cr_pd *pd, cr_ref node)
{
    const uint32_t process = cr_process_of(pd);
    const cr_pd *first = process != CR_IMAGE_NONE ? cr_find_configured(process) : 0;
    return first != 0 && first != pd && cr_same(first->node, node);
}

cr_result cr_check_subscribe(cr_asked *a)
{
    cr_node_info info;
    cr_result result = find_subject(a, &a->found.node);
    if (result != CR_RESULT_OK) {
        return result;
    }
    if (a->args.space != 0 &&
        (cr_model_get(cr_sys.model, a->found.node, &info) != CR_OK ||
         (info.flags & CR_FLAG_CORE) != 0 || !depends_on(a->from, a->found.node, info.manager))) {
        return CR_RESULT_DENIED;
    }
    if (is_own_process(a->from, a->found.node)) {
        return CR_RESULT_DENIED;
    }
    if (!cr_may_consent(a->from)) {
        return CR_RESULT_FULL;
    }
    uint32_t count = subscriptions(a);
    if (count > 0) {
        return count < CR_MAX_COUNT ? CR_RESULT_OK : CR_RESULT_FULL;
    }
    /* The edge stays until its node is destroyed. The notice about that comes before. It is one for
     * all handlers. */
    const int told = cr_model_handlers(cr_sys.model, a->from->node, a->found.node) != 0;
    return cr_fits(a->from, CR_QUOTA_EDGES, told ? 1 : 2, 0);
}

void cr_do_subscribe(cr_asked *a)
{
    a->undone = cr_make_subscription(a->from, a->found.node, a->args.handler);
    if (a->undone == CR_RESULT_OK) {
        cr_count_consent(a->from);
        a->results[0] = a->args.space != 0 ? 0 : cr_number_of(a->found.node);
        a->count = 1;
    }
}

/* A PD may always drop its subscription, no matter what else it has lost. */
cr_result cr_check_unsubscribe(cr_asked *a)
{
    cr_result result = find_subject(a, &a->found.node);
    if (result != CR_RESULT_OK) {
        return result;
    }
    return subscriptions(a) > 0 ? CR_RESULT_OK : CR_RESULT_NO_SUCH;
}

void cr_do_unsubscribe(cr_asked *a)
{
    cr_must(cr_rows_drop_edge(CR_EDGE_SUBSCRIBE, a->from->node, a->found.node, a->args.handler,
                              CR_DROP_ASKED),
            "a subscription that was found is not there");
}

/* -- queries */

static cr_result look_at_pd(uint32_t pd_number, uint32_t *state)
{
    cr_pd *pd;
    const cr_result result = cr_find_pd(pd_number, &pd);
    *state = result != CR_RESULT_OK ? CR_LOOK_DESTROYED
             : cr_is_doomed(pd)     ? CR_LOOK_DOOMED
                                    : CR_LOOK_ACTIVE;
    return result == CR_RESULT_GONE ? CR_RESULT_OK : result;
}

cr_result cr_check_look(cr_asked *a)
{
    cr_ref node;
    if (a->args.space == 0) {
        cr_pd *pd = a->from;
        cr_result result = CR_RESULT_OK;
        if (a->args.has_pd) {
            result = cr_find_badged(a->args.pd, CR_BADGE_BODY, &pd);
        }
        if (result != CR_RESULT_OK) {
            return result;
        }
        /* If the message has a PD capability, its object is 0. The trace has the number. */
        a->args.object = a->args.object != 0 ? a->args.object : pd->number;
        return look_at_pd(a->args.object, &a->found.state);
    }
    cr_result result = cr_find_space(a->args.space, &node);
    if (result == CR_RESULT_GONE && cr_is_there(a->args.space)) {
        a->found.state = CR_LOOK_DOOMED;
        return CR_RESULT_OK;
    }
    if (result == CR_RESULT_OK && a->args.object != 0) {
        result = cr_find_resource(a->args.space, a->args.object, &node);
    }
    a->found.state = result == CR_RESULT_OK ? CR_LOOK_ACTIVE : CR_LOOK_DESTROYED;
    return result == CR_RESULT_GONE ? CR_RESULT_OK : result;
}

void cr_do_look(cr_asked *a)
{
    a->results[0] = a->found.state;
    a->count = 1;
}

cr_result cr_check_post_mortem(cr_asked *a)
{
    cr_ref space;
    cr_pd *pd;
    const uint32_t number = a->args.space != 0 ? 0 : a->args.pd_number;
    a->found.tombstone = cr_tombstone_of(a->from, a->args.space, number);
    if (a->found.tombstone != 0) {
        return CR_RESULT_OK;
    }
    cr_result result = number != 0 ? cr_find_pd(number, &pd) : cr_find_space(a->args.space, &space);
    if (result == CR_RESULT_GONE && number == 0 && cr_is_there(a->args.space)) {
        result = CR_RESULT_OK; /* It is doomed. */
    }
    /* GONE: the caller does not refer to it. DENIED: there is nothing to tell yet. */
    return result == CR_RESULT_OK ? CR_RESULT_DENIED : result;
}

static void put_text(uint64_t *words, const char *text, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        words[i / 8] |= (uint64_t)(uint8_t)text[i] << (8 * (i % 8));
    }
}

void cr_do_post_mortem(cr_asked *a)
{
    const cr_tombstone *tombstone = a->found.tombstone;
    const cr_end_of *end = &tombstone->end;
    for (uint32_t i = 0; i < CR_MORTEM_REGISTERS; i++) {
        a->results[i] = 0;
    }
    a->results[CR_MORTEM_HOW] = (uint64_t)end->how;
    a->results[CR_MORTEM_CODE] = end->code;
    a->results[CR_MORTEM_FAULTED] = end->faulted != 0;
    a->results[CR_MORTEM_FAULT] = (uint64_t)end->kind;
    a->results[CR_MORTEM_ADDRESS] = end->address;
    a->results[CR_MORTEM_IP] = end->ip;
    put_text(&a->results[CR_MORTEM_TYPE], tombstone->type, CR_TYPE_BYTES);
    put_text(&a->results[CR_MORTEM_NAME], tombstone->name, CR_NAME_BYTES);
    a->count = CR_MORTEM_REGISTERS;
    for (uint32_t i = 0; end->faulted && i < CR_REGISTER_COUNT; i++) {
        a->results[a->count++] = cr_arch_registers(&end->registers)[i];
    }
}

_Static_assert(CR_MORTEM_NAME_END + 1 == CR_MORTEM_REGISTERS, "the registers follow the name");
_Static_assert((int)CR_MORTEM_REGISTERS + (int)CR_MORTEM_REGISTERS_MAX <= (int)CR_MAX_RESULTS,
               "a post-mortem fits one answer");

/* The memory of a PD that lives is nobody else's. That of a doomed one is there until its cleanup
 * destroys the PD, after it has told the subscribers and has awaited them. */
cr_result cr_check_dump(cr_asked *a)
{
    cr_result result = cr_find_pd(a->args.pd_number, &a->found.pd);
    if (result != CR_RESULT_OK) {
        return result;
    }
    const cr_pd *pd = a->found.pd;
    if (a->from->config == CR_IMAGE_NONE || cr_reader_of(pd) != a->from->config + 1 ||
        (cr_pd_is_up(pd) && !cr_is_doomed(pd))) {
        return CR_RESULT_DENIED;
    }
    return cr_read_memory(pd, a->args.address, 0) != 0 ? CR_RESULT_OK : CR_RESULT_FAILED;
}

void cr_do_dump(cr_asked *a)
{
    const cr_pd *pd = a->found.pd;
    a->count = cr_read_memory(pd, a->args.address, a->results);
    if (a->count == 0) {
        a->undone = CR_RESULT_MEMORY; /* Or a cleanup that left the PD has freed its memory. */
        return;
    }
    cr_trace_begin(&cr_sys.trace, CR_EV_DUMP);
    cr_trace_pd(pd);
    cr_trace_pd(a->from);
    cr_trace_address(&cr_sys.trace, a->args.address);
    cr_trace_number(&cr_sys.trace, a->count);
    cr_trace_end(&cr_sys.trace);
}

_Static_assert((int)CR_DUMP_WORDS <= (int)CR_MAX_RESULTS, "a dump fits one answer");
