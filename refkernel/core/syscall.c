/* SPDX-License-Identifier: BSD-2-Clause
 *
 * System calls of the current thread. */
#include "kernel.h"

seL4_Error bad_argument(struct invocation *call, word number)
{
    call->out_length = 1;
    call->out[0] = number;
    return seL4_InvalidArgument;
}

seL4_Error bad_capability(struct invocation *call, word number)
{
    call->out_length = 1;
    call->out[0] = number;
    return seL4_InvalidCapability;
}

seL4_Error bad_range(struct invocation *call, word least, word most)
{
    call->out_length = 2;
    call->out[0] = least;
    call->out[1] = most;
    return seL4_RangeError;
}

seL4_Error bad_lookup(struct invocation *call, bool source, const struct lookup_failure *failure)
{
    call->out[0] = source;
    call->out_length = 1 + slot_failure_words(failure, &call->out[1]);
    return seL4_FailedLookup;
}

static seL4_Error invoke_object(struct invocation *call, bool blocking, bool is_call)
{
    struct slot *slot = call->slot;
    switch ((cap_type)slot->type) {
    case CAP_ENDPOINT:
        if ((slot->rights & RIGHT_WRITE) == 0) {
            return bad_capability(call, 0);
        }
        endpoint_send(call->from, slot, blocking, is_call);
        return seL4_NoError;
    case CAP_NOTIFICATION:
        if ((slot->rights & RIGHT_WRITE) == 0) {
            return bad_capability(call, 0);
        }
        notification_signal((struct notification *)slot->object, slot->data);
        return seL4_NoError;
    case CAP_REPLY:
        reply_send(call->from, slot);
        return seL4_NoError;
    case CAP_UNTYPED:
        return untyped_invoke(call);
    case CAP_CNODE:
        return cnode_invoke(call);
    case CAP_TCB:
        return tcb_invoke(call);
    case CAP_FRAME:
    case CAP_TABLE:
    case CAP_VSPACE:
    case CAP_ASID_CONTROL:
    case CAP_ASID_POOL:
        return vspace_invoke(call);
    case CAP_INTERRUPT_CONTROL:
        return interrupt_control_invoke(call);
    case CAP_INTERRUPT:
        return interrupt_invoke(call);
    case CAP_PORT_CONTROL:
    case CAP_PORTS:
        return arch_ports_invoke(call);
    case CAP_CONTROL:
        return seL4_IllegalOperation;
    case CAP_NULL:
        break;
    }
    return bad_capability(call, 0);
}

/* Answers an invocation of a kernel object. */
static void answer(struct invocation *call, seL4_Error error)
{
    struct tcb *tcb = call->from;
    word length = call->out_length;
    if (length > seL4_FastMessageRegisters && !message_has_buffer(tcb)) {
        length = seL4_FastMessageRegisters;
    }
    for (word i = 0; i < length; i++) {
        message_set(tcb, i, call->out[i]);
    }
    *arch_cap_register(&tcb->context) = 0;
    *arch_info_register(&tcb->context) = seL4_MessageInfo_new(error, 0, 0, length).words[0];
}

/* Send, NBSend, Call. */
static void invoke(bool blocking, bool is_call)
{
    struct tcb *tcb = current;
    struct invocation call = {.from = tcb};
    struct lookup_failure failure;
    word left;
    word cptr = *arch_cap_register(&tcb->context);
    seL4_MessageInfo_t info = {{*arch_info_register(&tcb->context)}};
    const seL4_IPCBuffer *buffer = message_buffer(tcb, false);
    call.slot = slot_resolve(&tcb->slots[TCB_CSPACE], cptr, seL4_WordBits, &left, &failure);
    word extras = buffer != 0 ? seL4_MessageInfo_get_extraCaps(info) : 0;
    for (; call.slot != 0 && call.extras < extras; call.extras++) {
        cptr = buffer->caps_or_badges[call.extras];
        call.extra[call.extras] =
            slot_resolve(&tcb->slots[TCB_CSPACE], cptr, seL4_WordBits, &left, &failure);
        if (call.extra[call.extras] == 0) {
            break;
        }
    }
    if (call.slot == 0 || call.extras < extras) {
        if (blocking) {
            fault_capability(tcb, cptr, false, &failure);
        }
        return;
    }
    call.label = seL4_MessageInfo_get_label(info);
    call.length = seL4_MessageInfo_get_length(info);
    if (call.length > seL4_FastMessageRegisters && buffer == 0) {
        call.length = seL4_FastMessageRegisters;
    }
    seL4_Error error = invoke_object(&call, blocking, is_call);
    if (is_call && tcb->state == STATE_RUNNING) {
        answer(&call, error);
    }
}

static void receive(bool blocking)
{
    struct tcb *tcb = current;
    struct lookup_failure failure;
    word left;
    word cptr = *arch_cap_register(&tcb->context);
    struct slot *slot = slot_resolve(&tcb->slots[TCB_CSPACE], cptr, seL4_WordBits, &left, &failure);
    if (slot != 0 && slot->type == CAP_ENDPOINT && (slot->rights & RIGHT_READ) != 0) {
        slot_drop_reply(&tcb->slots[TCB_REPLY]);
        endpoint_receive(tcb, slot, blocking);
        return;
    }
    if (slot != 0 && slot->type == CAP_NOTIFICATION && (slot->rights & RIGHT_READ) != 0) {
        struct tcb *bound = ((struct notification *)slot->object)->bound;
        if (bound == 0 || bound == tcb) {
            notification_receive(tcb, slot, blocking);
            return;
        }
    }
    if (slot != 0) {
        failure = (struct lookup_failure){.why = seL4_MissingCapability};
    }
    fault_capability(tcb, cptr, true, &failure);
}

static void name_thread(void)
{
    struct lookup_failure failure;
    word left;
    const seL4_IPCBuffer *buffer = message_buffer(current, false);
    struct slot *slot =
        slot_resolve(&current->slots[TCB_CSPACE], *arch_cap_register(&current->context),
                     seL4_WordBits, &left, &failure);
    if (slot == 0 || slot->type != CAP_TCB || buffer == 0) {
        panic("seL4_DebugNameThread of no TCB, or without an IPC buffer",
              *arch_cap_register(&current->context));
    }
    struct tcb *tcb = (struct tcb *)slot->object;
    const char *name = (const char *)buffer->msg;
    for (size_t i = 0; i + 1 < NAME_BYTES; i++) {
        tcb->name[i] = name[i];
        if (name[i] == '\0') {
            break;
        }
    }
}

static void identify_cap(void)
{
    struct lookup_failure failure;
    word left;
    word *cptr = arch_cap_register(&current->context);
    struct slot *slot =
        slot_resolve(&current->slots[TCB_CSPACE], *cptr, seL4_WordBits, &left, &failure);
    *cptr = slot != 0 ? slot->type : CAP_NULL;
}

static bool debug_call(word number)
{
    switch ((long)number) {
    case seL4_SysDebugPutChar:
        print_char((char)*arch_cap_register(&current->context));
        return true;
    case seL4_SysDebugHalt:
        print("refkernel: halted by seL4_DebugHalt\n");
        arch_halt();
    case seL4_SysDebugNameThread:
        name_thread();
        return true;
    case seL4_SysDebugCapIdentify:
        identify_cap();
        return true;
    case seL4_SysDebugSnapshot:
    case seL4_SysDebugDumpScheduler:
        print("refkernel: no snapshots and no dumps; ask seL4\n");
        return true;
    default:
        return false;
    }
}

void syscall_handle(word number)
{
    struct tcb *tcb = current;
    switch ((long)number) {
    case seL4_SysCall:
        invoke(true, true);
        break;
    case seL4_SysSend:
        invoke(true, false);
        break;
    case seL4_SysNBSend:
        invoke(false, false);
        break;
    case seL4_SysRecv:
        receive(true);
        break;
    case seL4_SysNBRecv:
        receive(false);
        break;
    case seL4_SysReply:
        reply_send(tcb, &tcb->slots[TCB_REPLY]);
        break;
    case seL4_SysReplyRecv:
        reply_send(tcb, &tcb->slots[TCB_REPLY]);
        receive(true);
        break;
    case seL4_SysYield:
        tcb_complete(tcb);
        sched_yield();
        return;
    default:
        if (!debug_call(number)) {
            struct fault fault = {.label = seL4_Fault_UnknownSyscall};
            fault.length = arch_unknown_syscall(&tcb->context, fault.words);
            fault_send(tcb, &fault);
            return;
        }
        break;
    }
    if (tcb->state == STATE_RUNNING) {
        tcb_complete(tcb);
    }
}
