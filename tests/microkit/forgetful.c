/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit whose first instance forgets its first caller, since it receives another call
 * before it answers. It faults in that one. The next instance answers all calls. */
#include <microkit.h>

#include "now.h"

unsigned long count_vaddr; /* set by the description: the instances */

enum { INPUT = 1, REPLY = 4, TICKS = 300000 }; /* more than a budget: others run, and call */

void init(void)
{
    (*(volatile unsigned *)count_vaddr)++;
}

void notified(microkit_channel channel)
{
    (void)channel;
}

microkit_msginfo protected(microkit_channel channel, microkit_msginfo message)
{
    seL4_Word badge, sum = 0;
    (void)channel;
    if (*(volatile unsigned *)count_vaddr == 1) {
        (void)seL4_Recv(INPUT, &badge, REPLY);
        for (const unsigned long from = now(); now() - from < TICKS;) {
        }
        *(volatile int *)0xdead000 = 1;
    }
    for (seL4_Uint8 i = 0; i < microkit_msginfo_get_count(message); i++) {
        sum += microkit_mr_get(i);
    }
    microkit_mr_set(0, sum);
    return microkit_msginfo_new(0, 1);
}
