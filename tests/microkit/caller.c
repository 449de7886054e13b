/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that calls another one five times, with more than the registers hold. It says
 * what each answer is: the sum of what it sent, or else its label. */
#include <microkit.h>

enum { CALLS = 5, WORDS = 9 };

static void say(const char *text, unsigned number)
{
    microkit_dbg_puts(microkit_name);
    microkit_dbg_puts(text);
    microkit_dbg_put32(number);
    microkit_dbg_puts("\n");
}

void init(void)
{
    for (unsigned i = 0; i < CALLS; i++) {
        unsigned sum = 0;
        for (unsigned k = 0; k < WORDS; k++) {
            microkit_mr_set((seL4_Uint8)k, 100 * i + k);
            sum += 100 * i + k;
        }
        const microkit_msginfo answer = microkit_ppcall(0, microkit_msginfo_new(i, WORDS));
        if (microkit_msginfo_get_count(answer) == 1 && microkit_mr_get(0) == sum) {
            say(": answer ", i);
        } else {
            say(": label ", (unsigned)microkit_msginfo_get_label(answer));
        }
    }
    say(": done ", CALLS);
}

void notified(microkit_channel channel)
{
    (void)channel;
}
