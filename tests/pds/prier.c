/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tries to read the post-mortems of all PDs and spaces, by guessed numbers, and prints how many it
 * could read. It refers to none of them. */
#include "storage.h"

enum { GUESSES = 20 };

static int note(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    do {
        cr_mortem mortem;
        uint64_t seen = 0;
        for (uint32_t i = 1; i <= GUESSES; i++) {
            seen += cr_post_mortem(i, 0, &mortem) == CR_RESULT_OK;
            seen += cr_post_mortem(0, i, &mortem) == CR_RESULT_OK;
            seen += mortem.code | mortem.address | mortem.ip | mortem.registers[0];
        }
        cr_say_check("read", seen, 0);
    } while (cr_next_round());
    cr_wait_for_work(note);
}
