/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that stops its child when it is first notified. As a server it notifies another
 * one before it answers a call: so the caller is stopped while it waits for the answer. If it has
 * memory that it may only read, it does not answer, but writes there. A parent may write to such
 * memory instead of stopping its child. */
#include <microkit.h>
#include <stdint.h>

enum { CHILD = 0, WARDEN = 1 };

uintptr_t to_read; /* set by the description, as the next one is */
uintptr_t to_read_as_parent;

void init(void)
{
}

void notified(microkit_channel channel)
{
    static int stopped;
    (void)channel;
    if (to_read_as_parent != 0) {
        *(volatile int *)to_read_as_parent = 1;
    }
    if (to_read == 0 && !stopped) {
        stopped = 1;
        microkit_pd_stop(CHILD);
        microkit_dbg_puts("warden: stopped it\n");
    }
}

microkit_msginfo protected(microkit_channel channel, microkit_msginfo message)
{
    (void)channel;
    (void)message;
    microkit_notify(WARDEN);
    if (to_read != 0) {
        *(volatile int *)to_read = 1;
    }
    return microkit_msginfo_new(0, 0);
}
