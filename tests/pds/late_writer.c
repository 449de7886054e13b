/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Has a disk read sectors into memory, and passes a checkpoint before they are there. */
#include "virtio_block.h"
#include <cellreap/client.h>

enum { SLOT = 7 * 0x200 / 4 /* the last of the eight devices of the page */ };

void cr_main(void)
{
    volatile uint32_t *const device =
        (volatile uint32_t *)((uintptr_t)1 << CR_REGION_SPAN_BITS) + SLOT;
    vb_memory *const memory = (vb_memory *)((uintptr_t)2 << CR_REGION_SPAN_BITS);
    cr_line line = {0};
    if (!vb_start(device, memory)) {
        cr_say_text("no disk");
        cr_exit(1);
    }
    for (uint32_t i = 0; i < VB_REQUESTS; i++) {
        vb_post(device, memory, i, 0, i);
    }
    cr_say(cr_put_number(cr_put(&line, "asked, at "), memory->physical));
    while (cr_next_round()) {
        cr_checkpoint();
    }
    cr_wait_for_work(0);
}
