/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that answers each call with the sum of what was sent. It faults in the third
 * one, if its name begins with a. */
#include <microkit.h>

static unsigned served;      /* .bss: zero, if it is fresh */
static unsigned started = 7; /* .data */

static void say(const char *text)
{
    microkit_dbg_puts(microkit_name);
    microkit_dbg_puts(text);
}

void init(void)
{
    say(started == 7 && served == 0 ? ": hello, fresh\n" : ": hello, STALE\n");
    started = 8;
}

void notified(microkit_channel channel)
{
    (void)channel;
}

microkit_msginfo protected(microkit_channel channel, microkit_msginfo message)
{
    seL4_Word sum = 0;
    (void)channel;
    for (seL4_Uint8 i = 0; i < microkit_msginfo_get_count(message); i++) {
        sum += microkit_mr_get(i);
    }
    if (++served == 3 && microkit_name[0] == 'a') {
        *(volatile int *)0xdead000 = 1;
    }
    microkit_mr_set(0, sum);
    return microkit_msginfo_new(0, 1);
}
