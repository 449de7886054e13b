/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Takes capabilities back: what a PD drops, what a manager deletes and what a cleanup destroys.
 *
 * A message that was sent with a capability must not be delivered after the capability is gone.
 * Where the server lives on, CancelBadgedSends therefore follows the revoke: it restarts the calls
 * that are still queued. A PD may run between the two (cleaner_priority), but then it has no
 * capability any more with which it could send another message. The capabilities to a stopped
 * server were destroyed with its endpoint (stop.c). */
#include "charge.h"
#include "memory.h"
#include "rows.h"
#include <cellreap/numbers.h>

/* Records that another PD or a cleanup removed the capability in a slot. `state` is LOST, or
 * LOST_PD and UNTOLD, with its number. `server` is the live server of the capability, or 0. */
static void lose_slot(cr_pd *pd, uint32_t slot, uint32_t state, const cr_pd *server)
{
    /* The marks come first: this may not be carried to its end. */
    cr_sys.losses_untold |= (state & CR_SLOT_UNTOLD) != 0;
    cr_sys.may_be_emptied |= server != 0;
    pd->slots[slot] = state;
    pd->lost++;
    pd->untold += (state & CR_SLOT_UNTOLD) != 0;
    if (server != 0 && pd->servers[slot] == 0) {
        pd->servers[slot] = server->number;
        pd->emptied++;
    }
}

static void free_slot(cr_pd *pd, uint32_t slot)
{
    pd->lost--;
    pd->slots[slot] = CR_SLOT_FREE;
    if (cr_is_hold_slot(pd, slot)) {
        pd->slots[slot] = CR_SLOT_DUE; /* The PD that it names may exist again. */
        cr_sys.slots_due = 1;
    }
    if (pd->servers[slot] != 0) {
        pd->servers[slot] = 0;
        pd->emptied--;
    }
}

uint32_t cr_take_untold(cr_pd *pd, uint32_t slot)
{
    const uint32_t told = CR_SLOT_LOST_PD | CR_SLOT_UNTOLD;
    if ((pd->slots[slot] & ~(uint32_t)CR_LAST_PD) != told) {
        return 0;
    }
    pd->slots[slot] &= ~(uint32_t)CR_SLOT_UNTOLD;
    pd->untold--;
    return pd->slots[slot] & ~(uint32_t)CR_SLOT_LOST_PD;
}

/* Whether there are capabilities to what the PD serves. They go with its endpoint, which a stop may
 * have revoked that came no further. */
static int has_caps(const cr_pd *server)
{
    return server != 0 && !server->stopping;
}

/* The end of a resource in the model. */
static cr_status destroy(cr_ref resource, int cleanup, cr_row_gone each, const void *with)
{
    const cr_status status = cr_rows_destroy(resource, cleanup, each, with);
    return status == CR_OK ? cr_model_release(cr_sys.model, resource) : status;
}

/* -- memory */

static cr_status take_memory(cr_ref node, int cleanup)
{
    const uint32_t pages = cr_memory_size(node); /* Nobody knows that afterwards. */
    const cr_status status = cr_body_give_block(cr_memory_block(node));
    if (status != CR_OK) {
        return status;
    }
    cr_charge_pages(node, pages, -1);
    cr_pool_give(cr_sys.node_entry[node.index]);
    cr_sys.memories--;
    cr_sys.memory_changed = 1;
    return destroy(node, cleanup, 0, 0);
}

/* With the last capability to it, the kernel masks a line. */
static cr_status take_line(cr_ref line, int cleanup)
{
    const uint32_t pool_slot = cr_sys.node_entry[line.index];
    const cr_slot parent = cr_pool_slot(pool_slot);
    if (cr_revoke(parent) || cr_delete(parent)) {
        return CR_ERR_KERNEL;
    }
    cr_pool_give(pool_slot);
    return destroy(line, cleanup, 0, 0);
}

/* Memory that nobody refers to any more goes, and a region takes what only it mapped along. */
static void free_memory(cr_ref node)
{
    for (cr_ref at = node, lower; at.index != CR_NONE; at = lower) {
        cr_edge_info info;
        const uint32_t map = cr_model_first(cr_sys.model, at, CR_EDGE_MAP, CR_OUT);
        lower = (cr_ref){CR_NONE, 0};
        if (!cr_memory_is_unused(at)) {
            cr_sys.let_go = 1;
            return;
        }
        if (map != CR_NONE && cr_model_edge(cr_sys.model, map, &info) == CR_OK) {
            lower = info.to;
        }
        if (take_memory(at, 0) != CR_OK) {
            cr_panic("memory cannot be given back", at.index);
        }
    }
}

/* The regions that a PD has by a resource go when others can use the slot of that. */
static void free_regions(cr_pd *pd)
{
    cr_edge_walk holds = cr_model_walk(cr_sys.model, pd->node, CR_EDGE_HOLD, CR_OUT);
    while (pd->attached > 0 && cr_model_next(&holds)) {
        const uint32_t slot = cr_sys.edge_entry[holds.edge];
        if (slot == 0 || pd->slots[slot] != CR_SLOT_FREE || !cr_is_region(holds.other)) {
            continue;
        }
        if (cr_rows_drop_edge(CR_EDGE_HOLD, pd->node, holds.other, 0, CR_DROP_UNTOLD) != CR_OK) {
            cr_panic("a hold that was found is not there", pd->number);
        }
        pd->attached--;
        free_memory(holds.other);
    }
}

void cr_free_lost_slots(cr_pd *pd, const cr_work_notice *loss)
{
    const uint32_t state =
        loss->space != 0 ? CR_SLOT_LOST | loss->space : CR_SLOT_LOST_PD | loss->pd;
    for (uint32_t i = CR_SLOT_FIRST_FREE; pd->lost > 0 && i < 1u << pd->body.cspace_bits; i++) {
        if (pd->slots[i] == state && (loss->slot == 0 || loss->slot == i)) {
            free_slot(pd, i);
        }
    }
    free_regions(pd);
}

/* -- dropping, by a PD that lives on */

cr_result cr_can_drop_hold(const cr_pd *pd, cr_ref resource)
{
    cr_node_info info;
    if (cr_model_count(cr_sys.model, CR_EDGE_HOLD, pd->node, resource) == 0 ||
        cr_model_get(cr_sys.model, resource, &info) != CR_OK) {
        return CR_RESULT_NO_SUCH;
    }
    /* A manager holds its resources until it deletes them, and the configuration's stay. */
    return cr_same(info.manager, pd->node) || cr_is_bare(resource) || cr_is_line(resource)
               ? CR_RESULT_DENIED
               : CR_RESULT_OK;
}

uint32_t cr_drop_hold(cr_pd *by, cr_pd *pd, cr_ref resource)
{
    uint32_t edge = cr_model_find(cr_sys.model, CR_EDGE_HOLD, pd->node, resource);
    uint32_t slot = edge != CR_NONE ? cr_sys.edge_entry[edge] : 0;
    cr_node_info info;
    if (cr_model_get(cr_sys.model, resource, &info) != CR_OK ||
        cr_model_get(cr_sys.model, info.space, &info) != CR_OK ||
        cr_rows_drop_edge(CR_EDGE_HOLD, pd->node, resource, 0, CR_DROP_ASKED) != CR_OK) {
        cr_panic("a hold that was found is not there", pd->number);
    }
    uint32_t left = cr_model_count(cr_sys.model, CR_EDGE_HOLD, pd->node, resource);
    if (left > 0) {
        return left;
    }
    if (cr_is_memory(resource)) {
        pd->attached -= cr_is_region(resource) && slot != 0;
        free_memory(resource);
        return 0;
    }
    /* A queued message must not arrive after its capability is gone. The parent has the badge of
     * all holders' capabilities, so calls of other holders may be queued too. The kernel restarts
     * these callers, and they call again. */
    cr_slot parent = cr_pool_slot(cr_sys.node_entry[resource.index]);
    if (has_caps(cr_server_of(resource)) &&
        ((by != pd && cr_cancel_sends(parent)) || cr_delete(cr_pd_slot(pd, slot)))) {
        cr_panic("a slot of a PD cannot be emptied", slot);
    }
    if (by == pd) {
        pd->slots[slot] = cr_is_hold_slot(pd, slot) ? CR_SLOT_RESERVED : CR_SLOT_FREE;
        free_regions(pd);
    } else {
        lose_slot(pd, slot, CR_SLOT_LOST | info.number, by);
        pd->just_lost = slot;
    }
    return 0;
}

/* Removes the capability in a PD's slot and all messages sent with it that have not been received
 * yet. */
static cr_status remove_request_caps(const cr_pd *pd, uint32_t slot)
{
    cr_slot parent = cr_pd_parent(pd, slot);
    return cr_revoke(parent) || cr_cancel_sends(parent) || cr_delete(parent) ? CR_ERR_KERNEL
                                                                             : CR_OK;
}

static void free_request_entry(uint32_t index)
{
    cr_sys.requests[index].used = 0;
    if (!cr_number_left(cr_sys.requests[index].generation + 1, CR_LAST_GENERATION)) {
        return; /* Another use could repeat a badge. */
    }
    cr_sys.requests[index].next_free = cr_sys.free_request;
    cr_sys.free_request = index;
}

void cr_drop_request(cr_pd *pd, cr_ref space)
{
    uint32_t edge = cr_model_find(cr_sys.model, CR_EDGE_REQUEST, pd->node, space);
    if (edge == CR_NONE) {
        cr_panic("a request that was found is not there", pd->number);
    }
    uint32_t index = cr_sys.edge_entry[edge];
    if (index != CR_NONE) {
        const uint32_t slot = cr_sys.requests[index].slot;
        if (has_caps(cr_server_of(space)) && remove_request_caps(pd, slot) != CR_OK) {
            cr_panic("a request capability cannot be taken back", slot);
        }
        pd->slots[slot] = CR_SLOT_FREE;
        free_request_entry(index);
    }
    if (cr_rows_drop_edge(CR_EDGE_REQUEST, pd->node, space, 0, CR_DROP_ASKED) != CR_OK) {
        cr_panic("an edge that was found is not there", edge);
    }
}

/* -- destruction */

static cr_status take_request(cr_pd *pd, cr_ref space, const cr_pd *deleted_by)
{
    uint32_t edge = cr_model_find(cr_sys.model, CR_EDGE_REQUEST, pd->node, space);
    cr_node_info info;
    cr_status status;
    if (edge == CR_NONE) {
        return CR_OK;
    }
    if ((status = cr_model_get(cr_sys.model, space, &info)) != CR_OK) {
        return status;
    }
    uint32_t index = cr_sys.edge_entry[edge];
    if (index != CR_NONE) {
        uint32_t slot = cr_sys.requests[index].slot;
        const int given = cr_pd_is_of_microkit(pd); /* doors.h */
        cr_pd *server = given ? 0 : cr_server_of(space);
        if (has_caps(server) && (status = remove_request_caps(pd, slot)) != CR_OK) {
            return status;
        }
        if (pd->life != CR_LIFE_STOPPED && !given) {
            lose_slot(pd, slot, CR_SLOT_LOST | info.number, server);
            pd->just_lost = deleted_by != 0 ? slot : 0;
        }
        free_request_entry(index);
    }
    return cr_rows_drop_edge(CR_EDGE_REQUEST, pd->node, space, 0,
                             deleted_by == 0 ? CR_DROP_CLEANUP : CR_DROP_UNTOLD);
}

/* What the holders of a resource lose. */
typedef struct loss {
    uint32_t state; /* of their slots, and `server`: as in lose_slot */
    const cr_pd *server;
    int deleted; /* its manager deleted it */
} loss;

static void lose_hold(const cr_edge_info *edge, uint32_t slot, const void *with)
{
    const loss *of = with;
    cr_pd *holder = edge->kind == CR_EDGE_HOLD && slot != 0 ? cr_pd_of(edge->from) : 0;
    if (holder != 0) {
        lose_slot(holder, slot, of->state, of->server);
        holder->just_lost = of->deleted ? slot : 0;
    }
}

static cr_status take_resource(cr_ref resource, const cr_pd *deleted_by)
{
    cr_node_info info;
    cr_ref object;
    int writable;
    cr_status status = cr_model_get(cr_sys.model, resource, &info);
    if (status == CR_ERR_STALE || (status == CR_OK && info.state == CR_STATE_DESTROYED)) {
        return CR_OK;
    }
    if (status != CR_OK) {
        return status;
    }
    if (cr_is_memory(resource)) {
        return take_memory(resource, deleted_by == 0);
    }
    if (cr_is_bare(resource)) {
        return destroy(resource, deleted_by == 0, 0, 0);
    }
    if (cr_is_line(resource)) {
        return take_line(resource, deleted_by == 0);
    }
    uint32_t pool_slot = cr_sys.node_entry[resource.index];
    cr_slot parent = cr_pool_slot(pool_slot);
    const cr_pd *server =
        pool_slot != 0 ? cr_if_up(cr_pd_of(info.manager)) : 0; /* else a thread's */
    if (has_caps(server) && (cr_revoke(parent) || cr_cancel_sends(parent) || cr_delete(parent))) {
        return CR_ERR_KERNEL;
    }
    if (pool_slot != 0) {
        cr_pool_give(pool_slot);
    }
    const int is_backed = deleted_by != 0 && cr_backing_of(resource, &object, &writable);
    /* A PD capability has the PD's number. */
    const int is_pd = cr_same(info.space, cr_sys.pd_space);
    const loss of = {.state = is_pd ? CR_SLOT_LOST_PD | CR_SLOT_UNTOLD | info.number
                                    : CR_SLOT_LOST | cr_id_of(resource)->space,
                     .server = is_pd ? 0 : server,
                     .deleted = deleted_by != 0};
    status = destroy(resource, deleted_by == 0, lose_hold, &of);
    if (status == CR_OK && is_backed) {
        free_memory(object); /* A cleanup has planned that. */
    }
    return status;
}

cr_status cr_take_request(cr_pd *pd, cr_ref space)
{
    return take_request(pd, space, 0);
}

cr_status cr_take_resource(cr_ref resource)
{
    return take_resource(resource, 0);
}

static cr_status take_space(cr_ref space, const cr_pd *deleted_by)
{
    cr_node_info info;
    cr_status status = cr_model_get(cr_sys.model, space, &info);
    if (status != CR_OK || info.state == CR_STATE_DESTROYED) {
        return status;
    }
    if (deleted_by == 0) {
        cr_tombstone_make(space, 0);
    }
    status = cr_rows_destroy(space, deleted_by == 0, 0, 0);
    if (status == CR_OK) {
        cr_space_entry_of(space)->used = 0;
        cr_sys.type_spaces[info.type]--;
    }
    return status;
}

cr_status cr_take_space(cr_ref space)
{
    return take_space(space, 0);
}

static void lose_request(const cr_edge_info *edge, uint32_t entry, const void *with)
{
    (void)with;
    if (edge->kind == CR_EDGE_REQUEST && entry != CR_NONE) {
        free_request_entry(entry);
    }
}

cr_status cr_take_pd(cr_pd *pd)
{
    cr_sys.respawnable_gone |= (pd->flags & CR_IMAGE_RESPAWN) != 0;
    cr_status status = cr_body_give_block(&pd->body.block);
    if (status == CR_OK) {
        cr_tombstone_make(pd->node, pd);
        status = cr_rows_destroy(pd->node, 1, lose_request, 0);
    }
    if (status == CR_OK) {
        cr_forget_allowances(pd);
        cr_pd_become(pd, CR_LIFE_ABSENT);
    }
    return status;
}

/* -- deletion by a manager */

static void trace_delete(cr_ref node, const cr_pd *by, int part)
{
    cr_node_info info;
    cr_sys.memory_changed |=
        cr_model_get(cr_sys.model, node, &info) == CR_OK && info.kind == CR_NODE_RESOURCE;
    cr_trace_change(CR_EV_DELETE);
    cr_trace_node(node);
    cr_trace_pd(by);
    cr_trace_number(&cr_sys.trace, (uint64_t)part);
    cr_trace_change_end();
}

void cr_delete_resource(cr_pd *by, cr_ref resource)
{
    trace_delete(resource, by, 0);
    if (take_resource(resource, by) != CR_OK) {
        cr_panic("a resource cannot be deleted", resource.index);
    }
}

void cr_delete_space(cr_pd *by, cr_ref space)
{
    cr_edge_info info;
    cr_status status = CR_OK;
    for (uint32_t i = 0; status == CR_OK && i < cr_most.nodes; i++) {
        uint32_t edge = cr_model_first(cr_sys.model, space, CR_EDGE_SUBSET, CR_IN);
        if (edge == CR_NONE) {
            break;
        }
        status = cr_model_edge(cr_sys.model, edge, &info);
        if (status == CR_OK) {
            trace_delete(info.from, by, 1);
            status = take_resource(info.from, by);
        }
    }
    for (uint32_t i = 0; status == CR_OK && i < cr_most.pds; i++) {
        uint32_t edge = cr_model_first(cr_sys.model, space, CR_EDGE_REQUEST, CR_IN);
        if (edge == CR_NONE) {
            break;
        }
        status = cr_model_edge(cr_sys.model, edge, &info);
        cr_pd *client = status == CR_OK ? cr_pd_of(info.from) : 0;
        status = client != 0 ? take_request(client, space, by) : CR_ERR_CORRUPT;
    }
    if (status == CR_OK) {
        trace_delete(space, by, 0);
        status = cr_model_doom(cr_sys.model, space);
    }
    if (status == CR_OK) {
        status = take_space(space, by);
    }
    if (status == CR_OK) {
        status = cr_model_release(cr_sys.model, space);
    }
    if (status != CR_OK) {
        cr_panic("a space cannot be deleted", space.index);
    }
}
