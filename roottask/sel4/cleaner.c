/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The cleaner: plans what goes with a PD that is down, carries the plan out step by step, and leaves a legal
 * state. What it decides and what it does both go into the trace, so that the host can check either. It waits
 * for nobody: PDs of a higher priority than the root task there are none, and none is called. */
#include "arch/arch.h"
#include "supervisor.h"
#include "text.h"
#include "untyped.h"

static const char *const cause_names[] = {"fault", "exit", "terminate"};

_Static_assert(sizeof(cause_names) / sizeof(cause_names[0]) == CR_CAUSE_COUNT, "one name a cause");

static const char *const notice_names[] = {"free", "destroy", "disconnect", "lost", "pre-destroy", "extract"};

_Static_assert(sizeof(notice_names) / sizeof(notice_names[0]) == CR_NOTICE_KIND_COUNT, "one name a kind of notice");

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
        cr_trace_string(&cr_sys.trace, notice_names[plan->notices[i].kind]);
        cr_trace_node(plan->notices[i].node);
        cr_trace_node(plan->notices[i].from);
        end();
    }
    trace_pairs(CR_EV_PRE_DESTROY, plan->pre_destroy, plan->n_pre_destroy);
}

/* The numbers in a notice, which stay readable when what they name is gone. */
static cr_status fill_notice(const cr_notice *notice, cr_work_notice *out)
{
    cr_node_info info;
    cr_node_info other;
    cr_status status = cr_model_get(cr_sys.model, notice->node, &info);
    if (status != CR_OK) {
        return status;
    }
    *out = (cr_work_notice){.kind = notice->kind};
    if (info.kind == CR_NODE_RESOURCE) {
        if ((status = cr_model_get(cr_sys.model, info.space, &other)) != CR_OK) {
            return status;
        }
        out->space = other.number;
        out->object = info.number;
    } else {
        out->space = info.number;
    }
    if (notice->from.index != CR_NONE) {
        if ((status = cr_model_get(cr_sys.model, notice->from, &other)) != CR_OK) {
            return status;
        }
        out->pd = other.number;
    }
    return CR_OK;
}

static cr_status do_notify(const cr_notice *notice)
{
    cr_pd *to = cr_pd_of(notice->to);
    cr_work_notice work;
    cr_status status = fill_notice(notice, &work);
    if (status != CR_OK || to == 0) {
        return to == 0 ? CR_ERR_CORRUPT : status;
    }
    uint32_t receiver = (uint32_t)(to - cr_sys.pds);
    int first = cr_sys.work.queues[receiver].first_unfetched == CR_NONE;
    status = cr_work_put(&cr_sys.work, receiver, &work);
    if (status != CR_OK) {
        return status;
    }
    begin(CR_EV_QUEUE);
    cr_trace_number(&cr_sys.trace, work.token);
    cr_trace_node(notice->to);
    cr_trace_string(&cr_sys.trace, notice_names[notice->kind]);
    cr_trace_node(notice->node);
    cr_trace_node(notice->from);
    end();
    /* One signal for a queue that was empty: it stays set until its PD receives it, waiting or busy. */
    if (first) {
        cr_signal(cr_body_cap(&to->body, CR_BODY_SIGNAL));
    }
    return CR_OK;
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
        begin(CR_EV_FREED);
        cr_trace_pd(pd);
        cr_trace_address(&cr_sys.trace, paddr);
        cr_trace_number(&cr_sys.trace, bytes);
        cr_trace_number(&cr_sys.trace, CR_BODY_ROOT_SLOTS);
        end();
    }
    return status;
}

/* Carries out one step. */
static cr_status carry_out(const cr_step *step)
{
    cr_pd *pd = step->pd.index != CR_NONE ? cr_pd_of(step->pd) : 0;
    switch (step->kind) {
    case CR_STEP_SUSPEND:
        if (pd == 0 || cr_suspend(cr_body_cap(&pd->body, CR_BODY_TCB))) {
            return CR_ERR_CORRUPT;
        }
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
        return do_notify(step->notice);
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

static void clean_up(cr_pd *trigger, cr_cause cause)
{
    static cr_plan plan;
    uint64_t before[CR_CALL_COUNT];
    cr_journal journal;
    cr_step step;
    cr_print_if_changed();
    uint64_t start = cr_arch_cycles();
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        before[i] = cr_calls[i];
    }
    cr_sys.cleanups++;
    cr_status status = cr_plan_crash(cr_sys.planner, cr_sys.model, trigger->node,
                                     depth_of(trigger->pd_depth, cr_sys.image->pd_depth),
                                     depth_of(trigger->rs_depth, cr_sys.image->rs_depth), &plan);
    if (status != CR_OK) {
        cr_panic("no cleanup can be planned", (uint64_t)status);
    }
    trace_plan(&plan, cause);
    cr_journal_start(&journal);
    while ((status = cr_step_next(&journal, &plan, cr_sys.model, &step)) == CR_OK && step.kind != CR_STEP_SETTLE) {
        char node[CR_ID_BYTES] = "-";
        char pd[CR_ID_BYTES] = "-";
        uint64_t calls = cr_calls_total();
        /* Ids are read before the step: what it is about may be gone after it. */
        if (step.node.index != CR_NONE) {
            cr_node_id(step.node, node);
        }
        if (step.pd.index != CR_NONE) {
            cr_node_id(step.pd, pd);
        }
        status = carry_out(&step);
        if (status != CR_OK) {
            break;
        }
        begin(CR_EV_STEP);
        cr_trace_string(&cr_sys.trace, cr_step_name(step.kind));
        cr_trace_string(&cr_sys.trace, node);
        cr_trace_string(&cr_sys.trace, pd);
        cr_trace_number(&cr_sys.trace, cr_calls_total() - calls);
        end();
        status = cr_step_done(&journal, &step);
        if (status != CR_OK) {
            break;
        }
    }
    if (status != CR_OK) {
        cr_panic("a step of a cleanup failed", ((uint64_t)step.kind << 32) | (uint64_t)status);
    }
    uint64_t cycles = cr_arch_cycles() - start;
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        if (cr_calls[i] != before[i]) {
            begin(CR_EV_CALLS);
            cr_trace_string(&cr_sys.trace, cr_call_name((cr_call)i));
            cr_trace_number(&cr_sys.trace, cr_calls[i] - before[i]);
            end();
        }
    }
    release_tombstones(&plan);
    cr_print_state(cr_sys.cleanups, cycles);
}

/* No cleanup may fail for want of room for its notices: before there is too little, whoever has let the oldest
 * one wait is taken for hung. Each round destroys a PD. */
static void make_room(void)
{
    uint32_t receiver;
    for (uint32_t i = 0; i < CR_MAX_PDS && cr_work_room(&cr_sys.work) < CR_MAX_PLAN; i++) {
        if (cr_work_oldest(&cr_sys.work, &receiver) != CR_OK) {
            return;
        }
        cr_pd *hung = &cr_sys.pds[receiver];
        cr_trace_begin(&cr_sys.trace, CR_EV_TERMINATE);
        cr_trace_pd(hung);
        cr_trace_node(cr_sys.root);
        cr_trace_end(&cr_sys.trace);
        clean_up(hung, CR_CAUSE_TERMINATE);
    }
}

void cr_clean_up(cr_pd *trigger, cr_cause cause)
{
    clean_up(trigger, cause);
    make_room();
}
