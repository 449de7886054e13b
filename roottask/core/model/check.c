/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks whether an arena is sound. The functions of model.c rely on what is checked here: indices,
 * lists, hash chains, counts, and the rules of the graph that model.c maintains. If an arena
 * passes, no later call can access memory outside it or loop forever.
 *
 * A doubly linked list has no cycle if its head has no predecessor and each edge names the edge
 * before it. The check also compares the total length of all lists with twice the number of edges,
 * so every edge is on both of its lists. */
#include "arena.h"

static int fits_flags(const cr_model *model, uint32_t index)
{
    const cr_node *node = &cr_nodes(model)[index];
    uint32_t allowed = 0;
    if (node->kind == CR_NODE_PD) {
        allowed = CR_FLAG_ROOT | CR_FLAG_PINNED;
    } else if (node->kind == CR_NODE_SPACE) {
        allowed = CR_FLAG_CORE | CR_FLAG_REGIONS;
    }
    return (node->flags & ~allowed) == 0 &&
           ((node->flags & CR_FLAG_ROOT) != 0) == (index == model->root);
}

/* Walks one list. Returns its number of edges, or CR_NONE if the list is broken. */
static uint32_t list_length(const cr_model *model, uint32_t node, uint32_t kind,
                            cr_direction direction)
{
    const cr_edge *edges = cr_edges(model);
    uint32_t previous = CR_NONE;
    uint32_t length = 0;
    uint32_t index = cr_nodes(model)[node].head[kind][direction];
    while (index != CR_NONE) {
        if (index >= model->max_edges || length >= model->max_edges) {
            return CR_NONE;
        }
        const cr_edge *edge = &edges[index];
        const cr_direction side = cr_side_of(edge, node, direction);
        if (edge->kind != kind || edge->end[side] != node || edge->prev[side] != previous) {
            return CR_NONE;
        }
        length++;
        previous = index;
        index = edge->next[side];
    }
    return length;
}

/* Whether `parent` agrees with the MANAGE edge of a space or the SUBSET edge of a resource. */
static int parent_agrees(const cr_model *model, uint32_t index)
{
    const cr_node *node = &cr_nodes(model)[index];
    const int is_space = node->kind == CR_NODE_SPACE;
    const uint32_t edge =
        is_space ? node->head[CR_EDGE_MANAGE][CR_IN] : node->head[CR_EDGE_SUBSET][CR_OUT];
    if (edge >= model->max_edges || node->parent.index >= model->max_nodes) {
        return 0;
    }
    const cr_node *parent = cr_node_at(model, node->parent.index);
    const uint32_t other = cr_edge_at(model, edge)->end[is_space ? CR_OUT : CR_IN];
    if (other != node->parent.index || parent->generation != node->parent.generation) {
        return 0;
    }
    if (is_space) {
        return node->flags == 0 || other == model->root;
    }
    return node->type == parent->type;
}

static int at_most_one(uint32_t kind, cr_direction direction)
{
    return (kind == CR_EDGE_FAULT && direction == CR_OUT) || kind == CR_EDGE_BODY ||
           (kind == CR_EDGE_MANAGE && direction == CR_IN) ||
           (kind == CR_EDGE_SUBSET && direction == CR_OUT);
}

static int node_sound(const cr_model *model, uint32_t index, uint64_t *listed)
{
    const cr_node *node = &cr_nodes(model)[index];
    const int used = node->kind != CR_NODE_FREE;
    if (node->kind >= CR_NODE_KIND_COUNT || node->state >= CR_STATE_COUNT ||
        node->generation == 0 || node->generation > CR_GENERATION_MAX) {
        return 0;
    }
    if (used &&
        (!fits_flags(model, index) || (index == model->root && node->state != CR_STATE_ACTIVE))) {
        return 0;
    }
    const int linked = used && node->state != CR_STATE_DESTROYED;
    for (uint32_t kind = 0; kind < CR_EDGE_KIND_COUNT; kind++) {
        for (uint32_t direction = 0; direction < 2; direction++) {
            const uint32_t length = list_length(model, index, kind, (cr_direction)direction);
            if (length == CR_NONE || (!linked && length != 0) ||
                (length > 1 && at_most_one(kind, (cr_direction)direction))) {
                return 0;
            }
            if (direction == CR_IN && ((kind == CR_EDGE_HOLD && node->holders != length) ||
                                       (kind == CR_EDGE_SUBSET && node->members != length))) {
                return 0;
            }
            *listed += length;
        }
    }
    return !linked || node->kind == CR_NODE_PD || parent_agrees(model, index);
}

static int edge_sound(const cr_model *model, uint32_t index)
{
    const cr_edge *edge = &cr_edges(model)[index];
    const uint32_t from = edge->end[CR_OUT];
    const uint32_t to = edge->end[CR_IN];
    if (from >= model->max_nodes || to >= model->max_nodes ||
        !cr_ends_fit(model, edge->kind, from, to)) {
        return 0;
    }
    const uint32_t handler = cr_handler_of(edge);
    if (cr_count_of(edge) == 0 || handler >= CR_HANDLER_COUNT ||
        (handler != 0 && edge->kind != CR_EDGE_SUBSCRIBE)) {
        return 0;
    }
    if (cr_count_of(edge) > 1 && edge->kind != CR_EDGE_HOLD && edge->kind != CR_EDGE_SUBSCRIBE) {
        return 0;
    }
    if (edge->kind == CR_EDGE_LINK && from >= to) {
        return 0;
    }
    if ((from == to && !cr_may_be_its_own(edge->kind)) ||
        !cr_root_may(edge->kind, from == model->root, to == model->root)) {
        return 0;
    }
    uint32_t steps = 0;
    /* The edge must be on its hash chain, with no duplicate before it. */
    return cr_is_structural(edge->kind)
               ? edge->chain == CR_NONE
               : cr_find_edge(model, edge->kind, from, to, handler, &steps) == index;
}

/* *chained: the number of edges on all chains. */
static int chains_sound(const cr_model *model, uint32_t *chained)
{
    const cr_edge *edges = cr_edges(model);
    uint32_t seen = 0;
    for (uint32_t bucket = 0; bucket < model->max_edges; bucket++) {
        for (uint32_t index = cr_buckets(model)[bucket]; index != CR_NONE;
             index = edges[index].chain) {
            if (index >= model->max_edges || edges[index].kind >= CR_EDGE_KIND_COUNT ||
                seen == model->n_edges || cr_is_structural(edges[index].kind) ||
                cr_bucket_of(model, edges[index].kind, edges[index].end[CR_OUT],
                             edges[index].end[CR_IN]) != bucket) {
                return 0;
            }
            seen++;
        }
    }
    *chained = seen;
    return 1;
}

static int free_lists_sound(const cr_model *model)
{
    const uint32_t free_nodes = model->max_nodes - model->n_nodes - model->n_retired;
    const uint32_t free_edges = model->max_edges - model->n_edges;
    uint32_t seen = 0;
    for (uint32_t i = model->free_node; i != CR_NONE; i = cr_nodes(model)[i].next_free) {
        if (i >= model->max_nodes || cr_nodes(model)[i].kind != CR_NODE_FREE ||
            seen == free_nodes) {
            return 0;
        }
        seen++;
    }
    if (seen != free_nodes) {
        return 0;
    }
    seen = 0;
    for (uint32_t i = model->free_edge; i != CR_NONE; i = cr_edges(model)[i].chain) {
        if (i >= model->max_edges || cr_edges(model)[i].kind != CR_EDGE_KIND_COUNT ||
            seen == free_edges) {
            return 0;
        }
        seen++;
    }
    return seen == free_edges;
}

static int header_sound(const cr_model *model)
{
    return model->magic == CR_MODEL_MAGIC && model->version == CR_MODEL_VERSION &&
           cr_model_bytes(model->max_nodes, model->max_edges) != 0 &&
           model->n_nodes <= model->max_nodes &&
           model->n_retired <= model->max_nodes - model->n_nodes &&
           model->n_edges <= model->max_edges &&
           (model->root == CR_NONE ||
            (model->root < model->max_nodes && cr_nodes(model)[model->root].kind == CR_NODE_PD));
}

cr_status cr_model_check(const cr_model *model)
{
    uint64_t listed = 0;
    uint32_t used_nodes = 0;
    uint32_t used_edges = 0;
    if (!header_sound(model) || !free_lists_sound(model)) {
        return CR_ERR_CORRUPT;
    }
    for (uint32_t i = 0; i < model->max_nodes; i++) {
        if (!node_sound(model, i, &listed)) {
            return CR_ERR_CORRUPT;
        }
        used_nodes += cr_nodes(model)[i].kind != CR_NODE_FREE ? 1u : 0u;
    }
    uint32_t chained = 0;
    if (!chains_sound(model, &chained)) {
        return CR_ERR_CORRUPT;
    }
    for (uint32_t i = 0; i < model->max_edges; i++) {
        if (cr_edges(model)[i].kind == CR_EDGE_KIND_COUNT) {
            continue;
        }
        if (cr_edges(model)[i].kind > CR_EDGE_KIND_COUNT || !edge_sound(model, i)) {
            return CR_ERR_CORRUPT;
        }
        used_edges++;
        chained -= cr_is_structural(cr_edges(model)[i].kind) ? 0u : 1u;
    }
    if (used_nodes != model->n_nodes || used_edges != model->n_edges || chained != 0 ||
        listed != 2 * (uint64_t)used_edges) {
        return CR_ERR_CORRUPT;
    }
    return CR_OK;
}

cr_status cr_model_open(void *memory, size_t bytes, cr_model **out)
{
    if (memory == NULL || out == NULL || bytes < sizeof(cr_model) || (uintptr_t)memory % 8 != 0) {
        return CR_ERR_MEMORY;
    }
    cr_model *model = memory;
    const size_t needed = cr_model_bytes(model->max_nodes, model->max_edges);
    if (model->magic == CR_MODEL_MAGIC && model->version > CR_MODEL_VERSION) {
        return CR_ERR_VERSION; /* before anything else that a later version may have changed */
    }
    if (model->magic != CR_MODEL_MAGIC || model->version == 0 || needed == 0) {
        return CR_ERR_CORRUPT;
    }
    if (bytes < needed) {
        return CR_ERR_MEMORY;
    }
    const cr_status status = cr_model_check(model);
    if (status == CR_OK) {
        *out = model;
    }
    return status;
}
