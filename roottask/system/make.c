/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes spaces, resources, and capabilities to them in the CSpaces of PDs.
 *
 * Every cr_make_... function changes the model, the kernel and the trace together. It must run
 * directly after its cr_can_... function, which checks that there is room and changes nothing. If
 * the kernel refuses all the same, everything that was made is undone (making.h). For this reason
 * an operation is either done completely or refused without any effect. */
#include "charge.h"
#include "making.h"
#include "rows.h"
#include "text.h"
#include <cellreap/numbers.h>

/* The number of a type: its present number, or else a free number. CR_NONE: no number is free. */
static uint32_t find_type(const char *type)
{
    uint32_t unused = CR_NONE;
    for (uint32_t i = 0; i < cr_most.types; i++) {
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
    for (uint32_t i = 0; i < cr_most.spaces; i++) {
        if (!cr_sys.spaces[i].used) {
            return i;
        }
    }
    return CR_NONE;
}

/* An entry whose generations are used up is lost for all. */
uint32_t cr_nodes_left(void)
{
    const cr_model_stats stats = cr_model_get_stats(cr_sys.model);
    return stats.max_nodes - stats.nodes - stats.retired;
}

cr_status cr_add_space_node(cr_new_space *make)
{
    make->type_number = find_type(make->type);
    make->entry = find_space_entry();
    if (make->type_number == CR_NONE || make->entry == CR_NONE ||
        !cr_number_left(cr_sys.next_space, CR_LAST_SPACE)) {
        return CR_ERR_FULL_NODES;
    }
    cr_status status = cr_model_add_space(cr_sys.model, make->type_number, cr_sys.next_space,
                                          make->flags, make->manager, &make->ref);
    if (status != CR_OK) {
        return status;
    }
    cr_text_copy(cr_sys.types[make->type_number], make->type, CR_TYPE_BYTES);
    cr_sys.type_spaces[make->type_number]++;
    cr_sys.spaces[make->entry] =
        (cr_space_entry){.used = 1,
                         .needed = cr_needs_space(cr_pd_of(make->manager), make->name),
                         .next_object = cr_sys.first_object,
                         .node = make->ref};
    cr_text_copy(cr_sys.spaces[make->entry].name, make->name, CR_NAME_BYTES);
    cr_sys.node_entry[make->ref.index] = make->entry;
    cr_rows_added(make->ref);
    return CR_OK;
}

void cr_commit_space(const cr_new_space *make)
{
    cr_sys.next_space++;
    cr_trace_change(CR_EV_SPACE);
    cr_trace_node(make->ref);
    cr_trace_string(&cr_sys.trace, make->type);
    cr_trace_node(make->manager);
    cr_trace_string(&cr_sys.trace, make->name);
    cr_trace_change_end();
}

cr_status cr_core_space(const char *type, uint32_t flags, cr_ref *out)
{
    cr_new_space make = {
        .manager = cr_sys.root, .type = type, .name = "-", .flags = CR_FLAG_CORE | flags};
    cr_status status = cr_add_space_node(&make);
    if (status == CR_OK) {
        cr_commit_space(&make);
        *out = make.ref;
    }
    return status;
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
cr_result cr_can_take_slot(const cr_pd *pd, uint32_t *slot)
{
    if (pd->lost >= CR_MAX_LOST_SLOTS) {
        return CR_RESULT_UNACKED;
    }
    *slot = find_slot(pd);
    return *slot != 0 ? CR_RESULT_OK : CR_RESULT_FULL;
}

/* `server`: 0 if it is gone. Who may call a passive PD lends it its time. If to use that up was a
 * fault, it would be a fault of the caller for what the other does. */
static cr_result can_call(const cr_pd *pd, const cr_pd *server)
{
    if (server == 0) {
        return CR_RESULT_GONE;
    }
    return server->passive && cr_time_faults(pd->time) ? CR_RESULT_DENIED : CR_RESULT_OK;
}

/* `name`: of the space. `beside`: edges that the operation makes for the account besides. */
static cr_result can_add_request(const cr_pd *pd, const char *name, uint32_t beside, uint32_t *slot)
{
    cr_result result = cr_can_take_slot(pd, slot);
    if (result == CR_RESULT_OK && cr_sys.free_request == CR_NONE) {
        return CR_RESULT_FULL;
    }
    return result == CR_RESULT_OK ? cr_fits_request(pd, name, beside) : result;
}

cr_result cr_can_make_space(const cr_pd *manager, const char *type, const char *name,
                            const cr_pd *first, uint32_t *slot)
{
    *slot = 0;
    if (first != 0 && !cr_is_allowed(first, manager)) {
        return CR_RESULT_UNWANTED;
    }
    if (first != 0 && can_call(first, manager) != CR_RESULT_OK) {
        return CR_RESULT_DENIED;
    }
    const int needed = cr_needs_space(manager, name);
    if (cr_nodes_left() == 0 || !cr_number_left(cr_sys.next_space, CR_LAST_SPACE) ||
        cr_fits_space(manager, type, needed) != CR_RESULT_OK) {
        return CR_RESULT_FULL;
    }
    /* What a needed space takes is no part of what is left for others. */
    const uint32_t beside = first != 0 && first->account == manager->account && !needed ? 2 : 0;
    return first != 0 ? can_add_request(first, name, beside, slot) : CR_RESULT_OK;
}

/* The manager's edge to what it manages, which has no capability. */
static void add_managers_hold(const cr_ref *manager, const cr_ref *node)
{
    cr_making_add_edge(&(cr_new_edge){.kind = CR_EDGE_HOLD, .from = manager, .to = node});
}

cr_result cr_make_space(cr_pd *manager, const char *type, const char *name, cr_pd *first,
                        uint32_t slot, cr_ref *out)
{
    cr_making_begin(CR_MADE_SPACE, name);
    cr_now_made.space = (cr_new_space){.manager = manager->node, .type = type, .name = name};
    cr_making_add(CR_MAKE_NODE, CR_OF_SPACE);
    add_managers_hold(&manager->node, &cr_now_made.space.ref);
    if (first != 0) {
        cr_making_add_request(first, &cr_now_made.space.ref, name, slot);
    }
    cr_result result = cr_making_run();
    *out = cr_now_made.space.ref;
    return result;
}

cr_result cr_can_make_resource(cr_ref space)
{
    const cr_pd *manager = cr_manager_of(space);
    if (manager == 0) {
        return CR_RESULT_GONE;
    }
    if (cr_nodes_left() == 0 ||
        !cr_number_left(cr_space_entry_of(space)->next_object, CR_LAST_OBJECT)) {
        return CR_RESULT_FULL;
    }
    cr_result result = cr_fits(manager, CR_QUOTA_NODES, 1, 0);
    return result == CR_RESULT_OK ? cr_fits(manager, CR_QUOTA_EDGES, 2, 0) : result;
}

cr_result cr_make_resource(cr_ref space, cr_ref *out)
{
    cr_pd *manager = cr_manager_of(space);
    if (manager == 0) {
        return CR_RESULT_GONE;
    }
    cr_making_begin_at(CR_MADE_RESOURCE, space);
    cr_now_made.resource =
        (cr_new_resource){.space = space,
                          .number = &cr_space_entry_of(space)->next_object,
                          .endpoint = cr_body_cap(&manager->body, CR_BODY_ENDPOINT)};
    cr_making_add_resource();
    add_managers_hold(&manager->node, &cr_now_made.resource.ref);
    cr_result result = cr_making_run();
    *out = cr_now_made.resource.ref;
    return result;
}

int cr_body_resource(const cr_pd *pd, cr_ref *out)
{
    uint32_t edge = cr_model_first(cr_sys.model, pd->node, CR_EDGE_BODY, CR_OUT);
    cr_edge_info info;
    if (edge == CR_NONE || cr_model_edge(cr_sys.model, edge, &info) != CR_OK) {
        return 0;
    }
    *out = info.to;
    return 1;
}

void cr_making_add_body_hold(cr_pd *holder, const cr_pd *pd, uint32_t slot)
{
    static cr_ref known;
    if (cr_body_resource(pd, &known)) {
        cr_making_add_hold(holder, &known, slot);
        return;
    }
    cr_now_made.resource = (cr_new_resource){.space = cr_sys.pd_space,
                                             .number = &pd->number,
                                             .endpoint = cr_sys.endpoint,
                                             .body_of = pd,
                                             .ref = {CR_NONE, 0}};
    if (cr_pd_is_of_microkit(holder)) {
        cr_making_add(CR_MAKE_NODE, CR_OF_RESOURCE); /* The thread is in the body. */
    } else {
        cr_making_add_resource();
    }
    cr_making_add_edge(
        &(cr_new_edge){.kind = CR_EDGE_BODY, .from = &pd->node, .to = &cr_now_made.resource.ref});
    cr_making_add_hold(holder, &cr_now_made.resource.ref, slot);
}

cr_result cr_make_body_hold(cr_pd *holder, const cr_pd *pd, uint32_t slot)
{
    cr_making_begin_at(CR_MADE_HOLD, holder->node);
    cr_making_add_body_hold(holder, pd, slot);
    return cr_making_run();
}

cr_result cr_can_make_request(const cr_pd *by, const cr_pd *pd, cr_ref space, uint32_t *slot)
{
    const cr_result reaches = can_call(pd, cr_server_of(space));
    if (reaches != CR_RESULT_OK) {
        return reaches;
    }
    uint32_t known = cr_model_find(cr_sys.model, CR_EDGE_REQUEST, pd->node, space);
    if (known != CR_NONE) {
        *slot = cr_edge_slot(known, CR_EDGE_REQUEST);
        return CR_RESULT_EXISTS;
    }
    return cr_is_allowed(pd, by) ? can_add_request(pd, cr_space_entry_of(space)->name, 0, slot)
                                 : CR_RESULT_UNWANTED;
}

cr_result cr_make_request(cr_pd *pd, cr_ref space, uint32_t slot)
{
    cr_making_begin_at(CR_MADE_REQUEST, pd->node);
    cr_making_add_request(pd, &space, cr_space_entry_of(space)->name, slot);
    return cr_making_run();
}

cr_result cr_can_make_hold(const cr_pd *by, const cr_pd *pd, cr_ref resource, uint32_t *slot)
{
    const cr_result reaches = can_call(pd, cr_server_of(resource));
    if (reaches != CR_RESULT_OK) {
        return reaches;
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
    *slot = 0;
    if (cr_is_due(pd, resource)) {
        return CR_RESULT_UNACKED; /* Else it had two slots for one edge. */
    }
    cr_result result = cr_is_memory(resource) ? CR_RESULT_OK : cr_can_take_slot(pd, slot);
    return result == CR_RESULT_OK ? cr_fits(pd, CR_QUOTA_EDGES, 1, 0) : result;
}

cr_result cr_make_hold(cr_pd *pd, cr_ref resource, uint32_t slot)
{
    cr_making_begin_at(CR_MADE_HOLD, pd->node);
    cr_making_add_hold(pd, &resource, slot);
    return cr_making_run();
}

static cr_new_part *add_part_of(const cr_pd *pd, cr_new_part *part)
{
    part->memory.account = pd->account;
    part->memory.owner = pd->account;
    cr_making_add_part(part);
    return part;
}

cr_result cr_make_memory(cr_pd *pd, cr_pages pages, cr_ref *out)
{
    cr_making_begin_at(CR_MADE_MEMORY, pd->node);
    const cr_new_part *part = add_part_of(pd, cr_making_new_object(pages));
    cr_making_add_edge(&(cr_new_edge){.kind = CR_EDGE_HOLD,
                                      .from = &pd->node,
                                      .to = &part->resource.ref,
                                      .entry = CR_REGION_WRITABLE});
    const cr_result result = cr_making_run();
    *out = part->resource.ref;
    return result;
}

cr_result cr_make_region(cr_pd *pd, cr_ref object, uint64_t vaddr, int writable, uint32_t slot,
                         cr_ref *out)
{
    cr_making_begin_at(CR_MADE_REGION, pd->node);
    cr_new_part *part = cr_making_new_region(pd, 0, object, vaddr, writable);
    part->memory.slot = slot;
    part->memory.span = cr_region_span(pd, vaddr);
    (void)add_part_of(pd, part);
    const cr_result result = cr_making_run();
    pd->attached += result == CR_RESULT_OK && slot != 0;
    *out = part->resource.ref;
    return result;
}

static cr_result make_edge(cr_made made, const cr_new_edge *edge)
{
    cr_making_begin_at(made, *edge->from);
    cr_making_add_edge(edge);
    return cr_making_run();
}

cr_result cr_make_map(cr_ref from, cr_ref to, uint32_t entry)
{
    return make_edge(CR_MADE_MAP,
                     &(cr_new_edge){.kind = CR_EDGE_MAP, .from = &from, .to = &to, .entry = entry});
}

cr_result cr_make_subscription(const cr_pd *pd, cr_ref node, uint32_t handler)
{
    return make_edge(CR_MADE_SUBSCRIPTION, &(cr_new_edge){.kind = CR_EDGE_SUBSCRIBE,
                                                          .from = &pd->node,
                                                          .to = &node,
                                                          .entry = handler});
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
