/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Paging objects and the format of table entries. */
#include "kernel.h"
#include "machine.h"

enum {
    PRESENT = 1,
    WRITABLE = 2,
    USER = 4,
    WRITE_THROUGH = 8,
    NO_CACHE = 16,
    LARGE = 128,
    SHARED_ENTRY = 511
};

const word arch_table_type[ARCH_TABLE_LEVELS] = {seL4_X86_PDPTObject, seL4_X86_PageDirectoryObject,
                                                 seL4_X86_PageTableObject};
const word arch_vspace_type = seL4_X64_PML4Object;
const word arch_frame_type = seL4_X86_4K;

word arch_object_bits(word type)
{
    switch (type) {
    case seL4_X86_PDPTObject:
    case seL4_X64_PML4Object:
    case seL4_X86_PageDirectoryObject:
    case seL4_X86_PageTableObject:
    case seL4_X86_4K:
        return seL4_PageBits;
    case seL4_X86_LargePageObject:
        return seL4_LargePageBits;
    default:
        return 0;
    }
}

void arch_make_object(word type, struct slot *cap)
{
    cap->bits = (uint8_t)arch_object_bits(type);
    switch (type) {
    case seL4_X86_4K:
    case seL4_X86_LargePageObject:
        cap->type = CAP_FRAME;
        return;
    case seL4_X64_PML4Object:
        cap->type = CAP_VSPACE;
        /* The kernel is mapped in all address spaces. */
        ((word *)cap->object)[SHARED_ENTRY] =
            ((const word *)(ARCH_WINDOW + (word)boot_pml4))[SHARED_ENTRY];
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

word arch_table_entry(word physical)
{
    return physical | PRESENT | WRITABLE | USER;
}

bool arch_is_table(word entry)
{
    return (entry & PRESENT) != 0 && (entry & LARGE) == 0;
}

word arch_page_entry(word physical, word bits, word rights, word attributes)
{
    word entry = physical | PRESENT | (bits == seL4_PageBits ? 0 : LARGE);
    entry |= (rights & RIGHT_READ) != 0 ? USER : 0;
    entry |= (rights & RIGHT_READ) != 0 && (rights & RIGHT_WRITE) != 0 ? WRITABLE : 0;
    entry |= (attributes & seL4_X86_WriteThrough) != 0 ? WRITE_THROUGH : 0;
    entry |= (attributes & seL4_X86_CacheDisabled) != 0 ? NO_CACHE : 0;
    return entry;
}

void arch_set_entry(word *entry, word value)
{
    *(volatile word *)entry = value;
}

void arch_sync_code(word start, word bytes)
{
    (void)start; /* instruction fetches see all stores */
    (void)bytes;
}

paging_call arch_paging_call(const struct slot *slot, word label)
{
    static const word map_label[] = {X86PDPTMap, X86PageDirectoryMap, X86PageTableMap};
    switch ((cap_type)slot->type) {
    case CAP_FRAME:
        return label == X86PageMap          ? PAGING_MAP_FRAME
               : label == X86PageUnmap      ? PAGING_UNMAP_FRAME
               : label == X86PageGetAddress ? PAGING_FRAME_ADDRESS
                                            : PAGING_NONE;
    case CAP_TABLE: /* each level has a pair of labels */
        return label == map_label[slot->bits]       ? PAGING_MAP_TABLE
               : label == map_label[slot->bits] + 1 ? PAGING_UNMAP_TABLE
                                                    : PAGING_NONE;
    case CAP_ASID_POOL:
        return label == X86ASIDPoolAssign ? PAGING_ASSIGN : PAGING_NONE;
    case CAP_ASID_CONTROL:
        return label == X86ASIDControlMakePool ? PAGING_MAKE_POOL : PAGING_NONE;
    default:
        return PAGING_NONE;
    }
}
