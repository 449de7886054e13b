/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that answers each call with the sum of what was sent. Its first instance hangs
 * in the second call; a region counts the instances. If its name begins with s it computes for
 * ever, with f it forgets who called it. It sends notifications back with the system call in which
 * it waits. */
#include <microkit.h>

enum { INPUT = 1, REPLY = 4 };

unsigned long count_vaddr; /* set by the description */

static unsigned calls;

void init(void)
{
    microkit_dbg_puts(microkit_name);
    microkit_dbg_puts(": hello, fresh\n");
    ++*(volatile unsigned *)count_vaddr;
}

void notified(microkit_channel channel)
{
    (void)channel;
    microkit_deferred_notify(channel);
}

microkit_msginfo protected(microkit_channel channel, microkit_msginfo message)
{
    seL4_Word badge, sum = 0;
    (void)channel;
    for (seL4_Uint8 i = 0; i < microkit_msginfo_get_count(message); i++) {
        sum += microkit_mr_get(i);
    }
    if (++calls == 2 && *(volatile unsigned *)count_vaddr == 1) {
        while (microkit_name[0] == 's') {
            __asm__ volatile("" ::: "memory");
        }
        if (microkit_name[0] == 'f') {
            (void)seL4_Recv(INPUT, &badge, REPLY);
        }
    }
    microkit_mr_set(0, sum);
    return microkit_msginfo_new(0, 1);
}
