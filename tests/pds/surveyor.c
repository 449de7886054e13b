/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Connects to the spaces of its requests, and then has the model state extracted again and again.
 *
 * Argument 0: how often. */
#include "storage.h"

void cr_main(void)
{
    const cr_startup *info = cr_info();
    uint32_t slot;
    uint32_t space;
    uint32_t ticket;
    uint32_t over = 0;
    cr_ticket_info told;
    cr_line line = {0};
    cr_result result = CR_RESULT_OK;
    for (uint32_t i = 0; i < info->n_requests; i++) {
        if (cr_connect(info->requests[i], 1, &slot, &space) != CR_RESULT_OK) {
            cr_exit(1);
        }
    }
    for (uint32_t i = 0; i < info->args[0] && result == CR_RESULT_OK; i++) {
        result = cr_extract(&ticket);
        over += result == CR_RESULT_OK && cr_ticket(ticket, 1, &told) == CR_RESULT_OK &&
                told.state == CR_TICKET_OVER;
    }
    cr_put_number(cr_put(&line, "extracted: "), over);
    cr_say(cr_put_number(cr_put(&line, ", then result "), result));
    cr_exit(0);
}
