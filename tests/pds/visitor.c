/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that connects to its first request and disconnects, again and again in each round, until
 * the space is gone.
 *
 * Argument 0: how often in a round.
 * Argument 1: the turns of a loop after each time. */
#include "storage.h"

static int visit(void)
{
    uint32_t slot;
    uint32_t space;
    if (cr_connect(cr_info()->requests[0], 1, &slot, &space) != CR_RESULT_OK ||
        cr_call_root(CR_OP_DISCONNECT, (uint64_t[]){space}, 1, 0, 0) != CR_RESULT_OK) {
        return 0;
    }
    for (volatile uint64_t turn = 0; turn < cr_info()->args[1]; turn++) {
    }
    return 1;
}

void cr_main(void)
{
    int there = 1;
    do {
        for (uint32_t i = 0; there && i < cr_info()->args[0]; i++) {
            there = visit();
        }
    } while (there && cr_next_round());
    cr_wait_for_work(st_note);
}
