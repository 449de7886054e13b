/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The model: node slots, references, edges and node states. The contract of each function is in
 * cellreap/model.h. The layout of the memory is in arena.h.
 *
 * Two rules hold for all functions. A function checks everything before it changes anything, so a
 * refused call leaves the graph unchanged. Every loop ends within a limit from the header of the
 * arena, and no access leaves the arena, even if a list is corrupt (docs/proof.md). */
#include "arena.h"

enum { LIMIT = 0x7fffffff, LISTS = 2 * CR_EDGE_KIND_COUNT /* of the edges of a node */ };

/* The lists on which a node of a kind can have edges, as cr_ends_fit allows them: twice the kind of
 * the edges, and the direction. LISTS is the end. */
enum { LISTS_MOST = 11 };
static const uint8_t lists_of[CR_NODE_KIND_COUNT][LISTS_MOST] = {
    [CR_NODE_FREE] = {LISTS},
    [CR_NODE_PD] = {2 * CR_EDGE_HOLD, 2 * CR_EDGE_REQUEST, 2 * CR_EDGE_FAULT,
                    2 * CR_EDGE_FAULT + CR_IN, 2 * CR_EDGE_LINK, 2 * CR_EDGE_OWN,
                    2 * CR_EDGE_OWN + CR_IN, 2 * CR_EDGE_SUBSCRIBE, 2 * CR_EDGE_SUBSCRIBE + CR_IN,
                    2 * CR_EDGE_BODY, LISTS},
    [CR_NODE_SPACE] = {2 * CR_EDGE_HOLD + CR_IN, 2 * CR_EDGE_REQUEST + CR_IN, 2 * CR_EDGE_MAP,
                       2 * CR_EDGE_MAP + CR_IN, 2 * CR_EDGE_SUBSCRIBE + CR_IN,
                       2 * CR_EDGE_MANAGE + CR_IN, LISTS},
    [CR_NODE_RESOURCE] = {2 * CR_EDGE_HOLD + CR_IN, 2 * CR_EDGE_MAP, 2 * CR_EDGE_MAP + CR_IN,
                          2 * CR_EDGE_SUBSET, 2 * CR_EDGE_BODY + CR_IN, LISTS},
};

/* ---- memory ---------------------------------------------------------------------------------- */

size_t cr_model_bytes(uint32_t max_nodes, uint32_t max_edges)
{
    if (max_nodes == 0 || max_nodes > LIMIT || max_edges == 0 || max_edges > LIMIT) {
        return 0;
    }
    const uint64_t bytes = (uint64_t)sizeof(cr_model) + (uint64_t)max_nodes * sizeof(cr_node) +
                           (uint64_t)max_edges * (sizeof(cr_edge) + sizeof(uint32_t));
    return bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

/* For init. Of an entry that is not in use, later only its kind, its link on the free list and the
 * empty lists of a node are kept right: the rest is set when it is taken. */
static void clear_node(cr_node *node)
{
    node->kind = CR_NODE_FREE;
    node->state = CR_STATE_ACTIVE;
    node->flags = 0;
    node->type = 0;
    node->number = 0;
    node->holders = 0;
    node->members = 0;
    node->next_free = CR_NONE;
    node->parent.index = CR_NONE;
    node->parent.generation = 0;
    for (uint32_t kind = 0; kind < CR_EDGE_KIND_COUNT; kind++) {
        node->head[kind][CR_OUT] = CR_NONE;
        node->head[kind][CR_IN] = CR_NONE;
    }
}

static void clear_edge(cr_edge *edge)
{
    edge->kind = CR_EDGE_KIND_COUNT;
    edge->counts = 0;
    for (int side = 0; side < 2; side++) {
        edge->end[side] = CR_NONE;
        edge->next[side] = CR_NONE;
        edge->prev[side] = CR_NONE;
    }
    edge->chain = CR_NONE;
}

cr_status cr_model_init(void *memory, size_t bytes, uint32_t max_nodes, uint32_t max_edges,
                        cr_model **out)
{
    const size_t needed = cr_model_bytes(max_nodes, max_edges);
    if (memory == NULL || out == NULL || needed == 0) {
        return CR_ERR_ARG;
    }
    if (bytes < needed || (uintptr_t)memory % 8 != 0) {
        return CR_ERR_MEMORY;
    }
    cr_model *model = memory;
    model->magic = CR_MODEL_MAGIC;
    model->version = CR_MODEL_VERSION;
    model->max_nodes = max_nodes;
    model->max_edges = max_edges;
    model->n_nodes = 0;
    model->n_edges = 0;
    model->n_retired = 0;
    model->root = CR_NONE;
    model->free_node = 0;
    model->free_edge = 0;
    model->touched_nodes = 0;
    model->touched_edges = 0;
    cr_node *nodes = cr_nodes_mut(model);
    for (uint32_t i = 0; i < max_nodes; i++) {
        clear_node(&nodes[i]);
        nodes[i].generation = 1; /* a reference of all zeros is never valid */
        nodes[i].next_free = i + 1 < max_nodes ? i + 1 : CR_NONE;
    }
    cr_edge *edges = cr_edges_mut(model);
    for (uint32_t i = 0; i < max_edges; i++) {
        clear_edge(&edges[i]);
        edges[i].chain = i + 1 < max_edges ? i + 1 : CR_NONE;
    }
    uint32_t *buckets = cr_buckets_mut(model);
    for (uint32_t i = 0; i < max_edges; i++) {
        buckets[i] = CR_NONE;
    }
    *out = model;
    return CR_OK;
}

cr_status cr_model_age(cr_model *model, uint32_t uses)
{
    if (uses == 0 || uses > CR_GENERATION_MAX) {
        return CR_ERR_ARG;
    }
    cr_node *nodes = cr_nodes_mut(model);
    for (uint32_t i = 0; i < model->max_nodes; i++) {
        if (nodes[i].kind != CR_NODE_FREE && (nodes[i].flags & CR_FLAG_ROOT) == 0) {
            return CR_ERR_STATE;
        }
    }
    for (uint32_t i = 0; i < model->max_nodes; i++) {
        if (nodes[i].kind == CR_NODE_FREE) {
            nodes[i].generation = CR_GENERATION_MAX - uses + 1;
        }
    }
    return CR_OK;
}

/* ---- references ------------------------------------------------------------------------------ */

static const cr_node *node_at(const cr_model *model, cr_ref ref)
{
    if (ref.index >= model->max_nodes) {
        return NULL;
    }
    const cr_node *node = &cr_nodes(model)[ref.index];
    return node->kind != CR_NODE_FREE && node->generation == ref.generation ? node : NULL;
}

static cr_node *node_at_mut(cr_model *model, cr_ref ref)
{
    model->touched_nodes++;
    return node_at(model, ref) != NULL ? cr_node_at_mut(model, ref.index) : NULL;
}

static cr_ref ref_of(const cr_model *model, uint32_t index)
{
    const cr_ref ref = {index, index < model->max_nodes ? cr_nodes(model)[index].generation : 0};
    return ref;
}

/* CR_OK if `ref` is a node of this kind that is not destroyed, else the error. */
static cr_status expect(const cr_model *model, cr_ref ref, cr_node_kind kind)
{
    const cr_node *node = node_at(model, ref);
    if (node == NULL) {
        return CR_ERR_STALE;
    }
    if (node->kind != kind) {
        return CR_ERR_KIND;
    }
    return node->state == CR_STATE_DESTROYED ? CR_ERR_STATE : CR_OK;
}

static cr_ref take_node(cr_model *model, cr_node_kind kind, uint32_t type, uint32_t number,
                        uint32_t flags, cr_ref parent)
{
    const uint32_t index = model->free_node;
    cr_node *node = cr_node_at_mut(model, index);
    model->touched_nodes++;
    model->free_node = node->next_free;
    model->n_nodes++;
    node->kind = kind;
    node->state = CR_STATE_ACTIVE;
    node->holders = 0;
    node->members = 0;
    node->type = type;
    node->number = number;
    node->flags = flags;
    node->parent = parent;
    return ref_of(model, index);
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* The bucket of an edge, of so many. */
static inline uint32_t bucket_in(uint32_t buckets, uint32_t kind, uint32_t from, uint32_t to)
{
    uint32_t hash = from * 0x9e3779b1u ^ (to * 0x85ebca77u + kind * 0xc2b2ae3du);
    hash ^= hash >> 15;
    hash *= 0x2c1b3c6du;
    hash ^= hash >> 12;
    hash *= 0x297a2d39u;
    return (uint32_t)((uint64_t)hash * buckets >> 32);
}

uint32_t cr_bucket_of(const cr_model *model, uint32_t kind, uint32_t from, uint32_t to)
{
    return bucket_in(model->max_edges, kind, from, to);
}

/* The handler is not hashed: the subscriptions of a PD to a node are on one chain. */
uint32_t cr_find_edge(const cr_model *model, uint32_t kind, uint32_t from, uint32_t to,
                      uint32_t handler, uint32_t *steps)
{
    const cr_edge *edges = cr_edges(model);
    uint32_t index = cr_buckets(model)[cr_bucket_of(model, kind, from, to)];
    *steps = 0;
    while (index < model->max_edges && *steps < model->max_edges) {
        const cr_edge *edge = &edges[index];
        ++*steps;
        if (edge->kind == kind && edge->end[CR_OUT] == from && edge->end[CR_IN] == to &&
            cr_handler_of(edge) == handler) {
            return index;
        }
        index = edge->chain;
    }
    return CR_NONE;
}

/* The ends of a LINK are stored in ascending order, whatever order the caller uses. */
static void order_ends(cr_edge_kind kind, uint32_t *from, uint32_t *to)
{
    if (kind == CR_EDGE_LINK && *from > *to) {
        const uint32_t other = *from;
        *from = *to;
        *to = other;
    }
}

static uint32_t find_edge_counting(cr_model *model, cr_edge_kind kind, uint32_t from, uint32_t to,
                                   uint32_t handler)
{
    uint32_t steps = 0;
    order_ends(kind, &from, &to);
    const uint32_t index = cr_find_edge(model, kind, from, to, handler, &steps);
    model->touched_edges += steps;
    return index;
}

/* The head of the list that an edge of this kind is on at one of its ends, which is `node`. */
static uint32_t *head_of(cr_model *model, uint32_t node, uint32_t kind, cr_direction side)
{
    const uint32_t row = kind < CR_EDGE_KIND_COUNT ? kind : 0;
    return &cr_node_at_mut(model, node)->head[row][cr_list_of(kind, side)];
}

static void list_insert(cr_model *model, uint32_t index, cr_direction side)
{
    cr_edge *edge = cr_edge_at_mut(model, index);
    const uint32_t node = edge->end[side];
    uint32_t *head = head_of(model, node, edge->kind, side);
    edge->prev[side] = CR_NONE;
    edge->next[side] = *head;
    if (*head != CR_NONE) {
        cr_edge *first = cr_edge_at_mut(model, *head);
        first->prev[cr_side_of(first, node, side)] = index;
        model->touched_edges++;
    }
    *head = index;
}

static void insert_edge(cr_model *model, cr_edge_kind kind, uint32_t from, uint32_t to,
                        uint32_t handler)
{
    order_ends(kind, &from, &to);
    const uint32_t index = model->free_edge;
    cr_edge *edge = cr_edge_at_mut(model, index);
    model->free_edge = edge->chain;
    model->n_edges++;
    model->touched_edges++;
    edge->kind = kind;
    edge->counts = cr_counts(1, handler);
    edge->end[CR_OUT] = from;
    edge->end[CR_IN] = to;
    edge->chain = CR_NONE;
    if (!cr_is_structural(kind)) {
        uint32_t *bucket = &cr_buckets_mut(model)[cr_bucket_of(model, kind, from, to)];
        edge->chain = *bucket;
        *bucket = index;
    }
    list_insert(model, index, CR_OUT);
    list_insert(model, index, CR_IN);
    cr_node_at_mut(model, to)->holders += kind == CR_EDGE_HOLD;
    cr_node_at_mut(model, to)->members += kind == CR_EDGE_SUBSET;
}

/* The arrays of an arena, and what is counted while edges are removed. A write to an array may
 * change the header, as far as the compiler knows, so a removal looks at the header once. */
typedef struct arrays {
    cr_node *nodes;
    cr_edge *edges;
    uint32_t *buckets;
    uint32_t max_nodes;
    uint32_t max_edges;
    uint32_t removed;
    uint32_t touched;
} arrays;

static inline arrays arrays_of(cr_model *model)
{
    return (arrays){.nodes = cr_nodes_mut(model),
                    .edges = cr_edges_mut(model),
                    .buckets = cr_buckets_mut(model),
                    .max_nodes = model->max_nodes,
                    .max_edges = model->max_edges};
}

static inline void count_removed(cr_model *model, const arrays *in)
{
    model->n_edges -= in->removed;
    model->touched_edges += in->touched;
}

static inline cr_node *node_in(const arrays *in, uint32_t index)
{
    return &in->nodes[index < in->max_nodes ? index : 0];
}

static inline cr_edge *edge_in(const arrays *in, uint32_t index)
{
    return &in->edges[index < in->max_edges ? index : 0];
}

static inline void list_remove(arrays *in, const cr_edge *edge, cr_direction side)
{
    const uint32_t node = edge->end[side];
    const uint32_t next = edge->next[side];
    const uint32_t prev = edge->prev[side];
    if (prev == CR_NONE) {
        const uint32_t kind = edge->kind;
        const uint32_t row = kind < CR_EDGE_KIND_COUNT ? kind : 0;
        node_in(in, node)->head[row][cr_list_of(row, side)] = next;
    } else {
        cr_edge *before = edge_in(in, prev);
        before->next[cr_side_of(before, node, side)] = next;
        in->touched++;
    }
    if (next != CR_NONE) {
        cr_edge *after = edge_in(in, next);
        after->prev[cr_side_of(after, node, side)] = prev;
        in->touched++;
    }
}

/* Frees the entry of an edge that is on no list of its ends any more. */
static inline void free_edge(cr_model *model, arrays *in, cr_edge *edge, uint32_t index)
{
    const uint32_t to = edge->end[CR_IN];
    if (!cr_is_structural(edge->kind)) {
        uint32_t *link = &in->buckets[bucket_in(in->max_edges, edge->kind, edge->end[CR_OUT], to)];
        for (uint32_t steps = 0; *link != index && *link < in->max_edges && steps < in->max_edges;
             steps++) {
            link = &edge_in(in, *link)->chain;
            in->touched++;
        }
        if (*link == index) {
            *link = edge->chain;
        }
        if (edge->kind == CR_EDGE_HOLD) {
            node_in(in, to)->holders--;
        }
    } else if (edge->kind == CR_EDGE_SUBSET) {
        node_in(in, to)->members--;
    }
    edge->kind = CR_EDGE_KIND_COUNT;
    edge->chain = model->free_edge;
    model->free_edge = index;
    in->removed++;
    in->touched++;
}

static void remove_edge(cr_model *model, uint32_t index)
{
    arrays in = arrays_of(model);
    cr_edge *edge = edge_in(&in, index);
    list_remove(&in, edge, CR_OUT);
    list_remove(&in, edge, CR_IN);
    free_edge(model, &in, edge, index);
    count_removed(model, &in);
}

static inline void info_of(const cr_model *model, const cr_edge *edge, cr_edge_info *out)
{
    out->kind = (cr_edge_kind)edge->kind;
    out->count = cr_count_of(edge);
    out->handler = cr_handler_of(edge);
    out->from = ref_of(model, edge->end[CR_OUT]);
    out->to = ref_of(model, edge->end[CR_IN]);
}

static int counted(cr_edge_kind kind)
{
    return kind == CR_EDGE_HOLD || kind == CR_EDGE_SUBSCRIBE;
}

static int is_core_resource(const cr_model *model, const cr_node *node)
{
    const cr_node *space = node_at(model, node->parent);
    return node->kind == CR_NODE_RESOURCE && space != NULL && (space->flags & CR_FLAG_CORE) != 0;
}

int cr_ends_fit(const cr_model *model, uint32_t kind, uint32_t from, uint32_t to)
{
    const cr_node *a = cr_node_at(model, from);
    const cr_node *b = cr_node_at(model, to);
    switch (kind) {
    case CR_EDGE_HOLD:
        return a->kind == CR_NODE_PD && (b->kind == CR_NODE_SPACE || b->kind == CR_NODE_RESOURCE);
    case CR_EDGE_REQUEST:
    case CR_EDGE_MANAGE:
        return a->kind == CR_NODE_PD && b->kind == CR_NODE_SPACE;
    case CR_EDGE_MAP:
        return a->kind == b->kind && (a->kind == CR_NODE_SPACE || a->kind == CR_NODE_RESOURCE);
    case CR_EDGE_SUBSET:
        return a->kind == CR_NODE_RESOURCE && b->kind == CR_NODE_SPACE;
    case CR_EDGE_FAULT:
    case CR_EDGE_LINK:
    case CR_EDGE_OWN:
        return a->kind == CR_NODE_PD && b->kind == CR_NODE_PD;
    case CR_EDGE_SUBSCRIBE:
        return a->kind == CR_NODE_PD && (b->kind == CR_NODE_PD || b->kind == CR_NODE_SPACE);
    case CR_EDGE_BODY:
        return a->kind == CR_NODE_PD && is_core_resource(model, b);
    default:
        return 0;
    }
}

int cr_may_be_its_own(uint32_t kind)
{
    return kind != CR_EDGE_LINK && kind != CR_EDGE_FAULT && kind != CR_EDGE_OWN &&
           kind != CR_EDGE_MAP;
}

int cr_root_may(uint32_t kind, int from_root, int to_root)
{
    switch (kind) {
    case CR_EDGE_LINK: /* the root task is linked with no PD */
        return !from_root && !to_root;
    case CR_EDGE_FAULT:     /* the root task has no fault handler */
    case CR_EDGE_SUBSCRIBE: /* the root task decides every cleanup and gets no notices */
        return !from_root;
    case CR_EDGE_OWN: /* no PD created the root task */
        return !to_root;
    default:
        return 1;
    }
}

static int in_range(cr_edge_kind kind)
{
    return (uint32_t)kind < CR_EDGE_KIND_COUNT;
}

static cr_status add_edge(cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to,
                          uint32_t handler)
{
    if (!in_range(kind) || cr_is_structural(kind) || handler >= CR_HANDLER_COUNT) {
        return CR_ERR_ARG;
    }
    const cr_node *a = node_at_mut(model, from);
    const cr_node *b = node_at_mut(model, to);
    if (a == NULL || b == NULL) {
        return CR_ERR_STALE;
    }
    if (!cr_ends_fit(model, kind, from.index, to.index)) {
        return CR_ERR_KIND;
    }
    if (a->state == CR_STATE_DESTROYED || b->state == CR_STATE_DESTROYED) {
        return CR_ERR_STATE;
    }
    if (a == b && !cr_may_be_its_own(kind)) {
        return CR_ERR_ARG;
    }
    if (!cr_root_may(kind, from.index == model->root, to.index == model->root)) {
        return CR_ERR_ROOT;
    }
    const uint32_t found = find_edge_counting(model, kind, from.index, to.index, handler);
    if (found != CR_NONE) {
        cr_edge *edge = cr_edge_at_mut(model, found);
        if (!counted(kind)) {
            return CR_ERR_EXISTS;
        }
        const uint32_t count = cr_count_of(edge);
        if (count == CR_COUNT_MAX) {
            return CR_ERR_FULL_EDGES;
        }
        edge->counts = cr_counts(count + 1, handler);
        return CR_OK;
    }
    if (kind == CR_EDGE_FAULT && a->head[kind][CR_OUT] != CR_NONE) {
        return CR_ERR_EXISTS;
    }
    if (kind == CR_EDGE_BODY &&
        (a->head[kind][CR_OUT] != CR_NONE || b->head[kind][CR_IN] != CR_NONE)) {
        return CR_ERR_EXISTS;
    }
    if (model->free_edge == CR_NONE) {
        return CR_ERR_FULL_EDGES;
    }
    insert_edge(model, kind, from.index, to.index, handler);
    return CR_OK;
}

cr_status cr_model_add_edge(cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to)
{
    return add_edge(model, kind, from, to, 0);
}

cr_status cr_model_subscribe(cr_model *model, cr_ref pd, cr_ref node, uint32_t handler)
{
    return add_edge(model, CR_EDGE_SUBSCRIBE, pd, node, handler);
}

/* Finds an edge that the caller may drop. */
static cr_status find_removable(cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to,
                                uint32_t handler, uint32_t *index)
{
    if (!in_range(kind) || cr_is_structural(kind)) {
        return CR_ERR_ARG;
    }
    if (node_at_mut(model, from) == NULL || node_at_mut(model, to) == NULL) {
        return CR_ERR_STALE;
    }
    *index = find_edge_counting(model, kind, from.index, to.index, handler);
    return *index == CR_NONE ? CR_ERR_ABSENT : CR_OK;
}

static cr_status drop_edge(cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to,
                           uint32_t handler)
{
    uint32_t index = CR_NONE;
    const cr_status status = find_removable(model, kind, from, to, handler, &index);
    if (status != CR_OK) {
        return status;
    }
    cr_edge *edge = cr_edge_at_mut(model, index);
    if (cr_count_of(edge) > 1) {
        edge->counts = cr_counts(cr_count_of(edge) - 1, handler);
    } else {
        remove_edge(model, index);
    }
    return CR_OK;
}

cr_status cr_model_drop_edge(cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to)
{
    return drop_edge(model, kind, from, to, 0);
}

cr_status cr_model_unsubscribe(cr_model *model, cr_ref pd, cr_ref node, uint32_t handler)
{
    return drop_edge(model, CR_EDGE_SUBSCRIBE, pd, node, handler);
}

cr_status cr_model_cut_edge(cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to)
{
    uint32_t index = CR_NONE;
    const cr_status status = find_removable(model, kind, from, to, 0, &index);
    if (status == CR_OK) {
        remove_edge(model, index);
    }
    return status;
}

uint32_t cr_model_find(const cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to)
{
    if (!in_range(kind) || node_at(model, from) == NULL || node_at(model, to) == NULL) {
        return CR_NONE;
    }
    uint32_t a = from.index;
    uint32_t b = to.index;
    uint32_t steps = 0;
    order_ends(kind, &a, &b);
    return cr_find_edge(model, kind, a, b, 0, &steps);
}

uint32_t cr_model_subscriptions(const cr_model *model, cr_ref pd, cr_ref node, uint32_t handler)
{
    uint32_t steps = 0;
    if (node_at(model, pd) == NULL || node_at(model, node) == NULL) {
        return 0;
    }
    const uint32_t index =
        cr_find_edge(model, CR_EDGE_SUBSCRIBE, pd.index, node.index, handler, &steps);
    return index == CR_NONE ? 0 : cr_count_of(cr_edge_at(model, index));
}

uint32_t cr_model_handlers(const cr_model *model, cr_ref pd, cr_ref node)
{
    uint32_t handlers = 0;
    if (node_at(model, pd) == NULL || node_at(model, node) == NULL) {
        return 0;
    }
    uint32_t index =
        cr_buckets(model)[cr_bucket_of(model, CR_EDGE_SUBSCRIBE, pd.index, node.index)];
    for (uint32_t steps = 0; index < model->max_edges && steps < model->max_edges; steps++) {
        const cr_edge *edge = &cr_edges(model)[index];
        if (edge->kind == CR_EDGE_SUBSCRIBE && edge->end[CR_OUT] == pd.index &&
            edge->end[CR_IN] == node.index) {
            handlers |= 1u << (cr_handler_of(edge) % CR_HANDLER_COUNT);
        }
        index = edge->chain;
    }
    return handlers;
}

uint32_t cr_model_count(const cr_model *model, cr_edge_kind kind, cr_ref from, cr_ref to)
{
    const uint32_t index = cr_model_find(model, kind, from, to);
    return index == CR_NONE ? 0 : cr_count_of(cr_edge_at(model, index));
}

uint32_t cr_model_first(const cr_model *model, cr_ref node, cr_edge_kind kind,
                        cr_direction direction)
{
    const cr_node *slot = node_at(model, node);
    const uint32_t row = (uint32_t)kind;
    if (slot == NULL || row >= CR_EDGE_KIND_COUNT || (uint32_t)direction > CR_IN) {
        return CR_NONE;
    }
    return slot->head[row][cr_list_of(kind, direction)];
}

cr_edge_walk cr_model_walk(const cr_model *model, cr_ref node, cr_edge_kind kind,
                           cr_direction direction)
{
    return (cr_edge_walk){.model = model,
                          .edge = CR_NONE,
                          .other = {CR_NONE, 0},
                          .node = node.index,
                          .kind = (uint32_t)kind,
                          .direction = (uint32_t)direction,
                          .next = cr_model_first(model, node, kind, direction),
                          .left = model->max_edges};
}

int cr_model_next(cr_edge_walk *walk)
{
    const cr_model *model = walk->model;
    const uint32_t index = walk->next;
    if (index >= model->max_edges || walk->left == 0) {
        return 0;
    }
    const cr_edge *edge = &cr_edges(model)[index];
    const int side =
        cr_side_of(edge, walk->node, (cr_direction)walk->direction) == CR_OUT ? CR_OUT : CR_IN;
    if (edge->kind != walk->kind || edge->end[side] != walk->node) {
        return 0;
    }
    walk->left--;
    walk->edge = index;
    walk->other = ref_of(model, edge->end[1 - side]);
    walk->next = edge->next[side];
    return 1;
}

cr_status cr_model_edge(const cr_model *model, uint32_t edge, cr_edge_info *out)
{
    if (edge >= model->max_edges || cr_edges(model)[edge].kind >= CR_EDGE_KIND_COUNT) {
        return CR_ERR_ABSENT;
    }
    info_of(model, &cr_edges(model)[edge], out);
    return CR_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

cr_status cr_model_add_pd(cr_model *model, uint32_t number, uint32_t flags, cr_ref *out)
{
    const cr_ref nobody = {CR_NONE, 0};
    if ((flags & ~(uint32_t)(CR_FLAG_ROOT | CR_FLAG_PINNED)) != 0) {
        return CR_ERR_ARG;
    }
    if ((flags & CR_FLAG_ROOT) != 0 && model->root != CR_NONE) {
        return CR_ERR_EXISTS;
    }
    if (model->free_node == CR_NONE) {
        return CR_ERR_FULL_NODES;
    }
    *out = take_node(model, CR_NODE_PD, 0, number, flags, nobody);
    if ((flags & CR_FLAG_ROOT) != 0) {
        model->root = out->index;
    }
    return CR_OK;
}

cr_status cr_model_add_space(cr_model *model, uint32_t type, uint32_t number, uint32_t flags,
                             cr_ref manager, cr_ref *out)
{
    const cr_status status = expect(model, manager, CR_NODE_PD);
    if (status != CR_OK) {
        return status;
    }
    if ((flags & ~(uint32_t)(CR_FLAG_CORE | CR_FLAG_REGIONS)) != 0) {
        return CR_ERR_ARG;
    }
    if (flags != 0 && manager.index != model->root) {
        return CR_ERR_ARG; /* only the root task serves core types */
    }
    if (model->free_node == CR_NONE) {
        return CR_ERR_FULL_NODES;
    }
    if (model->free_edge == CR_NONE) {
        return CR_ERR_FULL_EDGES;
    }
    *out = take_node(model, CR_NODE_SPACE, type, number, flags, manager);
    insert_edge(model, CR_EDGE_MANAGE, manager.index, out->index, 0);
    return CR_OK;
}

cr_status cr_model_add_resource(cr_model *model, cr_ref space, uint32_t number, cr_ref *out)
{
    const cr_status status = expect(model, space, CR_NODE_SPACE);
    if (status != CR_OK) {
        return status;
    }
    if (model->free_node == CR_NONE) {
        return CR_ERR_FULL_NODES;
    }
    if (model->free_edge == CR_NONE) {
        return CR_ERR_FULL_EDGES;
    }
    const uint32_t type = cr_node_at(model, space.index)->type;
    *out = take_node(model, CR_NODE_RESOURCE, type, number, 0, space);
    insert_edge(model, CR_EDGE_SUBSET, out->index, space.index, 0);
    return CR_OK;
}

cr_status cr_model_set_pinned(cr_model *model, cr_ref pd, int pinned)
{
    const cr_status status = expect(model, pd, CR_NODE_PD);
    if (status != CR_OK) {
        return status;
    }
    cr_node *node = cr_node_at_mut(model, pd.index);
    model->touched_nodes++;
    node->flags &= ~(uint32_t)CR_FLAG_PINNED;
    if (pinned) {
        node->flags |= CR_FLAG_PINNED;
    }
    return CR_OK;
}

cr_status cr_model_get(const cr_model *model, cr_ref node, cr_node_info *out)
{
    const cr_ref nobody = {CR_NONE, 0};
    const cr_node *slot = node_at(model, node);
    if (slot == NULL) {
        return CR_ERR_STALE;
    }
    out->kind = (cr_node_kind)slot->kind;
    out->state = (cr_node_state)slot->state;
    out->flags = slot->flags;
    out->type = slot->type;
    out->number = slot->number;
    out->holders = slot->holders;
    out->members = slot->members;
    out->space = nobody;
    out->manager = nobody;
    if (slot->kind == CR_NODE_SPACE) {
        out->manager = slot->parent;
    }
    if (slot->kind == CR_NODE_RESOURCE) {
        const cr_node *space = node_at(model, slot->parent);
        out->space = slot->parent;
        out->manager = space != NULL ? space->parent : nobody;
    }
    return CR_OK;
}

cr_ref cr_model_space(const cr_model *model, cr_ref resource)
{
    const cr_node *slot = node_at(model, resource);
    return slot != NULL && slot->kind == CR_NODE_RESOURCE ? slot->parent : (cr_ref){CR_NONE, 0};
}

cr_status cr_model_at(const cr_model *model, uint32_t index, cr_ref *out)
{
    if (index >= model->max_nodes || cr_nodes(model)[index].kind == CR_NODE_FREE ||
        cr_nodes(model)[index].state == CR_STATE_DESTROYED) {
        return CR_ERR_ABSENT;
    }
    *out = ref_of(model, index);
    return CR_OK;
}

/* ---- states ---------------------------------------------------------------------------------- */

static cr_status change_state(cr_model *model, cr_ref ref, cr_node_state from, cr_node_state to)
{
    cr_node *node = node_at_mut(model, ref);
    if (node == NULL) {
        return CR_ERR_STALE;
    }
    if ((node->flags & CR_FLAG_ROOT) != 0) {
        return CR_ERR_ROOT;
    }
    if (node->state != from) {
        return CR_ERR_STATE;
    }
    node->state = to;
    return CR_OK;
}

cr_status cr_model_doom(cr_model *model, cr_ref node)
{
    return change_state(model, node, CR_STATE_ACTIVE, CR_STATE_DOOMED);
}

cr_status cr_model_spare(cr_model *model, cr_ref node)
{
    return change_state(model, node, CR_STATE_DOOMED, CR_STATE_ACTIVE);
}

/* CR_OK if the node may be destroyed, else the error. */
static cr_status destroyable(const cr_node *node)
{
    if ((node->flags & CR_FLAG_ROOT) != 0) {
        return CR_ERR_ROOT;
    }
    if (node->state != CR_STATE_DOOMED &&
        !(node->kind == CR_NODE_RESOURCE && node->state == CR_STATE_ACTIVE)) {
        return CR_ERR_STATE;
    }
    return node->head[CR_EDGE_SUBSET][CR_IN] != CR_NONE ||
                   node->head[CR_EDGE_MANAGE][CR_OUT] != CR_NONE
               ? CR_ERR_BUSY
               : CR_OK;
}

static inline cr_ref ref_in(const arrays *in, uint32_t index)
{
    return (cr_ref){index, index < in->max_nodes ? in->nodes[index].generation : 0};
}

/* Removes the first edges of a list, until `out` has so many. `taken`: those that it has. */
static inline uint32_t take_list(cr_model *model, arrays *in, cr_ref node, uint32_t *head,
                                 cr_direction direction, cr_edge_taken *out, uint32_t taken,
                                 uint32_t most)
{
    uint32_t index = *head;
    for (; taken < most && index < in->max_edges; taken++) {
        cr_edge *edge = edge_in(in, index);
        const cr_direction side = cr_side_of(edge, node.index, direction);
        const uint32_t next = edge->next[side];
        const cr_ref other = ref_in(in, edge->end[side == CR_OUT ? CR_IN : CR_OUT]);
        out[taken] = (cr_edge_taken){.index = index,
                                     .info = {.kind = (cr_edge_kind)edge->kind,
                                              .count = cr_count_of(edge),
                                              .handler = cr_handler_of(edge),
                                              .from = side == CR_OUT ? node : other,
                                              .to = side == CR_OUT ? other : node}};
        list_remove(in, edge, side == CR_OUT ? CR_IN : CR_OUT);
        free_edge(model, in, edge, index);
        index = next;
    }
    *head = index;
    if (index < in->max_edges) {
        cr_edge *first = edge_in(in, index);
        first->prev[cr_side_of(first, node.index, direction)] = CR_NONE;
        in->touched++;
    }
    return taken;
}

/* Removes edges of a node; the rest is as for cr_model_take_edges. Returns their number. */
static uint32_t take_edges(cr_model *model, cr_ref node, uint32_t *list, cr_edge_taken *out,
                           uint32_t room)
{
    arrays in = arrays_of(model);
    cr_node *slot = node_in(&in, node.index);
    const uint32_t kind = slot->kind;
    const uint8_t *lists = lists_of[kind < CR_NODE_KIND_COUNT ? kind : 0];
    uint32_t taken = 0;
    uint32_t place = *list;
    int alone = 0;
    for (; place < LISTS_MOST && lists[place] < LISTS; place++) {
        const uint32_t at = lists[place];
        uint32_t *head = &slot->head[at / 2][at % 2];
        if (*head >= in.max_edges) {
            continue;
        }
        if (taken >= room || alone) {
            break;
        }
        alone = at / 2 == CR_EDGE_SUBSCRIBE;
        taken = take_list(model, &in, node, head, (cr_direction)(at % 2), out, taken,
                          alone ? taken + 1 : room);
        if (*head < in.max_edges) {
            break;
        }
    }
    count_removed(model, &in);
    *list = place < LISTS_MOST && lists[place] < LISTS ? place : CR_NONE;
    return taken;
}

cr_status cr_model_take_edges(cr_model *model, cr_ref ref, uint32_t *list, cr_edge_taken *out,
                              uint32_t room, uint32_t *count)
{
    cr_node *node = node_at_mut(model, ref);
    const cr_status status = node != NULL ? destroyable(node) : CR_ERR_STALE;
    *count = status == CR_OK ? take_edges(model, ref, list, out, room) : 0;
    if (status == CR_OK && *list == CR_NONE) {
        node->state = CR_STATE_DESTROYED;
    }
    return status;
}

cr_status cr_model_destroy(cr_model *model, cr_ref ref)
{
    enum { AT_ONCE = 8 };
    cr_edge_taken taken[AT_ONCE];
    uint32_t list = 0;
    uint32_t count;
    cr_status status = cr_model_take_edges(model, ref, &list, taken, AT_ONCE, &count);
    for (uint32_t i = 0; status == CR_OK && list != CR_NONE && i <= model->max_edges; i++) {
        status = cr_model_take_edges(model, ref, &list, taken, AT_ONCE, &count);
    }
    return status;
}

cr_status cr_model_release(cr_model *model, cr_ref ref)
{
    cr_node *node = node_at_mut(model, ref);
    if (node == NULL) {
        return CR_ERR_STALE;
    }
    if (node->state != CR_STATE_DESTROYED) {
        return CR_ERR_STATE;
    }
    node->kind = CR_NODE_FREE;
    model->n_nodes--;
    if (node->generation >= CR_GENERATION_MAX) {
        model->n_retired++; /* reusing a generation would make old references valid again */
        return CR_OK;
    }
    node->generation++;
    node->next_free = model->free_node;
    model->free_node = ref.index;
    return CR_OK;
}

/* ---- counters -------------------------------------------------------------------------------- */

cr_model_stats cr_model_get_stats(const cr_model *model)
{
    const cr_model_stats stats = {
        .max_nodes = model->max_nodes,
        .max_edges = model->max_edges,
        .nodes = model->n_nodes,
        .edges = model->n_edges,
        .retired = model->n_retired,
        .touched_nodes = model->touched_nodes,
        .touched_edges = model->touched_edges,
    };
    return stats;
}

void cr_model_touch(cr_model *model, uint32_t nodes, uint32_t edges)
{
    model->touched_nodes += nodes;
    model->touched_edges += edges;
}

void cr_model_reset_touched(cr_model *model)
{
    model->touched_nodes = 0;
    model->touched_edges = 0;
}
