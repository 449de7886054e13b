/* SPDX-License-Identifier: BSD-2-Clause
 *
 * RSI and FR (docs/metrics.md). Each of the two PDs is searched by itself, and the records of the
 * nodes say which search met them last. So nothing is cleared between measurements.
 *
 * Errors are sticky, as in the planner: after the first one every walk ends, and the caller of the
 * search gets it. */
#include <cellreap/metrics.h>

enum { SIDES = 2, WORD_BITS = 64 };

/* What the searches know about a node. A number of a search that is not the current one of its side
 * means "not met". */
typedef struct node_record {
    uint64_t met[SIDES];     /* PD: the search that may go there */
    uint64_t counted[SIDES]; /* PD: the search that has its hops */
    uint64_t reached[SIDES]; /* resource: the search that reaches it by HOLD and MAP */
    uint32_t hops[SIDES];
} node_record;

struct cr_metrics {
    uint32_t max_nodes;
    uint32_t max_types;
    uint32_t words; /* of a set of types */
    uint32_t with_root;
    cr_status status;
    cr_model *model;                      /* NULL: not begun */
    const cr_metric_resource *counted_as; /* by index of a node; NULL: once, under its own type */
    uint64_t searches;                    /* their number; 64 bits: does not wrap */
    uint64_t number[SIDES];               /* of the current search of each side; 0: none */
    uint32_t n_pds[SIDES];
    uint32_t n_resources[SIDES];
    node_record *nodes;       /* max_nodes */
    cr_ref *queue;            /* max_nodes */
    cr_ref *pds[SIDES];       /* max_nodes each */
    cr_ref *resources[SIDES]; /* max_nodes each */
    uint64_t *types;          /* one set: what the search follows */
    uint64_t *below;          /* max_types sets: the types that each type maps to */
};

typedef struct carver {
    unsigned char *memory;
    uint64_t used;
} carver;

static void *carve(carver *c, uint64_t count, size_t size)
{
    void *piece = c->memory != NULL ? c->memory + c->used : NULL;
    c->used += (count * size + 7) / 8 * 8;
    return piece;
}

static void lay_out(cr_metrics *m, carver *c)
{
    m->words = (m->max_types + WORD_BITS - 1) / WORD_BITS;
    m->nodes = carve(c, m->max_nodes, sizeof(node_record));
    m->queue = carve(c, m->max_nodes, sizeof(cr_ref));
    for (int side = 0; side < SIDES; side++) {
        m->pds[side] = carve(c, m->max_nodes, sizeof(cr_ref));
        m->resources[side] = carve(c, m->max_nodes, sizeof(cr_ref));
    }
    m->types = carve(c, m->words, sizeof(uint64_t));
    m->below = carve(c, (uint64_t)m->max_types * m->words, sizeof(uint64_t));
}

size_t cr_metrics_bytes(uint32_t max_nodes, uint32_t max_types)
{
    if (max_nodes == 0 || max_nodes >= 1u << 31 || max_types == 0 ||
        max_types > CR_METRIC_TYPES_MAX) {
        return 0;
    }
    cr_metrics measured = {.max_nodes = max_nodes, .max_types = max_types};
    carver c = {.memory = NULL, .used = 0};
    (void)carve(&c, 1, sizeof(cr_metrics));
    lay_out(&measured, &c);
    return c.used <= SIZE_MAX ? (size_t)c.used : 0;
}

cr_status cr_metrics_init(void *memory, size_t bytes, uint32_t max_nodes, uint32_t max_types,
                          cr_metrics **out)
{
    const size_t needed = cr_metrics_bytes(max_nodes, max_types);
    if (memory == NULL || out == NULL || needed == 0) {
        return CR_ERR_ARG;
    }
    if (bytes < needed || (uintptr_t)memory % 8 != 0) {
        return CR_ERR_MEMORY;
    }
    carver c = {.memory = memory, .used = 0};
    cr_metrics *m = carve(&c, 1, sizeof(cr_metrics));
    m->max_nodes = max_nodes;
    m->max_types = max_types;
    m->with_root = 0;
    m->status = CR_OK;
    m->model = NULL;
    m->counted_as = NULL;
    m->searches = 0;
    for (int side = 0; side < SIDES; side++) {
        m->number[side] = 0;
        m->n_pds[side] = 0;
        m->n_resources[side] = 0;
    }
    lay_out(m, &c);
    for (uint32_t i = 0; i < max_nodes; i++) {
        const node_record empty = {.met = {0, 0}, .counted = {0, 0}, .reached = {0, 0}};
        m->nodes[i] = empty;
    }
    *out = m;
    return CR_OK;
}

/* ---- looking at the model ----------------------------------------------------------------- */

static void fail(cr_metrics *m, cr_status status)
{
    if (m->status == CR_OK) {
        m->status = status;
    }
}

static cr_edge_walk start(cr_metrics *m, cr_ref node, cr_edge_kind kind)
{
    cr_model_touch(m->model, 1, 0);
    return cr_model_walk(m->model, node, kind, CR_OUT);
}

static int next(cr_metrics *m, cr_edge_walk *walk)
{
    if (m->status != CR_OK) {
        return 0;
    }
    if (cr_model_next(walk)) {
        cr_model_touch(m->model, 0, 1);
        return 1;
    }
    if (walk->next != CR_NONE) {
        fail(m, CR_ERR_CORRUPT);
    }
    return 0;
}

/* Where the caller says what a resource counts as, that is its type. */
static cr_metric_resource counted_as(const cr_metrics *m, cr_ref node, const cr_node_info *info)
{
    cr_metric_resource as = {.type = info->type, .weight = 1};
    if (m->counted_as != NULL && info->kind == CR_NODE_RESOURCE && node.index < m->max_nodes) {
        as = m->counted_as[node.index];
    }
    return as;
}

static cr_node_info look(cr_metrics *m, cr_ref node)
{
    cr_node_info info = {.kind = CR_NODE_FREE,
                         .state = CR_STATE_DESTROYED,
                         .space = {CR_NONE, 0},
                         .manager = {CR_NONE, 0}};
    if (cr_model_get(m->model, node, &info) != CR_OK || node.index >= m->max_nodes) {
        fail(m, CR_ERR_CORRUPT);
    }
    info.type = counted_as(m, node, &info).type;
    cr_model_touch(m->model, 1, 0);
    return info;
}

/* Whether a node counts: it is active, and so is the space of a resource. */
static int counts(cr_metrics *m, const cr_node_info *info)
{
    if (info->kind == CR_NODE_RESOURCE && look(m, info->space).state != CR_STATE_ACTIVE) {
        return 0;
    }
    return info->state == CR_STATE_ACTIVE;
}

/* Only a corrupt arena has an index out of range. The measurement has then failed, so any record
 * serves. */
static node_record *record_of(cr_metrics *m, cr_ref node)
{
    return &m->nodes[node.index < m->max_nodes ? node.index : 0];
}

/* Each list has room for every node, and a node is added once. */
static void add(cr_metrics *m, cr_ref *list, uint32_t *count, cr_ref node)
{
    if (*count >= m->max_nodes) {
        fail(m, CR_ERR_CORRUPT);
        return;
    }
    list[*count] = node;
    *count += 1;
}

/* ---- sets of types ------------------------------------------------------------------------ */

static int has_type(const uint64_t *set, uint32_t type)
{
    return (set[type / WORD_BITS] >> (type % WORD_BITS) & 1) != 0;
}

static void add_type(uint64_t *set, uint32_t type)
{
    set[type / WORD_BITS] |= (uint64_t)1 << (type % WORD_BITS);
}

static uint64_t *below(cr_metrics *m, uint32_t type)
{
    return &m->below[(size_t)type * m->words];
}

/* Adds what `type` maps to. Returns whether the set grew. */
static int add_below(cr_metrics *m, uint32_t type)
{
    const uint64_t *more = below(m, type);
    int grew = 0;
    for (uint32_t i = 0; i < m->words; i++) {
        grew |= (more[i] & ~m->types[i]) != 0;
        m->types[i] |= more[i];
    }
    return grew;
}

static int type_fits(cr_metrics *m, const cr_node_info *info)
{
    if (info->type >= m->max_types) {
        fail(m, CR_ERR_ARG);
        return 0;
    }
    return 1;
}

/* Reads which types map to which: a type maps to another one if something of it does. */
static void read_maps(cr_metrics *m)
{
    for (uint32_t i = 0; i < m->max_types * m->words; i++) {
        m->below[i] = 0;
    }
    const uint32_t nodes = cr_model_get_stats(m->model).max_nodes;
    for (uint32_t i = 0; i < nodes && m->status == CR_OK; i++) {
        cr_ref upper;
        if (cr_model_at(m->model, i, &upper) != CR_OK) {
            continue;
        }
        const cr_node_info from = look(m, upper);
        if (from.kind == CR_NODE_PD || !counts(m, &from) || !type_fits(m, &from)) {
            continue;
        }
        cr_edge_walk maps = start(m, upper, CR_EDGE_MAP);
        while (next(m, &maps)) {
            const cr_node_info to = look(m, maps.other);
            if (counts(m, &to) && type_fits(m, &to)) {
                add_type(below(m, from.type), to.type);
            }
        }
    }
}

cr_status cr_metrics_begin(cr_metrics *m, cr_model *model, const cr_metric_resource *resources,
                           int with_root)
{
    if (cr_model_get_stats(model).max_nodes > m->max_nodes) {
        return CR_ERR_ARG;
    }
    m->model = model;
    m->counted_as = resources;
    m->with_root = with_root != 0;
    m->status = CR_OK;
    for (int side = 0; side < SIDES; side++) {
        m->number[side] = 0;
    }
    read_maps(m);
    if (m->status != CR_OK) {
        m->model = NULL;
    }
    return m->status;
}

/* ---- RSI: one HOLD, then MAP edges -------------------------------------------------------- */

static void reach(cr_metrics *m, int side, cr_ref resource)
{
    node_record *record = record_of(m, resource);
    const cr_node_info info = look(m, resource);
    if (info.kind == CR_NODE_RESOURCE && record->reached[side] != m->number[side] &&
        counts(m, &info) && type_fits(m, &info)) {
        record->reached[side] = m->number[side];
        add(m, m->resources[side], &m->n_resources[side], resource);
    }
}

static void find_resources(cr_metrics *m, int side, cr_ref pd)
{
    m->n_resources[side] = 0;
    cr_edge_walk holds = start(m, pd, CR_EDGE_HOLD);
    while (next(m, &holds)) {
        reach(m, side, holds.other);
    }
    uint32_t begin = 0;
    for (int maps = 0; maps < CR_RSI_MAPS && m->status == CR_OK; maps++) {
        const uint32_t end = m->n_resources[side];
        for (uint32_t i = begin; i < end; i++) {
            cr_edge_walk lower = start(m, m->resources[side][i], CR_EDGE_MAP);
            while (next(m, &lower)) {
                reach(m, side, lower.other);
            }
        }
        begin = end;
    }
}

/* ---- FR: hops of REQUEST ------------------------------------------------------------------ */

/* A walk over the spaces that a PD asks: those that it requests, then those of the resources that
 * it holds. Its own spaces lead to itself, which changes nothing. */
typedef struct asked {
    cr_edge_walk edges;
    cr_ref pd;
    int holds;
    cr_node_info space;
} asked;

static asked start_asked(cr_metrics *m, cr_ref pd)
{
    const asked a = {.edges = start(m, pd, CR_EDGE_REQUEST), .pd = pd, .holds = 0};
    return a;
}

/* The next space whose type is followed and whose manager may be met. */
static int next_asked(cr_metrics *m, asked *a)
{
    while (m->status == CR_OK) {
        if (!next(m, &a->edges)) {
            if (a->holds) {
                return 0;
            }
            a->holds = 1;
            a->edges = start(m, a->pd, CR_EDGE_HOLD);
            continue;
        }
        a->space = look(m, a->edges.other);
        if (a->holds) {
            if (a->space.kind != CR_NODE_RESOURCE) {
                continue; /* to hold a space is not to ask for resources of it */
            }
            a->space = look(m, a->space.space);
        }
        if (!type_fits(m, &a->space) || a->space.state != CR_STATE_ACTIVE ||
            !has_type(m->types, a->space.type)) {
            continue;
        }
        const cr_node_info manager = look(m, a->space.manager);
        if (manager.state == CR_STATE_ACTIVE &&
            (m->with_root != 0 || (manager.flags & CR_FLAG_ROOT) == 0)) {
            return 1;
        }
    }
    return 0;
}

/* The types that the search follows: those that the PD holds, and what the types of followed spaces
 * map to. Each turn but the last adds a type. */
static void find_types(cr_metrics *m, int side, cr_ref pd)
{
    for (uint32_t i = 0; i < m->words; i++) {
        m->types[i] = 0;
    }
    cr_edge_walk holds = start(m, pd, CR_EDGE_HOLD);
    while (next(m, &holds)) {
        const cr_node_info held = look(m, holds.other);
        if (counts(m, &held) && type_fits(m, &held)) {
            add_type(m->types, held.type);
        }
    }
    uint32_t n_queue = 0;
    record_of(m, pd)->met[side] = m->number[side];
    add(m, m->queue, &n_queue, pd);
    int grew = 1;
    for (uint32_t turn = 0; grew && turn <= m->max_types && m->status == CR_OK; turn++) {
        grew = 0;
        for (uint32_t i = 0; i < n_queue; i++) {
            asked spaces = start_asked(m, m->queue[i]);
            while (next_asked(m, &spaces)) {
                grew |= add_below(m, spaces.space.type);
                node_record *record = record_of(m, spaces.space.manager);
                if (record->met[side] != m->number[side]) {
                    record->met[side] = m->number[side];
                    add(m, m->queue, &n_queue, spaces.space.manager);
                }
            }
        }
    }
}

static void count_hops(cr_metrics *m, int side, cr_ref pd, uint32_t hops)
{
    node_record *record = record_of(m, pd);
    if (record->counted[side] != m->number[side]) {
        record->counted[side] = m->number[side];
        record->hops[side] = hops;
        add(m, m->pds[side], &m->n_pds[side], pd);
    }
}

/* Breadth-first over the followed types: each PD is met with its least number of hops. */
static void find_pds(cr_metrics *m, int side, cr_ref pd)
{
    m->n_pds[side] = 0;
    count_hops(m, side, pd, 0);
    for (uint32_t i = 0; i < m->n_pds[side] && m->status == CR_OK; i++) {
        const cr_ref here = m->pds[side][i];
        const uint32_t hops = record_of(m, here)->hops[side] + 1;
        asked spaces = start_asked(m, here);
        while (next_asked(m, &spaces)) {
            count_hops(m, side, spaces.space.manager, hops);
        }
    }
}

/* ---- the two PDs -------------------------------------------------------------------------- */

static cr_status search(cr_metrics *m, int side, cr_ref pd)
{
    cr_node_info info;
    if (m->model == NULL) {
        return CR_ERR_ARG;
    }
    const cr_status status = cr_model_get(m->model, pd, &info);
    if (status != CR_OK) {
        return status;
    }
    if (info.kind != CR_NODE_PD) {
        return CR_ERR_KIND;
    }
    if (info.state != CR_STATE_ACTIVE) {
        return CR_ERR_STATE;
    }
    m->status = CR_OK;
    m->searches++;
    m->number[side] = m->searches;
    find_resources(m, side, pd);
    find_types(m, side, pd);
    find_pds(m, side, pd);
    if (m->status != CR_OK) {
        m->number[side] = 0;
    }
    return m->status;
}

cr_status cr_metrics_first(cr_metrics *m, cr_ref pd)
{
    return search(m, 0, pd);
}

cr_status cr_metrics_second(cr_metrics *m, cr_ref pd)
{
    return search(m, 1, pd);
}

static int are_set(const cr_metrics *m)
{
    return m->model != NULL && m->number[0] != 0 && m->number[1] != 0;
}

static const node_record *const_record_of(const cr_metrics *m, cr_ref node)
{
    return &m->nodes[node.index < m->max_nodes ? node.index : 0];
}

cr_status cr_metrics_fr(const cr_metrics *m, uint32_t *fr)
{
    if (!are_set(m)) {
        return CR_ERR_ARG;
    }
    uint32_t least = CR_FR_INF;
    for (uint32_t i = 0; i < m->n_pds[1] && i < m->max_nodes; i++) {
        const node_record *record = const_record_of(m, m->pds[1][i]);
        for (int side = 0; side < SIDES && record->counted[0] == m->number[0]; side++) {
            if (record->hops[side] < least) {
                least = record->hops[side];
            }
        }
    }
    *fr = least;
    return CR_OK;
}

cr_status cr_metrics_rsi(const cr_metrics *m, uint32_t type, cr_rsi *out)
{
    cr_rsi rsi = {.shared = 0, .all = 0};
    if (!are_set(m)) {
        return CR_ERR_ARG;
    }
    for (int side = 0; side < SIDES; side++) {
        for (uint32_t i = 0; i < m->n_resources[side] && i < m->max_nodes; i++) {
            const cr_ref resource = m->resources[side][i];
            const node_record *record = const_record_of(m, resource);
            const int both = record->reached[1 - side] == m->number[1 - side];
            cr_node_info info;
            if (cr_model_get(m->model, resource, &info) != CR_OK) {
                return CR_ERR_CORRUPT;
            }
            const cr_metric_resource as = counted_as(m, resource, &info);
            if (as.type != type || (both && side == 1)) {
                continue; /* what both reach was counted with the first */
            }
            rsi.all += as.weight;
            rsi.shared += both ? as.weight : 0;
        }
    }
    *out = rsi;
    return CR_OK;
}
