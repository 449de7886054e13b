/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Carries out cleanups. See cleaner.h.
 *
 * No PD is called and nothing blocks. If subscribers must be told before the destruction, the steps
 * stop at the one that awaits them, and the main loop goes on. The cleanup continues from its
 * journal when each of them has acknowledged, can no longer acknowledge, or has used up its time.
 *
 * In the meantime the main loop serves operations. All doomed nodes are already marked, so no
 * operation can change which nodes are doomed. What the other PDs lose can change, so the cleaner
 * plans it again before it destroys anything. PDs that become triggers in this time are stopped.
 * Their cleanups begin at once if they have nothing to do with those under way (independent.c).
 * Otherwise they wait in a queue. The result is the same as that of the cleanups one after the
 * other. */
#include "cleaner.h"
#include "answer.h"
#include "arena.h"
#include "execution.h"
#include "closeness.h"
#include "connect.h"
#include "kept.h"
#include "kernel/arch/arch.h"
#include "notices.h"
#include "residue.h"
#include "system/memory.h"
#include "system/state.h"
#include "system/text.h"
#include "system/truth.h"
#include "cleaner_watch.h"

static const char *const cause_names[] = {
#define CR_CAUSE(enumerator, number, word, meaning) [enumerator] = word,
    CR_CAUSES
#undef CR_CAUSE
};

_Static_assert(sizeof(cause_names) / sizeof(cause_names[0]) == CR_CAUSE_COUNT, "one name a cause");

static const char *const when_names[] = {
#define CR_WHEN(enumerator, number, word, meaning) [enumerator] = word,
    CR_WHENS
#undef CR_WHEN
};

void cr_trace_trigger(const cr_triggered *row)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_TRIGGER);
    cr_trace_pd_or_none(row->pd);
    cr_trace_name(&cr_sys.trace, cause_names[row->cause]);
    cr_trace_name(&cr_sys.trace, when_names[row->when]);
    cr_trace_pd_or_none(row->by);
    cr_trace_number(&cr_sys.trace, row->token);
    cr_trace_number(&cr_sys.trace, row->ms);
    cr_trace_end(&cr_sys.trace);
}

static void enter(cr_phase to)
{
    if (!cr_phase_may(cr_sup.cleaner.now.phase, to)) {
        cr_panic("a cleanup takes a turn that is not in the table",
                 ((uint64_t)cr_sup.cleaner.now.phase << 8) | (uint64_t)to);
    }
    cr_sup.cleaner.now.phase = to;
}

static void trace_cleanup(const cr_plan *plan, cr_cause cause)
{
    cr_execution_begin_line(CR_EV_CLEANUP);
    cr_trace_node(plan->trigger);
    cr_trace_name(&cr_sys.trace, cause_names[cause]);
    cr_trace_depth(&cr_sys.trace, plan->pd_depth);
    cr_trace_depth(&cr_sys.trace, plan->rs_depth);
    cr_trace_number(&cr_sys.trace, cr_sup.cleaner.now.steps);
    cr_trace_state_digest();
    cr_trace_end(&cr_sys.trace);
    cr_trace_plan(plan);
}

static void trace_wait(cr_event event)
{
    cr_execution_begin_line(event);
    cr_trace_end(&cr_sys.trace);
}

/* What waits may begin now. */
static void look_again(void)
{
    cr_sup.cleaner.looked = 0;
}

/* A doomed PD that still runs receives no new capabilities. Its CONNECT is therefore answered now:
 * it may have to acknowledge. */
static void await_answers(void)
{
    enter(CR_PHASE_AWAITS);
    cr_sup.cleaner.now.waited = 1;
    cr_clock_watch();
    if (cr_is_destroying(&cr_sup.cleaner.now)) {
        (void)cr_count_gone();
    }
    trace_wait(CR_EV_WAIT);
    cr_notices_of_lost_pds();
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_is_served(pd) && pd->wait == CR_WAIT_CONNECT && cr_is_doomed(pd)) {
            cr_connect_answer(pd);
        }
    }
}

/* Releases the nodes that a cleanup destroyed and that no PD refers to. From here on nothing else
 * may. What is left for good is not destroyed. */
static void bury(const cr_cleanup *cleanup)
{
    const cr_plan *plan = &cleanup->plan;
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        cr_node_info info;
        if (cr_model_get(cr_sys.model, plan->doomed[i].node, &info) != CR_OK ||
            (info.state == CR_STATE_DESTROYED &&
             cr_tombstone_settle(plan->doomed[i].node) != CR_OK)) {
            cr_panic("a destroyed node cannot be released", plan->doomed[i].node.index);
        }
    }
}

static int frees(const cr_cleanup *cleanup, cr_ref resource)
{
    for (uint32_t i = 0; i < cleanup->plan.n_core_freed; i++) {
        if (cr_same(cleanup->plan.core_freed[i], resource)) {
            return 1;
        }
    }
    return 0;
}

/* Whether a cleanup is to free the resource, or has left it. */
static int is_to_be_freed(cr_ref resource)
{
    const cr_cleaner *cleaner = &cr_sup.cleaner;
    int found = frees(&cleaner->now, resource);
    for (uint32_t i = 0; i < cleaner->n_kept; i++) {
        found |= frees(&cleaner->kept[i], resource);
    }
    return found;
}

/* Frees the memory objects that survivors let go when it was too late for a plan, and that nobody
 * refers to now. */
static void free_let_go(void)
{
    cr_edge_walk objects = cr_model_walk(cr_sys.model, cr_sys.mo_space, CR_EDGE_SUBSET, CR_IN);
    while (cr_sys.let_go && cr_model_next(&objects)) {
        if (cr_memory_is_unused(objects.other) && !is_to_be_freed(objects.other)) {
            cr_must(cr_take_resource(objects.other), "memory cannot be given back");
        }
    }
    cr_sys.let_go &= cr_sup.cleaner.n_kept > 0;
}

static void settle(void)
{
    enter(CR_PHASE_SETTLES);
    cr_report_end();
    const int leaves = cr_residue_leaves();
    free_let_go();
    cr_print_settled(cr_sup.cleaner.now.tag, cr_sup.cleaner.now.calls, cr_sup.cleaner.now.cycles);
    cr_truth(CR_TRUTH_BETWEEN);
    cr_notices_of_lost_pds();
    if (!leaves) {
        bury(&cr_sup.cleaner.now);
    }
    enter(CR_PHASE_NONE);
    /* A collection leaves nothing to collect: what it takes was reached by nobody who stays. */
    if (cr_sup.cleaner.now.plan.kind != CR_PLAN_COLLECT &&
        (cr_sys.image->flags & CR_IMAGE_COLLECT) != 0) {
        cr_cleaner_collect();
    }
    cr_sys.settled++;
    if (cr_sup.cleaner.now.runs == 0) {
        cr_residue_try_all();
    }
    if (leaves) {
        cr_residue_keep();
    } else {
        cr_kept_release();
    }
    look_again();
    cr_tickets_settle(cr_sup.cleaner.now.tag);
    cr_notices_changed();
}

static void spare_saved(void);

/* Continues the plan from the journal, up to its end or to a step that awaits acknowledgements. */
static void carry_on(void)
{
    const uint64_t before = cr_calls_sum();
    const uint64_t start = cr_arch_cycles();
    enter(CR_PHASE_STEPS);
    cr_execution_end ended = cr_watch_cleaner();
    /* Bounded: nobody can save a PD any more, so there is at most one turn. */
    while (ended == CR_EXECUTION_SPARES) {
        spare_saved();
        ended = cr_watch_cleaner();
    }
    cr_sup.cleaner.now.calls += cr_calls_sum() - before;
    cr_sup.cleaner.now.cycles += cr_arch_cycles() - start;
    if (ended == CR_EXECUTION_AWAITS) {
        await_answers();
        cr_kept_put(0);
    } else {
        settle();
    }
}

/* What the steps of the cleanup that begins or goes on cost. */
static void count_from(uint64_t cycles)
{
    cr_sup.cleaner.now.calls = 0;
    cr_sup.cleaner.now.cycles = cycles;
    cr_sup.cleaner.at.node = cr_sup.cleaner.at.pd = &cr_id_none;
}

/* Carries out what an earlier cleanup left, if it is time to. Returns 0 if there is none. */
static int recover_next(void)
{
    if (!cr_residue_take_due()) {
        return 0;
    }
    cr_trace_refused_rest();
    cr_account();
    enter(CR_PHASE_PLANS);
    count_from(0);
    cr_execution_begin_line(CR_EV_RECOVER);
    cr_trace_number(&cr_sys.trace, cr_sup.cleaner.now.runs);
    cr_trace_state_digest();
    cr_trace_end(&cr_sys.trace);
    carry_on();
    return 1;
}

cr_status cr_cleaner_plan(const cr_pd *trigger, cr_cause cause, cr_plan *out)
{
    const uint32_t pd_depth = cr_depth_of(trigger->pd_depth, cr_sys.image->pd_depth);
    const uint32_t rs_depth = cr_depth_of(trigger->rs_depth, cr_sys.image->rs_depth);
    if (cause == CR_CAUSE_SUBTREE) {
        return cr_plan_subtree(cr_sys.planner, cr_sys.model, trigger->node, pd_depth, rs_depth,
                               out);
    }
    return cr_plan_close(cr_sys.planner, cr_sys.model, trigger->node, pd_depth, rs_depth,
                         cr_closeness_now(), out);
}

int cr_cleaner_destroys_protected(const cr_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        const cr_pd *pd = cr_pd_of(plan->doomed[i].node);
        if (pd != 0 && cr_pd_is_protected(pd)) {
            return 1;
        }
    }
    return 0;
}

static void plan_for(const cr_pd *trigger, cr_cause cause)
{
    cr_must(cr_cleaner_plan(trigger, cause, &cr_sup.cleaner.now.plan), "no cleanup can be planned");
}

/* How a trigger with this cause ends; without a trigger, how each doomed PD does. */
static const cr_ending endings[CR_CAUSE_COUNT] = {
    [CR_CAUSE_FAULT] = CR_ENDING_FAULT,         [CR_CAUSE_EXIT] = CR_ENDING_EXIT,
    [CR_CAUSE_TERMINATE] = CR_ENDING_TERMINATE, [CR_CAUSE_LATE] = CR_ENDING_LATE,
    [CR_CAUSE_COLLECT] = CR_ENDING_COLLECT,     [CR_CAUSE_STOP] = CR_ENDING_STOP,
    [CR_CAUSE_SUBTREE] = CR_ENDING_TERMINATE,   [CR_CAUSE_RECONCILE] = CR_ENDING_RECONCILE,
    [CR_CAUSE_HUNG] = CR_ENDING_HUNG,
};

static void stop(cr_pd *pd, cr_cause cause)
{
    cr_end_note(pd, endings[cause]);
    cr_truth(CR_TRUTH_BETWEEN);
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        pd->stop_calls[i] = 0 - cr_calls[i];
    }
    cr_must(cr_execution_stop(pd), "a PD cannot be stopped");
    for (int i = 0; i < CR_CALL_COUNT; i++) {
        pd->stop_calls[i] += cr_calls[i];
    }
}

/* Begins the cleanup that was just planned. */
static void start(const cr_trigger_entry *entry, uint64_t cycles)
{
    cr_cleanup *now = &cr_sup.cleaner.now;
    cr_trace_refused_rest();
    cr_account();
    cr_sys.cleanups++;
    enter(CR_PHASE_PLANS);
    now->waited = 0;
    now->saved = 0;
    now->runs = 0;
    now->tag = cr_sys.cleanups;
    cr_cleaner_arrive(now);
    cr_tickets_leave_queue(entry->pd, CR_TICKET_RUNNING, now->tag);
    now->steps = cr_reports_count_steps(&now->plan);
    trace_cleanup(&now->plan, entry->cause);
    cr_journal_start(&now->journal, cr_sup.cleaner.epoch);
    count_from(cycles);
    cr_report_start();
    carry_on();
}

/* The entries behind it move up. */
static void take_out(uint32_t index)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    cleaner->count--;
    for (uint32_t i = index; i < cleaner->count; i++) {
        cleaner->queue[i] = cleaner->queue[i + 1];
    }
}

/* A PD that goes on until its cleanup begins is not terminated after all: since it was asked for,
 * the cleanup has come to concern a PD that is protected. */
static void prevent(const cr_pd *pd)
{
    cr_trace_trigger(&(cr_triggered){.cause = CR_CAUSE_TERMINATE, .when = CR_WHEN_NEVER, .pd = pd});
    cr_tickets_leave_queue(pd->node, CR_TICKET_PREVENTED, 0);
}

cr_cleanup *cr_cleaner_dooming(cr_ref pd)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    for (uint32_t i = 0; i < cleaner->n_kept; i++) {
        cr_cleanup *kept = &cleaner->kept[i];
        for (uint32_t k = 0; !kept->left && k < kept->plan.n_doomed; k++) {
            if (cr_same(kept->plan.doomed[k].node, pd)) {
                return kept;
            }
        }
    }
    return 0;
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
        if (pd != 0 && cr_cleaner_dooming(entry.pd) != 0) {
            i++; /* A cleanup that began later than this trigger destroys the PD. */
            continue;
        }
        if (pd == 0 || cr_is_doomed(pd)) {
            take_out(i); /* An earlier cleanup destroyed the PD, or left it. */
            cr_tickets_leave_queue(entry.pd, CR_TICKET_SETTLED, 0);
            continue;
        }
        const uint64_t begin = cr_arch_cycles();
        plan_for(pd, entry.cause);
        if (!cr_cleaner_may_begin(&cleaner->now.plan)) {
            i++;
            continue;
        }
        take_out(i);
        if (entry.later && cr_cleaner_destroys_protected(&cleaner->now.plan)) {
            prevent(pd);
            continue;
        }
        if (entry.later) {
            stop(pd, entry.cause);
        }
        start(&entry, cr_arch_cycles() - begin);
        return 1;
    }
    cleaner->looked = 1;
    return 0;
}

void cr_cleaner_collect(void)
{
    cr_sup.cleaner.collect = 1;
}

/* The PDs that the root task made, as the configuration says, and, with `doomed`, those that an
 * earlier cleanup left: what they refer to is in use. Returns how many there are. */
static uint32_t find_roots(cr_ref *roots, int doomed)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        const cr_pd *pd = &cr_sys.pds[i];
        if (cr_pd_exists(pd) && (pd->config != CR_IMAGE_NONE || (doomed && cr_is_doomed(pd)))) {
            roots[count++] = pd->node;
        }
    }
    return count;
}

/* Whether nothing else is under way or waits. What concerns everything begins only then. */
static int is_alone(void)
{
    return !cr_cleaner_waits() && cr_sup.cleaner.count == 0;
}

/* Begins the cleanup without a trigger that was planned just now, from `begin` on. Returns 0 if it
 * would destroy nothing. */
static int start_alone(cr_cause cause, cr_status planned, uint64_t begin)
{
    const cr_plan *plan = &cr_sup.cleaner.now.plan;
    const uint64_t cycles = cr_arch_cycles() - begin;
    cr_must(planned, "no cleanup can be planned");
    cr_trace_refused_rest();
    cr_account();
    cr_trace_trigger(&(cr_triggered){.cause = cause});
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        const cr_pd *pd = cr_pd_of(plan->doomed[i].node);
        if (pd != 0) {
            cr_end_note(pd, endings[cause]);
        }
    }
    if (plan->n_doomed > 0) {
        start(&(cr_trigger_entry){.pd = {CR_NONE, 0}, .cause = cause}, cycles);
    }
    return plan->n_doomed > 0;
}

/* Collects what cannot be reached, if it is time to. Returns 0 if nothing is collected. */
static int collect_next(void)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    if (!cleaner->collect || !is_alone()) {
        return 0;
    }
    cleaner->collect = 0;
    const uint64_t begin = cr_arch_cycles();
    const cr_status planned =
        cr_plan_collect(cr_sys.planner, cr_sys.model, cleaner->some_nodes,
                        find_roots(cleaner->some_nodes, 1), &cleaner->now.plan);
    const int starts = start_alone(CR_CAUSE_COLLECT, planned, begin);
    if (!starts) {
        cr_tickets_leave_queue((cr_ref){CR_NONE, 0}, CR_TICKET_SETTLED, 0);
    }
    return starts;
}

/* A TELL that was left for good counts as told: the subscriber has the edge, and has its chance.
 * When nodes are being destroyed, it is too late. */
int cr_cleaner_has_told(const cr_cleanup *waiting, const cr_pd *subscriber, cr_ref node)
{
    const cr_pair *pre_destroy = waiting->plan.pre_destroy;
    const uint32_t told = cr_is_destroying(waiting) ? 0 : waiting->journal.index;
    for (uint32_t i = 0; i < told && i < waiting->plan.n_pre_destroy; i++) {
        if (cr_same(pre_destroy[i].pd, subscriber->node) && cr_same(pre_destroy[i].node, node)) {
            return 1;
        }
    }
    return 0;
}

static void enqueue(cr_pd *pd, cr_cause cause, int later);

/* The causes of the triggers that end so. Others are no end of a PD that is spared. */
static const cr_cause causes_of[CR_ENDING_COUNT] = {
    [CR_ENDING_FAULT] = CR_CAUSE_FAULT,         [CR_ENDING_EXIT] = CR_CAUSE_EXIT,
    [CR_ENDING_TERMINATE] = CR_CAUSE_TERMINATE, [CR_ENDING_LATE] = CR_CAUSE_LATE,
    [CR_ENDING_HUNG] = CR_CAUSE_HUNG,
};

/* A PD that was stopped while it was doomed had no cleanup of its own to wait for. Now it has. */
static void spare(cr_ref node)
{
    cr_pd *pd = cr_pd_of(node);
    cr_must(cr_model_spare(cr_sys.model, node), "a doomed node cannot be spared");
    if (pd != 0 && cr_pd_is_up(pd)) {
        cr_end_note(pd, CR_ENDING_DEPENDENCY);
    } else if (pd != 0) {
        const cr_ending how = cr_end_how(pd);
        if (how != CR_ENDING_FAULT && causes_of[how] == CR_CAUSE_FAULT) {
            cr_panic("a PD that is spared came to an end that no trigger has", (uint64_t)how);
        }
        enqueue(pd, causes_of[how], 0);
    }
}

/* Makes the plan of the collection that is being carried out anew, when its subscribers have
 * answered and have saved PDs. What is reached by now goes on. A PD that was stopped in the
 * meantime becomes a trigger. */
static void spare_saved(void)
{
    cr_ref *const roots = cr_sup.cleaner.some_nodes;
    cr_cleaner *cleaner = &cr_sup.cleaner;
    cr_plan *plan = &cleaner->now.plan;
    const uint32_t count = plan->n_doomed;
    /* There is room: they were here while the cleanup waited, and it is no more than that. */
    cr_doomed *before = (cr_doomed *)&cleaner->rows[cleaner->n_rows];
    for (uint32_t i = 0; i < count; i++) {
        before[i] = plan->doomed[i];
    }
    cr_must(cr_plan_spare(cr_sys.planner, cr_sys.model, roots, find_roots(roots, 0), plan),
            "no collection can be planned anew");
    cr_must(cr_journal_told(&cleaner->now.journal, cleaner->epoch),
            "the journal of a collection is damaged");
    cleaner->now.saved = 0;
    cr_execution_forget_told();
    for (uint32_t i = 0; i < count; i++) {
        if (!cr_plan_dooms(cr_sys.planner, plan, before[i].node)) {
            spare(before[i].node);
        }
    }
    cr_trace_plan(plan);
}

static int destroy_all(cr_cause cause, const cr_ref *nodes, uint32_t count)
{
    const uint64_t begin = cr_arch_cycles();
    return start_alone(
        cause,
        cr_plan_reconcile(cr_sys.planner, cr_sys.model, nodes, count, &cr_sup.cleaner.now.plan),
        begin);
}

/* Begins the cleanup that ends the whole system, if it is time to. Returns 0 if it does not. */
static int stop_all_next(void)
{
    cr_ref *const pds = cr_sup.cleaner.some_nodes;
    uint32_t count = 0;
    if (!cr_sup.cleaner.stop_all || !is_alone()) {
        return 0;
    }
    cr_sup.cleaner.stop_all = 0;
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        if (cr_pd_exists(&cr_sys.pds[i]) && !cr_is_doomed(&cr_sys.pds[i])) {
            pds[count++] = cr_sys.pds[i].node;
        }
    }
    return destroy_all(CR_CAUSE_STOP, pds, count);
}

void cr_cleaner_reconcile(const cr_ref *nodes, uint32_t count)
{
    (void)destroy_all(CR_CAUSE_RECONCILE, nodes, count);
}

void cr_cleaner_stop_all(void)
{
    cr_sup.cleaner.stop_all = 1;
    cr_sup.cleaner.stops = 1;
}

void cr_terminate(cr_pd *pd)
{
    cr_trace_trigger(&(cr_triggered){.cause = CR_CAUSE_TERMINATE, .pd = pd, .by = &cr_sys.pds[0]});
    cr_trigger(pd, CR_CAUSE_TERMINATE);
}

/* The place of a PD in the queue. cr_most.pds: it has none. */
static uint32_t find_entry(cr_ref pd)
{
    for (uint32_t i = 0; i < cr_sup.cleaner.count; i++) {
        if (cr_same(cr_sup.cleaner.queue[i].pd, pd)) {
            return i;
        }
    }
    return cr_most.pds;
}

/* The same of a PD that is stopped later. */
static uint32_t find_later(cr_ref pd)
{
    const uint32_t i = find_entry(pd);
    return i < cr_most.pds && cr_sup.cleaner.queue[i].later ? i : cr_most.pds;
}

static void enqueue(cr_pd *pd, cr_cause cause, int later)
{
    if (cr_sup.cleaner.count == cr_most.pds) {
        cr_panic("a PD was brought down twice", pd->number);
    }
    cr_sup.cleaner.queue[cr_sup.cleaner.count++] =
        (cr_trigger_entry){.pd = pd->node, .cause = cause, .later = later};
    look_again();
    cr_residue_try_all();
}

void cr_trigger(cr_pd *pd, cr_cause cause)
{
    stop(pd, cause);
    const uint32_t later = find_later(pd->node);
    if (later < cr_most.pds) {
        cr_sup.cleaner.queue[later].later = 0; /* It can no longer be cancelled. */
    } else if (!cr_is_doomed(pd)) {
        enqueue(pd, cause, 0);
    } /* Else the cleanup under way destroys the PD. */
}

/* The PD and all that it created, transitively. What a cleanup under way dooms is none of them, and
 * neither is what only that created. Each PD has one creator, so none is found twice. Returns how
 * many there are. */
static uint32_t find_tree(cr_pd *top, cr_pd **found)
{
    uint32_t count = 0;
    found[count++] = top;
    for (uint32_t i = 0; i < count; i++) {
        cr_edge_walk owned = cr_model_walk(cr_sys.model, found[i]->node, CR_EDGE_OWN, CR_OUT);
        while (cr_model_next(&owned)) {
            cr_pd *pd = cr_pd_of(owned.other);
            if (pd != 0 && !cr_is_doomed(pd) && count < cr_most.pds) {
                found[count++] = pd;
            }
        }
    }
    return count;
}

void cr_trigger_tree(cr_pd *top)
{
    cr_pd **const tree = cr_sup.cleaner.some_pds;
    const uint32_t count = find_tree(top, tree);
    cr_trigger(top, CR_CAUSE_SUBTREE);
    const uint32_t entry = find_entry(top->node);
    if (entry == cr_most.pds) {
        cr_panic("the first PD of a subtree is no trigger", top->number);
    }
    cr_sup.cleaner.queue[entry].cause = CR_CAUSE_SUBTREE; /* also if it was to go later */
    for (uint32_t i = 1; i < count; i++) {
        if (cr_pd_is_up(tree[i])) {
            cr_trigger(tree[i], CR_CAUSE_TERMINATE);
        }
    }
}

void cr_trigger_later(cr_pd *pd)
{
    enqueue(pd, CR_CAUSE_TERMINATE, 1);
}

int cr_is_terminated_later(cr_ref pd)
{
    return find_later(pd) < cr_most.pds;
}

void cr_trigger_cancel(cr_ref pd)
{
    take_out(find_later(pd));
    look_again(); /* What waits behind it may begin. */
}

int cr_cleaner_waits(void)
{
    return cr_kept_count(0) > 0;
}

void cr_cleaner_give_up(cr_pd *pd)
{
    if (cr_cleaner_awaits(pd)) {
        pd->given_up = pd->told_by;
        cr_notices_changed();
    }
}

/* A cleanup that waited goes on. If it has not begun to destroy, its consequences are planned when
 * all subscribers were told. */
static void take_up(uint32_t at)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    cr_cleanup *now = &cleaner->now;
    cr_kept_take(at);
    /* A cleaner may have died in another cleanup since. */
    if (now->journal.epoch != cleaner->epoch) {
        cr_must(cr_journal_take_over(&now->journal, cleaner->epoch),
                "the journal of a cleanup that waited is damaged");
    }
    if (!cr_is_destroying(now)) {
        cr_must(cr_plan_restore(cr_sys.planner, cr_sys.model, &now->plan, now->plan.doomed,
                                now->plan.pre_destroy, now->plan.pre_destroy_groups),
                "the plan of a cleanup that waited cannot be restored");
        cr_kept_release();
    }
}

/* Continues the oldest waiting cleanup whose subscribers have answered. Returns 0 if there is
 * none. */
static int continue_next(void)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    for (uint32_t i = 0; cleaner->seen != cr_sup.changes && i < cleaner->n_kept; i++) {
        if (!cleaner->kept[i].left && !cr_execution_awaits(&cleaner->kept[i])) {
            take_up(i);
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
     * cleanup destroys a PD or finds nothing to do. After each cleanup, and at first, what was left
     * is run over once. */
    for (uint32_t i = 0; i < (4 * cr_most.pds + 2) * (CR_MAX_RESIDUES + 1); i++) {
        if (!continue_next() && !recover_next() && !start_next() && !collect_next() &&
            !stop_all_next()) {
            break;
        }
    }
    cr_tombstones_release();
}
