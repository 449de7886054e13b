/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD for Microkit that calls another one five times, with more than the registers hold. It says
 * what each answer is: the sum of what it sent, or else its label. One whose name begins with m
 * calls many times, and only says what is wrong. */
#include <microkit.h>

enum { FEW = 5, MANY = 20000, WORDS = 9 };

static void say(const char *text, unsigned number)
{
    microkit_dbg_puts(microkit_name);
    microkit_dbg_puts(text);
    microkit_dbg_put32(number);
    microkit_dbg_puts("\n");
}

void init(void)
{
    const int few = microkit_name[0] != 'm';
    const unsigned calls = few ? FEW : MANY;
    unsigned right = 0;
    for (unsigned i = 0; i < calls; i++) {
        unsigned sum = 0;
        for (unsigned k = 0; k < WORDS; k++) {
            microkit_mr_set((seL4_Uint8)k, 100 * i + k);
            sum += 100 * i + k;
        }
        const microkit_msginfo answer = microkit_ppcall(0, microkit_msginfo_new(i, WORDS));
        if (microkit_msginfo_get_count(answer) == 1 && microkit_mr_get(0) == sum) {
            right++;
            if (few) {
                say(": answer ", i);
            }
        } else {
            say(": label ", (unsigned)microkit_msginfo_get_label(answer));
        }
    }
    say(": done ", right);
}

void notified(microkit_channel channel)
{
    (void)channel;
}
