/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that faults whenever it starts, if its name begins with f. */
#include <microkit.h>

static unsigned starts;

void init(void)
{
    microkit_dbg_puts(microkit_name);
    microkit_dbg_puts(starts++ == 0 ? ": hello, fresh\n" : ": hello, restarted\n");
    if (microkit_name[0] == 'f') {
        *(volatile int *)0xdead000 = 1;
    }
}

void notified(microkit_channel channel)
{
    (void)channel;
}
