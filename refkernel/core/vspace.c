/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Address spaces: on every architecture four levels of tables with 512 entries each, pages of
 * 4 KiB, and large pages in place of tables of the last level. A capability to a mapped object
 * contains the number of the address space and the address there. The number of a destroyed address
 * space stays a dead number. The numbers are in pools; the first one is the kernel's own, and users
 * make the others of untypeds. */
#include "kernel.h"

enum { PRESENT = 1, ENTRIES = 512, ASIDS = 1 << seL4_ASIDPoolIndexBits, POOLS = 8 };

#define ADDRESS 0x0000fffffffff000ul

/* log2 of the bytes that an entry of the first level spans, and by how much this decreases with
 * each further level. */
enum { FIRST_SPAN = 39, LEVEL_BITS = 9 };

_Static_assert(ASIDS * sizeof(word) <= 1 << seL4_ASIDPoolBits, "a pool is in an untyped");

/* Kernel addresses of address spaces by number. Number 0 means none. */
static word first_pool[ASIDS];
static word *pools[POOLS] = {first_pool};

/* 0: nobody has this number. */
static word vspace_of(uint16_t asid)
{
    const word *pool = pools[asid / ASIDS];
    return pool == 0 ? 0 : pool[asid % ASIDS];
}

word vspace_find(const struct slot *cap)
{
    return cap->type == CAP_VSPACE && cap->asid != 0 && vspace_of(cap->asid) == cap->object
               ? cap->object
               : 0;
}

word vspace_span(uint8_t level)
{
    return FIRST_SPAN - (word)level * LEVEL_BITS;
}

uint16_t vspace_assign(struct slot *vspace, word pool)
{
    for (word i = pool == 0 ? 1 : 0; i < ASIDS; i++) {
        if (pools[pool][i] == 0) {
            pools[pool][i] = vspace->object;
            vspace->asid = (uint16_t)(pool * ASIDS + i);
            return vspace->asid;
        }
    }
    return 0;
}

/* Finds the entry for an address in the table whose entries span 2^span bytes. Null: there is no
 * such table; *left is the span of the entry where the walk ended. */
static word *find_entry(word vspace, word vaddr, word span, word *left)
{
    word *table = (word *)vspace;
    for (word at = FIRST_SPAN;; at -= LEVEL_BITS) {
        word *entry = &table[(vaddr >> at) % ENTRIES];
        *left = at;
        if (at == span) {
            return entry;
        }
        if (!arch_is_table(*entry)) {
            return 0;
        }
        table = (word *)(ARCH_WINDOW + (*entry & ADDRESS));
    }
}

seL4_Error vspace_map_table(struct slot *cap, uint16_t asid, word vaddr, word *left)
{
    uint8_t level = cap->bits;
    word *entry = find_entry(vspace_of(asid), vaddr,
                             level == TABLE_ANY ? seL4_PageBits : vspace_span(level), left);
    if (level == TABLE_ANY) {
        /* The widest missing table. If no table is missing, this address has one already. */
        level = (uint8_t)((FIRST_SPAN - *left) / LEVEL_BITS);
        if (entry != 0) {
            return seL4_DeleteFirst;
        }
        entry = find_entry(vspace_of(asid), vaddr, *left, left);
    }
    if (entry == 0) {
        return seL4_FailedLookup;
    }
    if ((*entry & PRESENT) != 0) {
        return seL4_DeleteFirst;
    }
    arch_set_entry(entry, arch_table_entry(cap->object - ARCH_WINDOW));
    cap->asid = asid;
    cap->data = (vaddr & ~MASK(vspace_span(level))) | level;
    return seL4_NoError;
}

seL4_Error vspace_map_frame(struct slot *cap, uint16_t asid, word vaddr, word rights,
                            word attributes, word *left)
{
    word *entry = find_entry(vspace_of(asid), vaddr, cap->bits, left);
    if (entry == 0) {
        return seL4_FailedLookup;
    }
    bool other = cap->asid == 0 || (cap->bits != seL4_PageBits && arch_is_table(*entry));
    if ((*entry & PRESENT) != 0 && other) {
        return seL4_DeleteFirst;
    }
    arch_set_entry(entry, arch_page_entry(cap->object - ARCH_WINDOW, cap->bits,
                                          rights & cap->rights, attributes));
    cap->asid = asid;
    cap->data = vaddr;
    arch_flush(vspace_of(asid));
    return seL4_NoError;
}

/* Removes an entry if it is still the one that this capability made. The address of a table has
 * its level in the lowest bits. */
static void unmap(const struct slot *cap)
{
    word left;
    word vspace = vspace_of(cap->asid);
    word span = cap->type == CAP_TABLE ? vspace_span((uint8_t)(cap->data & MASK(seL4_PageBits)))
                                       : cap->bits;
    if (cap->asid == 0 || vspace == 0) {
        return;
    }
    word *entry = find_entry(vspace, cap->data, span, &left);
    if (entry != 0 && (*entry & PRESENT) != 0 && (*entry & ADDRESS) == cap->object - ARCH_WINDOW) {
        arch_set_entry(entry, 0);
        arch_flush(vspace);
    }
}

/* The address spaces of a pool have no number any more. */
static void release_pool(word number)
{
    const word *pool = pools[number];
    pools[number] = 0;
    for (word i = 0; i < ASIDS; i++) {
        if (pool[i] != 0) {
            arch_leave(pool[i]);
        }
    }
}

void vspace_released(const struct slot *cap, bool last)
{
    if (cap->type == CAP_FRAME || (last && cap->type == CAP_TABLE)) {
        unmap(cap);
    } else if (last && vspace_find(cap) != 0) {
        pools[cap->asid / ASIDS][cap->asid % ASIDS] = 0;
        arch_leave(cap->object);
    } else if (last && cap->type == CAP_ASID_POOL && cap->data != 0) {
        release_pool(cap->data);
    }
}

/* -- invocations */

static seL4_Error failed(struct invocation *call, seL4_Error error, word left)
{
    struct lookup_failure failure = {.why = seL4_MissingCapability, .bits_left = left};
    return error == seL4_FailedLookup ? bad_lookup(call, false, &failure) : error;
}

static seL4_Error map_table(struct invocation *call)
{
    word left = 0;
    if (call->length < 2 || call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    if (call->slot->asid != 0) {
        return bad_capability(call, 0);
    }
    if (vspace_find(call->extra[0]) == 0) {
        return bad_capability(call, 1);
    }
    word vaddr = message_get(call->from, 0);
    if (vaddr > seL4_UserVSpaceTop) {
        return bad_argument(call, 0);
    }
    return failed(call, vspace_map_table(call->slot, call->extra[0]->asid, vaddr, &left), left);
}

/* Unmapping a table clears its entries. */
static seL4_Error unmap_table(struct slot *slot)
{
    if (!slot_is_last(slot)) {
        return seL4_RevokeFirst;
    }
    if (slot->asid != 0) {
        unmap(slot);
        arch_clear((void *)slot->object, BIT(seL4_PageBits));
    }
    slot->asid = 0;
    slot->data = 0;
    return seL4_NoError;
}

static seL4_Error map_frame(struct invocation *call)
{
    word left = 0;
    struct slot *frame = call->slot;
    if (call->length < 3 || call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    if (vspace_find(call->extra[0]) == 0) {
        return bad_capability(call, 1);
    }
    word vaddr = message_get(call->from, 0);
    if (frame->asid != 0 && frame->asid != call->extra[0]->asid) {
        return bad_capability(call, 1);
    }
    if (frame->asid != 0 && frame->data != vaddr) {
        return bad_argument(call, 2);
    }
    if (vaddr > seL4_UserVSpaceTop) {
        return bad_argument(call, 0);
    }
    if ((vaddr & MASK(frame->bits)) != 0) {
        return seL4_AlignmentError;
    }
    word rights = message_get(call->from, 1);
    word attributes = message_get(call->from, 2);
    return failed(call,
                  vspace_map_frame(frame, call->extra[0]->asid, vaddr, rights, attributes, &left),
                  left);
}

static seL4_Error sync_code(struct invocation *call)
{
    if (call->length < 2) {
        return seL4_TruncatedMessage;
    }
    word start = message_get(call->from, 0);
    word end = message_get(call->from, 1);
    if (call->slot->asid == 0) {
        return seL4_IllegalOperation;
    }
    if (end <= start) {
        return bad_argument(call, 1);
    }
    if (start >= BIT(call->slot->bits) || end > BIT(call->slot->bits)) {
        return bad_argument(call, 0);
    }
    arch_sync_code(call->slot->object + start, end - start);
    return seL4_NoError;
}

static seL4_Error assign_asid(struct invocation *call)
{
    if (call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    if (call->extra[0]->type != CAP_VSPACE || call->extra[0]->asid != 0) {
        return bad_capability(call, 1);
    }
    return vspace_assign(call->extra[0], call->slot->data) != 0 ? seL4_NoError : seL4_DeleteFirst;
}

static seL4_Error make_pool(struct invocation *call)
{
    struct slot *to;
    word number = 0;
    if (call->length < 2 || call->extras < 2) {
        return seL4_TruncatedMessage;
    }
    struct slot *untyped = call->extra[0];
    while (number < POOLS && pools[number] != 0) {
        number++;
    }
    if (number == POOLS) {
        return seL4_DeleteFirst;
    }
    if (untyped->type != CAP_UNTYPED || untyped->bits != seL4_ASIDPoolBits) {
        return bad_capability(call, 1);
    }
    if (slot_has_children(untyped)) {
        return seL4_RevokeFirst;
    }
    seL4_Error error = invocation_target(call, call->extra[1], message_get(call->from, 0),
                                         message_get(call->from, 1), &to);
    if (error != seL4_NoError) {
        return error;
    }
    if (untyped->level >= LEVEL_MAX) {
        return seL4_NotEnoughMemory;
    }
    arch_clear((void *)untyped->object, BIT(seL4_ASIDPoolBits));
    pools[number] = (word *)untyped->object;
    untyped->data = BIT(seL4_ASIDPoolBits);
    slot_create(to, untyped,
                (struct slot){.type = CAP_ASID_POOL,
                              .object = untyped->object,
                              .data = number,
                              .rights = RIGHTS_ALL});
    return seL4_NoError;
}

seL4_Error vspace_invoke(struct invocation *call)
{
    switch (arch_paging_call(call->slot, call->label)) {
    case PAGING_MAP_TABLE:
        return map_table(call);
    case PAGING_UNMAP_TABLE:
        return unmap_table(call->slot);
    case PAGING_MAP_FRAME:
        return map_frame(call);
    case PAGING_UNMAP_FRAME:
        unmap(call->slot);
        call->slot->asid = 0;
        call->slot->data = 0;
        return seL4_NoError;
    case PAGING_FRAME_ADDRESS:
        call->out_length = 1;
        call->out[0] = call->slot->object - ARCH_WINDOW;
        return seL4_NoError;
    case PAGING_SYNC_CODE:
        return sync_code(call);
    case PAGING_ASSIGN:
        return assign_asid(call);
    case PAGING_MAKE_POOL:
        return make_pool(call);
    case PAGING_NONE:
        break;
    }
    return seL4_IllegalOperation;
}
