/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that handles the faults of its children. Each is restarted twice, then stopped.
 * One whose name begins with f faults itself when the first of them has faulted again. */
#include <microkit.h>

enum { ENTRY = 0x200000, CHILDREN = 62, RESTARTS = 2 };

unsigned long first_child = CHILDREN; /* set by the description */

static unsigned faults[CHILDREN];

static void say(const char *text, unsigned number)
{
    microkit_dbg_puts(microkit_name);
    microkit_dbg_puts(text);
    microkit_dbg_put32(number);
    microkit_dbg_puts("\n");
}

void init(void)
{
    say(": children ", faults[0] == 0 ? 0 : 666);
}

void notified(microkit_channel channel)
{
    (void)channel;
}

seL4_Bool fault(microkit_child child, microkit_msginfo message, microkit_msginfo *answer)
{
    (void)answer;
    say(": fault ", (unsigned)microkit_msginfo_get_label(message));
    if (++faults[child] > RESTARTS) {
        microkit_pd_stop(child);
        say(": stopped ", child);
        return seL4_False;
    }
    if (faults[child] == 2 && child == first_child && microkit_name[0] == 'f') {
        *(volatile int *)0xdead000 = 1;
    }
    microkit_pd_restart(child, ENTRY);
    say(": restarted ", child);
    return seL4_False;
}
