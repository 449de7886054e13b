/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Has the model state extracted, one extraction after the other, and waits for each. Argument 0:
 * how many. It says the result of each and exits at the end of the last round. */
#include "storage.h"

void cr_main(void)
{
    uint32_t slot;
    uint32_t space;
    (void)cr_connect(cr_info()->requests[0], 1, &slot, &space);
    for (uint32_t i = 0; i < cr_info()->args[0]; i++) {
        uint32_t ticket;
        cr_ticket_info info;
        cr_line line = {0};
        cr_result result = cr_extract(&ticket);
        if (result == CR_RESULT_OK) {
            result = cr_ticket(ticket, 1, &info);
        }
        cr_put_number(cr_put(&line, "extraction "), i);
        cr_say(cr_put_number(cr_put(&line, ": "), result));
    }
    while (cr_next_round()) {
    }
}
