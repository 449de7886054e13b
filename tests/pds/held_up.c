/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Subscribes to the space of its first request and calls the server of its second one. */
#include "storage.h"

void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    uint32_t received;
    if (cr_connect(cr_info()->requests[0], 1, &slot, &space) != CR_RESULT_OK ||
        cr_subscribe(space, 0) != CR_RESULT_OK ||
        cr_connect(cr_info()->requests[1], 1, &slot, &space) != CR_RESULT_OK) {
        cr_say_text("nobody to call");
    }
    cr_line line = {0};
    cr_say(cr_put_number(cr_put(&line, "answer "), cr_call(slot, ST_READ, 0, 0, 0, 0, &received)));
    cr_wait_for_work(st_note);
}
