/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that says its name, what it finds in its memory, and what is notified to it. It
 * passes on what comes over channel 0, up to the third time. One whose name begins with f faults
 * at the second one. */
#include <microkit.h>

/* Set by the description; 0: there is no such region. Its last word counts. */
unsigned long ring_vaddr;
unsigned long ring_size;

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
    if (ring_vaddr != 0) {
        volatile unsigned long *words = (volatile unsigned long *)ring_vaddr;
        const unsigned long count = words[ring_size / sizeof(words[0]) - 1]++;
        say(count == 0 ? ": first\n" : count == 1 ? ": second\n" : ": later\n");
    }
    microkit_notify(0);
}

void notified(microkit_channel channel)
{
    say(channel == 0 ? ": notified on 0\n" : ": notified on another\n");
    if (channel != 0) {
        return;
    }
    if (++cleared == 3 && microkit_name[0] == 'f') {
        *(volatile int *)0xdead000 = 1;
    }
    if (cleared < 4) {
        microkit_notify(0);
    }
}
