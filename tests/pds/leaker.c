/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that acknowledges no loss until the root task refuses to give it more. In each round
 * it calls its last resource, connects anew and gets resources. When the root task refuses the
 * connection because of unacknowledged losses, it tries the server of its second request too.
 * Then it acknowledges everything and goes on. It prints the result of each connect.
 *
 * Argument 0: the number of resources that it gets in each round. */
#include "storage.h"

enum { ALL = 1000 }; /* more than it asks for */

static int work(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

static cr_result connect_to_first(uint32_t *slot, const char *what)
{
    uint32_t space;
    cr_line line = {0};
    cr_result result = cr_connect(cr_info()->requests[0], 1, slot, &space);
    cr_say(cr_put_number(cr_put(cr_put(&line, what), ": "), result));
    if (result == CR_RESULT_OK && cr_allow(space, ALL) != CR_RESULT_OK) {
        cr_say_text("it cannot allow anything");
    }
    return result;
}

void cr_main(void)
{
    uint64_t reply[3] = {0};
    uint32_t slot;
    uint32_t other;
    uint32_t space;
    uint32_t received;
    cr_line line = {0};
    const cr_startup *info = cr_info();
    if (info->n_requests != 2 || cr_connect(info->requests[1], 1, &other, &space) != CR_RESULT_OK ||
        cr_allow(space, ALL) != CR_RESULT_OK) {
        cr_say_text("nobody else to ask");
        cr_exit(1);
    }
    do {
        if (reply[2] != 0) {
            (void)cr_call((uint32_t)reply[2], ST_READ, 0, 0, reply, 1, &received);
        }
        cr_result result = connect_to_first(&slot, "connect");
        if (result == CR_RESULT_UNACKED) {
            uint32_t label = cr_call(other, ST_ALLOCATE, 0, 0, reply, 3, &received);
            cr_say(cr_put(cr_put(&line, "of the other: "), st_name(label)));
            cr_do_work(work);
            label = cr_call(other, ST_ALLOCATE, 0, 0, reply, 3, &received);
            cr_say(cr_put(cr_put(&line, "then of the other: "), st_name(label)));
            result = connect_to_first(&slot, "after all");
        }
        for (uint32_t i = 0; i < info->args[0] && result == CR_RESULT_OK; i++) {
            if (cr_call(slot, ST_ALLOCATE, 0, 0, reply, 3, &received) != ST_OK) {
                break;
            }
        }
    } while (cr_next_round());
    cr_do_work(work);
    cr_wait_for_work(work);
}
