/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that asks for nothing and leaves. Argument 0: after how many rounds. */
#include "storage.h"

void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    uint32_t rounds = 0;
    for (uint32_t i = 0; i < cr_info()->n_requests; i++) {
        if (cr_connect(cr_info()->requests[i], 1, &slot, &space) != CR_RESULT_OK) {
            cr_say_text("nobody to leave");
        }
    }
    while (rounds < cr_info()->args[0] && cr_next_round()) {
        rounds++;
    }
    cr_exit(rounds);
}
