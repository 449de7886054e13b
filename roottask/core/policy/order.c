/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The order in which the doomed nodes are destroyed (docs/semantics.md, "Order"). The edges "u
 * before v" between doomed nodes are collected at v. Of two opposed edges, precedence decides which
 * one stays. Tarjan's algorithm, with an explicit stack, finds the cycles that remain. The group of
 * a node is the length of the longest path to its component. */
#include "planner.h"

/* Reasons for "u before v". The smaller bit has precedence. */
enum { EXPLICIT = 1, OWNERSHIP = 2, IMPLICIT = 4 };

/* ---- collecting ------------------------------------------------------------------------------ */

/* Adds "`u` before the node at place `v`" if `u` is doomed too. All edges of one `v` are collected
 * under one planner->mark, so that several reasons become one edge. */
static void before(cr_planner *planner, cr_ref u, uint32_t v, uint32_t rank)
{
    const cr_doomed *found = cr_found_of(planner, u);
    cr_scratch *scratch = cr_scratch_of(planner, u);
    if (found == NULL || scratch->local == v) {
        return;
    }
    if (!cr_first_time(planner, u)) {
        cr_before_at(planner, scratch->slot)->ranks |= rank;
        return;
    }
    if (planner->n_before >= planner->max_before) {
        cr_fail(planner, CR_ERR_FULL_PLAN);
        return;
    }
    const cr_before edge = {.u = scratch->local, .v = v, .ranks = rank};
    scratch->slot = planner->n_before;
    planner->before[planner->n_before] = edge;
    planner->n_before++;
}

static void collect_for_pd(cr_planner *planner, uint32_t v)
{
    const cr_ref pd = planner->found[v].node;
    cr_walk walk = cr_walk_start(planner, pd, CR_EDGE_SUBSCRIBE, CR_OUT);
    while (cr_walk_next(planner, &walk)) {
        before(planner, walk.other, v, EXPLICIT);
    }
    walk = cr_walk_start(planner, pd, CR_EDGE_MANAGE, CR_OUT);
    while (cr_walk_next(planner, &walk)) {
        before(planner, walk.other, v, OWNERSHIP);
    }
    walk = cr_walk_start(planner, pd, CR_EDGE_OWN, CR_OUT);
    while (cr_walk_next(planner, &walk)) {
        before(planner, walk.other, v, OWNERSHIP);
    }
    walk = cr_walk_start(planner, pd, CR_EDGE_REQUEST, CR_OUT);
    while (cr_walk_next(planner, &walk)) {
        before(planner, cr_look(planner, walk.other).manager, v, IMPLICIT);
    }
    walk = cr_walk_start(planner, pd, CR_EDGE_HOLD, CR_OUT);
    while (cr_walk_next(planner, &walk)) {
        const cr_node_info info = cr_look(planner, walk.other);
        if (info.kind == CR_NODE_RESOURCE) { /* a HOLD of a space itself is no reason */
            before(planner, info.manager, v, IMPLICIT);
        }
    }
}

static void collect_for_space(cr_planner *planner, uint32_t v)
{
    const cr_ref space = planner->found[v].node;
    cr_walk walk = cr_walk_start(planner, space, CR_EDGE_MAP, CR_OUT);
    while (cr_walk_next(planner, &walk)) {
        before(planner, walk.other, v, IMPLICIT);
    }
    cr_walk members = cr_walk_start(planner, space, CR_EDGE_SUBSET, CR_IN);
    while (cr_walk_next(planner, &members)) {
        walk = cr_walk_start(planner, members.other, CR_EDGE_MAP, CR_OUT);
        while (cr_walk_next(planner, &walk)) {
            before(planner, cr_look(planner, walk.other).space, v, IMPLICIT);
        }
    }
}

static void collect(cr_planner *planner)
{
    for (uint32_t v = 0; v < planner->n_found && planner->status == CR_OK; v++) {
        planner->order[v].pred_start = planner->n_before;
        planner->mark++;
        if (v < planner->n_pds) {
            collect_for_pd(planner, v);
        } else {
            collect_for_space(planner, v);
        }
    }
    planner->order[planner->n_found].pred_start = planner->n_before;
}

/* Lists the edges by `u`, with a counting sort. In `before` they are in order of `v`. */
static void index_successors(cr_planner *planner)
{
    cr_order_node *order = planner->order;
    for (uint32_t i = 0; i <= planner->n_found; i++) {
        order[i].succ_start = 0;
    }
    for (uint32_t e = 0; e < planner->n_before; e++) {
        cr_order_at(planner, planner->before[e].u + 1)->succ_start++;
    }
    for (uint32_t i = 0; i < planner->n_found; i++) {
        order[i + 1].succ_start += order[i].succ_start;
        order[i].cursor = order[i].succ_start;
    }
    for (uint32_t e = 0; e < planner->n_before; e++) {
        cr_order_node *u = cr_order_at(planner, planner->before[e].u);
        *cr_succ_at(planner, u->cursor) = e;
        u->cursor++;
    }
}

/* ---- precedence ------------------------------------------------------------------------------ */

/* Of two opposed edges, the one with precedence stays. If they have the same precedence, both stay
 * and form a cycle. Two opposed explicit reasons cancel. */
static void settle(cr_before *a, cr_before *b)
{
    if ((a->ranks & b->ranks & EXPLICIT) != 0) {
        a->ranks &= ~(uint32_t)EXPLICIT;
        b->ranks &= ~(uint32_t)EXPLICIT;
    }
    const uint32_t best_a = a->ranks & (0u - a->ranks);
    const uint32_t best_b = b->ranks & (0u - b->ranks);
    if (best_a == 0 || best_b == 0) {
        return;
    }
    if (best_a < best_b) {
        b->ranks = 0;
    } else if (best_b < best_a) {
        a->ranks = 0;
    }
}

static void settle_opposed(cr_planner *planner)
{
    const cr_order_node *order = planner->order;
    for (uint32_t x = 0; x < planner->n_found; x++) {
        planner->mark++;
        for (uint32_t e = order[x].pred_start; e < order[x + 1].pred_start; e++) {
            const cr_ref w = cr_found_at(planner, cr_before_at(planner, e)->u)->node;
            (void)cr_first_time(planner, w);
            cr_scratch_of(planner, w)->slot = e;
        }
        for (uint32_t i = order[x].succ_start; i < order[x + 1].succ_start; i++) {
            cr_before *out = cr_before_at(planner, *cr_succ_at(planner, i));
            const cr_scratch *w = cr_scratch_of(planner, cr_found_at(planner, out->v)->node);
            if (x < out->v && w->mark == planner->mark) { /* each pair once */
                settle(out, cr_before_at(planner, w->slot));
            }
        }
    }
}

/* ---- components and groups ------------------------------------------------------------------- */

static void discover(cr_planner *planner, uint32_t node, uint32_t caller, uint32_t *discovered)
{
    cr_order_node *n = cr_order_at(planner, node);
    uint32_t place = 0;
    n->number = *discovered;
    n->low = *discovered;
    n->caller = caller;
    n->cursor = n->succ_start;
    ++*discovered;
    if (cr_take_place(planner, &planner->n_stack, &place)) {
        planner->queue[place] = node;
    }
}

static void lower(uint32_t *value, uint32_t other)
{
    if (other < *value) {
        *value = other;
    }
}

/* Takes the complete component of `node` off the stack. */
static void close_component(cr_planner *planner, uint32_t node, uint32_t component,
                            uint32_t *n_sequence)
{
    uint32_t member = CR_NONE;
    while (member != node && planner->n_stack > 0) {
        uint32_t place = 0;
        planner->n_stack--;
        member = planner->queue[planner->n_stack];
        cr_order_at(planner, member)->component = component;
        if (cr_take_place(planner, n_sequence, &place)) {
            planner->sequence[place] = member;
        }
    }
}

/* Tarjan's algorithm. Gives every node its component and writes the nodes to `sequence`, component
 * by component. A component comes after all components that are destroyed later. */
static void find_components(cr_planner *planner)
{
    cr_order_node *order = planner->order;
    uint32_t discovered = 0;
    uint32_t components = 0;
    uint32_t n_sequence = 0;
    planner->n_stack = 0;
    for (uint32_t i = 0; i < planner->n_found; i++) {
        order[i].number = CR_NONE;
        order[i].component = CR_NONE;
    }
    for (uint32_t start = 0; start < planner->n_found; start++) {
        uint32_t at = start;
        if (order[start].number != CR_NONE) {
            continue;
        }
        discover(planner, start, CR_NONE, &discovered);
        while (at != CR_NONE) { /* each iteration advances a cursor or leaves a node for good */
            cr_order_node *n = cr_order_at(planner, at);
            if (n->cursor < cr_order_at(planner, at + 1)->succ_start) {
                const cr_before *edge = cr_before_at(planner, *cr_succ_at(planner, n->cursor));
                cr_order_node *after = cr_order_at(planner, edge->v);
                n->cursor++;
                if (edge->ranks == 0) {
                    continue;
                }
                if (after->number == CR_NONE) {
                    discover(planner, edge->v, at, &discovered);
                    at = edge->v;
                } else if (after->component == CR_NONE) {
                    lower(&n->low, after->number);
                }
                continue;
            }
            if (n->low == n->number) {
                close_component(planner, at, components, &n_sequence);
                components++;
            }
            if (n->caller != CR_NONE) {
                lower(&cr_order_at(planner, n->caller)->low, n->low);
            }
            at = n->caller;
        }
    }
}

/* Computes the group of each component. Walks `sequence` from its end, so that the predecessors of
 * a component are complete before it is visited. */
static void find_levels(cr_planner *planner)
{
    cr_order_node *order = planner->order;
    uint32_t groups = 1;
    for (uint32_t i = 0; i < planner->n_found; i++) {
        order[i].level = 0;
    }
    for (uint32_t i = planner->n_found; i > 0; i--) {
        const uint32_t u = planner->sequence[i - 1];
        const cr_order_node *node = cr_order_at(planner, u);
        const uint32_t level = cr_order_at(planner, node->component)->level;
        const uint32_t end = cr_order_at(planner, u + 1)->succ_start;
        for (uint32_t k = node->succ_start; k < end; k++) {
            const cr_before *edge = cr_before_at(planner, *cr_succ_at(planner, k));
            const uint32_t component = cr_order_at(planner, edge->v)->component;
            cr_order_node *after = cr_order_at(planner, component);
            if (edge->ranks != 0 && component != node->component &&
                after->level <= level) {
                after->level = level + 1;
            }
        }
        if (level >= groups) {
            groups = level + 1;
        }
    }
    planner->plan->groups = groups;
}

static void put_in_group(cr_planner *planner, uint32_t i)
{
    cr_order_node *group = cr_order_at(planner, planner->found[i].group);
    const uint32_t place = group->cursor;
    planner->doomed[place < planner->max_items ? place : 0] = planner->found[i];
    group->cursor = place + 1;
}

/* Writes the doomed nodes by group, with a counting sort. Within a group any order is allowed.
 * Spaces come first, because a PD cannot be destroyed while it manages a space. */
static void sort_by_group(cr_planner *planner)
{
    cr_order_node *order = planner->order;
    for (uint32_t i = 0; i <= planner->n_found; i++) {
        order[i].cursor = 0;
    }
    for (uint32_t i = 0; i < planner->n_found; i++) {
        planner->found[i].group = cr_order_at(planner, order[i].component)->level;
        cr_order_at(planner, planner->found[i].group + 1)->cursor++;
    }
    for (uint32_t i = 0; i < planner->n_found; i++) {
        order[i + 1].cursor += order[i].cursor;
    }
    for (uint32_t i = planner->n_pds; i < planner->n_found; i++) {
        put_in_group(planner, i);
    }
    for (uint32_t i = 0; i < planner->n_pds; i++) {
        put_in_group(planner, i);
    }
}

void cr_find_order(cr_planner *planner)
{
    collect(planner);
    if (planner->status != CR_OK) {
        return;
    }
    index_successors(planner);
    settle_opposed(planner);
    find_components(planner);
    find_levels(planner);
    sort_by_group(planner);
}
