/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Stops a PD, and answers the PDs that are in a call to it. From the moment that a PD is stopped,
 * no PD waits for it: its endpoint is destroyed, and every PD that is in a call to it gets the
 * answer `server died`.
 *
 * Every client receives that answer exactly once, wherever its call is at that moment:
 *
 * - The client has not called yet. Its slot is empty when it calls, and the kernel returns an
 *   error.
 * - The client's message is queued at the server's endpoint. The revoke deletes all capabilities
 *   that are derived from the endpoint, and then the endpoint itself is deleted. With its last
 *   capability, the kernel restarts the client's call, which finds the slot empty.
 * - The server has received the message. The kernel stores the reply capability in the server's own
 *   TCB as part of the receive, before the server runs. At every moment the message is either
 *   queued or has its reply capability in that TCB. A suspended server never replies, and the
 *   client would wait for ever. This file therefore reads the registers that the kernel keeps for
 *   the client. They show which capability the client called. If that is a capability to this
 *   server, the thread is resumed. The call starts again, finds the slot empty and returns an
 *   error.
 * - The server has replied. The kernel has then written the reply to the client's registers. The
 *   register for the capability contains the badge of a reply, which is 0, and slot 0 is never
 *   used. Resuming a thread that can run has no effect.
 * - The client waits for another server. Its registers name another slot. No live server therefore
 *   receives a call twice.
 * - The server was built for Microkit. Its endpoint outlives it (doors.h), so whoever is queued
 *   there is served by the next instance. A call that was taken is answered over the reply object,
 *   with the label that the configuration states. If it states `repeat`, the client's registers are
 *   then as they were, and it makes the call anew. A call that the server forgot, because it
 *   received another one, is in no reply object and in no queue. Its client gets the same by its
 *   registers.
 * - The client is frozen or stopped. It must remain suspended and is left alone.
 *
 * The client's memory has no influence on this. While the client waits, its registers are the
 * kernel's copy. If a client forged its registers before a fault, resuming it restarts the
 * instruction that faulted, and it faults again. */
#include "doors.h"
#include "kernel/arch/arch.h"
#include "stand_ins.h"
#include "system.h"
#include "text.h"
#include "truth.h"

enum { NOT_READ = 0xffffffff };

const uint8_t *cr_code_of(const cr_pd *pd, seL4_Word ip)
{
    const cr_image_program *program = &cr_image_programs(cr_sys.image)[pd->program];
    return cr_body_code(cr_image_elf(cr_sys.image, program), ip, cr_arch_syscall_bytes);
}

static cr_status read_call(const cr_pd *pd, seL4_UserContext *registers, uint32_t *slot)
{
    seL4_CPtr invoked;
    if (cr_read_registers(cr_body_cap(&pd->body, CR_BODY_TCB), registers)) {
        return CR_ERR_KERNEL;
    }
    /* A thread that runs can have any registers, but it does not stay at a system call. */
    const uint8_t *code = cr_code_of(pd, cr_arch_ip(registers));
    int calls = cr_arch_is_call(registers, &invoked) && (code == 0 || cr_arch_is_syscall(code));
    *slot = calls && invoked < 1u << pd->body.cspace_bits ? (uint32_t)invoked : 0;
    return CR_OK;
}

cr_status cr_called_slot(const cr_pd *pd, uint32_t *slot)
{
    seL4_UserContext registers;
    return read_call(pd, &registers, slot);
}

/* Notes who is in a call over the PD's door. */
static seL4_Error note_callers(const cr_pd *pd)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *client = &cr_sys.pds[i];
        seL4_UserContext registers;
        uint32_t slot;
        if (!cr_pd_exists(client) || !cr_pd_is_of_microkit(client)) {
            continue;
        }
        if (read_call(client, &registers, &slot) != CR_OK) {
            return seL4_IllegalOperation;
        }
        if (cr_door_over(client->config, slot) == pd) {
            client->shown_for = pd->number;
            for (uint32_t k = 0; k < CR_CALL_REGISTERS; k++) {
                client->shown[k] = *cr_arch_call_register(&registers, k);
            }
        }
    }
    return seL4_NoError;
}

/* Whoever showed a call, and does not any more, was answered. `again`: it makes the call anew. */
static seL4_Error find_answered(const cr_pd *pd, int again)
{
    for (uint32_t i = 1; i < cr_most.pds; i++) {
        cr_pd *client = &cr_sys.pds[i];
        seL4_UserContext registers;
        uint32_t slot;
        if (!cr_pd_exists(client) || client->shown_for != pd->number) {
            continue;
        }
        if (read_call(client, &registers, &slot) != CR_OK) {
            return seL4_IllegalOperation;
        }
        if (slot == 0) {
            client->taken_by = pd->number;
            for (uint32_t k = 0; k < CR_CALL_REGISTERS; k++) {
                *cr_arch_call_register(&registers, k) = client->shown[k];
            }
            return again
                       ? cr_write_registers(cr_body_cap(&client->body, CR_BODY_TCB), 0, &registers)
                       : seL4_NoError;
        }
    }
    return seL4_NoError;
}

/* Answers the call that the PD has taken. Its reply object is the only one to know whose it is, and
 * that whoever its parent stopped is in none. */
static seL4_Error answer_taken(const cr_pd *pd, uint32_t slot)
{
    const uint32_t label = cr_image_pds(cr_sys.image)[pd->config].callers;
    cr_calls_kept calls;
    cr_calls_aside(&calls); /* They are more than those of other PDs, and depend on no PD. */
    seL4_Error error = note_callers(pd);
    if (!error) {
        error =
            cr_cnode_show(cr_slot_at(cr_body_cap(&pd->body, CR_BODY_CSPACE)), pd->body.cspace_bits);
    }
    if (!error) {
        seL4_Send(cr_cptr(cr_l1_spare(), slot), seL4_MessageInfo_new(label, 0, 0, 0));
        error = cr_cnode_hide();
    }
    if (!error) {
        error = find_answered(pd, label == CR_IMAGE_REPEAT);
    }
    cr_calls_back(&calls, 0);
    return error;
}

/* Whether the client, which shows a call, does not wait for it any more: the server received
 * another one before it answered. A client that is about to call looks the same. Of one that lent
 * its time, it is not known. */
static int is_forgotten(const cr_pd *client)
{
    const seL4_CPtr tcb = cr_body_cap(&client->body, CR_BODY_TCB);
    const seL4_CPtr sc = cr_body_cap(&client->body, CR_BODY_SC);
    if (!CR_MCS || !cr_take_time(sc, tcb)) {
        return 0;
    }
    const int waits = cr_waits(tcb);
    (void)cr_give_time_back(sc, tcb, client->time, client->number);
    return !waits;
}

/* What an answer with this label leaves in the client's registers. */
static seL4_Error answer_forgotten(const cr_pd *client, uint32_t label)
{
    const seL4_CPtr tcb = cr_body_cap(&client->body, CR_BODY_TCB);
    seL4_UserContext registers;
    if (cr_read_registers(tcb, &registers)) {
        return seL4_IllegalOperation;
    }
    *cr_arch_call_register(&registers, 0) += cr_arch_syscall_bytes;
    *cr_arch_call_register(&registers, 1) = 0;
    *cr_arch_call_register(&registers, 2) = seL4_MessageInfo_new(label, 0, 0, 0).words[0];
    return cr_write_registers(tcb, 0, &registers);
}

/* Whether the client over this slot is to be freed, since it is in a call to the server. Whoever is
 * queued at the door is not, but with `repeat`, when it calls anew as whoever was forgotten. A
 * child may look so because its parent stopped it. */
static cr_status is_caller(const cr_pd *client, uint32_t called, uint32_t slot, const cr_pd *server,
                           int *is)
{
    cr_calls_kept calls;
    *is = cr_pd_has_door(server) ? client->taken_by == server->number : called == slot;
    if (*is || !cr_pd_has_door(server) || cr_parent_of(client->config) != 0 ||
        cr_door_over(client->config, called) != server) {
        return CR_OK;
    }
    const uint32_t label = cr_image_pds(cr_sys.image)[server->config].callers;
    cr_calls_aside(&calls); /* They depend on what the kernel knows alone. */
    *is = label == CR_IMAGE_REPEAT || is_forgotten(client);
    const seL4_Error error =
        *is && label != CR_IMAGE_REPEAT ? answer_forgotten(client, label) : seL4_NoError;
    cr_calls_back(&calls, 0);
    return error ? CR_ERR_KERNEL : CR_OK;
}

/* Frees the client if it calls the server over this slot. `called` has for each PD the slot that it
 * calls, or NOT_READ: the registers of a client are read at most once. */
static cr_status free_caller(cr_pd *client, uint32_t slot, const cr_pd *server, uint32_t *called)
{
    uint32_t *its = &called[cr_receiver(client)];
    int is;
    if (slot == 0 || cr_pd_is_suspended(client)) {
        return CR_OK;
    }
    if (*its == NOT_READ) {
        cr_status status = cr_called_slot(client, its);
        if (status != CR_OK) {
            return status;
        }
    }
    /* If the stop is repeated, the registers of a client that was resumed still show the call. */
    if (client->answered_for == server->number) {
        return CR_OK;
    }
    cr_status status = is_caller(client, *its, slot, server, &is);
    if (status != CR_OK || !is) {
        return status;
    }
    *its = 0;
    if (cr_resume(cr_body_cap(&client->body, CR_BODY_TCB))) {
        return CR_ERR_KERNEL;
    }
    client->answered_for = server->number;
    cr_trace_thread(CR_CHANGE_ANSWERED, client, server);
    return CR_OK;
}

/* Frees the callers among the clients that have edges of this kind to the node. */
static cr_status free_callers_over(cr_ref node, cr_edge_kind kind, const cr_pd *server,
                                   uint32_t *called)
{
    cr_edge_walk clients = cr_model_walk(cr_sys.model, node, kind, CR_IN);
    cr_status status = CR_OK;
    while (status == CR_OK && cr_model_next(&clients)) {
        cr_pd *client = cr_pd_of(clients.other);
        if (client != 0 && client != server) {
            status = free_caller(client, cr_edge_slot(clients.edge, kind), server, called);
        }
    }
    return status;
}

static cr_status free_callers_of_space(cr_ref space, const cr_pd *server, uint32_t *called)
{
    cr_status status = free_callers_over(space, CR_EDGE_REQUEST, server, called);
    cr_edge_walk members = cr_model_walk(cr_sys.model, space, CR_EDGE_SUBSET, CR_IN);
    while (status == CR_OK && cr_model_next(&members)) {
        status = free_callers_over(members.other, CR_EDGE_HOLD, server, called);
    }
    return status;
}

/* Frees clients that still call the server with a capability that was removed while the server
 * lived. */
static cr_status free_callers_over_emptied(const cr_pd *server, uint32_t *called)
{
    cr_status status = CR_OK;
    int any = 0;
    for (uint32_t i = 1; status == CR_OK && i < cr_most.pds; i++) {
        cr_pd *client = &cr_sys.pds[i];
        if (!cr_pd_exists(client) || client->emptied == 0) {
            continue;
        }
        any = 1;
        for (uint32_t slot = CR_SLOT_FIRST_FREE;
             status == CR_OK && slot < 1u << client->body.cspace_bits; slot++) {
            if (client->servers[slot] == server->number) {
                status = free_caller(client, slot, server, called);
            }
        }
    }
    if (status == CR_OK) {
        cr_sys.may_be_emptied = any;
    }
    return status;
}

static cr_status free_callers(const cr_pd *server)
{
    uint32_t called[cr_most.pds];
    cr_status status = CR_OK;
    if (!cr_sys.may_be_emptied &&
        cr_model_first(cr_sys.model, server->node, CR_EDGE_MANAGE, CR_OUT) == CR_NONE) {
        return CR_OK; /* Nobody can be in a call to it. */
    }
    for (uint32_t i = 0; i < cr_most.pds; i++) {
        called[i] = NOT_READ;
    }
    cr_edge_walk spaces = cr_model_walk(cr_sys.model, server->node, CR_EDGE_MANAGE, CR_OUT);
    while (status == CR_OK && cr_model_next(&spaces)) {
        status = free_callers_of_space(spaces.other, server, called);
    }
    return status == CR_OK ? free_callers_over_emptied(server, called) : status;
}

/* Until the thread is suspended and the endpoint is gone, the PD counts as up. To repeat these
 * calls has no effect. */
static cr_status stop(cr_pd *pd)
{
    cr_slot endpoint = cr_slot_at(cr_body_cap(&pd->body, CR_BODY_ENDPOINT));
    cr_truth_leave_out(cr_body_cap(&pd->body, CR_BODY_TCB));
    if (cr_take_thread(pd)) {
        return CR_ERR_KERNEL;
    }
    if (cr_suspend(cr_body_cap(&pd->body, CR_BODY_TCB)) || cr_revoke(endpoint)) {
        return CR_ERR_KERNEL;
    }
    pd->stopping = 1;
    if (cr_delete(endpoint)) {
        return CR_ERR_KERNEL;
    }
    if (pd->passive || cr_pd_has_door(pd)) {
        const uint32_t reply =
            cr_pd_is_of_microkit(pd) ? (uint32_t)CR_MICROKIT_SLOT_REPLY : CR_SLOT_REPLY;
        if ((cr_pd_has_door(pd) && answer_taken(pd, reply)) || cr_delete(cr_pd_slot(pd, reply))) {
            return CR_ERR_KERNEL;
        }
        cr_objects_remove(pd->body.block, CR_OBJECT_REPLY);
    }
    cr_return_time(pd);
    cr_objects_remove(pd->body.block, CR_OBJECT_ENDPOINT);
    cr_pd_become(pd, CR_LIFE_STOPPED);
    pd->loud = 1;
    cr_trace_thread(CR_CHANGE_STOPPED, pd, 0);
    return CR_OK;
}

cr_status cr_stop_pd(cr_pd *pd)
{
    cr_status status = pd->life == CR_LIFE_STOPPED ? CR_OK : stop(pd);
    if (status == CR_OK) {
        status = free_callers(pd);
    }
    if (status == CR_OK) {
        if (cr_pd_has_door(pd) && (pd->flags & CR_IMAGE_RESPAWN) == 0) {
            cr_door_close(pd->config);
        }
        pd->stopping = 0;
    }
    return status;
}
