/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The order in which the doomed nodes are destroyed (docs/semantics.md, "Order"). The edges "u
 * before v" between doomed nodes are collected at v. Tarjan's algorithm, with an explicit stack,
 * follows them from v to u and finds the cycles. If there are any, precedence decides which of two
 * opposed edges stays, and the algorithm runs again: two opposed edges are a cycle, so without
 * cycles nothing has to be decided. The group of a node is the length of the longest path to its
 * component. */
#include "planner.h"

/* ---- collecting ------------------------------------------------------------------------------ */

/* All edges of one `v` are collected under one planner->mark, so that several reasons become one
 * edge. */
void cr_order_before(cr_planner *planner, uint32_t u, uint32_t v, uint32_t rank)
{
    cr_scratch *scratch = cr_scratch_of(planner, u);
    if (scratch->local >= planner->n_found || scratch->local == v) {
        return;
    }
    if (scratch->mark == planner->mark) {
        cr_before_at(planner, scratch->slot)->ranks |= rank;
        return;
    }
    if (planner->n_before >= planner->room[CR_ROOM_ORDER]) {
        cr_fail_full(planner, CR_ROOM_ORDER);
        return;
    }
    const cr_before edge = {.u = scratch->local, .v = v, .ranks = rank};
    scratch->mark = planner->mark;
    scratch->slot = planner->n_before;
    planner->before[planner->n_before] = edge;
    planner->n_before++;
}

static void collect(cr_planner *planner, uint32_t node, uint32_t v, cr_edge_kind kind,
                    uint32_t rank)
{
    cr_walk walk = cr_walk_start(planner, node, kind, CR_OUT);
    while (cr_walk_next(planner, &walk)) {
        cr_order_before(planner, walk.other, v, rank);
    }
}

static void collect_for_space(cr_planner *planner, uint32_t space, uint32_t v)
{
    collect(planner, space, v, CR_EDGE_MAP, CR_IMPLICIT);
    if (!cr_must_walk(cr_found_at(planner, v)->group, CR_SEEN_LOWER)) {
        return;
    }
    cr_walk members = cr_walk_start(planner, space, CR_EDGE_SUBSET, CR_IN);
    while (cr_walk_next(planner, &members)) {
        cr_walk walk = cr_walk_start(planner, members.other, CR_EDGE_MAP, CR_OUT);
        while (cr_walk_next(planner, &walk)) {
            const cr_node *lower = cr_look(planner, walk.other);
            cr_order_before(planner, cr_parent_of(planner, lower), v, CR_IMPLICIT);
        }
    }
}

/* The REQUEST and HOLD edges of a PD are reasons too. consequences.c walks them and adds those. */
void cr_order_at_place(cr_planner *planner, uint32_t v)
{
    const uint32_t node = cr_found_at(planner, v)->node.index;
    cr_order_at(planner, v)->pred_start = planner->n_before;
    planner->mark++;
    planner->n_subscribed +=
        cr_node_at(planner->model, node)->head[CR_EDGE_SUBSCRIBE][CR_IN] != CR_NONE;
    if (v >= planner->n_pds) {
        collect_for_space(planner, node, v);
        return;
    }
    collect(planner, node, v, CR_EDGE_SUBSCRIBE, CR_EXPLICIT);
    collect(planner, node, v, CR_EDGE_MANAGE, CR_OWNERSHIP);
    collect(planner, node, v, CR_EDGE_OWN, CR_OWNERSHIP);
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
    if ((a->ranks & b->ranks & CR_EXPLICIT) != 0) {
        a->ranks &= ~(uint32_t)CR_EXPLICIT;
        b->ranks &= ~(uint32_t)CR_EXPLICIT;
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
            const uint32_t w = cr_found_at(planner, cr_before_at(planner, e)->u)->node.index;
            (void)cr_first_time(planner, w);
            cr_scratch_of(planner, w)->slot = e;
        }
        for (uint32_t i = order[x].succ_start; i < order[x + 1].succ_start; i++) {
            cr_before *out = cr_before_at(planner, *cr_succ_at(planner, i));
            const uint32_t node = cr_found_at(planner, out->v)->node.index;
            const cr_scratch *w = cr_scratch_of(planner, node);
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
    n->cursor = n->pred_start;
    n->level = 0;
    ++*discovered;
    if (cr_take_place(planner, CR_ROOM_NODES, &planner->n_stack, &place)) {
        planner->queue[place] = node;
    }
}

static void lower(uint32_t *value, uint32_t other)
{
    if (other < *value) {
        *value = other;
    }
}

static void raise(uint32_t *value, uint32_t other)
{
    if (other > *value) {
        *value = other;
    }
}

/* Takes the complete component of `root` off the stack and gives its members their group. Returns
 * the number of members. */
static uint32_t close_component(cr_planner *planner, uint32_t root)
{
    const uint32_t end = planner->n_stack;
    uint32_t begin = end;
    uint32_t level = 0;
    uint32_t member = CR_NONE;
    while (member != root && begin > 0) {
        begin--;
        member = planner->queue[begin];
        raise(&level, cr_order_at(planner, member)->level);
    }
    for (uint32_t i = begin; i < end; i++) {
        cr_order_node *n = cr_order_at(planner, planner->queue[i]);
        n->component = root;
        n->level = level;
    }
    planner->n_stack = begin;
    raise(&planner->plan->groups, level + 1);
    return end - begin;
}

/* Tarjan's algorithm, against the direction of the edges: a component is complete after all those
 * before it, so its group is known at once. Until then, `level` of a node is the group that the
 * components before it leave it. Returns whether there is a cycle. */
static int find_groups(cr_planner *planner)
{
    cr_order_node *order = planner->order;
    uint32_t discovered = 0;
    int cycles = 0;
    planner->n_stack = 0;
    planner->plan->groups = planner->n_found > 0 ? 1 : 0;
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
            if (n->cursor < cr_order_at(planner, at + 1)->pred_start) {
                const cr_before *edge = cr_before_at(planner, n->cursor);
                cr_order_node *first = cr_order_at(planner, edge->u);
                if (edge->ranks == 0 || first->component != CR_NONE) {
                    n->cursor++;
                    if (edge->ranks != 0) {
                        raise(&n->level, first->level + 1);
                    }
                } else if (first->number == CR_NONE) {
                    discover(planner, edge->u, at, &discovered);
                    at = edge->u; /* the cursor stays, so that the edge is seen again */
                } else {
                    n->cursor++;
                    lower(&n->low, first->low);
                }
                continue;
            }
            if (n->low == n->number) {
                cycles |= close_component(planner, at) > 1;
            }
            at = n->caller;
        }
    }
    return cycles;
}

static void put_in_group(cr_planner *planner, uint32_t i)
{
    cr_order_node *group = cr_order_at(planner, cr_found_at(planner, i)->group);
    const uint32_t place = group->cursor;
    planner->doomed[place < planner->room[CR_ROOM_NODES] ? place : 0] = *cr_found_at(planner, i);
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
        cr_found_at(planner, i)->group = order[i].level & CR_GROUP_MAX;
        cr_order_at(planner, (uint32_t)cr_found_at(planner, i)->group + 1)->cursor++;
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
    planner->order[planner->n_found].pred_start = planner->n_before;
    if (find_groups(planner)) {
        index_successors(planner);
        settle_opposed(planner);
        (void)find_groups(planner);
    }
    sort_by_group(planner);
}
