/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Has channels of the configuration. It says what it finds when it starts, in its memory and in its
 * notification, and changes all of that. In each round it signals over the first channel, if it has
 * any, and says what came over others. */
#include <cellreap/client.h>

static uint64_t initialised = 17;
static uint64_t cleared;

void cr_main(void)
{
    volatile uint64_t *stack = (volatile uint64_t *)(uintptr_t)CR_VADDR_STACK;
    cr_line line = {0};
    cr_poll_work(0);
    cr_put_number(cr_put(&line, "data "), initialised);
    cr_put_number(cr_put(&line, ", bss "), cleared);
    cr_put_number(cr_put(&line, ", stack "), *stack);
    cr_say(cr_put_hex(cr_put(&line, ", rung "), cr_rung()));
    initialised = cleared = *stack = 99;
    while (cr_next_round()) {
        cr_poll_work(0);
        const uint32_t bits = cr_rung();
        if ((bits & ~1u) != 0) {
            cr_say(cr_put_hex(cr_put(&line, "rung "), bits & ~1u));
        }
        if (cr_info()->n_channels > 0) {
            seL4_Signal(cr_info()->channels[0].slot);
        }
    }
    cr_wait_for_work(0);
}
