/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A disk of virtio. See disk.h. */
#ifndef __x86_64__
#include "disk.h"
#include "virtio_block.h"

/* string.c of the library */
void *memcpy(void *restrict to, const void *restrict from, size_t count);

enum { DEVICES = 8, DEVICE_BYTES = 0x200 /* of the eight devices in a page */ };

static vb_memory *const memory = (vb_memory *)((uintptr_t)2 << CR_REGION_SPAN_BITS);
static volatile uint32_t *device;
static int (*while_waiting)(const cr_work_entry *work);

void disk_rung(uint32_t bits)
{
    (void)bits;
    device[VB_ACKNOWLEDGE] = device[VB_CAUSE];
    (void)cr_acknowledge(0);
}

int disk_start(int (*work)(const cr_work_entry *work))
{
    while_waiting = work;
    for (uintptr_t i = 0; i < DEVICES; i++) {
        device = (volatile uint32_t *)(((uintptr_t)1 << CR_REGION_SPAN_BITS) + i * DEVICE_BYTES);
        if (vb_start(device, memory)) {
            disk_rung(0);
            return 1;
        }
    }
    return 0;
}

/* The status may be seen before the interrupt comes, which the server gets then. */
static int transfer(int write, uint32_t sector)
{
    vb_post(device, memory, 0, write, sector);
    while (memory->status[0] == VB_WAITING) {
        cr_await_signal(while_waiting);
        disk_rung(cr_rung());
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return memory->status[0] == 0;
}

int disk_read(uint32_t sector, uint64_t words[DISK_SECTOR_WORDS])
{
    if (!transfer(0, sector)) {
        return 0;
    }
    (void)memcpy(words, memory->data[0], VB_SECTOR);
    return 1;
}

int disk_write(uint32_t sector, const uint64_t words[DISK_SECTOR_WORDS])
{
    (void)memcpy(memory->data[0], words, VB_SECTOR);
    return transfer(1, sector);
}
#endif
