/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that connects to its first request and disconnects, again and again.
 *
 * Argument 0: how often.
 * Argument 1: the turns of a loop after each time. */
#include "storage.h"

void cr_main(void)
{
    for (uint32_t i = 0; i < cr_info()->args[0]; i++) {
        uint32_t slot;
        uint32_t space;
        if (cr_connect(cr_info()->requests[0], 1, &slot, &space) != CR_RESULT_OK ||
            cr_call_root(CR_OP_DISCONNECT, (uint64_t[]){space}, 1, 0, 0) != CR_RESULT_OK) {
            cr_say_text("nobody to visit");
            cr_exit(1);
        }
        for (volatile uint64_t turn = 0; turn < cr_info()->args[1]; turn++) {
        }
    }
    cr_wait_for_work(st_note);
}
