/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client that gets a resource and calls it, again and again. At the end it prints how many
 * resources it got, and the outcome of the last call.
 *
 * Argument 0: the number of resources to get.
 * Argument 1: what each call uses:
 *   0  the resource
 *   1  the resource, after the client dropped its request
 *   2  the request
 * Argument 2: when it acknowledges what it lost:
 *   0  at the end, with a line for each notice
 *   1  after each call */
#include "storage.h"

enum { DROPPED = 1, BY_REQUEST = 2 };

static int acknowledge(const cr_work_entry *w)
{
    (void)w;
    return 0;
}

void cr_main(void)
{
    uint64_t reply[3];
    uint64_t value;
    uint32_t request;
    uint32_t space;
    uint32_t received;
    uint32_t calls = 0;
    uint32_t last = 0;
    cr_line line = {0};
    const uint32_t *args = cr_info()->args;
    if (cr_connect(cr_info()->requests[0], 1, &request, &space) != CR_RESULT_OK ||
        cr_allow(space, args[0]) != CR_RESULT_OK) {
        cr_exit(1);
    }
    while (calls < args[0] && cr_call(request, ST_ALLOCATE, 0, 0, reply, 3, &received) == ST_OK) {
        if (args[1] == DROPPED) {
            (void)cr_disconnect(space);
        }
        last = cr_call(args[1] == BY_REQUEST ? request : (uint32_t)reply[2], ST_READ, 0, 0, &value,
                       1, &received);
        calls++;
        if (args[2] != 0) {
            cr_poll_work(acknowledge);
        }
    }
    cr_say(cr_put(cr_put(cr_put_number(cr_put(&line, "calls: "), calls), "; the last: "),
                  st_name(last)));
    while (cr_next_round()) {
        cr_poll_work(st_note);
    }
    cr_wait_for_work(st_note);
}
