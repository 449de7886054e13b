/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that connects to its servers, sends them nothing and then exits.
 *
 * Argument 0: the number of rounds after which it exits.
 * Argument 1: the number of operations that it performs before it exits.
 * Argument 2: 1: it exits at the latest when its first space is about to be destroyed. */
#include "storage.h"

void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    uint32_t first = 0;
    uint32_t rounds = 0;
    for (uint32_t i = 0; i < cr_info()->n_requests; i++) {
        if (cr_connect(cr_info()->requests[i], 1, &slot, &space) != CR_RESULT_OK) {
            cr_say_text("nobody to leave");
        } else if (first == 0) {
            first = space;
        }
    }
    while (rounds < cr_info()->args[0] && cr_next_round()) {
        rounds++;
    }
    for (uint32_t i = 0; i < cr_info()->args[1]; i++) {
        cr_look_state state = CR_LOOK_ACTIVE;
        const uint32_t of_space = cr_info()->args[2] != 0 ? first : 0;
        if (cr_look(of_space, 0, 0, &state) == CR_RESULT_OK && state != CR_LOOK_ACTIVE) {
            break;
        }
    }
    cr_exit(rounds);
}
