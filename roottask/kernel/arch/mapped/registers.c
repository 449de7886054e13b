/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The registers of devices. See registers.h. */
#include "registers.h"
#include "kernel/arch/arch.h"

static uint64_t cut; /* the end of the registers that were mapped last */

/* The next of two slots in turn. What was made before the last is deleted, but one object is always
 * left: without any, the kernel begins at the start of the untyped again. */
static seL4_Error make(seL4_CPtr untyped, seL4_Word type, uint32_t bits, seL4_CPtr slots,
                       uint32_t *made)
{
    const seL4_CPtr slot = slots + *made % CR_REGISTER_SLOTS;
    if ((*made)++ >= CR_REGISTER_SLOTS &&
        seL4_CNode_Delete(seL4_CapInitThreadCNode, slot, seL4_WordBits)) {
        return seL4_DeleteFirst;
    }
    return (seL4_Error)seL4_Untyped_Retype(untyped, type, bits, seL4_CapInitThreadCNode, 0, 0, slot,
                                           1);
}

/* The kernel allocates from the start of an untyped, each object at the next multiple of its size.
 * Untypeds lead to the registers, the largest that fit. */
static seL4_Error make_frame(const seL4_UntypedDesc *from, seL4_CPtr untyped, uint64_t paddr,
                             seL4_CPtr slots, seL4_CPtr *frame)
{
    uint64_t at = cut > from->paddr && cut <= paddr ? cut : from->paddr;
    uint32_t made = 0;
    for (uint32_t bits = from->sizeBits; bits >= seL4_PageBits; bits--) {
        const uint64_t size = 1ull << bits;
        for (uint64_t end; (end = ((at + size - 1) & ~(size - 1)) + size) <= paddr; at = end) {
            const seL4_Error error = make(untyped, seL4_UntypedObject, bits, slots, &made);
            if (error) {
                return error;
            }
        }
    }
    *frame = slots + made % CR_REGISTER_SLOTS;
    return make(untyped, cr_arch_frame_type, seL4_PageBits, slots, &made);
}

cr_status cr_registers_map(const seL4_BootInfo *info, uintptr_t image_start, uint64_t paddr,
                           seL4_CPtr slots, const void *page)
{
    const seL4_CPtr own = cr_image_frame(info, image_start, page);
    for (seL4_SlotPos i = 0; i < info->untyped.end - info->untyped.start; i++) {
        const seL4_UntypedDesc *desc = &info->untypedList[i];
        seL4_CPtr frame;
        if (!desc->isDevice || desc->sizeBits < seL4_PageBits || desc->paddr > paddr ||
            (paddr - desc->paddr) >> desc->sizeBits != 0) {
            continue;
        }
        /* A root task that includes the component may have used the untyped: then it is another
         * page. */
        if (own == 0 || make_frame(desc, info->untyped.start + i, paddr, slots, &frame) ||
            cr_arch_frame_address(frame) != paddr || cr_arch_unmap_frame(own) ||
            cr_arch_map_registers(frame, (seL4_Word)page)) {
            return CR_ERR_ABSENT;
        }
        cut = paddr + CR_REGISTER_BYTES;
        return CR_OK;
    }
    return CR_ERR_ABSENT;
}

cr_status cr_registers_map_timer(const seL4_BootInfo *info, uintptr_t image_start,
                                 const void *page)
{
    if (cr_timer_paddr == 0) {
        return CR_ERR_ABSENT;
    }
    const seL4_CPtr slots = cr_boot_take();
    (void)cr_boot_take();
    return cr_registers_map(info, image_start, cr_timer_paddr, slots, page);
}
