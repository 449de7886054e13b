/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Paging objects and the format of table entries (Arm Architecture Reference Manual, D8.3). The
 * attribute indices are those of the loader's MAIR_EL1, as in seL4's boot contract. */
#include "kernel.h"

#define TABLE_OR_PAGE 3ul
#define BLOCK 1ul /* a large page */
#define DEVICE (0ul << 2)
#define NORMAL (4ul << 2)
#define USER (1ul << 6)
#define READ_ONLY (2ul << 6)
#define INNER_SHAREABLE (3ul << 8)
#define ACCESSED (1ul << 10)
#define NOT_GLOBAL (1ul << 11)
#define KERNEL_NEVER_EXECUTES (1ul << 53)
#define USER_NEVER_EXECUTES (1ul << 54)

const word arch_table_type[ARCH_TABLE_LEVELS] = {seL4_ARM_PageTableObject, seL4_ARM_PageTableObject,
                                                 seL4_ARM_PageTableObject};
const word arch_vspace_type = seL4_ARM_VSpaceObject;
const word arch_frame_type = seL4_ARM_SmallPageObject;

word arch_object_bits(word type)
{
    switch (type) {
    case seL4_ARM_VSpaceObject:
    case seL4_ARM_SmallPageObject:
    case seL4_ARM_PageTableObject:
        return seL4_PageBits;
    case seL4_ARM_LargePageObject:
        return seL4_LargePageBits;
    default:
        return 0;
    }
}

void arch_make_object(word type, struct slot *cap)
{
    cap->bits = (uint8_t)arch_object_bits(type);
    switch (type) {
    case seL4_ARM_SmallPageObject:
    case seL4_ARM_LargePageObject:
        cap->type = CAP_FRAME;
        return;
    case seL4_ARM_VSpaceObject:
        cap->type = CAP_VSPACE;
        return;
    default:
        cap->type = CAP_TABLE;
        cap->bits = TABLE_ANY;
        return;
    }
}

word arch_table_entry(word physical)
{
    return physical | TABLE_OR_PAGE;
}

bool arch_is_table(word entry)
{
    return (entry & TABLE_OR_PAGE) == TABLE_OR_PAGE;
}

word arch_page_entry(word physical, word bits, word rights, word attributes)
{
    word entry = physical | (bits == seL4_PageBits ? TABLE_OR_PAGE : BLOCK);
    entry |= ACCESSED | NOT_GLOBAL | KERNEL_NEVER_EXECUTES;
    if ((rights & RIGHT_READ) != 0) {
        entry |= USER | ((rights & RIGHT_WRITE) != 0 ? 0 : READ_ONLY);
    }
    entry |= (attributes & seL4_ARM_ExecuteNever) != 0 ? USER_NEVER_EXECUTES : 0;
    entry |= (attributes & seL4_ARM_PageCacheable) != 0 ? NORMAL | INNER_SHAREABLE : DEVICE;
    return entry;
}

void arch_set_entry(word *entry, word value)
{
    *(volatile word *)entry = value;
    __asm__ volatile("dsb ishst\n\tisb" : : : "memory");
}

void arch_sync_code(word start, word bytes)
{
    word line;
    __asm__ volatile("mrs %0, ctr_el0" : "=r"(line));
    line = 4ul << ((line >> 16) & 15);
    for (word at = start & ~(line - 1); at < start + bytes; at += line) {
        __asm__ volatile("dc cvau, %0" : : "r"(at) : "memory");
    }
    __asm__ volatile("dsb ish\n\tic iallu\n\tdsb ish\n\tisb" : : : "memory");
}

paging_call arch_paging_call(const struct slot *slot, word label)
{
    switch ((cap_type)slot->type) {
    case CAP_FRAME:
        return label == ARMPageMap                 ? PAGING_MAP_FRAME
               : label == ARMPageUnmap             ? PAGING_UNMAP_FRAME
               : label == ARMPageUnify_Instruction ? PAGING_SYNC_CODE
               : label == ARMPageGetAddress        ? PAGING_FRAME_ADDRESS
                                                   : PAGING_NONE;
    case CAP_TABLE:
        return label == ARMPageTableMap     ? PAGING_MAP_TABLE
               : label == ARMPageTableUnmap ? PAGING_UNMAP_TABLE
                                            : PAGING_NONE;
    case CAP_ASID_POOL:
        return label == ARMASIDPoolAssign ? PAGING_ASSIGN : PAGING_NONE;
    case CAP_ASID_CONTROL:
        return label == ARMASIDControlMakePool ? PAGING_MAKE_POOL : PAGING_NONE;
    default:
        return PAGING_NONE;
    }
}
