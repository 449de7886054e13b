/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes PDs, spaces, resources, and capabilities to them in the CSpaces of PDs.
 *
 * Every cr_make_... function changes the model, the kernel and the trace together. It must run
 * directly after its cr_can_... function, which checks that there is room and changes nothing. For
 * this reason an operation is either done completely or refused without any effect. */
#include "charge.h"
#include "kernel/arch/arch.h"
#include "text.h"
#include "truth.h"
#include <cellreap/numbers.h>
#include "kernel/untyped.h"

/* The rights of clients' and holders' capabilities: to send, and to receive a reply. */
#define CR_CLIENT_RIGHTS seL4_CapRights_new(1, 0, 0, 1)

/* The number of a type: its present number, or else a free number. CR_NONE: no number is free. */
static uint32_t find_type(const char *type)
{
    uint32_t unused = CR_NONE;
    for (uint32_t i = 0; i < CR_MAX_TYPES; i++) {
        if (cr_sys.type_spaces[i] == 0) {
            unused = unused == CR_NONE ? i : unused;
        } else if (cr_text_same(cr_sys.types[i], type)) {
            return i;
        }
    }
    return unused;
}

/* A free entry in the table of spaces, or CR_NONE. */
static uint32_t find_space_entry(void)
{
    for (uint32_t i = 0; i < CR_MAX_SPACES; i++) {
        if (!cr_sys.spaces[i].used) {
            return i;
        }
    }
    return CR_NONE;
}

/* An entry whose generations are used up is lost for all. */
static uint32_t nodes_left(void)
{
    const cr_model_stats stats = cr_model_get_stats(cr_sys.model);
    return stats.max_nodes - stats.nodes - stats.retired;
}

static cr_status add_space(cr_ref manager, const char *type, const char *name, uint32_t flags,
                           cr_ref *out)
{
    uint32_t type_number = find_type(type);
    uint32_t entry = find_space_entry();
    if (type_number == CR_NONE || entry == CR_NONE ||
        !cr_number_left(cr_sys.next_space, CR_LAST_SPACE)) {
        return CR_ERR_FULL_NODES;
    }
    cr_status status =
        cr_model_add_space(cr_sys.model, type_number, cr_sys.next_space, flags, manager, out);
    if (status != CR_OK) {
        return status;
    }
    cr_text_copy(cr_sys.types[type_number], type, CR_TYPE_BYTES);
    cr_sys.next_space++;
    cr_sys.type_spaces[type_number]++;
    cr_sys.spaces[entry] = (cr_space_entry){
        .used = 1, .next_object = cr_first_number(CR_LAST_OBJECT, cr_sys.image->numbers_left)};
    cr_text_copy(cr_sys.spaces[entry].name, name, CR_NAME_BYTES);
    cr_sys.node_entry[out->index] = entry;
    cr_trace_change(CR_EV_SPACE);
    cr_trace_node(*out);
    cr_trace_string(&cr_sys.trace, type);
    cr_trace_node(manager);
    cr_trace_string(&cr_sys.trace, name);
    cr_trace_change_end();
    return CR_OK;
}

cr_status cr_core_space(const char *type, cr_ref *out)
{
    return add_space(cr_sys.root, type, "-", CR_FLAG_CORE, out);
}

/* A slot that can receive a capability. 0: there is none. */
static uint32_t find_slot(const cr_pd *pd)
{
    for (uint32_t i = CR_SLOT_FIRST_FREE; i < 1u << pd->body.cspace_bits; i++) {
        if (pd->slots[i] == CR_SLOT_FREE) {
            return i;
        }
    }
    return 0;
}

/* Checks whether a PD can receive a capability and finds the slot for it. A PD with too many
 * unacknowledged losses receives no more capabilities. */
static cr_result can_take_slot(const cr_pd *pd, uint32_t *slot)
{
    if (pd->lost >= CR_MAX_LOST_SLOTS) {
        return CR_RESULT_UNACKED;
    }
    *slot = find_slot(pd);
    return *slot != 0 ? CR_RESULT_OK : CR_RESULT_FULL;
}

/* Adds an edge that has no capability: it exists in the model only. */
static cr_status add_edge(cr_edge_kind kind, cr_event event, cr_ref from, cr_ref to)
{
    cr_status status = cr_model_add_edge(cr_sys.model, kind, from, to);
    if (status == CR_OK) {
        cr_trace_pair(event, from, to);
    }
    return status;
}

/* REQUEST edges to core spaces need no slot. The root task serves them over the PD's own capability
 * for operations. */
static cr_status core_request(cr_pd *pd, cr_ref space)
{
    cr_status status = cr_model_add_edge(cr_sys.model, CR_EDGE_REQUEST, pd->node, space);
    if (status == CR_OK) {
        cr_sys.edge_entry[cr_model_find(cr_sys.model, CR_EDGE_REQUEST, pd->node, space)] = CR_NONE;
        cr_trace_edge(CR_EV_REQUEST, pd->node, space, 0, 0);
    }
    return status;
}

_Static_assert(sizeof(cr_startup) <= 4096, "the startup information is one page");

static void fill_startup(cr_pd *pd, cr_startup *out)
{
    const cr_image_header *image = cr_sys.image;
    const cr_image_space *spaces = cr_image_spaces(image);
    const cr_image_request *requests = cr_image_requests(image);
    *out = (cr_startup){
        .magic = CR_PROTOCOL_MAGIC, .pd = pd->number, .cspace_bits = pd->body.cspace_bits};
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
            cr_text_copy(out->requests[out->n_requests++], spaces[requests[i].space].name,
                         CR_NAME_BYTES);
        }
    }
    /* The slot of a PD capability is fixed by its place in the configuration. The capability is in
     * this slot whenever its PD exists, also if the PD is created later or respawned. After a loss,
     * the slot is filled again when the holder has acknowledged it. */
    for (uint32_t i = 0; i < image->holds.count && out->n_pds < CR_STARTUP_PDS; i++) {
        const cr_image_pd_hold *hold = &cr_image_holds(image)[i];
        cr_pd *target = cr_find_configured(hold->target);
        if (hold->pd != pd->config) {
            continue;
        }
        cr_text_copy(out->pds[out->n_pds].name, cr_image_pds(image)[hold->target].name,
                     CR_NAME_BYTES);
        out->pds[out->n_pds].number = target != 0 && cr_may_have_caps(target) ? target->number : 0;
        out->pds[out->n_pds].slot = CR_SLOT_FIRST_FREE + out->n_pds;
        pd->slots[CR_SLOT_FIRST_FREE + out->n_pds++] = CR_SLOT_RESERVED;
    }
    pd->pd_slots = out->n_pds;
}

/* Makes the edges that a new PD has from the start. */
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
    cr_pd *handler = config->fault_handler != CR_IMAGE_NONE
                         ? cr_find_configured(config->fault_handler)
                         : 0;
    if (status == CR_OK && handler != 0) {
        status = add_edge(CR_EDGE_FAULT, CR_EV_HANDLER, pd->node, handler->node);
    }
    for (uint32_t i = 0; status == CR_OK && i < image->links.count; i++) {
        const cr_image_link *link = &cr_image_links(image)[i];
        uint32_t other = link->a == pd->config ? link->b : link->a;
        cr_pd *peer = link->a == pd->config || link->b == pd->config ? cr_find_configured(other)
                                                                     : 0;
        if (peer != 0 && peer != pd) {
            status = add_edge(CR_EDGE_LINK, CR_EV_LINK, pd->node, peer->node);
        }
    }
    if (status == CR_OK) {
        cr_grant_pds(pd);
    }
    return status;
}

/* A free entry in the table of PDs, or CR_NONE: there is none, or no number for a PD is left. */
static uint32_t find_pd_entry(void)
{
    for (uint32_t i = 1; cr_number_left(cr_sys.next_pd, CR_LAST_PD) && i < CR_MAX_PDS; i++) {
        if (!cr_pd_exists(&cr_sys.pds[i]) &&
            cr_number_left(cr_sys.pds[i].generation + 1, CR_LAST_GENERATION)) {
            return i;
        }
    }
    return CR_NONE;
}

cr_result cr_can_spawn(const cr_pd *creator, uint32_t *slot)
{
    cr_result result = can_take_slot(creator, slot);
    if (result == CR_RESULT_OK && (find_pd_entry() == CR_NONE || nodes_left() < 2)) {
        return CR_RESULT_FULL;
    }
    return result == CR_RESULT_OK ? cr_charge_spawned(creator) : result;
}

/* The configured PD that a PD descends from: no other has rules for what is spawned. */
static const cr_image_pd *ancestor_of(const cr_pd *pd)
{
    return &cr_image_pds(cr_sys.image)[pd->account - 1];
}

/* A spawned PD has never more priority than its creator. */
static uint32_t priority_of_spawned(const cr_pd *creator)
{
    uint32_t most = ancestor_of(creator)->spawn_priority;
    return most < creator->priority ? most : creator->priority;
}

static uint32_t allowed_from_start(const cr_pd *creator)
{
    return ancestor_of(creator)->spawn_allow;
}

void cr_trace_depths(const cr_pd *pd)
{
    cr_trace_begin(&cr_sys.trace, CR_EV_DEPTHS);
    cr_trace_pd(pd);
    cr_trace_depth(&cr_sys.trace, cr_depth_of(pd->pd_depth, cr_sys.image->pd_depth));
    cr_trace_depth(&cr_sys.trace, cr_depth_of(pd->rs_depth, cr_sys.image->rs_depth));
    cr_trace_change_end();
}

/* Prints the rules that the PD lives by from its creation. */
static void trace_rules_of(const cr_pd *pd)
{
    if (pd->deadline_ms != 0) {
        cr_trace_begin(&cr_sys.trace, CR_EV_DEADLINE);
        cr_trace_pd(pd);
        cr_trace_number(&cr_sys.trace, pd->deadline_ms);
        cr_trace_end(&cr_sys.trace);
    }
    cr_trace_begin(&cr_sys.trace, CR_EV_RIGHTS);
    cr_trace_pd(pd);
    cr_trace_number(&cr_sys.trace, pd->priority);
    cr_trace_number(&cr_sys.trace, pd->account);
    cr_trace_number(&cr_sys.trace, (pd->flags & CR_IMAGE_MAY_SET_DEPTH) != 0);
    cr_trace_number(&cr_sys.trace, (pd->flags & CR_IMAGE_MAY_EXTRACT) != 0);
    cr_trace_number(&cr_sys.trace, (pd->flags & CR_IMAGE_MAY_SPAWN) != 0);
    cr_trace_end(&cr_sys.trace);
    if (pd->pd_depth != CR_IMAGE_DEPTH_DEFAULT || pd->rs_depth != CR_IMAGE_DEPTH_DEFAULT) {
        cr_trace_depths(pd);
    }
}

cr_status cr_make_pd(uint32_t config_index, uint32_t program, const char *name, cr_pd *creator,
                     cr_pd **out)
{
    static cr_startup startup;
    const cr_image_header *image = cr_sys.image;
    const cr_image_pd *config = config_index != CR_IMAGE_NONE ? &cr_image_pds(image)[config_index]
                                                              : 0;
    uint32_t index = find_pd_entry();
    if (index == CR_NONE) {
        return CR_ERR_FULL_NODES;
    }
    cr_pd *pd = &cr_sys.pds[index];
    uint32_t generation = pd->generation + 1;
    cr_pd_become(pd, CR_LIFE_MAKING);
    *pd = (cr_pd){.life = pd->life,
                  .config = config_index,
                  .program = program,
                  .number = cr_sys.next_pd,
                  .generation = generation,
                  .flags = config != 0 ? config->flags : 0,
                  .account = creator != 0 ? creator->account : config_index + 1,
                  .priority = config != 0 ? config->priority : priority_of_spawned(creator),
                  .pd_depth = config != 0 ? config->pd_depth : CR_IMAGE_DEPTH_DEFAULT,
                  .rs_depth = config != 0 ? config->rs_depth : CR_IMAGE_DEPTH_DEFAULT,
                  .deadline_ms = config != 0    ? config->deadline_ms
                                 : creator != 0 ? creator->deadline_ms
                                                : 0};
    if (cr_work_set_receiver(cr_sys.work, cr_receiver(pd), (uint8_t)pd->account, CR_MAX_TAKEN) !=
        CR_OK) {
        cr_panic("no such receiver", pd->number);
    }
    cr_text_copy(pd->name, name, CR_NAME_BYTES);
    pd->body.cspace_bits = config != 0 ? config->cspace_bits : CR_SPAWNED_CSPACE_BITS;
    pd->body.block = CR_BLOCK_NONE;
    for (uint32_t i = 0; i < CR_SLOT_FIRST_FREE; i++) {
        pd->slots[i] = CR_SLOT_USED;
    }
    fill_startup(pd, &startup);
    startup.creator = creator != 0 ? creator->number : 0;

    const cr_image_program *elf = &cr_image_programs(image)[program];
    cr_body_params params = {
        .elf = cr_image_elf(image, elf),
        .elf_bytes = elf->bytes,
        .cspace_bits = pd->body.cspace_bits,
        .stack_pages = config != 0 ? config->stack_pages : CR_SPAWNED_STACK_PAGES,
        .priority = pd->priority,
        .l1 = CR_L1_BODIES + index,
        .startup = &startup,
        .root_endpoint = cr_sys.endpoint,
        .request_badge = cr_badge(CR_BADGE_PD, index, generation),
        .fault_badge = cr_badge(CR_BADGE_FAULT, index, generation),
        .name = cr_truth_thread_name(pd->name),
        .owner = config != 0 ? CR_OWNER_BODY + config_index : pd->account,
    };
    /* Making the body can fail. Nothing refers to the PD yet: it has no node, no number and no
     * event in the trace. */
    cr_status status = cr_body_make(&params, &pd->body);
    if (status != CR_OK) {
        *pd = (cr_pd){.life = pd->life, .generation = generation - 1};
        cr_pd_become(pd, CR_LIFE_ABSENT);
        return status;
    }
    uint32_t flags = (pd->flags & CR_IMAGE_PINNED) != 0 ? CR_FLAG_PINNED : 0;
    if (cr_model_add_pd(cr_sys.model, pd->number, flags, &pd->node) != CR_OK) {
        cr_panic("there was room for a node, and then there was not", pd->number);
    }
    cr_sys.next_pd++;
    cr_sys.node_entry[pd->node.index] = index;
    cr_trace_change(CR_EV_PD);
    cr_trace_pd(pd);
    cr_trace_string(&cr_sys.trace, pd->name);
    cr_trace_number(&cr_sys.trace, (pd->flags & CR_IMAGE_PINNED) != 0);
    cr_trace_change_end();
    cr_trace_change(CR_EV_BODY);
    cr_trace_pd(pd);
    cr_trace_address(&cr_sys.trace, cr_untyped_paddr(pd->body.block));
    cr_trace_number(&cr_sys.trace, 1ull << cr_untyped_bits(pd->body.block));
    cr_trace_number(&cr_sys.trace, CR_BODY_ROOT_SLOTS);
    cr_trace_end(&cr_sys.trace);
    trace_rules_of(pd);
    if (initial_edges(pd, creator, &startup) != CR_OK ||
        cr_resume(cr_body_cap(&pd->body, CR_BODY_TCB))) {
        cr_panic("there was room for a PD, and then there was not", pd->number);
    }
    cr_pd_become(pd, CR_LIFE_RUNS);
    if (creator != 0 && allowed_from_start(creator) > 0) {
        cr_allow(pd, creator, allowed_from_start(creator));
    }
    *out = pd;
    return CR_OK;
}

/* `name`: of the space. */
static cr_result can_add_request(const cr_pd *pd, const char *name, uint32_t *slot)
{
    cr_result result = can_take_slot(pd, slot);
    if (result == CR_RESULT_OK && cr_sys.free_request == CR_NONE) {
        return CR_RESULT_FULL;
    }
    return result == CR_RESULT_OK ? cr_charge_request(pd, name) : result;
}

cr_result cr_can_make_space(const cr_pd *manager, const char *type, const char *name,
                            const cr_pd *first, uint32_t *slot)
{
    *slot = 0;
    if (first != 0 && !cr_is_allowed(first, manager)) {
        return CR_RESULT_UNWANTED;
    }
    if (nodes_left() == 0 || !cr_number_left(cr_sys.next_space, CR_LAST_SPACE) ||
        cr_charge_space(manager, type, cr_needs_space(manager, name)) != CR_RESULT_OK) {
        return CR_RESULT_FULL;
    }
    return first != 0 ? can_add_request(first, name, slot) : CR_RESULT_OK;
}

cr_ref cr_make_space(cr_pd *manager, const char *type, const char *name)
{
    cr_ref space;
    if (add_space(manager->node, type, name, 0, &space) != CR_OK ||
        cr_model_add_edge(cr_sys.model, CR_EDGE_HOLD, manager->node, space) != CR_OK) {
        cr_panic("there was room for a space, and then there was not", cr_sys.next_space);
    }
    cr_sys.edge_entry[cr_model_find(cr_sys.model, CR_EDGE_HOLD, manager->node, space)] = 0;
    cr_trace_edge(CR_EV_HOLD, manager->node, space, 0, 0);
    return space;
}

/* Makes a resource and its parent capability. The parent is minted from `endpoint` and kept in the
 * pool. It must never be given to a PD, because revoking it takes the resource from all holders. */
static cr_result add_resource(cr_ref space, uint32_t number, seL4_CPtr endpoint, seL4_Word badge,
                              cr_ref *out)
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
    if (cr_mint(cr_slot_at(cr_cptr(CR_L1_POOL, slot)), cr_slot_at(endpoint), seL4_AllRights,
                badge)) {
        cr_panic("no capability can be minted from an endpoint of ours", number);
    }
    cr_sys.node_entry[out->index] = slot;
    cr_trace_change(CR_EV_RESOURCE);
    cr_trace_node(*out);
    cr_trace_node(space);
    cr_trace_number(&cr_sys.trace, CR_RESOURCE_ROOT_SLOTS);
    cr_trace_change_end();
    return CR_RESULT_OK;
}

cr_result cr_can_make_resource(cr_ref space)
{
    const cr_pd *manager = cr_manager_of(space);
    if (manager == 0) {
        return CR_RESULT_GONE;
    }
    if (nodes_left() == 0 ||
        !cr_number_left(cr_space_entry_of(space)->next_object, CR_LAST_OBJECT)) {
        return CR_RESULT_FULL;
    }
    cr_result result = cr_charge(manager, CR_QUOTA_NODES, 1, 0);
    return result == CR_RESULT_OK ? cr_charge(manager, CR_QUOTA_EDGES, 2, 0) : result;
}

cr_ref cr_make_resource(cr_ref space)
{
    cr_pd *manager = cr_manager_of(space);
    cr_space_entry *entry = cr_space_entry_of(space);
    cr_node_info info;
    cr_ref made;
    if (manager == 0 || cr_model_get(cr_sys.model, space, &info) != CR_OK ||
        add_resource(space, entry->next_object, cr_body_cap(&manager->body, CR_BODY_ENDPOINT),
                     cr_badge_resource(info.number, entry->next_object), &made) != CR_RESULT_OK) {
        cr_panic("there was room for a resource, and then there was not", entry->next_object);
    }
    entry->next_object++;
    if (cr_model_add_edge(cr_sys.model, CR_EDGE_HOLD, manager->node, made) != CR_OK) {
        cr_panic("no edge left where there was one", made.index);
    }
    cr_sys.edge_entry[cr_model_find(cr_sys.model, CR_EDGE_HOLD, manager->node, made)] = 0;
    cr_trace_edge(CR_EV_HOLD, manager->node, made, 0, 0);
    return made;
}

cr_result cr_body_resource(cr_pd *pd, cr_ref *out)
{
    uint32_t edge = cr_model_first(cr_sys.model, pd->node, CR_EDGE_BODY, CR_OUT);
    cr_edge_info info;
    if (edge != CR_NONE && cr_model_edge(cr_sys.model, edge, &info) == CR_OK) {
        *out = info.to;
        return CR_RESULT_OK;
    }
    uint32_t index = (uint32_t)(pd - cr_sys.pds);
    cr_result result = add_resource(cr_sys.pd_space, pd->number, cr_sys.endpoint,
                                    cr_badge(CR_BADGE_BODY, index, pd->generation), out);
    if (result == CR_RESULT_OK &&
        cr_model_add_edge(cr_sys.model, CR_EDGE_BODY, pd->node, *out) != CR_OK) {
        cr_panic("no edge left where there was one", out->index);
    }
    return result;
}

cr_result cr_can_make_request(const cr_pd *by, const cr_pd *pd, cr_ref space, uint32_t *slot)
{
    if (cr_server_of(space) == 0) {
        return CR_RESULT_GONE;
    }
    uint32_t known = cr_model_find(cr_sys.model, CR_EDGE_REQUEST, pd->node, space);
    if (known != CR_NONE) {
        *slot = cr_edge_slot(known, CR_EDGE_REQUEST);
        return CR_RESULT_EXISTS;
    }
    return cr_is_allowed(pd, by) ? can_add_request(pd, cr_space_entry_of(space)->name, slot)
                                 : CR_RESULT_UNWANTED;
}

void cr_make_request(const cr_pd *by, cr_pd *pd, cr_ref space, uint32_t slot)
{
    cr_pd *manager = cr_manager_of(space);
    uint32_t index = cr_sys.free_request;
    if (manager == 0 || index == CR_NONE ||
        cr_model_add_edge(cr_sys.model, CR_EDGE_REQUEST, pd->node, space) != CR_OK) {
        cr_panic("there was room for a request, and then there was not", pd->number);
    }
    pd->slots[slot] = CR_SLOT_USED;
    cr_request_entry *entry = &cr_sys.requests[index];
    cr_sys.free_request = entry->next_free;
    *entry = (cr_request_entry){.used = 1,
                                .generation = entry->generation + 1,
                                .pd = (uint32_t)(pd - cr_sys.pds),
                                .slot = slot,
                                .space = space};
    cr_sys.edge_entry[cr_model_find(cr_sys.model, CR_EDGE_REQUEST, pd->node, space)] = index;
    cr_slot endpoint = cr_slot_at(cr_body_cap(&manager->body, CR_BODY_ENDPOINT));
    if (cr_mint(cr_pd_parent(pd, slot), endpoint, seL4_AllRights,
                cr_badge(CR_BADGE_REQUEST, index, entry->generation)) ||
        cr_copy(cr_pd_slot(pd, slot), cr_pd_parent(pd, slot), CR_CLIENT_RIGHTS)) {
        cr_panic("a request capability cannot be put into a free slot", slot);
    }
    cr_trace_edge(CR_EV_REQUEST, pd->node, space, slot, by);
    cr_use_allowance(pd, by);
}

void cr_make_hold(const cr_pd *by, cr_pd *pd, cr_ref resource, uint32_t slot)
{
    uint32_t known = cr_model_find(cr_sys.model, CR_EDGE_HOLD, pd->node, resource);
    if (cr_model_add_edge(cr_sys.model, CR_EDGE_HOLD, pd->node, resource) != CR_OK) {
        cr_panic("there was room for a hold, and then there was not", pd->number);
    }
    if (known != CR_NONE) {
        slot = cr_sys.edge_entry[known];
    } else {
        cr_sys.edge_entry[cr_model_find(cr_sys.model, CR_EDGE_HOLD, pd->node, resource)] = slot;
        pd->slots[slot] = CR_SLOT_USED;
        if (cr_copy(cr_pd_slot(pd, slot),
                    cr_slot_at(cr_cptr(CR_L1_POOL, cr_sys.node_entry[resource.index])),
                    CR_CLIENT_RIGHTS)) {
            cr_panic("a resource's capability cannot be put into a free slot", slot);
        }
    }
    cr_trace_edge(CR_EV_HOLD, pd->node, resource, slot, by);
    cr_use_allowance(pd, by);
}

cr_result cr_can_make_hold(const cr_pd *by, const cr_pd *pd, cr_ref resource, uint32_t *slot)
{
    if (cr_server_of(resource) == 0) {
        return CR_RESULT_GONE;
    }
    uint32_t known = cr_model_find(cr_sys.model, CR_EDGE_HOLD, pd->node, resource);
    if (!cr_is_allowed(pd, by)) {
        return CR_RESULT_UNWANTED;
    }
    if (known != CR_NONE) {
        *slot = cr_sys.edge_entry[known];
        uint32_t count = cr_model_count(cr_sys.model, CR_EDGE_HOLD, pd->node, resource);
        return count < CR_MAX_COUNT ? CR_RESULT_OK : CR_RESULT_FULL;
    }
    cr_result result = can_take_slot(pd, slot);
    return result == CR_RESULT_OK ? cr_charge(pd, CR_QUOTA_EDGES, 1, 0) : result;
}

cr_status cr_give_foreign(cr_pd *pd, seL4_CPtr capability, uint32_t slot)
{
    if (slot < CR_SLOT_FIRST_FREE || slot >= 1u << pd->body.cspace_bits) {
        return CR_ERR_ARG;
    }
    if (pd->slots[slot] != CR_SLOT_FREE) {
        return CR_ERR_EXISTS;
    }
    if (cr_copy(cr_pd_slot(pd, slot), cr_slot_at(capability), seL4_AllRights)) {
        return CR_ERR_ARG;
    }
    pd->slots[slot] = CR_SLOT_USED;
    return CR_OK;
}
