/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The accounts of the configured PDs. See charge.h. The host computes the same quotas
 * (pyhost/cellreap/system/config/quotas.py), and both must agree. */
#include "charge.h"
#include "backlog.h"
#include "kernel/untyped.h"
#include "text.h"
#include <cellreap/accounts.h>

_Static_assert((int)CR_QUOTA_COUNT == (int)CR_IMAGE_QUOTAS, "one quota for each row of the table");

/* By account and quota. `used` is the upper bound. Account 0 is not used. */
static cr_tally tallies[CR_MAX_PDS][CR_QUOTA_COUNT];

/* -- what the configuration needs */

int cr_needs_space(const cr_pd *pd, const char *name)
{
    uint32_t space = cr_find_configured_space(name);
    return space != CR_IMAGE_NONE && cr_image_spaces(cr_sys.image)[space].pd == pd->config;
}

static int needs_request(const cr_pd *pd, const char *name)
{
    uint32_t space = cr_find_configured_space(name);
    int any = 0;
    for (uint32_t i = 0; space != CR_IMAGE_NONE && i < cr_sys.image->requests.count; i++) {
        const cr_image_request *row = &cr_image_requests(cr_sys.image)[i];
        any |= row->space == space && row->pd == pd->config;
    }
    return any;
}

static int type_is_new(const cr_image_space *spaces, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++) {
        if (spaces[i].pd == spaces[at].pd && cr_text_same(spaces[i].type, spaces[at].type)) {
            return 0;
        }
    }
    return 1;
}

/* What the configuration has each PD make and request. */
typedef struct needs {
    uint32_t spaces;
    uint32_t types;
    uint32_t requests;
} needs;

static needs configured[CR_IMAGE_MAX_PDS];

/* One pass over the tables of the configuration: there can be as many rows as PDs, or more. */
static void count_needs(void)
{
    const cr_image_header *image = cr_sys.image;
    for (uint32_t i = 0; i < image->spaces.count; i++) {
        needs *of = &configured[cr_image_spaces(image)[i].pd];
        of->spaces++;
        of->types += (uint32_t)type_is_new(cr_image_spaces(image), i);
    }
    for (uint32_t i = 0; i < image->requests.count; i++) {
        configured[cr_image_requests(image)[i].pd].requests++;
    }
}

static uint64_t need_of(uint32_t config, cr_quota kind)
{
    const needs *of = &configured[config];
    switch (kind) {
    case CR_QUOTA_NODES:
    case CR_QUOTA_SPACES:
        return of->spaces;
    case CR_QUOTA_EDGES:
        return 2 * ((uint64_t)of->spaces + of->requests);
    case CR_QUOTA_TYPES:
        return of->types;
    case CR_QUOTA_REQUESTS:
        return of->requests;
    default:
        return 0;
    }
}

/* Whether the PD can use more than its need at all. */
static int may_use(uint32_t config, cr_quota kind)
{
    int manages = configured[config].spaces > 0;
    int spawns = (cr_image_pds(cr_sys.image)[config].flags & CR_IMAGE_MAY_SPAWN) != 0;
    switch (kind) {
    case CR_QUOTA_SPACES:
    case CR_QUOTA_TYPES:
    case CR_QUOTA_MAPS:
        return manages;
    case CR_QUOTA_PDS:
    case CR_QUOTA_BYTES:
        return spawns;
    case CR_QUOTA_NODES:
        return manages || spawns;
    default:
        return 1;
    }
}

/* What there is for all accounts. */
static uint64_t available(cr_quota kind)
{
    const cr_image_header *image = cr_sys.image;
    const uint64_t pds = image->pds.count;
    /* The root task and its two spaces; each PD and its PD capability. The edges of those, two
     * requests to core spaces and the fault handler of each PD. */
    const uint64_t nodes = 3 + 2 * pds;
    const uint64_t edges = 2 + 5 * pds + image->holds.count + image->links.count;
    switch (kind) {
    case CR_QUOTA_NODES:
        return CR_MAX_NODES - nodes;
    case CR_QUOTA_EDGES:
        return edges < CR_MAX_EDGES ? CR_MAX_EDGES - edges : 0;
    case CR_QUOTA_SPACES:
        return CR_MAX_SPACES - 2;
    case CR_QUOTA_TYPES:
        return CR_MAX_TYPES - 2;
    case CR_QUOTA_REQUESTS:
        return CR_MAX_REQUESTS;
    case CR_QUOTA_TICKETS:
        return CR_MAX_TICKETS;
    case CR_QUOTA_PDS:
        return CR_IMAGE_MAX_PDS - pds;
    case CR_QUOTA_BYTES:
        return cr_untyped_bytes_free();
    case CR_QUOTA_MAPS:
        return CR_MAX_MAPS;
    case CR_QUOTA_COUNT:
        break;
    }
    return 0;
}

/* Divides one table. */
static void divide(cr_quota kind)
{
    static cr_claim claims[CR_IMAGE_MAX_PDS]; /* too large for the stack */
    static uint64_t quotas[CR_IMAGE_MAX_PDS];
    const uint32_t count = cr_sys.image->pds.count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t asked = cr_image_pds(cr_sys.image)[i].quotas[kind];
        claims[i] = (cr_claim){.need = need_of(i, kind),
                               .asked = asked == CR_IMAGE_NONE ? UINT64_MAX : asked,
                               .may = (uint32_t)may_use(i, kind)};
    }
    if (cr_accounts_share(available(kind), claims, count, quotas) != CR_OK) {
        cr_panic("the quotas of the configuration do not fit", kind);
    }
    for (uint32_t i = 0; i < count; i++) {
        tallies[i + 1][kind] = (cr_tally){.quota = quotas[i], .need = claims[i].need};
    }
}

void cr_accounts_init(void)
{
    count_needs();
    for (uint32_t kind = 0; kind < CR_QUOTA_COUNT; kind++) {
        if (kind != CR_QUOTA_BYTES) {
            divide((cr_quota)kind);
        }
    }
}

static void trace_quotas(void)
{
    for (uint32_t i = 0; i < cr_sys.image->pds.count; i++) {
        cr_trace_begin(&cr_sys.trace, CR_EV_QUOTA);
        cr_trace_number(&cr_sys.trace, i + 1);
        cr_trace_string(&cr_sys.trace, cr_image_pds(cr_sys.image)[i].name);
        for (uint32_t kind = 0; kind < CR_QUOTA_COUNT; kind++) {
            cr_trace_number(&cr_sys.trace, tallies[i + 1][kind].quota);
        }
        cr_trace_end(&cr_sys.trace);
    }
}

/* Sets memory aside for a configured PD that does not exist yet. */
static cr_status reserve_body(uint32_t config)
{
    static cr_startup startup;
    const cr_image_pd *row = &cr_image_pds(cr_sys.image)[config];
    const cr_image_program *elf = &cr_image_programs(cr_sys.image)[row->program];
    const cr_body_params params = {
        .elf = cr_image_elf(cr_sys.image, elf),
        .elf_bytes = elf->bytes,
        .cspace_bits = row->cspace_bits,
        .stack_pages = row->stack_pages,
        .startup = &startup,
        .owner = CR_OWNER_BODY + config,
    };
    return cr_body_reserve(&params);
}

void cr_accounts_start(void)
{
    for (uint32_t i = 0; i < cr_sys.image->pds.count; i++) {
        const cr_image_pd *config = &cr_image_pds(cr_sys.image)[i];
        if (cr_find_configured(i) == 0 && reserve_body(i) != CR_OK) {
            cr_console_string(config->name);
            cr_panic("a PD of the configuration has no memory", i);
        }
    }
    divide(CR_QUOTA_BYTES);
    for (uint32_t i = 0; i < cr_sys.image->pds.count; i++) {
        cr_tally *bytes = &tallies[i + 1][CR_QUOTA_BYTES];
        bytes->quota = cr_untyped_reserve(i + 1, bytes->quota);
    }
    trace_quotas();
}

uint64_t cr_quota_of(uint32_t account, cr_quota kind)
{
    return tallies[account][kind].quota;
}

/* -- what is in use */

static uint64_t count_edges(cr_ref node, cr_edge_kind kind, cr_direction direction)
{
    uint64_t n = 0;
    for (uint32_t edge = cr_model_first(cr_sys.model, node, kind, direction); edge != CR_NONE;
         edge = cr_model_next(cr_sys.model, edge, node, direction)) {
        n++;
    }
    return n;
}

/* Adds a space with its resources. */
static void count_space(cr_ref space, uint64_t *used)
{
    cr_edge_info info;
    used[CR_QUOTA_NODES]++;
    used[CR_QUOTA_SPACES]++;
    used[CR_QUOTA_EDGES] += 1 + count_edges(space, CR_EDGE_MAP, CR_OUT);
    for (uint32_t edge = cr_model_first(cr_sys.model, space, CR_EDGE_SUBSET, CR_IN);
         edge != CR_NONE; edge = cr_model_next(cr_sys.model, edge, space, CR_IN)) {
        if (cr_model_edge(cr_sys.model, edge, &info) == CR_OK) {
            used[CR_QUOTA_NODES]++;
            used[CR_QUOTA_EDGES] += 1 + count_edges(info.from, CR_EDGE_MAP, CR_OUT);
        }
    }
}

/* Adds what a PD uses, and what of it the configuration names. */
static void count_pd(const cr_pd *pd, uint64_t *used, uint64_t *needed)
{
    static uint8_t seen[CR_MAX_TYPES];
    cr_edge_info info;
    cr_node_info space;
    for (uint32_t i = 0; i < CR_MAX_TYPES; i++) {
        seen[i] = 0;
    }
    if (pd->config == CR_IMAGE_NONE) {
        used[CR_QUOTA_NODES] += 2; /* itself and its PD capability */
        used[CR_QUOTA_EDGES] += 3; /* OWN, SUBSET, BODY */
        used[CR_QUOTA_PDS]++;
    }
    for (uint32_t edge = cr_model_first(cr_sys.model, pd->node, CR_EDGE_HOLD, CR_OUT);
         edge != CR_NONE; edge = cr_model_next(cr_sys.model, edge, pd->node, CR_OUT)) {
        uint32_t slot = cr_sys.edge_entry[edge];
        used[CR_QUOTA_EDGES] += slot == 0 || slot >= CR_SLOT_FIRST_FREE + pd->pd_slots;
    }
    for (uint32_t edge = cr_model_first(cr_sys.model, pd->node, CR_EDGE_SUBSCRIBE, CR_OUT);
         edge != CR_NONE; edge = cr_model_next(cr_sys.model, edge, pd->node, CR_OUT)) {
        used[CR_QUOTA_EDGES] += 1;
        if (cr_model_edge(cr_sys.model, edge, &info) == CR_OK) {
            /* The handlers of a PD for a node share one notice. */
            const uint32_t handlers = cr_model_handlers(cr_sys.model, pd->node, info.to);
            used[CR_QUOTA_EDGES] += (handlers & (0u - handlers)) == 1u << info.handler;
        }
    }
    for (uint32_t edge = cr_model_first(cr_sys.model, pd->node, CR_EDGE_REQUEST, CR_OUT);
         edge != CR_NONE; edge = cr_model_next(cr_sys.model, edge, pd->node, CR_OUT)) {
        if (cr_sys.edge_entry[edge] != CR_NONE &&
            cr_model_edge(cr_sys.model, edge, &info) == CR_OK) {
            used[CR_QUOTA_EDGES]++;
            used[CR_QUOTA_REQUESTS]++;
            if (needs_request(pd, cr_space_entry_of(info.to)->name)) {
                needed[CR_QUOTA_EDGES]++;
                needed[CR_QUOTA_REQUESTS]++;
            }
        }
    }
    for (uint32_t edge = cr_model_first(cr_sys.model, pd->node, CR_EDGE_MANAGE, CR_OUT);
         edge != CR_NONE; edge = cr_model_next(cr_sys.model, edge, pd->node, CR_OUT)) {
        if (cr_model_edge(cr_sys.model, edge, &info) != CR_OK ||
            cr_model_get(cr_sys.model, info.to, &space) != CR_OK) {
            continue;
        }
        const int for_need = cr_needs_space(pd, cr_space_entry_of(info.to)->name);
        count_space(info.to, used);
        needed[CR_QUOTA_NODES] += (uint64_t)for_need;
        needed[CR_QUOTA_SPACES] += (uint64_t)for_need;
        needed[CR_QUOTA_EDGES] += for_need ? 2 : 0;
        /* 1: the type is in use; 2: also by a space that the configuration names */
        used[CR_QUOTA_TYPES] += seen[space.type] == 0;
        needed[CR_QUOTA_TYPES] += for_need && seen[space.type] < 2;
        seen[space.type] = for_need || seen[space.type] == 2 ? 2 : 1;
    }
}

static void count(uint32_t account)
{
    uint64_t used[CR_QUOTA_COUNT] = {0};
    uint64_t needed[CR_QUOTA_COUNT] = {0};
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        if (cr_pd_exists(&cr_sys.pds[i]) && cr_sys.pds[i].account == account) {
            count_pd(&cr_sys.pds[i], used, needed);
        }
    }
    used[CR_QUOTA_EDGES] += cr_work_charged(cr_sys.work, account);
    for (uint32_t kind = 0; kind < CR_QUOTA_COUNT; kind++) {
        tallies[account][kind].used = used[kind];
        tallies[account][kind].needed = needed[kind];
    }
}

static int merges = 1;

void cr_charge_may_merge(int may)
{
    merges = may;
}

static int fits(const cr_tally *tally, uint32_t n, int for_need)
{
    return cr_tally_has(tally, n, 0) || (for_need && cr_tally_has(tally, n, 1));
}

cr_result cr_charge(const cr_pd *pd, cr_quota kind, uint32_t n, int for_need)
{
    cr_tally *tally = &tallies[pd->account][kind];
    /* What is needed can go at any time, so nothing is known of it between two counts. */
    cr_tally bound = *tally;
    bound.needed = 0;
    if (!cr_tally_has(&bound, n, 0)) {
        count(pd->account);
        if (!fits(tally, n, for_need) && kind == CR_QUOTA_EDGES && merges &&
            cr_backlog_merge(pd->account) > 0) {
            count(pd->account);
        }
        if (!fits(tally, n, for_need)) {
            return CR_RESULT_FULL;
        }
    }
    tally->used += n;
    return CR_RESULT_OK;
}

void cr_charge_more(const cr_pd *pd, cr_quota kind, uint32_t n)
{
    tallies[pd->account][kind].used += n;
}

/* -- what is charged together */

cr_result cr_charge_spawned(const cr_pd *creator)
{
    cr_result result = cr_charge(creator, CR_QUOTA_PDS, 1, 0);
    if (result == CR_RESULT_OK) {
        result = cr_charge(creator, CR_QUOTA_NODES, 2, 0);
    }
    return result == CR_RESULT_OK ? cr_charge(creator, CR_QUOTA_EDGES, 4, 0) : result;
}

/* Whether the PD manages a space of this type. */
static int manages_type(const cr_pd *pd, const char *type)
{
    for (uint32_t edge = cr_model_first(cr_sys.model, pd->node, CR_EDGE_MANAGE, CR_OUT);
         edge != CR_NONE; edge = cr_model_next(cr_sys.model, edge, pd->node, CR_OUT)) {
        cr_edge_info info;
        cr_node_info space;
        if (cr_model_edge(cr_sys.model, edge, &info) == CR_OK &&
            cr_model_get(cr_sys.model, info.to, &space) == CR_OK &&
            cr_text_same(cr_type_name(space.type), type)) {
            return 1;
        }
    }
    return 0;
}

cr_result cr_charge_space(const cr_pd *manager, const char *type, int for_need)
{
    cr_result result = cr_charge(manager, CR_QUOTA_SPACES, 1, for_need);
    if (result == CR_RESULT_OK) {
        result = cr_charge(manager, CR_QUOTA_NODES, 1, for_need);
    }
    if (result == CR_RESULT_OK) {
        result = cr_charge(manager, CR_QUOTA_EDGES, 2, for_need);
    }
    if (result == CR_RESULT_OK && !manages_type(manager, type)) {
        result = cr_charge(manager, CR_QUOTA_TYPES, 1, for_need);
    }
    return result;
}

cr_result cr_charge_request(const cr_pd *pd, const char *name)
{
    int for_need = needs_request(pd, name);
    cr_result result = cr_charge(pd, CR_QUOTA_REQUESTS, 1, for_need);
    return result == CR_RESULT_OK ? cr_charge(pd, CR_QUOTA_EDGES, 1, for_need) : result;
}
