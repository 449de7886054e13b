/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that says its name, what it finds in its memory, and what is notified to it. It
 * passes on what comes over channel 0, up to the third time. One whose name begins with f faults
 * then instead. */
#include <microkit.h>

static int cleared;
static int initialised = 7;

static void say(const char *text)
{
    microkit_dbg_puts(microkit_name);
    microkit_dbg_puts(text);
}

void init(void)
{
    say(initialised == 7 && cleared == 0 ? ": hello, fresh\n" : ": hello, STALE\n");
    initialised = 8;
    cleared = 1;
    microkit_notify(0);
}

void notified(microkit_channel channel)
{
    say(channel == 0 ? ": notified on 0\n" : ": notified on another\n");
    if (channel != 0) {
        return;
    }
    if (++cleared < 4) {
        microkit_notify(0);
    } else if (microkit_name[0] == 'f') {
        *(volatile int *)0xdead000 = 1;
    }
}
