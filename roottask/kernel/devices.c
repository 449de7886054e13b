/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames at fixed physical addresses. See devices.h. */
#include "devices.h"
#include "arch/arch.h"
#include "untyped.h"

/* By untyped of boot time: the end of the page that was made last; 0: none was. */
static uint64_t ends[CONFIG_MAX_NUM_BOOTINFO_UNTYPED_CAPS];

/* Frames that stay. See cr_device_keep. */
static struct {
    uint64_t paddr;
    uint32_t pages, bits;
    seL4_CPtr at;
} kept[CR_DEVICES_MAX];
static uint32_t n_kept;

void cr_device_keep(uint64_t paddr, uint32_t pages, seL4_CPtr at, uint32_t bits)
{
    if (n_kept == CR_DEVICES_MAX) {
        cr_panic("too many devices, with that at", paddr);
    }
    kept[n_kept].paddr = paddr;
    kept[n_kept].pages = pages;
    kept[n_kept].bits = bits;
    kept[n_kept++].at = at;
}

static cr_status copy_frame(uint64_t paddr, cr_slot to)
{
    for (uint32_t i = 0; i < n_kept; i++) {
        const uint64_t page = (paddr - kept[i].paddr) >> seL4_PageBits; /* large if it is below */
        if (page < kept[i].pages) {
            const cr_slot from = kept[i].bits == 0
                                     ? cr_slot_at(kept[i].at)
                                     : cr_slot_in(kept[i].at, (uint32_t)page, kept[i].bits);
            return cr_copy(to, from, seL4_AllRights) ? CR_ERR_ABSENT : CR_OK;
        }
    }
    return CR_ERR_ABSENT;
}

/* Takes the slots in turn. What was made before the last is deleted, but one object is always left:
 * without any, the kernel begins at the start of the untyped again. */
static seL4_Error make(seL4_CPtr untyped, seL4_Word type, uint32_t bits,
                       const cr_device_slots *slots, uint32_t *made)
{
    const uint32_t slot = slots->slots[*made % CR_REGISTER_SLOTS];
    if ((*made)++ >= CR_REGISTER_SLOTS && seL4_CNode_Delete(slots->cnode, slot, slots->depth)) {
        return seL4_DeleteFirst;
    }
    return (seL4_Error)seL4_Untyped_Retype(untyped, type, bits, slots->cnode, 0, 0, slot, 1);
}

/* The kernel allocates from the start of an untyped, each object at the next multiple of its size.
 * Untypeds lead to the page, the largest that fit. */
static seL4_Error make_frame(seL4_CPtr untyped, uint32_t largest, uint64_t from, uint64_t paddr,
                             const cr_device_slots *slots, uint32_t *made)
{
    uint64_t at = from;
    for (uint32_t bits = largest; bits >= seL4_PageBits; bits--) {
        const uint64_t size = 1ull << bits;
        for (uint64_t end; (end = ((at + size - 1) & ~(size - 1)) + size) <= paddr; at = end) {
            const seL4_Error error = make(untyped, seL4_UntypedObject, bits, slots, made);
            if (error) {
                return error;
            }
        }
    }
    return make(untyped, cr_arch_frame_type, seL4_PageBits, slots, made);
}

/* A root task that includes the component may have used the untyped: then it is another page. */
cr_status cr_device_frame(const seL4_BootInfo *info, uint64_t paddr, const cr_device_slots *slots,
                          uint32_t *slot)
{
    for (uint32_t i = 0; i < info->untyped.end - info->untyped.start; i++) {
        const seL4_UntypedDesc *desc = &info->untypedList[i];
        const uint64_t from = ends[i] != 0 ? ends[i] : desc->paddr;
        uint32_t made = 0;
        if (!desc->isDevice || desc->sizeBits < seL4_PageBits || desc->paddr > paddr ||
            (paddr - desc->paddr) >> desc->sizeBits != 0) {
            continue;
        }
        if (paddr < from ||
            make_frame(info->untyped.start + i, desc->sizeBits, from, paddr, slots, &made)) {
            return CR_ERR_ABSENT;
        }
        ends[i] = paddr + (1ull << seL4_PageBits);
        *slot = slots->slots[(made - 1) % CR_REGISTER_SLOTS];
        return cr_arch_frame_address(slots->base + *slot) == paddr ? CR_OK : CR_ERR_ABSENT;
    }
    return CR_ERR_ABSENT;
}

static cr_status move_frame(const seL4_BootInfo *info, uint64_t paddr, const cr_device_slots *slots,
                            cr_slot to)
{
    uint32_t slot = 0;
    const cr_status status = cr_device_frame(info, paddr, slots, &slot);
    if (status != CR_OK || cr_move(to, cr_slot_at(slots->base + slot))) {
        return CR_ERR_ABSENT;
    }
    for (uint32_t i = 0; i < CR_REGISTER_SLOTS; i++) {
        if (cr_delete(cr_slot_at(slots->base + slots->slots[i]))) {
            return CR_ERR_KERNEL;
        }
    }
    return CR_OK;
}

cr_status cr_device_frames(const seL4_BootInfo *info, uint64_t paddr, uint32_t pages,
                           uint32_t pool_slot, uint32_t bits)
{
    cr_device_slots slots = {.cnode = cr_pool_cnode(),
                             .depth = (uint8_t)cr_bits_for(cr_most.pool),
                             .base = cr_cptr(CR_L1_POOL, 0)};
    const seL4_CPtr cnode = cr_cptr(CR_L1_POOL, pool_slot);
    cr_status status = CR_OK;
    for (uint32_t i = 0; i < CR_REGISTER_SLOTS; i++) {
        slots.slots[i] = (uint32_t)cr_pool_cap();
    }
    for (uint32_t i = 0; status == CR_OK && i < pages; i++) {
        const uint64_t page = paddr + ((uint64_t)i << seL4_PageBits);
        const cr_slot to = cr_slot_in(cnode, i, bits);
        if (copy_frame(page, to) != CR_OK) {
            status = move_frame(info, page, &slots, to);
        }
    }
    for (uint32_t i = 0; i < CR_REGISTER_SLOTS; i++) {
        cr_pool_give(slots.slots[i]);
    }
    if (status == CR_OK) {
        cr_device_keep(paddr, pages, cnode, bits);
    }
    return status;
}

/* Not counted here: whoever has copies is charged for them, as for those of devices. */
cr_status cr_memory_frames(uint64_t paddr, uint32_t pages, uint32_t page_bits, uint32_t pool_slot)
{
    const seL4_Word type = page_bits == seL4_PageBits ? cr_arch_frame_type : cr_arch_large_type;
    const cr_slot cnode = cr_pool_slot(pool_slot);
    for (uint32_t made = 0, count; made < pages; made += count) {
        const uint64_t begin = paddr + ((uint64_t)made << page_bits);
        const uint32_t block = cr_untyped_at(begin);
        if (block == CR_BLOCK_NONE) {
            return CR_ERR_ABSENT;
        }
        const uint64_t end = cr_untyped_paddr(block) + (1ull << cr_untyped_bits(block));
        const uint64_t left = (end - begin) >> page_bits;
        count = left < CONFIG_RETYPE_FAN_OUT_LIMIT ? (uint32_t)left : CONFIG_RETYPE_FAN_OUT_LIMIT;
        if (seL4_Untyped_Retype(cr_untyped_cap(block), type, page_bits, cnode.root, cnode.index,
                                cnode.depth, made, count)) {
            return CR_ERR_KERNEL;
        }
    }
    return CR_OK;
}
