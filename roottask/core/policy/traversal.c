/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finds the PDs and spaces that a crash dooms (docs/semantics.md). Both traversals are
 * breadth-first, so each node is found at its smallest depth. The traversal of PDs uses the array
 * of found nodes as its queue.
 *
 * A node can be found for several reasons in the same round. The smallest reason is kept, by kind
 * and then by the names of the nodes. An explanation must not depend on the order in which edges
 * were made. */
#include "planner.h"

static int compare(uint32_t a, uint32_t b)
{
    return a < b ? -1 : (a > b ? 1 : 0);
}

/* 0 if the names are equal. Such nodes are equally good explanations. */
static int compare_names(cr_planner *planner, cr_ref a, cr_ref b)
{
    const cr_node_info x = cr_look(planner, a);
    const cr_node_info y = cr_look(planner, b);
    int order = compare((uint32_t)x.kind, (uint32_t)y.kind);
    if (order == 0) {
        order = compare(x.type, y.type);
    }
    if (order == 0 && x.kind == CR_NODE_RESOURCE) {
        order = compare(cr_look(planner, x.space).number, cr_look(planner, y.space).number);
    }
    return order != 0 ? order : compare(x.number, y.number);
}

static void keep_better_reason(cr_planner *planner, cr_doomed *found, cr_why why, cr_ref cause)
{
    int order = compare((uint32_t)why, (uint32_t)found->why);
    if (order == 0) {
        order = compare_names(planner, cause, found->cause);
    }
    if (order < 0) {
        found->why = why;
        found->cause = cause;
    }
}

static void add_found(cr_planner *planner, const cr_doomed *entry)
{
    uint32_t place = 0;
    if (cr_take_place(planner, &planner->n_found, &place)) {
        cr_scratch_of(planner, entry->node)->local = place;
        planner->found[place] = *entry;
    }
}

/* Dooms a PD unless it is the root task, is not active, or was found before. If it was found in
 * this round (at place `round` or later), the better reason is kept. `by_policy`: pinned PDs are
 * not doomed. */
static void reach_pd(cr_planner *planner, cr_ref pd, uint32_t depth, uint32_t round, cr_why why,
                     cr_ref cause, int by_policy)
{
    cr_doomed *found = cr_found_of(planner, pd);
    if (found != NULL) {
        if (cr_scratch_of(planner, pd)->local >= round) {
            keep_better_reason(planner, found, why, cause);
        }
        return;
    }
    const cr_node_info info = cr_look(planner, pd);
    if (info.state != CR_STATE_ACTIVE || (info.flags & CR_FLAG_ROOT) != 0 ||
        (by_policy && (info.flags & CR_FLAG_PINNED) != 0)) {
        return;
    }
    const cr_doomed entry = {
        .node = pd, .pd_depth = depth, .rs_depth = CR_NONE, .why = why, .cause = cause};
    add_found(planner, &entry);
}

/* Dooms, at this depth, each PD that is linked with a PD found at place `begin` or later, and each
 * PD whose fault handler is such a PD. */
static void close_over_links_and_faults(cr_planner *planner, uint32_t begin, uint32_t depth)
{
    uint32_t round = planner->n_found;
    for (uint32_t i = begin; i < planner->n_found && planner->status == CR_OK; i++) {
        if (i == round) {
            round = planner->n_found; /* the previous round is complete */
        }
        const cr_ref pd = planner->found[i].node;
        cr_walk links = cr_walk_start(planner, pd, CR_EDGE_LINK, CR_OUT);
        while (cr_walk_next(planner, &links)) {
            reach_pd(planner, links.other, depth, round, CR_WHY_LINK, pd, 0);
        }
        cr_walk handled = cr_walk_start(planner, pd, CR_EDGE_FAULT, CR_IN);
        while (cr_walk_next(planner, &handled)) {
            reach_pd(planner, handled.other, depth, round, CR_WHY_FAULT, pd, 0);
        }
    }
}

/* Dooms each PD that has a REQUEST to this space or a HOLD of a resource in it. */
static void reach_dependents(cr_planner *planner, cr_ref space, uint32_t depth, uint32_t round)
{
    cr_walk requests = cr_walk_start(planner, space, CR_EDGE_REQUEST, CR_IN);
    while (cr_walk_next(planner, &requests)) {
        reach_pd(planner, requests.other, depth, round, CR_WHY_REQUEST, space, 1);
    }
    cr_walk members = cr_walk_start(planner, space, CR_EDGE_SUBSET, CR_IN);
    while (cr_walk_next(planner, &members)) {
        cr_walk holders = cr_walk_start(planner, members.other, CR_EDGE_HOLD, CR_IN);
        while (cr_walk_next(planner, &holders)) {
            reach_pd(planner, holders.other, depth, round, CR_WHY_HOLD, members.other, 1);
        }
    }
}

static void find_pds(cr_planner *planner, cr_ref trigger, uint32_t pd_depth)
{
    const cr_doomed first = {.node = trigger,
                             .pd_depth = 0,
                             .rs_depth = CR_NONE,
                             .why = CR_WHY_TRIGGER,
                             .cause = {CR_NONE, 0}};
    uint32_t begin = 0;
    add_found(planner, &first);
    close_over_links_and_faults(planner, begin, 0);
    for (uint32_t depth = 0;
         depth != pd_depth && begin < planner->n_found && planner->status == CR_OK; depth++) {
        const uint32_t end = planner->n_found;
        for (uint32_t i = begin; i < end; i++) {
            cr_walk managed =
                cr_walk_start(planner, planner->found[i].node, CR_EDGE_MANAGE, CR_OUT);
            while (cr_walk_next(planner, &managed)) {
                if (cr_look(planner, managed.other).state == CR_STATE_ACTIVE) {
                    reach_dependents(planner, managed.other, depth + 1, end);
                }
            }
        }
        begin = end;
        close_over_links_and_faults(planner, begin, depth + 1);
    }
    planner->n_pds = planner->n_found;
}

static void find_managed_spaces(cr_planner *planner)
{
    for (uint32_t i = 0; i < planner->n_pds && planner->status == CR_OK; i++) {
        const cr_doomed *manager = &planner->found[i];
        cr_walk managed = cr_walk_start(planner, manager->node, CR_EDGE_MANAGE, CR_OUT);
        while (cr_walk_next(planner, &managed)) {
            if (cr_look(planner, managed.other).state == CR_STATE_ACTIVE) {
                const cr_doomed entry = {.node = managed.other,
                                         .pd_depth = manager->pd_depth,
                                         .rs_depth = manager->pd_depth == 0 ? 0 : CR_NONE,
                                         .why = CR_WHY_MANAGED,
                                         .cause = manager->node};
                add_found(planner, &entry);
            }
        }
    }
}

/* Dooms space `t` at `depth`. It maps to `cause`, whose rs depth is one less. */
static void reach_space(cr_planner *planner, cr_ref t, cr_ref cause, uint32_t depth,
                        uint32_t *n_queue)
{
    cr_doomed *found = cr_found_of(planner, t);
    if (found == NULL) {
        const cr_node_info info = cr_look(planner, t);
        if (info.state != CR_STATE_ACTIVE || (info.flags & CR_FLAG_CORE) != 0) {
            return;
        }
        const cr_doomed entry = {
            .node = t, .pd_depth = CR_NONE, .rs_depth = CR_NONE, .why = CR_WHY_MAP, .cause = cause};
        add_found(planner, &entry);
        found = cr_found_of(planner, t);
    }
    if (found != NULL && found->rs_depth == CR_NONE) {
        /* The space is new, or was doomed only because of its manager. A space enters the queue
         * once, so there is a place. */
        found->rs_depth = depth;
        const uint32_t local = cr_scratch_of(planner, t)->local;
        uint32_t place = 0;
        if (cr_take_place(planner, n_queue, &place)) {
            planner->queue[place] = local;
        }
    } else if (found != NULL && found->rs_depth == depth && found->why == CR_WHY_MAP) {
        keep_better_reason(planner, found, CR_WHY_MAP, cause);
    }
}

static void find_mapping_spaces(cr_planner *planner, uint32_t rs_depth)
{
    uint32_t n_queue = 0;
    for (uint32_t i = planner->n_pds; i < planner->n_found; i++) {
        uint32_t place = 0;
        if (planner->found[i].rs_depth == 0 && cr_take_place(planner, &n_queue, &place)) {
            planner->queue[place] = i;
        }
    }
    for (uint32_t i = 0; i < n_queue && planner->status == CR_OK; i++) {
        const cr_doomed *found = cr_found_at(planner, planner->queue[i]);
        const cr_ref space = found->node;
        const uint32_t depth = found->rs_depth;
        if (depth == rs_depth) {
            break; /* the queue is in order of depth: no later space is nearer */
        }
        cr_walk spaces = cr_walk_start(planner, space, CR_EDGE_MAP, CR_IN);
        while (cr_walk_next(planner, &spaces)) {
            reach_space(planner, spaces.other, space, depth + 1, &n_queue);
        }
        cr_walk members = cr_walk_start(planner, space, CR_EDGE_SUBSET, CR_IN);
        while (cr_walk_next(planner, &members)) {
            cr_walk resources = cr_walk_start(planner, members.other, CR_EDGE_MAP, CR_IN);
            while (cr_walk_next(planner, &resources)) {
                reach_space(planner, cr_look(planner, resources.other).space, space, depth + 1,
                            &n_queue);
            }
        }
    }
}

void cr_find_doomed(cr_planner *planner, cr_ref trigger, uint32_t pd_depth, uint32_t rs_depth)
{
    find_pds(planner, trigger, pd_depth);
    find_managed_spaces(planner);
    find_mapping_spaces(planner, rs_depth);
}
