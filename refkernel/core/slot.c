/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Slots: resolving addresses, the derivation tree, and deletion. */
#include "kernel.h"

/* -- addresses */

struct slot *slot_resolve(struct slot *root, word cptr, word bits, word *left,
                          struct lookup_failure *failure)
{
    *failure = (struct lookup_failure){0};
    *left = bits;
    if (root->type != CAP_CNODE) {
        failure->why = seL4_InvalidRoot;
        return 0;
    }
    /* This loop ends because no CNode resolves 0 bits: see slot_with_data and untyped_invoke. */
    for (struct slot *node = root;;) {
        word used = (word)node->guard + node->bits;
        word guard = node->guard == 0 || *left < node->guard
                         ? 0
                         : (cptr >> (*left - node->guard)) & MASK(node->guard);
        if (node->guard > *left || guard != node->data) {
            *failure = (struct lookup_failure){seL4_GuardMismatch, *left, node->guard, node->data};
            return 0;
        }
        if (used > *left) {
            *failure = (struct lookup_failure){seL4_DepthMismatch, *left, used, 0};
            return 0;
        }
        *left -= used;
        struct slot *slot = (struct slot *)node->object + ((cptr >> *left) & MASK(node->bits));
        if (*left == 0 || slot->type != CAP_CNODE) {
            return slot;
        }
        node = slot;
    }
}

struct slot *slot_find(struct slot *root, word cptr, word bits, struct lookup_failure *failure)
{
    word left;
    struct slot *slot = slot_resolve(root, cptr, bits, &left, failure);
    if (slot != 0 && left != 0) {
        *failure = (struct lookup_failure){seL4_DepthMismatch, left, 0, 0};
        return 0;
    }
    return slot;
}

word slot_failure_words(const struct lookup_failure *failure, word *out)
{
    out[0] = failure->why;
    out[1] = failure->bits_left;
    switch (failure->why) {
    case seL4_MissingCapability:
        return 2;
    case seL4_DepthMismatch:
        out[2] = failure->bits_found;
        return 3;
    case seL4_GuardMismatch:
        out[2] = failure->guard;
        out[3] = failure->bits_found;
        return 4;
    case seL4_NoFailure:
    case seL4_InvalidRoot:
        break;
    }
    return 1;
}

/* -- the derivation tree */

struct slot *slot_link(uint32_t number)
{
    return number == 0 ? 0 : (struct slot *)(ARCH_WINDOW + ((word)number << seL4_SlotBits));
}

static uint32_t number_of(const struct slot *slot)
{
    return (uint32_t)(((word)slot - ARCH_WINDOW) >> seL4_SlotBits);
}

static bool is_child(const struct slot *slot, const struct slot *of)
{
    return slot != 0 && slot->level > of->level;
}

bool slot_has_children(const struct slot *slot)
{
    return is_child(slot_link(slot->next), slot);
}

static void link_after(struct slot *slot, struct slot *before)
{
    slot->prev = number_of(before);
    slot->next = before->next;
    before->next = number_of(slot);
    if (slot->next != 0) {
        slot_link(slot->next)->prev = number_of(slot);
    }
}

void slot_create(struct slot *slot, struct slot *parent, struct slot cap)
{
    *slot = cap;
    slot->rights |= CAP_ORIGINAL;
    slot->prev = slot->next = 0;
    slot->level = 0;
    if (parent != 0) {
        slot->level = (uint16_t)(parent->level + 1);
        link_after(slot, parent);
    }
}

void slot_insert(struct slot *slot, struct slot *from, struct slot cap)
{
    bool badged =
        (cap.type == CAP_ENDPOINT || cap.type == CAP_NOTIFICATION) && cap.data != from->data;
    bool original = badged || cap.type == CAP_UNTYPED;
    uint16_t level = (uint16_t)(from->level + ((from->rights & CAP_ORIGINAL) != 0));
    *slot = cap;
    slot->rights = (uint8_t)((cap.rights & RIGHTS_ALL) | (original ? CAP_ORIGINAL : 0));
    slot->level = level;
    link_after(slot, from);
    if (cap.type == CAP_UNTYPED) {
        from->data = BIT(from->bits); /* the rest of the untyped belongs to the copy */
    }
}

void slot_move(struct slot *to, struct slot *from, struct slot cap)
{
    cap.prev = from->prev;
    cap.next = from->next;
    cap.level = from->level;
    cap.rights = (uint8_t)((cap.rights & RIGHTS_ALL) | (from->rights & CAP_ORIGINAL));
    *to = cap;
    *from = (struct slot){0};
    if (to->type == CAP_REPLY) {
        ((struct tcb *)to->object)->reply_slot = to;
        return;
    }
    if (to->prev != 0) {
        slot_link(to->prev)->next = number_of(to);
    }
    if (to->next != 0) {
        slot_link(to->next)->prev = number_of(to);
    }
}

seL4_Error slot_derive(const struct slot *from, struct slot *out)
{
    *out = *from;
    switch ((cap_type)from->type) {
    case CAP_UNTYPED:
        if (slot_has_children(from)) {
            return seL4_RevokeFirst;
        }
        return from->level >= LEVEL_MAX ? seL4_NotEnoughMemory : seL4_NoError;
    case CAP_REPLY:
    case CAP_CONTROL:
    case CAP_ASID_CONTROL:
    case CAP_INTERRUPT_CONTROL:
    case CAP_PORT_CONTROL:
        out->type = CAP_NULL;
        return seL4_NoError;
    case CAP_FRAME: /* a copy is not mapped */
        out->asid = 0;
        out->data = 0;
        return seL4_NoError;
    case CAP_TABLE:
    case CAP_VSPACE:
        return from->asid == 0 ? seL4_IllegalOperation : seL4_NoError;
    default:
        return seL4_NoError;
    }
}

struct slot slot_with_data(struct slot cap, bool keep, word data)
{
    switch ((cap_type)cap.type) {
    case CAP_ENDPOINT:
    case CAP_NOTIFICATION:
        if (keep || cap.data != 0) {
            cap.type = CAP_NULL;
        }
        cap.data = data;
        return cap;
    case CAP_CNODE: /* guard : 58, guardSize : 6 */
        cap.guard = (uint8_t)(data & 63);
        cap.data = (data >> 6) & MASK(cap.guard);
        if (cap.guard + cap.bits > seL4_WordBits) {
            cap.type = CAP_NULL;
        }
        return cap;
    default:
        return cap;
    }
}

/* -- deletion
 *
 * When the last capability to an object is deleted, the object is destroyed. If the object
 * contains capabilities, they are deleted next, and so on. The containers that still have to be
 * emptied form a list. The list is kept in the first slot of each container, which is emptied
 * before: `object` is the next container, `data` the next slot to empty, `bits` the size. */

static bool same_object(const struct slot *a, const struct slot *b)
{
    return a != 0 && a->type == b->type && a->object == b->object;
}

/* Capabilities to the same object are neighbours in the list. */
bool slot_is_last(const struct slot *slot)
{
    return !same_object(slot_link(slot->prev), slot) && !same_object(slot_link(slot->next), slot);
}

/* Takes a capability out of its slot. Its children become children of its parent; with
 * `keep_levels` they do not, because they are about to be revoked. */
static struct slot detach(struct slot *slot, bool keep_levels, bool *last)
{
    struct slot cap = *slot;
    struct slot *next = slot_link(cap.next);
    struct slot *prev = slot_link(cap.prev);
    *last = slot_is_last(slot);
    *slot = (struct slot){0};
    if (cap.type == CAP_NULL || cap.type == CAP_REPLY) {
        return cap;
    }
    for (struct slot *child = next; !keep_levels && is_child(child, &cap);
         child = slot_link(child->next)) {
        child->level--;
    }
    if (prev != 0) {
        prev->next = cap.next;
    }
    if (next != 0) {
        next->prev = cap.prev;
    }
    return cap;
}

/* Does what follows from the deletion of a capability. Returns the container that was destroyed
 * with it, if any. */
static struct slot *release(const struct slot *cap, bool last, uint8_t *bits)
{
    switch ((cap_type)cap->type) {
    case CAP_ENDPOINT:
        if (last) {
            endpoint_cancel_all((struct endpoint *)cap->object);
        }
        return 0;
    case CAP_NOTIFICATION:
        if (last) {
            struct notification *notification = (struct notification *)cap->object;
            if (notification->bound != 0) {
                tcb_unbind(notification->bound);
            }
            notification_cancel_all(notification);
        }
        return 0;
    case CAP_REPLY:
        ((struct tcb *)cap->object)->reply_slot = 0;
        return 0;
    case CAP_TCB:
        if (last) {
            tcb_destroy((struct tcb *)cap->object);
            *bits = TCB_SLOT_BITS;
            return ((struct tcb *)cap->object)->slots;
        }
        return 0;
    case CAP_CNODE:
        *bits = cap->bits;
        return last ? (struct slot *)cap->object : 0;
    case CAP_FRAME:
    case CAP_TABLE:
    case CAP_VSPACE:
    case CAP_ASID_POOL:
        vspace_released(cap, last);
        return 0;
    case CAP_INTERRUPT:
        *bits = 0;
        return last ? interrupt_released(cap->object) : 0;
    case CAP_PORTS:
        if (last) {
            arch_ports_released(cap);
        }
        return 0;
    case CAP_NULL:
    case CAP_UNTYPED:
    case CAP_CONTROL:
    case CAP_INTERRUPT_CONTROL:
    case CAP_ASID_CONTROL:
    case CAP_PORT_CONTROL:
        break;
    }
    return 0;
}

static void take(struct slot *slot, bool keep_levels, struct slot **work)
{
    bool last;
    uint8_t bits = 0;
    struct slot cap = detach(slot, keep_levels, &last);
    /* Ends because each iteration destroys one more container, by its last capability. */
    for (struct slot *first = release(&cap, last, &bits); first != 0;
         first = release(&cap, last, &bits)) {
        cap = detach(first, false, &last);
        *first = (struct slot){.object = (word)*work, .data = 1, .bits = bits};
        *work = first;
    }
}

static void delete_cap(struct slot *slot, bool keep_levels)
{
    struct slot *work = 0;
    take(slot, keep_levels, &work);
    while (work != 0) {
        struct slot *container = work;
        if (container->data == BIT(container->bits)) {
            work = (struct slot *)container->object;
            *container = (struct slot){0};
        } else {
            take(&container[container->data++], false, &work);
        }
    }
}

void slot_drop_reply(struct slot *slot)
{
    if (slot->type == CAP_REPLY) {
        ((struct tcb *)slot->object)->reply_slot = 0;
        *slot = (struct slot){0};
    }
}

void slot_delete(struct slot *slot)
{
    delete_cap(slot, false);
}

void slot_revoke(struct slot *slot)
{
    /* The slot itself may be inside a container that is destroyed here. */
    while (slot->type != CAP_NULL && slot->type != CAP_REPLY && slot_has_children(slot)) {
        delete_cap(slot_link(slot->next), true);
    }
}
