/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The planner's access to the model. Each step along a list and each node read is counted here. */
#include "planner.h"

void cr_fail(cr_planner *planner, cr_status status)
{
    if (planner->status == CR_OK) {
        planner->status = status;
    }
}

int cr_take_place(cr_planner *planner, uint32_t *count, uint32_t *place)
{
    const uint32_t next = *count;
    if (next >= planner->max_items) {
        cr_fail(planner, CR_ERR_FULL_PLAN);
        return 0;
    }
    if (planner->status != CR_OK) {
        return 0;
    }
    *place = next;
    *count = next + 1;
    return 1;
}

cr_walk cr_walk_start(cr_planner *planner, cr_ref node, cr_edge_kind kind, cr_direction direction)
{
    const cr_walk walk = {
        .node = node,
        .direction = direction,
        .edge = cr_model_first(planner->model, node, kind, direction),
        .left = cr_model_get_stats(planner->model).max_edges,
        .other = {CR_NONE, 0},
    };
    cr_model_touch(planner->model, 1, 0);
    return walk;
}

int cr_walk_next(cr_planner *planner, cr_walk *walk)
{
    cr_edge_info info;
    if (walk->edge == CR_NONE || planner->status != CR_OK) {
        return 0;
    }
    if (walk->left == 0 || cr_model_edge(planner->model, walk->edge, &info) != CR_OK) {
        cr_fail(planner, CR_ERR_CORRUPT);
        return 0;
    }
    cr_model_touch(planner->model, 0, 1);
    walk->left--;
    if (info.kind == CR_EDGE_LINK) {
        walk->other = info.from.index == walk->node.index ? info.to : info.from;
    } else {
        walk->other = walk->direction == CR_OUT ? info.to : info.from;
    }
    walk->edge = cr_model_next(planner->model, walk->edge, walk->node, walk->direction);
    return 1;
}

cr_node_info cr_look(cr_planner *planner, cr_ref node)
{
    cr_node_info info = {.kind = CR_NODE_FREE,
                         .state = CR_STATE_DESTROYED,
                         .space = {CR_NONE, 0},
                         .manager = {CR_NONE, 0}};
    if (cr_model_get(planner->model, node, &info) != CR_OK) {
        cr_fail(planner, CR_ERR_CORRUPT);
    }
    /* The manager of a resource is read from its space, which is a second node. */
    cr_model_touch(planner->model, info.kind == CR_NODE_RESOURCE ? 2 : 1, 0);
    return info;
}

cr_scratch *cr_scratch_of(cr_planner *planner, cr_ref node)
{
    /* Only a corrupt arena contains an index out of range. The plan has then failed, so any record
     * serves. */
    if (node.index >= planner->max_nodes) {
        cr_fail(planner, CR_ERR_CORRUPT);
    }
    cr_scratch *scratch = &planner->scratch[node.index < planner->max_nodes ? node.index : 0];
    if (scratch->epoch != planner->epoch) {
        scratch->epoch = planner->epoch;
        scratch->local = CR_NONE;
        scratch->lost_holds = 0;
        scratch->is_body = 0;
    }
    return scratch;
}

cr_doomed *cr_found_of(cr_planner *planner, cr_ref node)
{
    const uint32_t local = cr_scratch_of(planner, node)->local;
    return local < planner->n_found ? cr_found_at(planner, local) : NULL;
}

int cr_first_time(cr_planner *planner, cr_ref node)
{
    cr_scratch *scratch = cr_scratch_of(planner, node);
    const int first = scratch->mark != planner->mark;
    scratch->mark = planner->mark;
    return first;
}

int cr_survives(cr_planner *planner, cr_ref pd, int *is_root)
{
    const cr_node_info info = cr_look(planner, pd);
    *is_root = (info.flags & CR_FLAG_ROOT) != 0;
    return info.kind == CR_NODE_PD && info.state == CR_STATE_ACTIVE &&
           cr_found_of(planner, pd) == NULL;
}
