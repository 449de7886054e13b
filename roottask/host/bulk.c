/* SPDX-License-Identifier: BSD-2-Clause */
#include "bulk.h"

static cr_status make(cr_model *model, const cr_bulk_node *node, uint32_t place, cr_ref *out)
{
    if (node->kind == CR_NODE_PD) {
        return cr_model_add_pd(model, node->number, node->flags, &out[place]);
    }
    if (node->parent >= place) {
        return CR_ERR_ARG;
    }
    const cr_ref parent = out[node->parent];
    if (node->kind == CR_NODE_SPACE) {
        return cr_model_add_space(model, node->type, node->number, node->flags, parent,
                                  &out[place]);
    }
    if (node->kind == CR_NODE_RESOURCE) {
        return cr_model_add_resource(model, parent, node->number, &out[place]);
    }
    return CR_ERR_ARG;
}

cr_status cr_bulk_nodes(cr_model *model, const cr_bulk_node *nodes, uint32_t n, cr_ref *out,
                        uint32_t *made)
{
    cr_status status = CR_OK;
    for (*made = 0; *made < n; (*made)++) {
        status = make(model, &nodes[*made], *made, out);
        if (status != CR_OK) {
            break;
        }
    }
    return status;
}

cr_status cr_bulk_edges(cr_model *model, const uint64_t *edges, uint32_t n, const cr_ref *refs,
                        uint32_t n_refs, uint32_t *made)
{
    cr_status status = CR_OK;
    for (*made = 0; *made < n; (*made)++) {
        const uint64_t edge = edges[*made];
        const uint32_t kind = (uint32_t)(edge & ((1u << CR_BULK_TO) - 1));
        const uint32_t from = (uint32_t)(edge >> CR_BULK_FROM);
        const uint32_t to = (uint32_t)(edge >> CR_BULK_TO) & ((1u << 29) - 1);
        if (kind >= CR_EDGE_KIND_COUNT || from >= n_refs || to >= n_refs) {
            status = CR_ERR_ARG;
        } else {
            status = cr_model_add_edge(model, (cr_edge_kind)kind, refs[from], refs[to]);
        }
        if (status != CR_OK) {
            break;
        }
    }
    return status;
}
