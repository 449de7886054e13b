/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that stops its child when it is notified. As a server it notifies another one
 * before it answers a call: so the caller is stopped while it waits for the answer. */
#include <microkit.h>

enum { CHILD = 0, WARDEN = 1 };

void init(void)
{
}

void notified(microkit_channel channel)
{
    (void)channel;
    microkit_pd_stop(CHILD);
    microkit_dbg_puts("warden: stopped it\n");
}

microkit_msginfo protected(microkit_channel channel, microkit_msginfo message)
{
    (void)channel;
    (void)message;
    microkit_notify(WARDEN);
    return microkit_msginfo_new(0, 0);
}
