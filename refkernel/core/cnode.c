/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CNode invocations. Message words: destination index, depth, source index, depth, then rights
 * or badge. */
#include "kernel.h"

static bool bad_depth(word depth)
{
    return depth < 1 || depth > seL4_WordBits;
}

/* Copy, Mint, Move, Mutate. */
static seL4_Error transfer(struct invocation *call, struct slot *to)
{
    struct lookup_failure failure;
    struct slot cap;
    seL4_Error error = seL4_NoError;
    word words = call->label == CNodeMint ? 6 : call->label == CNodeMove ? 4 : 5;
    if (call->length < words || call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    if (to->type != CAP_NULL) {
        return seL4_DeleteFirst;
    }
    word depth = message_get(call->from, 3);
    if (call->extra[0]->type != CAP_CNODE) {
        failure = (struct lookup_failure){.why = seL4_InvalidRoot};
        return bad_lookup(call, true, &failure);
    }
    if (bad_depth(depth)) {
        return bad_range(call, 1, seL4_WordBits);
    }
    struct slot *from = slot_find(call->extra[0], message_get(call->from, 2), depth, &failure);
    if (from == 0) {
        return bad_lookup(call, true, &failure);
    }
    if (from->type == CAP_NULL) {
        failure = (struct lookup_failure){.why = seL4_MissingCapability, .bits_left = depth};
        return bad_lookup(call, true, &failure);
    }
    bool copies = call->label == CNodeCopy || call->label == CNodeMint;
    struct slot source = *from;
    if (copies) {
        source.rights &= (uint8_t)(message_get(call->from, 4) | CAP_ORIGINAL);
    }
    if (call->label == CNodeMint) {
        source = slot_with_data(source, false, message_get(call->from, 5));
    } else if (call->label == CNodeMutate) {
        source = slot_with_data(source, true, message_get(call->from, 4));
    }
    cap = source;
    if (copies && source.type != CAP_NULL) {
        error = slot_derive(&source, &cap);
    }
    if (error != seL4_NoError) {
        return error;
    }
    if (cap.type == CAP_NULL) {
        return seL4_IllegalOperation;
    }
    if (copies) {
        slot_insert(to, from, cap);
    } else {
        slot_move(to, from, cap);
    }
    return seL4_NoError;
}

static seL4_Error cancel_badged_sends(struct slot *slot)
{
    if (slot->type != CAP_ENDPOINT || (slot->rights & RIGHTS_ALL) != RIGHTS_ALL) {
        return seL4_IllegalOperation;
    }
    if (slot->data != 0) {
        endpoint_cancel_badge((struct endpoint *)slot->object, slot->data);
    }
    return seL4_NoError;
}

static seL4_Error save_caller(struct invocation *call, struct slot *to)
{
    struct slot *from = &call->from->slots[TCB_REPLY];
    if (to->type != CAP_NULL) {
        return seL4_DeleteFirst;
    }
    if (from->type == CAP_REPLY) {
        slot_move(to, from, *from);
    }
    return seL4_NoError;
}

seL4_Error cnode_invoke(struct invocation *call)
{
    struct lookup_failure failure;
    if (call->label < CNodeRevoke || call->label > CNodeSaveCaller) {
        return seL4_IllegalOperation;
    }
    if (call->length < 2) {
        return seL4_TruncatedMessage;
    }
    word depth = message_get(call->from, 1);
    if (bad_depth(depth)) {
        return bad_range(call, 1, seL4_WordBits);
    }
    struct slot *slot = slot_find(call->slot, message_get(call->from, 0), depth, &failure);
    if (slot == 0) {
        return bad_lookup(call, false, &failure);
    }
    switch (call->label) {
    case CNodeRevoke:
        slot_revoke(slot);
        return seL4_NoError;
    case CNodeDelete:
        slot_delete(slot);
        return seL4_NoError;
    case CNodeCancelBadgedSends:
        return cancel_badged_sends(slot);
    case CNodeSaveCaller:
        return save_caller(call, slot);
    default:
        return transfer(call, slot);
    }
}
