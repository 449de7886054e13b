/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Wants to be told before the PD goes whose capability is its first one, terminates that itself in its first round, and waits
 * for the ticket: so it cannot answer before. */
#include "storage.h"

void cr_main(void)
{
    cr_line line = {0};
    cr_ticket_info info;
    uint32_t slot = cr_info()->pds[0].slot;
    cr_say(cr_put_number(cr_put(&line, "subscribed: "), cr_subscribe(0, slot)));
    if (cr_next_round()) {
        cr_result result = cr_terminate(slot, &info);
        if (result == CR_RESULT_OK) {
            result = cr_ticket(info.ticket, 1, &info);
        }
        cr_put_number(cr_put(&line, "waited: "), result);
        cr_say(cr_put_number(cr_put(&line, ", state "), info.state));
    }
    while (cr_next_round()) {
        cr_poll_work(st_note);
    }
    cr_wait_for_work(st_note);
}
