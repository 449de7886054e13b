/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that calls another one whenever it is notified, until the region that they
 * share has counted as often as the description says. Then it says how many answers were right. */
#include <microkit.h>

enum { CALLS = 20 };

volatile unsigned long *ring_vaddr; /* set by the description, as all of these are */
unsigned long interrupts;

static unsigned long asked, right;
static int done;

void init(void)
{
    microkit_dbg_puts("peer: ready\n");
}

void notified(microkit_channel channel)
{
    (void)channel;
    for (unsigned i = 0; i < CALLS; i++) {
        microkit_mr_set(0, ++asked);
        const microkit_msginfo answer = microkit_ppcall(1, microkit_msginfo_new(0, 1));
        right += microkit_msginfo_get_count(answer) == 1 && microkit_mr_get(0) == asked + 1;
    }
    if (!done && ring_vaddr[0] >= interrupts) {
        done = 1;
        microkit_dbg_puts(asked == right ? "peer: all answers\n" : "peer: WRONG answers\n");
    }
}
