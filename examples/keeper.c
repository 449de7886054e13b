/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A PD that subscribes to the PD of its first PD capability. In its first round it terminates
 * that PD itself and waits for the ticket. While it waits, it cannot acknowledge the pre-destroy
 * notice that the cleanup waits for. */
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
