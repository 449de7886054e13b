/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The registers of devices. See registers.h. */
#include "registers.h"
#include "kernel/arch/arch.h"
#include "kernel/devices.h"

cr_status cr_registers_map(const seL4_BootInfo *info, uintptr_t image_start, uint64_t paddr,
                           seL4_CPtr slots, const void *page)
{
    const cr_device_slots at = {.cnode = seL4_CapInitThreadCNode,
                                .depth = seL4_WordBits,
                                .slots = {(uint32_t)slots, (uint32_t)slots + 1}};
    const seL4_CPtr own = cr_image_frame(info, image_start, page);
    uint32_t frame = 0;
    if (own == 0 || cr_device_frame(info, paddr, &at, &frame) != CR_OK ||
        cr_arch_unmap_frame(own) ||
        cr_arch_map_device(frame, seL4_CapInitThreadVSpace, (seL4_Word)page, 1)) {
        return CR_ERR_ABSENT;
    }
    cr_device_keep(paddr, 1, frame, 0);
    return CR_OK;
}

cr_status cr_registers_map_timer(const seL4_BootInfo *info, uintptr_t image_start, const void *page)
{
    if (cr_timer_paddr == 0) {
        return CR_ERR_ABSENT;
    }
    const seL4_CPtr slots = cr_boot_take();
    (void)cr_boot_take();
    return cr_registers_map(info, image_start, cr_timer_paddr, slots, page);
}
