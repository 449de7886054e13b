/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Connects to a space, which it has to wait for, and then computes for a time.
 * Argument 0: the turns of the loop. */
#include "storage.h"

void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    if (cr_connect(cr_info()->requests[0], 1, &slot, &space) != CR_RESULT_OK) {
        cr_say_text("nobody to wait for");
    }
    for (volatile uint64_t turn = 0; turn < cr_info()->args[0]; turn++) {
    }
    cr_say_text("computed");
    cr_wait_for_work(st_note);
}
