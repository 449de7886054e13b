/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See closeness.h. A memory object counts as many times as it has pages. */
#include "closeness.h"
#include "arena.h"
#include "kernel/untyped.h"
#include "system/memory.h"
#include "system/text.h"

_Static_assert((int)CR_IMAGE_MAX_RSI_MINS == (int)CR_RSI_MINS_MAX, "the same limit");
_Static_assert((uint32_t)CR_IMAGE_NONE == (uint32_t)CR_FR_UNLIMITED, "the same number");

cr_status cr_closeness_init(const cr_image_header *image)
{
    cr_closeness_state *state = &cr_sup.closeness;
    state->now = (cr_closeness){.policy = (cr_policy)image->policy,
                                .fr_max = image->fr_max,
                                .n_rsi_min = image->rsi_mins.count,
                                .rsi_min = state->least};
    if (state->now.policy == CR_POLICY_DEPTH) {
        return CR_OK;
    }
    const size_t bytes = cr_metrics_bytes(cr_node_entries(), cr_most.types);
    state->resources = cr_table_take(cr_node_entries(), sizeof(state->resources[0]));
    state->now.resources = state->resources;
    return cr_metrics_init(cr_table_take(bytes, 1), bytes, cr_node_entries(), cr_most.types,
                           &state->now.metrics);
}

static uint32_t weight_of(cr_ref resource)
{
    return cr_is_memory(resource) && !cr_is_region(resource) &&
                   *cr_memory_block(resource) != CR_BLOCK_NONE
               ? cr_memory_pages(resource).count
               : 1;
}

static void count_resources(cr_metric_resource *resources)
{
    for (uint32_t i = 0; i < cr_node_entries(); i++) {
        cr_ref node;
        cr_node_info info;
        if (cr_model_at(cr_sys.model, i, &node) == CR_OK &&
            cr_model_get(cr_sys.model, node, &info) == CR_OK && info.kind == CR_NODE_RESOURCE &&
            info.state != CR_STATE_DESTROYED) {
            resources[i] = (cr_metric_resource){.type = info.type, .weight = weight_of(node)};
        }
    }
}

/* A type of which there is no space has no number, and no PD is close by it. */
const cr_closeness *cr_closeness_now(void)
{
    cr_closeness_state *state = &cr_sup.closeness;
    if (state->now.policy == CR_POLICY_DEPTH) {
        return 0;
    }
    count_resources(state->resources);
    for (uint32_t i = 0; i < state->now.n_rsi_min; i++) {
        const cr_image_rsi_min *row = &cr_image_rsi_mins(cr_sys.image)[i];
        state->least[i] = (cr_rsi_min){.type = CR_NONE, .shared = row->shared, .all = row->all};
        for (uint32_t type = 0; type < cr_most.types; type++) {
            if (cr_sys.type_spaces[type] != 0 && cr_text_same(cr_sys.types[type], row->type)) {
                state->least[i].type = type;
            }
        }
    }
    return &state->now;
}
