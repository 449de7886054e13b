/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that asks for resources and never releases one.
 *
 * Argument 0: the number of resources.
 * Argument 1: the space of its server that they come from.
 * Argument 2: the number of rounds after which it exits with all of them; 0: never. */
#include "storage.h"

void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    uint32_t received;
    uint32_t got = 0;
    uint64_t which = cr_info()->args[1];
    uint64_t reply[3];
    cr_line line = {0};
    if (cr_info()->n_requests != 1 ||
        cr_connect(cr_info()->requests[0], 1, &slot, &space) != CR_RESULT_OK ||
        cr_allow(space, cr_info()->args[0]) != CR_RESULT_OK) {
        cr_say_text("nobody to ask");
        slot = 0;
    }
    while (slot != 0 && got < cr_info()->args[0] &&
           cr_call(slot, ST_ALLOCATE, &which, 1, reply, 3, &received) == ST_OK) {
        got++;
    }
    cr_say(cr_put_number(cr_put(&line, "resources: "), got));
    for (uint32_t rounds = 1; cr_next_round(); rounds++) {
        cr_poll_work(st_note);
        if (rounds == cr_info()->args[2]) {
            cr_exit(rounds);
        }
    }
    cr_wait_for_work(st_note);
}
