/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that sends messages to the server of its first request and calls it never. With MCS a
 * passive server that receives one has no time to run on.
 *
 * Argument 0: how many it sends in each round. */
#include "storage.h"

void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    if (cr_connect(cr_info()->requests[0], 1, &slot, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    do {
        for (uint32_t i = 0; i < cr_info()->args[0]; i++) {
            seL4_Send(slot, seL4_MessageInfo_new(ST_READ, 0, 0, 0));
        }
    } while (cr_next_round());
    cr_wait_for_work(st_note);
}
