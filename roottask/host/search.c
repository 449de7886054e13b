/* SPDX-License-Identifier: BSD-2-Clause */
#include "search.h"

#include "../core/model/arena.h"

/* The two traversals of docs/semantics.md, "What a crash dooms", at unlimited depths: PDs with
 * their spaces, and then what maps to the trigger's own spaces. */
typedef struct search {
    const cr_model *model;
    uint32_t *marks;
    uint32_t *queue;
    uint32_t fresh;
    uint32_t n;
    uint32_t *mapped; /* the spaces at rs depth */
    uint32_t n_mapped;
} search;

static void put(search *s, uint32_t node)
{
    if (s->marks[node] != s->fresh && cr_node_at(s->model, node)->state == CR_STATE_ACTIVE) {
        s->marks[node] = s->fresh;
        s->queue[s->n++] = node;
    }
}

/* A PD that policy may doom. */
static void put_client(search *s, uint32_t pd)
{
    if ((cr_node_at(s->model, pd)->flags & (CR_FLAG_ROOT | CR_FLAG_PINNED)) == 0) {
        put(s, pd);
    }
}

static uint32_t first(const search *s, uint32_t node, cr_edge_kind kind, cr_direction direction)
{
    return cr_node_at(s->model, node)->head[kind][cr_list_of(kind, direction)];
}

/* The node at the other end of an edge on a list of `node`. *edge becomes the next one. */
static uint32_t step(const search *s, uint32_t *edge, uint32_t node, cr_direction direction)
{
    const cr_edge *at = cr_edge_at(s->model, *edge);
    const cr_direction side = cr_side_of(at, node, direction);
    *edge = at->next[side];
    return at->end[side == CR_OUT ? CR_IN : CR_OUT];
}

static void put_holders(search *s, uint32_t resource)
{
    for (uint32_t e = first(s, resource, CR_EDGE_HOLD, CR_IN); e != CR_NONE;) {
        put_client(s, step(s, &e, resource, CR_IN));
    }
}

static void put_clients(search *s, uint32_t space)
{
    for (uint32_t e = first(s, space, CR_EDGE_REQUEST, CR_IN); e != CR_NONE;) {
        put_client(s, step(s, &e, space, CR_IN));
    }
    for (uint32_t e = first(s, space, CR_EDGE_SUBSET, CR_IN); e != CR_NONE;) {
        put_holders(s, step(s, &e, space, CR_IN));
    }
}

/* Whether a PD holds or requests something of a space, by its own edges. */
static int is_client(const search *s, uint32_t pd, uint32_t space)
{
    for (uint32_t e = first(s, pd, CR_EDGE_REQUEST, CR_OUT); e != CR_NONE;) {
        if (step(s, &e, pd, CR_OUT) == space) {
            return 1;
        }
    }
    for (uint32_t e = first(s, pd, CR_EDGE_HOLD, CR_OUT); e != CR_NONE;) {
        const cr_node *held = cr_node_at(s->model, step(s, &e, pd, CR_OUT));
        if (held->kind == CR_NODE_RESOURCE && held->parent.index == space) {
            return 1;
        }
    }
    return 0;
}

static void scan_clients(search *s, uint32_t space)
{
    for (uint32_t pd = 0; pd < s->model->max_nodes; pd++) {
        if (cr_node_at(s->model, pd)->kind == CR_NODE_PD && is_client(s, pd, space)) {
            put_client(s, pd);
        }
    }
}

static void put_bound(search *s, uint32_t pd)
{
    for (uint32_t e = first(s, pd, CR_EDGE_LINK, CR_OUT); e != CR_NONE;) {
        put(s, step(s, &e, pd, CR_OUT));
    }
    for (uint32_t e = first(s, pd, CR_EDGE_FAULT, CR_IN); e != CR_NONE;) {
        put(s, step(s, &e, pd, CR_IN));
    }
}

/* A space to which a space at rs depth maps up is at rs depth too, also if it is doomed already. */
static void put_mapped(search *s, uint32_t space)
{
    if (s->marks[space] == s->fresh + 1 ||
        (cr_node_at(s->model, space)->flags & CR_FLAG_CORE) != 0) {
        return;
    }
    put(s, space);
    if (s->marks[space] == s->fresh) {
        s->marks[space] = s->fresh + 1;
        s->mapped[s->n_mapped++] = space;
    }
}

static void put_upper(search *s, uint32_t node)
{
    for (uint32_t e = first(s, node, CR_EDGE_MAP, CR_IN); e != CR_NONE;) {
        const uint32_t upper = step(s, &e, node, CR_IN);
        const cr_node *info = cr_node_at(s->model, upper);
        put_mapped(s, info->kind == CR_NODE_SPACE ? upper : info->parent.index);
    }
}

static void put_managed(search *s, uint32_t pd)
{
    for (uint32_t e = first(s, pd, CR_EDGE_MANAGE, CR_OUT); e != CR_NONE;) {
        put(s, step(s, &e, pd, CR_OUT));
    }
}

static uint32_t searched(const cr_model *model, cr_ref trigger, uint32_t *marks, uint32_t *queue,
                         uint32_t fresh, int scans)
{
    search s = {.model = model,
                .marks = marks,
                .queue = queue,
                .fresh = fresh,
                .n = 0,
                .mapped = queue + model->max_nodes,
                .n_mapped = 0};
    put(&s, trigger.index);
    for (uint32_t at = 0; at < s.n; at++) {
        put_bound(&s, queue[at]);
    }
    const uint32_t own_pds = s.n;
    for (uint32_t at = 0; at < own_pds; at++) {
        put_managed(&s, queue[at]);
    }
    const uint32_t own = s.n;
    for (uint32_t at = own_pds; at < s.n; at++) {
        const uint32_t node = queue[at];
        if (cr_node_at(model, node)->kind == CR_NODE_PD) {
            put_bound(&s, node);
            put_managed(&s, node);
        } else if (scans) {
            scan_clients(&s, node);
        } else {
            put_clients(&s, node);
        }
    }
    for (uint32_t at = own_pds; at < own; at++) {
        put_mapped(&s, queue[at]);
    }
    for (uint32_t at = 0; at < s.n_mapped; at++) {
        const uint32_t space = s.mapped[at];
        put_upper(&s, space);
        for (uint32_t e = first(&s, space, CR_EDGE_SUBSET, CR_IN); e != CR_NONE;) {
            put_upper(&s, step(&s, &e, space, CR_IN));
        }
    }
    return s.n;
}

uint32_t cr_search_bare(const cr_model *model, cr_ref trigger, uint32_t *marks, uint32_t *queue,
                        uint32_t fresh)
{
    return searched(model, trigger, marks, queue, fresh, 0);
}

uint32_t cr_search_scan(const cr_model *model, cr_ref trigger, uint32_t *marks, uint32_t *queue,
                        uint32_t fresh)
{
    return searched(model, trigger, marks, queue, fresh, 1);
}
