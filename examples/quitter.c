/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that asks its servers for nothing and leaves. Argument 0: after how many rounds; argument 1: and how many requests
 * to the root task. */
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
    for (uint32_t i = 0; i < cr_info()->args[1]; i++) {
        cr_look_state state;
        (void)cr_look(0, 0, 0, &state);
    }
    cr_exit(rounds);
}
