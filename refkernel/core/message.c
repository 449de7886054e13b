/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages: words in registers and IPC buffers, and capabilities that are sent along. */
#include "kernel.h"

seL4_IPCBuffer *message_buffer(const struct tcb *tcb, bool writable)
{
    const struct slot *frame = &tcb->slots[TCB_BUFFER];
    uint8_t rights = (uint8_t)(writable ? RIGHT_READ | RIGHT_WRITE : RIGHT_READ);
    if (frame->type != CAP_FRAME || (frame->rights & rights) != rights) {
        return 0;
    }
    return (seL4_IPCBuffer *)(frame->object + (tcb->buffer & MASK(frame->bits)));
}

bool message_has_buffer(const struct tcb *tcb)
{
    return message_buffer(tcb, false) != 0;
}

word message_get(const struct tcb *tcb, word i)
{
    if (i < seL4_FastMessageRegisters) {
        return *arch_message_register((struct context *)&tcb->context, i);
    }
    const seL4_IPCBuffer *buffer = message_buffer(tcb, false);
    return buffer != 0 && i < seL4_MsgMaxLength ? buffer->msg[i] : 0;
}

void message_set(struct tcb *tcb, word i, word value)
{
    seL4_IPCBuffer *buffer = message_buffer(tcb, true);
    if (i < seL4_FastMessageRegisters) {
        *arch_message_register(&tcb->context, i) = value;
    } else if (buffer != 0 && i < seL4_MsgMaxLength) {
        buffer->msg[i] = value;
    }
}

/* Copies as many words as both threads have room for. Returns their number. */
static word copy_words(struct tcb *from, struct tcb *to, word length)
{
    if (length > seL4_MsgMaxLength) {
        length = seL4_MsgMaxLength;
    }
    if (length > seL4_FastMessageRegisters &&
        (!message_has_buffer(from) || message_buffer(to, true) == 0)) {
        length = seL4_FastMessageRegisters;
    }
    for (word i = 0; i < length; i++) {
        message_set(to, i, message_get(from, i));
    }
    return length;
}

/* The slot where a receiver wants a capability. Null: the receiver names none, or the slot is
 * not empty. */
static struct slot *receive_slot(struct tcb *to, const seL4_IPCBuffer *buffer)
{
    struct lookup_failure failure;
    word left;
    struct slot *root =
        slot_resolve(&to->slots[TCB_CSPACE], buffer->receiveCNode, seL4_WordBits, &left, &failure);
    if (root == 0 || root->type != CAP_CNODE || buffer->receiveDepth < 1 ||
        buffer->receiveDepth > seL4_WordBits) {
        return 0;
    }
    struct slot *slot = slot_find(root, buffer->receiveIndex, buffer->receiveDepth, &failure);
    return slot != 0 && slot->type == CAP_NULL ? slot : 0;
}

/* Copies capabilities up to the first one that cannot be passed on. Returns the receiver's
 * extraCaps, and capsUnwrapped in *unwrapped. */
static word copy_caps(struct tcb *from, struct tcb *to, const struct endpoint *endpoint, word count,
                      word *unwrapped)
{
    const seL4_IPCBuffer *in = message_buffer(from, false);
    seL4_IPCBuffer *out = message_buffer(to, true);
    *unwrapped = 0;
    if (in == 0 || out == 0) {
        return 0;
    }
    struct slot *into = receive_slot(to, out);
    for (word i = 0; i < count; i++) {
        struct lookup_failure failure;
        struct slot copy;
        word left;
        word cptr = in->caps_or_badges[i];
        struct slot *cap =
            slot_resolve(&from->slots[TCB_CSPACE], cptr, seL4_WordBits, &left, &failure);
        if (cap == 0) {
            return i;
        }
        if (cap->type == CAP_ENDPOINT && endpoint != 0 && cap->object == (word)endpoint) {
            out->caps_or_badges[i] = cap->data;
            *unwrapped |= BIT(i);
        } else {
            if (into == 0 || slot_derive(cap, &copy) != seL4_NoError || copy.type == CAP_NULL) {
                return i;
            }
            slot_insert(into, cap, copy);
            into = 0;
        }
    }
    return count;
}

void message_transfer(struct tcb *from, struct tcb *to, const struct endpoint *endpoint, word badge,
                      bool grant)
{
    seL4_MessageInfo_t info = {{*arch_info_register(&from->context)}};
    word label = seL4_MessageInfo_get_label(info);
    word caps = 0;
    word unwrapped = 0;
    word length;
    if (from->fault.label != seL4_Fault_NullFault) {
        label = from->fault.label;
        length = from->fault.length;
        if (length > seL4_FastMessageRegisters && message_buffer(to, true) == 0) {
            length = seL4_FastMessageRegisters;
        }
        for (word i = 0; i < length; i++) {
            message_set(to, i, from->fault.words[i]);
        }
    } else {
        length = copy_words(from, to, seL4_MessageInfo_get_length(info));
        if (grant) {
            caps = copy_caps(from, to, endpoint, seL4_MessageInfo_get_extraCaps(info), &unwrapped);
        }
    }
    *arch_cap_register(&to->context) = badge;
    *arch_info_register(&to->context) =
        seL4_MessageInfo_new(label, unwrapped, caps, length).words[0];
}
