/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Untyped memory: retype. Objects are taken from its start onwards, each aligned to its size.
 * When all of them are destroyed, the whole untyped is free again. */
#include "kernel.h"

/* log2 of the bytes of an object; 0: no such type. */
static word object_bits(word type, word size_bits)
{
    switch (type) {
    case seL4_UntypedObject:
        return size_bits;
    case seL4_TCBObject:
        return seL4_TCBBits;
    case seL4_EndpointObject:
        return seL4_EndpointBits;
    case seL4_NotificationObject:
        return seL4_NotificationBits;
    case seL4_CapTableObject:
        return size_bits + seL4_SlotBits;
    default:
        return arch_object_bits(type);
    }
}

/* Nothing of a device is cleared: its registers are not memory. */
static struct slot make_object(word type, word address, word bits, word size_bits, uint8_t device)
{
    struct slot cap = {.object = address, .rights = RIGHTS_ALL};
    if (type != seL4_UntypedObject && !device) {
        arch_clear((void *)address, BIT(bits));
    }
    switch (type) {
    case seL4_UntypedObject:
        cap.type = CAP_UNTYPED;
        cap.bits = (uint8_t)size_bits;
        cap.guard = device;
        break;
    case seL4_TCBObject:
        cap.type = CAP_TCB;
        tcb_init((struct tcb *)address);
        break;
    case seL4_EndpointObject:
        cap.type = CAP_ENDPOINT;
        break;
    case seL4_NotificationObject:
        cap.type = CAP_NOTIFICATION;
        break;
    case seL4_CapTableObject:
        cap.type = CAP_CNODE;
        cap.bits = (uint8_t)size_bits;
        break;
    default:
        arch_make_object(type, &cap);
        break;
    }
    return cap;
}

/* Finds the CNode that the new capabilities are put into. */
static seL4_Error find_node(struct invocation *call, word index, word depth, struct slot **node)
{
    struct lookup_failure failure = {.why = seL4_MissingCapability};
    *node = call->extra[0];
    if (depth != 0) {
        if (call->extra[0]->type != CAP_CNODE) {
            failure.why = seL4_InvalidRoot;
            return bad_lookup(call, false, &failure);
        }
        if (depth > seL4_WordBits) {
            return bad_range(call, 1, seL4_WordBits);
        }
        *node = slot_find(call->extra[0], index, depth, &failure);
        if (*node == 0) {
            return bad_lookup(call, false, &failure);
        }
    }
    if ((*node)->type != CAP_CNODE) {
        failure = (struct lookup_failure){.why = seL4_MissingCapability, .bits_left = depth};
        return bad_lookup(call, false, &failure);
    }
    return seL4_NoError;
}

seL4_Error untyped_invoke(struct invocation *call)
{
    struct slot *untyped = call->slot;
    struct slot *node;
    if (call->label != UntypedRetype) {
        return seL4_IllegalOperation;
    }
    if (call->length < 6 || call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    word type = message_get(call->from, 0);
    word size_bits = message_get(call->from, 1);
    word offset = message_get(call->from, 4);
    word count = message_get(call->from, 5);
    if (type >= seL4_ObjectTypeCount) {
        return bad_argument(call, 0);
    }
    if (size_bits > seL4_MaxUntypedBits || object_bits(type, size_bits) > seL4_MaxUntypedBits) {
        return bad_range(call, 0, seL4_MaxUntypedBits);
    }
    word bits = object_bits(type, size_bits);
    if (bits == 0 && type != seL4_UntypedObject) {
        return bad_argument(call, 0); /* a type of seL4 that refkernel does not have */
    }
    if ((type == seL4_CapTableObject && size_bits == 0) ||
        (type == seL4_UntypedObject && size_bits < seL4_MinUntypedBits)) {
        return bad_argument(call, 1);
    }
    if (untyped->guard && type != seL4_UntypedObject && type != arch_frame_type) {
        return bad_argument(call, 1);
    }
    seL4_Error error =
        find_node(call, message_get(call->from, 2), message_get(call->from, 3), &node);
    if (error != seL4_NoError) {
        return error;
    }
    word slots = BIT(node->bits);
    if (offset > slots - 1) {
        return bad_range(call, 0, slots - 1);
    }
    if (count < 1 || count > CONFIG_RETYPE_FAN_OUT_LIMIT) {
        return bad_range(call, 1, CONFIG_RETYPE_FAN_OUT_LIMIT);
    }
    if (count > slots - offset) {
        return bad_range(call, 1, slots - offset);
    }
    struct slot *first = (struct slot *)node->object + offset;
    for (word i = 0; i < count; i++) {
        if (first[i].type != CAP_NULL) {
            return seL4_DeleteFirst;
        }
    }
    word used = slot_has_children(untyped) ? untyped->data : 0;
    word start = (used + MASK(bits)) & ~MASK(bits);
    word size = BIT(untyped->bits);
    if (start > size || (size - start) >> bits < count || untyped->level >= LEVEL_MAX) {
        call->out_length = 1;
        call->out[0] = used > size ? 0 : size - used;
        return seL4_NotEnoughMemory;
    }
    for (word i = 0; i < count; i++) {
        struct slot cap = make_object(type, untyped->object + start + (i << bits), bits, size_bits,
                                      untyped->guard);
        slot_create(&first[i], untyped, cap);
    }
    untyped->data = start + (count << bits);
    return seL4_NoError;
}
