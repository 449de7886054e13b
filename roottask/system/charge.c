/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The accounts of the configured PDs. See charge.h. The host computes the same quotas
 * (pyhost/cellreap/system/config/quotas.py), and both must agree. */
#include "charge.h"
#include "backlog.h"
#include "kernel/untyped.h"
#include "memory.h"
#include "regions.h"
#include "text.h"
#include <cellreap/accounts.h>

_Static_assert((int)CR_QUOTA_COUNT == (int)CR_IMAGE_QUOTAS, "one quota for each row of the table");

/* By account and quota. `used` is the upper bound. Account 0 is not used. */
static cr_tally (*tallies)[CR_QUOTA_COUNT];
/* By account: it may have notices that can be merged. */
static uint8_t *may_relieve;

/* -- what the configuration needs */

int cr_needs_space(const cr_pd *pd, const char *name)
{
    uint32_t space = cr_find_configured_space(name);
    return space != CR_IMAGE_NONE && cr_image_spaces(cr_sys.image)[space].pd == pd->config;
}

int cr_needs_request(const cr_pd *pd, const char *name)
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

static needs *configured; /* by index in the configuration */

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
    const uint32_t flags = cr_image_pds(cr_sys.image)[config].flags;
    int spawns = (flags & CR_IMAGE_MAY_SPAWN) != 0;
    int allocates = (flags & CR_IMAGE_MAY_ALLOCATE) != 0;
    switch (kind) {
    case CR_QUOTA_SPACES:
    case CR_QUOTA_TYPES:
    case CR_QUOTA_MAPS:
        return manages;
    case CR_QUOTA_PDS:
        return spawns;
    case CR_QUOTA_BYTES:
        return spawns || allocates;
    case CR_QUOTA_PAGES:
        return allocates;
    case CR_QUOTA_NODES:
        return manages || spawns || allocates;
    default:
        return 1;
    }
}

/* What there is for all accounts. */
static uint64_t available(cr_quota kind)
{
    const cr_image_header *image = cr_sys.image;
    const uint64_t pds = image->pds.count;
    /* The root task and its spaces; each PD and its PD capability. The edges of those, the requests
     * to core spaces and the fault handler of each PD. */
    const uint64_t memory = cr_sys.mo_space.index != CR_NONE ? 1 : 0;
    const uint64_t lines = image->lines.count;
    const uint64_t spaces = 2 + 2 * memory + (image->ends.count > 0 ? 1 : 0) +
                            (cr_sys.irq_space.index != CR_NONE ? 1 : 0) +
                            (cr_sys.port_space.index != CR_NONE ? 1 : 0) +
                            (cr_sys.ads_space.index != CR_NONE ? 1 : 0);
    const uint64_t channels = image->ends.count / 2;
    uint64_t threads = 0;
    uint64_t processes = 0;
    for (uint32_t i = 0; i < pds; i++) {
        const cr_image_pd *pd = &cr_image_pds(image)[i];
        threads += pd->threads > 1;
        processes += pd->threads > 1 && pd->thread == 0;
    }
    const uint64_t nodes = 1 + spaces + 2 * pds + image->regions.count + image->maps.count +
                           channels + lines + processes;
    /* SUBSET of a memory object; HOLD and MAP of a region, too; a channel: SUBSET and two HOLDs; a
     * line: SUBSET and HOLD; a thread: HOLD of the address space, and OWN, or SUBSET of that */
    const uint64_t edges = spaces + (5 + memory) * pds + image->holds.count + image->links.count +
                           image->regions.count + 3 * (uint64_t)image->maps.count + 3 * channels +
                           2 * lines + 2 * threads;
    switch (kind) {
    case CR_QUOTA_NODES:
        return cr_most.nodes - nodes;
    case CR_QUOTA_EDGES:
        return edges < cr_most.edges ? cr_most.edges - edges : 0;
    case CR_QUOTA_SPACES:
        return cr_most.spaces - spaces;
    case CR_QUOTA_TYPES:
        return cr_most.types - spaces;
    case CR_QUOTA_REQUESTS:
        return cr_most.requests;
    case CR_QUOTA_TICKETS:
        return cr_most.tickets;
    case CR_QUOTA_PDS:
        return cr_most.pds - 1 - pds;
    case CR_QUOTA_BYTES:
        return cr_untyped_bytes_free();
    case CR_QUOTA_MAPS:
        return cr_most.maps;
    case CR_QUOTA_PAGES:
        return cr_untyped_bytes_free() >> CR_PAGE_BITS;
    case CR_QUOTA_COUNT:
        break;
    }
    return 0;
}

/* What one division works with. */
static cr_claim *claims;
static uint64_t *quotas;

/* Divides one table. */
static void divide(cr_quota kind)
{
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

void cr_accounts_tables(void)
{
    CR_TABLE_MAKE(tallies, cr_most.pds);
    CR_TABLE_MAKE(may_relieve, cr_most.pds);
    CR_TABLE_MAKE(configured, cr_most.pds);
    CR_TABLE_MAKE(claims, cr_most.pds);
    CR_TABLE_MAKE(quotas, cr_most.pds);
}

void cr_accounts_init(void)
{
    count_needs();
    for (uint32_t kind = 0; kind < CR_QUOTA_COUNT; kind++) {
        if (kind != CR_QUOTA_BYTES && kind != CR_QUOTA_PAGES) { /* of what is not set aside */
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
    const cr_image_pd *row = &cr_image_pds(cr_sys.image)[config];
    cr_body_params params = cr_body_shape(config, row->program, row->cspace_bits);
    params.owner = CR_OWNER_BODY + config;
    const cr_status status = cr_body_reserve(&params);
    return status == CR_OK ? cr_regions_reserve(config) : status;
}

/* How many blocks of memory the account can have in use, and may need for what is between them. */
static uint64_t blocks_of(uint32_t account)
{
    enum { BETWEEN = 16 };
    const cr_tally *of = tallies[account];
    return of[CR_QUOTA_BYTES].quota == 0
               ? 0
               : BETWEEN + of[CR_QUOTA_PDS].quota +
                     (cr_sys.mo_space.index != CR_NONE ? of[CR_QUOTA_NODES].quota : 0);
}

/* To split memory takes room of a table, too. What is kept is for configured PDs. */
static void share_splits(void)
{
    const uint64_t kept = cr_most.pds + 16;
    const uint64_t left = cr_untyped_splits_left();
    uint64_t all = 0;
    for (uint32_t i = 1; i <= cr_sys.image->pds.count; i++) {
        all += blocks_of(i);
    }
    for (uint32_t i = 1; i <= cr_sys.image->pds.count; i++) {
        if (blocks_of(i) != 0 && left > kept) {
            cr_untyped_let_split(i, (uint32_t)((left - kept) * blocks_of(i) / all));
        }
    }
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
    divide(CR_QUOTA_PAGES);
    for (uint32_t i = 0; i < cr_sys.image->pds.count; i++) {
        cr_tally *bytes = &tallies[i + 1][CR_QUOTA_BYTES];
        bytes->quota = cr_untyped_reserve(i + 1, bytes->quota);
    }
    share_splits();
    trace_quotas();
}

uint64_t cr_quota_of(uint32_t account, cr_quota kind)
{
    return tallies[account][kind].quota;
}

/* -- what is in use */

/* -n wraps, and the sum wraps back. */
static uint64_t signed_of(uint32_t n, int sign)
{
    return sign > 0 ? n : 0 - (uint64_t)n;
}

static void count_needed(uint32_t account, cr_quota kind, uint32_t n, int sign)
{
    tallies[account][kind].needed += signed_of(n, sign);
}

static void count(uint32_t account, cr_quota kind, uint32_t n, int for_need, int sign)
{
    tallies[account][kind].used += signed_of(n, sign);
    count_needed(account, kind, for_need ? n : 0, sign);
}

/* The account of a node that is there or was there. */
static uint32_t account_of(cr_ref pd)
{
    return cr_sys.accounts[pd.index];
}

/* Whether the manager has another space of the type of this one; `needed`: only those count that
 * the configuration names. */
static int has_type_beside(cr_ref space, const cr_node_info *info, int needed)
{
    cr_edge_walk spaces = cr_model_walk(cr_sys.model, info->manager, CR_EDGE_MANAGE, CR_OUT);
    while (cr_model_next(&spaces)) {
        cr_node_info its;
        if (!cr_same(spaces.other, space) &&
            cr_model_get(cr_sys.model, spaces.other, &its) == CR_OK && its.type == info->type &&
            (!needed || cr_space_entry_of(spaces.other)->needed)) {
            return 1;
        }
    }
    return 0;
}

/* The space, its edges to its manager and from it, and its type. */
static void charge_space(cr_ref space, const cr_node_info *info, int sign)
{
    const uint32_t account = account_of(space);
    const int needed = cr_space_entry_of(space)->needed;
    count(account, CR_QUOTA_NODES, 1, needed, sign);
    count(account, CR_QUOTA_SPACES, 1, needed, sign);
    count(account, CR_QUOTA_EDGES, 2, needed, sign);
    const uint32_t types = has_type_beside(space, info, 0) ? 0 : 1;
    const uint32_t needed_types = needed && !has_type_beside(space, info, 1) ? 1 : 0;
    count(account, CR_QUOTA_TYPES, types, 0, sign);
    count_needed(account, CR_QUOTA_TYPES, needed_types, sign);
    if (sign < 0) {
        cr_charge_may_relieve(account);
    }
}

static void charge_pd(cr_ref node, int sign)
{
    const cr_pd *pd = cr_pd_of(node);
    const uint32_t account = account_of(node);
    if (pd != 0 && pd->config == CR_IMAGE_NONE) {
        count(account, CR_QUOTA_NODES, 2, 0, sign); /* itself and its PD capability */
        count(account, CR_QUOTA_EDGES, 3, 0, sign); /* OWN, SUBSET, BODY */
        count(account, CR_QUOTA_PDS, 1, 0, sign);
    }
    if (sign < 0) {
        cr_charge_may_relieve(account);
    }
}

void cr_charge_node(cr_ref node, const cr_node_info *info, int sign)
{
    if (info->kind == CR_NODE_PD) {
        charge_pd(node, sign);
    } else if (info->kind == CR_NODE_SPACE) {
        charge_space(node, info, sign);
    } else if (cr_is_memory(node)) {
        count(account_of(node), CR_QUOTA_NODES, 1, 0, sign);
        count(account_of(node), CR_QUOTA_EDGES, 1, 0, sign); /* SUBSET */
    } else {
        /* Those of other core spaces are the root task's, which has no account. */
        count(account_of(node), CR_QUOTA_NODES, 1, 0, sign);
        count(account_of(node), CR_QUOTA_EDGES, 2, 0, sign);
    }
}

void cr_charge_pages(cr_ref object, uint32_t pages, int sign)
{
    count(account_of(object), CR_QUOTA_PAGES, pages, 0, sign);
}

void cr_charge_edge(const cr_edge_info *edge, uint32_t entry, int alone, int sign)
{
    const uint32_t account = account_of(edge->from);
    const cr_pd *pd;
    switch (edge->kind) {
    case CR_EDGE_HOLD:
        /* A manager's hold comes with its node. One that the configuration gives is set aside. */
        pd = &cr_sys.pds[cr_sys.node_entry[edge->from.index]];
        if (cr_is_bare(edge->to) || cr_is_line(edge->to)) {
            break;
        }
        if (cr_is_memory(edge->to)) {
            count(account_of(edge->to) != 0 ? account : 0, CR_QUOTA_EDGES, 1, 0, sign);
        } else if (entry != 0 && !cr_is_hold_slot(pd, entry)) {
            tallies[account][CR_QUOTA_EDGES].used += signed_of(1, sign);
        }
        break;
    case CR_EDGE_REQUEST:
        if (entry != CR_NONE) {
            count(account, CR_QUOTA_EDGES, 1, cr_sys.requests[entry].needed, sign);
            count(account, CR_QUOTA_REQUESTS, 1, cr_sys.requests[entry].needed, sign);
        }
        break;
    case CR_EDGE_SUBSCRIBE:
        /* The handlers of a PD for a node share one notice. */
        count(account, CR_QUOTA_EDGES, alone ? 2 : 1, 0, sign);
        break;
    case CR_EDGE_MAP:
        count(account, CR_QUOTA_EDGES, 1, 0, sign);
        break;
    default:
        break; /* They come with their nodes, or are set aside. */
    }
}

/* Edges stay counted in the notices that they left behind. */
static cr_tally tally_of(uint32_t account, cr_quota kind)
{
    cr_tally tally = tallies[account][kind];
    tally.used += kind == CR_QUOTA_EDGES ? cr_work_charged(cr_sys.work, account) : 0;
    return tally;
}

/* -- what fits */

static int merges = 1;

void cr_charge_may_merge(int may)
{
    merges = may;
}

void cr_charge_may_relieve(uint32_t account)
{
    may_relieve[account] = 1;
}

static int has_room(uint32_t account, cr_quota kind, uint32_t n, int for_need)
{
    const cr_tally tally = tally_of(account, kind);
    return cr_tally_has(&tally, n, 0) || (for_need && cr_tally_has(&tally, n, 1));
}

cr_result cr_fits(const cr_pd *pd, cr_quota kind, uint32_t n, int for_need)
{
    const uint32_t account = pd->account;
    if (!has_room(account, kind, n, for_need) && kind == CR_QUOTA_EDGES && merges &&
        may_relieve[account]) {
        /* What is merged or withdrawn once is never merged again: this is not repeated before the
         * account has other notices. */
        may_relieve[account] = 0;
        cr_backlog_merge(account);
    }
    return has_room(account, kind, n, for_need) ? CR_RESULT_OK : CR_RESULT_FULL;
}

/* -- what is charged together */

cr_result cr_fits_spawned(const cr_pd *creator)
{
    cr_result result = cr_fits(creator, CR_QUOTA_PDS, 1, 0);
    if (result == CR_RESULT_OK) {
        result = cr_fits(creator, CR_QUOTA_NODES, 2, 0);
    }
    return result == CR_RESULT_OK ? cr_fits(creator, CR_QUOTA_EDGES, 4, 0) : result;
}

/* Whether the PD manages a space of this type. */
static int manages_type(const cr_pd *pd, const char *type)
{
    cr_edge_walk spaces = cr_model_walk(cr_sys.model, pd->node, CR_EDGE_MANAGE, CR_OUT);
    while (cr_model_next(&spaces)) {
        cr_node_info space;
        if (cr_model_get(cr_sys.model, spaces.other, &space) == CR_OK &&
            cr_text_same(cr_type_name(space.type), type)) {
            return 1;
        }
    }
    return 0;
}

cr_result cr_fits_space(const cr_pd *manager, const char *type, int for_need)
{
    cr_result result = cr_fits(manager, CR_QUOTA_SPACES, 1, for_need);
    if (result == CR_RESULT_OK) {
        result = cr_fits(manager, CR_QUOTA_NODES, 1, for_need);
    }
    if (result == CR_RESULT_OK) {
        result = cr_fits(manager, CR_QUOTA_EDGES, 2, for_need);
    }
    if (result == CR_RESULT_OK && !manages_type(manager, type)) {
        result = cr_fits(manager, CR_QUOTA_TYPES, 1, for_need);
    }
    return result;
}

cr_result cr_fits_request(const cr_pd *pd, const char *name, uint32_t beside)
{
    const int for_need = cr_needs_request(pd, name);
    cr_result result = cr_fits(pd, CR_QUOTA_REQUESTS, 1, for_need);
    return result == CR_RESULT_OK ? cr_fits(pd, CR_QUOTA_EDGES, 1 + beside, for_need) : result;
}
