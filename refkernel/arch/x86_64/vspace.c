/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Address spaces: four levels of tables, pages of 4 KiB. Capabilities to what is mapped remember the number of
 * their address space and the address there; a number outlives its address space as a dead one. */
#include "kernel.h"
#include "machine.h"

enum { PRESENT = 1, WRITABLE = 2, USER = 4, WRITE_THROUGH = 8, NO_CACHE = 16, ENTRIES = 512, SHARED_ENTRY = 511 };
enum { ASIDS = 1 << seL4_ASIDPoolIndexBits };

#define ADDRESS 0x000ffffffffff000ul

const word arch_table_type[ARCH_TABLE_LEVELS] = {seL4_X86_PDPTObject, seL4_X86_PageDirectoryObject,
                                                 seL4_X86_PageTableObject};
const word arch_table_span[ARCH_TABLE_LEVELS] = {39, 30, 21};
const word arch_vspace_type = seL4_X64_PML4Object;
const word arch_frame_type = seL4_X86_4K;

/* Kernel addresses of address spaces by number. Number 0 is none. */
static word asids[ASIDS];

word vspace_find(const struct slot *cap)
{
    return cap->type == CAP_VSPACE && cap->asid != 0 && asids[cap->asid] == cap->object ? cap->object : 0;
}

word arch_object_bits(word type)
{
    switch (type) {
    case seL4_X86_PDPTObject:
    case seL4_X64_PML4Object:
    case seL4_X86_PageDirectoryObject:
    case seL4_X86_PageTableObject:
    case seL4_X86_4K:
        return seL4_PageBits;
    default:
        return 0;
    }
}

void arch_make_object(word type, struct slot *cap)
{
    cap->bits = seL4_PageBits;
    switch (type) {
    case seL4_X86_4K:
        cap->type = CAP_FRAME;
        return;
    case seL4_X64_PML4Object:
        cap->type = CAP_VSPACE;
        ((word *)cap->object)[SHARED_ENTRY] = ((const word *)(ARCH_WINDOW + (word)boot_pml4))[SHARED_ENTRY];
        return;
    default:
        cap->type = CAP_TABLE;
        for (uint8_t level = 0; level < ARCH_TABLE_LEVELS; level++) {
            if (arch_table_type[level] == type) {
                cap->bits = level;
            }
        }
        return;
    }
}

uint16_t arch_assign_asid(struct slot *vspace)
{
    for (uint16_t asid = 1; asid < ASIDS; asid++) {
        if (asids[asid] == 0) {
            asids[asid] = vspace->object;
            vspace->asid = asid;
            return asid;
        }
    }
    return 0;
}

/* The entry for an address in a table of the level that spans 2^span bytes an entry: 39, 30, 21 or 12. Null:
 * there is no such table; *left tells how far it went. */
static word *find_entry(word vspace, word vaddr, word span, word *left)
{
    word *table = (word *)vspace;
    for (word at = 39;; at -= 9) {
        word *entry = &table[(vaddr >> at) % ENTRIES];
        if (at == span) {
            return entry;
        }
        if ((*entry & PRESENT) == 0) {
            *left = at;
            return 0;
        }
        table = (word *)(ARCH_WINDOW + (*entry & ADDRESS));
    }
}

seL4_Error arch_map_table(struct slot *cap, uint16_t asid, word vaddr, word *left)
{
    word *entry = find_entry(asids[asid], vaddr, arch_table_span[cap->bits], left);
    if (entry == 0) {
        return seL4_FailedLookup;
    }
    if ((*entry & PRESENT) != 0) {
        return seL4_DeleteFirst;
    }
    *entry = (cap->object - ARCH_WINDOW) | PRESENT | WRITABLE | USER;
    cap->asid = asid;
    cap->data = vaddr & ~MASK(arch_table_span[cap->bits]);
    return seL4_NoError;
}

seL4_Error arch_map_frame(struct slot *cap, uint16_t asid, word vaddr, word rights, word attributes, word *left)
{
    word *entry = find_entry(asids[asid], vaddr, seL4_PageBits, left);
    rights &= cap->rights;
    if (entry == 0) {
        return seL4_FailedLookup;
    }
    if ((*entry & PRESENT) != 0 && cap->asid == 0) {
        return seL4_DeleteFirst;
    }
    word value = (cap->object - ARCH_WINDOW) | PRESENT;
    value |= (rights & RIGHT_READ) != 0 ? USER : 0;
    value |= (rights & RIGHT_READ) != 0 && (rights & RIGHT_WRITE) != 0 ? WRITABLE : 0;
    value |= (attributes & 1) != 0 ? WRITE_THROUGH : 0;
    value |= (attributes & 2) != 0 ? NO_CACHE : 0;
    *entry = value;
    cap->asid = asid;
    cap->data = vaddr;
    machine_flush(asids[asid]);
    return seL4_NoError;
}

/* Takes an entry away, if it still is the one that the capability made. */
static void unmap(const struct slot *cap, word span)
{
    word left;
    word vspace = asids[cap->asid];
    if (cap->asid == 0 || vspace == 0) {
        return;
    }
    word *entry = find_entry(vspace, cap->data, span, &left);
    if (entry != 0 && (*entry & PRESENT) != 0 && (*entry & ADDRESS) == cap->object - ARCH_WINDOW) {
        *entry = 0;
        machine_flush(vspace);
    }
}

void arch_released(const struct slot *cap, bool last)
{
    if (cap->type == CAP_FRAME) {
        unmap(cap, seL4_PageBits);
    } else if (last && cap->type == CAP_TABLE) {
        unmap(cap, arch_table_span[cap->bits]);
    } else if (last && vspace_find(cap) != 0) {
        asids[cap->asid] = 0;
        machine_leave(cap->object);
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
    word vaddr = message_get(call->from, 0) & ~MASK(arch_table_span[call->slot->bits]);
    if (vaddr >= seL4_UserTop) {
        return bad_argument(call, 0);
    }
    return failed(call, arch_map_table(call->slot, call->extra[0]->asid, vaddr, &left), left);
}

/* Unmapped, a table forgets what it mapped. */
static seL4_Error unmap_table(struct slot *slot)
{
    if (!slot_is_last(slot)) {
        return seL4_RevokeFirst;
    }
    if (slot->asid != 0) {
        unmap(slot, arch_table_span[slot->bits]);
        arch_clear((void *)slot->object, BIT(seL4_PageBits));
    }
    slot->asid = 0;
    slot->data = 0;
    return seL4_NoError;
}

static seL4_Error map_frame(struct invocation *call)
{
    word left = 0;
    if (call->length < 3 || call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    struct slot *frame = call->slot;
    if (vspace_find(call->extra[0]) == 0) {
        return bad_capability(call, 1);
    }
    word vaddr = message_get(call->from, 0);
    if (frame->asid != 0) {
        if (frame->asid != call->extra[0]->asid) {
            return bad_capability(call, 1);
        }
        if (frame->data != vaddr) {
            return bad_argument(call, 2);
        }
    } else if (vaddr >= seL4_UserTop) {
        return bad_argument(call, 0);
    }
    if ((vaddr & MASK(seL4_PageBits)) != 0) {
        return seL4_AlignmentError;
    }
    word rights = message_get(call->from, 1);
    word attributes = message_get(call->from, 2);
    return failed(call, arch_map_frame(frame, call->extra[0]->asid, vaddr, rights, attributes, &left), left);
}

static seL4_Error invoke_frame(struct invocation *call)
{
    switch (call->label) {
    case X86PageMap:
        return map_frame(call);
    case X86PageUnmap:
        unmap(call->slot, seL4_PageBits);
        call->slot->asid = 0;
        call->slot->data = 0;
        return seL4_NoError;
    case X86PageGetAddress:
        call->out_length = 1;
        call->out[0] = call->slot->object - ARCH_WINDOW;
        return seL4_NoError;
    default:
        return seL4_IllegalOperation;
    }
}

static seL4_Error assign_asid(struct invocation *call)
{
    if (call->label != X86ASIDPoolAssign) {
        return seL4_IllegalOperation;
    }
    if (call->extras < 1) {
        return seL4_TruncatedMessage;
    }
    if (call->extra[0]->type != CAP_VSPACE || call->extra[0]->asid != 0) {
        return bad_capability(call, 1);
    }
    return arch_assign_asid(call->extra[0]) != 0 ? seL4_NoError : seL4_DeleteFirst;
}

seL4_Error arch_invoke(struct invocation *call)
{
    static const word map_label[] = {X86PDPTMap, X86PageDirectoryMap, X86PageTableMap};
    switch ((cap_type)call->slot->type) {
    case CAP_FRAME:
        return invoke_frame(call);
    case CAP_TABLE:
        if (call->label == map_label[call->slot->bits]) {
            return map_table(call);
        }
        /* Each level's labels are a pair. */
        return call->label == map_label[call->slot->bits] + 1 ? unmap_table(call->slot) : seL4_IllegalOperation;
    case CAP_ASID_POOL:
        return assign_asid(call);
    default:
        return seL4_IllegalOperation;
    }
}
