/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The cleaner: plans what goes with a PD that is down, carries the plan out step by step, and leaves a legal
 * state. What it decides and what it does both go into the trace, so that the host can check either.
 *
 * It calls nobody and never blocks. When subscribers are to be told before the end, it stops at the step that awaits
 * them and goes on from its journal when they have answered or cannot any more; the main loop runs meanwhile. Then
 * doomed nodes are marked, and nothing gets or loses an edge to them by request; so whoever goes stays the same, and
 * what the others lose is worked out anew before it is taken. Triggers that come in that time wait in a queue,
 * their PDs suspended: the outcome is that of the cleanups one after the other. */
#include "kernel/arch/arch.h"
#include "supervisor.h"
#include "system/text.h"
#include "kernel/untyped.h"

static const char *const cause_names[] = {"fault", "exit", "terminate", "late"};

_Static_assert(sizeof(cause_names) / sizeof(cause_names[0]) == CR_CAUSE_COUNT, "one name a cause");

/* The cleanup under way, if there is one. */
static struct {
    int active;
    int waits;  /* it is at a step that awaits answers */
    int waited; /* it has been, since it began */
    int answered; /* since it was looked at last */
    uint32_t tag;
    uint64_t ticket;
    cr_plan plan;
    cr_journal journal;
    uint64_t calls[CR_CALL_COUNT]; /* in its steps */
    uint64_t cycles;
} running;

/* Triggers that were not cleaned up after yet, the oldest first. Each PD is in it once at the most. */
static struct {
    struct {
        cr_ref pd;
        cr_cause cause;
        uint64_t ticket;
    } at[CR_MAX_PDS];
    uint32_t first;
    uint32_t count;
} queue;

static void depth_text(uint32_t depth, char *out)
{
    if (depth == CR_DEPTH_INF) {
        cr_text_copy(out, "inf", 24);
    } else {
        cr_format_decimal(out, depth);
    }
}

static void begin(cr_event event)
{
    cr_trace_begin(&cr_sys.trace, event);
    if (event != CR_EV_TRACE) {
        cr_trace_number(&cr_sys.trace, cr_sys.cleanups);
    }
}

static void end(void)
{
    cr_trace_end(&cr_sys.trace);
}

static void trace_pairs(cr_event event, const cr_pair *pairs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        begin(event);
        cr_trace_node(pairs[i].pd);
        cr_trace_node(pairs[i].node);
        end();
    }
}

/* What becomes of the rest. */
static void trace_consequences(const cr_plan *plan)
{
    trace_pairs(CR_EV_LOSE_REQUEST, plan->removed_requests, plan->n_removed_requests);
    trace_pairs(CR_EV_REVOKE, plan->revoked, plan->n_revoked);
    trace_pairs(CR_EV_REVOKE_SPACE, plan->revoked_spaces, plan->n_revoked_spaces);
    trace_pairs(CR_EV_REVOKE_BODY, plan->revoked_bodies, plan->n_revoked_bodies);
    for (uint32_t i = 0; i < plan->n_core_freed; i++) {
        begin(CR_EV_FREE_CORE);
        cr_trace_node(plan->core_freed[i]);
        end();
    }
    for (uint32_t i = 0; i < plan->n_notices; i++) {
        begin(CR_EV_OWE);
        cr_trace_node(plan->notices[i].to);
        cr_trace_string(&cr_sys.trace, cr_notice_name(plan->notices[i].kind));
        cr_trace_node(plan->notices[i].node);
        cr_trace_node(plan->notices[i].from);
        end();
    }
}

static void trace_plan(const cr_plan *plan, cr_cause cause)
{
    char depth[24];
    begin(CR_EV_CLEANUP);
    cr_trace_node(plan->trigger);
    cr_trace_string(&cr_sys.trace, cause_names[cause]);
    depth_text(plan->pd_depth, depth);
    cr_trace_string(&cr_sys.trace, depth);
    depth_text(plan->rs_depth, depth);
    cr_trace_string(&cr_sys.trace, depth);
    end();
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        const cr_doomed *d = &plan->doomed[i];
        int is_pd = cr_pd_of(d->node) != 0;
        begin(is_pd ? CR_EV_DOOM_PD : CR_EV_DOOM_SPACE);
        cr_trace_node(d->node);
        if (is_pd) {
            cr_trace_number(&cr_sys.trace, d->pd_depth);
        }
        cr_trace_number(&cr_sys.trace, d->group);
        end();
    }
    trace_consequences(plan);
    trace_pairs(CR_EV_PRE_DESTROY, plan->pre_destroy, plan->n_pre_destroy);
}

static cr_status do_unblock(cr_ref client, cr_ref space)
{
    cr_pd *pd = cr_pd_of(client);
    cr_node_info info;
    cr_status status = cr_model_get(cr_sys.model, space, &info);
    if (status != CR_OK || pd == 0) {
        return pd == 0 ? CR_ERR_CORRUPT : status;
    }
    return cr_space_entry_of(space)->manager_dead ? cr_unblock(pd, CR_SLOT_LOST | info.number, 0) : CR_OK;
}

static cr_status do_mark(cr_ref node)
{
    cr_node_info info;
    cr_status status = cr_model_get(cr_sys.model, node, &info);
    if (status == CR_OK && info.kind == CR_NODE_PD) {
        for (uint32_t edge = cr_model_first(cr_sys.model, node, CR_EDGE_MANAGE, CR_OUT); edge != CR_NONE;
             edge = cr_model_next(cr_sys.model, edge, node, CR_OUT)) {
            cr_edge_info manage;
            if ((status = cr_model_edge(cr_sys.model, edge, &manage)) != CR_OK) {
                return status;
            }
            cr_space_entry_of(manage.to)->manager_dead = 1;
        }
    }
    return status == CR_OK ? cr_model_doom(cr_sys.model, node) : status;
}

/* From now on nothing that the PD asks is heard, and it is late with nothing. */
static void silence(cr_pd *pd)
{
    pd->silent = 1;
    cr_deadlines_forget(pd);
}

/* The PD runs no more. May be repeated. */
static void stop(cr_pd *pd)
{
    if (cr_suspend(cr_body_cap(&pd->body, CR_BODY_TCB))) {
        cr_panic("a thread cannot be suspended", pd->number);
    }
    pd->stopped = 1;
    silence(pd);
    running.answered = 1; /* It was waited for, perhaps. */
}

static void trace_destroy(cr_ref node)
{
    begin(CR_EV_DESTROY);
    cr_trace_node(node);
    end();
}

static cr_status do_destroy_pd(cr_pd *pd)
{
    uint64_t paddr = cr_untyped_paddr(pd->body.block);
    uint64_t bytes = 1ull << cr_untyped_bits(pd->body.block);
    trace_destroy(pd->node);
    cr_status status = cr_take_pd(pd);
    if (status == CR_OK) {
        cr_tickets_forget(pd);
        cr_forget_owed(pd);
        begin(CR_EV_FREED);
        cr_trace_pd(pd);
        cr_trace_address(&cr_sys.trace, paddr);
        cr_trace_number(&cr_sys.trace, bytes);
        cr_trace_number(&cr_sys.trace, CR_BODY_ROOT_SLOTS);
        end();
    }
    return status;
}

static cr_status do_tell(cr_ref node, cr_pd *subscriber)
{
    if (subscriber == 0) {
        return CR_ERR_CORRUPT;
    }
    const cr_notice notice = {
        .kind = CR_NOTICE_PRE_DESTROY, .to = subscriber->node, .node = node, .from = {CR_NONE, 0}};
    cr_status status = cr_notice_put(&notice, cr_sys.cleanups, running.tag);
    subscriber->told += status == CR_OK;
    return status;
}

/* Carries out one step. */
static cr_status carry_out(const cr_step *step)
{
    cr_pd *pd = step->pd.index != CR_NONE ? cr_pd_of(step->pd) : 0;
    switch (step->kind) {
    case CR_STEP_SUSPEND:
        if (pd == 0) {
            return CR_ERR_CORRUPT;
        }
        stop(pd);
        begin(CR_EV_SUSPEND);
        cr_trace_pd(pd);
        end();
        return CR_OK;
    case CR_STEP_MARK:
        return do_mark(step->node);
    case CR_STEP_CUT_REQUEST:
        return pd != 0 ? cr_take_request(pd, step->node) : CR_ERR_CORRUPT;
    case CR_STEP_DESTROY_RESOURCE:
        trace_destroy(step->node);
        return cr_take_resource(step->node);
    case CR_STEP_DESTROY_SPACE:
        trace_destroy(step->node);
        return cr_take_space(step->node);
    case CR_STEP_DESTROY_PD:
        return pd != 0 ? do_destroy_pd(pd) : CR_ERR_CORRUPT;
    case CR_STEP_UNBLOCK:
        return do_unblock(step->pd, step->node);
    case CR_STEP_NOTIFY:
        return cr_notice_put(step->notice, cr_sys.cleanups, running.tag);
    case CR_STEP_TELL:
        return do_tell(step->node, pd);
    case CR_STEP_AWAIT:
        return CR_OK; /* It is over when this is reached. */
    case CR_STEP_SETTLE:
    case CR_STEP_KIND_COUNT:
        break;
    }
    return CR_ERR_CORRUPT;
}

/* Gives back the tombstones: from here on nothing refers to what is gone. */
static void release_tombstones(const cr_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        if (cr_model_release(cr_sys.model, plan->doomed[i].node) != CR_OK) {
            cr_panic("a destroyed node cannot be released", plan->doomed[i].node.index);
        }
    }
}

static uint32_t depth_of(uint32_t own, uint32_t systems)
{
    return own == CR_IMAGE_DEPTH_DEFAULT ? systems : own;
}

int cr_cleaner_awaits(const cr_pd *pd)
{
    uint32_t waiting = 0;
    uint32_t held = 0;
    /* Who waits for a cleanup's end itself cannot answer: for this one's, or that of one that comes after it. */
    if (!running.active || !pd->used || pd->told == 0 || pd->silent || cr_ticket_keeps(pd)) {
        return 0;
    }
    cr_work_count_of(cr_sys.work, cr_receiver(pd), running.tag, &waiting, &held);
    return waiting > held;
}

/* Whether one of those who were told can still answer and has not. */
static int is_awaited(void)
{
    int any = 0;
    for (uint32_t i = 1; i < CR_MAX_PDS && !any; i++) {
        any = cr_cleaner_awaits(&cr_sys.pds[i]);
    }
    return any;
}

static void trace_wait(cr_event event)
{
    begin(event);
    end();
}

/* The cleanup waits. Whoever goes by it, still runs, and waits to be connected, has nothing to wait for, and may have to answer. */
static void wait_for_answers(void)
{
    trace_wait(CR_EV_WAIT);
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (pd->used && !pd->silent && pd->keeps == CR_KEEP_CONNECT && cr_is_doomed(pd)) {
            (void)cr_retry_connect(pd, 1);
        }
    }
}

/* Everybody has been told who was to be told. Time has passed: the model may have changed around what is doomed. */
static void plan_again(void)
{
    cr_status status = cr_plan_again(cr_sys.planner, cr_sys.model, &running.plan);
    if (status != CR_OK) {
        cr_panic("no cleanup can be planned", (uint64_t)status);
    }
    if (running.waited) {
        trace_consequences(&running.plan);
    }
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        cr_sys.pds[i].told = 0;
    }
}

static cr_status take_step(const cr_step *step)
{
    char node[CR_ID_BYTES] = "-";
    char pd[CR_ID_BYTES] = "-";
    uint64_t calls = cr_calls_total();
    /* Ids are read before the step: what it is about may be gone after it. */
    if (step->node.index != CR_NONE) {
        cr_node_id(step->node, node);
    }
    if (step->pd.index != CR_NONE) {
        cr_node_id(step->pd, pd);
    }
    cr_status status = carry_out(step);
    if (status != CR_OK) {
        return status;
    }
    begin(CR_EV_STEP);
    cr_trace_string(&cr_sys.trace, cr_step_name(step->kind));
    cr_trace_string(&cr_sys.trace, node);
    cr_trace_string(&cr_sys.trace, pd);
    cr_trace_number(&cr_sys.trace, cr_calls_total() - calls);
    end();
    status = cr_step_done(&running.journal, step);
    if (status == CR_OK && step->kind == CR_STEP_AWAIT && running.journal.awaited == running.plan.n_pre_destroy) {
        plan_again();
    }
    return status;
}

/* Carries the plan on from the journal. Returns 0 if it is at a step that awaits answers, 1 at its end. */
static int carry_on(void)
{
    uint64_t before[CR_CALL_COUNT];
    uint64_t start = cr_arch_cycles();
    cr_step step;
    cr_status status;
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        before[i] = cr_calls[i];
    }
    running.waits = 0;
    while ((status = cr_step_next(&running.journal, &running.plan, cr_sys.model, &step)) == CR_OK &&
           step.kind != CR_STEP_SETTLE) {
        if (step.kind == CR_STEP_AWAIT && is_awaited()) {
            running.waits = 1;
            running.waited = 1;
            break;
        }
        if ((status = take_step(&step)) != CR_OK) {
            break;
        }
    }
    if (status != CR_OK) {
        cr_panic("a step of a cleanup failed", ((uint64_t)step.kind << 32) | (uint64_t)status);
    }
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        running.calls[i] += cr_calls[i] - before[i];
    }
    running.cycles += cr_arch_cycles() - start;
    return !running.waits;
}

static void settle(void)
{
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        if (running.calls[i] != 0) {
            begin(CR_EV_CALLS);
            cr_trace_string(&cr_sys.trace, cr_call_name((cr_call)i));
            cr_trace_number(&cr_sys.trace, running.calls[i]);
            end();
        }
    }
    release_tombstones(&running.plan);
    cr_print_state(cr_sys.cleanups, running.cycles);
    running.active = 0;
    cr_sys.settled = cr_sys.cleanups;
    cr_ticket_settle(running.ticket);
    cr_extract_changed();
}

static void start(cr_pd *trigger, cr_cause cause, uint64_t ticket)
{
    cr_trace_refused_rest();
    cr_print_if_changed();
    cr_sys.cleanups++;
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        running.calls[i] = 0;
    }
    running.active = 1;
    running.waited = 0;
    running.answered = 0;
    running.tag = cr_sys.cleanups;
    running.ticket = ticket;
    uint64_t cycles = cr_arch_cycles();
    cr_status status = cr_plan_crash(cr_sys.planner, cr_sys.model, trigger->node,
                                     depth_of(trigger->pd_depth, cr_sys.image->pd_depth),
                                     depth_of(trigger->rs_depth, cr_sys.image->rs_depth), &running.plan);
    if (status != CR_OK) {
        cr_panic("no cleanup can be planned", (uint64_t)status);
    }
    cr_ticket_begin(ticket, running.tag);
    trace_plan(&running.plan, cause);
    cr_journal_start(&running.journal);
    running.cycles = cr_arch_cycles() - cycles;
    if (carry_on()) {
        settle();
    } else {
        wait_for_answers();
    }
}

/* Begins the next cleanup that is due. Returns 0 if there is none. */
static int start_next(void)
{
    while (queue.count > 0) {
        uint32_t at = queue.first;
        queue.first = (queue.first + 1) % CR_MAX_PDS;
        queue.count--;
        cr_pd *pd = cr_pd_of(queue.at[at].pd);
        if (pd == 0) {
            cr_ticket_settle(queue.at[at].ticket); /* It went with another one. */
            continue;
        }
        start(pd, queue.at[at].cause, queue.at[at].ticket);
        return 1;
    }
    return 0;
}

static void trace_terminate(const cr_pd *pd)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_TERMINATE);
    cr_trace_pd(pd);
    cr_trace_node(cr_sys.root);
    cr_trace_end(&cr_sys.trace);
}

void cr_terminate(cr_pd *pd)
{
    trace_terminate(pd);
    cr_trigger(pd, CR_CAUSE_TERMINATE, 0);
}

/* Whether more notices wait than may. Those of an extraction do not count, as long as a cleanup's have room. */
static int is_crowded(void)
{
    const uint32_t room = cr_work_room(cr_sys.work);
    return room < CR_CLEANUP_NOTICES || (room < CR_MAX_NOTICES - CR_NOTICE_BACKLOG &&
                                         room + cr_extract_notices() < CR_MAX_NOTICES - CR_NOTICE_BACKLOG);
}

/* No cleanup may fail for want of room for its notices: before there is too little, whoever has let the oldest
 * one wait is taken for hung; and if all that wait are held behind ones that failed, whoever has most of them. Returns
 * whether there was somebody. */
static int make_room(void)
{
    uint32_t receiver = 0;
    if (!is_crowded()) {
        return 0;
    }
    if (cr_work_oldest(cr_sys.work, &receiver) != CR_OK) {
        for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
            if (cr_work_pending(cr_sys.work, i) > cr_work_pending(cr_sys.work, receiver)) {
                receiver = i;
            }
        }
    }
    cr_terminate(&cr_sys.pds[receiver]);
    return 1;
}

void cr_trigger(cr_pd *pd, cr_cause cause, uint64_t ticket)
{
    if (cr_is_doomed(pd)) {
        stop(pd); /* It goes by the cleanup under way. */
        return;
    }
    if (queue.count == CR_MAX_PDS) {
        cr_panic("a PD was brought down twice", pd->number);
    }
    uint32_t at = (queue.first + queue.count++) % CR_MAX_PDS;
    queue.at[at].pd = pd->node;
    queue.at[at].cause = cause;
    queue.at[at].ticket = ticket;
    silence(pd);
}

void cr_cleaner_credit(const cr_work_notice *notice)
{
    running.answered |= notice->kind == CR_NOTICE_PRE_DESTROY;
}

int cr_cleaner_waits(void)
{
    return running.active;
}

void cr_cleaner_lanes_changed(void)
{
    running.answered = 1;
}

void cr_cleaner_give_up(void)
{
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        cr_sys.pds[i].told = 0;
    }
    running.answered = 1;
}

void cr_cleaner_follow_up(void)
{
    /* Bounded: each turn ends a cleanup, and each cleanup destroys a PD, or finds nothing to do. */
    for (uint32_t i = 0; i < 2 * CR_MAX_PDS + 2; i++) {
        if (running.active) {
            if (!running.answered || is_awaited()) {
                running.answered = 0;
                break;
            }
            running.answered = 0;
            cr_trace_refused_rest();
            trace_wait(CR_EV_CONTINUE);
            if (carry_on()) {
                settle();
            } else {
                wait_for_answers();
            }
        } else if (!start_next() && !make_room()) {
            break;
        }
    }
    /* Those whose turn has not come do nothing more until it does. */
    for (uint32_t i = 0; i < queue.count; i++) {
        cr_pd *pd = cr_pd_of(queue.at[(queue.first + i) % CR_MAX_PDS].pd);
        if (pd != 0 && !pd->stopped) {
            stop(pd);
        }
    }
}
