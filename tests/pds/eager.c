/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Allows or subscribes 3,000 times, and says how often that was accepted.
 *
 * Argument 0:
 *   0  allows one edge and takes that back, each time
 *   1  subscribes to its own space and takes that back, each time
 *   2  allows the same each time
 *   3  as 0, after the server has made edges that it allowed */
#include "storage.h"

enum { ALLOWS = 0, SUBSCRIBES = 1, THE_SAME = 2, USES = 3, TIMES = 3000, EDGES = 40 };

static uint32_t own;
static uint32_t disk;
static uint32_t request;

static uint32_t use(void)
{
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < EDGES; i++) {
        uint64_t reply[3];
        uint32_t received;
        uint32_t left;
        accepted += cr_allow(disk, 1) == CR_RESULT_OK;
        if (cr_call(request, ST_ALLOCATE, 0, 0, reply, 3, &received) != ST_OK || received != 3 ||
            cr_release(disk, (uint32_t)reply[1], &left) != CR_RESULT_OK) {
            cr_exit(2);
        }
    }
    return accepted;
}

static int ask(uint64_t what)
{
    if (what == SUBSCRIBES) {
        const int accepted = cr_subscribe(own, 0) == CR_RESULT_OK;
        if (cr_unsubscribe(own, 0) != (accepted ? CR_RESULT_OK : CR_RESULT_NO_SUCH)) {
            cr_exit(3);
        }
        return accepted;
    }
    const int accepted = cr_allow(disk, 1) == CR_RESULT_OK;
    if (what != THE_SAME && cr_allow(disk, 0) != (accepted ? CR_RESULT_OK : CR_RESULT_FULL)) {
        cr_exit(4);
    }
    return accepted;
}

void cr_main(void)
{
    const uint64_t what = cr_info()->args[0];
    cr_line line = {0};
    own = cr_own_space();
    if (cr_connect(cr_info()->requests[0], 1, &request, &disk) != CR_RESULT_OK) {
        cr_exit(1);
    }
    uint32_t accepted = what == USES ? use() : 0;
    for (uint32_t i = 0; i < TIMES; i++) {
        accepted += ask(what) ? 1 : 0;
    }
    cr_say(cr_put_number(cr_put(&line, "accepted "), accepted));
}
