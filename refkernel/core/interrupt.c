/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Interrupts that users handle. The kernel signals an interrupt to a notification and masks it
 * until its handler acknowledges it. */
#include "kernel.h"

/* For each interrupt, a slot with a capability to the notification that it is signalled to, or
 * an empty slot. */
static struct slot *targets;
static bool issued[ARCH_INTERRUPTS];

void interrupt_init(struct slot *memory)
{
    targets = memory;
}

void interrupt_arrived(word number)
{
    arch_interrupt_mask(number, true);
    if (targets[number].type == CAP_NOTIFICATION) {
        notification_signal((struct notification *)targets[number].object, targets[number].data);
    } else {
        print("refkernel: nobody is told of interrupt ");
        print_hex(number);
        print("\n");
    }
}

seL4_Error invocation_target(struct invocation *call, struct slot *root, word index, word depth,
                             struct slot **out)
{
    struct lookup_failure failure;
    if (root->type != CAP_CNODE) {
        failure = (struct lookup_failure){.why = seL4_InvalidRoot};
        return bad_lookup(call, false, &failure);
    }
    if (depth < 1 || depth > seL4_WordBits) {
        return bad_range(call, 1, seL4_WordBits);
    }
    *out = slot_find(root, index, depth, &failure);
    if (*out == 0) {
        return bad_lookup(call, false, &failure);
    }
    return (*out)->type != CAP_NULL ? seL4_DeleteFirst : seL4_NoError;
}

seL4_Error interrupt_control_invoke(struct invocation *call)
{
    struct interrupt_request request;
    struct slot *to;
    seL4_Error error = arch_interrupt_request(call, &request);
    if (error == seL4_NoError && issued[request.number]) {
        error = seL4_RevokeFirst;
    }
    if (error == seL4_NoError) {
        error = invocation_target(call, call->extra[0], request.index, request.depth, &to);
    }
    if (error == seL4_NoError) {
        issued[request.number] = true;
        slot_create(
            to, call->slot,
            (struct slot){.type = CAP_INTERRUPT, .object = request.number, .rights = RIGHTS_ALL});
        arch_interrupt_set_up(&request);
        arch_interrupt_mask(request.number, false);
    }
    return error;
}

static seL4_Error set_notification(struct invocation *call, struct slot *target)
{
    if (call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    struct slot *from = call->extra[0];
    if (from->type != CAP_NOTIFICATION || (from->rights & RIGHT_WRITE) == 0) {
        return bad_capability(call, 0);
    }
    slot_delete(target);
    slot_insert(target, from, *from);
    return seL4_NoError;
}

seL4_Error interrupt_invoke(struct invocation *call)
{
    word number = call->slot->object;
    switch (call->label) {
    case IRQAckIRQ:
        arch_interrupt_mask(number, false);
        return seL4_NoError;
    case IRQSetIRQHandler:
        return set_notification(call, &targets[number]);
    case IRQClearIRQHandler:
        slot_delete(&targets[number]);
        return seL4_NoError;
    default:
        return seL4_IllegalOperation;
    }
}

struct slot *interrupt_released(word number)
{
    arch_interrupt_mask(number, true);
    issued[number] = false;
    return &targets[number];
}
