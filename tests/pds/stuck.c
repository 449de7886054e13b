/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that calls the server of its first request once, prints the answer, and then handles its
 * notices.
 *
 * Argument 0, bits, before the call:
 *   1  it subscribes to the space
 *   2  it asks for an extraction, and waits for it after the call
 * If the configuration gives it a space, it creates that and manages it. */
#include "storage.h"

enum { SUBSCRIBES = 1, EXTRACTS = 2 };

static int work(const cr_work_entry *w)
{
    st_say_notice(w);
    return 0;
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    cr_line line = {0};
    cr_ticket_info told;
    uint32_t slot;
    uint32_t space;
    uint32_t ticket = 0;
    uint32_t received;
    if (info->n_spaces > 0) {
        (void)cr_own_space();
    }
    if (cr_connect(info->requests[0], 1, &slot, &space) != CR_RESULT_OK) {
        cr_exit(1);
    }
    if ((info->args[0] & SUBSCRIBES) != 0 && cr_subscribe(space, 0) != CR_RESULT_OK) {
        cr_say_text("not subscribed");
    }
    if ((info->args[0] & EXTRACTS) != 0 && cr_extract(&ticket) != CR_RESULT_OK) {
        cr_say_text("no extraction");
    }
    uint32_t label = cr_call(slot, ST_ALLOCATE, 0, 0, 0, 0, &received);
    cr_say(cr_put(cr_put(&line, "answer: "), st_name(label)));
    if (ticket != 0 && cr_ticket(ticket, 1, &told) == CR_RESULT_OK) {
        cr_say(cr_put_number(cr_put(&line, "extracted, state "), told.state));
    }
    cr_wait_for_work(work);
}
