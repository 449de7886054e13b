/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client of the counter server (counter.c). It opens a counter and calls it once a round. It
 * prints every number that is not the expected one, and at the end the last number.
 *
 * Argument 0: in this round (the first is 1) the client releases the counter and drops its
 * request. It connects again in the next round. */
#include "storage.h"

enum { OPEN = 0x200, NEXT = 0x201 };

static uint32_t request;
static uint32_t space;
static uint64_t opened[2]; /* the counter's object and slot; slot 0: none */

static int work(const cr_work_entry *w)
{
    st_say_notice(w);
    opened[1] = w->kind == CR_NOTICE_LOST && w->space == space ? 0 : opened[1];
    return 0;
}

static void let_go(void)
{
    int released = cr_release(space, (uint32_t)opened[0], 0) == CR_RESULT_OK;
    int left = cr_disconnect(space) == CR_RESULT_OK;
    cr_say_text(released && left ? "let go" : "cannot let go");
    opened[1] = 0;
}

void cr_main(void)
{
    cr_line line = {0};
    uint64_t expected = 0;
    uint64_t value = 0;
    uint32_t received;
    for (uint32_t round = 1; cr_next_round(); round++) {
        cr_poll_work(work);
        if (opened[1] == 0) {
            expected = 0;
            if (cr_connect(cr_info()->requests[0], 0, &request, &space) != CR_RESULT_OK ||
                cr_allow(space, 1) != CR_RESULT_OK || /* the counter */
                cr_call(request, OPEN, 0, 0, opened, 2, &received) != ST_OK) {
                cr_say_text("no counter");
                continue;
            }
        }
        uint32_t label = cr_call((uint32_t)opened[1], NEXT, 0, 0, &value, 1, &received);
        expected++;
        if (label == ST_OK && value != expected) {
            cr_say(cr_put_number(
                cr_put(cr_put_number(cr_put(&line, "WRONG: "), value), ", expected "), expected));
        }
        if (round == cr_info()->args[0]) {
            let_go();
        }
        cr_checkpoint();
    }
    cr_say(cr_put_number(cr_put(&line, "the last: "), value));
    cr_wait_for_work(work);
}
