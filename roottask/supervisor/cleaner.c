/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Carries out cleanups. See cleaner.h.
 *
 * The cleaner calls no PD and never blocks. If subscribers must be told before the destruction, the
 * cleaner stops at the step that awaits them and returns to the main loop. It continues from its
 * journal when each of them has acknowledged, can no longer acknowledge, or has used up its time.
 *
 * In the meantime the main loop serves operations. All doomed nodes are already marked, so no
 * operation can change which nodes are doomed. What the other PDs lose can change, so the cleaner
 * plans it again before it destroys anything. PDs that become triggers in this time are stopped.
 * Their cleanups begin at once if they have nothing to do with those under way (apart.c). Otherwise
 * they wait in a queue. The result is the same as that of the cleanups one after the other. */
#include "cleaner.h"
#include "answer.h"
#include "arena.h"
#include "connect.h"
#include "kernel/arch/arch.h"
#include "kernel/untyped.h"
#include "notices.h"
#include "system/state.h"
#include "system/text.h"
#include "system/truth.h"

static const char *const cause_names[] = {
#define CR_CAUSE(enumerator, number, word, event) [enumerator] = word,
    CR_CAUSES
#undef CR_CAUSE
};

_Static_assert(sizeof(cause_names) / sizeof(cause_names[0]) == CR_CAUSE_COUNT, "one name a cause");

static void enter(cr_phase to)
{
    if (!cr_phase_may(cr_sup.cleaner.now.phase, to)) {
        cr_panic("a cleanup takes a turn that is not in the table",
                 ((uint64_t)cr_sup.cleaner.now.phase << 8) | (uint64_t)to);
    }
    cr_sup.cleaner.now.phase = to;
}

static void begin(cr_event event)
{
    cr_trace_begin(&cr_sys.trace, event);
    if (event != CR_EV_TRACE) {
        cr_trace_number(&cr_sys.trace, cr_sup.cleaner.now.tag);
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

/* The consequences for the other PDs. */
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
    begin(CR_EV_CLEANUP);
    cr_trace_node(plan->trigger);
    cr_trace_string(&cr_sys.trace, cause_names[cause]);
    cr_trace_depth(&cr_sys.trace, plan->pd_depth);
    cr_trace_depth(&cr_sys.trace, plan->rs_depth);
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

/* Stops the PD. From here on its operations are not served, and no PD waits for it. Its notices end
 * now: it will not answer them. */
static void stop(cr_pd *pd)
{
    cr_stop_pd(pd);
    cr_notices_forget(pd);
    cr_notices_changed(); /* The PD may have been awaited. */
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
    cr_status status = cr_notice_put(&notice, cr_sup.cleaner.now.tag, cr_sup.cleaner.now.tag);
    if (status == CR_OK) {
        subscriber->told++;
        subscriber->told_by = cr_sup.cleaner.now.tag;
    }
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
        if (pd->life != CR_LIFE_STOPPED) {
            stop(pd);
        }
        begin(CR_EV_SUSPEND);
        cr_trace_pd(pd);
        end();
        return CR_OK;
    case CR_STEP_MARK:
        return cr_model_doom(cr_sys.model, step->node);
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
    case CR_STEP_NOTIFY:
        return cr_notice_put(step->notice, cr_sup.cleaner.now.tag, cr_sup.cleaner.now.tag);
    case CR_STEP_TELL:
        return do_tell(step->node, pd);
    case CR_STEP_AWAIT:
        return CR_OK; /* The wait is over when this step is reached. */
    case CR_STEP_SETTLE:
    case CR_STEP_KIND_COUNT:
        break;
    }
    return CR_ERR_CORRUPT;
}

/* Releases the tombstones. From here on nothing may refer to the destroyed nodes. */
static void release_tombstones(const cr_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        if (cr_model_release(cr_sys.model, plan->doomed[i].node) != CR_OK) {
            cr_panic("a destroyed node cannot be released", plan->doomed[i].node.index);
        }
    }
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

/* Whether a subscriber that the cleanup told has not acknowledged yet and still can. */
static int is_awaited(const cr_cleanup *cleanup)
{
    int any = 0;
    for (uint32_t i = 1; i < CR_MAX_PDS && !any; i++) {
        any = cr_sys.pds[i].told_by == cleanup->tag && cr_cleaner_awaits(&cr_sys.pds[i]);
    }
    return any;
}

static void trace_wait(cr_event event)
{
    begin(event);
    end();
}

/* A doomed PD that still runs receives no new capabilities. Its CONNECT is therefore answered now:
 * it may have to acknowledge. */
static void await_answers(void)
{
    enter(CR_PHASE_AWAITS);
    cr_sup.cleaner.now.waited = 1;
    cr_clock_watch();
    trace_wait(CR_EV_WAIT);
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_is_served(pd) && pd->wait == CR_WAIT_CONNECT && cr_is_doomed(pd)) {
            cr_connect_give_up(pd);
        }
    }
}

static void forget_told(void)
{
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        if (cr_sys.pds[i].told_by == cr_sup.cleaner.now.tag) {
            cr_sys.pds[i].told = 0;
        }
    }
}

/* Plans the consequences again after all subscribers were told. Time has passed, and the model
 * around the doomed nodes may have changed. */
static void plan_again(void)
{
    cr_status status = cr_plan_again(cr_sys.planner, cr_sys.model, &cr_sup.cleaner.now.plan);
    if (status != CR_OK) {
        cr_panic("no cleanup can be planned", (uint64_t)status);
    }
    if (cr_sup.cleaner.now.waited) {
        trace_consequences(&cr_sup.cleaner.now.plan);
    }
    forget_told();
}

/* The calls that stopped a PD count for the cleanup that destroys it, even if the PD was stopped
 * before that step. `out`: their number by kind. */
static void count_earlier_stop(const cr_step *step, uint64_t out[CR_CALL_COUNT])
{
    const cr_pd *pd = step->kind == CR_STEP_SUSPEND ? cr_pd_of(step->pd) : 0;
    const int stopped = pd != 0 && pd->life == CR_LIFE_STOPPED;
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        out[i] = stopped ? pd->stop_calls[i] : 0;
        cr_sup.cleaner.now.calls[i] += out[i];
    }
}

/* Adds the number of calls and the calls by kind to the line of a step. */
static void trace_calls(const uint64_t calls[CR_CALL_COUNT])
{
    enum { ENTRY_MAX = 48 }; /* a name, a colon, a number and a comma */
    char text[CR_CALL_COUNT * ENTRY_MAX];
    size_t used = 0;
    uint64_t total = 0;
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        if (calls[i] == 0) {
            continue;
        }
        total += calls[i];
        if (used != 0) {
            text[used++] = ',';
        }
        for (const char *name = cr_call_name((cr_call)i); *name != '\0'; name++) {
            text[used++] = *name;
        }
        text[used++] = ':';
        used += cr_format_decimal(&text[used], calls[i]);
    }
    if (used == 0) {
        text[used++] = '-';
    }
    cr_trace_number(&cr_sys.trace, total);
    cr_trace_bytes(&cr_sys.trace, text, used);
}

static cr_status take_step(const cr_step *step)
{
    char node[CR_ID_BYTES] = "-";
    char pd[CR_ID_BYTES] = "-";
    uint64_t calls[CR_CALL_COUNT];
    count_earlier_stop(step, calls);
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        calls[i] -= cr_calls[i]; /* unsigned: the sum below is right */
    }
    /* Read the ids before the step: the step may destroy the nodes. */
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
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        calls[i] += cr_calls[i];
    }
    begin(CR_EV_STEP);
    cr_trace_string(&cr_sys.trace, cr_step_name(step->kind));
    cr_trace_string(&cr_sys.trace, node);
    cr_trace_string(&cr_sys.trace, pd);
    trace_calls(calls);
    end();
    status = cr_step_done(&cr_sup.cleaner.now.journal, step);
    if (status == CR_OK && step->kind == CR_STEP_AWAIT &&
        cr_sup.cleaner.now.journal.awaited == cr_sup.cleaner.now.plan.n_pre_destroy) {
        plan_again();
    }
    return status;
}

static void settle(void)
{
    enter(CR_PHASE_SETTLES);
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        if (cr_sup.cleaner.now.calls[i] != 0) {
            begin(CR_EV_CALLS);
            cr_trace_string(&cr_sys.trace, cr_call_name((cr_call)i));
            cr_trace_number(&cr_sys.trace, cr_sup.cleaner.now.calls[i]);
            end();
        }
    }
    release_tombstones(&cr_sup.cleaner.now.plan);
    cr_print_state(cr_sup.cleaner.now.tag, cr_sup.cleaner.now.cycles);
    cr_truth();
    cr_notices_of_lost_pds();
    enter(CR_PHASE_NONE);
    cr_sys.settled++;
    cr_cleaner_depart(&cr_sup.cleaner.now);
    cr_sup.cleaner.looked = 0;
    cr_ticket_settle(cr_sup.cleaner.now.ticket);
    cr_notices_changed();
}

/* Continues the plan from the journal, up to its end or to a step that awaits acknowledgements. */
static void carry_on(void)
{
    int awaits = 0;
    uint64_t before[CR_CALL_COUNT];
    uint64_t start = cr_arch_cycles();
    cr_step step;
    cr_status status;
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        before[i] = cr_calls[i];
    }
    enter(CR_PHASE_STEPS);
    while ((status = cr_step_next(&cr_sup.cleaner.now.journal, &cr_sup.cleaner.now.plan,
                                  cr_sys.model, &step)) == CR_OK &&
           step.kind != CR_STEP_SETTLE) {
        if (step.kind == CR_STEP_AWAIT && is_awaited(&cr_sup.cleaner.now)) {
            awaits = 1;
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
        cr_sup.cleaner.now.calls[i] += cr_calls[i] - before[i];
    }
    cr_sup.cleaner.now.cycles += cr_arch_cycles() - start;
    if (awaits) {
        await_answers();
        cr_cleaner_park();
    } else {
        settle();
    }
}

static cr_status plan_for(const cr_pd *trigger)
{
    return cr_plan_crash(cr_sys.planner, cr_sys.model, trigger->node,
                         cr_depth_of(trigger->pd_depth, cr_sys.image->pd_depth),
                         cr_depth_of(trigger->rs_depth, cr_sys.image->rs_depth),
                         &cr_sup.cleaner.now.plan);
}

/* Begins the cleanup that was just planned. */
static void start(const cr_trigger_entry *entry, uint64_t cycles)
{
    cr_cleanup *now = &cr_sup.cleaner.now;
    cr_trace_refused_rest();
    cr_print_if_changed();
    cr_sys.cleanups++;
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        now->calls[i] = 0;
    }
    enter(CR_PHASE_PLANS);
    now->waited = 0;
    now->tag = cr_sys.cleanups;
    now->ticket = entry->ticket;
    cr_cleaner_arrive(now);
    cr_ticket_begin(now->ticket, now->tag);
    trace_plan(&now->plan, entry->cause);
    cr_journal_start(&now->journal);
    now->cycles = cycles;
    carry_on();
}

/* Begins the first cleanup in the queue that may begin now. Returns 0 if there is none. A cleanup
 * waits in the queue as long as it touches one that is under way, or an earlier one in the
 * queue. */
static int start_next(void)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    if (cleaner->looked) {
        return 0; /* Since the last look no trigger came and no cleanup ended. */
    }
    cr_cleaner_forget_queued();
    for (uint32_t i = 0; i < cleaner->count;) {
        const cr_trigger_entry entry = cleaner->queue[i];
        cr_pd *pd = cr_pd_of(entry.pd);
        if (pd != 0 && cr_is_doomed(pd)) {
            i++; /* A cleanup that began later than this trigger destroys the PD. */
            continue;
        }
        uint64_t cycles = cr_arch_cycles();
        cr_status status = pd != 0 ? plan_for(pd) : CR_OK;
        if (status != CR_OK) {
            cr_panic("no cleanup can be planned", (uint64_t)status);
        }
        if (pd != 0 && !cr_cleaner_may_begin(&cleaner->now.plan)) {
            i++;
            continue;
        }
        cleaner->count--;
        for (uint32_t k = i; k < cleaner->count; k++) {
            cleaner->queue[k] = cleaner->queue[k + 1];
        }
        if (pd != 0) {
            start(&entry, cr_arch_cycles() - cycles);
            return 1;
        }
        /* An earlier cleanup destroyed the PD. */
        cr_ticket_settle(entry.ticket);
    }
    cleaner->looked = 1;
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

void cr_trigger(cr_pd *pd, cr_cause cause, uint64_t ticket)
{
    cr_truth();
    stop(pd);
    if (cr_is_doomed(pd)) {
        return; /* The cleanup under way destroys the PD. */
    }
    if (cr_sup.cleaner.count == CR_MAX_PDS) {
        cr_panic("a PD was brought down twice", pd->number);
    }
    cr_sup.cleaner.queue[cr_sup.cleaner.count++] =
        (cr_trigger_entry){.pd = pd->node, .cause = cause, .ticket = ticket};
    cr_sup.cleaner.looked = 0;
}

int cr_cleaner_waits(void)
{
    return cr_sup.cleaner.n_waiting > 0;
}

void cr_cleaner_give_up(cr_pd *pd)
{
    if (cr_cleaner_awaits(pd)) {
        pd->given_up = pd->told_by;
        cr_notices_changed();
    }
}

/* Continues the oldest waiting cleanup whose subscribers have answered. Returns 0 if there is
 * none. */
static int continue_next(void)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    for (uint32_t i = 0; cleaner->seen != cr_sup.changes && i < cleaner->n_waiting; i++) {
        if (!is_awaited(&cleaner->waiting[i])) {
            cr_cleaner_unpark(i);
            cr_trace_refused_rest();
            trace_wait(CR_EV_CONTINUE);
            carry_on();
            return 1;
        }
    }
    cleaner->seen = cr_sup.changes;
    return 0;
}

void cr_cleaner_follow_up(void)
{
    /* The loop is bounded: each turn continues a cleanup until it waits again or ends, and each
     * cleanup destroys a PD or finds nothing to do. */
    for (uint32_t i = 0; i < 4 * CR_MAX_PDS + 2; i++) {
        if (!continue_next() && !start_next()) {
            break;
        }
    }
}
