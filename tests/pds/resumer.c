/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that asks a server to have its failed notices handed out again.
 *
 * Argument 0: the first round in which it asks; rounds are counted from 1.
 * Argument 1: the space of the server, by its place in the configuration.
 * Argument 2: the number of rounds in which it asks. */
#include "storage.h"
#include "stubborn.h"

void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    uint32_t received;
    const uint32_t *args = cr_info()->args;
    cr_line line = {0};
    if (cr_connect(cr_info()->requests[0], 1, &slot, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    for (uint32_t round = 1; cr_next_round(); round++) {
        uint64_t which = args[1];
        uint64_t result = 0;
        cr_poll_work(st_note);
        if (round >= args[0] && round - args[0] < args[2]) {
            uint32_t label = cr_call(slot, SB_RESUME, &which, 1, &result, 1, &received);
            cr_put(cr_put(&line, "resume: "), st_name(label));
            cr_say(cr_put_number(cr_put(&line, ", result "), result));
        }
    }
    cr_wait_for_work(st_note);
}
