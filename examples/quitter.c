/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that connects to its servers, sends them nothing and then exits.
 *
 * Argument 0: the number of rounds after which it exits.
 * Argument 1: the number of operations that it performs before it exits. */
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
