/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that is told where its memory is, and has a virtio device write random bytes
 * there. It counts in the memory how often it did, and faults after that the first two times. */
#include <microkit.h>

enum {
    AVAILABLE = 0x100,
    USED = 0x200,
    COUNT = 0x700,
    DATA = 0x800,
    SLOT = 0x200, /* of one of several devices in a page */
    RANDOM = 4,
    LOOKS = 100000000
};

/* Set by the description. */
unsigned long registers_vaddr;
unsigned long buffers_vaddr;
unsigned long buffers_paddr;

static volatile unsigned *device;

static void write(unsigned at, unsigned value)
{
    device[at / sizeof(unsigned)] = value;
}

static void write_address(unsigned at, unsigned long address)
{
    write(at, (unsigned)address);
    write(at + 4, (unsigned)(address >> 32));
}

static void start(void)
{
    device = (volatile unsigned *)registers_vaddr;
    while (device[2] != RANDOM) {
        device += SLOT / sizeof(unsigned);
    }
    write(0x70, 0);
    write(0x70, 3);
    write(0x24, 1);
    write(0x20, 1); /* it is of version 1 */
    write(0x70, 11);
    write(0x30, 0);
    write(0x38, 2);
    write_address(0x80, buffers_paddr);
    write_address(0x90, buffers_paddr + AVAILABLE);
    write_address(0xa0, buffers_paddr + USED);
    write(0x44, 1);
    write(0x70, 15);
}

void init(void)
{
    volatile unsigned long *words = (volatile unsigned long *)buffers_vaddr;
    volatile unsigned short *available = (volatile unsigned short *)(buffers_vaddr + AVAILABLE);
    volatile unsigned short *used = (volatile unsigned short *)(buffers_vaddr + USED);
    volatile unsigned long *data = (volatile unsigned long *)(buffers_vaddr + DATA);
    volatile unsigned long *count = (volatile unsigned long *)(buffers_vaddr + COUNT);
    words[0] = buffers_paddr + DATA;
    words[1] = sizeof(*data) | 2ul << 32; /* for the device to write */
    *data = 0;
    available[2] = 0;
    available[1] = 1;
    used[1] = 0;
    __sync_synchronize();
    start();
    write(0x50, 0);
    for (unsigned i = 0; used[1] != 1 && i < LOOKS; i++) {
    }
    microkit_dbg_puts(microkit_name);
    microkit_dbg_puts(*data != 0 ? ": written\n" : ": NOT written\n");
    if (++*count < 3) {
        *(volatile int *)0xdead000 = 1;
    }
}

void notified(microkit_channel channel)
{
    (void)channel;
}
