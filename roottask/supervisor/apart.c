/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Several cleanups at a time. While a cleanup awaits subscribers, another one may begin and end if
 * the two have nothing to do with each other. Otherwise it waits, so that the result is that of the
 * cleanups one after the other.
 *
 * A cleanup concerns each doomed node and everything that an edge joins to a doomed node or to a
 * resource in a doomed space or to the body of a doomed PD: PDs, spaces with their managers, the
 * managers of resources, and resources of the root task. All survivors that lose something, all
 * receivers of notices and all subscribers are among these. Edges of doomed nodes are not added
 * while a cleanup waits, so this is known when it begins.
 *
 * What a cleanup left concerns nobody. It is doomed, so another cleanup passes it by. */
#include "arena.h"
#include "cleaner.h"

/* One bit for each cleanup that is under way or left something, and one for the queue. */
enum { MARKS = CR_MAX_CLEANUPS + 1 + CR_MAX_RESIDUES, QUEUED = 1u << MARKS };

_Static_assert((int)MARKS < 31, "there is a bit for each");

/* Sets `mark` for one node. 0: only looks. Returns the marks that it had. */
static uint32_t mark_node(cr_ref node, uint32_t mark)
{
    if (node.index == CR_NONE || cr_same(node, cr_sys.root)) {
        return 0;
    }
    cr_cleaner *cleaner = &cr_sup.cleaner;
    if (cleaner->touched_generation[node.index] != node.generation) {
        cleaner->touched_generation[node.index] = node.generation;
        cleaner->touched[node.index] = 0;
    }
    const uint32_t had = cleaner->touched[node.index];
    cleaner->touched[node.index] |= mark;
    if (mark != 0 && !cleaner->is_listed[node.index]) {
        cleaner->is_listed[node.index] = 1;
        cleaner->touched_list[cleaner->n_touched++] = node.index;
    }
    return had;
}

/* Sets `mark` for what a node stands for. Spaces of the root task concern nobody. */
static uint32_t mark_end(cr_ref node, uint32_t mark)
{
    cr_node_info info;
    cr_node_info space;
    if (cr_model_get(cr_sys.model, node, &info) != CR_OK) {
        return 0;
    }
    switch (info.kind) {
    case CR_NODE_PD:
        return mark_node(node, mark);
    case CR_NODE_SPACE:
        return (info.flags & CR_FLAG_CORE) != 0
                   ? 0
                   : mark_node(node, mark) | mark_node(info.manager, mark);
    case CR_NODE_RESOURCE:
        return cr_model_get(cr_sys.model, info.space, &space) == CR_OK &&
                       (space.flags & CR_FLAG_CORE) != 0
                   ? mark_node(node, mark)
                   : mark_node(info.space, mark) | mark_node(info.manager, mark);
    case CR_NODE_FREE:
    case CR_NODE_KIND_COUNT:
        break;
    }
    return 0;
}

/* Marks the other ends of all edges of a node. */
static uint32_t mark_around(cr_ref node, uint32_t mark)
{
    uint32_t had = mark_end(node, mark);
    const uint32_t lists = cr_model_lists(cr_sys.model, node);
    for (uint32_t list = 0; lists >> list != 0; list++) {
        const cr_direction direction = (cr_direction)(list % 2);
        if ((lists >> list & 1) == 0) {
            continue;
        }
        for (uint32_t edge =
                 cr_model_first(cr_sys.model, node, (cr_edge_kind)(list / 2), direction);
             edge != CR_NONE; edge = cr_model_next(cr_sys.model, edge, node, direction)) {
            cr_edge_info info;
            if (cr_model_edge(cr_sys.model, edge, &info) == CR_OK) {
                had |= mark_end(cr_same(info.from, node) ? info.to : info.from, mark);
            }
        }
    }
    return had;
}

static uint32_t mark_all(const cr_plan *plan, uint32_t mark)
{
    uint32_t had = 0;
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        cr_ref node = plan->doomed[i].node;
        had |= mark_around(node, mark);
        for (uint32_t edge = cr_model_first(cr_sys.model, node, CR_EDGE_SUBSET, CR_IN);
             edge != CR_NONE; edge = cr_model_next(cr_sys.model, edge, node, CR_IN)) {
            cr_edge_info info;
            if (cr_model_edge(cr_sys.model, edge, &info) == CR_OK) {
                had |= mark_around(info.from, mark);
            }
        }
        uint32_t body = cr_model_first(cr_sys.model, node, CR_EDGE_BODY, CR_OUT);
        cr_edge_info info;
        if (body != CR_NONE && cr_model_edge(cr_sys.model, body, &info) == CR_OK) {
            had |= mark_around(info.to, mark);
        }
    }
    return had;
}

int cr_cleaner_concerns(cr_ref node)
{
    const cr_cleaner *cleaner = &cr_sup.cleaner;
    return cleaner->touched_generation[node.index] == node.generation &&
           cleaner->touched[node.index] != 0;
}

static void forget(uint32_t mark)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < cleaner->n_touched; i++) {
        const uint32_t node = cleaner->touched_list[i];
        cleaner->touched[node] &= ~mark;
        if (cleaner->touched[node] != 0) {
            cleaner->touched_list[kept++] = node;
        } else {
            cleaner->is_listed[node] = 0;
        }
    }
    cleaner->n_touched = kept;
}

/* Whether the cleanup tells anybody, and so may have to wait. */
static int may_wait(const cr_plan *plan)
{
    return plan->n_pre_destroy > 0 || plan->n_destructors > 0;
}

int cr_cleaner_may_begin(const cr_plan *plan)
{
    const cr_cleaner *cleaner = &cr_sup.cleaner;
    /* A cleanup that tells nobody never waits, so others that wait leave it room at any time. */
    int room = !may_wait(plan) ||
               (cleaner->n_waiting < CR_MAX_CLEANUPS &&
                cleaner->n_doomed + plan->n_doomed <= CR_KEPT_DOOMED &&
                cleaner->n_pre_destroy + plan->n_pre_destroy <= CR_KEPT_PRE_DESTROY);
    if (room && (cleaner->n_touched == 0 || mark_all(plan, 0) == 0)) {
        return 1;
    }
    (void)mark_all(plan, QUEUED);
    return 0;
}

void cr_cleaner_forget_queued(void)
{
    forget(QUEUED);
}

/* Whether anything else may happen before the end of the cleanup, or of its later run: it awaits
 * subscribers, or PDs run between its steps. Otherwise nobody looks at its marks. */
static int is_beside_others(const cr_plan *plan)
{
    return may_wait(plan) || cr_sys.image->cleaner_priority != 0;
}

void cr_cleaner_arrive(cr_cleanup *cleanup)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < CR_MAX_RESIDUES; i++) {
        const cr_residue *residue = &cr_sup.residues.at[i];
        used |= residue->use == CR_RESIDUE_LEFT ? residue->cleanup.mark : 0;
    }
    for (uint32_t i = 0; i < cr_sup.cleaner.n_waiting; i++) {
        used |= cr_sup.cleaner.waiting[i].mark;
    }
    cleanup->mark = 1;
    while ((used & cleanup->mark) != 0) {
        cleanup->mark <<= 1;
    }
    if (is_beside_others(&cleanup->plan)) {
        (void)mark_all(&cleanup->plan, cleanup->mark);
    }
}

void cr_cleaner_depart(const cr_cleanup *cleanup)
{
    forget(cleanup->mark);
}

void cr_cleaner_return(const cr_cleanup *cleanup)
{
    const cr_plan *plan = &cleanup->plan;
    if (!is_beside_others(plan)) {
        return;
    }
    (void)mark_all(plan, cleanup->mark);
    for (uint32_t i = 0; i < plan->n_core_freed; i++) {
        (void)mark_end(plan->core_freed[i], cleanup->mark);
    }
    for (uint32_t i = 0; i < plan->n_notices; i++) {
        (void)mark_end(plan->notices[i].to, cleanup->mark);
    }
}

void cr_cleaner_park(void)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    cr_cleanup *kept = &cleaner->waiting[cleaner->n_waiting++];
    *kept = cleaner->now;
    kept->first_doomed = cleaner->n_doomed;
    kept->first_pre_destroy = cleaner->n_pre_destroy;
    for (uint32_t i = 0; i < kept->plan.n_doomed; i++) {
        cleaner->doomed[cleaner->n_doomed++] = kept->plan.doomed[i];
    }
    for (uint32_t i = 0; i < kept->plan.n_pre_destroy; i++) {
        cleaner->pre_destroy_groups[cleaner->n_pre_destroy] = kept->plan.pre_destroy_groups[i];
        cleaner->pre_destroy[cleaner->n_pre_destroy++] = kept->plan.pre_destroy[i];
    }
    cleaner->now = (cr_cleanup){.phase = CR_PHASE_NONE};
}

void cr_cleaner_bury(const cr_cleanup *cleanup)
{
    const cr_plan *plan = &cleanup->plan;
    for (uint32_t i = 0; i < plan->n_doomed; i++) {
        cr_node_info info;
        if (cr_model_get(cr_sys.model, plan->doomed[i].node, &info) != CR_OK ||
            (info.state == CR_STATE_DESTROYED &&
             cr_tombstone_settle(plan->doomed[i].node, cleanup->tag) != CR_OK)) {
            cr_panic("a destroyed node cannot be released", plan->doomed[i].node.index);
        }
    }
}

void cr_cleaner_unpark(uint32_t index)
{
    cr_cleaner *cleaner = &cr_sup.cleaner;
    cleaner->now = cleaner->waiting[index];
    const cr_cleanup *now = &cleaner->now;
    const uint32_t doomed = now->plan.n_doomed;
    const uint32_t told = now->plan.n_pre_destroy;
    cr_journal *journal = &now->journal;
    /* A cleaner may have died in another cleanup since. */
    if (journal->epoch != cleaner->epoch &&
        cr_journal_take_over(journal, cleaner->epoch) != CR_OK) {
        cr_panic("the journal of a cleanup that waited is damaged", now->tag);
    }
    if (now->record == 0 &&
        cr_plan_restore(cr_sys.planner, cr_sys.model, &cleaner->now.plan,
                        &cleaner->doomed[now->first_doomed],
                        &cleaner->pre_destroy[now->first_pre_destroy],
                        &cleaner->pre_destroy_groups[now->first_pre_destroy]) != CR_OK) {
        cr_panic("the plan of a cleanup that waited cannot be restored", now->tag);
    }
    /* The entries behind it move up. */
    cleaner->n_doomed -= doomed;
    for (uint32_t i = now->first_doomed; i < cleaner->n_doomed; i++) {
        cleaner->doomed[i] = cleaner->doomed[i + doomed];
    }
    cleaner->n_pre_destroy -= told;
    for (uint32_t i = now->first_pre_destroy; i < cleaner->n_pre_destroy; i++) {
        cleaner->pre_destroy[i] = cleaner->pre_destroy[i + told];
        cleaner->pre_destroy_groups[i] = cleaner->pre_destroy_groups[i + told];
    }
    cleaner->n_waiting--;
    for (uint32_t i = index; i < cleaner->n_waiting; i++) {
        cleaner->waiting[i] = cleaner->waiting[i + 1];
        cleaner->waiting[i].first_doomed -= doomed;
        cleaner->waiting[i].first_pre_destroy -= told;
    }
}
