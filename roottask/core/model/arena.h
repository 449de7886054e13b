/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The layout of the model in its arena. Private to model/. Other code uses cellreap/model.h.
 *
 *   header | nodes[max_nodes] | edges[max_edges] | buckets[max_edges]
 *
 * The arena contains no pointers, so its bytes are valid at every address. Each edge is on three
 * lists: one list at each of its ends, and a hash chain. The lists at the ends are doubly linked,
 * so that dropping an edge needs no search. A structural edge is on no chain: its node names
 * the other end as its parent. */
#ifndef CELLREAP_MODEL_ARENA_H
#define CELLREAP_MODEL_ARENA_H

#include <cellreap/model.h>

struct cr_model {
    uint32_t magic;
    uint32_t version;
    uint32_t max_nodes;
    uint32_t max_edges;
    uint32_t n_nodes;   /* in use, tombstones included */
    uint32_t n_edges;   /* in use */
    uint32_t n_retired; /* node slots that ran out of generations and are never used again */
    uint32_t root;      /* index of the root task, CR_NONE if there is none */
    uint32_t free_node; /* heads of the free lists */
    uint32_t free_edge;
    uint64_t touched_nodes;
    uint64_t touched_edges;
};

typedef struct cr_node {
    uint32_t generation;
    uint32_t kind;
    uint32_t state;
    uint32_t flags;
    uint32_t type;
    uint32_t number;
    uint32_t holders;
    uint32_t members; /* of a space: its resources */
    uint32_t next_free;
    /* Space: its manager. Resource: its space. A tombstone keeps this reference for naming; the
     * reference may then be stale. */
    cr_ref parent;
    uint32_t head[CR_EDGE_KIND_COUNT][2];
} cr_node;

typedef struct cr_edge {
    uint32_t kind;    /* CR_EDGE_KIND_COUNT: the slot is free */
    uint32_t counts;  /* the count, and above it the handler of a SUBSCRIBE: see cr_counts */
    uint32_t end[2];  /* node at CR_OUT (from) and at CR_IN (to) */
    uint32_t next[2]; /* on the list of end[side] */
    uint32_t prev[2];
    uint32_t chain; /* next on the hash chain, or on the free list */
} cr_edge;

_Static_assert(sizeof(struct cr_model) == 56, "no padding: a saved arena has no undefined bytes");
_Static_assert(sizeof(cr_node) == 44 + 8 * (unsigned)CR_EDGE_KIND_COUNT, "no padding");
_Static_assert(sizeof(cr_edge) == 36, "no padding");

static inline const cr_node *cr_nodes(const cr_model *model)
{
    return (const cr_node *)(const void *)(model + 1);
}

static inline const cr_edge *cr_edges(const cr_model *model)
{
    return (const cr_edge *)(const void *)(cr_nodes(model) + model->max_nodes);
}

static inline const uint32_t *cr_buckets(const cr_model *model)
{
    return (const uint32_t *)(const void *)(cr_edges(model) + model->max_edges);
}

/* The same for writing. The arena of a model that is not const is not const either. */
static inline cr_node *cr_nodes_mut(cr_model *model)
{
    return (cr_node *)(void *)(model + 1);
}

static inline cr_edge *cr_edges_mut(cr_model *model)
{
    return (cr_edge *)(void *)(cr_nodes_mut(model) + model->max_nodes);
}

static inline uint32_t *cr_buckets_mut(cr_model *model)
{
    return (uint32_t *)(void *)(cr_edges_mut(model) + model->max_edges);
}

/* The node and the edge at an index. Every index that is read from the arena goes through these
 * functions. Only a corrupt arena contains an index out of range. Any entry then serves, because no
 * access may leave the arena, whatever its bytes are. */
static inline const cr_node *cr_node_at(const cr_model *model, uint32_t index)
{
    return &cr_nodes(model)[index < model->max_nodes ? index : 0];
}

static inline cr_node *cr_node_at_mut(cr_model *model, uint32_t index)
{
    return &cr_nodes_mut(model)[index < model->max_nodes ? index : 0];
}

static inline const cr_edge *cr_edge_at(const cr_model *model, uint32_t index)
{
    return &cr_edges(model)[index < model->max_edges ? index : 0];
}

static inline cr_edge *cr_edge_at_mut(cr_model *model, uint32_t index)
{
    return &cr_edges_mut(model)[index < model->max_edges ? index : 0];
}

/* Edges of these kinds are added and dropped only together with their node. */
static inline int cr_is_structural(uint32_t kind)
{
    return kind == CR_EDGE_MANAGE || kind == CR_EDGE_SUBSET;
}

/* A count takes the low bits of the word. */
enum { CR_COUNT_BITS = 20 };
_Static_assert(CR_COUNT_MAX == (1 << CR_COUNT_BITS) - 1, "counts take these bits");

static inline uint32_t cr_counts(uint32_t count, uint32_t handler)
{
    return handler << CR_COUNT_BITS | count;
}

static inline uint32_t cr_count_of(const cr_edge *edge)
{
    return edge->counts & (uint32_t)CR_COUNT_MAX;
}

static inline uint32_t cr_handler_of(const cr_edge *edge)
{
    return edge->counts >> CR_COUNT_BITS;
}

/* The list that an edge is on at one of its ends. A LINK has no direction. It is on the OUT list of
 * both ends, so that one walk finds all PDs that a PD is linked with. */
static inline cr_direction cr_list_of(uint32_t kind, cr_direction side)
{
    return kind == CR_EDGE_LINK ? CR_OUT : side;
}

/* The index in `next` and `prev` of an edge that belongs to the list of `node` in `direction`. */
static inline cr_direction cr_side_of(const cr_edge *edge, uint32_t node, cr_direction direction)
{
    if (edge->kind == CR_EDGE_LINK) {
        return edge->end[CR_OUT] == node ? CR_OUT : CR_IN;
    }
    return direction;
}

/* Whether the kinds of these nodes fit an edge of this kind. */
int cr_ends_fit(const cr_model *model, uint32_t kind, uint32_t from, uint32_t to);

/* Whether an edge of this kind may run from a node to itself. */
int cr_may_be_its_own(uint32_t kind);

/* Whether an edge of this kind may have the root task at the given ends. `from_root`, `to_root`:
 * the root task is at that end. */
int cr_root_may(uint32_t kind, int from_root, int to_root);

uint32_t cr_bucket_of(const cr_model *model, uint32_t kind, uint32_t from, uint32_t to);

/* Returns the index of the edge, or CR_NONE. LINK ends must be in ascending order. `handler`: of a
 * SUBSCRIBE; else 0. *steps: the number of edges visited. */
uint32_t cr_find_edge(const cr_model *model, uint32_t kind, uint32_t from, uint32_t to,
                      uint32_t handler, uint32_t *steps);

#endif
