/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that counts for a time, and says for how much of it it did not run. */
#include <microkit.h>

#include "now.h"

enum { PAUSE = 300 }; /* ticks between two looks at the clock: it did not run */

unsigned long ticks = 1; /* set by the description */

static void say(const char *text, unsigned long number)
{
    microkit_dbg_puts("counter: ");
    microkit_dbg_puts(text);
    microkit_dbg_put32((unsigned)number);
    microkit_dbg_puts("\n");
}

void init(void)
{
    const unsigned long first = now();
    unsigned long last = first, lost = 0, longest = 0, pauses = 0;
    while (last - first < ticks) {
        const unsigned long at = now();
        if (at - last > PAUSE) {
            lost += at - last;
            longest = at - last > longest ? at - last : longest;
            pauses++;
        }
        last = at;
    }
    say("lost ", lost);
    say("longest ", longest);
    say("pauses ", pauses);
}

void notified(microkit_channel channel)
{
    (void)channel;
}
