/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Takes capabilities back: what a PD drops, what a manager deletes and what a cleanup destroys.
 *
 * A message that was sent with a capability must not be delivered after the capability is gone, and
 * a client must not wait for ever for the reply of a destroyed server. cr_unblock describes how
 * both are guaranteed. */
#include "kernel/arch/arch.h"
#include "system.h"

/* Records that a slot is now empty. `server` is the live server of the removed capability, or 0. */
static void empty_slot(cr_pd *pd, uint32_t slot, uint32_t state, const cr_pd *server)
{
    pd->slots[slot] = state;
    pd->lost += (state & CR_SLOT_LOST) != 0;
    if (server != 0 && pd->servers[slot] == 0) {
        pd->servers[slot] = server->number;
        pd->emptied++;
    }
}

void cr_free_slot(cr_pd *pd, uint32_t slot)
{
    pd->lost -= (pd->slots[slot] & CR_SLOT_LOST) != 0;
    pd->slots[slot] = CR_SLOT_FREE;
    if (pd->servers[slot] != 0) {
        pd->servers[slot] = 0;
        pd->emptied--;
    }
}

void cr_free_emptied_slots(cr_pd *pd)
{
    for (uint32_t i = CR_SLOT_FIRST_FREE; pd->emptied > 0 && i < 1u << pd->body.cspace_bits; i++) {
        if (pd->slots[i] == CR_SLOT_EMPTIED) {
            cr_free_slot(pd, i);
        }
    }
}

/* -- dropping, by a PD that lives on */

cr_result cr_can_drop_hold(const cr_pd *pd, cr_ref resource)
{
    cr_node_info info;
    if (cr_model_count(cr_sys.model, CR_EDGE_HOLD, pd->node, resource) == 0 ||
        cr_model_get(cr_sys.model, resource, &info) != CR_OK) {
        return CR_RESULT_NO_SUCH;
    }
    /* A manager holds its resources until it deletes them. */
    return cr_same(info.manager, pd->node) ? CR_RESULT_DENIED : CR_RESULT_OK;
}

uint32_t cr_drop_hold(cr_pd *by, cr_pd *pd, cr_ref resource)
{
    uint32_t edge = cr_model_find(cr_sys.model, CR_EDGE_HOLD, pd->node, resource);
    uint32_t slot = edge != CR_NONE ? cr_sys.edge_entry[edge] : 0;
    if (cr_model_drop_edge(cr_sys.model, CR_EDGE_HOLD, pd->node, resource) != CR_OK) {
        cr_panic("a hold that was found is not there", pd->number);
    }
    uint32_t left = cr_model_count(cr_sys.model, CR_EDGE_HOLD, pd->node, resource);
    cr_trace_slot(CR_EV_UNHOLD, pd->node, resource, slot);
    if (left == 0) {
        if (cr_delete(cr_pd_slot(pd, slot))) {
            cr_panic("a slot of a PD cannot be emptied", slot);
        }
        if (slot < CR_SLOT_FIRST_FREE + pd->pd_slots) {
            pd->slots[slot] = CR_SLOT_RESERVED;
        } else {
            empty_slot(pd, slot, by == pd ? CR_SLOT_FREE : CR_SLOT_EMPTIED, by == pd ? 0 : by);
        }
    }
    return left;
}

/* Removes the capability in a PD's slot and all messages sent with it that have not been received
 * yet. */
static void remove_request_caps(cr_pd *pd, uint32_t slot)
{
    cr_slot parent = cr_pd_parent(pd, slot);
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

void cr_drop_request(cr_pd *pd, cr_ref space)
{
    uint32_t edge = cr_model_find(cr_sys.model, CR_EDGE_REQUEST, pd->node, space);
    if (edge == CR_NONE) {
        cr_panic("a request that was found is not there", pd->number);
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
    cr_trace_slot(CR_EV_UNREQUEST, pd->node, space, slot);
}

/* -- destruction */

/* The state of a slot whose capability to a space, or to a resource in the space, is removed. After
 * a cleanup the PD receives a notice. A server that deletes its own resources informs its clients
 * itself. */
static uint32_t taken_state(uint32_t space_number, const cr_pd *deleted_by)
{
    return deleted_by != 0 ? (uint32_t)CR_SLOT_EMPTIED : CR_SLOT_LOST | space_number;
}

static cr_status take_request(cr_pd *pd, cr_ref space, const cr_pd *deleted_by)
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
        /* The capabilities to a dead server are destroyed with its endpoint. The capabilities of a
         * dead client are destroyed with its CSpace. If a live server deletes, a doomed client can
         * still be running. */
        if (client.state == CR_STATE_ACTIVE || deleted_by != 0) {
            cr_pd *server = cr_space_entry_of(space)->manager_dead ? 0 : cr_pd_of(info.manager);
            if (server != 0) {
                remove_request_caps(pd, slot);
            }
            empty_slot(pd, slot, taken_state(info.number, deleted_by), server);
        }
        free_request_entry(index);
    }
    return cr_model_drop_edge(cr_sys.model, CR_EDGE_REQUEST, pd->node, space);
}

static cr_status take_resource(cr_ref resource, const cr_pd *deleted_by)
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
    cr_pd *server = core || cr_space_entry_of(info.space)->manager_dead ? 0
                                                                        : cr_pd_of(info.manager);
    if (!cr_space_entry_of(info.space)->manager_dead &&
        (cr_cancel_sends(parent) || cr_revoke(parent) || cr_delete(parent))) {
        return CR_ERR_CORRUPT;
    }
    for (uint32_t edge = cr_model_first(cr_sys.model, resource, CR_EDGE_HOLD, CR_IN);
         edge != CR_NONE; edge = cr_model_next(cr_sys.model, edge, resource, CR_IN)) {
        cr_edge_info hold;
        cr_pd *holder = cr_model_edge(cr_sys.model, edge, &hold) == CR_OK ? cr_pd_of(hold.from) : 0;
        uint32_t slot = cr_sys.edge_entry[edge];
        if (holder != 0 && slot != 0) {
            if (slot < CR_SLOT_FIRST_FREE + holder->pd_slots) {
                holder->slots[slot] = CR_SLOT_RESERVED;
            } else {
                /* The loss of a core resource has no notice and no server. */
                empty_slot(holder, slot,
                           core ? CR_SLOT_FREE : taken_state(space.number, deleted_by), server);
            }
        }
    }
    cr_pool_give(pool_slot);
    status = cr_model_destroy(cr_sys.model, resource);
    return status == CR_OK ? cr_model_release(cr_sys.model, resource) : status;
}

cr_status cr_take_request(cr_pd *pd, cr_ref space)
{
    return take_request(pd, space, 0);
}

cr_status cr_take_resource(cr_ref resource)
{
    return take_resource(resource, 0);
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

/* Unblocks a client of a destroyed server. Every such client receives the answer `server died`
 * exactly once, wherever its call is at that moment:
 *
 * - The client has not called yet. Its slot is empty when it calls, and the kernel returns an
 *   error.
 * - The client's message is queued at the server's endpoint. The kernel deletes all capabilities to
 *   the endpoint before the endpoint itself. When it deletes the endpoint, it restarts the client's
 *   call, which finds the slot empty. If the server lives on and only the capability is removed,
 *   CancelBadgedSends before the revoke has the same effect, because no other thread runs between
 *   the two calls. Without CancelBadgedSends the message would still be delivered.
 * - The server has received the message. The kernel stores the reply capability in the server's own
 *   TCB as part of the receive, before the server runs. At every moment the message is either
 *   queued or has its reply capability in that TCB. The reply capability is destroyed with the TCB,
 *   and the client would then wait for ever. This function therefore reads the registers that the
 *   kernel keeps for the client. They show which capability the client called. If that is a
 *   capability to this server that is no longer in its slot, this function resumes the thread. The
 *   call starts again, finds the slot empty and returns an error.
 * - The server has replied. The kernel has then written the reply to the client's registers. The
 *   register for the capability contains the badge of a reply, which is 0, and slot 0 is never
 *   used. Resuming a thread that can run has no effect.
 * - The client waits for another server. Its registers name another slot. No live server therefore
 *   receives a call twice.
 * - The client is frozen or stopped. It must remain suspended and is left alone.
 *
 * The client's memory has no influence on this. While the client waits, its registers are the
 * kernel's copy. If a client forged its registers before a fault, resuming it restarts the
 * instruction that faulted, and it faults again. */
cr_status cr_unblock(cr_pd *client, uint32_t slot_state, uint32_t server)
{
    seL4_UserContext registers;
    seL4_CPtr invoked;
    seL4_CPtr tcb = cr_body_cap(&client->body, CR_BODY_TCB);
    if (cr_pd_is_suspended(client)) {
        return CR_OK;
    }
    if (cr_read_registers(tcb, &registers)) {
        return CR_ERR_CORRUPT;
    }
    if (!cr_arch_is_call(&registers, &invoked) || invoked >= 1u << client->body.cspace_bits) {
        return CR_OK;
    }
    int ours = server != 0 ? client->servers[invoked] == server
                           : client->slots[invoked] == slot_state;
    return ours && cr_resume(tcb) ? CR_ERR_CORRUPT : CR_OK;
}

/* Unblocks clients that still call the server with a capability that was removed while the server
 * lived. */
static cr_status unblock_emptied(const cr_pd *server)
{
    cr_status status = CR_OK;
    for (uint32_t i = 1; status == CR_OK && i < CR_MAX_PDS; i++) {
        cr_pd *client = &cr_sys.pds[i];
        cr_node_info info;
        int theirs = 0;
        if (!cr_pd_exists(client) || client->emptied == 0 ||
            cr_model_get(cr_sys.model, client->node, &info) != CR_OK ||
            info.state != CR_STATE_ACTIVE) {
            continue;
        }
        for (uint32_t slot = CR_SLOT_FIRST_FREE; slot < 1u << client->body.cspace_bits; slot++) {
            theirs |= client->servers[slot] == server->number;
        }
        if (theirs) {
            status = cr_unblock(client, 0, server->number);
        }
    }
    return status;
}

cr_status cr_take_pd(cr_pd *pd)
{
    for (uint32_t edge = cr_model_first(cr_sys.model, pd->node, CR_EDGE_REQUEST, CR_OUT);
         edge != CR_NONE; edge = cr_model_next(cr_sys.model, edge, pd->node, CR_OUT)) {
        if (cr_sys.edge_entry[edge] != CR_NONE) {
            free_request_entry(cr_sys.edge_entry[edge]);
        }
    }
    cr_status status = cr_body_destroy(&pd->body);
    if (status == CR_OK) {
        status = cr_model_destroy(cr_sys.model, pd->node);
    }
    if (status == CR_OK) {
        cr_forget_allowances(pd);
        cr_pd_become(pd, CR_LIFE_ABSENT);
        status = unblock_emptied(pd);
    }
    return status;
}

/* -- deletion by a manager */

static void trace_delete(cr_ref node, cr_pd *by)
{
    cr_node_info info;
    cr_sys.memory_changed |= cr_model_get(cr_sys.model, node, &info) == CR_OK &&
                             info.kind == CR_NODE_RESOURCE;
    cr_trace_change(CR_EV_DELETE);
    cr_trace_node(node);
    cr_trace_pd(by);
    cr_trace_end(&cr_sys.trace);
}

void cr_delete_resource(cr_pd *by, cr_ref resource)
{
    trace_delete(resource, by);
    if (take_resource(resource, by) != CR_OK) {
        cr_panic("a resource cannot be deleted", resource.index);
    }
}

void cr_delete_space(cr_pd *by, cr_ref space)
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
            status = take_resource(info.from, by);
        }
    }
    for (uint32_t i = 0; status == CR_OK && i < CR_MAX_PDS; i++) {
        uint32_t edge = cr_model_first(cr_sys.model, space, CR_EDGE_REQUEST, CR_IN);
        if (edge == CR_NONE) {
            break;
        }
        status = cr_model_edge(cr_sys.model, edge, &info);
        cr_pd *client = status == CR_OK ? cr_pd_of(info.from) : 0;
        status = client != 0 ? take_request(client, space, by) : CR_ERR_CORRUPT;
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
    if (status != CR_OK) {
        cr_panic("a space cannot be deleted", space.index);
    }
}

void cr_free_lost_slots(cr_pd *pd, uint32_t space)
{
    for (uint32_t i = CR_SLOT_FIRST_FREE; i < 1u << pd->body.cspace_bits; i++) {
        if (pd->slots[i] == (CR_SLOT_LOST | space)) {
            cr_free_slot(pd, i);
        }
    }
}
