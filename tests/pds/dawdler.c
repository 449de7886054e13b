/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Computes until it is signalled, and then waits for ever. It fetches no notice. */
#include <cellreap/client.h>

enum { TURNS = 100000 };

void cr_main(void)
{
    seL4_Word badge = 0;
    while (badge == 0) {
        for (volatile uint32_t turn = 0; turn < TURNS; turn++) {
        }
        (void)seL4_Poll(CR_SLOT_NOTIFICATION, &badge);
    }
    cr_say_text("signalled");
    for (;;) {
        (void)seL4_Wait(CR_SLOT_NOTIFICATION, &badge);
    }
}
