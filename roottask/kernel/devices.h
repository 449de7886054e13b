/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames at fixed physical addresses. The frame of an address is made once, and stays. Whoever
 * wants it after that gets a copy. Most are of devices: the kernel gives the addresses that are no
 * memory as untypeds of devices, which are neither zeroed nor counted as memory. */
#ifndef CELLREAP_SEL4_DEVICES_H
#define CELLREAP_SEL4_DEVICES_H

#include "kernel.h"
#include <cellreap/status.h>

enum { CR_DEVICES_MAX = 66 /* with those that the root task drives */ };

/* Slots of a CNode that resolves all of `depth`, which are empty at first, and again once the frame
 * was moved away and the others were deleted. */
typedef struct cr_device_slots {
    seL4_CPtr cnode;
    uint8_t depth;
    seL4_CPtr base; /* + the slot: the address of the capability */
    uint32_t slots[CR_REGISTER_SLOTS];
} cr_device_slots;

/* Makes the frame of the page at an address, in one of the slots. Of the pages of one untyped, that
 * with the lowest address comes first. CR_ERR_ABSENT: the kernel gives no such untyped, or it was
 * used for a higher address. */
cr_status cr_device_frame(const seL4_BootInfo *info, uint64_t paddr, const cr_device_slots *slots,
                          uint32_t *slot);

/* Frames that stay, of which cr_device_frames makes copies: those in the first slots of the CNode
 * `at`, or (`bits` is 0) one with this address of boot time. */
void cr_device_keep(uint64_t paddr, uint32_t pages, seL4_CPtr at, uint32_t bits);

/* Makes or copies the frames of `pages` pages from an address on, in the first slots of the CNode
 * whose capability is in this slot of the pool. */
cr_status cr_device_frames(const seL4_BootInfo *info, uint64_t paddr, uint32_t pages,
                           uint32_t pool_slot, uint32_t bits);

/* Makes `pages` frames of `page_bits` from the memory that cr_untyped_take_at took at an address,
 * in the first slots of that CNode. */
cr_status cr_memory_frames(uint64_t paddr, uint32_t pages, uint32_t page_bits, uint32_t pool_slot);

#endif
