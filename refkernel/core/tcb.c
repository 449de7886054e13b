/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads and their invocations. */
#include "kernel.h"

enum { CONTEXT_WORDS = sizeof(seL4_UserContext) / sizeof(word) };

void tcb_init(struct tcb *tcb)
{
    tcb->slice = CONFIG_TIME_SLICE;
    arch_sanitise(&tcb->context);
}

void tcb_complete(struct tcb *tcb)
{
    arch_advance(&tcb->context);
}

void tcb_suspend(struct tcb *tcb)
{
    ipc_cancel(tcb);
    tcb->state = STATE_INACTIVE;
    sched_stop(tcb);
}

void tcb_restart(struct tcb *tcb)
{
    if (tcb->state != STATE_RUNNING) {
        ipc_cancel(tcb);
        sched_restart(tcb);
    }
}

void tcb_unbind(struct tcb *tcb)
{
    if (tcb->bound != 0) {
        tcb->bound->bound = 0;
        tcb->bound = 0;
    }
}

void tcb_destroy(struct tcb *tcb)
{
    tcb_unbind(tcb);
    tcb_suspend(tcb);
}

/* -- spaces and the IPC buffer */

struct space {
    struct slot *cspace_from, *vspace_from;
    struct slot cspace, vspace;
};

/* Derives a capability for one of the TCB's own slots. data 0: it is not changed. */
static seL4_Error derive_root(struct slot *from, word data, cap_type type, struct slot *out)
{
    struct slot cap = data != 0 ? slot_with_data(*from, false, data) : *from;
    seL4_Error error = cap.type == CAP_NULL ? seL4_IllegalOperation : slot_derive(&cap, out);
    if (error == seL4_NoError && out->type != type) {
        error = seL4_IllegalOperation;
    }
    return error;
}

static seL4_Error check_space(struct invocation *call, struct space *space)
{
    space->cspace_from = call->extra[0];
    space->vspace_from = call->extra[1];
    seL4_Error error =
        derive_root(call->extra[0], message_get(call->from, 1), CAP_CNODE, &space->cspace);
    if (error == seL4_NoError) {
        error = derive_root(call->extra[1], message_get(call->from, 2), CAP_VSPACE, &space->vspace);
    }
    return error;
}

static void put_root(struct slot *slot, struct slot *from, struct slot cap)
{
    slot_delete(slot);
    /* Deleting the old capability may have deleted the new one too. */
    if (from->type != CAP_NULL) {
        slot_insert(slot, from, cap);
    }
}

static void set_space(struct invocation *call, struct tcb *tcb, const struct space *space)
{
    tcb->fault_handler = message_get(call->from, 0);
    put_root(&tcb->slots[TCB_CSPACE], space->cspace_from, space->cspace);
    put_root(&tcb->slots[TCB_VSPACE], space->vspace_from, space->vspace);
}

/* Checks the IPC buffer. Address 0: no buffer. */
static seL4_Error check_buffer(word address, struct slot *from, struct slot *out)
{
    if (address == 0) {
        return seL4_NoError;
    }
    seL4_Error error = slot_derive(from, out);
    if (error == seL4_NoError && out->type != CAP_FRAME) {
        error = seL4_IllegalOperation;
    } else if (error == seL4_NoError && (address & MASK(seL4_IPCBufferSizeBits)) != 0) {
        error = seL4_AlignmentError;
    }
    return error;
}

static void set_buffer(struct tcb *tcb, word address, struct slot *from, struct slot cap)
{
    slot_delete(&tcb->slots[TCB_BUFFER]);
    tcb->buffer = address;
    if (address != 0 && from->type != CAP_NULL) {
        slot_insert(&tcb->slots[TCB_BUFFER], from, cap);
    }
}

static seL4_Error configure(struct invocation *call, struct tcb *tcb)
{
    struct space space;
    struct slot frame = {0};
    if (call->length < 4 || call->extras < 3) {
        return seL4_TruncatedMessage;
    }
    word address = message_get(call->from, 3);
    seL4_Error error = check_buffer(address, call->extra[2], &frame);
    if (error == seL4_NoError) {
        error = check_space(call, &space);
    }
    if (error == seL4_NoError) {
        set_space(call, tcb, &space);
        set_buffer(tcb, address, call->extra[2], frame);
    }
    return error;
}

static seL4_Error set_space_only(struct invocation *call, struct tcb *tcb)
{
    struct space space;
    if (call->length < 3 || call->extras < 2) {
        return seL4_TruncatedMessage;
    }
    seL4_Error error = check_space(call, &space);
    if (error == seL4_NoError) {
        set_space(call, tcb, &space);
    }
    return error;
}

static seL4_Error set_buffer_only(struct invocation *call, struct tcb *tcb)
{
    struct slot frame = {0};
    if (call->length < 1 || call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    word address = message_get(call->from, 0);
    seL4_Error error = check_buffer(address, call->extra[0], &frame);
    if (error == seL4_NoError) {
        set_buffer(tcb, address, call->extra[0], frame);
    }
    return error;
}

/* -- priorities. A priority must not exceed the maximum of the TCB whose capability is sent
 * along. */

static seL4_Error set_priorities(struct invocation *call, struct tcb *tcb)
{
    bool mcp = call->label != TCBSetPriority;
    bool priority = call->label != TCBSetMCPriority;
    if (call->length < (mcp && priority ? 2u : 1u) || call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    if (call->extra[0]->type != CAP_TCB) {
        return bad_capability(call, 1);
    }
    word most = ((struct tcb *)call->extra[0]->object)->mcp;
    word new_mcp = mcp ? message_get(call->from, 0) : tcb->mcp;
    word new_priority = priority ? message_get(call->from, mcp ? 1 : 0) : tcb->priority;
    if ((mcp && new_mcp > most) || (priority && new_priority > most)) {
        return bad_range(call, 0, most);
    }
    tcb->mcp = (uint32_t)new_mcp;
    if (priority) {
        sched_set_priority(tcb, (uint32_t)new_priority);
    }
    return seL4_NoError;
}

/* -- registers: message words 0 and 1 are flags and count */

static seL4_Error read_registers(struct invocation *call, struct tcb *tcb)
{
    if (call->length < 2) {
        return seL4_TruncatedMessage;
    }
    word count = message_get(call->from, 1);
    if (count < 1 || count > CONTEXT_WORDS) {
        return bad_range(call, 1, CONTEXT_WORDS);
    }
    if (tcb == call->from) {
        return seL4_IllegalOperation;
    }
    if ((message_get(call->from, 0) & 1) != 0) {
        tcb_suspend(tcb);
    }
    call->out_length = count;
    for (word i = 0; i < count; i++) {
        call->out[i] = ((const word *)&tcb->context.user)[i];
    }
    return seL4_NoError;
}

static seL4_Error write_registers(struct invocation *call, struct tcb *tcb)
{
    if (call->length < 2) {
        return seL4_TruncatedMessage;
    }
    word count = message_get(call->from, 1);
    if (call->length - 2 < count) {
        return seL4_TruncatedMessage;
    }
    if (tcb == call->from) {
        return seL4_IllegalOperation;
    }
    for (word i = 0; i < count && i < CONTEXT_WORDS; i++) {
        ((word *)&tcb->context.user)[i] = message_get(call->from, i + 2);
    }
    arch_sanitise(&tcb->context);
    if ((message_get(call->from, 0) & 1) != 0) {
        tcb_restart(tcb);
    }
    return seL4_NoError;
}

/* -- bound notifications */

static seL4_Error bind(struct invocation *call, struct tcb *tcb)
{
    if (call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    if (tcb->bound != 0) {
        return seL4_IllegalOperation;
    }
    const struct slot *cap = call->extra[0];
    struct notification *notification = (struct notification *)cap->object;
    if (cap->type != CAP_NOTIFICATION || (cap->rights & RIGHT_READ) == 0 ||
        !notification_is_idle(notification)) {
        return seL4_IllegalOperation;
    }
    tcb->bound = notification;
    notification->bound = tcb;
    return seL4_NoError;
}

seL4_Error tcb_invoke(struct invocation *call)
{
    struct tcb *tcb = (struct tcb *)call->slot->object;
    switch (call->label) {
    case TCBReadRegisters:
        return read_registers(call, tcb);
    case TCBWriteRegisters:
        return write_registers(call, tcb);
    case TCBConfigure:
        return configure(call, tcb);
    case TCBSetSpace:
        return set_space_only(call, tcb);
    case TCBSetIPCBuffer:
        return set_buffer_only(call, tcb);
    case TCBSetPriority:
    case TCBSetMCPriority:
    case TCBSetSchedParams:
        return set_priorities(call, tcb);
    case TCBSuspend:
        tcb_suspend(tcb);
        return seL4_NoError;
    case TCBResume:
        tcb_restart(tcb);
        return seL4_NoError;
    case TCBBindNotification:
        return bind(call, tcb);
    case TCBUnbindNotification:
        if (tcb->bound == 0) {
            return seL4_IllegalOperation;
        }
        tcb_unbind(tcb);
        return seL4_NoError;
    default:
        return seL4_IllegalOperation;
    }
}
