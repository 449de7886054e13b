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
static int compare_names(cr_planner *planner, uint32_t a, uint32_t b)
{
    const cr_node *x = cr_look(planner, a);
    const cr_node *y = cr_look(planner, b);
    int order = compare(x->kind, y->kind);
    if (order == 0) {
        order = compare(x->type, y->type);
    }
    if (order == 0 && x->kind == CR_NODE_RESOURCE) {
        order = compare(cr_node_at(planner->model, x->parent.index)->number,
                        cr_node_at(planner->model, y->parent.index)->number);
    }
    return order != 0 ? order : compare(x->number, y->number);
}

static void keep_better_reason(cr_planner *planner, cr_doomed *found, cr_why why, uint32_t cause)
{
    int order = compare((uint32_t)why, (uint32_t)found->why);
    if (order == 0) {
        order = compare_names(planner, cause, found->cause.index);
    }
    if (order < 0) {
        found->why = why;
        found->cause = cr_ref_to(planner, cause);
    }
}

void cr_add_found(cr_planner *planner, const cr_doomed *entry)
{
    uint32_t place = 0;
    if (cr_take_place(planner, CR_ROOM_NODES, &planner->n_found, &place)) {
        cr_scratch_of(planner, entry->node.index)->local = place;
        planner->found[place] = *entry;
    }
}

/* Dooms a PD unless it is the root task, is not active, or was found before. If it was found in
 * this round (at place `round` or later), the better reason is kept. `by_policy`: pinned PDs are
 * not doomed, nor those that are not close to the trigger if the policy demands that. Returns
 * whether the PD is doomed. */
static int reach_pd(cr_planner *planner, uint32_t pd, uint32_t depth, uint32_t round, cr_why why,
                    uint32_t cause, int by_policy)
{
    const uint32_t local = cr_scratch_of(planner, pd)->local;
    if (local < planner->n_found) {
        if (local >= round) {
            keep_better_reason(planner, cr_found_at(planner, local), why, cause);
        }
        return 1;
    }
    const cr_node *info = cr_look(planner, pd);
    if (info->state != CR_STATE_ACTIVE || (info->flags & CR_FLAG_ROOT) != 0 ||
        (by_policy && (info->flags & CR_FLAG_PINNED) != 0) ||
        (by_policy && planner->close != NULL && !cr_is_close(planner, cr_ref_to(planner, pd)))) {
        return 0;
    }
    const cr_doomed entry = {.node = {pd, info->generation},
                             .pd_depth = depth,
                             .rs_depth = CR_NONE,
                             .why = why,
                             .cause = cr_ref_to(planner, cause)};
    cr_add_found(planner, &entry);
    return 1;
}

/* The list is in `queue`. */
void cr_list_managed(cr_planner *planner, uint32_t pd)
{
    cr_walk managed = cr_walk_start(planner, pd, CR_EDGE_MANAGE, CR_OUT);
    while (cr_walk_next(planner, &managed)) {
        uint32_t place = 0;
        if (cr_look(planner, managed.other)->state == CR_STATE_ACTIVE &&
            cr_take_place(planner, CR_ROOM_NODES, &planner->n_managed, &place)) {
            planner->queue[place] = managed.other;
        }
    }
}

/* Dooms, at this depth, each PD that is linked with a PD found at place `begin` or later, and each
 * PD whose fault handler is such a PD. Lists the spaces of all these PDs. */
static void close_over_links_and_faults(cr_planner *planner, uint32_t begin, uint32_t depth)
{
    uint32_t round = planner->n_found;
    for (uint32_t i = begin; i < planner->n_found && planner->status == CR_OK; i++) {
        if (i == round) {
            round = planner->n_found; /* the previous round is complete */
        }
        const uint32_t pd = planner->found[i].node.index;
        cr_walk links = cr_walk_start(planner, pd, CR_EDGE_LINK, CR_OUT);
        while (cr_walk_next(planner, &links)) {
            (void)reach_pd(planner, links.other, depth, round, CR_WHY_LINK, pd, 0);
        }
        cr_walk handled = cr_walk_start(planner, pd, CR_EDGE_FAULT, CR_IN);
        while (cr_walk_next(planner, &handled)) {
            (void)reach_pd(planner, handled.other, depth, round, CR_WHY_FAULT, pd, 0);
        }
        cr_list_managed(planner, pd);
    }
}

/* Dooms each PD that has a REQUEST to this space or a HOLD of a resource in it. */
static void reach_dependents(cr_planner *planner, uint32_t space, uint32_t depth, uint32_t round)
{
    uint32_t seen = CR_SEEN;
    cr_walk requests = cr_walk_start(planner, space, CR_EDGE_REQUEST, CR_IN);
    while (cr_walk_next(planner, &requests)) {
        if (!reach_pd(planner, requests.other, depth, round, CR_WHY_REQUEST, space, 1)) {
            seen |= CR_SEEN_SURVIVOR;
        }
    }
    cr_walk members = cr_walk_start(planner, space, CR_EDGE_SUBSET, CR_IN);
    while (cr_walk_next(planner, &members)) {
        const uint32_t member = members.other;
        seen |= cr_see_maps(planner, member);
        cr_walk holders = cr_walk_start(planner, member, CR_EDGE_HOLD, CR_IN);
        while (cr_walk_next(planner, &holders)) {
            if (!reach_pd(planner, holders.other, depth, round, CR_WHY_HOLD, member, 1)) {
                seen |= CR_SEEN_SURVIVOR;
            }
        }
    }
    cr_scratch_of(planner, space)->seen = seen;
}

/* Dooms, at depth 0, what the trigger created, transitively. */
static void find_created(cr_planner *planner)
{
    uint32_t round = planner->n_found;
    for (uint32_t i = 0; i < planner->n_found && planner->status == CR_OK; i++) {
        if (i == round) {
            round = planner->n_found; /* the previous round is complete */
        }
        const uint32_t creator = planner->found[i].node.index;
        cr_walk created = cr_walk_start(planner, creator, CR_EDGE_OWN, CR_OUT);
        while (cr_walk_next(planner, &created)) {
            (void)reach_pd(planner, created.other, 0, round, CR_WHY_OWN, creator, 0);
        }
    }
}

/* Dooms each PD that is close to the trigger, at depth 1. */
static void reach_close(cr_planner *planner, uint32_t trigger, uint32_t round)
{
    const uint32_t nodes = planner->model->max_nodes;
    for (uint32_t pd = 0; pd < nodes && planner->status == CR_OK; pd++) {
        if (cr_look(planner, pd)->kind == CR_NODE_PD) {
            (void)reach_pd(planner, pd, 1, round, CR_WHY_METRIC, trigger, 1);
        }
    }
}

static void find_pds(cr_planner *planner, uint32_t trigger, int with_created, uint32_t pd_depth)
{
    const cr_doomed first = {.node = cr_ref_to(planner, trigger),
                             .pd_depth = 0,
                             .rs_depth = CR_NONE,
                             .why = CR_WHY_TRIGGER,
                             .cause = {CR_NONE, 0}};
    uint32_t begin = 0; /* the PDs at this depth, and their spaces, begin here */
    uint32_t spaces = 0;
    cr_add_found(planner, &first);
    if (with_created) {
        find_created(planner);
    }
    close_over_links_and_faults(planner, begin, 0);
    if (planner->close != NULL && planner->close->policy == CR_POLICY_METRIC) {
        begin = planner->n_found;
        reach_close(planner, trigger, begin);
        close_over_links_and_faults(planner, begin, 1);
        planner->n_pds = planner->n_found;
        return;
    }
    for (uint32_t depth = 0;
         depth != pd_depth && begin < planner->n_found && planner->status == CR_OK; depth++) {
        const uint32_t end = planner->n_found;
        const uint32_t spaces_end = planner->n_managed;
        for (uint32_t i = spaces; i < spaces_end && planner->status == CR_OK; i++) {
            reach_dependents(planner, planner->queue[i], depth + 1, end);
        }
        begin = end;
        spaces = spaces_end;
        close_over_links_and_faults(planner, begin, depth + 1);
    }
    planner->n_pds = planner->n_found;
}

void cr_find_managed_spaces(cr_planner *planner)
{
    for (uint32_t i = 0; i < planner->n_managed && planner->status == CR_OK; i++) {
        const uint32_t space = planner->queue[i];
        const uint32_t pd = cr_parent_of(planner, cr_look(planner, space));
        const cr_doomed *manager = cr_found_at(planner, cr_scratch_of(planner, pd)->local);
        const cr_doomed entry = {.node = cr_ref_to(planner, space),
                                 .pd_depth = manager->pd_depth,
                                 .rs_depth = manager->pd_depth == 0 ? 0 : CR_NONE,
                                 .group = cr_scratch_of(planner, space)->seen & CR_GROUP_MAX,
                                 .why = CR_WHY_MANAGED,
                                 .cause = manager->node};
        cr_add_found(planner, &entry);
    }
}

/* Dooms space `t` at `depth`. It maps to `cause`, whose rs depth is one less. */
static void reach_space(cr_planner *planner, uint32_t t, uint32_t cause, uint32_t depth,
                        uint32_t *n_queue)
{
    cr_doomed *found = cr_found_of(planner, t);
    if (found == NULL) {
        const cr_node *info = cr_look(planner, t);
        if (info->state != CR_STATE_ACTIVE || (info->flags & CR_FLAG_CORE) != 0) {
            return;
        }
        const cr_doomed entry = {.node = {t, info->generation},
                                 .pd_depth = CR_NONE,
                                 .rs_depth = CR_NONE,
                                 .why = CR_WHY_MAP,
                                 .cause = cr_ref_to(planner, cause)};
        cr_add_found(planner, &entry);
        found = cr_found_of(planner, t);
    }
    if (found != NULL && found->rs_depth == CR_NONE) {
        /* The space is new, or was doomed only because of its manager. A space enters the queue
         * once, so there is a place. */
        found->rs_depth = depth;
        const uint32_t local = cr_scratch_of(planner, t)->local;
        uint32_t place = 0;
        if (cr_take_place(planner, CR_ROOM_NODES, n_queue, &place)) {
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
        if (planner->found[i].rs_depth == 0 &&
            cr_take_place(planner, CR_ROOM_NODES, &n_queue, &place)) {
            planner->queue[place] = i;
        }
    }
    for (uint32_t i = 0; i < n_queue && planner->status == CR_OK; i++) {
        const cr_doomed *found = cr_found_at(planner, planner->queue[i]);
        const uint32_t space = found->node.index;
        const uint32_t depth = found->rs_depth;
        const uint32_t seen = found->group;
        if (depth == rs_depth) {
            break; /* the queue is in order of depth: no later space is nearer */
        }
        cr_walk spaces = cr_walk_start(planner, space, CR_EDGE_MAP, CR_IN);
        while (cr_walk_next(planner, &spaces)) {
            reach_space(planner, spaces.other, space, depth + 1, &n_queue);
        }
        if (!cr_must_walk(seen, CR_SEEN_UPPER)) {
            continue;
        }
        cr_walk members = cr_walk_start(planner, space, CR_EDGE_SUBSET, CR_IN);
        while (cr_walk_next(planner, &members)) {
            cr_walk resources = cr_walk_start(planner, members.other, CR_EDGE_MAP, CR_IN);
            while (cr_walk_next(planner, &resources)) {
                const cr_node *upper = cr_look(planner, resources.other);
                reach_space(planner, cr_parent_of(planner, upper), space, depth + 1, &n_queue);
            }
        }
    }
}

void cr_find_doomed(cr_planner *planner, uint32_t trigger, int with_created, uint32_t pd_depth,
                    uint32_t rs_depth)
{
    find_pds(planner, trigger, with_created, pd_depth);
    cr_find_managed_spaces(planner);
    find_mapping_spaces(planner, rs_depth);
}
