/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The steps of a cleanup. See execution.h.
 *
 * No kernel call may stand between the beginning and the end of a trace line, nor after what a step
 * leaves in the trace and in the journal. Otherwise a repeated step would tell something twice. */
#include "execution.h"
#include "arena.h"
#include "kernel/worker.h"
#include "notices.h"
#include "system/inject.h"
#include "system/regions.h"
#include "system/rows.h"
#include "system/state.h"
#include "tickets.h"
#include <cellreap/digest.h>

void cr_execution_begin_line(cr_event event)
{
    cr_trace_begin(&cr_sys.trace, event);
    cr_trace_number(&cr_sys.trace, cr_sup.cleaner.now.tag);
}

static uint64_t of_pairs(cr_plan_row kind, const cr_pair *pairs, uint32_t count)
{
    uint64_t digest = 0;
    for (uint32_t i = 0; i < count; i++) {
        digest += cr_digest_row(kind, cr_rows_label(pairs[i].pd), cr_rows_label(pairs[i].node));
    }
    return digest;
}

void cr_trace_plan(const cr_plan *plan)
{
    const uint64_t rows = (uint64_t)plan->n_doomed + plan->n_removed_requests + plan->n_revoked +
                          plan->n_revoked_spaces + plan->n_revoked_bodies + plan->n_core_freed +
                          plan->n_broken + plan->n_notices;
    uint64_t digest = of_pairs(CR_ROW_REQUEST, plan->removed_requests, plan->n_removed_requests) +
                      of_pairs(CR_ROW_REVOKED, plan->revoked, plan->n_revoked) +
                      of_pairs(CR_ROW_SPACE, plan->revoked_spaces, plan->n_revoked_spaces) +
                      of_pairs(CR_ROW_BODY, plan->revoked_bodies, plan->n_revoked_bodies);
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        const cr_doomed *doomed = &plan->doomed[i];
        digest += cr_digest_row_of_three(CR_ROW_DOOMED, cr_rows_label(doomed->node),
                                         doomed->pd_depth, doomed->group);
    }
    for (uint32_t i = 0; i < plan->n_core_freed; i++) {
        digest += cr_digest_row(CR_ROW_CORE, cr_rows_label(plan->core_freed[i]), 0);
    }
    for (uint32_t i = 0; i < plan->n_broken; i++) {
        digest += cr_digest_row(CR_ROW_BROKEN, cr_rows_label(plan->broken[i].pd),
                                cr_rows_label(plan->broken[i].node));
    }
    for (uint32_t i = 0; i < plan->n_notices; i++) {
        const cr_notice *notice = &plan->notices[i];
        digest += cr_digest_row_of_three((uint32_t)CR_ROW_NOTICE + notice->kind,
                                         cr_rows_label(notice->to), cr_rows_label(notice->node),
                                         cr_rows_label(notice->from));
    }
    cr_execution_begin_line(CR_EV_PLAN);
    cr_trace_number(&cr_sys.trace, rows);
    cr_trace_digest(&cr_sys.trace, digest);
    cr_trace_end(&cr_sys.trace);
}

cr_status cr_execution_stop(cr_pd *pd)
{
    cr_status status = cr_stop_pd(pd);
    if (status == CR_OK) {
        cr_notices_forget(pd);
        cr_notices_changed(); /* The PD may have been awaited. */
    }
    return status;
}

int cr_cleaner_awaits(const cr_pd *pd)
{
    uint32_t waiting = 0;
    uint32_t held = 0;
    /* A PD that waits for the end of a cleanup cannot acknowledge: it waits for the end of this
     * cleanup or of a later one. A PD that was given up is not awaited again in this cleanup. */
    if (!cr_pd_is_served(pd) || pd->told == 0 || cr_ticket_keeps(pd) ||
        pd->given_up == pd->told_by) {
        return 0;
    }
    cr_work_count_of(cr_sys.work, cr_receiver(pd), pd->told_by, &waiting, &held);
    return waiting > held;
}

int cr_execution_awaits(const cr_cleanup *cleanup)
{
    int any = 0;
    for (uint32_t i = 1; i < cr_most.pds && !any; i++) {
        any = cr_sys.pds[i].told_by == cleanup->tag && cr_cleaner_awaits(&cr_sys.pds[i]);
    }
    return any;
}

void cr_execution_forget_told(void)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        if (cr_sys.pds[i].told_by == cr_sup.cleaner.now.tag) {
            cr_sys.pds[i].told = 0;
        }
    }
}

/* Plans the consequences again after all subscribers were told. Time has passed, and the model
 * around the doomed nodes may have changed. */
static void plan_again(void)
{
    cr_must(cr_plan_again(cr_sys.planner, cr_sys.model, &cr_sup.cleaner.now.plan),
            "no cleanup can be planned");
    if (cr_sup.cleaner.now.waited) {
        cr_trace_plan(&cr_sup.cleaner.now.plan);
    }
    cr_execution_forget_told();
}

static int is_destroyed(cr_ref node)
{
    cr_node_info info;
    return cr_model_get(cr_sys.model, node, &info) == CR_OK && info.state == CR_STATE_DESTROYED;
}

static int is_gone(cr_ref resource)
{
    cr_node_info info;
    return cr_model_get(cr_sys.model, resource, &info) == CR_ERR_STALE || is_destroyed(resource);
}

/* What was injected happens. Returns whether it is an error. */
static int happens(cr_injected what)
{
    switch (what) {
    case CR_INJECTED_FAULT:
        cr_worker_fault();
    case CR_INJECTED_HANG:
        cr_worker_hang();
    case CR_INJECTED_ERROR:
        cr_sup.cleaner.at.refused = 1;
        return 1;
    case CR_INJECTED_COUNT:
        break;
    }
    return 0;
}

static int before_call(void)
{
    return happens(cr_injected_at(CR_INJECT_AT_CALL, 0));
}

/* What is called between two notices or resources of a step, if anything. A failure there is
 * injected as at a kernel call: such a step makes none before the last one. */
static int (*hook_between(void))(void)
{
    return cr_sys.injections != 0 ? before_call : 0;
}

static cr_status mark(cr_ref node)
{
    cr_node_info info;
    cr_status status = cr_model_get(cr_sys.model, node, &info);
    return status != CR_OK || info.state != CR_STATE_ACTIVE ? status
                                                            : cr_model_doom(cr_sys.model, node);
}

/* Resources that are destroyed already are passed. If one cannot be destroyed, or if a PD waits to
 * be served, those before are the step, and the next step begins there. */
static cr_status destroy_resources(const cr_step *step, uint32_t epoch)
{
    if (step->count == 1) {
        return cr_take_resource(step->node);
    }
    int (*const between)(void) = hook_between();
    for (uint32_t i = 0; i < step->count; i++) {
        const cr_ref resource = cr_sup.cleaner.at.resources[i];
        const int stops =
            i > 0 && (cr_sup.between.wanted || (between != 0 && between())) && !is_gone(resource);
        const cr_status status = stops ? CR_OK : cr_take_resource(resource);
        if (stops || status != CR_OK) {
            return i == 0 ? status : cr_step_shorten(&cr_sup.cleaner.now.journal, epoch, i);
        }
    }
    return CR_OK;
}

static cr_status destroy_pd(cr_pd *pd)
{
    const cr_status status = cr_take_pd(pd);
    if (status == CR_OK) {
        cr_tickets_forget(pd);
    }
    return status;
}

/* The notices of a step are queued once. While they are queued, `queueing` tells how many are. */
enum { UNQUEUED = 0, QUEUED = 1, TO_SIGNAL = 2 };

/* Queues notices to one receiver and signals it. If not all can be queued, those that are queued
 * are the step, and the next step begins with the one that failed. */
static cr_status notify(cr_pd *to, const cr_notice *notices, uint32_t count, uint32_t epoch)
{
    cr_journal *journal = &cr_sup.cleaner.now.journal;
    const uint32_t tag = cr_sup.cleaner.now.tag;
    if (journal->half == UNQUEUED) {
        cr_queueing *at = &cr_sup.cleaner.at.queueing;
        cr_status status = cr_notices_queue(to, notices, count, tag, hook_between(), at);
        if (status == CR_OK && notices->kind == CR_NOTICE_PRE_DESTROY) {
            to->told++;
            to->told_by = tag;
        }
        if (status != CR_OK && at->queued > 0) {
            status = cr_step_shorten(journal, epoch, at->queued);
        }
        if (status == CR_OK) {
            status = cr_step_note(journal, epoch, at->signals ? TO_SIGNAL : QUEUED);
        }
        if (status != CR_OK) {
            return status;
        }
    }
    if (journal->half == TO_SIGNAL) {
        cr_notice_signal(to);
    }
    return CR_OK;
}

/* A PD that is told of its own end is told of its destructor when its turn to go has come, and of
 * its other handlers before. All subscribers are awaited then. */
static cr_status tell(cr_ref node, cr_pd *subscriber, uint32_t epoch)
{
    const cr_cleanup *now = &cr_sup.cleaner.now;
    const uint32_t destructor = cr_same(node, subscriber->node) ? 1u << CR_HANDLER_DESTRUCTOR : 0;
    const int is_turn = now->journal.awaited == now->plan.n_pre_destroy;
    const uint32_t handlers = cr_model_handlers(cr_sys.model, subscriber->node, node);
    const cr_notice notice = {.kind = CR_NOTICE_PRE_DESTROY,
                              .to = subscriber->node,
                              .node = node,
                              .from = {CR_NONE, 0},
                              .number = is_turn ? destructor : handlers & ~destructor};
    return notify(subscriber, &notice, 1, epoch);
}

/* Carries out one step, which may have been carried out in part or as a whole before. */
static cr_status carry_out(const cr_step *step, uint32_t epoch)
{
    cr_pd *pd = cr_pd_of(step->pd);
    cr_status status;
    if (pd == 0 && step->pd.index != CR_NONE) {
        return step->kind == CR_STEP_DESTROY_PD && is_destroyed(step->node) ? CR_OK
                                                                            : CR_ERR_CORRUPT;
    }
    switch (step->kind) {
    case CR_STEP_SUSPEND:
        status = pd->life != CR_LIFE_STOPPED || pd->stopping ? cr_execution_stop(pd) : CR_OK;
        return status == CR_OK && pd->loud ? cr_regions_quiet(pd) : status;
    case CR_STEP_MARK:
        return mark(step->node);
    case CR_STEP_CUT_REQUEST:
        return cr_take_request(pd, step->node);
    case CR_STEP_DESTROY_RESOURCE:
        return destroy_resources(step, epoch);
    case CR_STEP_DESTROY_SPACE:
        return cr_take_space(step->node);
    case CR_STEP_DESTROY_PD:
        return destroy_pd(pd);
    case CR_STEP_NOTIFY:
        return notify(pd, step->notice, step->count, epoch);
    case CR_STEP_TELL:
        return tell(step->node, pd, epoch);
    case CR_STEP_AWAIT:
        return CR_OK; /* The wait is over when this step is reached. */
    case CR_STEP_SETTLE:
    case CR_STEP_KIND_COUNT:
        break;
    }
    return CR_ERR_CORRUPT;
}

/* -- the line of a step: what is there before the step, which may destroy it */

/* The calls that stopped a PD count for the cleanup that destroys it, even if the PD was stopped
 * before that step. They count once, though the step may be left and begin again. */
static void note_earlier_stop(cr_pd *pd, cr_carried *at)
{
    at->counted = 0;
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        at->before[i] -= pd->stop_calls[i]; /* unsigned: the difference at the end is right */
        cr_sup.cleaner.now.calls += pd->stop_calls[i];
        pd->stop_calls[i] = 0;
    }
}

/* Notes the resources of a step that destroys several. */
static void note_resources(const cr_step *step, cr_ref out[CR_STEP_AT_ONCE])
{
    const cr_ref space = cr_model_space(cr_sys.model, step->node);
    uint32_t count = 0;
    cr_edge_walk members = cr_model_walk(cr_sys.model, space, CR_EDGE_SUBSET, CR_IN);
    while (count < step->count && cr_model_next(&members)) {
        out[count++] = members.other;
    }
    if (count != step->count || !cr_same(out[0], step->node)) {
        cr_panic("resources to destroy are not there", step->node.index);
    }
}

/* What only some steps need is not cleared for the others. */
static void note_beginning(const cr_step *step)
{
    cr_carried *at = &cr_sup.cleaner.at;
    cr_pd *pd = cr_pd_of(step->pd);
    at->node = cr_id_or_none(step->node);
    at->pd = cr_id_or_none(step->pd);
    at->refused = 0;
    at->queueing = (cr_queueing){0};
    if (step->kind == CR_STEP_DESTROY_RESOURCE && step->count > 1) {
        note_resources(step, at->resources);
    }
    if (at->counted != cr_calls_changed) {
        for (int i = 0; i < CR_CALL_COUNT; i++) {
            at->before[i] = cr_calls[i];
        }
        at->counted = cr_calls_changed;
    }
    if (step->kind == CR_STEP_SUSPEND && pd != 0 && pd->life == CR_LIFE_STOPPED) {
        note_earlier_stop(pd, at);
    }
}

void cr_execution_trace_kinds(const uint64_t calls[CR_CALL_COUNT])
{
    enum { ENTRY_MAX = 48 }; /* a name, a colon, a number and a comma */
    char text[CR_CALL_COUNT * ENTRY_MAX];
    size_t used = 0;
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        if (calls[i] == 0) {
            continue;
        }
        if (used != 0) {
            text[used++] = ',';
        }
        const cr_name *const name = cr_call_name((cr_call)i);
        __builtin_memcpy(&text[used], name->text, sizeof(name->text));
        used += name->length;
        text[used++] = ':';
        used += cr_format_decimal(&text[used], calls[i]);
    }
    if (used == 0) {
        text[used++] = '-';
    }
    cr_trace_bytes(&cr_sys.trace, text, used);
}

void cr_execution_trace_calls(void)
{
    const cr_carried *at = &cr_sup.cleaner.at;
    if (at->counted == cr_calls_changed) { /* as in most steps */
        cr_trace_name(&cr_sys.trace, "-");
        return;
    }
    uint64_t calls[CR_CALL_COUNT];
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        calls[i] = cr_calls[i] - at->before[i];
    }
    cr_execution_trace_kinds(calls);
}

static void trace_step(cr_step_kind kind, uint32_t count)
{
    const cr_carried *at = &cr_sup.cleaner.at;
    cr_execution_begin_line(CR_EV_STEP);
    cr_trace_name(&cr_sys.trace, cr_step_name(kind));
    cr_trace_id(at->node);
    cr_trace_id(at->pd);
    cr_execution_trace_calls();
    cr_trace_number(&cr_sys.trace, count);
    cr_trace_end(&cr_sys.trace);
}

/* Whether subscribers saved PDs and all have answered. It follows from what is stored: a cleaner
 * that is begun afresh finds it too. */
static int is_to_spare(const cr_cleanup *now)
{
    return now->saved && now->journal.awaited == now->plan.n_pre_destroy;
}

static cr_status finish_step(cr_step_kind kind, uint32_t epoch)
{
    cr_cleanup *now = &cr_sup.cleaner.now;
    cr_journal *journal = &now->journal;
    trace_step(kind, journal->count);
    cr_status status = cr_step_done(journal, epoch, &now->plan);
    if (status == CR_OK && kind == CR_STEP_AWAIT && !cr_is_destroying(now) &&
        journal->awaited == now->plan.n_pre_destroy && !is_to_spare(now)) {
        plan_again();
    }
    return status;
}

/* -- steps that a cleaner does not come to the end of */

/* How many of the resources of a step are destroyed, from the first one on. */
static uint32_t count_gone(const cr_step *step)
{
    uint32_t gone = 0;
    if (step->count == 1) {
        return is_gone(step->node) ? 1 : 0;
    }
    while (gone < step->count && is_gone(cr_sup.cleaner.at.resources[gone])) {
        gone++;
    }
    return gone;
}

/* Whether the step is in effect. *count: how much of it, if it has several notices or resources. */
static int is_in_effect(const cr_step *step, uint32_t half, uint32_t *count)
{
    const cr_pd *pd = cr_pd_of(step->pd);
    cr_node_info info;
    switch (step->kind) {
    case CR_STEP_SUSPEND:
        return pd != 0 && pd->life == CR_LIFE_STOPPED && !pd->stopping && !pd->loud;
    case CR_STEP_MARK:
        return cr_model_get(cr_sys.model, step->node, &info) == CR_OK &&
               info.state != CR_STATE_ACTIVE;
    case CR_STEP_CUT_REQUEST:
        return cr_model_find(cr_sys.model, CR_EDGE_REQUEST, step->pd, step->node) == CR_NONE;
    case CR_STEP_DESTROY_RESOURCE:
        *count = count_gone(step);
        return *count > 0;
    case CR_STEP_DESTROY_SPACE:
    case CR_STEP_DESTROY_PD:
        return is_destroyed(step->node);
    case CR_STEP_NOTIFY:
        *count = half != UNQUEUED ? step->count : cr_sup.cleaner.at.queueing.queued;
        return *count > 0;
    case CR_STEP_TELL:
        return half != UNQUEUED;
    case CR_STEP_AWAIT:
        return 1;
    case CR_STEP_SETTLE:
    case CR_STEP_KIND_COUNT:
        break;
    }
    return 0;
}

/* What the main thread does of such a step itself: it signals for notices that are queued, and a
 * node is marked at the latest when its cleanup may wait or end, so that it gets no new edges. A
 * step of several notices or resources ends with those that are in effect. */
int cr_execution_is_complete(const cr_step *step)
{
    cr_journal *journal = &cr_sup.cleaner.now.journal;
    cr_queueing *at = &cr_sup.cleaner.at.queueing;
    cr_pd *pd = cr_pd_of(step->pd);
    int signals = journal->half == TO_SIGNAL;
    uint32_t count = step->count;
    if (step->kind == CR_STEP_MARK && journal->second != 0 && mark(step->node) != CR_OK) {
        return 0;
    }
    if (!is_in_effect(step, journal->half, &count) ||
        cr_step_shorten(journal, cr_sup.cleaner.epoch, count) != CR_OK) {
        return 0;
    }
    if (step->kind == CR_STEP_NOTIFY && journal->half == UNQUEUED) {
        if (cr_notices_queue(pd, step->notice, count, cr_sup.cleaner.now.tag, 0, at) != CR_OK) {
            return 0;
        }
        signals = at->signals;
    }
    if (signals) {
        cr_notice_signal(pd);
    }
    return 1;
}

cr_status cr_execution_finish(const cr_step *step)
{
    return finish_step(step->kind, cr_sup.cleaner.epoch);
}

/* -- injected failures */

/* Not every kernel call has a result. An injected error fails the step in any case. */
static cr_status carry_out_with_failures(const cr_step *step, uint32_t epoch, int again)
{
    cr_carried *at = &cr_sup.cleaner.at;
    at->refused = 0;
    if (happens(cr_injected_at(again ? CR_INJECT_AT_AGAIN : CR_INJECT_AT_STEP, step))) {
        return CR_ERR_KERNEL;
    }
    cr_before_calls(hook_between());
    cr_status status = carry_out(step, epoch);
    cr_before_calls(0);
    if (status == CR_OK && !at->refused) {
        (void)happens(cr_injected_at(CR_INJECT_AT_END, step));
    }
    return status == CR_OK && at->refused ? CR_ERR_KERNEL : status;
}

/* -- the chain */

/* Carries out the step that has begun. */
static cr_status take_step(const cr_step *step, uint32_t epoch)
{
    const int again = cr_sup.cleaner.now.journal.attempts > 1;
    if (!again) {
        note_beginning(step);
    }
    const cr_status status = carry_out_with_failures(step, epoch, again);
    return status == CR_OK ? finish_step(step->kind, epoch) : status;
}

void cr_execute_steps(void)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    const uint32_t epoch = cleaner->epoch;
    cr_step step;
    cr_status status;
    if (is_to_spare(&cleaner->now)) {
        cleaner->ended = CR_EXECUTION_SPARES;
        return;
    }
    /* The loop is bounded: each turn finishes a step of the plan. */
    while ((status = cr_step_take(&cleaner->now.journal, epoch, &cleaner->now.plan, cr_sys.model,
                                  &step)) == CR_OK &&
           step.kind != CR_STEP_SETTLE) {
        if (step.kind == CR_STEP_AWAIT) {
            if (cr_execution_awaits(&cleaner->now)) {
                cleaner->ended = CR_EXECUTION_AWAITS;
                return;
            }
            status = cr_step_begin(&cleaner->now.journal, epoch, &step);
        }
        if (status != CR_OK || (status = take_step(&step, epoch)) != CR_OK) {
            break;
        }
        if (is_to_spare(&cleaner->now)) {
            cleaner->ended = CR_EXECUTION_SPARES;
            return;
        }
        if (cr_sup.between.wanted) {
            cleaner->ended = CR_EXECUTION_PAUSES;
            return;
        }
    }
    cleaner->error = status;
    cleaner->ended = status == CR_OK ? CR_EXECUTION_OVER : CR_EXECUTION_FAILED;
}
