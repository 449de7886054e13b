/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that restarts its children and stops them, whether they are there or not. If
 * its name begins with f, it faults then. */
#include <microkit.h>

enum { ENTRY = 0x200000, CHILDREN = 2, TIMES = 1000 };

void init(void)
{
    for (unsigned i = 0; i < TIMES; i++) {
        for (microkit_child child = 0; child < CHILDREN; child++) {
            microkit_pd_restart(child, ENTRY);
            microkit_pd_stop(child);
        }
    }
    if (microkit_name[0] == 'f') {
        *(volatile int *)0xdead000 = 1;
    }
}

void notified(microkit_channel channel)
{
    (void)channel;
}
