/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A client of all spaces of its requests. It takes resources of the first one, calls its server in
 * each round, and acknowledges every loss. At the end it prints what it had and what it lost.
 *
 * Argument 0: the number of resources. */
#include "storage.h"

static uint32_t lost;
static uint32_t died;

static int work(const cr_work_entry *w)
{
    lost += w->kind == CR_NOTICE_LOST;
    return 0;
}

void cr_main(void)
{
    const cr_startup *info = cr_info();
    cr_line line = {0};
    uint32_t connected = 0;
    uint32_t got = 0;
    uint32_t first = 0;
    for (uint32_t i = 0; i < info->n_requests; i++) {
        uint32_t slot;
        uint32_t space;
        if (cr_connect(info->requests[i], 1, &slot, &space) == CR_RESULT_OK) {
            connected++;
            if (i == 0 && cr_allow(space, info->args[0]) == CR_RESULT_OK) {
                first = slot;
            }
        }
    }
    while (first != 0 && got < info->args[0]) {
        uint64_t reply[1];
        uint32_t received;
        if (cr_call(first, ST_ALLOCATE, 0, 0, reply, 1, &received) != ST_OK) {
            break;
        }
        got++;
    }
    while (cr_next_round()) {
        uint64_t reply[1];
        uint32_t received;
        cr_poll_work(work);
        cr_checkpoint();
        if (lost == 0 && first != 0) {
            const int gone = cr_call(first, ST_STATUS, 0, 0, reply, 1, &received) == CR_CALL_LOST;
            died += (uint32_t)gone;
            if (gone) {
                cr_poll_work(work); /* What it lost is told at once, and not in the next round. */
            }
        }
    }
    cr_poll_work(work);
    cr_put_number(cr_put(cr_put_number(cr_put(&line, "connected "), connected), ", took "), got);
    cr_put_number(cr_put(cr_put_number(cr_put(&line, ", lost "), lost), ", server died "), died);
    cr_say(&line);
    cr_wait_for_work(work);
}
