/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that overwrites all memory that it can write to, once it has a block of each of its
 * servers. After that it only waits. The root task keeps nothing that it relies on in this
 * memory. */
#include "storage.h"

extern char __data_start[];
extern char __data_end[];

static _Noreturn void scribble_and_wait(void)
{
    volatile uint64_t *buffer = (volatile uint64_t *)CR_VADDR_IPC_BUFFER;
    for (uint32_t i = 0; i < 4096 / 8; i++) {
        buffer[i] = 0xfeedfacecafebeefu;
    }
    for (volatile char *at = __data_start; at < __data_end; at++) {
        *at = (char)0xa5;
    }
    for (;;) {
        cr_wait_for(CR_SLOT_NOTIFICATION);
    }
}

void cr_main(void)
{
    uint64_t reply[3];
    uint32_t slot;
    uint32_t space;
    uint32_t received;
    for (uint32_t i = 0; i < cr_info()->n_requests; i++) {
        if (cr_connect(cr_info()->requests[i], 1, &slot, &space) != CR_RESULT_OK ||
            cr_allow(space, 1) != CR_RESULT_OK ||
            cr_call(slot, ST_ALLOCATE, 0, 0, reply, 3, &received) != ST_OK) {
            cr_say_text("no block");
        }
    }
    cr_say_text("scribbling over all my memory");
    scribble_and_wait();
}
