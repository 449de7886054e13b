/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finds the PDs and spaces that are doomed without a trigger: those that a collection does not
 * reach, and those that the caller names (docs/semantics.md, "Plans without a
 * crash").
 *
 * PDs to visit form a list through their scratch records, so the search needs no memory of its own,
 * whatever the size of the model. A PD was reached if it has the current mark. */
#include "planner.h"

static const cr_ref NOBODY = {CR_NONE, 0};

typedef struct queue {
    uint32_t first; /* index of a node, or CR_NONE */
    uint32_t last;
} queue;

/* Reaches a PD. It is visited later, once. A PD that another cleanup destroys is visited too: what
 * it refers to is in use until then. */
static void reach(cr_planner *planner, queue *waiting, uint32_t pd)
{
    if (!cr_first_time(planner, pd) || planner->status != CR_OK) {
        return;
    }
    cr_scratch_of(planner, pd)->slot = CR_NONE;
    if (waiting->first == CR_NONE) {
        waiting->first = pd;
    } else {
        cr_scratch_of(planner, waiting->last)->slot = pd;
    }
    waiting->last = pd;
}

/* What a REQUEST or a HOLD needs: the manager of the space. */
static void reach_manager(cr_planner *planner, queue *waiting, uint32_t node)
{
    const cr_node *info = cr_look(planner, node);
    if (info->kind == CR_NODE_RESOURCE) {
        info = cr_look(planner, cr_parent_of(planner, info));
    }
    reach(planner, waiting, cr_parent_of(planner, info));
}

/* The PD whose body the resource stands for. The root task holds every body, as the one who made
 * it; that is no reason to keep the PD. */
static void reach_body(cr_planner *planner, queue *waiting, uint32_t node, int by_root)
{
    cr_walk bodies = cr_walk_start(planner, node, CR_EDGE_BODY, CR_IN);
    while (cr_walk_next(planner, &bodies)) {
        if (!by_root) {
            reach(planner, waiting, bodies.other);
        }
    }
}

/* Whether anybody can hold the PD's body. Who created the PD and does not has released it. */
static int has_body(cr_planner *planner, uint32_t pd)
{
    cr_walk bodies = cr_walk_start(planner, pd, CR_EDGE_BODY, CR_OUT);
    const int found = cr_walk_next(planner, &bodies);
    cr_walk_count(planner, &bodies);
    return found;
}

static void visit(cr_planner *planner, queue *waiting, uint32_t pd)
{
    const int by_root = (cr_look(planner, pd)->flags & CR_FLAG_ROOT) != 0;
    cr_walk walk = cr_walk_start(planner, pd, CR_EDGE_REQUEST, CR_OUT);
    while (cr_walk_next(planner, &walk)) {
        reach_manager(planner, waiting, walk.other);
    }
    walk = cr_walk_start(planner, pd, CR_EDGE_HOLD, CR_OUT);
    while (cr_walk_next(planner, &walk)) {
        reach_manager(planner, waiting, walk.other);
        reach_body(planner, waiting, walk.other, by_root);
    }
    walk = cr_walk_start(planner, pd, CR_EDGE_OWN, CR_OUT);
    while (cr_walk_next(planner, &walk)) {
        if (by_root || !has_body(planner, walk.other)) {
            reach(planner, waiting, walk.other);
        }
    }
    static const cr_edge_kind KINDS[] = {CR_EDGE_FAULT, CR_EDGE_LINK};
    for (uint32_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        walk = cr_walk_start(planner, pd, KINDS[i], CR_OUT);
        while (cr_walk_next(planner, &walk)) {
            reach(planner, waiting, walk.other);
        }
    }
}

/* Whether there is a PD at an index, which may be doomed. */
static int is_pd(cr_planner *planner, uint32_t index)
{
    const cr_node *node = cr_look(planner, index);
    return node->kind == CR_NODE_PD && node->state != CR_STATE_DESTROYED;
}

/* Marks every PD that is reached from the root task, from a pinned PD, or from one of `roots`. */
static void reach_all(cr_planner *planner, const cr_ref *roots, uint32_t count)
{
    const uint32_t nodes = planner->model->max_nodes;
    queue waiting = {CR_NONE, CR_NONE};
    planner->mark++;
    for (uint32_t i = 0; i < nodes && planner->status == CR_OK; i++) {
        if (is_pd(planner, i) &&
            (cr_look(planner, i)->flags & (CR_FLAG_ROOT | CR_FLAG_PINNED)) != 0) {
            reach(planner, &waiting, i);
        }
    }
    for (uint32_t i = 0; i < count && planner->status == CR_OK; i++) {
        cr_node_info info;
        if (cr_model_get(planner->model, roots[i], &info) == CR_OK && info.kind == CR_NODE_PD &&
            info.state != CR_STATE_DESTROYED) {
            reach(planner, &waiting, roots[i].index);
        }
    }
    /* Each PD enters the queue once, so this ends; the count keeps damaged memory from looping. */
    for (uint32_t left = nodes; left > 0 && waiting.first != CR_NONE; left--) {
        const uint32_t pd = waiting.first;
        if (!is_pd(planner, pd) || planner->status != CR_OK) {
            cr_fail(planner, CR_ERR_CORRUPT);
            return;
        }
        visit(planner, &waiting, pd);
        waiting.first = cr_scratch_of(planner, pd)->slot;
    }
}

static int was_reached(cr_planner *planner, uint32_t pd)
{
    return cr_scratch_of(planner, pd)->mark == planner->mark;
}

static void doom_pd(cr_planner *planner, uint32_t pd, cr_why why)
{
    const cr_doomed entry = {.node = cr_ref_to(planner, pd),
                             .pd_depth = 1,
                             .rs_depth = CR_NONE,
                             .why = why,
                             .cause = NOBODY};
    cr_add_found(planner, &entry);
    cr_list_managed(planner, pd);
}

void cr_find_unreached(cr_planner *planner, const cr_ref *roots, uint32_t count)
{
    const uint32_t nodes = planner->model->max_nodes;
    reach_all(planner, roots, count);
    for (uint32_t i = 0; i < nodes && planner->status == CR_OK; i++) {
        if (is_pd(planner, i) && cr_look(planner, i)->state == CR_STATE_ACTIVE &&
            !was_reached(planner, i)) {
            doom_pd(planner, i, CR_WHY_UNREACHED);
        }
    }
    planner->n_pds = planner->n_found;
    cr_find_managed_spaces(planner);
}

/* Takes out of the last plan what is reached by now. A space goes as long as its manager does. */
void cr_keep_unreached(cr_planner *planner, const cr_ref *roots, uint32_t count)
{
    const uint32_t found = planner->n_found;
    const uint32_t pds = planner->n_pds;
    uint32_t kept = 0;
    reach_all(planner, roots, count);
    planner->n_pds = 0;
    for (uint32_t i = 0; i < found && planner->status == CR_OK; i++) {
        cr_doomed entry = *cr_found_at(planner, i);
        const cr_node *info = cr_look(planner, entry.node.index);
        if (info->state == CR_STATE_DESTROYED || info->generation != entry.node.generation) {
            cr_fail(planner, CR_ERR_CORRUPT);
        }
        entry.group = 0; /* nothing was seen in a space (CR_SEEN) */
        const uint32_t pd = i < pds ? entry.node.index : cr_parent_of(planner, info);
        uint32_t place = 0;
        if (was_reached(planner, pd)) {
            cr_scratch_of(planner, entry.node.index)->local = CR_SPARED;
        } else if (cr_take_place(planner, CR_ROOM_NODES, &kept, &place)) {
            cr_scratch_of(planner, entry.node.index)->local = place;
            planner->found[place] = entry;
            planner->n_pds += i < pds;
        }
    }
    planner->n_found = kept;
}

void cr_find_unnamed(cr_planner *planner, const cr_ref *unnamed, uint32_t count)
{
    for (uint32_t i = 0; i < count && planner->status == CR_OK; i++) {
        if (cr_look(planner, unnamed[i].index)->kind == CR_NODE_PD &&
            cr_found_of(planner, unnamed[i].index) == NULL) {
            doom_pd(planner, unnamed[i].index, CR_WHY_UNNAMED);
        }
    }
    planner->n_pds = planner->n_found;
    cr_find_managed_spaces(planner);
    for (uint32_t i = 0; i < count && planner->status == CR_OK; i++) {
        if (cr_found_of(planner, unnamed[i].index) == NULL) {
            const cr_doomed entry = {.node = unnamed[i],
                                     .pd_depth = CR_NONE,
                                     .rs_depth = CR_NONE,
                                     .why = CR_WHY_UNNAMED,
                                     .cause = NOBODY};
            cr_add_found(planner, &entry);
        }
    }
}
