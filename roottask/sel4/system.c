/* SPDX-License-Identifier: BSD-2-Clause */
#include "system.h"
#include "text.h"
#include "untyped.h"

cr_system cr_sys;

/* What clients' and holders' capabilities allow: to send, and to be answered. */
#define CR_CLIENT_RIGHTS seL4_CapRights_new(1, 0, 0, 1)

enum { TRACE_BUFFER = 1 << 19, RESOURCE_SLOTS = 1 };

static _Alignas(8) uint8_t model_memory[1 << 21];
static _Alignas(8) uint8_t planner_memory[6 << 20];
static char trace_buffer[TRACE_BUFFER];
static cr_work_item work_items[CR_MAX_NOTICES];
static cr_work_queue work_queues[CR_MAX_PDS];

/* -- ids and trace */

const char *cr_type_name(uint32_t type)
{
    return type < CR_MAX_TYPES ? cr_sys.types[type] : "?";
}

static size_t put_text(char *out, size_t at, const char *text)
{
    for (; *text != '\0' && at + 1 < CR_ID_BYTES; text++) {
        out[at++] = *text;
    }
    out[at] = '\0';
    return at;
}

static size_t put_hex(char *out, size_t at, uint32_t value)
{
    char text[24];
    cr_format_hex(text, value);
    return put_text(out, at, text);
}

void cr_node_id(cr_ref node, char *out)
{
    cr_node_info info;
    cr_node_info space;
    if (cr_model_get(cr_sys.model, node, &info) != CR_OK) {
        put_text(out, 0, "?");
        return;
    }
    switch (info.kind) {
    case CR_NODE_PD:
        put_hex(out, put_text(out, 0, "PD_"), info.number);
        return;
    case CR_NODE_SPACE:
        put_hex(out, put_text(out, put_text(out, 0, cr_type_name(info.type)), "_SPACE_"), info.number);
        return;
    case CR_NODE_RESOURCE:
        if (cr_model_get(cr_sys.model, info.space, &space) != CR_OK) {
            break;
        }
        put_hex(out, put_text(out, put_hex(out, put_text(out, put_text(out, 0, cr_type_name(info.type)), "_"), space.number), "_"),
                info.number);
        return;
    case CR_NODE_FREE:
    case CR_NODE_KIND_COUNT:
        break;
    }
    put_text(out, 0, "?");
}

void cr_pd_id(const cr_pd *pd, char *out)
{
    put_hex(out, put_text(out, 0, "PD_"), pd->number);
}

void cr_trace_change(cr_event event)
{
    cr_sys.changed = 1;
    cr_sys.memory_changed |= event == CR_EV_BODY || event == CR_EV_RESOURCE || event == CR_EV_DELETE;
    cr_trace_begin(&cr_sys.trace, event);
}

void cr_trace_node(cr_ref node)
{
    char id[CR_ID_BYTES];
    if (node.index == CR_NONE) {
        cr_trace_string(&cr_sys.trace, "-");
        return;
    }
    cr_node_id(node, id);
    cr_trace_string(&cr_sys.trace, id);
}

void cr_trace_pd(const cr_pd *pd)
{
    char id[CR_ID_BYTES];
    cr_pd_id(pd, id);
    cr_trace_string(&cr_sys.trace, id);
}

/* Slots that PDs and resources use, and those that the root task keeps; the allocator's own, which hold the
 * halves of split blocks and go when blocks are joined, are not among them. */
uint64_t cr_slots_used(void)
{
    uint64_t pds = 0;
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        pds += cr_sys.pds[i].used ? CR_BODY_ROOT_SLOTS : 0;
    }
    return pds + cr_pool_used() - 2u * cr_untyped_pairs();
}

void cr_account(void)
{
    if (!cr_sys.memory_changed) {
        return;
    }
    cr_sys.memory_changed = 0;
    cr_trace_begin(&cr_sys.trace, CR_EV_ACCOUNT);
    cr_trace_number(&cr_sys.trace, cr_untyped_bytes_used());
    cr_trace_number(&cr_sys.trace, cr_slots_used());
    cr_trace_end(&cr_sys.trace);
}

static void trace_nodes(cr_event event, cr_ref a, cr_ref b)
{
    cr_trace_change(event);
    cr_trace_node(a);
    cr_trace_node(b);
    cr_trace_end(&cr_sys.trace);
}

static void trace_slot(cr_event event, cr_ref pd, cr_ref node, uint32_t slot)
{
    cr_trace_change(event);
    cr_trace_node(pd);
    cr_trace_node(node);
    cr_trace_number(&cr_sys.trace, slot);
    cr_trace_end(&cr_sys.trace);
}

/* -- looking up */

cr_result cr_result_of(cr_status status)
{
    switch (status) {
    case CR_OK:
        return CR_RESULT_OK;
    case CR_ERR_STALE:
    case CR_ERR_ABSENT:
        return CR_RESULT_NO_SUCH;
    case CR_ERR_STATE:
        return CR_RESULT_GONE;
    case CR_ERR_EXISTS:
        return CR_RESULT_EXISTS;
    case CR_ERR_FULL_NODES:
    case CR_ERR_FULL_EDGES:
    case CR_ERR_FULL_PLAN:
        return CR_RESULT_FULL;
    case CR_ERR_MEMORY:
        return CR_RESULT_MEMORY;
    default:
        return CR_RESULT_FAILED;
    }
}

int cr_same(cr_ref a, cr_ref b)
{
    return a.index == b.index && a.generation == b.generation;
}

cr_pd *cr_pd_of(cr_ref node)
{
    cr_node_info info;
    if (cr_model_get(cr_sys.model, node, &info) != CR_OK || info.kind != CR_NODE_PD) {
        return 0;
    }
    cr_pd *pd = &cr_sys.pds[cr_sys.node_entry[node.index]];
    return pd->used && cr_same(pd->node, node) ? pd : 0;
}

cr_space_entry *cr_space_entry_of(cr_ref space)
{
    return &cr_sys.spaces[cr_sys.node_entry[space.index]];
}

cr_pd *cr_find_pd(uint32_t number)
{
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        if (cr_sys.pds[i].used && cr_sys.pds[i].number == number) {
            return &cr_sys.pds[i];
        }
    }
    return 0;
}

cr_pd *cr_find_configured(uint32_t config)
{
    for (uint32_t i = 1; i < CR_MAX_PDS; i++) {
        if (cr_sys.pds[i].used && cr_sys.pds[i].config == config) {
            return &cr_sys.pds[i];
        }
    }
    return 0;
}

/* Spaces and resources are looked up by walking the spaces: there are few, and a request names one. */
cr_result cr_find_space(uint32_t number, cr_ref *out)
{
    for (uint32_t i = 0; i < CR_MAX_NODES; i++) {
        cr_ref node;
        cr_node_info info;
        if (cr_model_at(cr_sys.model, i, &node) != CR_OK || cr_model_get(cr_sys.model, node, &info) != CR_OK ||
            info.kind != CR_NODE_SPACE || info.number != number) {
            continue;
        }
        *out = node;
        return info.state == CR_STATE_ACTIVE ? CR_RESULT_OK : CR_RESULT_GONE;
    }
    return number != 0 && number < cr_sys.next_space ? CR_RESULT_GONE : CR_RESULT_NO_SUCH;
}

cr_result cr_find_resource(uint32_t space_number, uint32_t object, cr_ref *out)
{
    cr_ref space;
    cr_result result = cr_find_space(space_number, &space);
    if (result != CR_RESULT_OK) {
        return result;
    }
    for (uint32_t edge = cr_model_first(cr_sys.model, space, CR_EDGE_SUBSET, CR_IN); edge != CR_NONE;
         edge = cr_model_next(cr_sys.model, edge, space, CR_IN)) {
        cr_edge_info info;
        cr_node_info node;
        if (cr_model_edge(cr_sys.model, edge, &info) == CR_OK &&
            cr_model_get(cr_sys.model, info.from, &node) == CR_OK && node.number == object) {
            *out = info.from;
            return CR_RESULT_OK;
        }
    }
    return object != 0 && object < cr_space_entry_of(space)->next_object ? CR_RESULT_GONE : CR_RESULT_NO_SUCH;
}

cr_result cr_find_request(uint64_t badge, cr_request_entry **out)
{
    uint32_t index = cr_badge_index(badge);
    if (cr_badge_kind_of(badge) != CR_BADGE_REQUEST || index >= CR_MAX_REQUESTS) {
        return CR_RESULT_BAD_BADGE;
    }
    cr_request_entry *entry = &cr_sys.requests[index];
    if (!entry->used || (entry->generation & 0xfffffffu) != cr_badge_generation(badge)) {
        return CR_RESULT_BAD_BADGE;
    }
    *out = entry;
    return CR_RESULT_OK;
}

cr_pd *cr_manager_of(cr_ref node)
{
    cr_node_info info;
    return cr_model_get(cr_sys.model, node, &info) == CR_OK && info.manager.index != CR_NONE ? cr_pd_of(info.manager)
                                                                                           : 0;
}

/* -- making */

cr_status cr_system_init(const cr_image_header *image, seL4_CPtr endpoint)
{
    cr_status status;
    cr_sys.image = image;
    cr_sys.endpoint = endpoint;
    cr_sys.next_pd = 1;
    cr_sys.next_space = 1;
    for (uint32_t i = 0; i < CR_MAX_REQUESTS; i++) {
        cr_sys.requests[i].next_free = i + 1 < CR_MAX_REQUESTS ? i + 1 : CR_NONE;
    }
    cr_trace_init(&cr_sys.trace, trace_buffer, sizeof(trace_buffer), cr_console_put);
    cr_work_init(&cr_sys.work, work_items, CR_MAX_NOTICES, work_queues, CR_MAX_PDS);
    if ((status = cr_model_init(model_memory, sizeof(model_memory), CR_MAX_NODES, CR_MAX_EDGES, &cr_sys.model)) != CR_OK ||
        (status = cr_planner_init(planner_memory, sizeof(planner_memory), CR_MAX_NODES, CR_MAX_PLAN, &cr_sys.planner)) != CR_OK ||
        (status = cr_model_add_pd(cr_sys.model, 0, CR_FLAG_ROOT, &cr_sys.root)) != CR_OK) {
        return status;
    }
    cr_pd *root = &cr_sys.pds[0];
    root->used = 1;
    root->config = CR_IMAGE_NONE;
    root->node = cr_sys.root;
    root->body.block = CR_BLOCK_NONE;
    cr_text_copy(root->name, "ROOT_TASK", sizeof(root->name));
    cr_sys.node_entry[cr_sys.root.index] = 0;
    return CR_OK;
}

/* The number of a type: the one it has, or a free one. */
static cr_status find_type(const char *type, uint32_t *out)
{
    uint32_t unused = CR_NONE;
    for (uint32_t i = 0; i < CR_MAX_TYPES; i++) {
        if (cr_sys.type_spaces[i] == 0) {
            unused = unused == CR_NONE ? i : unused;
        } else if (cr_text_same(cr_sys.types[i], type)) {
            *out = i;
            return CR_OK;
        }
    }
    if (unused == CR_NONE) {
        return CR_ERR_FULL_NODES;
    }
    *out = unused;
    cr_text_copy(cr_sys.types[unused], type, CR_TYPE_BYTES);
    return CR_OK;
}

static cr_status add_space(cr_ref manager, const char *type, const char *name, uint32_t flags, cr_ref *out)
{
    uint32_t type_number;
    uint32_t entry = 0;
    cr_status status = find_type(type, &type_number);
    if (status != CR_OK) {
        return status;
    }
    while (entry < CR_MAX_SPACES && cr_sys.spaces[entry].used) {
        entry++;
    }
    if (entry == CR_MAX_SPACES) {
        return CR_ERR_FULL_NODES;
    }
    status = cr_model_add_space(cr_sys.model, type_number, cr_sys.next_space, flags, manager, out);
    if (status != CR_OK) {
        return status;
    }
    cr_sys.next_space++;
    cr_sys.type_spaces[type_number]++;
    cr_sys.spaces[entry] = (cr_space_entry){.used = 1, .next_object = 1};
    cr_text_copy(cr_sys.spaces[entry].name, name, CR_NAME_BYTES);
    cr_sys.node_entry[out->index] = entry;
    cr_trace_change(CR_EV_SPACE);
    cr_trace_node(*out);
    cr_trace_string(&cr_sys.trace, type);
    cr_trace_node(manager);
    cr_trace_string(&cr_sys.trace, name);
    cr_trace_end(&cr_sys.trace);
    return CR_OK;
}

cr_status cr_core_space(const char *type, cr_ref *out)
{
    return add_space(cr_sys.root, type, "-", CR_FLAG_CORE, out);
}

static cr_slot slot_of(const cr_pd *pd, uint32_t slot)
{
    return cr_slot_in(cr_body_cap(&pd->body, CR_BODY_CSPACE), slot, pd->body.cspace_bits);
}

/* Where the parent of the REQUEST capability in that slot is. */
static cr_slot parent_of(const cr_pd *pd, uint32_t slot)
{
    return cr_slot_at(cr_body_cap(&pd->body, pd->body.parents + slot));
}

static uint32_t take_slot(cr_pd *pd)
{
    for (uint32_t i = CR_SLOT_FIRST_FREE; i < 1u << pd->body.cspace_bits; i++) {
        if (pd->slots[i] == CR_SLOT_FREE) {
            pd->slots[i] = CR_SLOT_USED;
            return i;
        }
    }
    return 0;
}

/* A new edge that is the model's alone. */
static cr_status add_edge(cr_edge_kind kind, cr_event event, cr_ref from, cr_ref to)
{
    cr_status status = cr_model_add_edge(cr_sys.model, kind, from, to);
    if (status == CR_OK) {
        trace_nodes(event, from, to);
    }
    return status;
}

/* REQUESTs to core spaces are served by the root task at the PD's own request capability: no slot. */
static cr_status core_request(cr_pd *pd, cr_ref space)
{
    cr_status status = cr_model_add_edge(cr_sys.model, CR_EDGE_REQUEST, pd->node, space);
    if (status == CR_OK) {
        cr_sys.edge_entry[cr_model_find(cr_sys.model, CR_EDGE_REQUEST, pd->node, space)] = CR_NONE;
        trace_slot(CR_EV_REQUEST, pd->node, space, 0);
    }
    return status;
}

static void fill_startup(cr_pd *pd, cr_startup *out)
{
    const cr_image_header *image = cr_sys.image;
    const cr_image_space *spaces = cr_image_spaces(image);
    const cr_image_request *requests = cr_image_requests(image);
    *out = (cr_startup){.magic = CR_PROTOCOL_MAGIC, .pd = pd->number, .cspace_bits = pd->body.cspace_bits};
    cr_text_copy(out->name, pd->name, CR_NAME_BYTES);
    if (pd->config == CR_IMAGE_NONE) {
        return;
    }
    for (uint32_t i = 0; i < CR_PD_ARGS; i++) {
        out->args[i] = cr_image_pds(image)[pd->config].args[i];
    }
    for (uint32_t i = 0; i < image->spaces.count && out->n_spaces < CR_STARTUP_SPACES; i++) {
        if (spaces[i].pd == pd->config) {
            cr_text_copy(out->spaces[out->n_spaces].name, spaces[i].name, CR_NAME_BYTES);
            cr_text_copy(out->spaces[out->n_spaces++].type, spaces[i].type, CR_TYPE_BYTES);
        }
    }
    for (uint32_t i = 0; i < image->requests.count && out->n_requests < CR_STARTUP_REQUESTS; i++) {
        if (requests[i].pd == pd->config) {
            cr_text_copy(out->requests[out->n_requests++], spaces[requests[i].space].name, CR_NAME_BYTES);
        }
    }
    /* A PD capability's slot is fixed by its place in the configuration: whenever its PD is there, created
     * later or anew, the capability is in that slot. */
    for (uint32_t i = 0; i < image->holds.count && out->n_pds < CR_STARTUP_PDS; i++) {
        const cr_image_pd_hold *hold = &cr_image_holds(image)[i];
        cr_pd *target = cr_find_configured(hold->target);
        if (hold->pd != pd->config) {
            continue;
        }
        cr_text_copy(out->pds[out->n_pds].name, cr_image_pds(image)[hold->target].name, CR_NAME_BYTES);
        out->pds[out->n_pds].number = target != 0 ? target->number : 0;
        out->pds[out->n_pds].slot = CR_SLOT_FIRST_FREE + out->n_pds;
        pd->slots[CR_SLOT_FIRST_FREE + out->n_pds++] = CR_SLOT_RESERVED;
    }
    pd->pd_slots = out->n_pds;
}

static cr_result make_hold_in(cr_pd *pd, cr_ref resource, uint32_t taken);

/* Gives a PD the capabilities to the PDs that are there, and those that are to hold it their capability to it. */
static cr_status grant_pds(cr_pd *pd)
{
    const cr_image_header *image = cr_sys.image;
    uint32_t mine = CR_SLOT_FIRST_FREE;
    for (uint32_t i = 0; i < image->holds.count; i++) {
        const cr_image_pd_hold *hold = &cr_image_holds(image)[i];
        cr_pd *holder = cr_find_configured(hold->pd);
        cr_pd *target = cr_find_configured(hold->target);
        uint32_t slot = mine;
        cr_ref body;
        if (holder == pd) {
            mine++;
        } else if (target == pd && holder != 0) {
            slot = CR_SLOT_FIRST_FREE;
            for (uint32_t k = 0; k < i; k++) {
                slot += cr_image_holds(image)[k].pd == hold->pd;
            }
        } else {
            continue;
        }
        if (target == 0 || slot >= CR_SLOT_FIRST_FREE + holder->pd_slots) {
            continue;
        }
        if (cr_body_resource(target, &body) != CR_RESULT_OK || make_hold_in(holder, body, slot) != CR_RESULT_OK) {
            return CR_ERR_FULL_NODES;
        }
    }
    return CR_OK;
}

/* The edges that a PD is born with. */
static cr_status initial_edges(cr_pd *pd, cr_pd *creator, const cr_startup *startup)
{
    const cr_image_header *image = cr_sys.image;
    cr_status status = CR_OK;
    if (creator != 0) {
        status = add_edge(CR_EDGE_OWN, CR_EV_OWN, creator->node, pd->node);
    }
    if (pd->config == CR_IMAGE_NONE) {
        return status;
    }
    const cr_image_pd *config = &cr_image_pds(image)[pd->config];
    if (status == CR_OK && startup->n_spaces > 0) {
        status = core_request(pd, cr_sys.resspc_space);
    }
    if (status == CR_OK && (pd->flags & CR_IMAGE_MAY_SPAWN) != 0) {
        status = core_request(pd, cr_sys.pd_space);
    }
    cr_pd *handler = config->fault_handler != CR_IMAGE_NONE ? cr_find_configured(config->fault_handler) : 0;
    if (status == CR_OK && handler != 0) {
        status = add_edge(CR_EDGE_FAULT, CR_EV_HANDLER, pd->node, handler->node);
    }
    for (uint32_t i = 0; status == CR_OK && i < image->links.count; i++) {
        const cr_image_link *link = &cr_image_links(image)[i];
        uint32_t other = link->a == pd->config ? link->b : link->a;
        cr_pd *peer = link->a == pd->config || link->b == pd->config ? cr_find_configured(other) : 0;
        if (peer != 0 && peer != pd) {
            status = add_edge(CR_EDGE_LINK, CR_EV_LINK, pd->node, peer->node);
        }
    }
    return status == CR_OK ? grant_pds(pd) : status;
}

/* Whether there is room in the model and the pool for a PD and all that it may be born with: nodes and slots for
 * PD capabilities, its own and others' to it, and their edges, a handful of other edges, and its links. */
static cr_status room_for_pd(void)
{
    cr_model_stats stats = cr_model_get_stats(cr_sys.model);
    uint32_t caps = 2 * cr_sys.image->holds.count + 1;
    if (stats.max_nodes - stats.nodes < caps + 1 || cr_pool_left() < caps + 2) {
        return CR_ERR_FULL_NODES;
    }
    return stats.max_edges - stats.edges < 3 * caps + cr_sys.image->links.count + 8 ? CR_ERR_FULL_EDGES : CR_OK;
}

cr_status cr_make_pd(uint32_t config_index, uint32_t program, const char *name, cr_pd *creator, cr_pd **out)
{
    static cr_startup startup;
    const cr_image_header *image = cr_sys.image;
    const cr_image_pd *config = config_index != CR_IMAGE_NONE ? &cr_image_pds(image)[config_index] : 0;
    uint32_t index = 1;
    while (index < CR_MAX_PDS && cr_sys.pds[index].used) {
        index++;
    }
    cr_status status = index == CR_MAX_PDS ? CR_ERR_FULL_NODES : room_for_pd();
    if (status != CR_OK) {
        return status;
    }
    cr_pd *pd = &cr_sys.pds[index];
    uint32_t generation = pd->generation + 1;
    *pd = (cr_pd){.used = 1,
                  .config = config_index,
                  .program = program,
                  .number = cr_sys.next_pd,
                  .generation = generation,
                  .flags = config != 0 ? config->flags : 0,
                  .pd_depth = config != 0 ? config->pd_depth : CR_IMAGE_DEPTH_DEFAULT,
                  .rs_depth = config != 0 ? config->rs_depth : CR_IMAGE_DEPTH_DEFAULT};
    cr_text_copy(pd->name, name, CR_NAME_BYTES);
    pd->body.cspace_bits = config != 0 ? config->cspace_bits : 8;
    pd->body.block = CR_BLOCK_NONE;
    for (uint32_t i = 0; i < CR_SLOT_FIRST_FREE; i++) {
        pd->slots[i] = CR_SLOT_USED;
    }
    fill_startup(pd, &startup);

    const cr_image_program *elf = &cr_image_programs(image)[program];
    cr_pd *handler = config != 0 && config->fault_handler != CR_IMAGE_NONE ? cr_find_configured(config->fault_handler) : 0;
    cr_body_params params = {
        .elf = (const uint8_t *)image + elf->offset,
        .elf_bytes = elf->bytes,
        .cspace_bits = pd->body.cspace_bits,
        .stack_pages = config != 0 ? config->stack_pages : 4,
        .priority = config != 0 ? config->priority : 100,
        .l1 = CR_L1_BODIES + index,
        .startup = &startup,
        .root_endpoint = cr_sys.endpoint,
        .request_badge = cr_badge(CR_BADGE_PD, index, generation),
        .fault_endpoint = handler != 0 ? cr_body_cap(&handler->body, CR_BODY_ENDPOINT) : cr_sys.endpoint,
        .fault_badge = cr_badge(CR_BADGE_FAULT, index, generation),
        .name = pd->name,
    };
    uint32_t flags = (pd->flags & CR_IMAGE_PINNED) != 0 ? CR_FLAG_PINNED : 0;
    status = cr_model_add_pd(cr_sys.model, pd->number, flags, &pd->node);
    if (status != CR_OK) {
        pd->used = 0;
        return status;
    }
    status = cr_body_make(&params, &pd->body);
    if (status != CR_OK) {
        /* Nothing refers to the node yet: it goes without a trace. */
        if (cr_model_doom(cr_sys.model, pd->node) != CR_OK || cr_model_destroy(cr_sys.model, pd->node) != CR_OK ||
            cr_model_release(cr_sys.model, pd->node) != CR_OK) {
            cr_panic("a node just made cannot be taken back", pd->number);
        }
        pd->used = 0;
        return status;
    }
    cr_sys.next_pd++;
    cr_sys.node_entry[pd->node.index] = index;
    cr_trace_change(CR_EV_PD);
    cr_trace_pd(pd);
    cr_trace_string(&cr_sys.trace, pd->name);
    cr_trace_number(&cr_sys.trace, (pd->flags & CR_IMAGE_PINNED) != 0);
    cr_trace_end(&cr_sys.trace);
    cr_trace_change(CR_EV_BODY);
    cr_trace_pd(pd);
    cr_trace_address(&cr_sys.trace, cr_untyped_paddr(pd->body.block));
    cr_trace_number(&cr_sys.trace, 1ull << cr_untyped_bits(pd->body.block));
    cr_trace_number(&cr_sys.trace, CR_BODY_ROOT_SLOTS);
    cr_trace_end(&cr_sys.trace);
    if (initial_edges(pd, creator, &startup) != CR_OK || cr_resume(cr_body_cap(&pd->body, CR_BODY_TCB))) {
        cr_panic("there was room for a PD, and then there was not", pd->number);
    }
    *out = pd;
    return CR_OK;
}

cr_result cr_make_space(cr_pd *manager, const char *type, const char *name, cr_ref *out)
{
    cr_status status = add_space(manager->node, type, name, 0, out);
    if (status == CR_OK) {
        status = cr_model_add_edge(cr_sys.model, CR_EDGE_HOLD, manager->node, *out);
    }
    if (status != CR_OK) {
        return cr_result_of(status);
    }
    cr_sys.edge_entry[cr_model_find(cr_sys.model, CR_EDGE_HOLD, manager->node, *out)] = 0;
    trace_slot(CR_EV_HOLD, manager->node, *out, 0);
    return CR_RESULT_OK;
}

/* A resource and its parent capability: minted from `endpoint`, kept in the pool, never given to anybody. */
static cr_result add_resource(cr_ref space, uint32_t number, seL4_CPtr endpoint, seL4_Word badge_of_body, cr_ref *out)
{
    uint32_t slot = cr_pool_take();
    if (slot == 0) {
        return CR_RESULT_FULL;
    }
    cr_status status = cr_model_add_resource(cr_sys.model, space, number, out);
    if (status != CR_OK) {
        cr_pool_give(slot);
        return cr_result_of(status);
    }
    seL4_Word badge = badge_of_body != 0 ? badge_of_body : cr_badge(CR_BADGE_RESOURCE, number, out->generation);
    if (cr_mint(cr_slot_at(cr_cptr(CR_L1_POOL, slot)), cr_slot_at(endpoint), seL4_AllRights, badge)) {
        cr_panic("no capability can be minted from an endpoint of ours", number);
    }
    cr_sys.node_entry[out->index] = slot;
    cr_trace_change(CR_EV_RESOURCE);
    cr_trace_node(*out);
    cr_trace_node(space);
    cr_trace_number(&cr_sys.trace, RESOURCE_SLOTS);
    cr_trace_end(&cr_sys.trace);
    return CR_RESULT_OK;
}

cr_result cr_make_resource(cr_ref space, cr_ref *out)
{
    cr_pd *manager = cr_manager_of(space);
    cr_space_entry *entry = cr_space_entry_of(space);
    cr_model_stats stats = cr_model_get_stats(cr_sys.model);
    if (manager == 0) {
        return CR_RESULT_GONE;
    }
    if (stats.edges + 2 > stats.max_edges) {
        return CR_RESULT_FULL;
    }
    cr_result result = add_resource(space, entry->next_object, cr_body_cap(&manager->body, CR_BODY_ENDPOINT), 0, out);
    if (result != CR_RESULT_OK) {
        return result;
    }
    entry->next_object++;
    if (cr_model_add_edge(cr_sys.model, CR_EDGE_HOLD, manager->node, *out) != CR_OK) {
        cr_panic("no edge left where there was one", out->index);
    }
    cr_sys.edge_entry[cr_model_find(cr_sys.model, CR_EDGE_HOLD, manager->node, *out)] = 0;
    trace_slot(CR_EV_HOLD, manager->node, *out, 0);
    return CR_RESULT_OK;
}

cr_result cr_body_resource(cr_pd *pd, cr_ref *out)
{
    uint32_t edge = cr_model_first(cr_sys.model, pd->node, CR_EDGE_BODY, CR_OUT);
    cr_edge_info info;
    if (edge != CR_NONE && cr_model_edge(cr_sys.model, edge, &info) == CR_OK) {
        *out = info.to;
        return CR_RESULT_OK;
    }
    cr_model_stats stats = cr_model_get_stats(cr_sys.model);
    if (stats.edges + 3 > stats.max_edges) {
        return CR_RESULT_FULL;
    }
    uint32_t index = (uint32_t)(pd - cr_sys.pds);
    cr_result result = add_resource(cr_sys.pd_space, pd->number, cr_sys.endpoint,
                                    cr_badge(CR_BADGE_BODY, index, pd->generation), out);
    if (result == CR_RESULT_OK && cr_model_add_edge(cr_sys.model, CR_EDGE_BODY, pd->node, *out) != CR_OK) {
        cr_panic("no edge left where there was one", out->index);
    }
    return result;
}

cr_result cr_make_request(cr_pd *pd, cr_ref space, uint32_t *slot)
{
    cr_pd *manager = cr_manager_of(space);
    uint32_t index = cr_sys.free_request;
    if (manager == 0) {
        return CR_RESULT_GONE;
    }
    uint32_t known = cr_model_find(cr_sys.model, CR_EDGE_REQUEST, pd->node, space);
    if (known != CR_NONE) {
        uint32_t entry_index = cr_sys.edge_entry[known];
        *slot = entry_index != CR_NONE ? cr_sys.requests[entry_index].slot : 0;
        return CR_RESULT_EXISTS;
    }
    if (index == CR_NONE) {
        return CR_RESULT_FULL;
    }
    uint32_t taken = take_slot(pd);
    if (taken == 0) {
        return CR_RESULT_FULL;
    }
    cr_status status = cr_model_add_edge(cr_sys.model, CR_EDGE_REQUEST, pd->node, space);
    if (status != CR_OK) {
        pd->slots[taken] = CR_SLOT_FREE;
        return cr_result_of(status);
    }
    cr_request_entry *entry = &cr_sys.requests[index];
    cr_sys.free_request = entry->next_free;
    *entry = (cr_request_entry){
        .used = 1, .generation = entry->generation + 1, .pd = (uint32_t)(pd - cr_sys.pds), .slot = taken, .space = space};
    cr_sys.edge_entry[cr_model_find(cr_sys.model, CR_EDGE_REQUEST, pd->node, space)] = index;
    if (cr_mint(parent_of(pd, taken), cr_slot_at(cr_body_cap(&manager->body, CR_BODY_ENDPOINT)), seL4_AllRights,
                cr_badge(CR_BADGE_REQUEST, index, entry->generation)) ||
        cr_copy(slot_of(pd, taken), parent_of(pd, taken), CR_CLIENT_RIGHTS)) {
        cr_panic("a request capability cannot be put into a free slot", taken);
    }
    *slot = taken;
    trace_slot(CR_EV_REQUEST, pd->node, space, taken);
    return CR_RESULT_OK;
}

/* One more hold, in the slot given if it is the first. */
static cr_result make_hold_in(cr_pd *pd, cr_ref resource, uint32_t taken)
{
    uint32_t known = cr_model_find(cr_sys.model, CR_EDGE_HOLD, pd->node, resource);
    uint32_t slot = known != CR_NONE ? cr_sys.edge_entry[known] : taken;
    cr_status status = cr_model_add_edge(cr_sys.model, CR_EDGE_HOLD, pd->node, resource);
    if (status != CR_OK) {
        return cr_result_of(status);
    }
    if (known == CR_NONE) {
        cr_sys.edge_entry[cr_model_find(cr_sys.model, CR_EDGE_HOLD, pd->node, resource)] = slot;
        pd->slots[slot] = CR_SLOT_USED;
        if (cr_copy(slot_of(pd, slot), cr_slot_at(cr_cptr(CR_L1_POOL, cr_sys.node_entry[resource.index])),
                    CR_CLIENT_RIGHTS)) {
            cr_panic("a resource's capability cannot be put into a free slot", slot);
        }
    }
    trace_slot(CR_EV_HOLD, pd->node, resource, slot);
    return CR_RESULT_OK;
}

cr_result cr_make_hold(cr_pd *pd, cr_ref resource, uint32_t *slot)
{
    uint32_t known = cr_model_find(cr_sys.model, CR_EDGE_HOLD, pd->node, resource);
    uint32_t taken = known != CR_NONE ? cr_sys.edge_entry[known] : take_slot(pd);
    if (taken == 0 && known == CR_NONE) {
        return CR_RESULT_FULL;
    }
    cr_result result = make_hold_in(pd, resource, taken);
    if (result != CR_RESULT_OK && known == CR_NONE) {
        pd->slots[taken] = CR_SLOT_FREE;
    }
    *slot = taken;
    return result;
}

/* -- dropping, by a PD that lives on */

cr_result cr_drop_hold(cr_pd *pd, cr_ref resource, uint32_t *left)
{
    uint32_t edge = cr_model_find(cr_sys.model, CR_EDGE_HOLD, pd->node, resource);
    cr_node_info info;
    if (edge == CR_NONE || cr_model_get(cr_sys.model, resource, &info) != CR_OK) {
        return CR_RESULT_NO_SUCH;
    }
    if (cr_same(info.manager, pd->node)) {
        return CR_RESULT_DENIED; /* A manager holds what it serves until it deletes it. */
    }
    uint32_t slot = cr_sys.edge_entry[edge];
    cr_status status = cr_model_drop_edge(cr_sys.model, CR_EDGE_HOLD, pd->node, resource);
    if (status != CR_OK) {
        return cr_result_of(status);
    }
    *left = cr_model_count(cr_sys.model, CR_EDGE_HOLD, pd->node, resource);
    trace_slot(CR_EV_UNHOLD, pd->node, resource, slot);
    if (*left == 0) {
        if (cr_delete(slot_of(pd, slot))) {
            cr_panic("a slot of a PD cannot be emptied", slot);
        }
        pd->slots[slot] = slot < CR_SLOT_FIRST_FREE + pd->pd_slots ? CR_SLOT_RESERVED : CR_SLOT_FREE;
    }
    return CR_RESULT_OK;
}

/* Takes the capability in a PD's slot and all messages sent with it that nobody has received yet. */
static void remove_request_caps(cr_pd *pd, uint32_t slot)
{
    cr_slot parent = parent_of(pd, slot);
    if (cr_cancel_sends(parent) || cr_revoke(parent) || cr_delete(parent)) {
        cr_panic("a request capability cannot be taken back", slot);
    }
}

static void free_request_entry(uint32_t index)
{
    cr_sys.requests[index].used = 0;
    cr_sys.requests[index].next_free = cr_sys.free_request;
    cr_sys.free_request = index;
}

cr_result cr_drop_request(cr_pd *pd, cr_ref space)
{
    uint32_t edge = cr_model_find(cr_sys.model, CR_EDGE_REQUEST, pd->node, space);
    if (edge == CR_NONE) {
        return CR_RESULT_NO_SUCH;
    }
    uint32_t index = cr_sys.edge_entry[edge];
    uint32_t slot = 0;
    if (index != CR_NONE) {
        slot = cr_sys.requests[index].slot;
        remove_request_caps(pd, slot);
        pd->slots[slot] = CR_SLOT_FREE;
        free_request_entry(index);
    }
    if (cr_model_drop_edge(cr_sys.model, CR_EDGE_REQUEST, pd->node, space) != CR_OK) {
        cr_panic("an edge that was found is not there", edge);
    }
    trace_slot(CR_EV_UNREQUEST, pd->node, space, slot);
    return CR_RESULT_OK;
}

/* -- taking apart */

cr_status cr_take_request(cr_pd *pd, cr_ref space)
{
    uint32_t edge = cr_model_find(cr_sys.model, CR_EDGE_REQUEST, pd->node, space);
    cr_node_info info;
    cr_node_info client;
    cr_status status;
    if (edge == CR_NONE) {
        return CR_OK;
    }
    if ((status = cr_model_get(cr_sys.model, space, &info)) != CR_OK ||
        (status = cr_model_get(cr_sys.model, pd->node, &client)) != CR_OK) {
        return status;
    }
    uint32_t index = cr_sys.edge_entry[edge];
    if (index != CR_NONE) {
        uint32_t slot = cr_sys.requests[index].slot;
        /* A dead server's endpoint takes all capabilities to it along, and so does a dead client's CSpace. */
        if (client.state == CR_STATE_ACTIVE) {
            if (!cr_space_entry_of(space)->manager_dead) {
                remove_request_caps(pd, slot);
            }
            pd->slots[slot] = CR_SLOT_LOST | info.number;
        }
        free_request_entry(index);
    }
    return cr_model_drop_edge(cr_sys.model, CR_EDGE_REQUEST, pd->node, space);
}

cr_status cr_take_resource(cr_ref resource)
{
    cr_node_info info;
    cr_node_info space;
    cr_status status = cr_model_get(cr_sys.model, resource, &info);
    if (status == CR_ERR_STALE || (status == CR_OK && info.state == CR_STATE_DESTROYED)) {
        return CR_OK;
    }
    if (status != CR_OK || (status = cr_model_get(cr_sys.model, info.space, &space)) != CR_OK) {
        return status;
    }
    int core = (space.flags & CR_FLAG_CORE) != 0;
    uint32_t pool_slot = cr_sys.node_entry[resource.index];
    cr_slot parent = cr_slot_at(cr_cptr(CR_L1_POOL, pool_slot));
    if (!cr_space_entry_of(info.space)->manager_dead &&
        (cr_cancel_sends(parent) || cr_revoke(parent) || cr_delete(parent))) {
        return CR_ERR_CORRUPT;
    }
    for (uint32_t edge = cr_model_first(cr_sys.model, resource, CR_EDGE_HOLD, CR_IN); edge != CR_NONE;
         edge = cr_model_next(cr_sys.model, edge, resource, CR_IN)) {
        cr_edge_info hold;
        cr_pd *holder = cr_model_edge(cr_sys.model, edge, &hold) == CR_OK ? cr_pd_of(hold.from) : 0;
        uint32_t slot = cr_sys.edge_entry[edge];
        if (holder != 0 && slot != 0) {
            /* For a core resource there is no notice to wait for. */
            int reserved = slot < CR_SLOT_FIRST_FREE + holder->pd_slots;
            holder->slots[slot] = reserved ? (uint32_t)CR_SLOT_RESERVED
                                  : core   ? (uint32_t)CR_SLOT_FREE
                                           : CR_SLOT_LOST | space.number;
        }
    }
    cr_pool_give(pool_slot);
    status = cr_model_destroy(cr_sys.model, resource);
    return status == CR_OK ? cr_model_release(cr_sys.model, resource) : status;
}

cr_status cr_take_space(cr_ref space)
{
    cr_node_info info;
    cr_status status = cr_model_get(cr_sys.model, space, &info);
    if (status != CR_OK || info.state == CR_STATE_DESTROYED) {
        return status;
    }
    status = cr_model_destroy(cr_sys.model, space);
    if (status == CR_OK) {
        cr_space_entry_of(space)->used = 0;
        cr_sys.type_spaces[info.type]--;
    }
    return status;
}

cr_status cr_take_pd(cr_pd *pd)
{
    for (uint32_t edge = cr_model_first(cr_sys.model, pd->node, CR_EDGE_REQUEST, CR_OUT); edge != CR_NONE;
         edge = cr_model_next(cr_sys.model, edge, pd->node, CR_OUT)) {
        if (cr_sys.edge_entry[edge] != CR_NONE) {
            free_request_entry(cr_sys.edge_entry[edge]);
        }
    }
    cr_status status = cr_body_destroy(&pd->body);
    if (status == CR_OK) {
        status = cr_model_destroy(cr_sys.model, pd->node);
    }
    if (status == CR_OK) {
        pd->used = 0;
        cr_work_drop(&cr_sys.work, (uint32_t)(pd - cr_sys.pds));
    }
    return status;
}

/* -- a manager deletes what it serves */

static void trace_delete(cr_ref node, cr_pd *by)
{
    cr_trace_change(CR_EV_DELETE);
    cr_trace_node(node);
    cr_trace_pd(by);
    cr_trace_end(&cr_sys.trace);
}

cr_result cr_delete_resource(cr_pd *by, cr_ref resource)
{
    trace_delete(resource, by);
    return cr_result_of(cr_take_resource(resource));
}

cr_result cr_delete_space(cr_pd *by, cr_ref space)
{
    cr_edge_info info;
    cr_status status = CR_OK;
    for (uint32_t i = 0; status == CR_OK && i < CR_MAX_NODES; i++) {
        uint32_t edge = cr_model_first(cr_sys.model, space, CR_EDGE_SUBSET, CR_IN);
        if (edge == CR_NONE) {
            break;
        }
        status = cr_model_edge(cr_sys.model, edge, &info);
        if (status == CR_OK) {
            trace_delete(info.from, by);
            status = cr_take_resource(info.from);
        }
    }
    for (uint32_t i = 0; status == CR_OK && i < CR_MAX_PDS; i++) {
        uint32_t edge = cr_model_first(cr_sys.model, space, CR_EDGE_REQUEST, CR_IN);
        if (edge == CR_NONE) {
            break;
        }
        status = cr_model_edge(cr_sys.model, edge, &info);
        cr_pd *client = status == CR_OK ? cr_pd_of(info.from) : 0;
        status = client != 0 ? cr_take_request(client, space) : CR_ERR_CORRUPT;
    }
    if (status == CR_OK) {
        trace_delete(space, by);
        status = cr_model_doom(cr_sys.model, space);
    }
    if (status == CR_OK) {
        status = cr_take_space(space);
    }
    if (status == CR_OK) {
        status = cr_model_release(cr_sys.model, space);
    }
    return cr_result_of(status);
}

void cr_free_lost_slots(cr_pd *pd, uint32_t space)
{
    for (uint32_t i = CR_SLOT_FIRST_FREE; i < 1u << pd->body.cspace_bits; i++) {
        if (pd->slots[i] == (CR_SLOT_LOST | space)) {
            pd->slots[i] = CR_SLOT_FREE;
        }
    }
}
