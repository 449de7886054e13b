/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A block device of virtio whose registers are memory, in its first version ("legacy"). Each
 * request is a sector. The device reads and writes the memory of the driver by itself. */
#ifndef CELLREAP_PDS_VIRTIO_BLOCK_H
#define CELLREAP_PDS_VIRTIO_BLOCK_H

#include <stdint.h>

enum {
    VB_SECTOR = 512,
    VB_REQUESTS = 8,
    VB_QUEUE = 32, /* descriptors, three for each request */
    VB_PAGE = 4096,
    VB_WAITING = 0xff /* a status that no device answers with */
};

/* Registers, in words of 4 bytes. */
enum {
    VB_MAGIC = 0x000 / 4,
    VB_VERSION = 0x004 / 4,
    VB_DEVICE = 0x008 / 4,
    VB_FEATURES = 0x020 / 4,
    VB_PAGE_SIZE = 0x028 / 4,
    VB_QUEUE_SELECT = 0x030 / 4,
    VB_QUEUE_SIZE = 0x038 / 4,
    VB_QUEUE_ALIGN = 0x03c / 4,
    VB_QUEUE_PAGE = 0x040 / 4,
    VB_NOTIFY = 0x050 / 4,
    VB_CAUSE = 0x060 / 4,
    VB_ACKNOWLEDGE = 0x064 / 4,
    VB_STATUS = 0x070 / 4
};

/* What it shares with the device, from the beginning of a region whose `physical_word` is that of
 * `physical`. */
typedef struct vb_memory {
    struct {
        uint64_t address;
        uint32_t bytes;
        uint16_t flags;
        uint16_t next;
    } descriptors[VB_QUEUE];
    uint16_t posted_flags;
    uint16_t posted; /* how many were */
    uint16_t posted_heads[VB_QUEUE];
    uint8_t align_used[VB_PAGE - VB_QUEUE * 18 - 4];
    uint16_t used_flags;
    uint16_t used; /* how many are done */
    struct {
        uint32_t head;
        uint32_t bytes;
    } used_heads[VB_QUEUE];
    uint8_t align_headers[VB_PAGE - VB_QUEUE * 8 - 4];
    struct {
        uint32_t kind;
        uint32_t reserved;
        uint64_t sector;
    } headers[VB_REQUESTS];
    volatile uint8_t status[VB_REQUESTS];
    uint64_t physical; /* the address of the region */
    uint8_t align_data[VB_PAGE - VB_REQUESTS * 17 - 8];
    uint8_t data[VB_REQUESTS][VB_SECTOR];
} vb_memory;

_Static_assert(__builtin_offsetof(vb_memory, used_flags) == VB_PAGE, "the used ring has a page");
_Static_assert(sizeof(vb_memory) == 4 * VB_PAGE, "the region");

/* Resets the device, which then does nothing more of what it was asked, and gives it the memory.
 * Returns 0 if there is no such device. */
static inline int vb_start(volatile uint32_t *device, vb_memory *memory)
{
    enum { MAGIC = 0x74726976, BLOCK = 2, ACKNOWLEDGED = 1, DRIVER = 2, READY = 4 };
    if (device[VB_MAGIC] != MAGIC || device[VB_VERSION] != 1 || device[VB_DEVICE] != BLOCK) {
        return 0;
    }
    device[VB_STATUS] = 0;
    device[VB_STATUS] = ACKNOWLEDGED | DRIVER;
    device[VB_FEATURES] = 0;
    device[VB_PAGE_SIZE] = VB_PAGE;
    device[VB_QUEUE_SELECT] = 0;
    device[VB_QUEUE_SIZE] = VB_QUEUE;
    device[VB_QUEUE_ALIGN] = VB_PAGE;
    memory->posted = 0;
    memory->used = 0;
    device[VB_QUEUE_PAGE] = (uint32_t)(memory->physical / VB_PAGE);
    device[VB_STATUS] = ACKNOWLEDGED | DRIVER | READY;
    return 1;
}

/* Asks for request i, from 0: a sector is read into data[i], or written from there. It is done when
 * status[i] is no longer VB_WAITING, and then 0 if it succeeded. */
static inline void vb_post(volatile uint32_t *device, vb_memory *memory, uint32_t i, int write,
                           uint64_t sector)
{
    enum { MORE = 1, BY_DEVICE = 2 };
    const uint16_t head = (uint16_t)(3 * i);
    const uint64_t at = memory->physical;
    memory->headers[i].kind = write ? 1 : 0;
    memory->headers[i].sector = sector;
    memory->status[i] = VB_WAITING;
    memory->descriptors[head].address =
        at + __builtin_offsetof(vb_memory, headers) + i * sizeof(memory->headers[0]);
    memory->descriptors[head].bytes = sizeof(memory->headers[0]);
    memory->descriptors[head].flags = MORE;
    memory->descriptors[head].next = (uint16_t)(head + 1);
    memory->descriptors[head + 1].address =
        at + __builtin_offsetof(vb_memory, data) + i * VB_SECTOR;
    memory->descriptors[head + 1].bytes = VB_SECTOR;
    memory->descriptors[head + 1].flags = (uint16_t)(write ? MORE : MORE | BY_DEVICE);
    memory->descriptors[head + 1].next = (uint16_t)(head + 2);
    memory->descriptors[head + 2].address = at + __builtin_offsetof(vb_memory, status) + i;
    memory->descriptors[head + 2].bytes = 1;
    memory->descriptors[head + 2].flags = BY_DEVICE;
    memory->posted_heads[memory->posted % VB_QUEUE] = head;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    *(volatile uint16_t *)&memory->posted = (uint16_t)(memory->posted + 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    device[VB_NOTIFY] = 0;
}

#endif
